# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Multi-indices, and the chunks that a selection touches (grid.h)."""

from libc.stdint cimport int64_t

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, zaro_status

cdef extern from "zaro/grid.h" nogil:
    enum: ZARO_MAX_RANK
    ctypedef struct zaro_segment:
        pass
    zaro_status zaro_grid_ravel(size_t n, size_t rank, const int64_t *index, const int64_t *grid,
                                int64_t *id, size_t *at)
    zaro_status zaro_grid_unravel(size_t n, size_t rank, const int64_t *id, const int64_t *grid,
                                  int64_t *index, size_t *at)
    zaro_status zaro_grid_touched(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count,
                                  size_t *n)
    zaro_status zaro_grid_cover(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count,
                                zaro_segment *segment, size_t n)
    zaro_status zaro_grid_cross(size_t rank, const zaro_segment *const *segment, const size_t *n, const int64_t *grid,
                                int64_t *id)

MAX_RANK = ZARO_MAX_RANK


def ravel(const int64_t[:, ::1] index not None, const int64_t[::1] grid not None):
    """Ids [n] of the chunks at `index` [n, rank] of a `grid` [rank]."""
    cdef size_t n = index.shape[0], rank = index.shape[1], at = 0
    if grid.shape[0] != <Py_ssize_t>rank:
        raise ValueError(f"indices of rank {rank} for a grid of rank {grid.shape[0]}")
    ids = np.zeros(n, np.int64)
    cdef int64_t[::1] view = ids
    if n == 0 or rank == 0:
        return ids
    cdef zaro_status status
    with nogil:
        status = zaro_grid_ravel(n, rank, &index[0, 0], &grid[0], &view[0], &at)
    if status != ZARO_OK:
        raise IndexError(f"index {np.asarray(index)[at].tolist()} in a grid of {np.asarray(grid).tolist()}: {REASON[status]}")
    return ids


def unravel(const int64_t[::1] ids not None, const int64_t[::1] grid not None):
    """Indices [n, rank] of the chunks `ids` [n] of a `grid` [rank]."""
    cdef size_t n = ids.shape[0], rank = grid.shape[0], at = 0
    index = np.zeros((n, rank), np.int64)
    cdef int64_t[:, ::1] view = index
    if n == 0 or rank == 0:
        return index
    cdef zaro_status status
    with nogil:
        status = zaro_grid_unravel(n, rank, &ids[0], &grid[0], &view[0, 0], &at)
    if status != ZARO_OK:
        raise IndexError(f"chunk {ids[at]} in a grid of {np.asarray(grid).tolist()}: {REASON[status]}")
    return index


def cover(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count):
    """Segments [n, 6] of elements start, start + step, ... (`count` of them) of one axis.

    Columns: chunk, size, begin, step, count, out; see grid.h.
    """
    cdef size_t n = 0
    cdef int64_t[:, ::1] view
    cdef zaro_status status = zaro_grid_touched(size, chunk, start, step, count, &n)
    if status == ZARO_OK:
        segments = np.empty((n, 6), np.int64)
        if n == 0:
            return segments
        view = segments
        with nogil:
            status = zaro_grid_cover(size, chunk, start, step, count, <zaro_segment *>&view[0, 0], n)
    if status != ZARO_OK:
        raise IndexError(
            f"{count} elements from {start} by {step} of {size} in chunks of {chunk}: {REASON[status]}")
    return segments


def cross(list axes not None, tuple grid not None):
    """Ids, in C order, of the chunks of a `grid` where the segments [n, 6] of all axes cross."""
    cdef const int64_t[:, ::1] segments
    cdef const zaro_segment *segment[ZARO_MAX_RANK]
    cdef size_t n[ZARO_MAX_RANK]
    cdef int64_t extent[ZARO_MAX_RANK]
    cdef size_t d, rank = len(axes)
    if rank > ZARO_MAX_RANK or rank != <size_t>len(grid):
        raise ValueError(f"segments of {rank} axes for a grid of {grid}")
    total = 1
    for d in range(rank):
        segments = axes[d]
        if segments.shape[1] != 6:
            raise ValueError("segments have six columns")
        n[d], extent[d] = segments.shape[0], grid[d]
        segment[d] = <const zaro_segment *>&segments[0, 0] if n[d] else NULL
        total *= segments.shape[0]
    ids = np.empty(total, np.int64)
    if total == 0:
        return ids
    cdef int64_t[::1] id = ids
    cdef zaro_status status
    with nogil:
        status = zaro_grid_cross(rank, segment, n, extent, &id[0])
    if status != ZARO_OK:
        raise IndexError(f"chunks of a grid of {grid}: {REASON[status]}")
    return ids
