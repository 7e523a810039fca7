"""The chunk index of an HDF5 dataset, in columns."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.chunkindex import ChunkIndex
from zaro.references.table import Ids

__all__ = ["chunk_index"]

ROOMY = 1 << 20
"""Grids of at most so many chunks need no count before they are gathered."""
_EXTENSIBLE = 4
"""HDF5's number for the index of chunks where one dimension has no limit, in files of versions 1.10 on."""
Columns = tuple[Ids, Ids, Ids, NDArray[np.uint32]]


def chunk_index(dataset: Any, grid: tuple[int, ...]) -> Columns:
    """Ids, offsets, lengths (bytes) and filter masks of the chunks that exist.

    HDF5 calls a kernel of ours for each chunk, which costs a hundredth of what a Python function does;
    where the library is too old for that, h5py calls Python.
    """
    nchunks = math.prod(grid)
    if not nchunks:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint32)
    axis = _growing(dataset)
    if not axis or _kind(dataset) != _EXTENSIBLE or _places_are_true():
        return _gathered(dataset, grid)
    # HDF5 numbers the chunks with the growing dimension first, and tells places as if it stood where it does
    most = [-(-(m or 1) // c) for m, c in zip(dataset.maxshape, dataset.chunks, strict=True)]
    before, after = most[:axis], most[axis + 1 :]
    told = (*(1 for _ in before), grid[axis] * math.prod(before), *after)
    numbers, offset, length, mask = _gathered(dataset, told)
    index = list(np.unravel_index(numbers, (grid[axis], *before, *after)))
    index.insert(axis, index.pop(0))
    return np.ravel_multi_index(tuple(index), grid).astype(np.int64), offset, length, mask


def _gathered(dataset: Any, grid: tuple[int, ...]) -> Columns:
    nchunks = math.prod(grid)
    iterate = _iterate()
    if iterate is None:
        return _through_python(dataset, grid)
    room = nchunks if nchunks <= ROOMY else min(nchunks, int(dataset.id.get_num_chunks()))
    index = ChunkIndex(tuple(dataset.chunks), grid, room)
    failed = iterate(dataset.id.id, 0, index.callback, index.data)
    columns = index.columns()
    if failed < 0:
        raise OSError("HDF5 cannot read the index of its chunks")
    return columns


def _growing(dataset: Any) -> int | None:
    """The one dimension without a limit."""
    found = [axis for axis, most in enumerate(dataset.maxshape) if most is None]
    return found[0] if len(found) == 1 else None


def _kind(dataset: Any) -> int | None:
    """Kind of the index of its chunks."""
    import h5py

    found = ctypes.c_int()
    try:
        function = ctypes.CDLL(h5py.h5d.__file__).H5Dget_chunk_index_type
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int64, ctypes.c_void_p]
    with h5py._objects.phil:
        failed = function(dataset.id.id, ctypes.addressof(found))
    return None if failed else found.value


@cache
def _places_are_true() -> bool:
    """Whether this HDF5 tells the places of chunks where another dimension than the first grows.

    Up to 2.0 at least it does not: it counts as if the first did.
    """
    import h5py

    with h5py.File("zaro", "w", driver="core", backing_store=False, libver="latest") as file:
        dataset = file.create_dataset("v", (2, 1), "i1", chunks=(1, 1), maxshape=(2, None))
        dataset[1, 0] = 1
        return tuple(dataset.id.get_chunk_info(0).chunk_offset) == (1, 0)


@cache
def _iterate() -> Callable[[int, int, int, int], int] | None:
    """H5Dchunk_iter of the library that h5py itself uses; None where that has none.

    Its callback had other arguments before HDF5 1.14.
    """
    import h5py
    from h5py._objects import phil

    if h5py.version.hdf5_version_tuple < (1, 14, 0):
        return None
    try:
        function = ctypes.CDLL(h5py.h5d.__file__).H5Dchunk_iter  # found among the libraries that it needs
    except (OSError, AttributeError):
        return None
    function.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
    function.restype = ctypes.c_int

    def locked(*arguments: int) -> int:
        with phil:
            return int(function(*arguments))

    return locked


def _through_python(dataset: Any, grid: tuple[int, ...]) -> Columns:
    rows: list[Any] = []
    dataset.id.chunk_iter(rows.append)
    at = np.array([row.chunk_offset for row in rows], np.int64).reshape(len(rows), len(grid))
    index = at // np.array(dataset.chunks, np.int64)
    ids = np.ravel_multi_index(tuple(index.T), grid).astype(np.int64)
    offset = np.array([row.byte_offset for row in rows], np.int64)
    length = np.array([row.size for row in rows], np.int64)
    return ids, offset, length, np.array([row.filter_mask for row in rows], np.uint32)
