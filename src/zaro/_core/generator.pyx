# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Compact generators: byte spans from a common length and its exceptions (generator.h)."""

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint64_t

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, ZARO_ORDER, ZARO_OVERFLOW, ZARO_RANGE, zaro_status
from zaro.errors import GeneratorError

cdef extern from "zaro/generator.h" nogil:
    ctypedef struct zaro_generator:
        int64_t variables
        int64_t chunks
        const int64_t *length
        int64_t *before
        int64_t start
        bint varwise
    ctypedef struct zaro_exceptions:
        const int64_t *unique_id
        const int64_t *unique_length
        size_t n_unique
        const int64_t *gap_id
        const int64_t *gap
        size_t n_gap
        const int64_t *absent_id
        size_t n_absent
    ctypedef struct zaro_generator_index:
        int64_t *id
        int64_t *size
        uint64_t *shift
        size_t n
    ctypedef struct zaro_runs:
        const int64_t *last
        const int32_t *file
        size_t n
    ctypedef struct zaro_generator_fault:
        int field
        int64_t at
    zaro_status zaro_generator_build(const zaro_generator *gen, const zaro_exceptions *ex,
                                     zaro_generator_index *index, zaro_generator_fault *fault)
    zaro_status zaro_generator_check_runs(const zaro_generator *gen, const zaro_runs *runs, int32_t files,
                                          zaro_generator_fault *fault)
    zaro_status zaro_generator_expand(const zaro_generator *gen, const zaro_generator_index *index,
                                      const zaro_runs *runs, int64_t first, size_t count, int32_t *file,
                                      int64_t *offset, int64_t *length)
    zaro_status zaro_generator_locate(const zaro_generator *gen, const zaro_generator_index *index,
                                      const zaro_runs *runs, int64_t variable, const int64_t *chunk, size_t count,
                                      int32_t *file, int64_t *offset, int64_t *length, size_t *at)

# by zaro_generator_field
FIELD = ("", "dims", "start", "lengths", "unique.ids", "unique.lengths", "gaps.ids", "gaps.lengths", "skipchunks",
         "files")
REASONS = {
    ("dims", ZARO_OVERFLOW): "their product leaves the range of 64 bits",
    ("dims", ZARO_RANGE): "no variables, or a negative size",
    ("start", ZARO_RANGE): "the chunk would begin before byte 0 of its file",
    ("lengths", ZARO_RANGE): "a length is negative",
    ("lengths", ZARO_OVERFLOW): "a byte position leaves the range of 64 bits",
    ("unique.lengths", ZARO_RANGE): "the length is negative",
    ("unique.lengths", ZARO_OVERFLOW): "the chunk would end beyond the range of 64 bits",
    ("gaps.lengths", ZARO_RANGE): "the chunk would begin before byte 0 of its file",
    ("gaps.lengths", ZARO_OVERFLOW): "the chunk would lie beyond the range of 64 bits",
    ("files", ZARO_ORDER): "the last chunks of files must ascend",
    ("files", ZARO_RANGE): "the files end before the last chunk or beyond it",
}
IDS = {ZARO_RANGE: "no such chunk: flat indices run from 0 to the number of chunks - 1",
       ZARO_ORDER: "the chunk is named twice, or out of order"}


cdef object fault_error(zaro_generator_fault fault, zaro_status status):
    field = FIELD[fault.field]
    reason = REASONS.get((field, status)) or IDS.get(status) or REASON[status]
    return GeneratorError("", field, None if field == "dims" else fault.at, reason)


cdef const int64_t *head(const int64_t[::1] view):
    return &view[0] if view.shape[0] else NULL


