"""Which chunks a selection touches, and what it takes of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core import grid as _grid
from zaro.errors import SelectionError
from zaro.metadata.model import ArrayMetadata
from zaro.plan.selection import Listed, Pick, Picked, Points

__all__ = ["AxisPlan", "Plan", "PointsPlan", "halves", "longest_axis", "plan_axes", "plan_points"]


@dataclass(frozen=True, slots=True, eq=False)
class AxisPlan:
    """What is taken along one axis: `segments` (n, 6) int64 as grid.h has them; lists where it is listed."""

    segments: NDArray[np.int64]
    source: NDArray[np.int64] | None
    target: NDArray[np.int64] | None
    dropped: bool

    @property
    def chunks(self) -> NDArray[np.int64]:
        """Position of each touched chunk along the axis."""
        return self.segments[:, 0]


@dataclass(frozen=True, eq=False)
class Plan:
    """A read by axes: one task for each chunk touched, the product of the axes' segments in C order.

    `shape` is the result's: an axis picked by an integer is dropped from it.
    """

    axes: tuple[AxisPlan, ...]
    shape: tuple[int, ...]
    grid: tuple[int, ...]

    @cached_property
    def n_task(self) -> int:
        """Number of chunks touched."""
        return math.prod(len(axis.segments) for axis in self.axes)

    def ids(self) -> NDArray[np.int64]:
        """Chunk ids of all tasks, in their order."""
        return _grid.cross([axis.segments for axis in self.axes], self.grid)

    def index(self, task: int) -> tuple[int, ...]:
        """Place of one task's chunk in the grid."""
        counts = [len(axis.segments) for axis in self.axes]
        place = np.unravel_index(task, counts) if counts else ()
        return tuple(int(axis.chunks[k]) for axis, k in zip(self.axes, place, strict=True))

    points = None
    """Nothing: elements are taken by axes."""

    def rows(self, out: NDArray[Any]) -> list[tuple[Any, ...]]:
        """The axes as the kernel takes them, with the strides of `out`."""
        strides = iter(out.strides)
        return [
            (axis.segments, axis.source, axis.target, 0 if axis.dropped else next(strides))
            for axis in self.axes
        ]


@dataclass(frozen=True, eq=False)
class PointsPlan:
    """A read of elements one by one, grouped by chunk: task k copies elements [begin[k], begin[k+1])."""

    begin: NDArray[np.int64]
    index: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    block: int
    shape: tuple[int, ...]
    chunk_ids: NDArray[np.int64]

    @property
    def n_task(self) -> int:
        """Number of chunks touched."""
        return len(self.chunk_ids)

    @property
    def points(self) -> tuple[Any, ...]:
        """The elements as the kernel takes them."""
        return self.begin, self.index, self.source, self.target, self.block

    def rows(self, out: NDArray[Any]) -> list[tuple[Any, ...]]:
        """The axes as the kernel takes them: nothing is taken by them."""
        return [(np.empty((0, 6), np.int64), None, None, 0)] * self.index.shape[1]

    def ids(self) -> NDArray[np.int64]:
        """Chunk ids of all tasks, in their order."""
        return self.chunk_ids


def plan_axes(metadata: ArrayMetadata, picks: tuple[Pick, ...]) -> Plan:
    """Chunks that picks, one for each axis, touch; each chunk once."""
    axes = tuple(_axis(metadata, d, pick) for d, pick in enumerate(picks))
    shape = tuple(pick.count for pick in picks if not pick.dropped)
    if math.prod(shape) * metadata.dtype.itemsize > np.iinfo(np.intp).max:
        raise SelectionError(f"a result of shape {shape} does not fit into memory; read it in parts")
    return Plan(axes, shape, metadata.grid)


def longest_axis(metadata: ArrayMetadata, picks: tuple[Pick, ...]) -> int | None:
    """Axis along which most chunks are touched, where they are too many to be planned at once; else None."""
    touched = [_touched(metadata, d, pick) for d, pick in enumerate(picks)]
    if math.prod(touched) <= config.TASKS_AT_ONCE:
        return None
    return max(range(len(touched)), key=touched.__getitem__)


