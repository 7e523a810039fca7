"""Reference sets as Parquet: a folder of partitions, read one at a time and kept under a byte budget.

`.zmetadata` holds the metadata and `record_size`; chunk `i` of array `a/b` is row `i % record_size` of
`a/b/refs.{i // record_size}.parq`. Folders are never listed. A partition that is not there lists no
chunks: writers leave out those that would be all null.

Source: fsspec's LazyReferenceMapper, whose folders these are.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core.key import ArrayKeys, Columns, Pages
from zaro.errors import ReferenceSetError, StoreError
from zaro.options import Options
from zaro.references.contents import Contents, Reference
from zaro.references.files import FileTable, is_local, is_relative, local_path
from zaro.references.fingerprint import MEMBER, written
from zaro.references.json import read_mapping
from zaro.references.layout import join_path
from zaro.references.partition import OpenPartition, Partition, open_partition, read_rows
from zaro.references.table import ABSENT, INLINE, WHOLE, EmptyTable, Ids, Located
from zaro.stores.local import read_span
from zaro.stores.remote import FsspecStore

if TYPE_CHECKING:
    from zaro.references.set import References

__all__ = [
    "EXTRA",
    "HEADER",
    "ParquetSet",
    "ParquetTable",
    "partition_key",
    "read",
    "read_folder",
    "write",
]

HEADER = ".zmetadata"
EXTRA = MEMBER
"""Member of the header in which zaro keeps what the format has no place for."""
BUDGET = 128 << 20
"""Bytes of partitions that a set keeps in memory."""
LOADERS = 4  # partitions that are fetched at a time
MOST_ROWS = 2**31 - 1

Fetch = Callable[[str], "bytes | bytearray | memoryview | None"]
"""Gives the bytes of a key of the folder (`.zmetadata`, `a/b/refs.0.parq`); None where there is none."""


def partition_key(path: str, record: int) -> str:
    """Key of a partition of the array at `path`."""
    return join_path(path, f"refs.{record}.parq")


class _Files(FileTable):
    """A file table that grows as partitions are read."""

    __slots__ = ("_ids", "lock")

    def __init__(self, folder: str | None) -> None:
        super().__init__([], folder)
        self._ids: dict[str, int] = {}
        self.lock = threading.Lock()

    def ids(self, names: list[str]) -> Ids:
        """Ids of files by name; new ones are added."""
        with self.lock:
            for name in names:
                if name not in self._ids:
                    self._ids[name] = len(self.written)
                    self.resolved.append(None if self.folder is not None and is_relative(name) else name)
                    self.written.append(name)
        return np.array([self._ids[name] for name in names], np.int64)


class _Cache:
    """Row groups of partitions under a byte budget: those used last stay."""

    def __init__(self, budget: int) -> None:
        self.budget, self.held = budget, 0
        self._pieces: OrderedDict[tuple[str, int, int], Partition] = OrderedDict()
        self.near: dict[str, dict[int, Columns]] = {}
        """By path and partition, those of one row group that are held, laid out for single look-ups."""
        self.lock = threading.Lock()

    def get(self, path: str, record: int, group: int) -> Partition | None:
        with self.lock:
            found = self._pieces.get((path, record, group))
            if found is not None:
                self._pieces.move_to_end((path, record, group))
            return found

    def keep(self, path: str, record: int, group: int, piece: Partition) -> None:
        with self.lock:
            self._pieces[path, record, group] = piece
            self.held += piece.nbytes
            while self.held > self.budget and len(self._pieces) > 1:
                self._forget(*self._pieces.popitem(last=False))

    def bring_near(self, path: str, record: int, columns: Columns) -> None:
        """Keep the layout of a partition as long as the partition."""
        with self.lock:
            if (path, record, 0) in self._pieces:
                self.near[path][record] = columns

    def _forget(self, key: tuple[str, int, int], piece: Partition) -> None:
        self.held -= piece.nbytes
        self.near.get(key[0], {}).pop(key[1], None)

    def drop(self, path: str, record: int) -> None:
        with self.lock:
            for key in [key for key in self._pieces if key[:2] == (path, record)]:
                self._forget(key, self._pieces.pop(key))


@dataclass(slots=True, eq=False)
class _Known:
    """What is remembered of a partition: where its row groups begin ([0] if it is not there)."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    bounds: list[int] | None = None


