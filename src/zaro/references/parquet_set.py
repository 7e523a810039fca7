"""What the tables of one folder of partitions share: how to fetch one, the file table, and the cache."""

from __future__ import annotations

import os
import threading
import weakref
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from zaro._core.key import Columns
from zaro.ending import undisturbed
from zaro.errors import ReferenceSetError
from zaro.references.files import FileTable, is_relative
from zaro.references.layout import join_path
from zaro.references.partition import OpenPartition, Partition, open_partition, read_rows
from zaro.references.table import Ids
from zaro.stores.base import Bytes

__all__ = ["BUDGET", "Fetch", "ParquetSet", "Piece", "partition_key"]

BUDGET = 128 << 20
"""Bytes of partitions that a set keeps in memory."""

Fetch = Callable[[str], Bytes | None]
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
            if (found := self._held(path, record, known.bounds, rows)) is None:
                data = self.fetch(partition_key(path, record))
                found = undisturbed(lambda: self._loaded(data, known, path, record, need, rows))
            return found

    def _held(self, path: str, record: int, bounds: list[int] | None, rows: range) -> list[Piece] | None:
        """Give the row groups that hold `rows`; None unless all are in memory."""
        if bounds is None:
            return None
        found: list[Piece] = []
        for group in _groups(bounds, rows):
            if (piece := self.cache.get(path, record, group)) is None:
                return None
            found.append((bounds[group], bounds[group + 1], piece))
        return found

    def _loaded(
        self, data: Bytes | None, known: _Known, path: str, record: int, need: int, rows: range
    ) -> list[Piece]:
        """Give the row groups that hold `rows`; reads those that are not in memory."""
        key = partition_key(path, record)
        file = open_partition(data, self.document, key, need, self.record_size) if data is not None else None
        bounds, found = _bounds(file), []
        if known.bounds not in (None, bounds):
            raise ReferenceSetError(self.document, key, "changed while it was read")
        known.bounds = bounds
        for group in _groups(bounds, rows):
            begin, end = bounds[group], bounds[group + 1]
            piece = self.cache.get(path, record, group)
            if piece is None:
                assert file is not None
                piece = read_rows(file, group, min(end, need) - begin, self.document, key, self.files.ids)
                self.cache.keep(path, record, group, piece)
            found.append((begin, end, piece))
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


def _bounds(file: OpenPartition | None) -> list[int]:
    metadata = file.metadata if file is not None else None
    sizes = [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)] if metadata else []
    return [0, *accumulate(sizes)]


def _groups(bounds: list[int], rows: range) -> range:
    """Numbers of the row groups that hold `rows`; none where the partition is not there."""
    if len(bounds) == 1:
        return range(0)
    return range(bisect_right(bounds, rows[0]) - 1, bisect_left(bounds, rows[-1] + 1))


_SETS: weakref.WeakSet[ParquetSet] = weakref.WeakSet()


def _after_fork() -> None:
    for shared in list(_SETS):
        shared.renew_locks()


os.register_at_fork(after_in_child=_after_fork)
