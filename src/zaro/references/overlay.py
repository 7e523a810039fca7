"""One table over another: what the upper one lists counts, the rest is the lower one's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zaro.references.files import JoinedFiles
from zaro.references.table import ABSENT, INLINE, EmptyTable, Located, OneByOne, Table

__all__ = ["OverlayTable", "overlay"]


@dataclass(slots=True, eq=False)
class OverlayTable(OneByOne):
    """Two tables of one array."""

    lower: Table
    upper: Table
    _files: JoinedFiles | None = field(default=None, repr=False)

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
        files = self._joined(below.files, above.files)
        shift = np.where(above.file_id >= 0, np.int32(files.split), np.int32(0))
        inline = bytes(below.inline) + bytes(above.inline) if len(below.inline) else above.inline
        moved = above.offset + np.where(above.file_id == INLINE, len(below.inline), 0)
        return Located(
            np.where(upper, above.file_id + shift, below.file_id),
            np.where(upper, moved, below.offset),
            np.where(upper, above.length, below.length),
            files,
            inline,
        )

    def _joined(self, lower: Sequence[str], upper: Sequence[str]) -> JoinedFiles:
        """One table of the files of both; the same again as long as they are, for who keeps paths of it."""
        known = self._files
        if known is None or known.first is not lower or known.second is not upper or known.split < len(lower):
            known = self._files = JoinedFiles(lower, upper)
        return known

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist in either, ascending."""
        return np.union1d(self.lower.listed(), self.upper.listed())

    def candidates(self) -> NDArray[np.int64] | None:
        """Give those of both, where both tell them."""
        below, above = self.lower.candidates(), self.upper.candidates()
        return None if below is None or above is None else np.union1d(below, above)

    def explain(self, chunk: int) -> str:
        """Say what the table that counts knows of a chunk."""
        found = self.upper.locate(np.array([chunk], np.int64)).file_id[0] != ABSENT
        return (self.upper if found else self.lower).explain(chunk)


def overlay(lower: Table, upper: Table) -> Table:
    """Lay a table over another."""
    if isinstance(upper, EmptyTable):
        return lower
    return upper if isinstance(lower, EmptyTable) else OverlayTable(lower, upper)
