"""What every spelling of a reference set is read into and written from."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from zaro.openings import crc_of
from zaro.references.layout import ChunkLayout, array_layouts, split_key
from zaro.references.table import (
    ABSENT,
    INLINE,
    WHOLE,
    DenseTable,
    EmptyTable,
    Ids,
    Reference,
    SparseTable,
    Table,
)

if TYPE_CHECKING:
    from zaro.references.fingerprint import Fingerprints

__all__ = ["Contents", "Rows", "digest", "make_table", "table_of"]

DENSE_SHARE = 8  # a dense table where at least one chunk in so many exists


@dataclass(slots=True)
class Contents:
    """A reference set, whichever way it was spelled.

    Attributes
    ----------
    metadata : dict of str to bytes
        Metadata documents by key: `.zgroup`, `sst/.zarray`, `sst/zarr.json`, `.zmetadata`.
    tables : dict of str to Table
        Where the chunks lie, by path of the array; "" is the root. One for every array of `layouts`.
    other : dict of str to reference
        Keys that are neither metadata documents nor canonical keys of a chunk of a known array: a
        reference set may hold any files. Metadata documents that lie in a file are here as well.
    layouts : dict of str to ChunkLayout
        Grid and key spelling of every array, by path.
    fingerprints : Fingerprints or None
        What its files were like when they were scanned, where that was written down.
    origin : str
        The file or store that it was scanned from; empty where that is not known. It is not saved.
    """

    metadata: dict[str, bytes] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    other: dict[str, Reference] = field(default_factory=dict)
    layouts: dict[str, ChunkLayout] = field(default_factory=dict)
    fingerprints: Fingerprints | None = None
    origin: str = ""

    def complete(self) -> Contents:
        """Give every array of the metadata a layout and a table, and return this object."""
        for path, layout in array_layouts(self.metadata).items():
            self.layouts.setdefault(path, layout)
            self.tables.setdefault(path, EmptyTable(layout.nchunks))
        return self

    def table(self, path: str, layout: ChunkLayout) -> Table:
        """Give the table of an array by a layout that its reader knows better than the set did.

        The set's own tables follow the documents that stand in it. One that is itself a reference to a
        file is known to nobody before it is read; the chunks of its array lie in `other` until then.
        """
        if self.layouts.get(path) == layout:
            return self.tables[path]
        below = f"{path}/" if path else ""
        named = {key[len(below) :]: value for key, value in self.other.items() if key.startswith(below)}
        if path in self.layouts:
            table, old = self.tables[path], self.layouts[path]
            for chunk in table.listed().tolist():
                named[old.name(chunk)] = table.reference(chunk) or b""
        found = {layout.id(name): reference for name, reference in named.items()}
        return table_of(layout.nchunks, {chunk: value for chunk, value in found.items() if chunk is not None})

    def arrays_of(self, key: str) -> list[str]:
        """Paths of the known arrays that a key may lie in, the deepest first."""
        found = []
        path = split_key(key)[0]
        while path:
            if path in self.layouts:
                found.append(path)
            path = split_key(path)[0]
        return [*found, ""] if "" in self.layouts else found

    def chunk(self, key: str) -> tuple[str, int] | None:
        """Array and id of the chunk that a key spells; None if it spells none."""
        for path in self.arrays_of(key):
            chunk = self.layouts[path].id(key[len(path) + 1 :] if path else key)
            if chunk is not None:
                return path, chunk
        return None


@dataclass(slots=True, eq=False)
class Rows:
    """References of one array in the order in which they were met; for a repeated id the last one counts.

    file_id may be ABSENT (no such chunk after all) or INLINE; length WHOLE is a whole file.
    """

    ids: Ids
    file_id: np.ndarray[tuple[int], np.dtype[np.int32]]
    offset: Ids
    length: Ids


def make_table(nchunks: int, rows: Rows, files: Sequence[str], inline: bytes | memoryview = b"") -> Table:
    """Lay rows out as a table: dense where enough of the grid exists, else sparse.

    Never allocates in proportion to a grid that is mostly absent.
    """
    if not len(rows.ids):
        return EmptyTable(nchunks)
    if nchunks <= DENSE_SHARE * len(rows.ids):
        file_id = np.full(nchunks, ABSENT, np.int32)
        offset, length = np.zeros(nchunks, np.int64), np.zeros(nchunks, np.int64)
        file_id[rows.ids], offset[rows.ids], length[rows.ids] = rows.file_id, rows.offset, rows.length
        return DenseTable(file_id, offset, length, files, inline)
    order = np.argsort(rows.ids, kind="stable")
    ids = rows.ids[order]
    last = order[np.append(ids[1:] != ids[:-1], True)]
    last = last[rows.file_id[last] != ABSENT]
    return SparseTable(
        nchunks, rows.ids[last], rows.file_id[last], rows.offset[last], rows.length[last], files, inline
    )


def table_of(nchunks: int, references: Mapping[int, Reference]) -> Table:
    """Make a table of a few references by id."""
    files: dict[str, int] = {}
    inline, rows = bytearray(), np.zeros((4, len(references)), np.int64)
    for k, (chunk, reference) in enumerate(references.items()):
        if isinstance(reference, bytes):
            rows[:, k] = chunk, INLINE, len(inline), len(reference)
            inline += reference
        else:
            url, *span = reference
            rows[:, k] = chunk, files.setdefault(str(url), len(files)), *(span or (0, WHOLE))
    columns = Rows(rows[0], rows[1].astype(np.int32), rows[2], rows[3])
    return make_table(nchunks, columns, list(files), bytes(inline))


def digest(contents: Contents) -> str:
    """Sum up what is in memory of a set: of columns their bytes, at about 1 GB/s."""
    columns: list[pickle.PickleBuffer] = []
    rest = (
        sorted(contents.metadata.items()),
        sorted(contents.tables.items()),
        sorted(contents.other.items()),
    )
    written = pickle.dumps(rest, protocol=5, buffer_callback=columns.append)
    return crc_of([written, *(column.raw() for column in columns)])
