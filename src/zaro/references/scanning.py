"""From a document to columns: the scanner's loop, and what is made of what it finds."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from typing import IO

import numpy as np
from numpy.typing import NDArray

from zaro._core import scan
from zaro.errors import ReferenceSetError, StoreError
from zaro.references.contents import DENSE_SHARE, Contents, Rows, make_table
from zaro.references.files import FileTable, PackedFiles, file_table
from zaro.references.layout import ChunkLayout, array_layouts, layout_of, split_key
from zaro.references.table import ABSENT, INLINE, WHOLE, DenseTable, Reference, Table

__all__ = ["Scanned", "Source", "scan_document"]

BLOCK = 1 << 20  # bytes read at a time: so few that they are still in the cache when they are scanned

Source = Callable[[], AbstractContextManager[IO[bytes]]] | bytes
"""A document: its bytes, or what opens it, since it may have to be read twice."""

Entry = tuple[str, int, int, int]  # key, file, offset, length


@dataclass(slots=True)
class Scanned:
    """A document in a scanner, and the arrays that were declared on the way, by path."""

    scanner: scan.Scanner
    numbers: dict[str, int] = field(default_factory=dict)
    layouts: dict[str, ChunkLayout] = field(default_factory=dict)
    metadata: dict[str, bytes] = field(default_factory=dict)
    inline: bytes = b""
    renumbered: NDArray[np.int32] | None = None

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

    def gather(self) -> dict[str, ChunkLayout]:
        """Read the metadata documents that were met; the arrays that they describe."""
        self.inline = self.scanner.inline()
        self.metadata.clear()
        for key, file_id, offset, length in self.scanner.loose(documents=True):
            if file_id in (INLINE, scan.OBJECT):
                self.metadata[key] = self.bytes_of(file_id, offset, length)
            else:
                self.metadata.pop(key, None)
        return array_layouts(self.metadata)

    def close(self) -> bool:
        """Sort what was met before its array; False where an array was declared otherwise than it ends up."""
        found = self.gather()
        if any(found.get(path) != layout for path, layout in self.layouts.items()):
            return False
        for path, layout in found.items():
            self.declare(path, layout)
        self.scanner.settle()
        return True

    def bytes_of(self, file_id: int, offset: int, length: int) -> bytes:
        """Bytes of an inline entry; an object as JSON text, spelled as `fsspec` spells it."""
        raw = self.inline[offset : offset + length]
        if file_id == INLINE:
            return raw
        try:
            return json.dumps(json.loads(raw)).encode()
        except (ValueError, RecursionError) as err:
            place = f"the object that begins with {raw[:40]!r}"
            raise ReferenceSetError(self.scanner.name, place, f"is no JSON: {err}") from None

    def entry(
        self, file_id: int, offset: int, length: int, files: FileTable | PackedFiles
    ) -> Reference | None:
        """One loose entry as the mapping shows it."""
        if file_id == ABSENT:
            return None
        if file_id < 0:
            return self.bytes_of(file_id, offset, length)
        file_id = file_id if self.renumbered is None else int(self.renumbered[file_id])
        return [files[file_id]] if length == WHOLE else [files[file_id], offset, length]

    def rows(self, path: str) -> Rows:
        """Rows of one array in the order of the document."""
        return Rows(*self.scanner.rows(self.numbers[path]))

    def table(self, path: str, files: FileTable | PackedFiles) -> Table:
        """Lay the rows of one array out, and set the scanner's memory of them free."""
        number, nchunks = self.numbers[path], self.layouts[path].nchunks
        n = self.scanner.count(number)
        table: Table
        if n and nchunks <= DENSE_SHARE * n and not self.scanner.n_objects:
            columns = self.scanner.dense(number, nchunks)
            self.renumber(columns[0])
            table = DenseTable(*columns, files, self.inline)
        else:
            rows = self.plain(self.rows(path))
            self.renumber(rows.file_id)
            table = make_table(nchunks, rows, files, self.inline)
        self.scanner.drop(number)
        return table

    def renumber(self, file_id: NDArray[np.int32]) -> None:
        """Give files that templates made the same one number."""
        if self.renumbered is not None:
            files = file_id >= 0
            file_id[files] = self.renumbered[file_id[files]]

    def plain(self, rows: Rows) -> Rows:
        """Turn references that are JSON objects to inline bytes; there are few, if any."""
        for row in np.flatnonzero(rows.file_id == scan.OBJECT).tolist():
            text = self.bytes_of(scan.OBJECT, int(rows.offset[row]), int(rows.length[row]))
            rows.file_id[row], rows.offset[row], rows.length[row] = INLINE, len(self.inline), len(text)
            self.inline += text
        return rows

    def files(self, expand: Callable[[str], str] | None, folder: str | None) -> FileTable | PackedFiles:
        """Make the file table, its names expanded where the document has templates."""
        text, ends = self.scanner.files()
        if expand is None or b"{{" not in text:
            return file_table(text, ends, folder)
        written, names = PackedFiles(text, ends), dict[str, int]()
        numbers = (names.setdefault(expand(written.name(k)), len(names)) for k in range(len(ends)))
        self.renumbered = np.fromiter(numbers, np.int32, len(ends))
        return FileTable(list(names), folder)

    def contents(self, files: FileTable | PackedFiles) -> Contents:
        """Make the tables, and the few entries that are in none."""
        contents = Contents(metadata=self.metadata, layouts=self.layouts)
        for path in self.layouts:
            contents.tables[path] = self.table(path, files)
        documents = (one for one in self.scanner.loose(documents=True) if one[0] not in self.metadata)
        for key, file_id, offset, length in chain(self.scanner.loose(documents=False), documents):
            reference = self.entry(file_id, offset, length, files)
            if reference is None:
                contents.other.pop(key, None)
            else:
                contents.other[key] = reference
        return contents


