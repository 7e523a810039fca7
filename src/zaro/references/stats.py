"""How much does a table hold? Counts for people and for programs."""

from __future__ import annotations

from typing import TypedDict

import numpy as np

from zaro.references.table import INLINE, WHOLE, Table

__all__ = ["ArrayStats", "array_stats"]

BATCH = 1 << 20  # chunks located at a time


class ArrayStats(TypedDict):
    """Counts of one array."""

    chunks: int
    present: int
    absent: int
    inline: int
    bytes: int
    files: int
    gfactor: float | None


def array_stats(table: Table) -> ArrayStats:
    """Count what a table holds; linear in the chunks that exist, in bounded memory."""
    listed = table.listed()
    inline = nbytes = 0
    files: set[int] = set()
    for start in range(0, len(listed), BATCH):
        found = table.locate(listed[start : start + BATCH])
        inline += int(np.count_nonzero(found.file_id == INLINE))
        nbytes += int(found.length[found.length != WHOLE].sum())
        files.update(np.unique(found.file_id[found.file_id >= 0]).tolist())
    return ArrayStats(
        chunks=table.nchunks,
        present=len(listed),
        absent=table.nchunks - len(listed),
        inline=inline,
        bytes=nbytes,
        files=len(files),
        gfactor=None,
    )
