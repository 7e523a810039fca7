"""From a document to columns: the scanner's loop, and what is made of what it finds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO

import numpy as np

from zaro._core import scan
from zaro.errors import ReferenceSetError
from zaro.references.contents import DENSE_SHARE, Contents, Reference, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import METADATA_NAMES, ChunkLayout, array_layouts, layout_of, split_key
from zaro.references.table import ABSENT, INLINE, WHOLE, DenseTable, EmptyTable, Table

__all__ = ["Scanned", "Source", "scan_document"]

BLOCK = 1 << 20  # bytes read at a time: small enough to stay in the cache between reading and scanning

Source = Callable[[], AbstractContextManager[IO[bytes]]] | bytes
"""A document: its bytes, or what opens it, since it may have to be read twice."""


@dataclass(slots=True)
class Scanned:
    """A document that was scanned, and the arrays that were declared on the way, by path."""

    scanner: scan.Scanner
    numbers: dict[str, int] = field(default_factory=dict)
    layouts: dict[str, ChunkLayout] = field(default_factory=dict)
    metadata: dict[str, bytes] = field(default_factory=dict)

    def declare(self, path: str, layout: ChunkLayout) -> None:
        """Tell the scanner of an array; only the first layout of a path counts."""
        if path in self.layouts:
            return
        number = self.scanner.declare(
            path,
            np.array(layout.grid, np.int64),
            prefixed=layout.encoding.name == "default",
            separator=layout.encoding.separator,
        )
        assert number is not None
        self.numbers[path], self.layouts[path] = number, layout

    def declare_last(self) -> None:
        """Declare the array that the entry met last describes, if it does."""
        key, raw = self.scanner.last_loose()
        layout = layout_of(key, raw) if raw is not None else None
        if layout is not None:
            self.declare(split_key(key)[0], layout)

    def contents(self, folder: str | None) -> Contents:
        """Make tables of the rows, and set the scanner's memory free on the way."""
        self.scanner.settle()
        contents = Contents(metadata=self.metadata, layouts=self.layouts)
        files, inline = FileTable(*self.scanner.files(), folder), self.scanner.inline()
        for path, layout in self.layouts.items():
            contents.tables[path] = self._table(path, layout.nchunks, files, inline)
        if self.scanner.n_objects:
            inline = self._plain_objects(contents.tables, files, inline)
        for key, file_id, offset, length in self.scanner.loose(documents=False):
            self._keep(contents.other, key, file_id, offset, length, inline, files)
        for key, file_id, offset, length in self.scanner.loose(documents=True):
            if file_id >= 0 or split_key(key)[1] not in METADATA_NAMES:
                self._keep(contents.other, key, file_id, offset, length, inline, files)
        return contents
