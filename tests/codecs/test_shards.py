"""Shards that stand among other codecs, as zarr-python writes and reads them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import zarr
from chains import Codec, block, make, same
from zarr.codecs import (
    BytesCodec,
    Crc32cCodec,
    GzipCodec,
    ShardingCodec,
    TransposeCodec,
    VLenUTF8Codec,
    ZstdCodec,
)

from zaro.errors import CorruptChunkError, MetadataError

SHARDS = {
    "transposed before": [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(3, 2))],
    "compressed after": [ShardingCodec(chunk_shape=(2, 3), codecs=[BytesCodec(), ZstdCodec()]), GzipCodec()],
    "index at the start": [ShardingCodec(chunk_shape=(2, 6), index_location="start"), Crc32cCodec()],
    "transposed inside": [
        ShardingCodec(chunk_shape=(2, 3), codecs=[TransposeCodec(order=(1, 0)), BytesCodec(endian="big")]),
        GzipCodec(),
    ],
    "nested": [
        TransposeCodec(order=(1, 0)),
        ShardingCodec(
            chunk_shape=(6, 2), codecs=[ShardingCodec(chunk_shape=(3, 1), codecs=[BytesCodec(), GzipCodec()])]
        ),
    ],
}


def written(values, codecs, fill):
    """The chunk and the codec list that zarr-python writes; a quarter of the array is left absent."""
    store = zarr.storage.MemoryStore()
    like = {"shape": values.shape, "chunks": values.shape, "dtype": values.dtype, "fill_value": fill}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that such a shard cannot be read in part
        array = zarr.create(store=store, codecs=codecs, zarr_format=3, **like)
        array[:2, :] = values[:2, :]
    expected = np.asarray(array[...])
    document = array.metadata.to_dict()
    entries = [Codec(one["name"], dict(one.get("configuration", {}))) for one in document["codecs"]]
    chunk = next(value.to_bytes() for key, value in store._store_dict.items() if key.startswith("c/"))
    return entries, chunk, expected


@pytest.mark.parametrize("codecs", SHARDS.values(), ids=SHARDS)
def test_they_read_as_zarr_python_reads_them(codecs):
    values = block("<i4", (6, 6)) + 1
    entries, chunk, expected = written(values, codecs, -7)
    chain = make(entries, "<i4", (6, 6), fill=-7)
    assert chain.sharding is None
    assert same(chain.decode(chunk, np.dtype("<i4"), (6, 6)), expected)
    assert (expected == -7).any()


def test_text_in_shards():
    values = np.array([["a", "bc", "", "f"], ["d", "ß", "e", "gh"]] * 2, dtype=np.dtypes.StringDType())
    codecs = [TransposeCodec(order=(1, 0)), ShardingCodec(chunk_shape=(1, 2), codecs=[VLenUTF8Codec()])]
    entries, chunk, expected = written(values, codecs, "none")
    found = make(entries, object, (4, 4), fill="none").decode(chunk, np.dtype(object), (4, 4))
    assert found.tolist() == expected.tolist()


def damaged(entry, **changes):
    return Codec(entry.name, entry.configuration | changes)


def test_damaged_shards_are_errors():
    entries, chunk, _ = written(block("<i4", (6, 6)) + 1, SHARDS["transposed before"], 0)
    chain = make(entries, "<i4", (6, 6))
    for stored in (b"", chunk[:20], chunk[:-1], chunk[1:], chunk + b"x", chunk[:30] + chunk[40:]):
        with pytest.raises(CorruptChunkError):
            chain.decode(stored, np.dtype("<i4"), (6, 6))
    entries = [entries[0], damaged(entries[1], index_codecs=["bytes"])]
    index = np.full((2, 3, 2), 2**64 - 1, "<u8")
    index[1, 0] = 2**63, 2**63 + 8
    with pytest.raises(CorruptChunkError, match=r"chunk \(1, 0\) lies at bytes"):
        make(entries, "<i4", (6, 6)).decode(index.tobytes(), np.dtype("<i4"), (6, 6))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"chunk_shape": [4, 2]}, r"codecs\[1\].configuration.chunk_shape is \[4, 2\], expected 2 integers"),
        ({"chunk_shape": [3]}, "expected 2 integers that divide the shard shape \\[6, 6\\]"),
        ({"chunk_shape": "x"}, "expected 2 integers"),
        ({"chunk_shape": [0, 2]}, "expected 2 integers"),
        ({"index_location": "middle"}, 'index_location is "middle", expected one of "start", "end"'),
        ({"codecs": 5}, "expected a list of codecs"),
        ({"codecs": [5]}, "expected codecs with a name"),
        ({"index_codecs": ["bytes", {"name": "gzip", "configuration": {"level": 1}}]}, "the same size"),
    ],
)
def test_broken_configurations_are_named(changes, said):
    configuration = {"chunk_shape": [3, 2], "codecs": ["bytes"], "index_codecs": ["bytes", "crc32c"]}
    codecs = [("transpose", {"order": [1, 0]}), ("sharding_indexed", configuration | changes)]
    with pytest.raises(MetadataError, match=said):
        make(codecs, "<i4", (6, 6))
