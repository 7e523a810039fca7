"""Which file and which bytes hold each chunk of one array: the question every spelling answers.

A plain Zarr store, a shard index, a kerchunk document, a Parquet partition and a generator are
spellings of one table: chunk id -> file and span. Nothing after this room knows which it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zaro._core.key import ArrayKeys, Columns, Source
from zaro.stores.base import Store

__all__ = [
    "ABSENT",
    "INLINE",
    "WHOLE",
    "DenseTable",
    "EmptyTable",
    "Ids",
    "Located",
    "OneByOne",
    "Reference",
    "SparseTable",
    "Table",
    "batches",
]

Ids = NDArray[np.int64]
"""A column of chunk ids, offsets or lengths."""
Reference = list[str | int] | bytes
"""One reference as a mapping shows it: `[url, offset, length]`, `[url]` or the bytes themselves."""
ABSENT = -1
"""File id of a chunk that the set does not list: it reads as the fill value."""
INLINE = -2
"""File id of a chunk whose bytes stand in the set itself: its span lies in `Located.inline`."""
WHOLE = -1
"""Length of a chunk that is its whole file."""


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """Where the bytes of n chunks lie.

    Attributes
    ----------
    file_id : (n,) int32
        Row in `files`; ABSENT or INLINE where there is none.
    offset, length : (n,) int64
        Span in bytes; length WHOLE for a whole file.
    files : sequence of str
        URLs or paths, as the set spells them after templates.
    inline : bytes-like
        The bytes of all inline chunks of the table, one after another.
    store : Store or None
        Where it is set, `files` are keys of this store instead of URLs, and a key that the store
        does not hold is an absent chunk.
    """

    file_id: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    files: Sequence[str]
    inline: bytes | bytearray | memoryview | NDArray[np.uint8] = b""
    store: Store | None = None

    def reference(self, k: int) -> Reference | None:
        """Give the k-th of the chunks by itself; None where it is absent."""
        file_id, offset, length = int(self.file_id[k]), int(self.offset[k]), int(self.length[k])
        if file_id == ABSENT:
            return None
        if file_id == INLINE:
            return bytes(self.inline[offset : offset + length])
        url = self.files[file_id]
        return [url] if length == WHOLE else [url, offset, length]


class Table(Protocol):
    """Where the chunks of one array lie. Ids count chunks from 0 in C order of the chunk grid."""

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        ...

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once, in any order, repeats allowed; each id in `[0, nchunks)`."""
        ...

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending."""
        ...

    def candidates(self) -> NDArray[np.int64] | None:
        """Give ids, ascending, outside which nothing exists, where they are few; None where any may."""
        ...

    def reference(self, chunk: int) -> Reference | None:
        """Find one chunk; None where it is absent."""
        ...

    def source(self, keys: ArrayKeys) -> Source | None:
        """Give what the kernel finds the chunks of these keys in; None where `reference` must be asked."""
        ...

    def explain(self, chunk: int) -> str:
        """Say how a chunk came where it lies; nothing where the set names each chunk."""
        ...


class OneByOne:
    """What a table answers for single chunks, unless it knows better; and that any chunk may exist."""

    __slots__ = ()

    def candidates(self) -> NDArray[np.int64] | None:
        """None: any chunk may exist."""
        return None

    def reference(self: Table, chunk: int) -> Reference | None:
        """Find one chunk; None where it is absent."""
        return self.locate(np.array([chunk], np.int64)).reference(0)

    def source(self, keys: ArrayKeys) -> Source | None:
        """None: there is nothing that the kernel could look at."""
        return None

    def explain(self, chunk: int) -> str:
        """Nothing: the set names each chunk."""
        return ""


@dataclass(frozen=True, slots=True, eq=False)
class DenseTable(OneByOne):
    """A row for every chunk of the grid: 20 bytes each, and found by its id alone."""

    file_id: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    files: Sequence[str]
    inline: bytes | bytearray | memoryview | NDArray[np.uint8] = b""

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        return len(self.file_id)

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once; constant time each."""
        return Located(self.file_id[ids], self.offset[ids], self.length[ids], self.files, self.inline)

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending."""
        return np.flatnonzero(self.file_id != ABSENT).astype(np.int64, copy=False)

    def source(self, keys: ArrayKeys) -> Source:
        """Give the columns."""
        return Columns(keys, self.file_id, self.offset, self.length, self.files, self.inline)


@dataclass(frozen=True, slots=True, eq=False)
class SparseTable(OneByOne):
    """A row for every chunk that exists, by ascending id: for grids that are mostly absent."""

    nchunks: int
    ids: NDArray[np.int64]
    file_id: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    files: Sequence[str]
    inline: bytes | bytearray | memoryview | NDArray[np.uint8] = b""

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once; a binary search each."""
        if not len(self.ids):
            return EmptyTable(self.nchunks).locate(ids)
        row = np.searchsorted(self.ids, ids)
        row[row == len(self.ids)] = 0
        absent = self.ids[row] != ids
        file_id = self.file_id[row]
        file_id[absent] = ABSENT
        return Located(file_id, self.offset[row], self.length[row], self.files, self.inline)

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending."""
        ids: Ids = self.ids[self.file_id != ABSENT]
        return ids

    def candidates(self) -> NDArray[np.int64]:
        """Give the ids of all rows."""
        return self.ids

    def source(self, keys: ArrayKeys) -> Source:
        """Give the columns."""
        return Columns(keys, self.file_id, self.offset, self.length, self.files, self.inline, self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class EmptyTable(OneByOne):
    """No chunk exists."""

    nchunks: int

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Every chunk is absent."""
        n = len(ids)
        return Located(np.full(n, ABSENT, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64), ())

    def listed(self) -> NDArray[np.int64]:
        """No ids."""
        return np.empty(0, np.int64)

    def candidates(self) -> NDArray[np.int64]:
        """No ids."""
        return self.listed()


WALKED = 1 << 33  # a grid that is worth walking through; a larger one is mostly absent


def batches(table: Table, size: int) -> Iterator[Ids]:
    """Give the ids of all chunks that exist, ascending, and perhaps absent ones, so many at a time."""
    few = table.candidates()
    if few is None and table.nchunks <= WALKED:
        for start in range(0, table.nchunks, size):
            yield np.arange(start, min(start + size, table.nchunks), dtype=np.int64)
        return
    ids = table.listed() if few is None else few
    for start in range(0, len(ids), size):
        yield ids[start : start + size]
