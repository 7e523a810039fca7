"""fsspec's reference file system, with the references in columns."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, cast

import fsspec  # type: ignore[import-untyped]
from fsspec.asyn import AsyncFileSystem  # type: ignore[import-untyped]
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]
from fsspec.utils import isfilelike, other_paths  # type: ignore[import-untyped]

from zaro.fsspec.documents import as_bytes, dumps, open_document, spelled, text_of
from zaro.fsspec.errors import ReferenceNotReachable
from zaro.fsspec.spans import Merged, Span, fetch, fetch_async, merge, narrow
from zaro.fsspec.targets import FileSystems, make_filesystems
from zaro.references.listing import Listing
from zaro.references.set import References

__all__ = ["ReferenceFile", "ReferenceFileSystem", "install"]

Part = bytes | Span
Result = bytes | Exception


class ReferenceFileSystem(AsyncFileSystem):  # type: ignore[misc]
    """Byte ranges of other files as a file system; fsspec's class of this name, over columns.

    Parameters
    ----------
    fo : str, mapping or References
        The references: a mapping, a JSON document (compressed or not) or a folder of Parquet files.
    target : str, optional
        The file of references that name none.
    ref_storage_args : dict, optional
        An old name of `target_options`.
    target_protocol, target_options : optional
        Protocol of `fo`, and options of its file system.
    remote_protocol, remote_options : optional
        Protocol of references that spell none, and options of its file system; or options by URL
        prefix, of which the longest that fits counts.
    fs : file system, or dict, optional
        The file system of all references, or one (or options for one) by protocol or URL prefix.
    template_overrides : dict, optional
        Templates to take instead of those of the document.
    simple_templates : bool
        Accepted as in fsspec. Templates and generators are evaluated either way, by an evaluator that
        runs no code; if True, generators are expanded when a reference is first looked for.
    max_gap, max_block : int
        Neighbouring ranges of a file are read together where no more than `max_gap` bytes lie between
        them and no more than `max_block` bytes come of it; a `max_gap` below 0 keeps them apart.
    cache_size : int
        Parquet files that are kept in memory.

    Notes
    -----
    Where fsspec's class gives wrong data in silence, this one does not:

    - `gen` is not ignored.
    - A file that is shorter than a reference promises is `ReferenceNotReachable`, not a shorter value.
    - `info` and `exists` of a reference whose file is missing are `ReferenceNotReachable` and True:
      the key is there. `FileNotFoundError` always means that the set has no such key.
    - `info` and `ls` give the size of inline data once they are decoded.
    - `cat(on_error="omit")` leaves unreachable references out, instead of putting errors among the data.
    - References of several protocols are each read by their own.
    - `ls` shows what `pipe_file` wrote.
    - Opening a key for writing is an error, instead of taking what is written and dropping it.
    - A relative path means a file beside the document and, failing that, below the working directory.
    - A document from afar reaches files of this machine only if `remote_protocol` or `fs` names them.
    """

    protocol = "reference"
    cachable = False

    def __init__(
        self,
        fo: Any,
        target: str | None = None,
        ref_storage_args: Mapping[str, Any] | None = None,
        target_protocol: str | None = None,
        target_options: Mapping[str, Any] | None = None,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, Any] | None = None,
        fs: Any = None,
        template_overrides: Mapping[str, Any] | None = None,
        simple_templates: bool = True,
        max_gap: int = 64_000,
        max_block: int = 256_000_000,
        cache_size: int = 128,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.target, self.template_overrides = target, template_overrides
        self.simple_templates, self.max_gap, self.max_block = simple_templates, max_gap, max_block
        document = open_document(
            fo,
            options={**(ref_storage_args or target_options or {}), "protocol": target_protocol},
            target=target,
            template_overrides=template_overrides,
            lazy=lambda path, of: _lazy_references(path, of, cache_size),
        )
        self.templates: dict[str, Any] = document.templates
        self._document, self._mapping = document, document.mapping
        self._columns: References | None = None
        self._listing: Listing | None = None
        self.dircache: dict[str, list[dict[str, Any]]] | None = {}
        if not simple_templates and document.columns is not None:
            _expand(self._references())
        self.fss: FileSystems = make_filesystems(
            fs,
            remote_protocol,
            remote_options,
            templates=self.templates.values(),
            first_url=self._first_url() if fs is None and remote_protocol is None else None,
            asynchronous=self.asynchronous,
            folder=document.folder,
        )

    # ---- the references ------------------------------------------------------------------------

    def _references(self) -> References:
        if self._columns is None:
            assert self._document.columns is not None
            self._columns = self._document.columns()
        return self._columns

    @property
    def references(self) -> MutableMapping[str, Any]:
        """The references by key, which may be changed.

        Those of a document become a `dict` when this is first asked for; reading does not ask.
        """
        if self._mapping is None:
            self._mapping = dict(spelled(self._references()))
            self.dircache = {}
        return self._mapping

    @references.setter
    def references(self, value: MutableMapping[str, Any]) -> None:
        self._mapping = value

    def _first_url(self) -> str | None:
        if self._mapping is None:
            return None if self._columns is None and self.templates else _first_file(self._references())
        if _is_lazy(self._mapping):
            return None
        urls = (value[0] for value in self._mapping.values() if isinstance(value, list | tuple) and value)
        return next((url for url in urls if isinstance(url, str) and url), None)

    def _reference(self, path: str) -> Any:
        """The reference of a key, or None."""
        known: Mapping[str, Any] = self._references() if self._mapping is None else self._mapping
        try:
            return known[path]
        except KeyError:
            return known.get(path[1:]) if path.startswith("/") else None

    def _part(self, path: str, start: int | None = None, end: int | None = None) -> Part:
        path = self._strip_protocol(path)
        reference = self._reference(path)
        if reference is None:
            raise FileNotFoundError(path)
        if self._mapping is None and isinstance(reference, bytes):
            return reference[start:end]
        raw = as_bytes(reference)
        if raw is not None:
            return raw[start:end]
        span = narrow(reference, start, end)
        if isinstance(span.url, str):
            return span
        if self.target is None:
            raise FileNotFoundError(path)
        return span._replace(url=self.target)

    # ---- reading -------------------------------------------------------------------------------

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        part = self._part(path, start, end)
        if isinstance(part, bytes):
            return part
        try:
            fs, merged = self._alone(part)
            return _known(merged.part(part, 0, await fetch_async(fs, merged)))
        except Exception as err:
            raise ReferenceNotReachable(path, part.url) from err

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """Read a value, or `[start:end]` of it."""
        part = self._part(path, start, end)
        if isinstance(part, bytes):
            return part
        try:
            fs, merged = self._alone(part)
            return _known(merged.part(part, 0, fetch(fs, merged)))
        except Exception as err:
            raise ReferenceNotReachable(path, part.url) from err

    def _alone(self, part: Span) -> tuple[Any, Merged]:
        fs, path = self.fss.of(part.url)
        return fs, Merged([part._replace(url=path)], {0: 0})

    def cat(
        self, path: str | list[str], recursive: bool = False, on_error: str = "raise", **kwargs: Any
    ) -> bytes | Exception | dict[str, Any]:
        """Read many values, neighbours together; `on_error` is "raise", "return" or "omit"."""
        if isinstance(path, str) and recursive:
            raise NotImplementedError
        if isinstance(path, list) and (recursive or any("*" in one for one in path)):
            raise NotImplementedError
        paths = _paths(self.expand_path(path) if isinstance(path, str) and "*" in path else path)
        read = _Read(self, [(one, None, None) for one in paths], on_error)
        for batch in read.batches(self.max_gap):
            batch.answers = fetch(batch.fs, batch.merged)
        return _one_or_all(path, dict(read.results()))

    async def _cat(
        self,
        path: str | list[str],
        recursive: bool = False,
        on_error: str = "raise",
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        if recursive or any("*" in one for one in _paths(path)):
            return await super()._cat(path, recursive, on_error, batch_size, **kwargs)
        read = _Read(self, [(one, None, None) for one in _paths(path)], on_error)
        await read.fetch_all(self.max_gap)
        return _one_or_all(path, dict(read.results()))

    async def _cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,
        batch_size: int | None = None,
        on_error: str = "return",
        **kwargs: Any,
    ) -> list[Any]:
        if not isinstance(paths, list):
            raise TypeError(f"paths are {type(paths).__name__}, expected a list")
        first, last = (list(x) if isinstance(x, Sequence) else [x] * len(paths) for x in (starts, ends))
        if not len(first) == len(last) == len(paths):
            raise ValueError(f"{len(paths)} paths, {len(first)} starts and {len(last)} ends")
        wanted = list(zip(paths, first, last, strict=True))
        read = _Read(self, wanted, "return" if on_error == "return" else "raise")
        await read.fetch_all(self.max_gap if max_gap is None else max_gap)
        return [result for _, result in read.results()]

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        if mode != "rb":
            raise NotImplementedError(
                f"a reference can only be opened for reading, not {mode!r}; use pipe_file"
            )
        part = self._part(path)
        if isinstance(part, bytes):
            return io.BytesIO(part)
        if part.exact:
            size = block_size or "default"
            return ReferenceFile(self, path, mode, block_size=size, cache_options=cache_options, **kwargs)
        fs, target = self.fss.of(part.url)
        inner = getattr(fs, "sync_fs", fs)
        return inner._open(target, mode, block_size=block_size, cache_options=cache_options, **kwargs)

    def get_file(self, rpath: str, lpath: Any, callback: Any = DEFAULT_CALLBACK, **kwargs: Any) -> None:
        """Copy a value to a local file, or to an open one."""
        if self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
            return
        data = self.cat_file(rpath, **kwargs)
        callback.set_size(len(data))
        if isfilelike(lpath):
            lpath.write(data)
        else:
            with open(lpath, "wb") as file:
                file.write(data)
        callback.absolute_update(len(data))

    async def _get_file(self, rpath: str, lpath: str, **kwargs: Any) -> None:
        if self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
            return
        data = await self._cat_file(rpath)
        with open(lpath, "wb") as file:
            file.write(data)

    def get(self, rpath: Any, lpath: Any, recursive: bool = False, **kwargs: Any) -> None:
        """Copy values to local files."""
        sources = self.expand_path(rpath, recursive=recursive)
        targets = other_paths(sources, lpath)
        if isinstance(lpath, str):
            _check_within(lpath, targets)
        pairs = [(s, t) for s, t in zip(sources, targets, strict=True) if not (recursive and self.isdir(s))]
        values = self.cat([source for source, _ in pairs])
        for source, target in pairs:
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with open(target, "wb") as file:
                file.write(cast("dict[str, bytes]", values)[source])

    # ---- listing -------------------------------------------------------------------------------

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """List what lies directly below a path."""
        path = self._strip_protocol(path).lstrip("/")
        if self._mapping is None:
            found = self._ls_columns(path)
        elif _is_lazy(self._mapping):
            return _ls_lazy(self._mapping, path, detail)
        else:
            if not self.dircache:
                self._dircache_from_items()
            found = self._ls_from_cache(path)
        if found is None:
            raise FileNotFoundError(path)
        return found if detail else [entry["name"] for entry in found]

    def _ls_columns(self, path: str) -> list[dict[str, Any]] | None:
        listing = self._folders()
        found = [_entry(entry.key, entry.size, folder=entry.folder) for entry in listing.below(path)]
        if found or not path:
            return found
        reference = self._reference(path)
        return None if reference is None else [_entry(path, _size(reference))]

    def _folders(self) -> Listing:
        if self._listing is None:
            self._listing = Listing(self._references().contents)
        return self._listing

    def _dircache_from_items(self) -> None:
        """Make the folders of references that are a mapping."""
        folders: dict[str, list[dict[str, Any]]] = {"": []}
        for path, value in self.references.items():
            above, new = _above(path), []
            while above not in folders:
                new.append(above)
                above = _above(above)
            for folder in reversed(new):
                folders[folder] = []
                folders[_above(folder)].append(_entry(folder, 0, folder=True))
            folders[_above(path)].append(_entry(path, _size(value)))
        self.dircache = folders

    async def _ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        return self.ls(path, detail, **kwargs)

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,
    ) -> Any:
        """List all keys that begin with a path."""
        if withdirs or maxdepth is not None:
            return super().find(path, maxdepth=maxdepth, withdirs=withdirs, detail=detail, **kwargs)
        path = self._strip_protocol(path).lstrip("/") if path else ""
        known: Mapping[str, Any] = self._references() if self._mapping is None else self._mapping
        keys = sorted(key for key in known if key.startswith(path))
        return {key: _entry(key, _size(known[key])) for key in keys} if detail else keys

    def isfile(self, path: str) -> bool:
        """Whether the set has a key."""
        return self._reference(self._strip_protocol(path)) is not None

    def isdir(self, path: str) -> bool:
        """Whether keys lie below a path."""
        path = self._strip_protocol(path).lstrip("/")
        if not path:
            return True
        if self._mapping is None:
            return self._folders().is_folder(path)
        if _is_lazy(self._mapping):
            return any(
                one == path or one.startswith(f"{path}/") for one in cast("Any", self._mapping).listdir()
            )
        if self.dircache:
            return path in self.dircache
        return any(key.startswith(f"{path}/") for key in self._mapping)

    def exists(self, path: str, **kwargs: Any) -> bool:
        """Whether a path is a key or a folder."""
        return self.isfile(path) or self.isdir(path)

    async def _exists(self, path: str, **kwargs: Any) -> bool:
        return self.exists(path)

    async def _isfile(self, path: str) -> bool:
        return self.isfile(path)

    async def _isdir(self, path: str) -> bool:
        return self.isdir(path)

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        """Name, type and size of a key or folder."""
        found, span = self._info_here(path)
        if span is not None:
            with _Reach(path, span):
                fs, target = self.fss.of(span.url)
                found["size"] = getattr(fs, "sync_fs", fs).size(target)
        return found

    async def _info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found, span = self._info_here(path)
        if span is not None:
            with _Reach(path, span):
                fs, target = self.fss.of(span.url)
                found["size"] = (
                    await fs._size(target) if fs.async_impl else await asyncio.to_thread(fs.size, target)
                )
        return found

    def _info_here(self, path: str) -> tuple[dict[str, Any], Span | None]:
        """What is known of a path; with the file, where that must be asked for its size."""
        path = self._strip_protocol(path)
        reference = self._reference(path)
        if reference is None:
            if not self.isdir(path):
                raise FileNotFoundError(path)
            return _entry(path, 0, folder=True), None
        size = _size(reference)
        part = self._part(path) if size is None else None
        return _entry(path, size), part if isinstance(part, Span) else None

    # ---- changing ------------------------------------------------------------------------------

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        """Put bytes or a reference in the set, until it is saved only here."""
        if mode == "create" and self.exists(path):
            raise FileExistsError(path)
        self.references[self._strip_protocol(path)] = value
        self.dircache = {}

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        self.pipe_file(path, value, mode)

    async def _put_file(self, lpath: str, rpath: str, mode: str = "overwrite", **kwargs: Any) -> None:
        with open(lpath, "rb") as file:
            self.pipe_file(rpath, file.read(), mode)

    async def _rm_file(self, path: str, **kwargs: Any) -> None:
        self.references.pop(self._strip_protocol(path), None)  # a folder is nothing of its own
        self.dircache = {}

    def save_json(self, url: str, **storage_options: Any) -> None:
        """Write the references, as they are now, to a document."""
        known = spelled(self._references()) if self._mapping is None else self._mapping.items()
        refs = {key: text_of(bytes(value)) if _is_raw(value) else value for key, value in known}
        with fsspec.open(url, "wb", **storage_options) as file:
            file.write(dumps({"version": 1, "refs": refs}).encode())


class ReferenceFile(AbstractBufferedFile):  # type: ignore[misc]
    """A reference to part of a file, opened for reading."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        return cast("bytes", self.fs.cat_file(self.path, start, end))


