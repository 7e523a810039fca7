"""Grids whose chunks differ in extent: written here chunk by chunk, as zarr-python does since 3.2 only."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import basic_selections, orthogonal_selections, point_selections

import zaro


def text_bytes(block):
    texts = [text.encode() for text in block.ravel().tolist()]
    return struct.pack("<I", len(texts)) + b"".join(struct.pack("<I", len(text)) + text for text in texts)


CODECS = {
    "plain": ([{"name": "bytes", "configuration": {"endian": "little"}}], bytes),
    "gzip": (["bytes", {"name": "gzip", "configuration": {"level": 1}}], gzip.compress),
    "bz2": (["bytes", {"name": "numcodecs.bz2", "configuration": {"level": 1}}], bz2.compress),
    "transposed bz2": (
        [
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "numcodecs.bz2", "configuration": {"level": 1}},
        ],
        bz2.compress,
    ),
    "text": (["vlen-utf8"], None),
}


def written(values, edges, name):
    """A store of `values` whose chunks have the extents `edges` along each axis; the last may reach past."""
    codecs, encode = CODECS[name]
    is_text = values.dtype.kind == "T" or values.dtype == object
    store = {
        "zarr.json": json.dumps(
            {
                "zarr_format": 3,
                "node_type": "array",
                "shape": values.shape,
                "data_type": "string" if is_text else "int32",
                "fill_value": "" if is_text else 0,
                "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
                "codecs": [codec if isinstance(codec, dict) else {"name": codec} for codec in codecs],
                "chunk_grid": {
                    "name": "rectilinear",
                    "configuration": {"kind": "inline", "chunk_shapes": edges},
                },
            }
        ).encode()
    }
    padded = np.zeros([sum(axis) for axis in edges], values.dtype)
    padded[tuple(map(slice, values.shape))] = values
    if is_text:
        padded[padded == 0] = ""
    begins = [np.cumsum([0, *axis]) for axis in edges]
    for index in itertools.product(*(range(len(axis)) for axis in edges)):
        block = padded[tuple(slice(begins[d][k], begins[d][k + 1]) for d, k in enumerate(index))]
        if name.startswith("transposed"):
            block = block.T
        data = text_bytes(block) if encode is None else encode(np.ascontiguousarray(block).tobytes())
        store["c/" + "/".join(map(str, index))] = data
    return store


def shard(block, inner, absent, where):
    """A shard of `block`: its inner chunks in reverse, those of an index in `absent` left out."""
    data, index = b"", []
    counts = [size // n for size, n in zip(block.shape, inner, strict=True)]
    start = 16 * int(np.prod(counts)) if where == "start" else 0
    spans = {}
    for place in list(np.ndindex(*counts))[::-1]:
        if place not in absent:
            part = block[tuple(slice(k * n, k * n + n) for k, n in zip(place, inner, strict=True))].tobytes()
            spans[place] = start + len(data), len(part)
            data += part
    for place in np.ndindex(*counts):
        index += spans.get(place, (2**64 - 1, 2**64 - 1))
    stored = np.array(index, "<u8").tobytes()
    return stored + data if where == "start" else data + stored


@st.composite
def sharded(draw):
    """Values, and a store of shards of any extents that holds them."""
    inner = draw(st.tuples(st.integers(1, 2), st.integers(1, 3)))
    edges = [[n * k for k in draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))] for n in inner]
    shape = tuple(sum(axis) - draw(st.integers(0, axis[-1] - 1)) for axis in edges)
    where = draw(st.sampled_from(["start", "end"]))
    values = np.arange(1, 1 + np.prod(shape), dtype=np.int32).reshape(shape)
    store = written(values, edges, "plain")
    document = json.loads(store["zarr.json"])
    sharding = {
        "chunk_shape": inner,
        "codecs": document["codecs"],
        "index_codecs": document["codecs"],
        "index_location": where,
    }
    document["codecs"] = [{"name": "sharding_indexed", "configuration": sharding}]
    padded = np.zeros([sum(axis) for axis in edges], np.int32)
    padded[tuple(map(slice, shape))] = values
    begins = [np.cumsum([0, *axis]) for axis in edges]
    for index in itertools.product(*(range(len(axis)) for axis in edges)):
        absent = draw(st.sets(st.just((0, 0))))
        region = tuple(slice(begins[d][k], begins[d][k + 1]) for d, k in enumerate(index))
        store["c/" + "/".join(map(str, index))] = shard(padded[region], inner, absent, where)
        if absent:
            padded[
                tuple(slice(part.start, part.start + n) for part, n in zip(region, inner, strict=True))
            ] = 0
    return padded[tuple(map(slice, shape))], store | {"zarr.json": json.dumps(document).encode()}


@st.composite
def grids(draw):
    edges = draw(st.tuples(*[st.lists(st.integers(1, 5), min_size=1, max_size=4)] * 2))
    shape = tuple(sum(axis) - draw(st.integers(0, axis[-1] - 1)) for axis in edges)
    return shape, [list(axis) for axis in edges]


@given(grids(), st.sampled_from(list(CODECS)), st.data())
@settings(max_examples=300, deadline=None)
def test_chunks_of_any_extents_read_as_they_were_written(grid, name, data):
    shape, edges = grid
    values = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    if name == "text":
        values = values.astype(str).astype(object)
    array = zaro.open(written(values, edges, name))
    np.testing.assert_array_equal(array[...], values)
    selection = data.draw(basic_selections(shape))
    np.testing.assert_array_equal(array[selection], values[selection])
    picks = data.draw(orthogonal_selections(shape))
    expected = values
    for axis, pick in reversed(list(enumerate(picks))):
        expected = expected[(slice(None),) * axis + (pick,)]
    np.testing.assert_array_equal(array.oindex[picks], expected)
    points = data.draw(point_selections(shape))
    np.testing.assert_array_equal(array.vindex[points], values[points])


@given(sharded(), st.data())
@settings(max_examples=150, deadline=None)
def test_shards_of_any_extents_read_as_they_were_written(made, data):
    values, store = made
    array = zaro.open(store)
    np.testing.assert_array_equal(array[...], values)
    selection = data.draw(basic_selections(values.shape))
    np.testing.assert_array_equal(array[selection], values[selection])
    points = data.draw(point_selections(values.shape))
    np.testing.assert_array_equal(array.vindex[points], values[points])


def test_an_inner_chunk_divides_every_shard():
    store = written(np.zeros((5, 4), np.int32), [[2, 3], [4]], "plain")
    document = json.loads(store["zarr.json"])
    sharding = {"chunk_shape": [2, 2], "codecs": document["codecs"], "index_codecs": document["codecs"]}
    document["codecs"] = [{"name": "sharding_indexed", "configuration": sharding}]
    with pytest.raises(zaro.errors.MetadataError, match="divide the shape of each shard"):
        zaro.open({"zarr.json": json.dumps(document).encode()})[...]


def test_a_chunk_of_the_wrong_size_is_refused():
    values = np.arange(12, dtype=np.int32).reshape(3, 4)
    store = written(values, [[1, 2], [4]], "bz2")
    store["c/0/0"], store["c/1/0"] = store["c/1/0"], store["c/0/0"]
    with pytest.raises(zaro.errors.CorruptChunkError, match="c/0/0"):
        zaro.open(store)[...]
