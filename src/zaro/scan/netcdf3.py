"""NetCDF classic files: CDF-1, CDF-2 (64-bit offsets) and CDF-5 (64-bit data).

Source: Unidata, "NetCDF Classic Format Specification"; PnetCDF, "CDF-5 file format specification".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ScanError
from zaro.scan.draft import Chunks, Draft, SetBuilder, fill_json
from zaro.scan.source import Source

__all__ = ["scan_netcdf3"]

T = TypeVar("T")

_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_TYPES = {
    code: np.dtype(name)
    for code, name in enumerate(("i1", "S1", ">i2", ">i4", ">f4", ">f8", "u1", ">u2", ">u4", ">i8", ">u8"), 1)
}
_FIRST = 1 << 16  # bytes of the header that are read at first
_STREAMING = {4: 2**32 - 1, 8: 2**64 - 1}


@dataclass(frozen=True, slots=True)
class _Variable:
    name: str
    dims: tuple[int, ...]
    attrs: dict[str, NDArray[Any]]
    dtype: np.dtype[Any]
    begin: int


@dataclass(slots=True)
class _Header:
    """What stands before the data. `dims` are names and lengths, 0 for the record dimension."""

    records: int | None
    dims: list[tuple[str, int]]
    attrs: dict[str, NDArray[Any]]
    variables: list[_Variable]

    def is_record(self, variable: _Variable) -> bool:
        return bool(variable.dims) and self.dims[variable.dims[0]][1] == 0

    def record_nbytes(self, variable: _Variable) -> int:
        """Bytes of one record of a record variable, or of all of another."""
        dims = variable.dims[1:] if self.is_record(variable) else variable.dims
        return math.prod(self.dims[d][1] for d in dims) * variable.dtype.itemsize

    def stride(self) -> int:
        """Bytes from one record to the next; padded unless there is only one record variable."""
        sizes = [self.record_nbytes(v) for v in self.variables if self.is_record(v)]
        return sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)


class _Short(Exception):
    """The header goes on past the bytes that are at hand."""


class _Reader:
    """Numbers and names, one after another."""

    def __init__(self, source: Source, data: bytes) -> None:
        self.source, self.data, self.at = source, data, 4
        version = data[3]
        self.count_nbytes = 8 if version == 5 else 4
        self.offset_nbytes = 4 if version == 1 else 8

    def error(self, reason: str) -> ScanError:
        return ScanError(self.source.url, "", f"NetCDF header, byte {self.at}: {reason}")

    def take(self, nbytes: int) -> bytes:
        if nbytes > len(self.data) - self.at:
            raise _Short(nbytes)
        found = self.data[self.at : self.at + nbytes]
        self.at += nbytes
        return found

    def integer(self, nbytes: int) -> int:
        return int.from_bytes(self.take(nbytes), "big")

    def count(self) -> int:
        return self.integer(self.count_nbytes)

    def padded(self, nbytes: int) -> bytes:
        return self.take(-(-nbytes // 4) * 4)[:nbytes]

    def name(self) -> str:
        try:
            return self.padded(self.count()).decode()
        except UnicodeDecodeError as err:
            raise self.error(f"a name is no text: {err}") from err

    def listed(self, tag: int, one: Callable[[], T]) -> list[T]:
        found, n = self.integer(4), self.count()
        if found not in (tag, 0) or (found == 0 and n):
            raise self.error(f"a list has the tag {found}, expected {tag} or nothing")
        return [one() for _ in range(n)]  # each takes bytes, so a count that lies ends with the header

    def dtype(self) -> np.dtype[Any]:
        code = self.integer(4)
        if code not in _TYPES:
            raise self.error(f"type {code} is unknown")
        return _TYPES[code]

    def attribute(self) -> tuple[str, NDArray[Any]]:
        name, dtype, n = self.name(), self.dtype(), self.count()
        return name, np.frombuffer(self.padded(n * dtype.itemsize), dtype)

    def dimension(self) -> tuple[str, int]:
        return self.name(), self.count()

    def variable(self) -> _Variable:
        name = self.name()
        dims = tuple(self.count() for _ in range(self.count()))
        attrs = dict(self.listed(_ATTRIBUTE, self.attribute))
        dtype, _ = self.dtype(), self.count()  # a size that is capped for large variables
        return _Variable(name, dims, attrs, dtype, self.integer(self.offset_nbytes))

    def header(self) -> _Header:
        records = self.count()
        dims = self.listed(_DIMENSION, self.dimension)
        attrs = dict(self.listed(_ATTRIBUTE, self.attribute))
        variables = self.listed(_VARIABLE, self.variable)
        for variable in variables:
            if any(d >= len(dims) for d in variable.dims) or any(dims[d][1] == 0 for d in variable.dims[1:]):
                raise self.error(f"variable {variable.name!r} has dimensions {variable.dims} of {len(dims)}")
        return _Header(None if records == _STREAMING[self.count_nbytes] else records, dims, attrs, variables)


def scan_netcdf3(source: Source, builder: SetBuilder) -> None:
    """Add everything in a NetCDF classic file.

    Raises
    ------
    ScanError
        The header is broken, or the file ends before its variables do.
    """
    header = _read_header(source)
    size, stride = source.size, header.stride()
    if header.records is None:  # written as a stream: as many as there are
        starts = [v.begin for v in header.variables if header.is_record(v)]
        header.records = (size - min(starts)) // stride if starts and stride else 0
    builder.add_group("", {name: _plain(value) for name, value in header.attrs.items()})
    file_id = builder.add_file(source.url, source.read)
    for variable in header.variables:
        if not builder.settings.skips(variable.name):
            _check(source, header, variable, stride, size)
            builder.add_array(variable.name, _draft(header, variable, stride, file_id))


def _read_header(source: Source) -> _Header:
    nbytes = min(_FIRST, source.size)
    while True:
        reader = _Reader(source, source.head(nbytes))
        try:
            return reader.header()
        except _Short:
            if nbytes == source.size:
                raise reader.error("the file ends within its header") from None
            nbytes = min(8 * nbytes, source.size)


def _draft(header: _Header, variable: _Variable, stride: int, file_id: int) -> Draft:
    names = tuple(header.dims[d][0] for d in variable.dims)
    shape = tuple(header.dims[d][1] for d in variable.dims)
    each = header.record_nbytes(variable)
    n, chunks = 1, shape
    if header.is_record(variable):
        assert header.records is not None
        n = header.records
        shape, chunks = (n, *shape[1:]), (1, *shape[1:])
    attrs = {name: _plain(value) for name, value in variable.attrs.items()}
    fill = variable.attrs.get("_FillValue")
    draft = Draft(shape, tuple(max(c, 1) for c in chunks), variable.dtype, names, attrs=attrs)
    if fill is not None and fill.dtype == variable.dtype and len(fill) == 1:
        draft.fill = fill_json(fill[0], variable.dtype)
        del attrs["_FillValue"]
    ids = np.arange(n if all(shape) else 0, dtype=np.int64)
    draft.rows = Chunks.of(ids, variable.begin + ids * stride, np.full(len(ids), each, np.int64), file_id)
    return draft


def _check(source: Source, header: _Header, variable: _Variable, stride: int, size: int) -> None:
    """Refuse a variable that ends behind the file, before anything is made of its size."""
    n = (header.records or 0) if header.is_record(variable) else 1
    end = variable.begin + max(n - 1, 0) * stride + header.record_nbytes(variable)
    if n and end > size:
        raise ScanError(source.url, variable.name, f"its values end at byte {end}, the file at {size}")


def _plain(value: NDArray[Any]) -> Any:
    """An attribute as JSON holds it; a text without its NULs, as netCDF4-python gives it."""
    if value.dtype.kind == "S":
        raw = value.tobytes().replace(b"\0", b"")
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("latin-1")
    return value.tolist() if len(value) != 1 else value[0].item()
