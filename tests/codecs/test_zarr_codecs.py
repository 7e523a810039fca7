"""Whatever codec list zarr-python 3 writes, the chain reads as zarr-python does."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import zarr
from chains import Codec, block, decode, make, same
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.codecs import BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, TransposeCodec, ZstdCodec

NATIVE = [
    GzipCodec(level=5),
    ZstdCodec(level=3),
    ZstdCodec(level=3, checksum=True),
    Crc32cCodec(),
    *(
        BloscCodec(cname=name, shuffle=how)
        for name in ("lz4", "zstd", "zlib", "blosclz", "lz4hc")
        for how in ("shuffle", "noshuffle", "bitshuffle")
    ),
]


def stored_chunk(values, **codecs):
    """The one chunk that zarr-python writes for `values`, and the codec list of its document."""
    store = zarr.storage.MemoryStore()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that numcodecs' codecs are not in the specification
        array = zarr.create_array(
            store,
            shape=values.shape,
            chunks=values.shape,
            dtype=values.dtype,
            fill_value=None,
            config={"write_empty_chunks": True},
            **codecs,
        )
        array[...] = values
        dtype = array.dtype if array.dtype.kind == "T" else array.dtype.newbyteorder("=")
        expected = np.asarray(array[...], dtype)
    document = json.loads(store._store_dict["zarr.json"].to_bytes())
    chunk = next(value.to_bytes() for key, value in store._store_dict.items() if key.startswith("c"))
    entries = [Codec(one["name"], one.get("configuration", {})) for one in document["codecs"]]
    return entries, chunk, expected


def agrees(values, **codecs):
    entries, chunk, expected = stored_chunk(values, **codecs)
    chain = make(entries, expected.dtype, values.shape)
    assert same(decode(chain, chunk, expected.dtype, values.shape), expected)
    return chain


dtypes = st.sampled_from(
    [
        "?",
        "i1",
        "u1",
        "i2",
        "u2",
        "i4",
        "u4",
        "i8",
        "u8",
        "f2",
        "f4",
        "f8",
        "c8",
        "c16",
        "M8[s]",
        "m8[ns]",
        "S4",
        "U3",
    ]
)


@given(
    dtypes.map(np.dtype),
    st.lists(st.integers(1, 5), min_size=0, max_size=4),
    st.sampled_from(["little", "big"]),
    st.lists(st.sampled_from(NATIVE), max_size=3),
    st.data(),
)
@settings(max_examples=150, deadline=None)
def test_codecs_of_the_specification(dtype, shape, endian, compressors, data):
    values = block(dtype, tuple(shape))
    filters = []
    if shape and data.draw(st.booleans()):
        filters = [TransposeCodec(order=tuple(data.draw(st.permutations(range(len(shape))))))]
        if data.draw(st.booleans()):
            filters.append(TransposeCodec(order=tuple(data.draw(st.permutations(range(len(shape)))))))
    agrees(values, filters=filters, serializer=BytesCodec(endian=endian), compressors=compressors)


def extra(name, **configuration):
    """A codec of numcodecs, as a document spells it."""
    return {"name": f"numcodecs.{name}", "configuration": configuration}


FILTERS = [
    ("f8", [extra("fixedscaleoffset", offset=0, scale=25.5)]),
    ("f8", [extra("fixedscaleoffset", offset=0, scale=51, astype="uint16")]),
    ("f4", [extra("quantize", digits=3)]),
    ("f4", [extra("bitround", keepbits=5)]),
    ("i4", [extra("delta", dtype="int32")]),
    ("i8", [extra("delta", dtype="int64", astype="int16")]),
    ("f8", [extra("astype", encode_dtype="float32", decode_dtype="float64")]),
    ("i4", [extra("astype", encode_dtype="int16")]),
    ("?", [extra("packbits")]),
    ("i4", [extra("delta", dtype="int32"), extra("astype", encode_dtype="int64", decode_dtype="int32")]),
]


@pytest.mark.parametrize(("dtype", "filters"), FILTERS, ids=str)
def test_filters_of_numcodecs(dtype, filters):
    agrees(block(dtype, (7, 9)), filters=filters, compressors=[GzipCodec()])


def test_numbers_before_bytes_take_the_byte_order_that_bytes_names():
    # zarr-python reads these back in the byte order of the configuration, and so wrong
    values = block("i4", (7, 9))
    codecs = [
        extra("delta", dtype="<i4", astype="<i8"),
        {"name": "bytes", "configuration": {"endian": "big"}},
    ]
    stored = np.diff(values.ravel(), prepend=0).astype(">i8").tobytes()
    chain = make([(one["name"], one["configuration"]) for one in codecs], "<i4", (7, 9))
    assert same(decode(chain, stored, "<i4", (7, 9)), values)


COMPRESSORS = [
    extra("blosc", cname="zstd", clevel=3, shuffle=2),
    extra("lz4", acceleration=5),
    extra("zstd", level=3),
    extra("zlib", level=2),
    extra("gzip", level=2),
    extra("bz2", level=2),
    extra("lzma", preset=1),
    extra("lzma", format=3, filters=[{"id": 3, "dist": 4}, {"id": 33, "preset": 1}]),
    extra("shuffle"),
    extra("shuffle", elementsize=2),
    extra("crc32"),
    extra("crc32c"),
    extra("adler32"),
    extra("fletcher32"),
    extra("jenkins_lookup3"),
    extra("crc32c", location="start"),
    extra("adler32", location="end"),
]


@pytest.mark.parametrize("codec", COMPRESSORS, ids=str)
def test_byte_codecs_of_numcodecs(codec):
    agrees(block("<f4", (8, 6)), compressors=[codec])


@pytest.mark.parametrize("dtype", ["f4", "i2", "u8"])
def test_pcodec_stands_for_bytes(dtype):
    pytest.importorskip("pcodec")
    chain = agrees(block(dtype, (8, 6)), serializer=extra("pcodec", level=5), compressors=[ZstdCodec()])
    assert len(chain.foreign) == 2


@pytest.mark.parametrize(
    "compressors", [[], [ZstdCodec()], [BloscCodec()], [GzipCodec(), Crc32cCodec()]], ids=len
)
def test_text_of_any_length(compressors):
    values = np.array([["", "abc"], ["ß" * 50, "日本"]], dtype=np.dtypes.StringDType())
    entries, chunk, expected = stored_chunk(values, compressors=compressors)
    for dtype in (expected.dtype, np.dtype(object), np.dtype("U60")):
        found = decode(make(entries, dtype, (2, 2)), chunk, dtype, (2, 2))
        assert found.dtype == dtype
        assert found.tolist() == expected.tolist()


def test_a_structured_type_keeps_its_order():
    dtype = np.dtype([("a", "<i2"), ("b", "<f8"), ("c", "S3")])
    values = np.zeros((3, 2), dtype)
    values["b"] = 1.5
    agrees(values, compressors=[ZstdCodec()])
