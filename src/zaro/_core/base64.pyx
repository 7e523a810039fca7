# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Bytes that a JSON document holds as text (base64.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t

cdef extern from "zaro/base64.h" nogil:
    bint zaro_base64_decode(const uint8_t *text, size_t n, uint8_t *out, size_t *decoded)


def decode(const uint8_t[::1] text not None):
    """Bytes that ASCII text stands for; ValueError where it is no base64. Frees the GIL."""
    cdef size_t n = text.shape[0], decoded = 0
    cdef const uint8_t *first = &text[0] if n else NULL
    raw = PyBytes_FromStringAndSize(NULL, n // 4 * 3)
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(raw)
    cdef bint fine
    with nogil:
        fine = zaro_base64_decode(first, n, out, &decoded)
    if not fine:
        raise ValueError("it is no base64")
    return raw[:decoded]
