"""Chunks that are damaged: of every codec, in every way."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from cases import GOOD, Case, Promise, bomb, either, error, same

import zaro

CASES: list[Case] = []

COUNT = 600
BOMB = 192 << 20
"""Bytes that a bomb unpacks to: several times what a case may allocate."""
PLAIN = np.arange(COUNT, dtype="<i4") % 97
TEXT = np.array([f"word {k % 13}" for k in range(COUNT)], object)

CODECS: dict[str, dict[str, Any]] = {
    "no codec": {},
    **{
        f"blosc of {cname}": {
            "compressor": {"id": "blosc", "cname": cname, "clevel": 5, "shuffle": shuffle, "blocksize": 0}
        }
        for cname, shuffle in (("lz4", 1), ("zstd", 2), ("blosclz", 0), ("zlib", 1), ("lz4hc", 2))
    },
    "zstd": {"compressor": {"id": "zstd", "level": 1, "checksum": True}},
    "zstd without a checksum": {"compressor": {"id": "zstd", "level": 1}},
    "lz4": {"compressor": {"id": "lz4", "acceleration": 1}},
    "zlib": {"compressor": {"id": "zlib", "level": 1}},
    "gzip": {"compressor": {"id": "gzip", "level": 1}},
    "bz2": {"compressor": {"id": "bz2", "level": 1}},
    "lzma": {"compressor": {"id": "lzma"}},
    "shuffle": {"filters": [{"id": "shuffle", "elementsize": 4}]},
    "shuffle and zlib": {
        "filters": [{"id": "shuffle", "elementsize": 4}],
        "compressor": {"id": "zlib", "level": 1},
    },
    "delta": {"filters": [{"id": "delta", "dtype": "<i4"}]},
    "astype": {"filters": [{"id": "astype", "encode_dtype": "<i2", "decode_dtype": "<i4"}]},
    "crc32": {"filters": [{"id": "crc32"}]},
    "crc32 at the end": {"filters": [{"id": "crc32", "location": "end"}]},
    "adler32": {"filters": [{"id": "adler32"}]},
    "fletcher32": {"filters": [{"id": "fletcher32"}]},
    "jenkins_lookup3": {"filters": [{"id": "jenkins_lookup3"}]},
    "base64": {"filters": [{"id": "base64"}]},
    "zlib and bz2": {"filters": [{"id": "zlib", "level": 1}], "compressor": {"id": "bz2", "level": 1}},
    "run lengths of TIFF": {"filters": [{"id": "zaro_packbits"}]},
    "pcodec": {"filters": [{"id": "pcodec"}]},
    "vlen-utf8": {"dtype": "|O", "filters": [{"id": "vlen-utf8"}]},
    "vlen-utf8 and zstd": {
        "dtype": "|O",
        "filters": [{"id": "vlen-utf8"}],
        "compressor": {"id": "zstd", "level": 1},
    },
    "vlen-bytes": {"dtype": "|O", "filters": [{"id": "vlen-bytes"}]},
    "json2": {"dtype": "|O", "filters": [{"id": "json2"}]},
    "msgpack2": {"dtype": "|O", "filters": [{"id": "msgpack2"}]},
    "categorize": {
        "dtype": "|O",
        "filters": [
            {"id": "categorize", "labels": [f"word {k}" for k in range(13)], "dtype": "|O", "astype": "|u1"}
        ],
    },
}
CHECKED = {
    "zlib",
    "gzip",
    "zstd",
    "bz2",
    "lzma",
    "crc32",
    "crc32 at the end",
    "adler32",
    "fletcher32",
    "jenkins_lookup3",
    "shuffle and zlib",
    "zlib and bz2",
}
"""Codecs that notice every flipped bit."""
OF_OBJECTS = {"vlen-utf8", "vlen-utf8 and zstd", "vlen-bytes", "json2", "msgpack2", "categorize"}


def values(codec: str) -> np.ndarray[Any, Any]:
    if codec == "vlen-bytes":
        return np.array([text.encode() for text in TEXT], object)
    return TEXT if codec in OF_OBJECTS else PLAIN


def stored(codec: str) -> bytes:
    """The chunk as numcodecs encodes it."""
    from numcodecs import get_codec

    document = CODECS[codec]
    data: Any = values(codec)
    for one in [*document.get("filters", ()), document.get("compressor")]:
        data = data if one is None else get_codec(dict(one)).encode(data)
    return np.ascontiguousarray(data).tobytes() if isinstance(data, np.ndarray) else bytes(data)


def write(folder: Path, codec: str, chunk: bytes, **changes: Any) -> None:
    document = {
        "zarr_format": 2,
        "shape": [COUNT],
        "chunks": [COUNT],
        "dtype": "<i4",
        "compressor": None,
        "filters": None,
        "order": "C",
        "fill_value": None,
        **CODECS[codec],
        **changes,
    }
    (folder / "x").mkdir()
    (folder / "x" / ".zarray").write_text(json.dumps(document))
    (folder / "x" / "0").write_bytes(chunk)


def read(codec: str, *, exact: bool) -> Callable[[Path, str], None]:
    def one(folder: Path, address: str) -> None:
        found = zaro.open(str(folder), "x")[...]
        expected = values(codec)
        assert found.shape == expected.shape
        if exact:
            same(found, expected)
        elif codec not in OF_OBJECTS:
            for pattern in (0xA5, 0x5A):  # values come from the chunk, never from what memory held before
                out = np.full(expected.nbytes, pattern, np.uint8).view(expected.dtype)
                same(zaro.open(str(folder), "x").read(out=out), found)

    return one


Damage = Callable[[bytes], bytes]


def case(
    codec: str, label: str, damage: Damage, promise: Promise, *, exact: bool = True, **more: Any
) -> None:
    def make(folder: Path) -> None:
        write(folder, codec, damage(stored(codec)))

    CASES.append(Case(f"chunk of {codec}, {label}", make, read(codec, exact=exact), promise, **more))


def flipped(*bits: int) -> Damage:
    def damage(chunk: bytes) -> bytes:
        changed = bytearray(chunk)
        for bit in bits:
            changed[(bit // 8) % len(changed)] ^= 1 << bit % 8
        return bytes(changed)

    return damage


BROKEN = error("CorruptChunkError", "x/0")
PERHAPS = either("CorruptChunkError", "x/0")

for codec in CODECS:
    case(codec, "as it should be", bytes, GOOD)
    case(codec, "of no bytes", lambda chunk: b"", BROKEN)
    case(codec, "of one byte", lambda chunk: chunk[:1], BROKEN)
    case(codec, "cut in half", lambda chunk: chunk[: len(chunk) // 2], BROKEN)
    case(codec, "a byte short", lambda chunk: chunk[:-1], BROKEN)
    # what follows a stream is ignored by the libraries that others read it with
    case(codec, "with a byte more", lambda chunk: chunk + b"\x01", PERHAPS)
    case(codec, "of zeros", lambda chunk: bytes(len(chunk)), PERHAPS, exact=False)
    case(codec, "of ones", lambda chunk: b"\xff" * len(chunk), PERHAPS, exact=False)
    for seed in (1, 2, 3):
        some = [int(bit) for bit in np.random.default_rng(seed).integers(0, 1 << 20, 1 + 3 * seed)]
        promise = BROKEN if codec in CHECKED else PERHAPS
        case(codec, f"with {len(some)} bits flipped", flipped(*some), promise, exact=False)

# ---- headers that lie --------------------------------------------------------------------------

BLOSC = "blosc of lz4"


def blosc_header(
    *, nbytes: int, blocksize: int, cbytes: int, flags: int = 1, typesize: int = 4, version: int = 2
) -> bytes:
    return struct.pack("<BBBBIII", version, 1, flags, typesize, nbytes, blocksize, cbytes)


def as_it_is(chunk: bytes) -> Damage:
    return lambda _: chunk


NBYTES = PLAIN.nbytes
for label, header in {
    "16 bytes that promise a chunk": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=16),
    "16 bytes that promise a copied chunk": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=16, flags=2),
    "16 bytes that promise 2 GB": blosc_header(nbytes=2**31 - 1, blocksize=2**31 - 1, cbytes=16),
    "16 bytes of a special chunk": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=16, flags=0x35),
    "a size that is more than is stored": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=10**6)
    + bytes(50),
    "a size that is less than is stored": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=16)
    + bytes(50),
    "blocks of no bytes": blosc_header(nbytes=NBYTES, blocksize=0, cbytes=66) + bytes(50),
    "blocks of 2 GB": blosc_header(nbytes=NBYTES, blocksize=2**31 - 1, cbytes=66) + bytes(50),
    "blocks of one byte": blosc_header(nbytes=NBYTES, blocksize=1, cbytes=66) + bytes(50),
    "elements of no bytes": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=66, typesize=0) + bytes(50),
    "offsets that lie outside": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=24)
    + struct.pack("<iI", 2**30, 0),
    "offsets below 0": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=24) + struct.pack("<iI", -16, 0),
    "offsets into the header": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=24)
    + struct.pack("<iI", 0, 0),
    "a version that nobody knows": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=66, version=200)
    + bytes(50),
    "a frame's version": blosc_header(nbytes=NBYTES, blocksize=NBYTES, cbytes=66, version=5) + bytes(50),
    "flags of an extended header": blosc_header(
        nbytes=NBYTES, blocksize=NBYTES, cbytes=66, flags=0xFF, version=5
    )
    + bytes(50),
}.items():
    case(BLOSC, label, as_it_is(header), BROKEN)


def blosc2_of_zeros(kind: int, nbytes: int = NBYTES) -> bytes:
    """A chunk of Blosc 2 of 32 bytes that is all one value: 1 zeros, 2 NaN, 4 uninitialised memory."""
    head = struct.pack("<BBBBIII", 5, 1, 0x05, 4, nbytes, nbytes, 32)
    return head + bytes(8) + bytes([0, 0, 0, 0, 0, 0, 0, kind << 4])


case(BLOSC, "special, of zeros", as_it_is(blosc2_of_zeros(1)), PERHAPS, exact=False)
case(BLOSC, "special, of memory that nobody wrote", as_it_is(blosc2_of_zeros(4)), PERHAPS, exact=False)
case(BLOSC, "special, of 2 GB of zeros", as_it_is(blosc2_of_zeros(1, 2**31 - 64)), BROKEN)
for label, size in {
    "no bytes": 0,
    "2 GB": 2**31 - 1,
    "4 GB": 2**32 - 1,
    "a byte less": NBYTES - 1,
    "a byte more": NBYTES + 1,
}.items():
    case(
        "lz4",
        f"whose header promises {label}",
        lambda chunk, n=size: struct.pack("<I", n) + chunk[4:],
        BROKEN,
    )
case("run lengths of TIFF", "of very many zeros", lambda _: b"\x81\x00" * (3 << 20), BROKEN, seconds=20)
case("zlib", "of very many zeros", lambda _: bomb(BOMB >> 20, wbits=15), BROKEN, seconds=20)
case("gzip", "of very many zeros", lambda _: bomb(BOMB >> 20), BROKEN, seconds=20)
case("gzip", "of a thousand streams", lambda chunk: chunk * 1000, BROKEN)
case(
    "gzip",
    "of ten thousand empty streams",
    lambda chunk: __import__("gzip").compress(b"", mtime=0) * 10**4 + chunk,
    PERHAPS,
)
case("zstd", "of very many zeros", lambda _: _zstd(BOMB), BROKEN, seconds=20)
case("zstd", "of ten thousand empty frames", lambda chunk: _zstd(0) * 10**4 + chunk, PERHAPS)
case(
    "zstd",
    "with a skippable frame of 4 GB",
    lambda chunk: struct.pack("<II", 0x184D2A50, 2**32 - 1) + chunk,
    BROKEN,
)
case("bz2", "of very many zeros", lambda _: __import__("bz2").compress(bytes(BOMB)), BROKEN, seconds=20)
case(
    "lzma",
    "of very many zeros",
    lambda _: __import__("lzma").compress(bytes(BOMB), preset=0),
    BROKEN,
    seconds=20,
)
case("lzma", "with a dictionary of 1.5 GB", lambda _: _lzma_dictionary(), PERHAPS)
case(
    "zlib and bz2",
    "with very many zeros between",
    lambda _: __import__("bz2").compress(bytes(BOMB)) * 4,
    BROKEN,
    seconds=20,
)
case("vlen-utf8 and zstd", "of very many zeros", lambda _: _zstd(BOMB), BROKEN, seconds=20)
case("vlen-utf8", "of 2^32 texts", lambda chunk: b"\xff\xff\xff\xff" + chunk[4:], BROKEN)
case(
    "vlen-utf8",
    "of a text of 2 GB",
    lambda chunk: chunk[:4] + struct.pack("<I", 2**31 - 1) + chunk[8:],
    BROKEN,
)
case("vlen-utf8", "that is no UTF-8", lambda chunk: chunk.replace(b"word", b"\xff\xfe\xfd\xfc"), BROKEN)
case(
    "vlen-bytes",
    "of bytes of 4 GB",
    lambda chunk: chunk[:4] + struct.pack("<I", 2**32 - 1) + chunk[8:],
    BROKEN,
)
case("json2", "that nests deep", lambda _: b"[" * 10**5 + b"]" * 10**5, BROKEN)
case(
    "json2",
    "of a shape that lies",
    lambda _: json.dumps([*["a"] * COUNT, "|O", [2**40]]).encode(),
    PERHAPS,
    exact=False,
)
case(
    "json2",
    "of a shape of a million dimensions",
    lambda _: json.dumps([*["a"] * COUNT, "|O", [1] * 10**6]).encode(),
    BROKEN,
)
case("json2", "that is a number", lambda _: b"7", BROKEN)
case("msgpack2", "of a list of 2^32", lambda _: b"\xdd\xff\xff\xff\xff", BROKEN)
case("msgpack2", "of bytes of 4 GB", lambda _: b"\xc6\xff\xff\xff\xff", BROKEN)
case("msgpack2", "that nests deep", lambda _: b"\x91" * 10**6, BROKEN)
case("msgpack2", "of an extension", lambda _: b"\x92\xc7\x01\x05\x00\x90", BROKEN)
case("base64", "that is none", lambda chunk: b"@" * len(chunk), BROKEN)


def _zstd(nbytes: int) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=1).compress(bytes(nbytes))


def _lzma_dictionary() -> bytes:
    import lzma

    return lzma.compress(
        PLAIN.tobytes(), format=lzma.FORMAT_ALONE, filters=[{"id": lzma.FILTER_LZMA1, "dict_size": 1 << 20}]
    ).replace(struct.pack("<I", 1 << 20), struct.pack("<I", 3 << 29), 1)


# ---- shards ------------------------------------------------------------------------------------

SHARDS = 4
EMPTY = 2**64 - 1


def shard_document(where: str, checked: bool, more: list[Any]) -> dict[str, Any]:
    little = {"name": "bytes", "configuration": {"endian": "little"}}
    sharding = {
        "chunk_shape": [COUNT // SHARDS],
        "codecs": [little, *more],
        "index_codecs": [little, *(["crc32c"] if checked else [])],
        "index_location": where,
    }
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [COUNT],
        "data_type": "int32",
        "fill_value": -1,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [COUNT]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "sharding_indexed", "configuration": sharding}],
    }


def crc32c(data: bytes) -> int:
    """Bit by bit, as the standard has it."""
    found = 0xFFFFFFFF
    for byte in data:
        found ^= byte
        for _ in range(8):
            found = found >> 1 ^ (0x82F63B78 if found & 1 else 0)
    return found ^ 0xFFFFFFFF


def shard(
    spans: Iterable[tuple[int, int]] | None = None,
    *,
    where: str = "end",
    checked: bool = True,
    checksum: int | None = None,
) -> bytes:
    """A shard of four plain chunks, whose index has the given (offset, length) pairs."""
    body, each = PLAIN.tobytes(), PLAIN.nbytes // SHARDS
    nbytes = 16 * SHARDS + 4 * checked
    begin = nbytes if where == "start" else 0
    pairs = [(begin + k * each, each) for k in range(SHARDS)] if spans is None else list(spans)
    index = b"".join(struct.pack("<QQ", *pair) for pair in pairs)
    if checked:
        index += struct.pack("<I", crc32c(index) if checksum is None else checksum)
    return index + body if where == "start" else body + index


def shard_case(
    name: str,
    chunk: Callable[[], bytes],
    promise: Promise,
    *,
    where: str = "end",
    checked: bool = True,
    expected: Any = None,
    **more: Any,
) -> None:
    def make(folder: Path) -> None:
        (folder / "x" / "c").mkdir(parents=True)
        (folder / "x" / "zarr.json").write_text(json.dumps(shard_document(where, checked, [])))
        (folder / "x" / "c" / "0").write_bytes(chunk())

    def read_shard(folder: Path, address: str) -> None:
        same(zaro.open(str(folder), "x")[...], PLAIN if expected is None else expected)

    CASES.append(Case(f"shard {name}", make, read_shard, promise, **more))


EACH = PLAIN.nbytes // SHARDS
REST = [(k * EACH, EACH) for k in range(1, SHARDS)]
SHARD = error("CorruptChunkError", "x/c/0")
for where in ("start", "end"):
    shard_case(f"with its index at the {where}", lambda w=where: shard(where=w), GOOD, where=where)
    shard_case(
        f"with a wrong checksum at the {where}",
        lambda w=where: shard(where=w, checksum=7),
        SHARD,
        where=where,
    )
    shard_case(
        f"without a checksum, index at the {where}",
        lambda w=where: shard(where=w, checked=False),
        GOOD,
        where=where,
        checked=False,
    )
shard_case(
    "whose chunks overlap",
    lambda: shard([(0, EACH)] * SHARDS),
    GOOD,
    expected=np.tile(PLAIN[: COUNT // SHARDS], SHARDS),
)
shard_case(
    "with an empty chunk",
    lambda: shard([(EMPTY, EMPTY), *REST]),
    GOOD,
    expected=np.r_[[-1] * (COUNT // SHARDS), PLAIN[COUNT // SHARDS :]],
)
shard_case(
    "with all chunks empty", lambda: shard([(EMPTY, EMPTY)] * SHARDS), GOOD, expected=np.full(COUNT, -1)
)
for label, pair in {
    "past the end": (NBYTES, EACH),
    "far past the end": (2**62, EACH),
    "at 2^64 - 1 of some bytes": (EMPTY, EACH),
    "of 2^64 - 1 bytes": (0, EMPTY),
    "whose end wraps": (2**64 - 8, 16),
    "at 2^63": (2**63, EACH),
    "of 2^63 bytes": (0, 2**63),
    "of no bytes": (0, 0),
    "that is short": (0, EACH - 4),
    "that is long": (0, EACH + 4),
    "that runs over the end": (NBYTES - 4, EACH + 100),
}.items():
    shard_case(f"with a chunk {label}", lambda p=pair: shard([p, *REST]), SHARD)
    shard_case(
        f"unchecked, with a chunk {label}",
        lambda p=pair: shard([p, *REST], checked=False),
        SHARD,
        checked=False,
    )
NO_INDEX = error("ChunkError", "x/shard (0,)", "x/c/0", "index")
shard_case("of no bytes", lambda: b"", NO_INDEX)
shard_case("of half an index", lambda: shard()[-30:], NO_INDEX)
shard_case("of an index alone", lambda: shard()[-68:], SHARD)
shard_case("cut in half", lambda: shard()[: NBYTES // 2], SHARD)
shard_case("of zeros", lambda: bytes(len(shard())), SHARD)
shard_case("with bytes behind its index", lambda: shard() + bytes(5), SHARD)
