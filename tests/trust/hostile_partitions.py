"""Reference sets in Parquet that a stranger wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import ARRAY, GOOD, VALUES, Case, Make, Promise, Read, error, reads, reads_damaged, same

import zaro

CASES: list[Case] = []

HEADER: dict[str, Any] = {"metadata": {".zgroup": {"zarr_format": 2}, "x/.zarray": ARRAY}, "record_size": 2}
ROWS: dict[str, Any] = {
    "path": ["data.bin", "data.bin"],
    "offset": [0, 16],
    "size": [16, 16],
    "raw": [None, None],
}
SET = "ReferenceSetError"
KEY = "x/refs.0.parq"


def write(folder: Path, header: Any = HEADER, columns: dict[str, Any] | None = None, **how: Any) -> Path:
    """Write a set, and give the path of its one partition."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = folder / "refs.parquet"
    (root / "x").mkdir(parents=True)
    (root / ".zmetadata").write_text(header if isinstance(header, str) else json.dumps(header))
    VALUES.tofile(root / "data.bin")
    VALUES.tofile(folder / "data.bin")
    target = root / KEY
    found = {name: column for name, column in {**ROWS, **(columns or {})}.items() if column is not ...}
    pq.write_table(pa.table(found), target, **how)
    return target


def case(name: str, make: Make, promise: Promise, read: Read | None = None, **more: Any) -> None:
    CASES.append(Case(f"parquet, {name}", make, read or reads("refs.parquet"), promise, **more))


def header(name: str, promise: Promise, text: Any = None, **changes: Any) -> None:
    members = {key: value for key, value in {**HEADER, **changes}.items() if value is not ...}
    case(f"a header {name}", lambda folder: write(folder, members if text is None else text), promise)


def columns(name: str, promise: Promise, read: Read | None = None, **changes: Any) -> None:
    case(
        f"columns {name}",
        lambda folder: write(
            folder, HEADER, {key: value() if callable(value) else value for key, value in changes.items()}
        ),
        promise,
        read,
    )


def damaged(name: str, damage: Callable[[bytes], bytes], promise: Promise, **more: Any) -> None:
    def make(folder: Path) -> None:
        target = write(folder)
        target.write_bytes(damage(target.read_bytes()))

    case(f"a partition {name}", make, promise, **more)


BAD = error(SET, "refs.parquet", KEY)
case("as it should be", write, GOOD)
case("with snappy", lambda folder: write(folder, compression="snappy"), GOOD)
case("with row groups of one row", lambda folder: write(folder, row_group_size=1), GOOD)
case("with a dictionary", lambda folder: write(folder, use_dictionary=["path"]), GOOD)


def _no_partition(folder: Path) -> None:
    write(folder).unlink()


case("without a partition", _no_partition, GOOD, reads("refs.parquet", expected=[-1] * 8))

header("of nothing", error("MetadataError", "refs.parquet", ".zmetadata"), "")
header("that breaks off", error("ZaroError", "refs.parquet", ".zmetadata"), json.dumps(HEADER)[:-1])
header("that is a list", error("ZaroError", "refs.parquet"), '["record_size", "metadata"]')
header("that nests deep", error("ZaroError", "refs.parquet"), '{"record_size": 2, "metadata": ' + "[" * 10**5)
header(
    "that is no UTF-8",
    error("ZaroError", "refs.parquet"),
    '{"record_size": 2, "metadata": "\udcff"}'.encode("utf-8", "surrogateescape").decode("latin-1"),
)
for size in (0, -1, 2**31, 2**63, 10**400, 2.5, "2", None, True, [2]):
    header(
        f"with a record size of {str(size)[:30]}", error(SET, "refs.parquet", "record_size"), record_size=size
    )
header("with a record size that lies, smaller", BAD, record_size=1)
header("with a record size that lies, larger", GOOD, record_size=100)
for metadata in (None, [], 7, "x", {"x/.zarray": 7}, {"x/.zarray": [1]}):
    header(f"with metadata {str(metadata)[:30]}", error(SET, "refs.parquet", ".zmetadata"), metadata=metadata)
header(
    "with an array that climbs",
    error(SET, "refs.parquet", "../x"),
    metadata={"../x/.zarray": ARRAY, "x/.zarray": ARRAY},
)
header(
    "with a broken array",
    error("MetadataError", "x/.zarray"),
    metadata={"x/.zarray": {**ARRAY, "shape": [-1]}},
)
header("with an extra member of nonsense", GOOD, zaro=17)

