"""fsspec's mapping of a reference set in Parquet files, which can be written to."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, Literal, cast

import fsspec  # type: ignore[import-untyped]
import numpy as np
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from zaro.fsspec.changes import ChangedTable
from zaro.fsspec.documents import as_bytes, dumps
from zaro.references.contents import Contents
from zaro.references.layout import ChunkLayout, is_metadata, layout_of, split_key
from zaro.references.listing import Entry, Listing
from zaro.references.parquet import HEADER, Folder, read_folder
from zaro.references.parquet_set import ParquetSet, partition_key
from zaro.references.parquet_table import ParquetTable
from zaro.references.parquet_writer import encode_partition
from zaro.references.set import References
from zaro.references.table import EmptyTable, Table

__all__ = ["LazyReferenceMapper"]

_ROW_NBYTES = 20
"""Bytes that a reference takes in memory."""


class LazyReferenceMapper(MutableMapping[str, Any]):
    """References in a folder of Parquet files, read as they are needed; fsspec's class of this name.

    Changes stay in memory until a partition is full or `flush` is called.

    Parameters
    ----------
    root : str
        The folder.
    fs : file system, optional
        On which it lies; that of this machine unless given.
    out_root : str, optional
        Where changes are written, if not there.
    cache_size : int
        Partitions to keep in memory.
    categorical_threshold : int
        Accepted as in fsspec; URLs are always written as categories.
    engine : str
        Accepted as in fsspec; pyarrow reads and writes.

    Notes
    -----
    Where fsspec's class gives wrong data in silence, this one does not: only a partition that is not
    there lists no chunks, one that cannot be read is an error; keys that are not chunks of their
    array are a `KeyError`; `ls` lists keys that exist; data that are empty are not absent; arrays whose
    grid changes, or that are deleted, do not keep references of before. `len` is fast and counts
    the chunks that there may be, as in fsspec.

    Raises
    ------
    ReferenceSetError
        The header, or a partition that is there, cannot be read; at the first use.

    References
    ----------
    - The Parquet layout, as `docs/formats/parquet.md` says it.

    See Also
    --------
    fsspec.implementations.reference.LazyReferenceMapper : whose methods, arguments and results these are.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        fs: Any = None,
        out_root: str | None = None,
        cache_size: int = 128,
        categorical_threshold: int = 10,
        engine: Literal["fastparquet", "pyarrow"] = "fastparquet",
    ) -> None:
        self.root = os.fspath(root)
        self.fs = fsspec.filesystem("file") if fs is None else fs
        self.out_root = self.fs.unstrip_protocol(out_root or self.root)
        self.cache_size, self.cat_thresh, self.engine = cache_size, categorical_threshold, engine
        self.url = self.root + "/{field}/refs.{record}.parq"
        self._moved: dict[str, str] = {}
        self._folders: dict[str, Folder] = {}
        self._opened: _Opened | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.root, self.fs, self.out_root, self.cache_size, self.cat_thresh, self.engine)
        return type(self), arguments

    __hash__ = object.__hash__

    @staticmethod
    def create(
        root: str | os.PathLike[str],
        storage_options: Mapping[str, Any] | None = None,
        fs: Any = None,
        record_size: int = 10_000,
        **kwargs: Any,
    ) -> LazyReferenceMapper:
        """Make an empty set, in place of all that the folder holds.

        Parameters
        ----------
        root : str
            The folder.
        storage_options : dict, optional
            For its file system, unless `fs` is given.
        fs : file system, optional
            On which the folder lies.
        record_size : int
            References in a partition.
        **kwargs
            As for the class.

        Returns
        -------
        LazyReferenceMapper
            With the header written, and nothing in it.

        Raises
        ------
        OSError
            The folder cannot be emptied or made.
        """
        root = os.fspath(root)
        if fs is None:
            fs, root = fsspec.core.url_to_fs(root, **(storage_options or {}))
        if fs.exists(root):
            fs.rm(root, recursive=True)
        fs.makedirs(root, exist_ok=True)
        header = {"metadata": {}, "record_size": record_size}
        fs.pipe_file(f"{root}/{HEADER}", json.dumps(header).encode())
        return LazyReferenceMapper(root, fs, **kwargs)

    # ---- what was opened -----------------------------------------------------------------------

    def setup(self) -> None:
        """Read the header; the first use does so by itself.

        Raises
        ------
        ReferenceSetError
            It is missing or broken.
        """
        contents = read_folder(self._fetch, document=self.root)
        header = json.loads(cast("bytes", self._fetch(HEADER)))
        budget = max(self.cache_size, 1) * header["record_size"] * _ROW_NBYTES
        shared = ParquetSet(self._fetch, header["record_size"], self.root, None, budget)
        self._opened = _Opened(header, contents, shared)

    def _open(self) -> _Opened:
        if self._opened is None:
            self.setup()
        return cast("_Opened", self._opened)

    def _fetch(self, key: str) -> bytes | None:
        root = self._moved.get(key, self.root)
        if type(self.fs) is LocalFileSystem:
            path = self.fs._strip_protocol(root)
            return self._folders.setdefault(path, Folder(path)).get(key)
        try:
            return cast("bytes", self.fs.cat_file(f"{root}/{key}"))
        except FileNotFoundError:
            return None

    @property
    def record_size(self) -> int:
        """References in a partition."""
        return cast("int", self._open().header["record_size"])

    @property
    def zmetadata(self) -> dict[str, Any]:
        """The metadata documents by key, parsed."""
        return self._open().documents

    @property
    def _items(self) -> dict[Any, Any]:
        """What is not written yet, as fsspec keeps it: by array and partition, beside the header."""
        opened = self._open()
        found: dict[Any, Any] = {HEADER: opened.header_bytes}
        for path in opened.contents.tables:
            for chunk, value in opened.table(path).changes.items():
                record, row = divmod(chunk, self.record_size)
                found.setdefault((path, record), {})[row] = value
        return found

    # ---- the mapping ---------------------------------------------------------------------------

    def __getitem__(self, key: str) -> Any:
        opened = self._open()
        if key == HEADER:
            return opened.header_bytes
        return opened.references[key]

    def __setitem__(self, key: str, value: Any) -> None:
        opened = self._open()
        if is_metadata(key) or "/" not in key:
            if key != HEADER:
                raw = as_bytes(value)
                opened.set_document(key, json.loads(raw if raw is not None else value))
            return
        path, chunk = self._chunk(key)
        changes = opened.table(path).changes
        changes[chunk] = value
        self._write_if_full(path, chunk)

    def __delitem__(self, key: str) -> None:
        opened = self._open()
        if key == HEADER:
            return
        if key in opened.documents:
            opened.delete_document(key)
            return
        if is_metadata(key):
            raise KeyError(key)
        path, chunk = self._chunk(key)
        opened.table(path).changes[chunk] = None
        self._write_if_full(path, chunk)

    def _chunk(self, key: str) -> tuple[str, int]:
        place = self._open().contents.chunk(key)
        if place is None:
            raise KeyError(f"{key!r} is no chunk of an array of this set")
        return place

    def __contains__(self, key: object) -> bool:
        try:
            self[cast("str", key)]
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        yield HEADER
        yield from self._open().references

    def __len__(self) -> int:
        opened = self._open()
        chunks = sum(table.nchunks for table in opened.contents.tables.values())
        return 1 + len(opened.documents) + len(opened.contents.other) + chunks

    def listdir(self) -> set[str]:
        """Paths of all arrays and groups.

        Returns
        -------
        set of str
            Without the root.

        Raises
        ------
        ReferenceSetError
            The header is missing or broken.
        """
        return {split_key(key)[0] for key in self.zmetadata if split_key(key)[0]}

    def ls(self, path: str = "", detail: bool = True) -> list[Any]:
        """List the keys directly below a path.

        Parameters
        ----------
        path : str
            A folder; empty for the root.
        detail : bool
            Whether to tell sizes and kinds.

        Returns
        -------
        list
            By name: keys, or with `detail` dicts of `name`, `type` ("file", "directory") and `size` (bytes).

        Raises
        ------
        KeyError
            There is no such folder.
        """
        opened, path = self._open(), path.strip("/")
        listing = Listing(opened.contents)
        if path and not listing.is_folder(path):
            raise KeyError(path)
        entries = list(listing.below(path))
        if not path:
            entries.append(Entry(HEADER, len(opened.header_bytes), folder=False))
        if not detail:
            return sorted(entry.key for entry in entries)
        kinds = {True: "directory", False: "file"}
        found = [{"name": e.key, "type": kinds[e.folder], "size": e.size} for e in entries]
        return sorted(found, key=lambda entry: cast("str", entry["name"]))

    # ---- writing -------------------------------------------------------------------------------

    def _write_if_full(self, path: str, chunk: int) -> None:
        opened, size = self._open(), self.record_size
        record = chunk // size
        opened.pending[path, record] = opened.pending.get((path, record), 0) + 1
        if opened.pending[path, record] >= size:
            changes = opened.table(path).changes
            ids = range(record * size, (record + 1) * size)
            opened.pending[path, record] = sum(1 for one in ids if one in changes)
            if opened.pending[path, record] >= size:
                self.write(path, record)

    def write(
        self,
        field: str,
        record: int,
        base_url: str | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one partition of an array, with what was changed in it.

        Parameters
        ----------
        field : str
            Path of the array.
        record : int
            Number of the partition.
        base_url : str, optional
            Where to write, if not to `out_root`.
        storage_options : dict, optional
            For the file system of `base_url`.

        Raises
        ------
        KeyError
            There is no such array.
        OSError
            It cannot be written there.
        """
        opened, size = self._open(), self.record_size
        table = opened.table(field)
        ids = np.arange(record * size, min((record + 1) * size, table.nchunks), dtype=np.int64)
        data = encode_partition(table.locate(ids), size)
        self._put(partition_key(field, record), bytes(data), base_url, storage_options)
        for chunk in ids.tolist():
            table.changes.pop(chunk, None)
        opened.pending.pop((field, record), None)
        opened.written(field, record)

    def flush(self, base_url: str | None = None, storage_options: Mapping[str, Any] | None = None) -> None:
        """Write all that was changed.

        Parameters
        ----------
        base_url : str, optional
            Where to write, if not to `out_root`.
        storage_options : dict, optional
            For the file system of `base_url`.

        Raises
        ------
        OSError
            It cannot be written there.
        """
        opened = self._open()
        for path, table in list(opened.contents.tables.items()):
            records = {chunk // self.record_size for chunk in cast("ChangedTable", table).changes}
            for record in sorted(records):
                self.write(path, record, base_url, storage_options)
        for path, records in opened.leftovers():
            for record in records:
                with contextlib.suppress(FileNotFoundError):
                    self.fs.rm_file(f"{self.root}/{partition_key(path, record)}")
        self._put(HEADER, opened.renew_header(), base_url, storage_options)

    def _put(
        self, key: str, data: bytes, base_url: str | None, storage_options: Mapping[str, Any] | None
    ) -> None:
        fs, root = self.fs, base_url or self.out_root
        if base_url is not None and "://" in base_url:
            fs, root = fsspec.core.url_to_fs(base_url, **(storage_options or {}))
        path = fs._strip_protocol(f"{root}/{key}")
        fs.makedirs(split_key(path)[0], exist_ok=True)
        if type(fs) is LocalFileSystem:
            _replace(path, data)
        else:
            fs.pipe_file(path, data)
        if fs is self.fs:
            self._moved[key] = root


def _replace(path: str, data: bytes) -> None:
    """Write aside and rename: who reads at the same time sees the old file or the new one."""
    folder, name = os.path.split(path)
    handle, aside = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(aside, 0o644)
        os.replace(aside, path)
    except BaseException:
        os.unlink(aside)
        raise


class _Opened:
    """A set that was opened, with what was changed since."""

    def __init__(self, header: dict[str, Any], contents: Contents, shared: ParquetSet) -> None:
        self.header, self.shared = header, shared
        self.contents = contents
        self.contents.metadata = {key: _spelled(raw) for key, raw in contents.metadata.items()}
        self.documents: dict[str, Any] = {key: json.loads(raw) for key, raw in contents.metadata.items()}
        self.header_bytes = dumps(header).encode()
        self.pending: dict[tuple[str, int], int] = {}
        self._old: dict[str, set[int]] = {}  # partitions of arrays that are gone
        for path, layout in contents.layouts.items():
            contents.tables[path] = self._of_files(path, layout)
        self.references = References(contents)

    def _of_files(self, path: str, layout: ChunkLayout) -> ChangedTable:
        table: Table = EmptyTable(0)
        if path not in self._old and layout.nchunks:
            table = ParquetTable(self.shared, path, layout.nchunks)
        return ChangedTable(table, layout.nchunks)

    def table(self, path: str) -> ChangedTable:
        """Table of an array."""
        return cast("ChangedTable", self.contents.tables[path])

    def set_document(self, key: str, document: Any) -> None:
        """Set the members of a metadata document; those that it has and this one has not stay."""
        known = self.documents.get(key)
        merged = {**known, **document} if isinstance(known, dict) and isinstance(document, dict) else document
        self.documents[key] = merged
        self.contents.metadata[key] = dumps(merged).encode()
        layout = layout_of(key, self.contents.metadata[key])
        path = split_key(key)[0]
        if layout is not None and layout != self.contents.layouts.get(path):
            self._lay_out(path, layout)
        self.references = References(self.contents)

    def _lay_out(self, path: str, layout: ChunkLayout) -> None:
        before = self.contents.layouts.get(path)
        old = self.contents.tables.get(path)
        self.contents.layouts[path] = layout
        table = self.contents.tables[path] = self._of_files(path, layout)
        if before is None or not isinstance(old, ChangedTable):
            return
        if before.grid[1:] == layout.grid[1:] and len(before.grid) == len(layout.grid):
            table.changes = {k: value for k, value in old.changes.items() if k < layout.nchunks}
            return
        listed = old.listed().tolist()
        moved = {layout.id(before.name(chunk)): old.reference(chunk) for chunk in listed}
        table.changes = dict.fromkeys((k for k in listed if k < layout.nchunks), None)
        table.changes |= {chunk: value for chunk, value in moved.items() if chunk is not None}

    def delete_document(self, key: str) -> None:
        """Delete a metadata document, and with an array's all its references."""
        del self.documents[key], self.contents.metadata[key]
        path, name = split_key(key)
        if name in (".zarray", "zarr.json") and path in self.contents.layouts:
            nchunks = self.contents.layouts.pop(path).nchunks
            del self.contents.tables[path]
            records = range(-(-nchunks // self.shared.record_size))
            self._old.setdefault(path, set()).update(records)
        self.references = References(self.contents)

    def written(self, path: str, record: int) -> None:
        """Take note that a partition was written."""
        self.shared.forget(path, record)
        table = self.table(path)
        if path in self._old:
            self._old[path].discard(record)
        elif table.written.nchunks != table.nchunks:
            table.written = ParquetTable(self.shared, path, table.nchunks)

    def leftovers(self) -> Iterator[tuple[str, set[int]]]:
        """Partitions of arrays that are gone, which are to be deleted; they are forgotten."""
        gone, self._old = self._old, {}
        for path, records in gone.items():
            for record in records:
                self.shared.forget(path, record)
            if path in self.contents.tables:
                self.contents.tables[path] = self._of_files(path, self.contents.layouts[path])
            yield path, records

    def renew_header(self) -> bytes:
        """Spell the header as things are now."""
        self.header = {**self.header, "metadata": self.documents}
        self.header_bytes = dumps(self.header).encode()
        return self.header_bytes


def _spelled(raw: bytes) -> bytes:
    return dumps(json.loads(raw)).encode()
