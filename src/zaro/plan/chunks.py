"""Which chunks a selection touches, and what it takes of each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core import grid as _grid
from zaro.errors import SelectionError
from zaro.metadata.model import ArrayMetadata
from zaro.plan.selection import Listed, Pick, Points

__all__ = ["AxisPlan", "Plan", "PointsPlan", "plan_axes", "plan_points"]


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
        total = np.zeros((1,) * len(self.axes), np.int64)
        stride = 1
        for d in range(len(self.axes) - 1, -1, -1):
            along = (self.axes[d].chunks * stride).reshape([-1 if k == d else 1 for k in range(len(self.axes))])
            total = total + along
            stride *= self.grid[d]
        return total.reshape(-1)

    def rows(self, out: NDArray[Any]) -> list[tuple[Any, ...]]:
        """The axes as the kernel takes them, with the strides of `out`."""
        strides = iter(out.strides)
        return [
            (axis.segments, axis.source, axis.target, 0 if axis.dropped else next(strides)) for axis in self.axes
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

    def ids(self) -> NDArray[np.int64]:
        """Chunk ids of all tasks, in their order."""
        return self.chunk_ids


def plan_axes(metadata: ArrayMetadata, picks: tuple[Pick, ...]) -> Plan:
    """Chunks that picks, one for each axis, touch; each chunk once."""
    axes = tuple(
        _axis(pick, size, chunk) for pick, size, chunk in zip(picks, metadata.shape, metadata.chunks, strict=True)
    )
    shape = tuple(pick.count for pick in picks if not pick.dropped)
    if math.prod(shape) * metadata.dtype.itemsize > np.iinfo(np.intp).max:
        raise SelectionError(f"a result of shape {shape} does not fit into memory; read it in parts")
    return Plan(axes, shape, metadata.grid)


def _axis(pick: Pick, size: int, chunk: int) -> AxisPlan:
    if isinstance(pick, Listed):
        return _listed_axis(pick.positions, chunk)
    return AxisPlan(_grid.cover(size, max(chunk, 1), pick.start, pick.step, pick.count), None, None, pick.dropped)


def _listed_axis(positions: NDArray[np.int64], chunk: int) -> AxisPlan:
    of_chunk = positions // chunk
    target = np.argsort(of_chunk, kind="stable")
    of_chunk = of_chunk[target]
    begin = np.flatnonzero(np.diff(of_chunk, prepend=-1))
    segments = np.empty((len(begin), 6), np.int64)
    segments[:, 0] = of_chunk[begin]
    segments[:, 1] = chunk
    segments[:, 2] = begin
    segments[:, 3] = 1
    segments[:, 4] = np.diff(begin, append=len(positions))
    segments[:, 5] = 0
    source = positions[target] - of_chunk * chunk
    return AxisPlan(segments, np.ascontiguousarray(source), np.ascontiguousarray(target, dtype=np.int64), False)


def plan_points(metadata: ArrayMetadata, chosen: Points, order: tuple[int, ...] | None) -> PointsPlan:
    """Elements grouped by the chunk they lie in. `order` is the stored order of a block's axes, None for C."""
    chunks = np.maximum(np.array(metadata.chunks, np.int64), 1)
    index = chosen.index // chunks
    within = chosen.index - index * chunks
    ids = _grid.ravel(np.ascontiguousarray(index), np.array(metadata.grid, np.int64))
    target = np.argsort(ids, kind="stable").astype(np.int64, copy=False)
    ids = ids[target]
    first = np.flatnonzero(np.diff(ids, prepend=-1))
    source = np.zeros(len(ids), np.int64)
    for axis in order if order is not None else range(metadata.ndim):
        source = source * chunks[axis] + within[:, axis]
    return PointsPlan(
        begin=np.append(first, len(ids)).astype(np.int64),
        index=np.ascontiguousarray(index[target][first]),
        source=np.ascontiguousarray(source[target]),
        target=target,
        block=math.prod(metadata.chunks),
        shape=chosen.shape,
        chunk_ids=np.ascontiguousarray(ids[first]),
    )