columns("of other names", error(SET, KEY, "columns"), path=..., offset=..., size=..., raw=..., zzz=[1, 2])
columns("of no rows", BAD, path=[], offset=[], size=[], raw=[])
columns("of a row too few", BAD, path=["data.bin"], offset=[0], size=[16], raw=[None])
columns("of a row too many", BAD, path=["data.bin"] * 3, offset=[0] * 3, size=[16] * 3, raw=[None] * 3)
columns("whose path is a number", error(SET, KEY, "path"), path=[1, 2])
columns("whose path is a list", error(SET, KEY, "path"), path=[["data.bin"], ["data.bin"]])
columns("whose path is a truth", error(SET, KEY, "path"), path=[True, False])
columns("whose path is no UTF-8", error(SET, KEY, "path"), path=[b"\xff\xfe", b"data.bin"])
columns("whose offset is text", error(SET, KEY, "offset"), offset=["0", "16"])
columns("whose offset is a list", error(SET, KEY, "offset"), offset=[[0], [16]])
columns("whose offset is negative", error(SET, KEY, "offset", "row 0"), offset=[-1, 16])
columns("whose offset has a fraction", error(SET, KEY, "offset", "row 1"), offset=[0.0, 16.5])
columns("whose offset is infinite", error(SET, KEY, "offset", "row 1"), offset=[0.0, float("inf")])
columns("whose offset is missing", error(SET, KEY, "offset", "row 1"), offset=[0, None])
columns("whose offset is 2^64 - 1", error(SET, KEY, "offset"), offset=lambda: np.array([0, 2**64 - 1], "u8"))
columns("whose offset is not there", error(SET, KEY, "offset"), offset=...)
columns("whose size is negative", error(SET, KEY, "size", "row 0"), size=[-16, 16])
columns("whose size is NaN", error(SET, KEY, "size", "row 1"), size=[16.0, float("nan")])
columns("whose size is 2^63 - 1", error(SET, KEY, "row 1"), size=[16, 2**63 - 1])
columns("whose size is short", error("ChunkError", "x/0", "data.bin"), size=[15, 16])
columns("whose file is not there", error("ChunkError", "x/0", "none.bin"), path=["none.bin", "data.bin"])
columns("whose file has a NUL", error("StoreError", "NUL"), path=["data.bin\0", "data.bin"])
columns("whose raw is a number", error(SET, KEY, "raw"), raw=[1, 2])
columns("whose raw is too short", error("ChunkError", "x/0", "inline"), raw=[b"abc", None])
columns(
    "whose raw is no base64",
    error(SET, KEY, "raw", "row 0"),
    raw=[b"base64:@@@", None],
    path=[None, "data.bin"],
)
columns("whose raw is good", GOOD, raw=[VALUES[:4].tobytes(), None], path=[None, "data.bin"])
columns(
    "that are null",
    GOOD,
    reads("refs.parquet", expected=[-1] * 8),
    path=[None] * 2,
    offset=[0, 0],
    size=[0, 0],
)

