"""How large is the document of a set, in every form? Written and weighed; estimated where that takes long."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.references.columns import name_of
from zaro.references.contents import Contents
from zaro.references.files import Files, JoinedFiles
from zaro.references.layout import ChunkLayout
from zaro.references.set import References
from zaro.references.table import DenseTable, SparseTable, Table, batches

__all__ = ["FORMS", "Documents", "folder_of_names", "weigh"]

BATCH = 1 << 20  # chunks located at a time
WRITTEN = 1 << 20
"""Chunks whose documents are written to be weighed; of larger sets the sizes are estimated."""
STEPS = 5  # points of a curve

Counts = NDArray[np.int64]
FORMS: dict[str, dict[str, Any]] = {
    "JSON": {"format": "json"},
    "Parquet": {"format": "parquet"},
    "generator": {"format": "generator"},
    "compact generator": {"format": "generator", "compact": True},
}
"""Forms of a document, as `References.save` is asked for them."""
_ENDINGS = {"json": "json", "parquet": "parquet", "generator": "json"}


@dataclass(frozen=True, slots=True, eq=False)
class Documents:
    """Bytes of the document of a growing part of a set, in every form.

    Attributes
    ----------
    chunks, files : (n,) int64
        What each part holds.
    nbytes : dict of str to (n,) int64
        By form, see FORMS; -1 where a form cannot hold the set.
    measured : int
        Parts that were written; the sizes of those after them are estimated.
    """

    chunks: Counts
    files: Counts
    nbytes: dict[str, Counts]
    measured: int


def weigh(contents: Contents, paths: Sequence[str]) -> Documents:
    """Weigh the documents of a set, and of parts of it, cut along the first dimension of several chunks."""
    rows = max((_rows(contents.layouts[path]) for path in paths), default=1)
    ends = sorted({max(rows * k // STEPS, 1) for k in range(1, STEPS + 1)})
    parts = [_Part(contents, paths, rows, end) for end in ends]
    measured = sum(part.chunks <= WRITTEN for part in parts)
    while measured < 2 and ends[0] > 1:  # two are needed to tell where the others lie
        ends = [ends[0] // 2, *ends]
        parts.insert(0, _Part(contents, paths, rows, ends[0]))
        measured += parts[0].chunks <= WRITTEN
    measured = max(measured, 1)
    weights = [part.weigh() for part in parts[:measured]]
    chunks = np.array([part.chunks for part in parts], np.int64)
    nbytes = {form: _extended(chunks, [one[form] for one in weights]) for form in FORMS}
    return Documents(chunks, np.array([part.files for part in parts], np.int64), nbytes, measured)


def _axis(grid: tuple[int, ...]) -> int:
    """First dimension of several chunks: a part of it is the first so many ids of the grid."""
    return next((k for k, size in enumerate(grid) if size > 1), 0)


def _rows(layout: ChunkLayout) -> int:
    return layout.grid[_axis(layout.grid)] if layout.grid and layout.nchunks else 1


class _Part:
    """A set cut off after some of its chunks along a dimension; arrays of other lengths likewise."""

    def __init__(self, contents: Contents, paths: Sequence[str], rows: int, end: int) -> None:
        self.contents, self.ends = contents, {}
        for path in paths:
            mine = _rows(contents.layouts[path])
            self.ends[path] = contents.layouts[path].nchunks // mine * -(-mine * end // rows)
        self.chunks = sum(_existing(contents.tables[path], end) for path, end in self.ends.items())
        self.files = 0
        for path, last in self.ends.items():
            self.files = max(self.files, _files_of(contents.tables[path], last))

    def weigh(self) -> dict[str, int]:
        """Bytes of the document of every form; -1 where there is none."""
        refs = References(self._cut())
        with tempfile.TemporaryDirectory(prefix="zaro-plot-") as folder:
            return {form: _weight(refs, folder, **how) for form, how in FORMS.items()}

    def _cut(self) -> Contents:
        found = Contents(dict(self.contents.metadata), {}, dict(self.contents.other), {})
        for path, end in self.ends.items():
            layout = self.contents.layouts[path]
            if layout.grid and layout.nchunks:
                grid, axis = layout.grid, _axis(layout.grid)
                rows = end * grid[axis] // layout.nchunks
                layout = ChunkLayout((*grid[:axis], rows, *grid[axis + 1 :]), layout.encoding)
            found.layouts[path] = layout
            found.tables[path] = _cut_table(self.contents.tables[path], end)
        return found


def _existing(table: Table, end: int) -> int:
    """Rows of the table of a part: of one that is mostly absent only those that are there."""
    few = table.candidates()
    return end if few is None else int(np.searchsorted(few, end))


def _files_of(table: Table, end: int) -> int:
    seen = np.zeros(0, bool)
    for ids in batches(table, BATCH):
        file_id = table.locate(ids[ids < end]).file_id
        if len(file_id) and int(file_id.max()) >= 0:
            grown = np.zeros(max(int(file_id.max()) + 1, len(seen)), bool)
            grown[: len(seen)] = seen
            grown[file_id[file_id >= 0]] = True
            seen = grown
        if len(ids) and ids[-1] >= end:
            break
    return int(seen.sum())


def _cut_table(table: Table, end: int) -> Table:
    few = table.candidates()
    ids = np.arange(end, dtype=np.int64) if few is None else few[: np.searchsorted(few, end)]
    at = table.locate(ids)
    columns = at.file_id, at.offset, at.length, _Written(at.files), at.inline
    return DenseTable(*columns) if few is None else SparseTable(end, ids, *columns)


class _Written(Sequence[str]):
    """Files as their document names them, wherever the part is written."""

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: Any) -> Any:
        return name_of(self.files, index, folder_of_names(self.files))


def folder_of_names(files: Sequence[str]) -> str | None:
    """Folder that files are named relative to, if any."""
    if isinstance(files, JoinedFiles):
        return folder_of_names(files.first)
    return files.folder if isinstance(files, Files) else None


def _weight(refs: References, folder: str, **how: Any) -> int:
    target = os.path.join(folder, f"refs.{_ENDINGS[how['format']]}")
    try:
        refs.save(target, **how)
    except ValueError:  # a span that this form has no spelling for
        return -1
    if os.path.isfile(target):
        return os.path.getsize(target)
    return sum(
        os.path.getsize(os.path.join(path, name)) for path, _, names in os.walk(target) for name in names
    )


def _extended(chunks: Counts, measured: list[int]) -> Counts:
    """Sizes of all parts: those that were not written in a line with the last two that were."""
    known = len(measured)
    found = np.array([*measured, *[-1] * (len(chunks) - known)], np.int64)
    if known == len(chunks) or -1 in measured:
        return found
    before = (chunks[known - 2], found[known - 2]) if known > 1 else (0, 0)
    each = (found[known - 1] - before[1]) / max(chunks[known - 1] - before[0], 1)
    found[known:] = found[known - 1] + each * (chunks[known:] - chunks[known - 1])
    return found
