"""fsspec's reference file system, with the references in columns."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, cast

import fsspec  # type: ignore[import-untyped]
from fsspec.asyn import AsyncFileSystem  # type: ignore[import-untyped]
from fsspec.callbacks import DEFAULT_CALLBACK  # type: ignore[import-untyped]
from fsspec.spec import AbstractBufferedFile  # type: ignore[import-untyped]
from fsspec.utils import isfilelike, other_paths  # type: ignore[import-untyped]

from zaro.fsspec.documents import dumps, open_document, text_of
from zaro.fsspec.errors import ReferenceNotReachable
from zaro.fsspec.keys import Keys, entry_of, size_of
from zaro.fsspec.lazy import LazyReferenceMapper
from zaro.fsspec.reading import Reading, Wanted
from zaro.fsspec.spans import Answer, Merged, Span, fetch, fetch_async
from zaro.fsspec.targets import FileSystems, make_filesystems, unwrapped

__all__ = ["ReferenceFile", "ReferenceFileSystem", "install"]


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
    **kwargs
        As for every file system of fsspec: `asynchronous`, `loop` and the like.

    Notes
    -----
    Where fsspec's class gives wrong data in silence, this one does not:

    - `gen` is not ignored.
    - A file that is shorter than a reference promises is `ReferenceNotReachable`, not a shorter value.
    - A key whose file is missing exists; reading it is `ReferenceNotReachable`, and `FileNotFoundError`
      means that the set has no such key. (`info` asks the file of a reference without a size for it, and
      then raises what the file's own file system raises.)
    - `info` and `ls` give the size of inline data once they are decoded.
    - `cat(on_error="omit")` leaves unreachable references out, instead of putting errors among the data.
    - References of several protocols are each read by their own.
    - `ls` shows what `pipe_file` wrote.
    - Opening a key for writing is an error, instead of taking what is written and dropping it.
    - A relative path means a file beside the document and, failing that, below the working directory.
    - A document from afar reaches files of this machine only if `remote_protocol` or `fs` names them.

    Raises
    ------
    ReferenceSetError
        The document is broken.
    FileNotFoundError
        There is no document; of a key that the set does not have.
    ReferenceNotReachable
        A value is read whose file cannot be.

    References
    ----------
    - kerchunk, "References specification": https://fsspec.github.io/kerchunk/spec.html

    See Also
    --------
    fsspec.implementations.reference.ReferenceFileSystem : whose methods, arguments and results these are.
    install : puts this class in its place.
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
            lazy=lambda path, of: LazyReferenceMapper(path, fs=of, cache_size=cache_size),
        )
        self._keys = Keys(document, target)
        self.templates: dict[str, Any] = document.templates
        self.dircache: dict[str, list[dict[str, Any]]] | None = {}
        if not simple_templates:
            self._keys.expand()
        self.fss: FileSystems = make_filesystems(
            fs,
            remote_protocol,
            remote_options,
            templates=self.templates.values(),
            first_url=self._keys.first_url() if fs is None and remote_protocol is None else None,
            asynchronous=self.asynchronous,
            origin=document.origin,
        )

    @property
    def references(self) -> MutableMapping[str, Any]:
        """The references by key, which may be changed.

        Those of a document become a `dict` when this is first asked for; reading does not ask.
        """
        return self._keys.mapping

    @references.setter
    def references(self, value: MutableMapping[str, Any]) -> None:
        self._keys.mapping = value

    def _key(self, path: str) -> str:
        return cast("str", self._strip_protocol(path))

    # ---- reading -------------------------------------------------------------------------------

    async def _cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any
    ) -> bytes:
        part = self._keys.part(self._key(path), start, end)
        if isinstance(part, bytes):
            return part
        try:
            fs, merged = self._alone(part)
            return _known(merged.part(part, 0, await fetch_async(fs, merged)))
        except Exception as err:
            raise ReferenceNotReachable(path, part.url) from err

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> bytes:
        """Read a value, or `[start:end]` of it."""
        part = self._keys.part(self._key(path), start, end)
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

    def _reading(self, wanted: list[Wanted], on_error: str, max_gap: int | None = None) -> Reading:
        return Reading(
            self._keys,
            self.fss,
            [(self._key(path), start, end) for path, start, end in wanted],
            on_error=on_error,
            max_gap=self.max_gap if max_gap is None else max_gap,
            max_block=self.max_block,
        )

    def cat(
        self, path: str | list[str], recursive: bool = False, on_error: str = "raise", **kwargs: Any
    ) -> Any:
        """Read many values, neighbours together; `on_error` is "raise", "return" or "omit"."""
        if isinstance(path, str) and recursive:
            raise NotImplementedError
        if isinstance(path, list) and (recursive or any("*" in one for one in path)):
            raise NotImplementedError
        paths = _paths(self.expand_path(path) if isinstance(path, str) and "*" in path else path)
        reading = self._reading([(one, None, None) for one in paths], on_error).fetch()
        return _one_or_all(path, paths, reading)

    async def _cat(
        self,
        path: str | list[str],
        recursive: bool = False,
        on_error: str = "raise",
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> Any:
        paths = _paths(path)
        if recursive or any("*" in one for one in paths):
            return await super()._cat(path, recursive, on_error, batch_size, **kwargs)
        reading = await self._reading([(one, None, None) for one in paths], on_error).fetch_async()
        return _one_or_all(path, paths, reading)

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
        reading = self._reading(wanted, "return" if on_error == "return" else "raise", max_gap)
        return [result for _, result in (await reading.fetch_async()).results()]

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | str | None = None,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Any:
        if mode != "rb":
            raise NotImplementedError(f"a reference opens for reading only, not for {mode!r}; use pipe_file")
        part = self._keys.part(self._key(path))
        if isinstance(part, bytes):
            return io.BytesIO(part)
        if part.exact:
            size = block_size or "default"
            return ReferenceFile(self, path, mode, block_size=size, cache_options=cache_options, **kwargs)
        fs, target = self.fss.of(part.url)
        return unwrapped(fs)._open(target, mode, block_size=block_size, cache_options=cache_options, **kwargs)

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
            _write(lpath, data)
        callback.absolute_update(len(data))

    async def _get_file(self, rpath: str, lpath: str, **kwargs: Any) -> None:
        if self.isdir(rpath):
            os.makedirs(lpath, exist_ok=True)
        else:
            _write(lpath, await self._cat_file(rpath))

    def get(self, rpath: Any, lpath: Any, recursive: bool = False, **kwargs: Any) -> None:
        """Copy values to local files."""
        sources = self.expand_path(rpath, recursive=recursive)
        targets = other_paths(sources, lpath)
        if isinstance(lpath, str):
            _check_within(lpath, targets)
        pairs = zip(sources, targets, strict=True)
        files = {source: to for source, to in pairs if not (recursive and self.isdir(source))}
        for source, value in self.cat(list(files)).items():
            os.makedirs(os.path.dirname(files[source]) or ".", exist_ok=True)
            _write(files[source], value)

    # ---- listing -------------------------------------------------------------------------------

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        """List what lies directly below a path."""
        path = self._key(path).lstrip("/")
        if (lazy := self._keys.lazy) is not None:
            try:
                return list(lazy.ls(path, detail))
            except KeyError:
                raise FileNotFoundError(f"'{path}' is not a known key") from None
        if self._keys.columns is not None:
            found = self._keys.below(path)
        else:
            if not self.dircache:
                self._dircache_from_items()
            found = self._ls_from_cache(path)
        if found is None:
            raise FileNotFoundError(path)
        return found if detail else [entry["name"] for entry in found]

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
                folders[_above(folder)].append(entry_of(folder, 0, folder=True))
            folders[_above(path)].append(entry_of(path, size_of(value)))
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
        keys = self._keys.starting(self._key(path).lstrip("/"))
        if not detail:
            return keys
        return {key: entry_of(key, self._keys.size(self._keys.reference(key))) for key in keys}

    def isfile(self, path: str) -> bool:
        """Whether the set has a key."""
        return self._keys.reference(self._key(path)) is not None

    def isdir(self, path: str) -> bool:
        """Whether keys lie below a path."""
        path = self._key(path).lstrip("/")
        if not path:
            return True
        if self._keys.lazy is None and self._keys.columns is None and self.dircache:
            return path in self.dircache
        return self._keys.is_folder(path)

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
            fs, target = self.fss.of(span.url)
            found["size"] = unwrapped(fs).size(target)
        return found

    async def _info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        found, span = self._info_here(path)
        if span is not None:
            fs, target = self.fss.of(span.url)
            size = fs._size(target) if fs.async_impl else asyncio.to_thread(fs.size, target)
            found["size"] = await size
        return found

    def _info_here(self, path: str) -> tuple[dict[str, Any], Span | None]:
        """What is known of a path; with the file, where that must be asked for its size."""
        path = self._key(path)
        reference = self._keys.reference(path)
        if reference is None:
            if not self.isdir(path):
                raise FileNotFoundError(path)
            return entry_of(path, 0, folder=True), None
        size = self._keys.size(reference)
        part = self._keys.part(path) if size is None else None
        return entry_of(path, size), part if isinstance(part, Span) else None

    # ---- changing ------------------------------------------------------------------------------

    def pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        """Put bytes or a reference in the set, until it is saved only here."""
        if mode == "create" and self.exists(path):
            raise FileExistsError(path)
        self.references[self._key(path)] = value
        self.dircache = {}

    async def _pipe_file(self, path: str, value: Any, mode: str = "overwrite", **kwargs: Any) -> None:
        self.pipe_file(path, value, mode)

    async def _put_file(self, lpath: str, rpath: str, mode: str = "overwrite", **kwargs: Any) -> None:
        with open(lpath, "rb") as file:
            self.pipe_file(rpath, file.read(), mode)

    async def _rm_file(self, path: str, **kwargs: Any) -> None:
        self.references.pop(self._key(path), None)  # a folder is nothing of its own
        self.dircache = {}

    def save_json(self, url: str, **storage_options: Any) -> None:
        """Write the references, as they are now, to a document.

        Parameters
        ----------
        url : str
            Path or URL of the JSON document.
        **storage_options
            fsspec's options for it.

        Raises
        ------
        OSError
            It cannot be written there.
        """
        raw = (bytes, bytearray, memoryview)
        refs = {
            key: text_of(bytes(value)) if isinstance(value, raw) else value
            for key, value in self._keys.items()
        }
        with fsspec.open(url, "wb", **storage_options) as file:
            file.write(dumps({"version": 1, "refs": refs}).encode())


class ReferenceFile(AbstractBufferedFile):  # type: ignore[misc]
    """A reference to part of a file, opened for reading."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        return cast("bytes", self.fs.cat_file(self.path, start, end))


