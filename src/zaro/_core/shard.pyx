# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Chunks inside shards (shard.h)."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, zaro_status

cdef extern from "zaro/grid.h" nogil:
    enum:
        ZARO_MAX_RANK

cdef extern from "zaro/shard.h" nogil:
    ctypedef struct zaro_shard_run:
        int64_t begin
        int64_t shard
        int64_t size
    ctypedef struct zaro_shard_axis:
        int64_t chunks
        int64_t shards
        size_t n
        const zaro_shard_run *run
    ctypedef struct zaro_shard_entry:
        pass
    ctypedef struct zaro_shard_spans:
        const int32_t *file
        const int64_t *offset
        const int64_t *length
    zaro_status zaro_shard_place(size_t n, size_t rank, const zaro_shard_axis *axis, const int64_t *id, int64_t *shard,
                                 int64_t *within, size_t *at)
    zaro_status zaro_shard_group(size_t n, const int64_t *shard, int64_t *touched, int64_t *row, size_t *n_touched)
    zaro_status zaro_shard_locate(size_t n, const int64_t *row, const int64_t *within, int64_t first, int64_t m,
                                  int64_t most, const zaro_shard_entry *entry, const zaro_shard_spans *outer,
                                  int32_t absent, int32_t *file, int64_t *offset, int64_t *length, size_t *at)


cdef class ShardGrid:
    """How the inner chunks of an array are gathered in shards.

    Parameters
    ----------
    chunks, shards : tuple of int
        Inner chunks, and shards, of the array along each axis.
    runs : list of (sizes, counts)
        For each axis: sizes[k] inner chunks is the extent of each of the next counts[k] shards.
    """

    cdef size_t rank
    cdef zaro_shard_axis axis[ZARO_MAX_RANK]

    def __cinit__(self, tuple chunks not None, tuple shards not None, list runs not None):
        cdef zaro_shard_run *run
        cdef size_t d, k
        cdef int64_t begin, shard
        if not len(chunks) == len(shards) == len(runs) or len(chunks) > ZARO_MAX_RANK:
            raise ValueError(f"{len(chunks)} axes of chunks, {len(shards)} of shards, {len(runs)} of runs")
        for d in range(len(chunks)):
            sizes, counts = runs[d]
            pairs = [(size, count) for size, count in zip(sizes, counts, strict=True) if count]
            if any(size < 1 or count < 0 for size, count in pairs) or sum(counts) != shards[d] \
                    or sum(size * count for size, count in pairs) < chunks[d]:
                raise ValueError(f"axis {d}: {chunks[d]} chunks in {counts} shards of {sizes}")
            run = <zaro_shard_run *>calloc(max(len(pairs), 1), sizeof(zaro_shard_run))
            if not run:
                raise MemoryError()
            self.rank = d + 1
            self.axis[d].run, self.axis[d].n = run, len(pairs)
            self.axis[d].chunks, self.axis[d].shards = chunks[d], shards[d]
            begin = shard = 0
            for k, (size, count) in enumerate(pairs):
                run[k].begin, run[k].shard, run[k].size = begin, shard, size
                begin, shard = min(begin + size * count, 2**63 - 1), shard + count

    def __dealloc__(self):
        cdef size_t d
        for d in range(self.rank):
            free(<void *>self.axis[d].run)

    def place(self, const int64_t[::1] ids not None):
        """Shard of each inner chunk [n], and position of the chunk in it."""
        cdef size_t n = ids.shape[0], at = 0
        shards, positions = np.empty(n, np.int64), np.empty(n, np.int64)
        if n == 0:
            return shards, positions
        cdef int64_t[::1] shard = shards, within = positions
        cdef zaro_status status
        with nogil:
            status = zaro_shard_place(n, self.rank, self.axis, &ids[0], &shard[0], &within[0], &at)
        if status != ZARO_OK:
            raise IndexError(f"inner chunk {ids[at]}: {REASON[status]}")
        return shards, positions


def group(const int64_t[::1] shard not None):
    """The shards [m] among those of n chunks, ascending, each once; and the row [n] of each chunk among them."""
    cdef size_t n = shard.shape[0], m = 0
    shards, rows = np.empty(n, np.int64), np.empty(n, np.int64)
    if n == 0:
        return shards, rows
    cdef int64_t[::1] touched = shards, row = rows
    cdef zaro_status status
    with nogil:
        status = zaro_shard_group(n, &shard[0], &touched[0], &row[0], &m)
    return (shards[:m], rows) if status == ZARO_OK else np.unique(shard, return_inverse=True)


def locate(const int64_t[::1] row not None, const int64_t[::1] within not None, int64_t first,
           const uint64_t[:, :, ::1] entries not None, const int32_t[::1] outer_file not None,
           const int64_t[::1] outer_offset not None, const int64_t[::1] outer_length not None, int32_t absent,
           int32_t[::1] file_id not None, int64_t[::1] offset not None, int64_t[::1] length not None):
    """Fill in file, offset and length [n] of the inner chunks that lie in the shards `first` and following.

    `entries` [m, most, 2] are the indices of these shards, `outer_*` the places of all. Returns the number
    of the first chunk whose bytes lie outside of its shard, else None.
    """
    cdef size_t n = row.shape[0], at = 0
    cdef zaro_shard_spans outer
    cdef zaro_status status
    if not (within.shape[0] == file_id.shape[0] == offset.shape[0] == length.shape[0] == row.shape[0]):
        raise ValueError("columns differ in length")
    if not (outer_offset.shape[0] == outer_length.shape[0] == outer_file.shape[0]) or entries.shape[2] != 2 \
            or first < 0 or entries.shape[0] > outer_file.shape[0] - first:
        raise ValueError("indices of other shards")
    if n == 0 or entries.shape[0] == 0:
        return None
    if entries.shape[1] == 0:
        raise ValueError("indices of no chunks")
    outer.file, outer.offset, outer.length = &outer_file[0], &outer_offset[0], &outer_length[0]
    with nogil:
        status = zaro_shard_locate(n, &row[0], &within[0], first, entries.shape[0], entries.shape[1],
                                   <const zaro_shard_entry *>&entries[0, 0, 0], &outer, absent, &file_id[0],
                                   &offset[0], &length[0], &at)
    return None if status == ZARO_OK else at
