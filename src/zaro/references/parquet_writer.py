"""Writing a reference set as Parquet: one partition in memory at a time, and the folder replaced at once.

fsspec's LazyReferenceMapper reads the result: same columns, full partitions, none that are all null.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro.ending import LastingPool
from zaro.errors import ReferenceSetError, StoreError, ZaroError
from zaro.references.aside import aside_of, hold, sweep
from zaro.references.columns import blocks, contents_of, name_of, target_folder, used_files
from zaro.references.contents import Contents
from zaro.references.files import is_local, local_path
from zaro.references.parquet import EXTRA, HEADER
from zaro.references.parquet_set import partition_key
from zaro.references.partition import BASE64, need_pyarrow
from zaro.references.table import INLINE, WHOLE, Located
from zaro.references.writing import Progress, atomic

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

    from zaro.references.set import References

__all__ = ["RECORD_SIZE", "encode_partition", "extend", "write"]

RECORD_SIZE = 100_000
ENCODERS = 2  # partitions that are encoded at a time

Put = Callable[[str, "bytes | memoryview"], None]


def write(
    refs: Contents | References,
    target: str | os.PathLike[str],
    *,
    record_size: int = RECORD_SIZE,
    compression: str = "zstd",
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a set to a folder of partitions, which replaces what is there once it is complete.

    Parameters
    ----------
    refs
        The set.
    target
        Path of the folder, or URL. A folder that is there must be a Parquet reference set.
    record_size : int
        Rows of a partition.
    compression
        Of the columns, as pyarrow names it.
    storage_options
        fsspec's options for a URL.
    progress
        Called with the chunks done and all chunks, now and then.

    Raises
    ------
    ReferenceSetError
        The set holds what Parquet cannot: a span of no bytes at byte 0 would read as the whole file.
    StoreError
        The folder cannot be written, or holds something else.
    """
    if not isinstance(record_size, int) or record_size < 1:
        raise ValueError(f"record_size is {record_size!r}, expected a number of rows")
    contents, address = contents_of(refs), os.fspath(target)
    folder = target_folder(address.rstrip("/"))

    def all_into(put: Put) -> None:
        _write_partitions(contents, put, record_size, compression, folder, address, progress)
        put(HEADER, _header(contents, record_size, folder))

    if is_local(address):
        _replace_folder(local_path(address).rstrip("/"), all_into)
    else:
        _write_remote(address, storage_options or {}, all_into)


