"""The requests in which spans of remote files are read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core import span as kernel

__all__ = ["Requests", "merge"]


@dataclass(frozen=True, slots=True, eq=False)
class Requests:
    """Reads that serve one or more spans each.

    Attributes
    ----------
    order : (n,) int64
        The spans' numbers, request by request.
    begin : (m + 1,) int64
        Request k serves the spans `order[begin[k] : begin[k + 1]]`.
    file_id, offset, length : (m,)
        What each request reads; length -1 for the whole file.
    """

    order: NDArray[np.int64]
    begin: NDArray[np.int64]
    file_id: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.file_id)

    def serves(self, k: int) -> NDArray[np.int64]:
        """Numbers of the spans that request k serves."""
        return self.order[self.begin[k] : self.begin[k + 1]]


def merge(
    file_id: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
    *,
    gap: int = config.REQUEST_GAP,
    cap: int = config.REQUEST_CAP,
) -> Requests:
    """Merge spans into requests.

    Parameters
    ----------
    file_id, offset, length : (n,)
        Spans in bytes, in any order; length -1 for a whole file.
    gap : int
        Bytes between two spans that are rather read along.
    cap : int
        Bytes of a request at the most, unless a single span is longer.

    Raises
    ------
    ValueError
        A span ends past the range of 64 bits.

    Notes
    -----
    Linear for spans that ascend, as those of most files do; else it sorts.
    """
    file_id, offset, length = map(np.ascontiguousarray, (file_id, offset, length))
    order = np.arange(len(file_id), dtype=np.int64)
    found = kernel.merge(file_id, offset, length, gap, cap)
    if found is None:
        order = np.lexsort((offset, file_id)).astype(np.int64, copy=False)
        found = kernel.merge(file_id, offset, length, gap, cap, order)
        assert found is not None
    begin, start, nbytes = found
    return Requests(order, begin, file_id[order[begin[:-1]]], start, nbytes)
