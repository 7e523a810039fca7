# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Copy a region of a block into a region of the output (stitch.h)."""

from libc.stdint cimport int64_t, uint8_t

cimport numpy as cnp
import numpy as np

cnp.import_array()

cdef extern from "zaro/grid.h" nogil:
    enum:
        ZARO_MAX_RANK

cdef extern from "zaro/stitch.h" nogil:
    ctypedef struct zaro_walk:
        int64_t count, src_stride, dst_stride
        const int64_t *src_at
        const int64_t *dst_at
    size_t zaro_stitch_simplify(size_t rank, zaro_walk *walk, int64_t *src_shift, int64_t *dst_shift)
    void zaro_stitch_copy(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *src, uint8_t *dst)
    void zaro_stitch_fill(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *value, uint8_t *dst)


cdef size_t plan(cnp.ndarray src, cnp.ndarray dst, zaro_walk *walk, int64_t *src_shift, int64_t *dst_shift):
    cdef int d
    for d in range(dst.ndim):
        walk[d].count = dst.shape[d]
        walk[d].src_stride = src.strides[d]
        walk[d].dst_stride = dst.strides[d]
        walk[d].src_at = walk[d].dst_at = NULL
    return zaro_stitch_simplify(dst.ndim, walk, src_shift, dst_shift)


def copy(cnp.ndarray src not None, cnp.ndarray dst not None):
    """Copy `src` into `dst`: the same shape and item size, any strides, no overlap."""
    if (<object>src).shape != (<object>dst).shape or src.itemsize != dst.itemsize or dst.ndim > ZARO_MAX_RANK:
        raise ValueError(f"cannot copy {(<object>src).shape} of {src.itemsize} bytes into "
                         f"{(<object>dst).shape} of {dst.itemsize} bytes")
    if dst.size == 0:
        return
    cdef zaro_walk walk[ZARO_MAX_RANK]
    cdef int64_t src_shift = 0, dst_shift = 0
    cdef size_t rank = plan(src, dst, walk, &src_shift, &dst_shift), itemsize = dst.itemsize
    cdef uint8_t *here = <uint8_t *>cnp.PyArray_DATA(src)
    cdef uint8_t *there = <uint8_t *>cnp.PyArray_DATA(dst)
    with nogil:
        zaro_stitch_copy(rank, walk, itemsize, here + src_shift, there + dst_shift)


def fill(cnp.ndarray dst not None, bytes value not None):
    """Write `value`, the bytes of one item, to every element of `dst`."""
    if len(value) != dst.itemsize or dst.ndim > ZARO_MAX_RANK:
        raise ValueError(f"a fill value of {len(value)} bytes for items of {dst.itemsize}")
    if dst.size == 0:
        return
    cdef zaro_walk walk[ZARO_MAX_RANK]
    cdef int64_t src_shift = 0, dst_shift = 0
    cdef size_t rank = plan(dst, dst, walk, &src_shift, &dst_shift), itemsize = dst.itemsize
    cdef uint8_t *there = <uint8_t *>cnp.PyArray_DATA(dst)
    cdef const uint8_t *item = value
    with nogil:
        zaro_stitch_fill(rank, walk, itemsize, item, there + dst_shift)