def _scan_bytes(document: bytes, scanned: Scanned) -> None:
    at, event = 0, scan.MORE
    while event != scan.DONE:
        used, event = scanned.scanner.feed_bytes(document, at)
        at += used
        if event == scan.ARRAY:
            scanned.declare_last()


def _read(file: IO[bytes], room: memoryview, name: str) -> int:
    try:
        return int(file.readinto(room))  # type: ignore[attr-defined]
    except ReferenceSetError:
        raise
    except (EOFError, zlib.error, gzip.BadGzipFile) as err:
        raise ReferenceSetError(name, "", f"cannot be decompressed: {err}") from None
    except OSError as err:
        raise StoreError(name, f"cannot be read: {err}") from err
    except Exception as err:
        if type(err).__name__ != "ZstdError":  # of a library that may not be there
            raise
        raise ReferenceSetError(name, "", f"cannot be decompressed: {err}") from None


def _scan_file(file: IO[bytes], scanned: Scanned) -> None:
    block, have, last = bytearray(BLOCK + 1), 0, False
    while not last:
        got = _read(file, memoryview(block)[have:-1], scanned.scanner.name)
        last, stop, at = not got, have + got, 0
        event = scan.ARRAY
        while event == scan.ARRAY:
            used, event = scanned.scanner.feed(block, at, stop, last)
            at += used
            if event == scan.ARRAY:
                scanned.declare_last()
        have = stop - at
        block[:have] = block[at:stop]
        if have > getattr(file, "longest", have):
            reason = "holds an entry that is far longer than the file; see zaro.config.ENTRY_RATIO"
            raise ReferenceSetError(scanned.scanner.name, "", reason)
        if 2 * have > len(block):  # one entry fills it, so this is no more than the document holds
            block += bytes(len(block))


def scan_document(
    source: Source,
    name: str,
    *,
    nested: bool = False,
    skip: int = 0,
    known: Mapping[str, ChunkLayout] | None = None,
) -> Scanned:
    """Scan a document, again where it turns out to mean something else than its beginning said.

    That is the case where `version` follows the references, where there are several `refs`, and
    where an array is described twice, differently.
    """
    scanned = Scanned(scan.Scanner(name, nested=nested, skip=skip))
    for path, layout in (known or {}).items():
        scanned.declare(path, layout)
    if isinstance(source, bytes):
        _scan_bytes(source, scanned)
    else:
        with source() as file:
            _scan_file(file, scanned)
    is_nested, mixed, n_refs = scanned.scanner.version
    good = scanned.close()
    if mixed or n_refs > skip + 1:
        return scan_document(source, name, nested=is_nested, skip=max(n_refs - 1, 0), known=known)
    if not good:
        return scan_document(source, name, nested=nested, skip=skip, known=array_layouts(scanned.metadata))
    return scanned