def extend(
    refs: Contents | References,
    target: str | os.PathLike[str],
    partitions: Mapping[str, Iterable[int]],
    *,
    record_size: int,
    compression: str = "zstd",
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Write some partitions of a set anew, then its header: each at once, in this order.

    Parameters
    ----------
    refs
        The set as it shall be. Wherever a chunk of the set that is there has another place in this one, its
        values must be the same.
    partitions
        Numbers of the partitions to write, by path of the array.
    record_size : int
        As the set that is there has it.

    Notes
    -----
    A reader sees the old set or the new one, never a mixture. The header alone says how many chunks there
    are: who read the old one looks at rows that mean the same in partitions of either age, and who reads the
    new one finds all its partitions written. An interruption before the header leaves the old set as it was.
    """
    contents, address = contents_of(refs), os.fspath(target).rstrip("/")
    folder = target_folder(address)
    for path, numbers in partitions.items():
        table = contents.tables[path]
        for block in numbers:
            ids = np.arange(
                block * record_size, min((block + 1) * record_size, table.nchunks), dtype=np.int64
            )
            key = partition_key(path, block)
            data = _encode(table.locate(ids), record_size, compression, folder, address, key)
            _put_one(address, key, data, storage_options)
    _put_one(address, HEADER, _header(contents, record_size, folder), storage_options)


def _put_one(
    address: str, key: str, data: bytes | memoryview, storage_options: Mapping[str, Any] | None
) -> None:
    where = f"{address}/{key}"
    try:
        if is_local(address):
            os.makedirs(os.path.dirname(local_path(where)), exist_ok=True)
        with atomic(where, storage_options) as file:
            file.write(data)
    except OSError as err:
        raise StoreError(where, f"cannot be written: {err.strerror or err}") from err


def _write_partitions(
    contents: Contents,
    put: Put,
    record_size: int,
    compression: str,
    folder: str,
    document: str,
    progress: Progress | None,
) -> None:
    total = sum(table.nchunks for table in contents.tables.values())
    done = 0
    with LastingPool(ENCODERS) as pool:
        waiting: list[tuple[str, int, Future[memoryview]]] = []

        def finish(most: int) -> None:
            nonlocal done
            while len(waiting) > most:
                key, rows, encoded = waiting.pop(0)
                put(key, encoded.result())
                done += rows
                if progress is not None:
                    progress(done, total)

        for path, table in contents.tables.items():
            for block, at in blocks(table, record_size):
                key = partition_key(path, block)
                task = pool.submit(_encode, at, record_size, compression, folder, document, key)
                waiting.append((key, len(at.file_id), task))
                finish(ENCODERS)
        finish(0)
    if progress is not None:
        progress(total, total)


def encode_partition(
    at: Located, rows: int, *, compression: str = "zstd", folder: str | None = None
) -> memoryview:
    """Encode the chunks of one partition, padded to `rows` rows.

    A partition can so be written anew by itself: `ParquetSet.forget` makes an open set read it again.

    Parameters
    ----------
    at : Located
        Its chunks, at most `rows`.
    rows : int
        The `record_size` of the set.
    folder
        Folder of the set: files that lie relative to it are named so.
    """
    return _encode(at, rows, compression, folder, "", "")


def _encode(
    at: Located, rows: int, compression: str, folder: str | None, document: str, key: str
) -> memoryview:
    need_pyarrow(document)
    import pyarrow as pa
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    named = at.file_id >= 0
    whole = named & (at.length == WHOLE)
    lost = named & (at.offset == 0) & (at.length == 0)
    if lost.any():
        reason = "a span of no bytes at byte 0 cannot be told from a whole file"
        raise ReferenceSetError(document, f"{key}, row {int(np.flatnonzero(lost)[0])}", reason)
    table = pa.table(
        {
            "path": _paths(at, named, rows, folder),
            "offset": _integers(np.where(named & ~whole, at.offset, 0), rows),
            "size": _integers(np.where(named & ~whole, at.length, 0), rows),
            "raw": _raw(at, rows),
        }
    )
    out = pa.BufferOutputStream()
    # without statistics fastparquet, fsspec's engine, takes integers for floats
    pq.write_table(
        table, out, compression=compression, use_dictionary=["path", "size"],
        write_statistics=["offset", "size"], store_schema=False, row_group_size=rows,
    )  # fmt: skip
    return memoryview(out.getvalue())


# Arrow's arrays are made from buffers: `pyarrow.array` would import pandas, and that takes 40 MB.


def _integers(values: NDArray[np.int64], rows: int) -> pa.Array:
    import pyarrow as pa

    padded = np.zeros(rows, np.int64)
    padded[: len(values)] = values
    return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(padded)])


def _texts(
    kind: pa.DataType, pieces: Sequence[bytes | memoryview], held: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Array of bytes or text; with `held`, one with nulls in between."""
    import pyarrow as pa

    n = len(pieces) if held is None else len(held)
    sizes = np.zeros(n, np.int64)
    sizes[slice(None) if held is None else held] = [len(piece) for piece in pieces]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    if ends[-1] >= 2**31:
        raise ReferenceSetError(
            "", "", f"{ends[-1]} inline bytes in one partition, which holds 2 GiB at most"
        )
    valid = None if held is None else pa.py_buffer(np.packbits(held, bitorder="little"))
    data = pa.py_buffer(b"".join(pieces))
    return pa.Array.from_buffers(kind, n, [valid, pa.py_buffer(ends.astype(np.int32)), data])


def _paths(at: Located, named: NDArray[np.bool_], rows: int, folder: str | None) -> pa.Array:
    import pyarrow as pa

    used, local = used_files(at.file_id)
    names = [name_of(at.files, file_id, folder).encode() for file_id in used.tolist()]
    place, held = np.zeros(rows, np.int32), np.zeros(rows, bool)
    place[: len(local)] = np.maximum(local, 0)
    held[: len(named)] = named
    valid = pa.py_buffer(np.packbits(held, bitorder="little"))
    indices = pa.Array.from_buffers(pa.int32(), rows, [valid, pa.py_buffer(place)])
    return pa.DictionaryArray.from_arrays(indices, _texts(pa.string(), names), safe=False)


def _raw(at: Located, rows: int) -> pa.Array:
    import pyarrow as pa

    inline = np.flatnonzero(at.file_id == INLINE)
    if not len(inline):
        return pa.nulls(rows, pa.binary())
    data = memoryview(at.inline).cast("B")
    pieces: list[bytes | memoryview] = []
    for offset, length in zip(at.offset[inline].tolist(), at.length[inline].tolist(), strict=True):
        piece = data[offset : offset + length]
        plain = piece[: len(BASE64)] != BASE64  # bytes that begin so would be decoded by who reads them
        pieces.append(piece if plain else BASE64 + base64.b64encode(piece))
    held = np.zeros(rows, bool)
    held[inline] = True
    return _texts(pa.binary(), pieces, held)


# ---- the header --------------------------------------------------------------------------------


def _header(contents: Contents, record_size: int, folder: str | None) -> bytes:
    """Spell `.zmetadata`: documents as objects, as fsspec wants them, and beside them what that loses."""
    metadata: dict[str, Any] = {}
    texts: dict[str, str] = {}
    other = {key: _as_json(value) for key, value in contents.other.items()}
    for key, raw in contents.metadata.items():
        document = _parsed(raw)
        if document is None:
            other[key] = _as_json(raw)
            continue
        metadata[key] = document
        if json.dumps(document).encode() != raw:
            texts[key] = raw.decode()
    header = {"metadata": metadata, "record_size": record_size}
    extra: dict[str, Any] = {name: value for name, value in (("texts", texts), ("other", other)) if value}
    if contents.fingerprints is not None:
        extra |= contents.fingerprints.spelled(folder)
    return json.dumps({**header, EXTRA: extra} if extra else header).encode()


def _parsed(raw: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _as_json(value: Any) -> Any:
    return BASE64.decode() + base64.b64encode(value).decode() if isinstance(value, bytes) else value


# ---- the folder --------------------------------------------------------------------------------


def _replace_folder(target: str, all_into: Callable[[Put], None]) -> None:
    """Write beside the target, then rename: whoever looks sees the old set or the new one."""
    target = os.path.abspath(target)
    _check_replaceable(target)
    sweep(target, "new")
    aside = aside_of(target, "new")
    try:
        os.makedirs(aside)
        handle = os.open(aside, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as err:
        raise StoreError(target, f"cannot be written: {err.strerror or err}") from err
    try:
        hold(handle)
        all_into(_file_putter(aside))
        _swap(aside, target)
    except ZaroError:  # of the set that is read meanwhile
        raise
    except OSError as err:
        raise StoreError(target, f"cannot be written: {err.strerror or err}") from err
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        os.close(handle)


def _check_replaceable(target: str) -> None:
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise StoreError(target, "is a file; a Parquet set is a folder")
    if os.listdir(target) and not os.path.isfile(os.path.join(target, HEADER)):
        raise StoreError(target, "is a folder of something else than references, and is left alone")


def _swap(aside: str, target: str) -> None:
    old = aside
    if not os.path.isdir(target):
        os.rename(aside, target)
        return
    if not _exchange(aside, target):  # without that call there is a moment without any set
        old = f"{aside}.old"
        os.rename(target, old)
        try:
            os.rename(aside, target)
        except OSError:
            os.rename(old, target)
            raise
    # first what says that this is a set: who still reads it must not take a missing partition for no chunks
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(old, HEADER))
    shutil.rmtree(old, ignore_errors=True)


def _exchange(first: str, second: str) -> bool:
    """Let two folders change their names at once, where the system knows how."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE of Linux
    return bool(call(here, os.fsencode(first), here, os.fsencode(second), exchange) == 0)


def _file_putter(root: str) -> Put:
    made: set[str] = set()

    def put(key: str, data: bytes | memoryview) -> None:
        path = os.path.join(root, key)
        folder = os.path.dirname(path)
        if folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(path, "wb", buffering=0) as file:
            rest = memoryview(data).cast("B")
            while len(rest):  # a disk that fills up takes a part first
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())

    return put


def _write_remote(address: str, options: Mapping[str, Any], all_into: Callable[[Put], None]) -> None:
    """Put the partitions, then the header: a set without one is no set."""
    import fsspec  # type: ignore[import-untyped]

    try:
        fs, root = fsspec.core.url_to_fs(address, **options)
        root = root.rstrip("/")
        if fs.exists(root):
            if not fs.exists(f"{root}/{HEADER}"):
                raise StoreError(address, "holds something else than references, and is left alone")
            fs.rm(root, recursive=True)
        all_into(lambda key, data: fs.pipe_file(f"{root}/{key}", bytes(data)))
    except StoreError:
        raise
    except (OSError, ValueError, ImportError) as err:
        if isinstance(err, ReferenceSetError):
            raise
        raise StoreError(address, f"cannot be written: {err}") from err