cdef class Index:
    """The exceptions of a generator, merged and proven; answers where chunks lie.

    Parameters
    ----------
    chunks : chunks of each variable
    start : byte of flat index 0
    varwise : every variable in turn, or one after the other
    length : (variables,) bytes of a regular chunk
    last, file : (runs,) flat index that ends a run, and its file id; file ids below `files`
    unique_id, unique_length, gap_id, gap, absent_id : flat indices ascending, and bytes

    Raises GeneratorError (without a document) where they contradict themselves. Holds nothing
    that is proportional to the number of chunks.
    """

    cdef zaro_generator gen
    cdef zaro_generator_index index
    cdef zaro_runs runs
    cdef object arrays  # keeps what the structs point to
    cdef readonly object id, size

    def __init__(self, int64_t chunks, int64_t start, bint varwise, const int64_t[::1] length not None,
                 const int64_t[::1] last not None, const int32_t[::1] file not None, int32_t files, *,
                 const int64_t[::1] unique_id not None, const int64_t[::1] unique_length not None,
                 const int64_t[::1] gap_id not None, const int64_t[::1] gap not None,
                 const int64_t[::1] absent_id not None):
        if unique_id.shape[0] != unique_length.shape[0] or gap_id.shape[0] != gap.shape[0]:
            raise ValueError("each flat index needs one length")
        if last.shape[0] != file.shape[0]:
            raise ValueError("each run needs one file")
        if self.arrays is not None:
            raise TypeError("an index is built once")
        cdef zaro_exceptions ex
        ex.unique_id, ex.unique_length, ex.n_unique = head(unique_id), head(unique_length), unique_id.shape[0]
        ex.gap_id, ex.gap, ex.n_gap = head(gap_id), head(gap), gap_id.shape[0]
        ex.absent_id, ex.n_absent = head(absent_id), absent_id.shape[0]
        cdef size_t rows = ex.n_unique + ex.n_gap + ex.n_absent  # room that no list can overrun
        self._hold(chunks, start, varwise, np.array(length), np.array(last), np.array(file),
                   np.zeros(length.shape[0] + 1, np.int64), np.empty(rows, np.int64), np.empty(rows, np.int64),
                   np.empty(rows, np.uint64))
        cdef zaro_generator_fault fault
        cdef zaro_status status
        fault.field, fault.at = 0, 0
        with nogil:
            status = zaro_generator_build(&self.gen, &ex, &self.index, &fault)
            if status == ZARO_OK:
                status = zaro_generator_check_runs(&self.gen, &self.runs, files, &fault)
        if status != ZARO_OK:
            raise fault_error(fault, status)
        rows = self.index.n
        self.arrays = (*self.arrays[:4], *(array[:rows] for array in self.arrays[4:]))
        self.id, self.size = self.arrays[4:6]
        for array in self.arrays:
            array.flags.writeable = False

    cdef _hold(self, int64_t chunks, int64_t start, bint varwise, length, last, file, before, id, size, shift):
        cdef int64_t[::1] length_view = length, last_view = last, before_view = before, id_view = id, size_view = size
        cdef int32_t[::1] file_view = file
        cdef uint64_t[::1] shift_view = shift
        self.arrays = (length, last, file, before, id, size, shift)
        self.id, self.size = id, size
        self.gen.variables, self.gen.chunks, self.gen.start = length.shape[0], chunks, start
        self.gen.varwise = varwise
        self.gen.length, self.gen.before = head(length_view), &before_view[0]
        self.index.n = id.shape[0]
        if self.index.n:
            self.index.id, self.index.size, self.index.shift = &id_view[0], &size_view[0], &shift_view[0]
        self.runs.n = last.shape[0]
        if self.runs.n:
            self.runs.last, self.runs.file = &last_view[0], &file_view[0]

    @property
    def nbytes(self):
        """Bytes that the index holds."""
        return sum(array.nbytes for array in self.arrays)

    def expand(self, int64_t first, size_t count):
        """File id, offset and length [count] of the flat indices from `first`."""
        file, offset, length = np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int64)
        cdef int32_t[::1] file_view = file
        cdef int64_t[::1] offset_view = offset, length_view = length
        cdef zaro_status status
        if count == 0:
            return file, offset, length
        with nogil:
            status = zaro_generator_expand(&self.gen, &self.index, &self.runs, first, count, &file_view[0],
                                           &offset_view[0], &length_view[0])
        if status != ZARO_OK:
            raise IndexError(f"flat indices {first} to {first + count} of {self.gen.variables * self.gen.chunks}: "
                             f"{REASON[status]}")
        return file, offset, length

    def locate(self, int64_t variable, const int64_t[::1] ids not None):
        """File id, offset and length [n] of chunks `ids` [n] of a variable."""
        cdef size_t n = ids.shape[0], at = 0
        file, offset, length = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
        cdef int32_t[::1] file_view = file
        cdef int64_t[::1] offset_view = offset, length_view = length
        cdef zaro_status status
        if n == 0:
            return file, offset, length
        with nogil:
            status = zaro_generator_locate(&self.gen, &self.index, &self.runs, variable, &ids[0], n, &file_view[0],
                                           &offset_view[0], &length_view[0], &at)
        if status != ZARO_OK:
            raise IndexError(f"chunk {ids[at]} of {self.gen.chunks}: {REASON[status]}")
        return file, offset, length

    def find(self, int64_t variable, int64_t chunk):
        """File id, offset and length of one chunk of a variable."""
        cdef int32_t file = 0
        cdef int64_t offset = 0, length = 0
        cdef size_t at = 0
        cdef zaro_status status = zaro_generator_locate(&self.gen, &self.index, &self.runs, variable, &chunk, 1, &file,
                                                        &offset, &length, &at)
        if status != ZARO_OK:
            raise IndexError(f"chunk {chunk} of {self.gen.chunks}: {REASON[status]}")
        return file, offset, length

    def describe(self, int64_t flat):
        """Gap before a flat index in bytes, whether its length is an exception, whether it is absent."""
        if not 0 <= flat < self.gen.variables * self.gen.chunks:
            raise IndexError(f"flat index {flat} of {self.gen.variables * self.gen.chunks}")
        cdef Py_ssize_t row = np.searchsorted(self.id, flat)
        if row == <Py_ssize_t>self.index.n or self.index.id[row] != flat:
            return 0, False, False
        cdef int64_t variable = flat % self.gen.variables if self.gen.varwise else flat // self.gen.chunks
        cdef int64_t usual = self.gen.length[variable], size = self.index.size[row]
        cdef uint64_t before = self.index.shift[row - 1] if row else 0
        cdef uint64_t gap = self.index.shift[row] - before - (<uint64_t>max(size, 0) - <uint64_t>usual)
        return <int64_t>gap, size >= 0 and size != usual, size < 0

    def __reduce__(self):
        return _restore, (self.gen.chunks, self.gen.start, bool(self.gen.varwise), *self.arrays)


def _restore(chunks, start, varwise, length, last, file, before, id, size, shift):
    cdef Index index = Index.__new__(Index)
    index._hold(chunks, start, varwise, np.array(length), np.array(last), np.array(file), np.array(before),
                np.array(id), np.array(size), np.array(shift))
    return index