class _Batch:
    """What is read from one file system at once."""

    def __init__(self, fs: Any, numbers: list[int], spans: list[Span], merged: Merged) -> None:
        self.fs, self.numbers, self.spans, self.merged = fs, numbers, spans, merged
        self.answers: list[Result] = []


class _Read:
    """Reading many parts of many keys."""

    def __init__(
        self, fs: ReferenceFileSystem, wanted: list[tuple[str, int | None, int | None]], on_error: str
    ) -> None:
        self._fs, self._on_error = fs, on_error
        self._paths = [path for path, *_ in wanted]
        self._parts: list[Part | Exception] = []
        self._batches: list[_Batch] = []
        for one in wanted:
            try:
                self._parts.append(fs._part(*one))
            except FileNotFoundError as err:
                if on_error == "raise":
                    raise
                self._parts.append(err)

    def batches(self, max_gap: int) -> list[_Batch]:
        """Group what is to be fetched by file system, and merge neighbours."""
        groups: dict[int, tuple[Any, list[int], list[str]]] = {}
        for number, part in enumerate(self._parts):
            if isinstance(part, Span):
                try:
                    fs, path = self._fs.fss.of(part.url)
                except Exception as err:
                    self._parts[number] = self._unreachable(number, err)
                else:
                    _, numbers, paths = groups.setdefault(id(fs), (fs, [], []))
                    numbers.append(number)
                    paths.append(path)
        for fs, numbers, paths in groups.values():
            spans = [part for number in numbers if isinstance(part := self._parts[number], Span)]
            self._batches.append(_Batch(fs, numbers, spans, merge(spans, paths, max_gap, self._fs.max_block)))
        return self._batches

    async def fetch_all(self, max_gap: int) -> None:
        """Fetch all batches at once."""
        batches = self.batches(max_gap)
        answers = await asyncio.gather(*(fetch_async(batch.fs, batch.merged) for batch in batches))
        for batch, found in zip(batches, answers, strict=True):
            batch.answers = found

    def results(self) -> Iterator[tuple[str, Result]]:
        """What was read, in the order in which it was asked for."""
        found: list[Any] = list(self._parts)
        for batch in self._batches:
            for k, number in enumerate(batch.numbers):
                part = batch.merged.part(batch.spans[k], k, batch.answers)
                found[number] = self._unreachable(number, part) if isinstance(part, Exception) else part
        for path, result in zip(self._paths, found, strict=True):
            if isinstance(result, Exception):
                if self._on_error == "raise":
                    raise result
                if self._on_error == "omit":
                    continue
            yield path, result

    def _unreachable(self, number: int, err: Exception) -> ReferenceNotReachable:
        path = self._fs._strip_protocol(self._paths[number])
        error = ReferenceNotReachable(path, self._fs._reference(path))
        error.__cause__ = err
        return error


