# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Long lists of integers in JSON text, without an object for each (intlist.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, zaro_status

cdef extern from "zaro/intlist.h" nogil:
    ctypedef enum zaro_cut_kind:
        ZARO_CUT_INTEGERS
        ZARO_CUT_FLAGS
        ZARO_CUT_BASE64
    ctypedef struct zaro_cut:
        size_t begin
        size_t end
        zaro_cut_kind kind
        size_t count
        size_t rank
        size_t flags
    bint zaro_intlist_next(const uint8_t *text, size_t n, size_t least, size_t *at, zaro_cut *cut)
    zaro_status zaro_intlist_parse(const uint8_t *text, size_t n, int64_t *value, size_t count, size_t *at)
    zaro_status zaro_intlist_parse_flags(const uint8_t *text, size_t n, size_t count, size_t rank, size_t flags,
                                         int64_t *index, uint8_t *flag)
    zaro_status zaro_intlist_sum(const void *difference, size_t width, size_t n, int64_t *value)
    size_t zaro_intlist_size(const int64_t *value, size_t n)
    void zaro_intlist_write(const int64_t *value, size_t n, uint8_t *text)
    size_t zaro_intlist_flags_size(const int64_t *index, size_t n, size_t rank, size_t flags)
    void zaro_intlist_write_flags(const int64_t *index, const uint8_t *flag, size_t n, size_t rank, size_t flags,
                                  uint8_t *text)


def cuts(const uint8_t[::1] text not None, size_t least):
    """Pieces of JSON text that are long: begin, end, count, rank, flags.

    `parse` may take those of rank 0, `parse_flags` those of another; count 0 is text in quotes, `base64:` and so on.
    """
    found = []
    cdef size_t n = text.shape[0], at = 0
    cdef zaro_cut cut
    cdef bint more = n > 0
    while more:
        with nogil:
            more = zaro_intlist_next(&text[0], n, least, &at, &cut)
        if more:
            flat = cut.kind != ZARO_CUT_FLAGS
            found.append((cut.begin, cut.end, cut.count, 0 if flat else cut.rank, 0 if flat else cut.flags))
    return found


def parse(const uint8_t[::1] text not None, size_t begin, size_t end, size_t count):
    """Integers of the list text[begin:end], brackets included; None where it holds anything else."""
    if begin + 2 > end or end > <size_t>text.shape[0] or count > end - begin or count < 1:
        raise ValueError(f"{count} integers in bytes {begin} to {end} of {text.shape[0]}")
    values = np.empty(count, np.int64)
    cdef int64_t[::1] view = values
    cdef zaro_status status
    cdef size_t at = 0
    with nogil:
        status = zaro_intlist_parse(&text[begin] + 1, end - begin - 2, &view[0], count, &at)
    return values if status == ZARO_OK else None


def parse_flags(const uint8_t[::1] text not None, size_t begin, size_t end, size_t count, size_t rank, size_t flags):
    """Indices [count, rank] and flags [count, flags] of the entries of text[begin:end], braces included."""
    if (begin >= end or end > <size_t>text.shape[0] or count < 1 or rank < 1 or flags < 1
            or count > end - begin or rank > end - begin or flags > end - begin):
        raise ValueError(f"{count} entries in bytes {begin} to {end} of {text.shape[0]}")
    index, flag = np.empty((count, rank), np.int64), np.empty((count, flags), np.uint8)
    cdef int64_t[:, ::1] index_view = index
    cdef uint8_t[:, ::1] flag_view = flag
    cdef zaro_status status
    with nogil:
        status = zaro_intlist_parse_flags(&text[begin], end - begin, count, rank, flags, &index_view[0, 0],
                                          &flag_view[0, 0])
    if status != ZARO_OK:
        raise ValueError(f"entries in bytes {begin} to {end}: {REASON[status]}")
    return index, flag


def sums(const uint8_t[::1] differences not None, size_t width):
    """Values [n] from their first differences: signed little-endian integers of `width` bytes."""
    if width not in (1, 2, 4, 8) or differences.shape[0] % width:
        raise ValueError(f"{differences.shape[0]} bytes of integers of {width}")
    cdef size_t n = differences.shape[0] // width
    values = np.empty(n, np.int64)
    if n == 0:
        return values
    cdef int64_t[::1] view = values
    with nogil:
        zaro_intlist_sum(&differences[0], width, n, &view[0])
    return values


def write(const int64_t[::1] values not None):
    """`1,2,3` of values [n], without brackets."""
    cdef size_t n = values.shape[0], size
    if n == 0:
        return b""
    with nogil:
        size = zaro_intlist_size(&values[0], n)
    text = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(text)
    with nogil:
        zaro_intlist_write(&values[0], n, out)
    return text


def write_flags(const int64_t[:, ::1] index not None, const uint8_t[:, ::1] flags not None):
    """`"0.0.5":[1,0,0],...` of indices [n, rank], none negative, and flags [n, variables], without braces."""
    cdef size_t n = index.shape[0], rank = index.shape[1], width = flags.shape[1], size
    if <size_t>flags.shape[0] != n:
        raise ValueError(f"{n} indices for {flags.shape[0]} rows of flags")
    if n == 0:
        return b""
    cdef const int64_t *first = &index[0, 0] if rank else NULL
    cdef const uint8_t *flag = &flags[0, 0] if width else NULL
    with nogil:
        size = zaro_intlist_flags_size(first, n, rank, width)
    text = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(text)
    with nogil:
        zaro_intlist_write_flags(first, flag, n, rank, width, out)
    return text
