"""Changes to the references of one array that are not written yet, laid over what is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.fsspec.documents import as_bytes
from zaro.references.table import ABSENT, INLINE, WHOLE, Ids, Located, OneByOne, Table

__all__ = ["ChangedTable", "overlaid"]


@dataclass(slots=True, eq=False)
class ChangedTable(OneByOne):
    """A table and what was changed in it: the new reference by chunk id, None for one that was deleted."""

    written: Table
    nchunks: int
    changes: dict[int, Any] = field(default_factory=dict)

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once."""
        found = self._written(ids)
        if not self.changes:
            return found
        rows = {row: self.changes[chunk] for row, chunk in enumerate(ids.tolist()) if chunk in self.changes}
        return overlaid(found, rows) if rows else found

    def _written(self, ids: NDArray[np.int64]) -> Located:
        inside = ids < self.written.nchunks
        if inside.all():
            return self.written.locate(ids)
        found = self.written.locate(ids[inside])
        file_id = np.full(len(ids), ABSENT, np.int32)
        offset, length = np.zeros(len(ids), np.int64), np.zeros(len(ids), np.int64)
        file_id[inside], offset[inside], length[inside] = found.file_id, found.offset, found.length
        return Located(file_id, offset, length, found.files, found.inline)

    def listed(self) -> Ids:
        """Ids of the chunks that exist, ascending."""
        written = self.written.listed()
        kept = set(written[written < self.nchunks].tolist())
        kept.difference_update(self.changes)
        kept.update(chunk for chunk, value in self.changes.items() if value is not None)
        return np.array(sorted(kept), np.int64)

    def candidates(self) -> Ids | None:
        """Give those of the table and of the changes, where the table tells them."""
        few = self.written.candidates()
        if few is None:
            return None
        return np.union1d(few[few < self.nchunks], np.array(list(self.changes), np.int64))


def overlaid(found: Located, rows: Mapping[int, Any]) -> Located:
    """Columns with some rows replaced by references as fsspec has them, or None.

    Parameters
    ----------
    found : Located
    rows : mapping of int to reference
        By row of the columns.
    """
    file_id, offset, length = found.file_id.copy(), found.offset.copy(), found.length.copy()
    names, inline = _Names(found.files), bytearray(found.inline)
    for row, value in rows.items():
        raw = None if value is None else as_bytes(value)
        if value is None:
            file_id[row], offset[row], length[row] = ABSENT, 0, 0
        elif raw is not None:
            file_id[row], offset[row], length[row] = INLINE, len(inline), len(raw)
            inline += raw
        else:
            file_id[row] = names.id(value[0])
            offset[row], length[row] = (value[1], value[2]) if len(value) == 3 else (0, WHOLE)
    return Located(file_id, offset, length, names.all(), bytes(inline))


class _Names:
    """File names of some columns, and further ones behind them."""

    def __init__(self, known: Sequence[str]) -> None:
        self._known = list(known)
        self._ids = {name: k for k, name in enumerate(self._known)}

    def id(self, name: str) -> int:
        if name not in self._ids:
            self._ids[name] = len(self._known)
            self._known.append(name)
        return self._ids[name]

    def all(self) -> list[str]:
        return self._known
