"""What is drawn of a reference set, as numbers: binned, so that a picture costs the same for any set.

Tables are walked through once, a batch of columns at a time; nothing that is kept grows with the chunks,
but the distinct lengths of an array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ReferenceSetError
from zaro.plan.requests import merge
from zaro.plot.weigh import Documents, folder_of_names, weigh
from zaro.references.columns import name_of
from zaro.references.layout import ChunkLayout
from zaro.references.set import References
from zaro.references.table import (
    ABSENT,
    INLINE,
    WHOLE,
    Located,
    Table,
    batches,
)

__all__ = ["ArrayLook", "Cells", "Look", "look", "spans"]

BATCH = 1 << 20  # chunks located at a time
WIDE, HIGH = 480, 96
"""Cells of a chunk map, at most."""
OCTAVE = 64  # bins of lengths between a power of two and the next, before they are drawn
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The chunk map of an array: counts of its chunks in each cell, [high, wide].

    Attributes
    ----------
    total, present, inline : (high, wide) int64
    file : (high, wide) float64
        Mean id of the files of a cell, from 0 for the first that the array uses to 1 for the last;
        NaN where no chunk lies in a file.
    axis : int
        Dimension of the grid that runs to the right; the others run down together.
    step : (int, int)
        Chunks that a cell is high and wide.
    """

    total: Counts
    present: Counts
    inline: Counts
    file: NDArray[np.float64]
    axis: int
    step: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class ArrayLook:
    """What is drawn of one array. `uniform` chunks have the commonest length, `unique` ones another.

    `uniform`, `unique`, `whole`, `inline` and `absent` add up to `chunks`. `lengths` counts chunks by
    length in bytes; bin k begins at `2 ** (k / 64)`. `requests` is how many reads a read of all the array
    makes, of `request_bytes` bytes together.
    """

    path: str
    grid: tuple[int, ...]
    chunks: int
    uniform: int
    unique: int
    whole: int
    inline: int
    absent: int
    nbytes: int
    common: int | None
    files: int
    first_file: str
    last_file: str
    cells: Cells
    lengths: Counts
    requests: int
    request_bytes: int

    @property
    def present(self) -> int:
        """Chunks that the set lists."""
        return self.chunks - self.absent


@dataclass(frozen=True, slots=True, eq=False)
class Look:
    """A reference set, as it is drawn."""

    name: str
    arrays: tuple[ArrayLook, ...]
    documents: Documents


def look(refs: References, arrays: Sequence[str] | None = None) -> Look:
    """Measure a set, or some of its arrays.

    Raises
    ------
    KeyError
        There is no such array; told by path.
    ReferenceSetError
        A span is no place in a file.

    Notes
    -----
    Linear in the chunks that exist: about a second for 10^7. Writes the documents of up to 2^20 chunks to a
    temporary folder, to weigh them.
    """
    contents = refs.contents
    paths = list(contents.layouts) if arrays is None else [path.strip("/") for path in arrays]
    found = tuple(_look(path, contents.layouts[path], contents.tables[path]) for path in paths)
    return Look(refs.address or "references in memory", found, weigh(contents, paths))


def _look(path: str, layout: ChunkLayout, table: Table) -> ArrayLook:
    map_, tally = _Map(layout.grid), _Tally()
    for ids in batches(table, BATCH):
        at = table.locate(ids)
        map_.add(ids, at.file_id)
        try:
            tally.add(at)
        except ValueError as err:
            raise ReferenceSetError("", path, str(err)) from err
    return ArrayLook(
        path=path,
        grid=layout.grid,
        chunks=table.nchunks,
        absent=table.nchunks - tally.present,
        cells=map_.cells(),
        **tally.facts(),
    )