class _Reach:
    """Turns what goes wrong with a file into the error that names its key."""

    def __init__(self, path: str, span: Span) -> None:
        self._path, self._span = path, span

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, err: BaseException | None, trace: Any) -> None:
        if isinstance(err, Exception):
            raise ReferenceNotReachable(self._path, self._span.url) from err


def _known(found: Result) -> bytes:
    if isinstance(found, Exception):
        raise found
    return found


def _paths(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else list(path)


def _one_or_all(path: str | list[str], found: dict[str, Any]) -> Any:
    return (
        next(iter(found.values())) if len(found) == 1 and isinstance(path, str) and "*" not in path else found
    )


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _is_raw(value: Any) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def _size(reference: Any) -> int | None:
    raw = as_bytes(reference)
    if raw is not None:
        return len(raw)
    return int(reference[2]) if len(reference) == 3 else None


def _entry(name: str, size: int | None, *, folder: bool = False) -> dict[str, Any]:
    return {"name": name, "type": "directory" if folder else "file", "size": size}


def _is_lazy(mapping: Mapping[str, Any]) -> bool:
    """Whether a mapping lists its own keys, as those of Parquet sets do: fsspec's own, or ours."""
    return hasattr(mapping, "ls") and hasattr(mapping, "listdir")


def _ls_lazy(mapping: Any, path: str, detail: bool) -> list[Any]:
    try:
        return list(mapping.ls(path, detail))
    except KeyError:
        raise FileNotFoundError(f"'{path}' is not a known key") from None


def _lazy_references(path: str, fs: Any, cache_size: int) -> MutableMapping[str, Any]:
    from zaro.fsspec.lazy import LazyReferenceMapper

    return LazyReferenceMapper(path, fs=fs, cache_size=cache_size)


def _first_file(references: References) -> str | None:
    contents = references.contents
    for table in contents.tables.values():
        if files := getattr(table, "files", ()):
            return str(files[0])
    others = (value for value in contents.other.values() if isinstance(value, list))
    return next((str(value[0]) for value in others), None)


def _expand(references: References) -> None:
    """Expand all generators now; as fsspec does, let a division by zero in one be just that."""
    try:
        len(references)
    except ValueError as err:
        if isinstance(err.__cause__, ZeroDivisionError):
            raise err.__cause__ from None
        raise


def _check_within(root: str, paths: list[str]) -> None:
    top = os.path.join(os.path.abspath(root), "")
    for path in paths:
        if not os.path.join(os.path.abspath(path), "").startswith(top):
            raise ValueError(f"path {path!r} lies outside the destination {root!r}")


def install() -> None:
    """Let fsspec use zaro's file system for the protocol `reference`."""
    fsspec.register_implementation("reference", ReferenceFileSystem, clobber=True)
