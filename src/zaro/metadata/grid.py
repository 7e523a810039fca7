"""How an array is cut into chunks: along each axis evenly, or in runs of extents."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.grid import MAX_RANK
from zaro.metadata.documents import Document

__all__ = ["Runs", "check_sizes", "chunk_edges", "even_chunks", "extents"]

MAX_SIZE = 2**63 - 1
_SIZE = "an integer from 0 to 2^63-1"
_EXTENT = "an integer from 1 to 2^63-1"


@dataclass(frozen=True, slots=True)
class Runs:
    """Extents of the chunks along one axis, run-length encoded.

    `sizes[k]` elements is the extent of each of the next `counts[k]` chunks. Runs end with the first
    chunk that reaches the end of the axis; that one may reach past it. An axis of no elements has no runs.
    """

    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    def __len__(self) -> int:
        return sum(self.counts)

    def extent(self, chunk: int) -> int:
        """Extent of one chunk."""
        for size, count in zip(self.sizes, self.counts, strict=True):
            if chunk < count:
                return size
            chunk -= count
        raise IndexError("there are not so many chunks")

    def place(
        self, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Chunk that holds each element, position of the element in it, and its extent."""
        sizes, counts = np.array(self.sizes, np.int64), np.array(self.counts, np.int64)
        ends = np.cumsum(sizes * counts)
        run = np.searchsorted(ends, positions, side="right")
        of_run, within = np.divmod(positions - (ends - sizes * counts)[run], sizes[run])
        return (np.cumsum(counts) - counts)[run] + of_run, within, sizes[run]

    def __iter__(self) -> Iterator[int]:
        """Extent of each chunk in turn."""
        for size, count in zip(self.sizes, self.counts, strict=True):
            yield from repeat(size, count)


def extents(document: Document, member: str, value: object) -> tuple[int, ...]:
    """Read a shape: at most 32 integers from 0 to 2^63-1."""
    if not isinstance(value, list | tuple):
        raise document.bad(member, value, "a list of integers")
    if len(value) > MAX_RANK:
        raise document.bad(member, value, f"at most {MAX_RANK} dimensions")
    for axis, size in enumerate(value):
        if type(size) is not int or not 0 <= size <= MAX_SIZE:
            raise document.bad(f"{member}[{axis}]", size, _SIZE)
    return tuple(value)


def even_chunks(document: Document, member: str, value: object, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Read the extents of a regular grid; 0 only along an axis of length 0, as zarr-python writes it."""
    chunks = extents(document, member, value)
    if len(chunks) != len(shape):
        expected = f"{len(shape)} extents, one for each dimension of shape"
        raise document.bad(member, value, expected)
    for axis, (chunk, size) in enumerate(zip(chunks, shape, strict=True)):
        if chunk == 0 and size:
            raise document.bad(f"{member}[{axis}]", chunk, _EXTENT)
    return chunks


def check_sizes(
    document: Document, shape: tuple[int, ...], chunks: tuple[int, ...], member: str, itemsize: int
) -> None:
    """Refuse an array or chunk of more than 2^63-1 bytes, so that no product below can wrap."""
    for name, sizes in (("shape", shape), (member, chunks)):
        nbytes = math.prod(size or 1 for size in sizes) * itemsize
        if nbytes > MAX_SIZE:
            expected = f"at most 2^63-1 bytes, got {_product(sizes)} elements of {itemsize} bytes"
            raise document.bad(name, sizes, expected)


def _product(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes))


def chunk_edges(
    document: Document, member: str, value: object, shape: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[Runs, ...] | None]:
    """Read the `configuration` of a `rectilinear` grid: the largest extents, and the runs of each axis.

    A grid that is even along every axis has no runs, since it is a regular one.
    Source: zarr-extensions, chunk-grids/rectilinear.
    """
    if not isinstance(value, Mapping):
        raise document.bad(member, value, "an object with kind and chunk_shapes")
    kind = value.get("kind")
    if kind != "inline":
        raise document.unsupported(f"{member}.kind", kind, 'expected "inline"')
    axes = value.get("chunk_shapes")
    member = f"{member}.chunk_shapes"
    if not isinstance(axes, list | tuple) or len(axes) != len(shape):
        raise document.bad(member, axes, f"a list of {len(shape)}, one for each dimension of shape")
    runs = tuple(
        _axis(document, f"{member}[{axis}]", edges, size)
        for axis, (edges, size) in enumerate(zip(axes, shape, strict=True))
    )
    chunks = tuple(_largest(run, edges) for run, edges in zip(runs, axes, strict=True))
    return chunks, None if all(len(run.sizes) <= 1 for run in runs) else runs


def _largest(run: Runs, edges: Any) -> int:
    if run.sizes:
        return max(run.sizes)
    return edges if isinstance(edges, int) else 1


def _axis(document: Document, member: str, edges: object, length: int) -> Runs:
    if isinstance(edges, list | tuple):
        pairs = [_run(document, f"{member}[{k}]", edge) for k, edge in enumerate(edges)]
    else:
        size = _extent(document, member, edges)
        pairs = [(size, -(-length // size))]
    sizes: list[int] = []
    counts: list[int] = []
    left = length
    for size, count in pairs:
        taken = min(count, -(-left // size))
        if taken <= 0:
            break
        left -= taken * size
        if sizes and sizes[-1] == size:
            counts[-1] += taken
        else:
            sizes.append(size)
            counts.append(taken)
    if left > 0:
        raise document.bad(member, edges, f"extents that sum to {length} or more, got {length - left}")
    return Runs(tuple(sizes), tuple(counts))


def _run(document: Document, member: str, edge: object) -> tuple[int, int]:
    if isinstance(edge, list | tuple):
        if len(edge) != 2:
            raise document.bad(member, edge, "an extent, or a pair of extent and count")
        return _extent(document, f"{member}[0]", edge[0]), _extent(document, f"{member}[1]", edge[1])
    return _extent(document, member, edge), 1


def _extent(document: Document, member: str, value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_SIZE:
        raise document.bad(member, value, _EXTENT)
    return value
