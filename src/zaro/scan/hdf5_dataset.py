"""One HDF5 dataset: its type, its layout and its filters, as an array of a reference set."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ScanError
from zaro.scan.draft import Chunks, Draft, absent_ids, decode, encode, fill_json
from zaro.scan.hdf5_attributes import attributes_of, plain_value
from zaro.scan.hdf5_chunks import chunk_index
from zaro.scan.hdf5_codec import Hdf5Filter
from zaro.scan.hdf5_dimensions import Dimensions
from zaro.scan.hdf5_elements import unusual
from zaro.scan.hdf5_filters import Filter, filters_of
from zaro.scan.settings import Settings
from zaro.scan.source import Source

__all__ = ["Home", "draft_dataset"]

ELSEWHERE = "has its values in other files, which can only be read beside a local file"

MOST_BLANKS = 1 << 22
"""Chunks that are spelled out one by one at most, since HDF5 gives for them what a set would not."""
LARGEST_BLANK = 1 << 28
"""Bytes of such a chunk at most."""
MOST_OBJECTS = 1 << 24
"""Elements without a fixed size that are held in the set at most."""

DType = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Home:
    """An HDF5 file: where it lies, its h5py object, its id in the set, and how another file gets one."""

    source: Source
    h5: Any
    file_id: int
    open_other: Callable[[str], tuple[Source, int]]


def draft_dataset(home: Home, dataset: Any, path: str, dimensions: Dimensions, settings: Settings) -> Draft:
    """Describe one dataset.

    Raises
    ------
    ScanError
        Naming the variable, and why it cannot be represented.
    """
    try:
        return _Dataset(home, dataset, path, settings, dimensions).draft()
    except ScanError:
        raise
    except Exception as err:  # h5py, of a file that is damaged, can say anything
        raise ScanError(home.source.url, path, f"cannot be read: {err}") from err


class _Dataset:
    def __init__(
        self, home: Home, dataset: Any, path: str, settings: Settings, dimensions: Dimensions
    ) -> None:
        self.home, self.dataset, self.path, self.settings = home, dataset, path, settings
        if dataset.shape is None:
            raise self.error("has no dataspace: it holds no value, and an array must")
        # elements that are arrays are more dimensions
        self.dtype, inner = dataset.dtype.subdtype or (dataset.dtype, ())
        self.inner: tuple[int, ...] = inner
        self.dimensions = dimensions
        self.shape: tuple[int, ...] = (*dimensions.lengths(dataset), *inner)
        self.chunks = (*(max(size, 1) for size in dataset.chunks or dataset.shape), *inner)
        self.plist = dataset.id.get_create_plist()

    def error(self, reason: str) -> ScanError:
        return ScanError(self.home.source.url, self.path, reason)

    def draft(self) -> Draft:
        attrs = {**self._enum(), **attributes_of(self.dataset, self.home.source.url, self.path)}
        dims = self.dimensions.names(self.dataset, self.inner)
        if self.dtype.kind == "O":
            return self._objects(dims, attrs)
        self.dtype = _stored_type(self.dtype, self)
        draft = Draft(self.shape, self.chunks, self.dtype, dims, self._fill(attrs), attrs=attrs)
        layout = self.plist.get_layout()
        if not all(self.shape):
            return draft
        self._lay(draft, layout)
        if len(draft.rows.ids) < self.nchunks:
            self._blank(draft)
        return draft

    @property
    def nchunks(self) -> int:
        """Chunks of the grid."""
        return math.prod(-(-s // c) for s, c in zip(self.shape, self.chunks, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return math.prod(self.shape) * int(self.dtype.itemsize)

    # types

    def _enum(self) -> dict[str, Any]:
        """Names of an enumeration, as CF spells them and netCDF gives them."""
        import h5py

        members = h5py.check_enum_dtype(self.dtype)
        if not members:
            return {}
        names = " ".join(name.replace(" ", "_") for name in members)
        return {"flag_values": list(map(int, members.values())), "flag_meanings": names}

    def _fill(self, attrs: dict[str, Any]) -> Any:
        """The value that is masked; HDF5's own fill value is another thing, and only fills what is absent."""
        raw = self.dataset.attrs.get("_FillValue")
        value = np.asarray(raw)
        if raw is None or not value.size:
            return None
        try:
            fits = self.dtype.names is None and value.size == 1 and value.astype(self.dtype) == value
            if fits or value.dtype.kind == self.dtype.kind == "f" or value.dtype == self.dtype:
                return fill_json(value, self.dtype)
        except (TypeError, ValueError):
            pass
        attrs["_FillValue"] = plain_value(raw)
        return None

    # where the bytes lie

    def _lay(self, draft: Draft, layout: int) -> None:
        import h5py

        odd = unusual(self.dataset.id.get_type())
        if self.home.source.path is None and self._reaches_out(odd):
            raise self.error(ELSEWHERE)
        if odd:
            self._rescue(draft, odd)
        elif layout == h5py.h5d.CHUNKED:
            self._chunked(draft)
        elif layout == h5py.h5d.CONTIGUOUS:
            self._contiguous(draft)
        elif layout == h5py.h5d.COMPACT:
            draft.rows = Chunks.bytes_of({0: self._values().tobytes()})
        else:
            self._rescue(draft, "is a virtual dataset, whose values lie in others")

    def _reaches_out(self, odd: str | None) -> bool:
        """Whether HDF5 would have to open other files for the values, which it looks for on this machine."""
        if self.dataset.is_virtual:
            return any(source.file_name != "." for source in self.dataset.virtual_sources())
        external = self.dataset.external or ()
        return len(external) > 1 or bool(external and odd)

    def _contiguous(self, draft: Draft) -> None:
        external = self.dataset.external
        if external:
            self._external(draft, external)
            return
        offset = self.dataset.id.get_offset()
        if offset is None:
            return
        stored = self.dataset.id.get_storage_size()
        if not stored:  # where the file begins with bytes of its users, HDF5 gives an offset all the same
            return
        if stored < self.nbytes:
            raise self.error(f"has {stored} bytes stored, expected {self.nbytes}")
        draft.rows = _one(offset, self.nbytes, self.home.file_id)

    def _external(self, draft: Draft, external: list[tuple[str, int, int]]) -> None:
        """Lay a dataset whose bytes stand in another file, beside this one or in the working directory."""
        if len(external) > 1:
            self._rescue(draft, f"lies in pieces in {len(external)} other files")
            return
        name, offset, _ = external[0]
        here = self.home.source.path is not None and os.path.exists(name)
        source, file_id = self.home.open_other(os.path.abspath(name) if here else name)
        if source.size < offset + self.nbytes:
            if self.home.source.path is None:
                raise self.error(ELSEWHERE)
            self._rescue(draft, f"has {self.nbytes} bytes from {offset} of {name!r}, which is shorter")
            return
        draft.rows = _one(offset, self.nbytes, file_id)

    def _chunked(self, draft: Draft) -> None:
        ids, offset, length, masks = chunk_index(self.dataset, draft.grid[: self.dataset.ndim])
        filters = filters_of(self.plist, self.dataset.dtype, tuple(self.dataset.chunks))
        spelled = len(ids) < self.nchunks and self._unseen(draft) is not None
        lenient = _lenient(filters, masks, spelled)
        filters = [f.lenient() if lenient >> k & 1 else f for k, f in enumerate(filters)]
        mask, odd = _usual(masks & ~np.uint32(lenient))
        if lenient:
            odd = self._ambiguous(filters, masks & np.uint32(lenient), length, odd)
        used = [f for k, f in enumerate(filters) if not mask >> k & 1]
        lacking = next((f for f in used if f.config is None), None)
        if lacking is not None:
            if len(ids):
                self._rescue(draft, lacking.reason)
            return
        draft.filters = [f.config for f in used if f.config is not None]
        draft.rows = Chunks.of(ids, offset, length, self.home.file_id)
        if odd is not None:
            self._recode(draft, np.flatnonzero(odd), masks, filters)
            draft.rows = draft.rows.without(np.append(odd, np.zeros(len(draft.rows.ids) - len(odd), bool)))

    def _ambiguous(
        self,
        filters: list[Filter],
        left_out: NDArray[np.uint32],
        length: NDArray[np.int64],
        odd: NDArray[np.bool_] | None,
    ) -> NDArray[np.bool_] | None:
        """Mark filtered chunks, too, that are as long as if a filter had been left out."""
        sums = 4 * sum(f.config is not None and f.config["id"] == "fletcher32" for f in filters)
        nbytes = math.prod(self.dataset.chunks) * self.dtype.itemsize
        found = (left_out == 0) & ((length == nbytes) | (length == nbytes + sums))
        if odd is not None:
            found |= odd
        return found if found.any() else None

    def _recode(
        self, draft: Draft, rows: NDArray[np.intp], masks: NDArray[np.uint32], filters: list[Filter]
    ) -> None:
        """Hold chunks that left out other filters than most do in the set, stored as the others are."""
        nbytes = len(rows) * math.prod(self.chunks) * self.dtype.itemsize
        most = self.settings.unsupported_inline_threshold
        if nbytes > most:
            names = ", ".join(f.name for f in filters)
            raise self.error(
                f"{len(rows)} of its chunks were stored without some of the filters ({names}) of the others, "
                f"{nbytes} bytes, more than unsupported_inline_threshold={most}"
            )
        blocks = {}
        for row in rows.tolist():
            chunk, offset, length = (
                int(c[row]) for c in (draft.rows.ids, draft.rows.offset, draft.rows.length)
            )
            used = [f.config for k, f in enumerate(filters) if not int(masks[row]) >> k & 1]
            if any(config is None or config["id"] == Hdf5Filter.codec_id for config in used):
                block = self._block(chunk, draft.grid)
            else:
                stored = self.home.source.read(offset, length)
                block = decode(stored, [config for config in used if config is not None])
            blocks[chunk] = draft.encode(block)
        draft.rows = draft.rows.adding(blocks)

    def _block(self, chunk: int, grid: tuple[int, ...]) -> NDArray[Any]:
        """Values of one chunk, filled up where the array ends."""
        at = np.unravel_index(chunk, grid)[: self.dataset.ndim]
        where = tuple(
            slice(int(i) * c, min((int(i) + 1) * c, s))
            for i, c, s in zip(at, self.chunks, self.shape, strict=False)
        )
        found = self._read(where)
        if found.shape == self.chunks:
            return found
        block = np.empty(self.chunks, found.dtype)
        block[...] = _EMPTY if found.dtype.kind == "O" else self.dataset.fillvalue
        block[tuple(slice(0, n) for n in found.shape)] = found
        return block

    def _read(self, where: tuple[slice, ...]) -> NDArray[Any]:
        found = self.dataset[where]
        if self.dataset.ndim:
            return np.asarray(found)
        one = np.empty((), self.dtype)  # an element without a fixed size may be an array itself
        one[()] = found
        return one

    def _rescue(self, draft: Draft, reason: str) -> None:
        """Hold the values of a small array in the set, since its bytes cannot be decoded where they lie."""
        nbytes = self.nbytes
        most = self.settings.unsupported_inline_threshold
        if nbytes > most:
            raise self.error(
                f"{reason}; its {nbytes} bytes are more than unsupported_inline_threshold={most}"
            )
        try:
            values = self._values()
        except OSError as err:
            raise self.error(f"{reason}, and HDF5 cannot read it here: {err}") from err
        draft.chunks, draft.filters = tuple(max(s, 1) for s in self.shape), []
        self.chunks = draft.chunks
        draft.rows = Chunks.bytes_of({0: values.tobytes()})

    def _values(self) -> NDArray[Any]:
        values = np.ascontiguousarray(self.dataset[()], dtype=self.dtype)
        if values.shape == self.shape:
            return values
        whole = np.empty(self.shape, self.dtype)  # a variable that ends before its dimension does
        whole[...] = self.dataset.fillvalue
        whole[tuple(slice(0, n) for n in values.shape)] = values
        return whole

    def _blank(self, draft: Draft) -> None:
        """Spell out chunks that were never written where the set would not give HDF5's fill value."""
        fill = self._unseen(draft)
        if fill is not None:
            absent, nbytes = self.nchunks - len(draft.rows.ids), math.prod(draft.chunks) * self.dtype.itemsize
            if absent > MOST_BLANKS or nbytes > LARGEST_BLANK:
                raise self.error(
                    f"has {absent} chunks of {nbytes} bytes that were never written, too many to hold"
                )
            block = encode(np.full(draft.chunks, fill), draft.filters)
            ids = absent_ids(draft.rows, self.nchunks)
            draft.rows = draft.rows.adding(dict.fromkeys(ids.tolist(), block))

    def _unseen(self, draft: Draft) -> NDArray[Any] | None:
        """What HDF5 gives for an element that was never written; None where the set gives it by itself."""
        import h5py

        fill = np.asarray(self.dataset.fillvalue)
        if self.plist.get_fill_time() == h5py.h5d.FILL_TIME_NEVER:
            fill = np.zeros((), self.dtype)  # HDF5 leaves the memory of a reader as it is
        fill = fill.astype(self.dtype)
        if draft.fill is not None:
            shown = _scalar_of(self.dataset, self.dtype).tobytes()
            return None if fill.tobytes() == shown else fill
        if self.dtype.names or self.dtype.kind in "mM":  # what readers give there is not zero
            return fill
        return fill if any(fill.tobytes()) else None

    # elements without a fixed size

    def _objects(self, dims: tuple[str, ...], attrs: dict[str, Any]) -> Draft:
        import h5py

        if self.nchunks > MOST_BLANKS or math.prod(self.shape) > MOST_OBJECTS:
            raise self.error(f"holds {math.prod(self.shape)} elements without a fixed size, too many to hold")
        if h5py.check_string_dtype(self.dtype) is not None:
            return self._texts(dims, attrs)
        base = h5py.check_vlen_dtype(self.dtype)
        if base is None or not isinstance(base, np.dtype) or base.kind not in "iuf":
            kind = (
                "references" if h5py.check_ref_dtype(self.dtype) else f"elements of type {base or self.dtype}"
            )
            raise self.error(f"holds {kind}, which no codec of Zarr has")
        codec = {"id": "vlen-array", "dtype": base.newbyteorder("<").str}
        draft = Draft(self.shape, self.chunks, self.dtype, dims, None, [codec], attrs)
        blocks = {}
        for chunk in range(self.nchunks if all(self.shape) else 0):
            block = self._block(chunk, draft.grid)
            flat = np.empty(block.size, object)
            flat[:] = [
                np.asarray(() if v is None or v is _EMPTY else v, base.newbyteorder("<"))
                for v in block.reshape(-1)
            ]
            blocks[chunk] = draft.encode(flat)
        draft.rows = Chunks.bytes_of(blocks)
        return draft

    def _texts(self, dims: tuple[str, ...], attrs: dict[str, Any]) -> Draft:
        fill = self.dataset.attrs.get("_FillValue")
        value = None if fill is None else fill_json(np.asarray(fill).reshape(-1)[0], self.dtype)
        draft = Draft(self.shape, self.chunks, self.dtype, dims, value, [{"id": "vlen-utf8"}], attrs)
        blocks = {}
        for chunk in range(self.nchunks if all(self.shape) else 0):
            block = self._block(chunk, draft.grid)
            flat = np.array([_text(v) for v in block.reshape(-1)], object).reshape(block.shape)
            blocks[chunk] = draft.encode(flat)
        draft.rows = Chunks.bytes_of(blocks)
        return draft


