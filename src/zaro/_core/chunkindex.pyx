# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Gather the chunk index of an HDF5 dataset into columns (chunkindex.h)."""

from libc.stdint cimport int64_t, uint32_t, uint64_t, uintptr_t

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, zaro_status

cdef extern from "zaro/chunkindex.h" nogil:
    ctypedef struct zaro_chunkindex:
        size_t rank
        uint64_t chunk[32]
        uint64_t grid[32]
        size_t room
        size_t n
        int64_t *id
        int64_t *offset
        int64_t *length
        uint32_t *mask
        zaro_status status
    int zaro_chunkindex_take(const uint64_t *at, unsigned mask, uint64_t address, uint64_t nbytes, void *sink)


cdef class ChunkIndex:
    """Columns that H5Dchunk_iter fills, for chunks of shape `chunk` in a `grid`, `room` of them at most."""

    cdef zaro_chunkindex sink
    cdef object ids, offsets, lengths, masks

    def __init__(self, tuple chunk not None, tuple grid not None, size_t room):
        cdef int64_t total = 1
        if len(chunk) != len(grid) or not 1 <= len(chunk) <= 32:
            raise ValueError(f"chunks of rank {len(chunk)} in a grid of rank {len(grid)}")
        for d, (size, count) in enumerate(zip(chunk, grid)):
            if size < 1 or count < 0 or total * count > 2**63 - 1:
                raise ValueError(f"chunks {chunk} in a grid of {grid}")
            total *= count
            self.sink.chunk[d], self.sink.grid[d] = size, count
        self.ids, self.offsets = np.empty(room, np.int64), np.empty(room, np.int64)
        self.lengths, self.masks = np.empty(room, np.int64), np.empty(room, np.uint32)
        cdef int64_t[::1] id_view = self.ids, offset_view = self.offsets, length_view = self.lengths
        cdef uint32_t[::1] mask_view = self.masks
        self.sink.rank, self.sink.room, self.sink.n, self.sink.status = len(chunk), room, 0, ZARO_OK
        if room:
            self.sink.id, self.sink.offset = &id_view[0], &offset_view[0]
            self.sink.length, self.sink.mask = &length_view[0], &mask_view[0]

    @property
    def callback(self):
        """Address of the function to hand to H5Dchunk_iter."""
        return <uintptr_t>&zaro_chunkindex_take

    @property
    def data(self):
        """Address of the data to hand over with it; valid as long as this object lives."""
        return <uintptr_t>&self.sink

    def columns(self):
        """What was gathered: ids, offsets, lengths, filter masks, each [n]."""
        if self.sink.status != ZARO_OK:
            raise ValueError(f"chunk {self.sink.n} of the index: {REASON[self.sink.status]}")
        n = self.sink.n
        return self.ids[:n], self.offsets[:n], self.lengths[:n], self.masks[:n]
