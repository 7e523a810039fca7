# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Steps that move bytes: unshuffle and byte swap (filter.h)."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

import numpy as np

cdef extern from "zaro/filter.h" nogil:
    void zaro_unshuffle(const uint8_t *data, uint8_t *out, size_t n, size_t width)
    void zaro_unshuffle_plain(const uint8_t *data, uint8_t *out, size_t n, size_t width)
    void zaro_swap(const uint8_t *data, uint8_t *out, size_t n, size_t width)

ctypedef void (*filter)(const uint8_t *, uint8_t *, size_t, size_t) noexcept nogil


cdef _apply(filter function, const uint8_t[::1] data, size_t width):
    if width < 1:
        raise ValueError("an element has at least 1 byte")
    cdef size_t n = data.shape[0]
    out = np.empty(n, np.uint8)
    cdef uint8_t[::1] view = out
    if n:
        with nogil:
            function(&data[0], &view[0], n, width)
    return out


def unshuffle(const uint8_t[::1] data not None, size_t width):
    """Elements of `width` bytes, of which `data` holds all first bytes, then all second bytes, ..."""
    return _apply(zaro_unshuffle, data, width)


def unshuffle_plain(const uint8_t[::1] data not None, size_t width):
    """The same by the plain loop."""
    return _apply(zaro_unshuffle_plain, data, width)


def swap(const uint8_t[::1] data not None, size_t width):
    """`data` with the bytes of every element of `width` bytes reversed."""
    return _apply(zaro_swap, data, width)
