"""Codecs that change the values of an array, against encoders too simple to be wrong."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from chains import decode, make
from hypothesis import given
from hypothesis import strategies as st

from zaro.errors import CorruptChunkError, MetadataError, UnsupportedError

BYTES = ("bytes", {"endian": "little"})


def scaled(members, dtype, stored):
    """Decode `stored` as the numbers that `scale_offset` left."""
    chain = make([("scale_offset", members), BYTES], dtype, np.shape(stored))
    return decode(chain, np.array(stored, dtype).tobytes(), dtype, np.shape(stored))


@given(
    st.sampled_from(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]),
    st.lists(st.integers(0, 40), min_size=1, max_size=9),
    st.integers(0, 9),
    st.integers(1, 3),
)
def test_integers_come_back_as_they_were(dtype, values, offset, scale):
    values = [value + offset for value in values]
    stored = [(value - offset) * scale for value in values]
    assert scaled({"offset": offset, "scale": scale}, f"<{dtype}", stored).tolist() == values


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8"])
def test_floats_are_reckoned_in_their_own_type(dtype):
    stored = np.array([1, 3, 7, np.nan, np.inf], dtype)
    expected = stored / np.dtype(dtype).type(3) + np.dtype(dtype).type(0.1)
    np.testing.assert_array_equal(scaled({"offset": 0.1, "scale": 3}, dtype, stored), expected)


def test_a_number_may_be_spelled_as_a_fill_value_is():
    assert scaled({"offset": "0x3f800000"}, "<f4", [0]).tolist() == [1]
    assert np.isnan(scaled({"offset": "NaN"}, "<f4", [0]))


@pytest.mark.parametrize(
    ("members", "stored", "said"),
    [
        ({"scale": 2}, [3], "no multiple"),
        ({"offset": 100}, [100], "outside of the range"),
        ({"scale": -1}, [-128], "outside of the range"),
    ],
)
def test_what_no_encoder_wrote_is_refused(members, stored, said):
    with pytest.raises(CorruptChunkError, match=said):
        scaled(members, "<i1", stored)


@pytest.mark.parametrize("members", [{"scale": 0}, {"offset": 1.5}, {"offset": 300}, {"scale": True}])
def test_a_number_that_is_none_of_the_type_is_refused(members):
    with pytest.raises(MetadataError, match=next(iter(members))):
        make([("scale_offset", members), BYTES], "<i1", (2,))


def test_values_are_changed_before_the_array_becomes_bytes():
    with pytest.raises(MetadataError, match="turned into bytes before"):
        make([BYTES, ("scale_offset", {})], "<i2", (2,))
    with pytest.raises(MetadataError, match="takes integers and floats"):
        make([("scale_offset", {}), BYTES], "<c8", (2,))


def test_an_absent_chunk_of_a_shard_is_the_fill_value_again():
    shard = {"chunk_shape": [1], "codecs": [{"name": "bytes"}], "index_codecs": [{"name": "bytes"}]}
    codecs = [("scale_offset", {"offset": 5, "scale": 10}), ("sharding_indexed", shard)]
    chain = make(codecs, "<i4", (2,), fill=np.int32(7))
    stored = np.array([60], "<i4").tobytes() + np.array([0, 4, 2**64 - 1, 2**64 - 1], "<u8").tobytes()
    assert decode(chain, stored, "<i4", (2,)).tolist() == [11, 7]


def test_cast_values_come_back():
    pytest.importorskip("cast_value_rs")
    members = {"data_type": "uint8", "scalar_map": {"decode": [[255, "NaN"]], "encode": [["NaN", 255]]}}
    chain = make([("cast_value", members), BYTES], "<f4", (3,))
    np.testing.assert_array_equal(decode(chain, bytes([0, 7, 255]), "<f4", (3,)), [0, 7, np.nan])


def test_a_cast_without_its_package_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cast_value_rs", None)
    with pytest.raises(UnsupportedError, match="pip install cast-value-rs"):
        make([("cast_value", {"data_type": "int8"}), BYTES], "<f4", (3,))
