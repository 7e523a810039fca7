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
    return Read(
        plan.rows(out),
        source.chain.order if source.chain.order is not None else tuple(range(metadata.ndim)),
        metadata.dtype.itemsize,
        out,
        _fill_bytes(metadata),
        source.chain.kernel,
        source.missing == "raise",
        plan.points,
    )


def _fill_bytes(metadata: ArrayMetadata) -> bytes:
    value = np.empty((), metadata.dtype)
    value[()] = metadata.blank
    return value.tobytes()
