"""The kernel's view of a read: output, segments, fill value, steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.read import Read
from zaro.metadata.model import ArrayMetadata
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.source import Source

__all__ = ["kernel_of"]


def kernel_of(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> Read:
    """Make the kernel's view of a plan; where the stored bytes are is told to it next."""
    metadata = source.metadata
    by_points = isinstance(plan, PointsPlan)
    everything = np.empty((0, 6), np.int64)
    return Read(
        [(everything, None, None, 0)] * metadata.ndim if by_points else plan.rows(out),  # type: ignore[union-attr]
        source.chain.order if source.chain.order is not None else tuple(range(metadata.ndim)),
        metadata.dtype.itemsize,
        out,
        _fill_bytes(metadata),
        source.chain.kernel,
        source.missing == "raise",
        (plan.begin, plan.index, plan.source, plan.target, plan.block)
        if isinstance(plan, PointsPlan)
        else None,
    )


def _fill_bytes(metadata: ArrayMetadata) -> bytes:
    value = np.empty((), metadata.dtype)
    value[()] = metadata.blank
    return value.tobytes()
