# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""From the spans of chunks to a generator (pack.h)."""

from collections import namedtuple

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_MEMORY, ZARO_OK, zaro_status

cdef extern from "zaro/pack.h" nogil:
    ctypedef struct zaro_pack_column:
        const int32_t *file
        const int64_t *offset
        const int64_t *length
    ctypedef struct zaro_pack_source:
        const zaro_pack_column *column
        int64_t variables
        int64_t chunks
        bint varwise
    ctypedef struct zaro_packed:
        int64_t start
        int64_t *unique_id
        int64_t *unique_length
        size_t n_unique
        int64_t *gap_id
        int64_t *gap
        size_t n_gap
        int64_t *absent_id
        size_t n_absent
        int64_t *last
        int32_t *file
        size_t n_runs
    zaro_status zaro_pack_modal(const zaro_pack_column *column, int64_t chunks, int64_t *key, int64_t *times,
                                size_t capacity, int64_t *modal)
    zaro_status zaro_pack_count(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed,
                                int64_t *at)
    zaro_status zaro_pack_fill(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed,
                               int64_t *at)

Counts = namedtuple("Counts", "unique gaps absent runs", module=__name__)
Lists = namedtuple("Lists", "start unique_id unique_length gap_id gap absent_id last file", module=__name__)


def modal(const int32_t[::1] file not None, const int64_t[::1] length not None):
    """The length that occurs most among the chunks with a file id and a length of at least 0."""
    cdef int64_t chunks = file.shape[0], found = 0
    if length.shape[0] != chunks:
        raise ValueError(f"{chunks} files for {length.shape[0]} lengths")
    if chunks == 0:
        return 0
    cdef zaro_pack_column column
    column.file, column.length = &file[0], &length[0]
    cdef zaro_status status = ZARO_MEMORY
    cdef int64_t[::1] key, times
    cdef size_t capacity = 1 << 15, enough = 1
    while enough < <size_t>chunks * 2:
        enough *= 2
    while status == ZARO_MEMORY:
        capacity = min(capacity, enough)
        key, times = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
        with nogil:
            status = zaro_pack_modal(&column, chunks, &key[0], &times[0], capacity, &found)
        capacity *= 8
    return found


cdef class _Source:
    """The columns of all variables, held while a kernel looks at them."""

    cdef zaro_pack_source source
    cdef zaro_pack_column *column
    cdef list held

    def __cinit__(self, columns, bint varwise):
        if not columns:
            raise ValueError("there are no variables to pack")
        self.column = <zaro_pack_column *>calloc(len(columns), sizeof(zaro_pack_column))
        if self.column == NULL:
            raise MemoryError
        self.held = []
        self.source.column, self.source.variables, self.source.varwise = self.column, len(columns), varwise
        self.source.chunks = len(columns[0][0])
        for v, (file, offset, length) in enumerate(columns):
            self._add(v, file, offset, length)

    cdef _add(self, size_t v, const int32_t[::1] file, const int64_t[::1] offset, const int64_t[::1] length):
        cdef Py_ssize_t n = self.source.chunks
        if file.shape[0] != n or offset.shape[0] != n or length.shape[0] != n:
            raise ValueError("the columns of all variables have one length")
        if n:
            self.column[v].file, self.column[v].offset, self.column[v].length = &file[0], &offset[0], &length[0]
        self.held.append((file, offset, length))

    def __dealloc__(self):
        free(self.column)


cdef object refuse(zaro_status status, int64_t at):
    return ValueError(f"flat index {at}: {REASON[status]}")


def count(columns, bint varwise, const int64_t[::1] length not None):
    """Exceptions of a generator over columns (file, offset, length) with the regular `length` [variables].

    ValueError for a span that is no place in a file.
    """
    cdef _Source source = _Source(columns, varwise)
    cdef zaro_packed packed
    cdef int64_t at = 0
    cdef zaro_status status
    if length.shape[0] != source.source.variables:
        raise ValueError(f"{length.shape[0]} lengths for {source.source.variables} variables")
    with nogil:
        status = zaro_pack_count(&source.source, &length[0], &packed, &at)
    if status != ZARO_OK:
        raise refuse(status, at)
    return Counts(packed.n_unique, packed.n_gap, packed.n_absent, packed.n_runs)


def fill(columns, bint varwise, const int64_t[::1] length not None):
    """The lists of that generator."""
    unique, gaps, absent, runs = count(columns, varwise, length)
    cdef _Source source = _Source(columns, varwise)
    # one more of each, so that an empty list has an address too
    cdef int64_t[::1] unique_id = np.empty(unique + 1, np.int64), unique_length = np.empty(unique + 1, np.int64)
    cdef int64_t[::1] gap_id = np.empty(gaps + 1, np.int64), gap = np.empty(gaps + 1, np.int64)
    cdef int64_t[::1] absent_id = np.empty(absent + 1, np.int64), last = np.empty(runs + 1, np.int64)
    cdef int32_t[::1] file = np.empty(runs + 1, np.int32)
    cdef zaro_packed packed
    packed.unique_id, packed.unique_length, packed.n_unique = &unique_id[0], &unique_length[0], unique
    packed.gap_id, packed.gap, packed.n_gap = &gap_id[0], &gap[0], gaps
    packed.absent_id, packed.n_absent = &absent_id[0], absent
    packed.last, packed.file, packed.n_runs = &last[0], &file[0], runs
    cdef int64_t at = 0
    cdef zaro_status status
    with nogil:
        status = zaro_pack_fill(&source.source, &length[0], &packed, &at)
    if status != ZARO_OK:
        raise refuse(status, at)
    return Lists(packed.start, np.asarray(unique_id)[:unique], np.asarray(unique_length)[:unique],
                 np.asarray(gap_id)[:gaps], np.asarray(gap)[:gaps], np.asarray(absent_id)[:absent],
                 np.asarray(last)[:runs], np.asarray(file)[:runs])