def _touched(metadata: ArrayMetadata, d: int, pick: Pick) -> int:
    """Chunks that a pick touches along axis `d`, at most."""
    most = min(pick.count, metadata.grid[d])
    if isinstance(pick, Listed) or metadata.edges is not None:
        return most
    return min(most, (pick.count - 1) * abs(pick.step) // max(metadata.chunks[d], 1) + 2)


def halves(pick: Pick) -> tuple[Pick, Pick]:
    """The first and the second half of what is picked along an axis."""
    middle = pick.count // 2
    if isinstance(pick, Picked):
        rest = Picked(pick.start + middle * pick.step, pick.step, pick.count - middle)
        return Picked(pick.start, pick.step, middle), rest
    return Listed(pick.positions[:middle]), Listed(pick.positions[middle:])


def _axis(metadata: ArrayMetadata, d: int, pick: Pick) -> AxisPlan:
    size, chunk = metadata.shape[d], metadata.chunks[d]
    if isinstance(pick, Picked) and metadata.edges is None:
        segments = _grid.cover(size, max(chunk, 1), pick.start, pick.step, pick.count)
        return AxisPlan(segments, None, None, pick.dropped)
    if isinstance(pick, Picked):
        positions = pick.start + pick.step * np.arange(pick.count, dtype=np.int64)
        return AxisPlan(
            _segments(*chunks_of(metadata, d, positions), step=pick.step), None, None, pick.dropped
        )
    return _listed_axis(*chunks_of(metadata, d, pick.positions))


def chunks_of(
    metadata: ArrayMetadata, d: int, positions: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Chunk, position in it, and extent of it along axis `d`, for each element."""
    if metadata.edges is None:
        chunk = max(metadata.chunks[d], 1)
        of_chunk = positions // chunk
        return of_chunk, positions - of_chunk * chunk, np.full(len(positions), chunk, np.int64)
    return metadata.edges[d].place(positions)


def _segments(
    of_chunk: NDArray[np.int64], within: NDArray[np.int64], size: NDArray[np.int64], *, step: int
) -> NDArray[np.int64]:
    """Segments of elements that stand in order: one for each run in the same chunk."""
    begin = np.flatnonzero(np.diff(of_chunk, prepend=-1))
    segments = np.empty((len(begin), 6), np.int64)
    segments[:, 0], segments[:, 1], segments[:, 2] = of_chunk[begin], size[begin], within[begin]
    segments[:, 3], segments[:, 4], segments[:, 5] = step, np.diff(begin, append=len(of_chunk)), begin
    return segments


def _listed_axis(of_chunk: NDArray[np.int64], within: NDArray[np.int64], size: NDArray[np.int64]) -> AxisPlan:
    target = np.argsort(of_chunk, kind="stable").astype(np.int64, copy=False)
    segments = _segments(of_chunk[target], within[target], size[target], step=1)
    segments[:, 2], segments[:, 5] = segments[:, 5], 0  # a listed axis begins at an entry of its lists
    return AxisPlan(segments, np.ascontiguousarray(within[target]), target, False)


def plan_points(metadata: ArrayMetadata, chosen: Points, order: tuple[int, ...] | None) -> PointsPlan:
    """Elements of a regular grid, grouped by chunk; `order` is that of a block's stored axes, None for C."""
    parts = [chunks_of(metadata, d, chosen.index[:, d]) for d in range(metadata.ndim)]
    n = len(chosen.index)
    index = np.stack([part[0] for part in parts], axis=1) if parts else np.zeros((n, 0), np.int64)
    ids = _grid.ravel(np.ascontiguousarray(index), np.array(metadata.grid, np.int64))
    target = np.argsort(ids, kind="stable").astype(np.int64, copy=False)
    ids = ids[target]
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    source = np.zeros(n, np.int64)
    for axis in order if order is not None else range(metadata.ndim):
        source = source * metadata.chunks[axis] + parts[axis][1]
    return PointsPlan(
        begin=np.append(first, n).astype(np.int64),
        index=np.ascontiguousarray(index[target][first]),
        source=np.ascontiguousarray(source[target]),
        target=target,
        block=math.prod(metadata.chunks),
        shape=chosen.shape,
        chunk_ids=np.ascontiguousarray(ids[first]),
    )
