"""Metadata of format 2 and 3 that asks for the absurd."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cases import ARRAY, GOOD, VALUES, Case, Promise, error, reads, reads_damaged, same, write_chunks

import zaro
import zaro.config

CASES: list[Case] = []

V2 = ARRAY
V3: dict[str, Any] = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [8],
    "data_type": "int32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": -1,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
}
METADATA = "MetadataError"


def write(folder: Path, document: Any) -> None:
    """Write an array `x`, its document and its two chunks under the keys of both formats."""
    x = folder / "x"
    (x / "c").mkdir(parents=True)
    is_v3 = not isinstance(document, Mapping) or document.get("zarr_format") != 2
    text = document if isinstance(document, str | bytes) else json.dumps(document)
    (x / ("zarr.json" if is_v3 else ".zarray")).write_bytes(text.encode() if isinstance(text, str) else text)
    write_chunks(x, "", "c/")


def case(name: str, document: Any, promise: Promise, **more: Any) -> None:
    read = more.pop("read", None) or reads("")
    CASES.append(Case(f"metadata, {name}", lambda folder: write(folder, document), read, promise, **more))


def v2(name: str, *words: str, kind: str = METADATA, **changes: Any) -> None:
    document = {key: value for key, value in {**V2, **changes}.items() if value is not ...}
    case(f"v2 with {name}", document, error(kind, "x/.zarray", *words))


def v3(name: str, *words: str, kind: str = METADATA, **changes: Any) -> None:
    document = {key: value for key, value in {**V3, **changes}.items() if value is not ...}
    case(f"v3 with {name}", document, error(kind, "x/zarr.json", *words))


case("v2 as it should be", V2, GOOD)
case("v3 as it should be", V3, GOOD)
case("v2 with members that nobody knows", {**V2, "zzz": [1] * 1000}, GOOD)
case("v3 with an extension that may be ignored", {**V3, "zzz": {"must_understand": False}}, GOOD)

SIZES: dict[str, Any] = {
    "a negative number": [-8],
    "2^63": [2**63],
    "2^64": [2**64],
    "10^400": [10**400],
    "a float": [8.0],
    "a fraction": [8.5],
    "text": ["8"],
    "null": [None],
    "true": [True],
    "a list": [[8]],
    "no list": 8,
    "an object": {"0": 8},
    "a thousand dimensions": [1] * 1000,
}
for label, value in SIZES.items():
    v2(f"a shape of {label}", "shape", shape=value)
    v2(f"chunks of {label}", "chunks", chunks=value)
    v3(f"a shape of {label}", "shape", shape=value)
    v3(
        f"a chunk shape of {label}",
        "chunk_shape",
        chunk_grid={"name": "regular", "configuration": {"chunk_shape": value}},
    )
v2("chunks of 0", "chunks", chunks=[0])
v2("chunks of another rank", "chunks", chunks=[4, 4])
v2("a shape whose bytes overflow", "shape", shape=[2**62], chunks=[1])
v2("a chunk whose bytes overflow", "chunks", chunks=[2**62])
v2("a shape whose product overflows", "shape", shape=[2**32, 2**32], chunks=[1, 1])
v2("thirty two dimensions of 2^60", "shape", shape=[2**60] * 32, chunks=[1] * 32)
v2("no shape", "shape", shape=...)
v2("no chunks", "chunks", chunks=...)
v2("no type", "dtype", dtype=...)
for kind in (
    "<i3",
    "<f99",
    "i4",
    "=i4",
    "<O",
    "|O8",
    "<U99999999999",
    "|S0",
    "|V-1",
    "<M8[xyz]",
    "object",
    "",
    4,
    None,
    {},
    [],
    [[]],
    [["a"]],
    [["a", "<i4", [2**40]]],
    [["a", "<i4"], ["a", "<i4"]],
    [["a", "|O"]],
    [["a", [["b", [["c", "zzz"]]]]]],
):
    v2(f"the type {str(kind)[:40]!r}", "dtype", dtype=kind)
v2("objects without a codec", "filters", dtype="|O")
for value in ("abc", [1], {}, 2**40, 1.5, "0x12"):
    v2(f"the fill value {value!r}", "fill_value", fill_value=value)
v2("an order of Z", "order", order="Z")
v2("a separator of NUL", "dimension_separator", dimension_separator="\0")
v2("a separator that climbs", "dimension_separator", dimension_separator="/../")
for value in (17, "zlib", [], {"level": 1}, {"id": 7}, {"id": None}):
    v2(f"the compressor {value!r}", "compressor", compressor=value)
v2("a filter that is text", "filters", filters=["zlib"])
v2("filters that are an object", "filters", filters={"id": "zlib"})
v2("a hundred filters", filters=[{"id": "shuffle", "elementsize": 4}] * 100, compressor={"id": "zlib"})
LZF: dict[str, Any] = {"id": "zaro_hdf5", "code": 32000, "values": [], "dtype": "<i4", "chunks": [4]}
for member, value in (
    ("dtype", "|O"),
    ("dtype", "<M8[s]"),
    ("dtype", "|V4"),
    ("chunks", [-4]),
    ("chunks", []),
):
    v2(f"a filter of HDF5 with {member} of {value!r}", "zaro_hdf5", filters=[{**LZF, member: value}])
case(
    "v2 with a filter of HDF5 for 3 GB",
    {**V2, "filters": [{**LZF, "chunks": [3 << 28]}]},
    error("ChunkError", "x/0", "3221225472"),
)
v2(
    "a predictor of TIFF for objects",
    "zaro_tiff_predictor",
    filters=[{"id": "zaro_tiff_predictor", "predictor": 2, "dtype": "|O", "width": 1}],
)
v2("a field of GRIB before the first", "zaro_grib", dtype="<f8", filters=[{"id": "zaro_grib", "field": -1}])
v2("a pickle", "pickle", filters=[{"id": "pickle"}], dtype="|O", kind="UnsupportedError")
for codec in (
    {"id": "nobody-knows"},
    {"id": "../../evil"},
    {"id": "os.system"},
    {"id": ""},
    {"id": "imagecodecs_nosuch"},
):
    v2(f"the codec {codec['id']!r}", compressor=codec)
for member, value in (
    ("level", 2**40),
    ("level", "nine"),
    ("level", [1]),
    ("level", 1.5),
):
    v2(f"zlib of {member} {value!r}", member, compressor={"id": "zlib", member: value})
v2("zlib of an unknown member", "zzz", compressor={"id": "zlib", "zzz": 1})
v2("blosc of an unknown compressor", "cname", compressor={"id": "blosc", "cname": "evil"})
v2("blosc of a negative block size", "blocksize", compressor={"id": "blosc", "blocksize": -1})
v2("blosc of an unknown shuffle", "shuffle", compressor={"id": "blosc", "shuffle": 99})
v2("shuffle of a negative element", "elementsize", filters=[{"id": "shuffle", "elementsize": -4}])
v2("shuffle of an element of 2^40", "elementsize", filters=[{"id": "shuffle", "elementsize": 2**40}])
v2("delta of an odd type", "dtype", filters=[{"id": "delta", "dtype": "zzz"}])
v2("delta of objects", "dtype", filters=[{"id": "delta", "dtype": "|O"}])
v2("delta of a huge type", "dtype", filters=[{"id": "delta", "dtype": "|V2000000000"}])
v2("astype of an odd type", "dtype", filters=[{"id": "astype", "encode_dtype": "zzz", "decode_dtype": "<i4"}])
v2(
    "a scale of 0",
    "scale",
    filters=[{"id": "fixedscaleoffset", "scale": 0, "offset": 0, "dtype": "<i4", "astype": "u1"}],
)
v2(
    "a scale that is text",
    "scale",
    filters=[{"id": "fixedscaleoffset", "scale": "x", "offset": 0, "dtype": "<i4", "astype": "u1"}],
)
v2("packed bits of integers", filters=[{"id": "packbits"}])
v2("LZMA of no format", "format", compressor={"id": "lzma", "format": 99})
v2("LZMA of odd filters", "filters", compressor={"id": "lzma", "format": 3, "filters": [{"id": 99}]})
v2(
    "LZMA of a dictionary of 4 GB",
    "filters",
    compressor={"id": "lzma", "format": 3, "filters": [{"id": 33, "dict_size": 4294967295}]},
)
v2("crc32 at no place", "location", filters=[{"id": "crc32", "location": "middle"}])
case(
    "v2 with lookup3 of an odd start",
    {**V2, "compressor": {"id": "jenkins_lookup3", "initval": 2**70}},
    error("CorruptChunkError", "x/0", "jenkins_lookup3"),
)

v3("no shape", "shape", shape=...)
v3("no codecs", "codecs", codecs=...)
v3("no fill value", "fill_value", fill_value=...)
v3("no grid", "chunk_grid", chunk_grid=...)
v3("no key encoding", "chunk_key_encoding", chunk_key_encoding=...)
v3("no type", "data_type", data_type=...)
v3("a format of 2.5", "zarr_format", zarr_format=2.5)
v3("a format of true", "zarr_format", zarr_format=True)
v3("a node of another kind", "node_type", node_type="evil")
v3("an extension that must be understood", "zzz", zzz={"must_understand": True})
v3(
    "a shape whose product overflows",
    "shape",
    shape=[2**32, 2**32],
    chunk_grid={"name": "regular", "configuration": {"chunk_shape": [1, 1]}},
)
for value in (
    "int33",
    "r7",
    "r99999999999",
    "float128",
    "",
    4,
    None,
    {"name": "int32", "configuration": {"a": 1}},
    {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2**40}},
    {"name": "fixed_length_utf32", "configuration": {"length_bytes": 3}},
    {"name": "struct", "configuration": {"fields": []}},
    {"name": "numpy.datetime64", "configuration": {"unit": "zzz"}},
):
    v3(f"the type {str(value)[:50]!r}", "data_type", data_type=value)
for value in ("regular", {"name": "evil"}, {"name": "regular"}, {"name": "regular", "configuration": []}, 7):
    v3(f"the grid {str(value)[:40]!r}", "chunk_grid", chunk_grid=value)
for shapes in ([[4]], [[-4, 4]], [[0] * 4], [2**63], ["4"], [[[4, 0]]], []):
    v3(
        f"a rectilinear grid of {shapes}",
        "chunk_grid",
        chunk_grid={"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}},
    )
for value in ({"name": "evil"}, {"name": "default", "configuration": {"separator": "/../"}}, 7):
    v3(f"the key encoding {str(value)[:60]!r}", "chunk_key_encoding", chunk_key_encoding=value)
for value in (
    [],
    {},
    "bytes",
    [7],
    [{"name": 7}],
    [{"name": "bytes", "configuration": 7}],
    ["nobody-knows"],
    ["bytes", "bytes"],
    ["gzip"],
    ["bytes", {"name": "gzip", "configuration": {"level": 99}}],
    ["bytes", {"name": "blosc", "configuration": {"cname": "evil"}}],
    [{"name": "bytes", "configuration": {"endian": "middle"}}],
    [{"name": "transpose", "configuration": {"order": [1]}}, "bytes"],
    [{"name": "transpose", "configuration": {"order": [0, 0]}}, "bytes"],
    [{"name": "transpose", "configuration": {"order": "Q"}}, "bytes"],
    ["bytes", {"name": "numcodecs.pickle"}],
    ["bytes", {"name": "numcodecs.base64", "configuration": {"id": "pickle"}}],
    ["bytes"] + ["crc32c"] * 100,
):
    v3(f"the codecs {str(value)[:70]!r}", codecs=value)
for value in (["a", "b"], "x", [7], {}):
    v3(f"the dimension names {value!r}", "dimension_names", dimension_names=value)
v3("attributes that are a list", "attributes", attributes=[])
v3("a storage transformer", "storage_transformers", storage_transformers=[{"name": "evil"}])
for value in ("NaN", "0x1", [1], {}, None, 2**40):
    v3(f"the fill value {value!r}", "fill_value", fill_value=value)

# shards, whose sizes are the document's word


def sharded(
    inner: Any, codecs: Any = ("bytes",), index: Any = ("bytes", "crc32c"), where: Any = "end"
) -> list[Any]:
    little = {"name": "bytes", "configuration": {"endian": "little"}}

    def spelled(found: Any) -> Any:
        return (
            [little if codec == "bytes" else codec for codec in found] if isinstance(found, tuple) else found
        )

    return [
        {
            "name": "sharding_indexed",
            "configuration": {
                "chunk_shape": inner,
                "codecs": spelled(codecs),
                "index_codecs": spelled(index),
                "index_location": where,
            },
        }
    ]


def grid(*sizes: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(sizes)}}


for inner in ([3], [0], [-1], [2**63], [], [2, 2], "2", [2.0], None, [True]):
    v3(f"shards of chunks of {inner}", "chunk_shape", codecs=sharded(inner))
v3(
    "shards whose index is compressed",
    "index_codecs",
    codecs=sharded([2], index=("bytes", {"name": "gzip", "configuration": {"level": 1}})),
)
v3("shards without index codecs", "index_codecs", codecs=sharded([2], index=None))
v3("shards whose index lies in the middle", "index_location", codecs=sharded([2], where="middle"))
v3(
    "shards whose index has 2^44 bytes",
    "chunk_shape",
    shape=[2**40],
    chunk_grid=grid(2**40),
    codecs=sharded([1]),
)
v3(
    "shards whose index has 2^30 bytes",
    "chunk_shape",
    shape=[2**26],
    chunk_grid=grid(2**26),
    codecs=sharded([1]),
)
nested: Any = sharded([2])
for _ in range(60):
    nested = sharded([2], codecs=nested)
v3("shards in shards, sixty deep", codecs=nested)

# documents that are none

for label, text in {
    "that is empty": "",
    "that breaks off": json.dumps(V3)[:-9],
    "that is a list": "[]",
    "that is a number": "7",
    "that nests deep": "[" * 10**5,
    "with a number of ten thousand digits": '{"zarr_format":3,"a":' + "9" * 10**4 + "}",
    "that is a login page": "<!DOCTYPE html><html></html>",
}.items():
    case(f"a document {label}", text, error(METADATA, "x/zarr.json"))
case("a document that is no UTF-8", b'{"zarr_format":\xff}', error(METADATA, "x/zarr.json", "UTF-8"))
case(
    "a document with a member twice",
    json.dumps(V3).replace('"shape": [8]', '"shape": [9], "shape": [8]'),
    GOOD,
)

# sizes that are as declared, but more than a machine has: told before anything is allocated


def _selects(selection: Any, expected: Any) -> Any:
    def read(folder: Path, address: str) -> None:
        same(zaro.open(str(folder), "x")[selection], expected)

    return read


case("v2 of 2^60 bytes, a part of it", {**V2, "shape": [2**58]}, GOOD, read=_selects(slice(4, 8), VALUES[4:]))
case(
    "v2 of 2^60 bytes, all of it",
    {**V2, "shape": [2**58]},
    error("SelectionError", "bytes"),
    read=_selects(..., None),
)
case(
    "v3 of 2^60 bytes, all of it",
    {**V3, "shape": [2**58]},
    error("SelectionError", "bytes"),
    read=_selects(..., None),
)
case(
    "v2 of 2^44 bytes, all of it",
    {**V2, "shape": [2**42], "chunks": [2**30]},
    error("SelectionError", "bytes"),
    read=_selects(..., None),
)
case(
    "v2 with chunks of 2^60 bytes, one element",
    {**V2, "shape": [2**58], "chunks": [2**58]},
    error("ChunkError", "x/0"),
    read=_selects(0, None),
)
case(
    "v2 with chunks of 2^36 bytes, one element",
    {**V2, "shape": [2**34], "chunks": [2**34]},
    error("ChunkError", "x/0"),
    read=_selects(0, None),
)
case(
    "v2 with packed chunks of 2^60 bytes, one element",
    {**V2, "shape": [2**58], "chunks": [2**58], "compressor": {"id": "zlib"}},
    error("ChunkError", "x/0"),
    read=_selects(0, None),
)
case(
    "v2 with packed chunks of 2^36 bytes, one element",
    {**V2, "shape": [2**34], "chunks": [2**34], "compressor": {"id": "zlib"}},
    error("ChunkError", "x/0"),
    read=_selects(0, None),
)
case(
    "v2 with bz2 chunks of 2^36 bytes, one element",
    {**V2, "shape": [2**34], "chunks": [2**34], "compressor": {"id": "bz2"}},
    error("ChunkError", "x/0"),
    read=_selects(0, None),
)


def _all_of_many(folder: Path, address: str) -> None:
    zaro.config.TASKS_AT_ONCE = 1 << 15  # so that this is read in parts
    found = zaro.open(str(folder), "x")[...]
    assert found.shape == (2**18,)
    assert found[8:].max() == -1


def _without_chunks(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x" / ".zarray").write_text(json.dumps({**V2, "shape": [2**18], "chunks": [1], "dtype": "|i1"}))


CASES.append(
    Case("metadata, v2 of 2^18 chunks, every one", _without_chunks, _all_of_many, GOOD, declared=2**18)
)

case("v2 with a few bytes wrong", V2, GOOD, read=reads_damaged("x/.zarray", ""))
case("v3 with a few bytes wrong", V3, GOOD, read=reads_damaged("x/zarr.json", ""))
