"""One table over another: what the upper one lists counts, the rest is the lower one's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zaro.references.files import JoinedFiles
from zaro.references.table import ABSENT, INLINE, EmptyTable, Located, Table

__all__ = ["OverlayTable", "overlay"]


@dataclass(frozen=True, slots=True, eq=False)
class OverlayTable:
    """Two tables of one array."""

    lower: Table
    upper: Table

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        return self.lower.nchunks

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once, in both."""
        below, above = self.lower.locate(ids), self.upper.locate(ids)
        upper = above.file_id != ABSENT
        if not upper.any():
            return below
        shift = np.where(above.file_id >= 0, np.int32(len(below.files)), np.int32(0))
        inline = bytes(below.inline) + bytes(above.inline) if len(below.inline) else above.inline
        moved = above.offset + np.where(above.file_id == INLINE, len(below.inline), 0)
        return Located(
            np.where(upper, above.file_id + shift, below.file_id),
            np.where(upper, moved, below.offset),
            np.where(upper, above.length, below.length),
            JoinedFiles(below.files, above.files),
            inline,
        )

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist in either, ascending."""
        return np.union1d(self.lower.listed(), self.upper.listed())

    def explain(self, chunk: int) -> object:
        """What the table that counts knows of a chunk."""
        found = self.upper.locate(np.array([chunk], np.int64)).file_id[0] != ABSENT
        return getattr(self.upper if found else self.lower, "explain", lambda chunk: None)(chunk)


def overlay(lower: Table, upper: Table) -> Table:
    """Lay a table over another."""
    if isinstance(upper, EmptyTable):
        return lower
    return upper if isinstance(lower, EmptyTable) else OverlayTable(lower, upper)