Piece = tuple[int, int, Partition]
"""First row of a row group, its end, and its columns."""


@dataclass(eq=False)
class ParquetSet:
    """What the tables of one folder share: how to fetch, the file table, and the cache."""

    fetch: Fetch
    record_size: int
    document: str = ""
    folder: str | None = None
    budget: int = BUDGET
    files: _Files = field(init=False)
    cache: _Cache = field(init=False)

    def __post_init__(self) -> None:
        self.files, self.cache = _Files(self.folder), _Cache(self.budget)
        self._known: dict[tuple[str, int], _Known] = {}
        _SETS.add(self)

    def pieces(self, path: str, record: int, need: int, rows: range) -> list[Piece]:
        """Give the row groups of a partition that hold `rows`; each is loaded once, however many ask."""
        known = self._known.get((path, record)) or self._known.setdefault((path, record), _Known())
        with known.lock:
            file: OpenPartition | None = None
            if known.bounds is None:
                file = self._open(path, record, need)
                known.bounds = _bounds(file)
            bounds, found = known.bounds, []
            if len(bounds) == 1:
                return []
            for group in range(bisect_right(bounds, rows[0]) - 1, bisect_left(bounds, rows[-1] + 1)):
                piece = self.cache.get(path, record, group)
                if piece is None:
                    file = file or self._open(path, record, need)
                    piece = self._read(file, path, record, need, group, bounds)
                found.append((bounds[group], bounds[group + 1], piece))
            return found

    def is_whole(self, path: str, record: int) -> bool:
        """Whether a partition that was read has one row group."""
        known = self._known.get((path, record))
        return known is not None and known.bounds is not None and len(known.bounds) == 2

    def forget(self, path: str, record: int) -> None:
        """Read a partition anew when it is used next: it was written."""
        self._known.pop((path, record), None)
        self.cache.drop(path, record)

    def renew_locks(self) -> None:
        """Drop locks that another thread may have held when this process was forked."""
        self.cache.lock = threading.Lock()
        self.files.lock = threading.Lock()
        for known in self._known.values():
            known.lock = threading.Lock()

    def _open(self, path: str, record: int, need: int) -> OpenPartition | None:
        key = partition_key(path, record)
        data = self.fetch(key)
        return None if data is None else open_partition(data, self.document, key, need, self.record_size)

    def _read(
        self, file: OpenPartition | None, path: str, record: int, need: int, group: int, bounds: list[int]
    ) -> Partition:
        key = partition_key(path, record)
        if _bounds(file) != bounds:
            raise ReferenceSetError(self.document, key, "changed while it was read")
        assert file is not None
        rows = min(bounds[group + 1], need) - bounds[group]
        piece = read_rows(file, group, rows, self.document, key, self.files.ids)
        self.cache.keep(path, record, group, piece)
        return piece


def _bounds(file: OpenPartition | None) -> list[int]:
    metadata = file.metadata if file is not None else None
    sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)] if metadata else []
    return [0, *accumulate(sizes)]


_SETS: weakref.WeakSet[ParquetSet] = weakref.WeakSet()


def _after_fork() -> None:
    for shared in list(_SETS):
        shared.renew_locks()


os.register_at_fork(after_in_child=_after_fork)