_EMPTY = b""


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


def _scalar_of(dataset: Any, dtype: DType) -> NDArray[Any]:
    return np.asarray(dataset.attrs["_FillValue"]).reshape(-1)[0].astype(dtype)  # type: ignore[no-any-return]


def _lenient(filters: list[Filter], masks: NDArray[np.uint32], spelled: bool) -> int:
    """Bits of the filters that some chunks lack, and whose codec sees by itself which.

    `spelled`: chunks will be added, which such a filter may leave as they are.
    """
    bits = sum(1 << k for k, f in enumerate(filters) if f.config and f.config["id"] == Hdf5Filter.codec_id)
    if not len(masks):
        return bits if spelled else 0
    some = bits if spelled else int(np.bitwise_or.reduce(masks))
    return bits & some & ~int(np.bitwise_and.reduce(masks))


def _usual(masks: NDArray[np.uint32]) -> tuple[int, NDArray[np.bool_] | None]:
    """The filter mask of most chunks, and which chunks have another (None if none has)."""
    if not len(masks):
        return 0, None
    first = int(masks[0])
    if (masks == first).all():
        return first, None
    values, counts = np.unique(masks, return_counts=True)
    usual = int(values[counts.argmax()])
    return usual, masks != usual


def _stored_type(dtype: DType, dataset: _Dataset) -> DType:
    """The type as Zarr can spell it, without h5py's notes on it."""
    if dtype.names is not None:
        assert dtype.fields is not None
        fields = [dtype.fields[name] for name in dtype.names]
        kinds = [_stored_type(field[0].base, dataset) for field in fields]
        parts = [(k, f[0].shape) if f[0].shape else k for k, f in zip(kinds, fields, strict=True)]
        return np.dtype(
            {
                "names": list(dtype.names),
                "formats": parts,
                "offsets": [field[1] for field in fields],
                "itemsize": dtype.itemsize,
            }
        )
    if dtype.kind == "O" or dtype.hasobject:
        raise dataset.error("is a compound with members of no fixed size, which Zarr has not")
    if dtype.kind == "f" and dtype.itemsize not in (2, 4, 8):
        raise dataset.error(f"has floats of {8 * dtype.itemsize} bits, which Zarr has not")
    if dtype.kind not in "biufcSVMm" or (dtype.kind == "c" and dtype.itemsize not in (8, 16)):
        raise dataset.error(f"has elements of type {dtype}, which Zarr has not")
    return np.dtype(dtype.str)


def _one(offset: int, nbytes: int, file_id: int) -> Chunks:
    """The only chunk of an array."""
    return Chunks.of(
        np.zeros(1, np.int64), np.array([offset], np.int64), np.array([nbytes], np.int64), file_id
    )
