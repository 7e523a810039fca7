# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Merge byte spans into requests (span.h)."""

from libc.stdint cimport int32_t, int64_t

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_OK, ZARO_ORDER, zaro_status

cdef extern from "zaro/span.h" nogil:
    zaro_status zaro_span_merge(size_t n, const int32_t *file, const int64_t *offset, const int64_t *length,
                                const int64_t *order, int64_t gap, int64_t cap, int64_t *begin, int64_t *start,
                                int64_t *nbytes, size_t *n_request, size_t *at)


def merge(const int32_t[::1] file_id not None, const int64_t[::1] offset not None,
          const int64_t[::1] length not None, int64_t gap, int64_t cap, const int64_t[::1] order=None):
    """Merge spans [n] that lie at most `gap` bytes apart into requests of at most `cap` bytes.

    Returns (begin [m + 1], offset [m], length [m]) as span.h has them; None for spans that do not
    ascend by file and offset in `order`.
    """
    cdef size_t n = file_id.shape[0], m = 0, at = 0
    if offset.shape[0] != file_id.shape[0] or length.shape[0] != file_id.shape[0]:
        raise ValueError("columns differ in length")
    if order is not None and order.shape[0] != file_id.shape[0]:
        raise ValueError(f"an order of {order.shape[0]} for {n} spans")
    begins, starts, sizes = np.zeros(n + 1, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    if n == 0:
        return begins, starts, sizes
    cdef int64_t[::1] begin = begins, start = starts, size = sizes
    cdef const int64_t *numbers = NULL
    if order is not None:
        numbers = &order[0]
    cdef zaro_status status
    with nogil:
        status = zaro_span_merge(n, &file_id[0], &offset[0], &length[0], numbers, gap, cap,
                                 &begin[0], &start[0], &size[0], &m, &at)
    if status == ZARO_ORDER:
        return None
    if status != ZARO_OK:
        raise ValueError(f"bytes {offset[at]}+{length[at]} of file {file_id[at]}: {REASON[status]}")
    return begins[:m + 1], starts[:m], sizes[:m]
