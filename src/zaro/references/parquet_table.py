"""The chunks of one array that lies in partitions, which are loaded as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zaro._core.key import ArrayKeys, Columns, Pages, Source
from zaro.ending import LastingPool
from zaro.references.files import FileTable
from zaro.references.parquet_set import ParquetSet, Piece
from zaro.references.table import ABSENT, INLINE, EmptyTable, Ids, Located, OneByOne, Reference

__all__ = ["ParquetTable"]

LOADERS = 4  # partitions that are fetched at a time


@dataclass(frozen=True, slots=True, eq=False)
class ParquetTable(OneByOne):
    """The chunks of one array of a folder of partitions."""

    shared: ParquetSet
    path: str
    nchunks: int
    _pages: Pages = field(init=False, repr=False)

    def __post_init__(self) -> None:
        near = self.shared.cache.near.setdefault(self.path, {})
        object.__setattr__(self, "_pages", Pages(self.shared.record_size, near, self._far))

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
        """Find one chunk; None where it is absent."""
        return self._pages.at(chunk)

    def source(self, keys: ArrayKeys) -> Source:
        """Give the partitions that are in memory, and a way to the others."""
        return self._pages

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
        return at.reference(0)

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
        with LastingPool(min(LOADERS, len(tasks))) as pool:
            for begin in range(0, len(tasks), LOADERS):  # so that no more than these wait in memory
                part = tasks[begin : begin + LOADERS]
                yield from zip(part, pool.map(load, part), strict=True)

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