damaged("of no bytes", lambda raw: b"", BAD)
damaged("that is a login page", lambda raw: b"<!DOCTYPE html><html></html>", BAD)
damaged("that is JSON", lambda raw: b'{"version": 1}', BAD)
damaged("of zeros", lambda raw: bytes(len(raw)), BAD)
damaged("cut in half", lambda raw: raw[: len(raw) // 2], BAD)
damaged("a byte short", lambda raw: raw[:-1], BAD)
damaged("without its start", lambda raw: raw[100:], BAD)
damaged("of a start and an end", lambda raw: raw[:4] + raw[-8:], BAD)
damaged("whose footer is 4 GB", lambda raw: raw[:-8] + b"\xff\xff\xff\xff" + raw[-4:], BAD)
damaged("whose footer is encrypted", lambda raw: raw[:-4] + b"PARE", BAD)
damaged(
    "whose pages are zeros", lambda raw: raw[:4] + bytes(60) + raw[64:], error("ZaroError", "refs.parquet")
)
damaged(
    "whose pages are ones", lambda raw: raw[:4] + b"\xff" * 60 + raw[64:], error("ZaroError", "refs.parquet")
)


def _bomb(folder: Path) -> None:
    """Two rows of 96 MB each, in some kilobytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write(folder)
    schema = pa.schema(
        [("path", pa.string()), ("offset", pa.int64()), ("size", pa.int64()), ("raw", pa.binary())]
    )
    big = pa.array([bytes(96 << 20), bytes(96 << 20)], pa.binary())
    table = pa.table(
        [pa.array([None, None], pa.string()), pa.array([0, 0]), pa.array([0, 0]), big], schema=schema
    )
    pq.write_table(
        table, folder / "refs.parquet" / KEY, compression="zstd", use_dictionary=False, write_statistics=False
    )


case("a partition that unpacks to very much", _bomb, error("ZaroError", "refs.parquet", KEY), seconds=30)


def _varint(value: int, nbytes: int = 0) -> bytes:
    """A number as Thrift spells it; in as many bytes as are asked for."""
    found = bytearray()
    value *= 2  # zigzag
    while value >= 0x80 or len(found) + 1 < nbytes:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def _lying_bomb(folder: Path) -> None:
    """The same; the footer says that all of it is small."""
    import pyarrow.parquet as pq

    _bomb(folder)
    target = folder / "refs.parquet" / KEY
    raw, file = target.read_bytes(), pq.ParquetFile(target)
    footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
    told = file.metadata.row_group(0).column(3).total_uncompressed_size
    total = file.metadata.row_group(0).total_byte_size
    tail = raw[footer:]
    for size in {told, total}:
        tail = tail.replace(_varint(size), _varint(100, len(_varint(size))))
    target.write_bytes(raw[:footer] + tail)
    assert pq.ParquetFile(target).metadata.row_group(0).column(3).total_uncompressed_size == 100


case(
    "a partition that unpacks to very much, and lies about it",
    _lying_bomb,
    error("ZaroError", "refs.parquet", KEY),
    seconds=30,
)


def _many_rows(folder: Path) -> None:
    """Eight million rows that all say the same, in some kilobytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    write(folder, {**HEADER, "record_size": 8_000_000})
    table = pa.table(
        {
            "path": pa.nulls(8_000_000, pa.string()),
            "offset": np.zeros(8_000_000, "i8"),
            "size": np.zeros(8_000_000, "i8"),
            "raw": pa.nulls(8_000_000, pa.binary()),
        }
    )
    pq.write_table(table, folder / "refs.parquet" / KEY, compression="zstd", row_group_size=8_000_000)


case(
    "a partition of eight million rows for two chunks",
    _many_rows,
    GOOD,
    reads("refs.parquet", expected=[-1] * 8),
    seconds=30,
)


def _long_paths(folder: Path) -> None:
    write(folder, HEADER, {"path": ["p" * 10**6, "data.bin"]})


case("a file's name of a million letters", _long_paths, error("ChunkError", "x/0"))


def _folder_for_partition(folder: Path) -> None:
    target = write(folder)
    target.unlink()
    target.mkdir()


case("a folder in the place of a partition", _folder_for_partition, error("ZaroError", KEY))


def _pipe_for(name: str) -> Make:
    def make(folder: Path) -> None:
        import os

        write(folder)
        (folder / "refs.parquet" / name).unlink()
        os.mkfifo(folder / "refs.parquet" / name)

    return make


case("a pipe in the place of a partition", _pipe_for(KEY), error("ZaroError", KEY))
case("a pipe in the place of the header", _pipe_for(".zmetadata"), error("ZaroError", "refs.parquet"))


def _link_for_partition(folder: Path) -> None:
    target = write(folder)
    target.unlink()
    target.symlink_to("nowhere.parq")


def _link_for_folder(folder: Path) -> None:
    target = write(folder)
    target.parent.rename(folder / "moved")
    target.parent.symlink_to("nowhere")


case("a link to nowhere in the place of a partition", _link_for_partition, error("ZaroError", KEY))
case("a link to nowhere in the place of an array", _link_for_folder, error("ZaroError", KEY))


def _forbidden_folder(folder: Path) -> None:
    write(folder)
    data = folder / "refs.parquet" / "data.bin"
    data.unlink()
    data.mkdir()
    (folder / "data.bin").unlink()


case("a folder in the place of the data", _forbidden_folder, error("ChunkError", "x/0", "data.bin"))


def _replaced_while_open(folder: Path, address: str) -> None:
    """A set that was opened before another took its place gives its own chunks, or says so; never both's."""
    import shutil

    opened = zaro.open(str(folder / "refs.parquet"), "x")
    shutil.rmtree(folder / "refs.parquet")
    same(opened[...], VALUES)


case("removed after it was opened", write, error("ZaroError", "refs.parquet"), _replaced_while_open)


for last in (None, 900):  # the footer stands at the end
    case(
        f"partitions with a few bytes wrong, {'anywhere' if last is None else 'at the end'}",
        lambda folder: write(folder, row_group_size=1),
        GOOD,
        reads_damaged(f"refs.parquet/{KEY}", "refs.parquet", last=last),
    )
case("headers with a few bytes wrong", write, GOOD, reads_damaged("refs.parquet/.zmetadata", "refs.parquet"))