def _known(found: Answer) -> bytes:
    if isinstance(found, Exception):
        raise found
    return found


def _paths(path: str | list[str]) -> list[str]:
    return [path] if isinstance(path, str) else list(path)


def _one_or_all(path: str | list[str], paths: list[str], reading: Reading) -> Any:
    """What was read, by path as it was asked for; the value alone where one path was."""
    by_key = dict(reading.results())
    named = ((one, ReferenceFileSystem._strip_protocol(one)) for one in paths)
    found = {one: by_key[key] for one, key in named if key in by_key}
    if len(found) == 1 and isinstance(path, str) and "*" not in path:
        return next(iter(found.values()))
    return found


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def _write(path: str, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)


def _check_within(root: str, paths: list[str]) -> None:
    top = os.path.join(os.path.abspath(root), "")
    for path in paths:
        if not os.path.join(os.path.abspath(path), "").startswith(top):
            raise ValueError(f"path {path!r} lies outside the destination {root!r}")


def install() -> None:
    """Let fsspec use zaro's file system for the protocol `reference`.

    Lasts for the process. File systems that were made before stay what they are.

    See Also
    --------
    fsspec.register_implementation : what it calls, with `clobber=True`.
    """
    fsspec.register_implementation("reference", ReferenceFileSystem, clobber=True)