class _Tally:
    """Counts of an array while its batches come in."""

    def __init__(self) -> None:
        self.present = self.inline = self.whole = self.nbytes = 0
        self.requests = self.request_bytes = 0
        self.lengths = np.zeros(64 * OCTAVE, np.int64)
        self._distinct = np.empty(0, np.int64), np.empty(0, np.int64)
        self._files = np.empty(0, np.int64)
        self._names: Sequence[str] = ()

    def add(self, at: Located) -> None:
        """Count a batch."""
        named = at.file_id >= 0
        whole = named & (at.length == WHOLE)
        there = at.file_id != ABSENT
        sized = there & ~whole
        self.present += int(np.count_nonzero(there))
        self.inline += int(np.count_nonzero(at.file_id == INLINE))
        self.whole += int(np.count_nonzero(whole))
        self.nbytes += int(at.length[sized].sum())
        self.lengths += np.bincount(_bin_of(at.length[sized]), minlength=len(self.lengths))
        if named.any():
            self._add_named(at, named, named & ~whole)

    def _add_named(self, at: Located, named: NDArray[np.bool_], spans: NDArray[np.bool_]) -> None:
        values, counts = np.unique(at.length[spans], return_counts=True)
        values, place = np.unique(np.append(self._distinct[0], values), return_inverse=True)
        counts = np.append(self._distinct[1], counts)
        merged = np.zeros(len(values), np.int64)
        np.add.at(merged, place, counts)
        self._distinct = values, merged
        seen = np.zeros(int(at.file_id.max()) + 1, bool)
        seen[at.file_id[named]] = True
        self._files, self._names = np.union1d(self._files, np.flatnonzero(seen)), at.files
        requests = merge(at.file_id[named], at.offset[named], at.length[named])
        self.requests += len(requests)
        self.request_bytes += int(requests.length[requests.length >= 0].sum())

    def facts(self) -> dict[str, Any]:
        """What the counts came to."""
        values, counts = self._distinct
        most = int(counts.argmax()) if len(counts) else None
        folder = folder_of_names(self._names)
        ends = [name_of(self._names, int(k), folder) for k in [*self._files[:1], *self._files[-1:]]]
        return {
            "uniform": int(counts[most]) if most is not None else 0,
            "unique": int(counts.sum() - counts[most]) if most is not None else 0,
            "whole": self.whole,
            "inline": self.inline,
            "nbytes": self.nbytes,
            "common": int(values[most]) if most is not None else None,
            "files": len(self._files),
            "first_file": ends[0] if ends else "",
            "last_file": ends[1] if ends else "",
            "lengths": self.lengths,
            "requests": self.requests,
            "request_bytes": self.request_bytes,
        }


def _bin_of(length: Counts) -> NDArray[np.intp]:
    return (np.log2(np.maximum(length, 1)) * OCTAVE).astype(np.intp)


class _Map:
    """The cells of an array while its batches come in."""

    def __init__(self, grid: tuple[int, ...]) -> None:
        self.axis = next((k for k, size in enumerate(grid) if size > 1), 0)
        self.wide = grid[self.axis] if grid else 1
        self.high = math.prod(grid) // self.wide if self.wide else 0
        self.after = math.prod(grid[self.axis + 1 :])
        self.step = max(-(-self.high // HIGH), 1), max(-(-self.wide // WIDE), 1)
        self.shape = -(-self.high // self.step[0]), -(-self.wide // self.step[1])
        n = self.shape[0] * self.shape[1]
        self.present, self.inline, self.named = (np.zeros(n, np.int64) for _ in range(3))
        self.files = np.zeros(n)

    def add(self, ids: Counts, file_id: NDArray[np.int32]) -> None:
        """Count a batch."""
        there = file_id != ABSENT
        ids, file_id = ids[there], file_id[there]
        outer, below = np.divmod(ids, self.after)
        before, right = np.divmod(outer, self.wide)
        down = before * self.after + below
        cell = (down // self.step[0]) * self.shape[1] + right // self.step[1]
        n, named = len(self.present), file_id >= 0
        self.present += np.bincount(cell, minlength=n)
        self.inline += np.bincount(cell[~named], minlength=n)
        self.named += np.bincount(cell[named], minlength=n)
        self.files += np.bincount(cell[named], weights=file_id[named], minlength=n)

    def cells(self) -> Cells:
        """Give what was counted."""
        sizes = [_sizes(n, step) for n, step in zip((self.high, self.wide), self.step, strict=True)]
        file = np.full(len(self.named), np.nan)
        np.divide(self.files, self.named, out=file, where=self.named > 0)
        if (self.named > 0).any():
            least, most = float(np.nanmin(file)), float(np.nanmax(file))
            file = (file - least) / ((most - least) or 1)
        return Cells(
            np.multiply.outer(*sizes),
            self.present.reshape(self.shape),
            self.inline.reshape(self.shape),
            file.reshape(self.shape),
            self.axis,
            self.step,
        )


def _sizes(n: int, step: int) -> Counts:
    """Chunks of each cell along one side of the map."""
    cells = -(-n // step)
    found = np.full(cells, step, np.int64)
    if cells:
        found[-1] = n - (cells - 1) * step
    return found


def spans(lengths: Counts) -> Iterator[tuple[float, float, int]]:
    """Give the bins of lengths that hold chunks, as they are drawn: begin, end in bytes, and count."""
    held = np.flatnonzero(lengths)
    if not len(held):
        return
    width = max(-(-(held[-1] - held[0] + 1) // 40), 1)
    for start in range(int(held[0]), int(held[-1]) + 1, width):
        yield (
            2 ** (start / OCTAVE),
            2 ** ((start + width) / OCTAVE),
            int(lengths[start : start + width].sum()),
        )
