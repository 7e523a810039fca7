# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""From columns to the text of a reference document (spell.h)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, zaro_status

cdef extern from "zaro/key.h" nogil:
    enum: ZARO_MAX_RANK

cdef extern from "zaro/spell.h" nogil:
    ctypedef struct zaro_spelling:
        const uint8_t *path
        size_t path_n
        bint prefixed
        uint8_t separator
        size_t rank
        const int64_t *grid
        const uint8_t *file
        const int64_t *file_end
        size_t n_files
    zaro_status zaro_spell_rows(const zaro_spelling *how, size_t n, const int64_t *id, const int32_t *file,
                                const int64_t *offset, const int64_t *length, uint8_t *out, size_t room,
                                size_t *done, size_t *used)


def rows(uint8_t[::1] out not None, bytes path not None, const int64_t[::1] grid not None,
         bytes files not None, const int64_t[::1] file_end not None, const int64_t[::1] ids not None,
         const int32_t[::1] file not None, const int64_t[::1] offset not None, const int64_t[::1] length not None,
         *, bint prefixed, str separator not None, size_t start=0):
    """Write rows from `start` on to `out`: how many were written, and their bytes."""
    cdef size_t n = ids.shape[0], k, done = 0, used = 0
    if not file.shape[0] == offset.shape[0] == length.shape[0] == <Py_ssize_t>n or start > n:
        raise ValueError(f"{n} ids from {start} for {file.shape[0]} files, {offset.shape[0]} offsets, {length.shape[0]} lengths")
    if grid.shape[0] > ZARO_MAX_RANK:
        raise ValueError(f"a grid of rank {grid.shape[0]}")
    product = 1
    for size in grid:
        product *= size or 1
    if product >= 1 << 63 or any(size < 0 for size in grid):
        raise ValueError(f"a grid of {list(grid)} chunks")
    cdef int64_t total = 0 if any(size == 0 for size in grid) else product
    for k in range(start, n):
        if not 0 <= ids[k] < total:
            raise IndexError(f"chunk {ids[k]} of {total}")
    for k in range(<size_t>file_end.shape[0]):
        if not (file_end[k - 1] if k else 0) <= file_end[k] <= len(files):
            raise ValueError(f"file {k} ends at {file_end[k]} of {len(files)} bytes")
    if n == start or out.shape[0] == 0:
        return 0, 0
    cdef zaro_spelling how
    how.path, how.path_n = path, len(path)
    how.prefixed, how.separator, how.rank = prefixed, ord(separator), grid.shape[0]
    how.grid = &grid[0] if grid.shape[0] else NULL
    how.file, how.file_end, how.n_files = files, &file_end[0] if file_end.shape[0] else NULL, file_end.shape[0]
    cdef zaro_status status
    with nogil:
        status = zaro_spell_rows(&how, n - start, &ids[start], &file[start], &offset[start], &length[start],
                                 &out[0], out.shape[0], &done, &used)
    if status != ZARO_OK:
        raise ValueError(f"rows of {path.decode()!r}: {REASON[status]}")
    return done, used
