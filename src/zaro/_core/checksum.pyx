# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""The checksums that chunks carry (checksum.h)."""

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

cdef extern from "<stdbool.h>" nogil:
    ctypedef bint bool_ "bool"

cdef extern from "zaro/checksum.h" nogil:
    uint32_t zaro_crc32c(const uint8_t *data, size_t n)
    uint32_t zaro_crc32(const uint8_t *data, size_t n)
    uint32_t zaro_adler32(const uint8_t *data, size_t n)
    uint32_t zaro_fletcher32(const uint8_t *data, size_t n)
    uint32_t zaro_crc32c_plain(const uint8_t *data, size_t n)

ctypedef uint32_t (*checksum)(const uint8_t *, size_t) noexcept nogil


cdef uint32_t _sum(checksum function, const uint8_t[::1] data) noexcept:
    cdef uint32_t found
    cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
    cdef size_t n = data.shape[0]
    with nogil:
        found = function(start, n)
    return found


def crc32c(const uint8_t[::1] data not None):
    """Castagnoli's CRC of `data`, by the processor's instruction where it has one."""
    return _sum(zaro_crc32c, data)


def crc32c_plain(const uint8_t[::1] data not None):
    """The same by tables."""
    return _sum(zaro_crc32c_plain, data)


def crc32(const uint8_t[::1] data not None):
    """The CRC of gzip and PNG."""
    return _sum(zaro_crc32, data)


def adler32(const uint8_t[::1] data not None):
    """The checksum of zlib."""
    return _sum(zaro_adler32, data)


def fletcher32(const uint8_t[::1] data not None):
    """The checksum of HDF5."""
    return _sum(zaro_fletcher32, data)
