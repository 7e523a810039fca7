"""One Parquet partition of a reference set: its columns, whoever wrote them.

Writers differ: paths are text or categories; what is not there is null, NaN or ""; numbers are integers of
any width or floats; `raw` has any type, or is not there at all.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro.errors import ReferenceSetError, UnsupportedError
from zaro.references.pages import sizes_of_group
from zaro.references.table import ABSENT, INLINE, WHOLE, Ids

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

__all__ = ["BASE64", "OpenPartition", "Partition", "need_pyarrow", "open_partition", "read_rows"]

_ROWS_AT_LEAST = 1 << 18  # so many are read in one go, needed or not
COLUMNS = ("path", "offset", "size", "raw")
BASE64 = b"base64:"


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Some rows of a partition, each a chunk.

    Attributes
    ----------
    file_id : (n,) int32
        In the file table of the set; ABSENT or INLINE.
    offset, length : (n,) int64
        Span in the file, or in `inline`; length WHOLE for a whole file.
    inline : (m,) uint8
    """

    file_id: NDArray[np.int32]
    offset: Ids
    length: Ids
    inline: NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return self.file_id.nbytes + self.offset.nbytes + self.length.nbytes + self.inline.nbytes


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a partition lies, for messages."""

    document: str
    key: str

    def error(self, reason: str, row: int | None = None) -> ReferenceSetError:
        return ReferenceSetError(self.document, self.key if row is None else f"{self.key}, row {row}", reason)


@dataclass(frozen=True, slots=True, eq=False)
class OpenPartition:
    """A partition as pyarrow reads it, and its bytes."""

    file: pq.ParquetFile
    data: memoryview

    @property
    def metadata(self) -> pq.FileMetaData:
        """Its footer."""
        return self.file.metadata


def need_pyarrow(document: str) -> None:
    """Say what to install where pyarrow is missing.

    Raises
    ------
    UnsupportedError
        It cannot be imported.
    """
    try:
        import pyarrow.parquet  # noqa: F401 - only whether it is there
    except ImportError as err:
        raise UnsupportedError(document, "", f"needs pyarrow: pip install 'zaro[parquet]' ({err})") from err


def open_partition(data: Any, document: str, key: str, need: int, most: int) -> OpenPartition:
    """Open the bytes of a partition, and check that it is one.

    Parameters
    ----------
    data : bytes-like
    document, key
        For messages: the set, and the partition in it.
    need, most : int
        Fewest and most rows that it may have.

    Raises
    ------
    ReferenceSetError
        It is no Parquet file, has none of the columns, or another number of rows.
    UnsupportedError
        There is no pyarrow to read it with.
    """
    need_pyarrow(document)
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = _Place(document, key)
    try:
        buffer = pa.py_buffer(data)
        metadata = pq.read_metadata(pa.BufferReader(buffer))
        leaves = {metadata.schema.column(k).path for k in range(metadata.num_columns)}
        coded = ["path"] if "path" in leaves else []
        file = pq.ParquetFile(pa.BufferReader(buffer), metadata=metadata, read_dictionary=coded)
        names = set(file.schema_arrow.names)
    except (pa.ArrowException, OSError, ValueError, LookupError) as err:
        raise place.error(f"is no readable Parquet file: {err}") from err
    if not names & {"path", "raw"}:
        raise place.error(f"has columns {sorted(names)[:8]}, expected some of {', '.join(COLUMNS)}")
    rows = file.metadata.num_rows
    if not need <= rows <= most:
        expected = f"{need}" if need == most else f"{need} to {most}"
        raise place.error(f"has {rows} rows, expected {expected}")
    groups = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    if sum(groups) != rows or min(groups, default=0) < 0:
        raise place.error(f"has {rows} rows, but its row groups {groups[:8]}")
    return OpenPartition(file, memoryview(data).cast("B"))


def read_rows(
    opened: OpenPartition,
    group: int,
    rows: int,
    document: str,
    key: str,
    file_ids: Callable[[list[str]], Ids],
) -> Partition:
    """Read one row group, or the first rows of it.

    Parameters
    ----------
    opened
        As `open_partition` gave it.
    group : int
        Number of the row group.
    rows : int
        Rows that are needed; where that are few, the others are not read.
    file_ids
        Gives the ids of files by name.

    Raises
    ------
    ReferenceSetError
        A row contradicts itself; names it.
    """
    import pyarrow as pa

    place = _Place(document, key)
    file = opened.file
    wanted = [name for name in file.schema_arrow.names if name in COLUMNS]
    try:
        _refuse_bombs(opened.data, group, rows, place)
        table = _first_rows(file, group, rows, wanted)
        columns = {name: _one_array(table.column(name)) for name in wanted}
        file_id, unnamed = _file_ids(columns.get("path"), table.num_rows, place, file_ids)
        held = _raw(columns.get("raw"), unnamed, place)
        file_id[held.rows] = INLINE
        offset, length = _spans(columns, file_id, place)
        offset[held.rows], length[held.rows] = held.offset, held.length
    except ReferenceSetError:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError) as err:
        raise place.error(f"cannot be read: {err}") from err
    for array in (file_id, offset, length):
        array.flags.writeable = False
    return Partition(file_id, offset, length, held.inline)


def _refuse_bombs(data: memoryview, group: int, rows: int, place: _Place) -> None:
    """Refuse columns that unpack to far more than is stored of them."""
    packed, unpacked = sizes_of_group(data, group)
    if unpacked > config.PARTITION_PAGES + config.PARTITION_RATIO * packed + 64 * rows:
        reason = f"{packed} bytes promise {unpacked}, for {rows} rows; see zaro.config.PARTITION_RATIO"
        raise place.error(f"unpacks to far more than is stored: {reason}")


def _first_rows(file: pq.ParquetFile, group: int, rows: int, wanted: list[str]) -> pa.Table:
    """A row group; its first rows where it has many more."""
    import pyarrow as pa

    if file.metadata.row_group(group).num_rows <= max(2 * rows, _ROWS_AT_LEAST):
        return file.read_row_group(group, columns=wanted, use_threads=False)
    found, have = [], 0
    for batch in file.iter_batches(max(rows, 1), row_groups=[group], columns=wanted, use_threads=False):
        found.append(batch.slice(0, rows - have))
        have += len(found[-1])
        if have >= rows:
            break
    return pa.Table.from_batches(found)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


_NUMPY = {"halffloat": "f2", "float": "f4", "double": "f8"}
"""Names of types that NumPy spells in another way."""


def _values(column: pa.Array) -> NDArray[Any]:
    """Numbers or truth values of a column, anything under its nulls.

    Arrow's own `to_numpy` and `fill_null` import pandas: a third of a second and 60 MB, once.
    """
    import pyarrow as pa

    begin, n, data = column.offset, len(column), column.buffers()[1]
    if data is None:
        data = bytes(8 * (begin + n))
    if pa.types.is_boolean(column.type):
        bits = np.unpackbits(np.frombuffer(data, np.uint8), count=begin + n, bitorder="little")
        return bits[begin:].view(np.bool_)
    dtype = np.dtype(_NUMPY.get(str(column.type), str(column.type)))
    return np.frombuffer(data, dtype, n, begin * dtype.itemsize)


def _is_empty(column: pa.Array | None, place: _Place, name: str) -> bool:
    """Whether a column of text holds none at all; a column of nothing is often written as one of numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if column is None or column.null_count == len(column) or pa.types.is_null(column.type):
        return True
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_floating(kind) and pc.all(pc.is_null(column, nan_is_null=True)).as_py():
        return True
    if pa.types.is_primitive(kind) or pa.types.is_nested(kind):
        raise place.error(f"{name} is {column.type}, expected text")
    return False