@dataclass(frozen=True, slots=True, eq=False)
class ParquetTable:
    """The chunks of one array of a folder of partitions."""

    shared: ParquetSet
    path: str
    nchunks: int
    pages: Pages = field(init=False)
    """The partitions that are in memory, for look-ups of single chunks."""

    def __post_init__(self) -> None:
        near = self.shared.cache.near.setdefault(self.path, {})
        object.__setattr__(self, "pages", Pages(self.shared.record_size, near, self._far))

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once; fetches the partitions that are not in memory, several at a time."""
        if len(ids) == 1:
            return self._locate_one(int(ids[0]))
        n = len(ids)
        out = _Columns(np.full(n, ABSENT, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64))
        tasks = list(_grouped(np.asarray(ids, np.int64), self.shared.record_size, self.nchunks))
        for task, pieces in self._loaded(tasks):
            for piece in pieces:
                out.take(task, piece)
        return out.located(self.shared.files)

    def _locate_one(self, chunk: int) -> Located:
        if not 0 <= chunk < self.nchunks:
            raise IndexError(f"chunk {chunk} of {self.nchunks}")
        record, row = divmod(chunk, self.shared.record_size)
        pieces = self._load(record, row, row)
        if not pieces:
            return EmptyTable(self.nchunks).locate(np.zeros(1, np.int64))
        first, _, piece = pieces[0]
        here = slice(row - first, row - first + 1)
        columns = piece.file_id[here], piece.offset[here], piece.length[here]
        return Located(*columns, self.shared.files, piece.inline)

    def reference(self, chunk: int) -> Reference | None:
        """Find one chunk: `[url, offset, length]`, `[url]` or its bytes; None where it is absent."""
        return self.pages.at(chunk)

    def _far(self, chunk: int) -> Reference | None:
        """Find one chunk of a partition that is not near, and bring it near."""
        at = self._locate_one(chunk)
        record, row = divmod(chunk, self.shared.record_size)
        pieces = self._load(record, row, row)
        if len(pieces) == 1 and self.shared.is_whole(self.path, record):
            piece = pieces[0][2]
            keys = ArrayKeys("", np.array([len(piece.file_id)]), prefixed=False, separator=".")
            columns = Columns(
                keys, piece.file_id, piece.offset, piece.length, self.shared.files, piece.inline
            )
            self.shared.cache.bring_near(self.path, record, columns)
        file_id, offset, length = int(at.file_id[0]), int(at.offset[0]), int(at.length[0])
        if file_id == INLINE:
            return bytes(at.inline[offset : offset + length])
        if file_id == ABSENT:
            return None
        return [at.files[file_id]] if length == WHOLE else [at.files[file_id], offset, length]

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending; reads every partition."""
        size, found = self.shared.record_size, [np.empty(0, np.int64)]
        none, nowhere = np.empty(0, np.int64), slice(0)
        records = range(-(-self.nchunks // size))
        tasks = [_Task(record, 0, size - 1, none, nowhere) for record in records]
        for task, pieces in self._loaded(tasks):
            for first, _, piece in pieces:
                here = np.flatnonzero(piece.file_id != ABSENT) + (first + task.record * size)
                found.append(here[here < self.nchunks])
        return np.concatenate(found)

    def _loaded(self, tasks: list[_Task]) -> Iterator[tuple[_Task, list[Piece]]]:
        def load(task: _Task) -> list[Piece]:
            return self._load(task.record, task.first, task.last)

        if len(tasks) < 2:
            yield from ((task, load(task)) for task in tasks)
            return
        with ThreadPoolExecutor(min(LOADERS, len(tasks))) as pool:
            for begin in range(0, len(tasks), LOADERS):  # so that no more than these wait in memory
                part = tasks[begin : begin + LOADERS]
                try:
                    loaded = list(pool.map(load, part))
                except RuntimeError:  # while the interpreter shuts down there are no helpers
                    loaded = list(map(load, part))
                yield from zip(part, loaded, strict=True)

    def _load(self, record: int, first: int, last: int) -> list[Piece]:
        size = self.shared.record_size
        need = min(size, self.nchunks - record * size)
        return self.shared.pieces(self.path, record, need, range(first, min(last, need - 1) + 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Rows of one partition that are wanted, and their places among the ids."""

    record: int
    first: int
    last: int
    rows: Ids
    where: slice | NDArray[np.intp]


def _grouped(ids: Ids, size: int, nchunks: int) -> Iterator[_Task]:
    """Split ids by partition."""
    if not len(ids):
        return
    least, most = int(ids.min()), int(ids.max())
    if least < 0 or most >= nchunks:
        raise IndexError(f"chunks {least} to {most} of {nchunks}")
    if least // size == most // size:
        record = least // size
        yield _Task(record, least % size, most % size, ids - record * size, slice(0, len(ids)))
        return
    order = None
    if (ids[1:] < ids[:-1]).any():
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
    records = ids // size
    edges = (np.flatnonzero(records[1:] != records[:-1]) + 1).tolist()
    for begin, end in zip([0, *edges], [*edges, len(ids)], strict=True):
        record = int(records[begin])
        rows = ids[begin:end] - record * size
        where = slice(begin, end) if order is None else order[begin:end]
        yield _Task(record, int(rows[0]), int(rows[-1]), rows, where)


class _Columns:
    """The answer of a locate while partitions are laid into it."""

    def __init__(self, file_id: NDArray[np.int32], offset: Ids, length: Ids) -> None:
        self.file_id, self.offset, self.length = file_id, offset, length
        self._inline: list[NDArray[np.uint8]] = []
        self._end = 0

    def take(self, task: _Task, piece: Piece) -> None:
        """Lay the wanted rows of one row group."""
        first, end, columns = piece
        rows, where = task.rows, task.where
        if first > task.first or end <= task.last:
            inside = np.flatnonzero((rows >= first) & (rows < end))
            where = where[inside] if isinstance(where, np.ndarray) else inside + where.start
            rows = rows[inside]
        if first:
            rows = rows - first
        file_id, offset = columns.file_id[rows], columns.offset[rows]
        if len(columns.inline):
            offset = np.where(file_id == INLINE, offset + self._end, offset)
            self._inline.append(columns.inline)
            self._end += len(columns.inline)
        self.file_id[where], self.offset[where], self.length[where] = file_id, offset, columns.length[rows]

    def located(self, files: FileTable) -> Located:
        inline: bytes | NDArray[np.uint8] = b""
        if self._inline:
            inline = self._inline[0] if len(self._inline) == 1 else np.concatenate(self._inline)
        return Located(self.file_id, self.offset, self.length, files, inline)


def write(
    refs: Contents | References,
    target: str | os.PathLike[str],
    *,
    record_size: int = 100_000,
    compression: str = "zstd",
    storage_options: Mapping[str, Any] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write a set to a folder of partitions, see `zaro.references.parquet_writer`."""
    from zaro.references import parquet_writer

    parquet_writer.write(refs, target, record_size=record_size, compression=compression, progress=progress)


# ---- opening -----------------------------------------------------------------------------------


def read(address: str, *, options: Options, folder: str | None) -> Contents:
    """Open the folder at a path or URL; reads its header, and no partition."""
    return read_folder(_fetcher(address, options), document=address, folder=folder)


def read_folder(
    fetch: Fetch, *, document: str = "", folder: str | None = None, budget: int = BUDGET
) -> Contents:
    """Open a folder that is known by the bytes of its keys.

    Parameters
    ----------
    fetch
        Gives the bytes of a key, None where there is none.
    document
        Its name, for messages.
    folder
        What relative paths in it are resolved against.
    budget : int
        Bytes of partitions that are kept in memory.

    Raises
    ------
    ReferenceSetError
        The header is missing or broken. A broken partition is found when it is first used.
    """
    raw = fetch(HEADER)
    if raw is None:
        raise ReferenceSetError(document, HEADER, "is missing: there is no Parquet reference set here")
    header = _object(raw, document, HEADER)
    size = header.get("record_size")
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS:
        raise ReferenceSetError(document, f"{HEADER}, record_size", f"is {size!r}, expected a number of rows")
    extra = header.get(EXTRA)
    extra = extra if isinstance(extra, dict) else {}
    beside = _other(extra, document)
    metadata = _metadata(header, extra, document) | beside.metadata
    contents = Contents(metadata=metadata, other=beside.other).complete()
    contents.fingerprints = written(extra, document, folder)
    shared = ParquetSet(fetch, size, document, folder, budget)
    for path, layout in contents.layouts.items():
        if any(part in ("", ".", "..") for part in path.split("/")) and path:
            raise ReferenceSetError(document, HEADER, f"names an array {path!r}, which is no path in the set")
        if layout.nchunks:
            contents.tables[path] = ParquetTable(shared, path, layout.nchunks)
    return contents


def _object(raw: bytes | bytearray | memoryview, document: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(bytes(raw))
    except (ValueError, RecursionError) as err:
        raise ReferenceSetError(document, place, f"is no JSON: {err}") from err
    if not isinstance(found, dict):
        raise ReferenceSetError(document, place, f"holds a {type(found).__name__}, expected an object")
    return found


def _metadata(header: Mapping[str, Any], extra: Mapping[str, Any], document: str) -> dict[str, bytes]:
    members = header.get("metadata")
    if not isinstance(members, dict):
        raise ReferenceSetError(document, f"{HEADER}, metadata", "is missing, expected an object")
    texts = extra.get("texts")
    texts = texts if isinstance(texts, dict) else {}
    found = {}
    for key, value in members.items():
        if isinstance(value, str):
            found[key] = value.encode("utf-8", "surrogatepass")
        elif isinstance(value, dict):
            found[key] = _as_written(value, texts.get(key))
        else:
            raise ReferenceSetError(document, f"{HEADER}, {key!r}", f"is {value!r:.60}, expected an object")
    return found


def _as_written(value: dict[str, Any], text: object) -> bytes:
    """Spell a document as the set that it came from did, if that text still says the same."""
    if isinstance(text, str):
        try:
            if json.dumps(json.loads(text)) == json.dumps(value):
                return text.encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            pass
    return json.dumps(value).encode()


def _other(extra: Mapping[str, Any], document: str) -> Contents:
    """Read what the format has no place for: documents that are no objects, and keys of no array."""
    other = extra.get("other")
    return read_mapping({"version": 1, "refs": other if isinstance(other, dict) else {}}, name=document)


def _fetcher(address: str, options: Options) -> Fetch:
    if is_local(address):
        return _Folder(local_path(address).rstrip("/")).get
    store = FsspecStore(address.rstrip("/"), options.storage_options, options.timeout)
    return store.get


class _Folder:
    """A local folder of partitions, as long as it is the one that was opened.

    Writers replace folders: partitions of the new set mean nothing to who has read the old header. Who
    appends writes into the folder what the old header says nothing of.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._opened: tuple[int, ...] | None = None

    def get(self, key: str) -> bytes | None:
        """All bytes of a key; None where there is none, and the set is still there."""
        if key == HEADER:
            self._opened = self._identity()
        path = f"{self.root}/{key}"
        try:
            found = read_span(path, 0, None, most=config.PARTITION)
        except StoreError:
            raise
        except (FileNotFoundError, NotADirectoryError) as err:
            if os.path.lexists(path):
                raise StoreError(path, "a link that leads nowhere") from err
            found = None
        if key != HEADER and self._identity() != self._opened:
            reason = "was removed or replaced while it was open; open it again"
            raise ReferenceSetError(self.root, key, reason)
        return found

    def _identity(self) -> tuple[int, ...] | None:
        """What tells one folder from another; None for one that holds no set."""
        try:
            os.stat(f"{self.root}/{HEADER}")
            found = os.stat(self.root)
        except OSError:
            return None
        return found.st_dev, found.st_ino
