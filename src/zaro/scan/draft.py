"""What scanners describe arrays in, and how that becomes a reference set: Zarr v2 documents and tables."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.grid import MAX_RANK
from zaro.errors import ScanError
from zaro.metadata import KeyEncoding
from zaro.plan.requests import merge
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import MAX_ID, ChunkLayout, join_path
from zaro.references.table import ABSENT, INLINE, Ids
from zaro.scan.settings import Settings

__all__ = ["Chunks", "Draft", "SetBuilder", "absent_ids", "decode", "dtype_json", "encode", "fill_json"]

DType = np.dtype[Any]
Encoded = dict[str, Any]
"""Configuration of one codec, as numcodecs has it: `id` and its members."""


@dataclass(slots=True)
class Chunks:
    """Where some chunks of one array lie: columns [n], and the bytes of those that are INLINE."""

    ids: Ids
    file_id: NDArray[np.int32]
    offset: Ids
    length: Ids
    inline: bytes = b""

    @classmethod
    def of(cls, ids: Ids, offset: Ids, length: Ids, file_id: int = 0) -> Chunks:
        """Chunks that lie in one file."""
        return cls(ids, np.full(len(ids), file_id, np.int32), offset, length)

    @classmethod
    def nothing(cls) -> Chunks:
        """No chunk at all."""
        empty = np.empty(0, np.int64)
        return cls.of(empty, empty, empty)

    @classmethod
    def bytes_of(cls, blocks: Mapping[int, bytes]) -> Chunks:
        """Chunks whose bytes are given, by id."""
        return cls.nothing().adding(blocks)

    def adding(self, blocks: Mapping[int, bytes]) -> Chunks:
        """These and others, whose bytes are given by id; the same bytes object is held once."""
        places: dict[int, tuple[int, int]] = {}
        parts, end = [self.inline], len(self.inline)
        spans = np.empty((len(blocks), 2), np.int64)
        for k, data in enumerate(blocks.values()):
            if id(data) not in places:
                places[id(data)] = end, len(data)
                parts.append(data)
                end += len(data)
            spans[k] = places[id(data)]
        return Chunks(
            np.append(self.ids, np.fromiter(blocks, np.int64, len(blocks))),
            np.append(self.file_id, np.full(len(blocks), INLINE, np.int32)),
            np.append(self.offset, spans[:, 0]),
            np.append(self.length, spans[:, 1]),
            b"".join(parts),
        )

    def without(self, rows: NDArray[np.bool_]) -> Chunks:
        """Leave out some rows."""
        kept = ~rows
        return Chunks(self.ids[kept], self.file_id[kept], self.offset[kept], self.length[kept], self.inline)


@dataclass(slots=True)
class Draft:
    """One array, before it is written down.

    Attributes
    ----------
    fill : JSON value
        Of the member `fill_value`, see `fill_json`; None: absent chunks are zero, nothing is masked.
    filters : list of codec configurations
        All of them, in the order of encoding, as kerchunk writes them.
    dims : names of the dimensions.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: DType
    dims: tuple[str, ...]
    fill: Any = None
    filters: list[Encoded] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    rows: Chunks = field(default_factory=Chunks.nothing)

    @property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return tuple(-(-size // chunk) for size, chunk in zip(self.shape, self.chunks, strict=True))

    def encode(self, block: NDArray[Any]) -> bytes:
        """Encode a block of a whole chunk's shape as the chunks of the file are."""
        return encode(block, self.filters)

    def document(self) -> bytes:
        """The `.zarray`."""
        return _dump(
            {
                "zarr_format": 2,
                "shape": self.shape,
                "chunks": self.chunks,
                "dtype": dtype_json(self.dtype),
                "fill_value": self.fill,
                "order": "C",
                "filters": self.filters or None,
                "compressor": None,
                "dimension_separator": ".",
            }
        )

    def attributes(self) -> bytes:
        """The `.zattrs`."""
        return _dump({"_ARRAY_DIMENSIONS": self.dims, **self.attrs})


def encode(block: NDArray[Any], filters: Sequence[Encoded]) -> bytes:
    """Run a block through codecs of numcodecs."""
    data: Any = np.ascontiguousarray(block)
    for config in filters:
        data = _codec(config).encode(data)
    return np.asarray(data).tobytes() if isinstance(data, np.ndarray) else bytes(data)


def decode(data: bytes, filters: Sequence[Encoded]) -> NDArray[np.uint8]:
    """The inverse, to plain bytes."""
    found: Any = data
    for config in reversed(filters):
        found = _codec(config).decode(found)
    return np.frombuffer(bytes(found) if not isinstance(found, np.ndarray) else found.tobytes(), np.uint8)


def _codec(config: Encoded) -> Any:
    import numcodecs

    from zaro.scan.codecs import Hdf5Shuffle

    return (
        Hdf5Shuffle(config["elementsize"]) if config["id"] == "shuffle" else numcodecs.get_codec(dict(config))
    )


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def dtype_json(dtype: DType) -> Any:
    """A data type as `.zarray` spells it: a string, or a list of fields."""
    if dtype.kind == "O":
        return "|O"
    if dtype.names is None:
        return dtype.str
    return list(_fields(dtype))


def _fields(dtype: DType) -> Iterator[list[Any]]:
    """Fields, with the padding between them as fields of raw bytes."""
    assert dtype.fields is not None
    at = 0
    for name, (part, offset, *_) in sorted(dtype.fields.items(), key=lambda item: item[1][1]):
        if offset > at:
            yield [f"_padding_{at}", f"|V{offset - at}"]
        base, shape = part.subdtype or (part, ())
        yield [name, dtype_json(base), list(shape)] if shape else [name, dtype_json(base)]
        at = offset + part.itemsize
    if dtype.itemsize > at:
        yield [f"_padding_{at}", f"|V{dtype.itemsize - at}"]


def fill_json(value: Any, dtype: DType) -> Any:
    """A fill value as `.zarray` spells it."""
    if dtype.kind == "O":
        return value.decode() if isinstance(value, bytes) else str(value)
    scalar = np.asarray(value).astype(dtype).reshape(-1)[0]
    if dtype.kind == "f":
        return _float_json(float(scalar))
    if dtype.kind == "c":
        return [_float_json(float(scalar.real)), _float_json(float(scalar.imag))]
    if dtype.kind in "SV":
        raw = np.asarray(scalar, dtype).tobytes()
        return base64.standard_b64encode(raw.rstrip(b"\0") if dtype.kind == "S" else raw).decode()
    if dtype.kind in "mM":
        return int(scalar.astype("i8"))
    return scalar.item()


def _float_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


class SetBuilder:
    """Collects the groups and arrays of one or more files into a reference set."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.files: list[str] = []
        self._readers: list[Callable[[int, int], bytes]] = []
        self.contents = Contents()

    def add_file(self, url: str, read: Callable[[int, int], bytes]) -> int:
        """Id of a file; `read(offset, length)` gives its bytes where they are put inline."""
        if url in self.files:
            return self.files.index(url)
        self.files.append(url)
        self._readers.append(read)
        return len(self.files) - 1

    def _error(self, path: str, reason: str) -> ScanError:
        return ScanError(next(iter(self.files), ""), path, reason)

    def _check_path(self, path: str) -> None:
        """Refuse a path that is none, and a second node at one: a set could only hold one of them."""
        if path and any(part in ("", ".", "..") for part in path.split("/")):
            raise self._error(path, "is no path that a set could have")
        if any(join_path(path, name) in self.contents.metadata for name in (".zarray", ".zgroup")):
            raise self._error(path, "is the name of two variables or groups")

    def _layout(self, path: str, draft: Draft) -> ChunkLayout:
        layout = ChunkLayout(draft.grid, _KEYS)
        nbytes = math.prod(max(size, 1) for size in draft.shape) * draft.dtype.itemsize
        if len(draft.shape) > MAX_RANK or max(nbytes, layout.nchunks) > MAX_ID:
            found = f"{len(draft.shape)} dimensions and {nbytes} bytes"
            raise self._error(path, f"has {found}, expected {MAX_RANK} and {MAX_ID} at most")
        return layout

    def add_group(self, path: str, attrs: Mapping[str, Any]) -> None:
        """Add a group.

        Raises
        ------
        ScanError
            There is a node of that path, or it is none.
        """
        self._check_path(path)
        self.contents.metadata[join_path(path, ".zgroup")] = b'{"zarr_format":2}'
        self.contents.metadata[join_path(path, ".zattrs")] = _dump(attrs)

    def add_array(self, path: str, draft: Draft) -> None:
        """Add an array; small chunks of it are put inline.

        Raises
        ------
        ScanError
            There is a node of that path, or it is none; or the array is too large for any reader.
        """
        self._check_path(path)
        draft = _split(draft, self.settings.split)
        self.contents.metadata[join_path(path, ".zarray")] = draft.document()
        self.contents.metadata[join_path(path, ".zattrs")] = draft.attributes()
        layout = self._layout(path, draft)
        rows = self._inlined(draft.rows)
        self.contents.layouts[path] = layout
        self.contents.tables[path] = make_table(
            layout.nchunks, Rows(rows.ids, rows.file_id, rows.offset, rows.length), self._table, rows.inline
        )

    def _inlined(self, rows: Chunks) -> Chunks:
        """Hold the bytes of small chunks; those that follow one another are read at once."""
        small = (rows.length < self.settings.inline_threshold) & (rows.file_id >= 0)
        if not small.any():
            return rows
        where = np.flatnonzero(small)
        requests = merge(rows.file_id[where], rows.offset[where], rows.length[where], gap=0)
        file_id, offset = rows.file_id.copy(), rows.offset.copy()
        parts, end = [rows.inline], len(rows.inline)
        for k in range(len(requests)):
            begin, nbytes = int(requests.offset[k]), int(requests.length[k])
            parts.append(self._readers[requests.file_id[k]](begin, nbytes))
            offset[where[requests.serves(k)]] += end - begin
            end += nbytes
        file_id[where] = INLINE
        return Chunks(rows.ids, file_id, offset, rows.length, b"".join(parts))

    @cached_property
    def _table(self) -> FileTable:
        return FileTable([], None)

    def finish(self) -> Contents:
        """Give the set, files named as the settings ask."""
        self._table.written.extend(map(self.settings.spell, self.files))
        self._table.resolved.extend(self._table.written)
        return self.contents


_KEYS = KeyEncoding("v2", ".")


def _split(draft: Draft, most: int | None) -> Draft:
    """Cut an uncompressed array that is one run of bytes along its leading dimensions, into even chunks.

    Chunks get as large as they may with at most `most` bytes.
    """
    nbytes = math.prod(draft.shape) * draft.dtype.itemsize
    one = len(draft.rows.ids) == 1 and draft.rows.file_id[0] >= 0 and draft.chunks == draft.shape
    if most is None or nbytes <= most or draft.filters or not one or not draft.shape:
        return draft
    chunks = list(draft.shape)
    for axis, size in enumerate(draft.shape):
        rest = nbytes // math.prod(draft.shape[: axis + 1])
        pieces = next(k for k in _divisors(size) if k == size or rest * size // k <= most)
        chunks[axis] = size // pieces
        if chunks[axis] > 1 or rest <= most:
            break
    each = math.prod(chunks) * draft.dtype.itemsize
    ids = np.arange(nbytes // each, dtype=np.int64)
    rows = Chunks.of(
        ids, draft.rows.offset[0] + ids * each, np.full(len(ids), each, np.int64), int(draft.rows.file_id[0])
    )
    return Draft(
        draft.shape, tuple(chunks), draft.dtype, draft.dims, draft.fill, draft.filters, draft.attrs, rows
    )


def _divisors(number: int) -> Iterator[int]:
    """All divisors, ascending."""
    small = [k for k in range(1, math.isqrt(number) + 1) if number % k == 0]
    yield from small
    yield from (number // k for k in reversed(small) if k * k != number)


def absent_ids(rows: Chunks, nchunks: int) -> Ids:
    """Ids of the grid that no row has."""
    there = np.zeros(nchunks, bool)
    there[rows.ids[rows.file_id != ABSENT]] = True
    return np.flatnonzero(~there).astype(np.int64)