def _file_ids(
    column: pa.Array | None, rows: int, place: _Place, file_ids: Callable[[list[str]], Ids]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Ids of the files, and which rows name none at all, not even ""."""
    import pyarrow as pa

    if column is None or _is_empty(column, place, "path"):
        return np.full(rows, ABSENT, np.int32), np.ones(rows, bool)
    if not pa.types.is_dictionary(column.type):
        column = _binary(column).dictionary_encode()
    values = column.dictionary.to_pylist()
    names = [_name(value, place) for value in values]
    ids = np.full(len(names) + 1, ABSENT, np.int32)  # the last is for null, which is row -1 below
    real = [k for k, name in enumerate(names) if name]
    ids[real] = file_ids([names[k] for k in real])
    unnamed = np.array([value is None for value in [*values, None]])
    rows_of = column.indices.cast(pa.int64())
    local = _values(rows_of)
    if rows_of.null_count:
        local = np.where(_values(rows_of.is_valid()), local, -1)
    if len(local) and not -1 <= local.min() <= local.max() < len(names):
        raise place.error("a path lies outside its dictionary")
    return ids[local], unnamed[local]


def _name(value: Any, place: _Place) -> str:
    try:
        return value.decode() if isinstance(value, bytes) else value or ""
    except UnicodeDecodeError as err:
        raise place.error(f"a path is no text: {err}") from err


def _spans(columns: dict[str, pa.Array], file_id: NDArray[np.int32], place: _Place) -> tuple[Ids, Ids]:
    """Offset and length of the rows that name a file; neither is as good as 0 and 0, the whole file."""
    named = file_id >= 0
    offset, length = (_numbers(columns.get(name), len(file_id), place, name) for name in ("offset", "size"))
    neither = offset.null & length.null
    for name, numbers in (("offset", offset), ("size", length)):
        column = columns.get(name)
        wrong = named & ~(numbers.good & (numbers.values >= 0) | neither & (column is not None))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            found = "missing" if column is None else column[row].as_py()
            raise place.error(f"{name} is {found}, expected a number of bytes", row)
    wrong = named & (length.values > np.iinfo(np.int64).max - offset.values)
    if wrong.any():
        raise place.error("offset + size leave the range of 64 bits", int(np.flatnonzero(wrong)[0]))
    length.values[named & (offset.values == 0) & (length.values == 0)] = WHOLE
    offset.values[~named] = length.values[~named] = 0
    return offset.values, length.values


@dataclass(frozen=True, slots=True, eq=False)
class _Numbers:
    """A column of numbers: which are whole and fit 63 bits, and which are not there (null or NaN)."""

    values: Ids
    good: NDArray[np.bool_]
    null: NDArray[np.bool_]


def _numbers(column: pa.Array | None, rows: int, place: _Place, name: str) -> _Numbers:
    import pyarrow as pa

    if column is None or pa.types.is_null(column.type):
        return _Numbers(np.zeros(rows, np.int64), np.zeros(rows, bool), np.ones(rows, bool))
    valid = _values(column.is_valid())
    if pa.types.is_integer(column.type):
        whole = np.where(valid, _values(column), 0)
        good = valid & (whole <= np.iinfo(np.int64).max) if whole.dtype == np.uint64 else valid
        return _Numbers(np.array(whole, np.int64), good, ~valid)
    if pa.types.is_floating(column.type):
        floats = np.where(valid, _values(column), 0).astype(np.float64)
        good = valid & (np.floor(floats) == floats) & (np.abs(floats) < 2.0**63)  # NaN equals nothing
        return _Numbers(np.where(good, floats, 0).astype(np.int64), good, ~valid | np.isnan(floats))
    raise place.error(f"{name} is {column.type}, expected integers")


def _binary(column: pa.Array) -> pa.Array:
    """The values of a column of text or bytes of any kind, as bytes."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_large_binary(column.type):
        return column
    return column.cast(pa.large_string() if pa.types.is_string_view(column.type) else pa.large_binary()).cast(
        pa.large_binary()
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """The rows that hold their own bytes, and where these lie in `inline`."""

    rows: NDArray[np.intp]
    offset: Ids
    length: Ids
    inline: NDArray[np.uint8]


_NONE = _Held(np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))


def _raw(column: pa.Array | None, unnamed: NDArray[np.bool_], place: _Place) -> _Held:
    """Find the rows that hold their own bytes. Beside a path, even "", no bytes are nothing."""
    import pyarrow.compute as pc

    if column is None or _is_empty(column, place, "raw"):
        return _NONE
    values = _binary(column)
    begins, inline = _buffers(values)
    is_held = _values(values.is_valid()) & ((np.diff(begins) > 0) | unnamed)
    rows = np.flatnonzero(is_held)
    held = _Held(rows, begins[rows], begins[rows + 1] - begins[rows], inline)
    marked = is_held & _values(pc.starts_with(values, BASE64))
    return _decoded(held, marked[rows], place) if marked.any() else held


def _buffers(values: pa.Array) -> tuple[Ids, NDArray[np.uint8]]:
    """Where each value begins, and all bytes, without a copy."""
    _, begins, data = values.buffers()
    where = np.frombuffer(begins, np.int64)[values.offset : values.offset + len(values) + 1]
    return where, np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)


def _decoded(held: _Held, marked: NDArray[np.bool_], place: _Place) -> _Held:
    """Decode the rows that hold base64 text; their bytes go to the end."""
    pieces, end = [held.inline], len(held.inline)
    for k in np.flatnonzero(marked).tolist():
        begin, length = int(held.offset[k]), int(held.length[k])
        text = held.inline[begin + len(BASE64) : begin + length].tobytes()
        try:
            piece = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
        except binascii.Error as err:
            raise place.error(f"raw cannot be decoded: {err}", int(held.rows[k])) from err
        held.offset[k], held.length[k] = end, len(piece)
        pieces.append(piece)
        end += len(piece)
    return _Held(held.rows, held.offset, held.length, np.concatenate(pieces))
