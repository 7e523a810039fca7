"""Text, bytes and other objects: as numcodecs encodes them, and never more than the bytes can hold."""

from __future__ import annotations

import json

import numcodecs
import numpy as np
import pytest
from chains import Codec, decode, make, make_v2
from hypothesis import given, settings
from hypothesis import strategies as st

import zaro
from zaro.codecs.chain import BYTES
from zaro.errors import CorruptChunkError, MetadataError, UnsupportedError

texts = st.lists(st.text(max_size=9), min_size=1, max_size=12)


def objects(values):
    out = np.empty(len(values), object)
    for k, value in enumerate(values):
        out[k] = value
    return out


def read(encoders, values, dtype=object):
    stored = encoders[0].encode(values)
    for encoder in encoders[1:]:
        stored = encoder.encode(stored)
    return decode(make_v2(encoders, dtype, values.shape), bytes(stored), dtype, values.shape)


@given(
    texts,
    st.sampled_from(
        [None, numcodecs.Zstd(), numcodecs.Blosc(), numcodecs.LZ4(), numcodecs.Zlib(), numcodecs.BZ2()]
    ),
)
@settings(max_examples=100, deadline=None)
def test_text(values, compressor):
    for encoder in (numcodecs.VLenUTF8(), numcodecs.JSON(), numcodecs.MsgPack()):
        encoders = [encoder] if compressor is None else [encoder, compressor]
        assert read(encoders, objects(values)).tolist() == values


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=12))
@settings(max_examples=50, deadline=None)
def test_bytes(values):
    assert read([numcodecs.VLenBytes(), numcodecs.CRC32()], objects(values)).tolist() == values


def test_arrays_of_any_length():
    values = objects([np.arange(n, dtype="<i2") for n in (0, 3, 1)])
    found = read([numcodecs.VLenArray("<i2"), numcodecs.Zstd()], values)
    assert [one.tolist() for one in found] == [one.tolist() for one in values]
    assert all(one.dtype == "<i2" for one in found)


@pytest.mark.parametrize("encoder", [numcodecs.JSON(), numcodecs.MsgPack()], ids=repr)
def test_any_object_that_the_format_knows(encoder):
    values = objects([1, 2.5, None, "a", [1, [2]], {"b": 3}])
    assert read([encoder], values).tolist() == values.tolist()
    grid = np.array([[1, 2, 3], [4, 5, 6]], object)
    assert read([encoder], grid).tolist() == grid.tolist()
    assert read([encoder], np.array([[1, 2]], "<i8"), "<i8").tolist() == [[1, 2]]


def test_an_array_without_dimensions():
    assert read([numcodecs.JSON()], np.array(["x"], object).reshape(())).tolist() == "x"
    assert read([numcodecs.VLenUTF8()], np.array(["x"], object).reshape(())).tolist() == "x"


def test_labels():
    values = objects(["male", "female", "male", "other"])
    encoder = numcodecs.Categorize(labels=["female", "male"], dtype=object)
    assert read([encoder, numcodecs.Zlib()], values).tolist() == ["male", "female", "male", ""]
    encoder = numcodecs.Categorize(labels=["female", "male"], dtype="<U6")
    assert read([encoder], values.astype("<U6"), "<U6").tolist() == ["male", "female", "male", ""]


def test_order_f_is_undone():
    values = objects([str(k) for k in range(6)]).reshape(2, 3)
    stored = numcodecs.VLenUTF8().encode(values.ravel(order="F"))
    found = decode(make_v2([numcodecs.VLenUTF8()], object, (2, 3), order="F"), bytes(stored), object, (2, 3))
    assert found.tolist() == values.tolist()


@pytest.mark.parametrize("count", [0, 1, 2, 4, 2**32 - 1])
def test_a_header_that_promises_another_number_is_refused_before_anything_is_allocated(count):
    stored = bytearray(numcodecs.VLenUTF8().encode(objects(["a", "b", "c"])))
    stored[:4] = count.to_bytes(4, "little")
    with pytest.raises(CorruptChunkError, match="expected 3"):
        decode(make_v2([numcodecs.VLenUTF8()], object, (3,)), bytes(stored), object, (3,))


def test_a_count_that_the_bytes_cannot_hold_is_refused():
    chain = make_v2([numcodecs.VLenUTF8()], object, (2**30,))
    with pytest.raises(CorruptChunkError, match="8 bytes promise 1073741824"):
        decode(chain, (2**30).to_bytes(4, "little") + b"\0" * 4, object, (2**30,))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_text_is_an_error_or_as_many_elements(data):
    encoder = data.draw(
        st.sampled_from([numcodecs.VLenUTF8(), numcodecs.VLenBytes(), numcodecs.JSON(), numcodecs.MsgPack()])
    )
    values = objects([b"ab", b"", b"c"] if encoder.codec_id == "vlen-bytes" else ["ab", "", "ü"])
    stored = bytearray(encoder.encode(values))
    at = data.draw(st.integers(0, len(stored)))
    stored[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
    try:
        found = decode(make_v2([encoder], object, (3,)), bytes(stored), object, (3,))
    except CorruptChunkError:
        return
    assert found.shape == (3,)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [1],
        {"a": 1},
        [1, 2, "|O", 3],
        [1, 2, "|O", [2, 2]],
        [[1], 2, "|O", [2, 1]],
        ["x"] * 9 + ["|O", [9]],
    ],
    ids=str,
)
def test_a_json_list_of_another_form_is_refused(items):
    with pytest.raises(CorruptChunkError):
        decode(make_v2([numcodecs.JSON()], object, (2,)), json.dumps(items).encode(), object, (2,))


def test_deep_json_is_an_error_not_a_crash():
    with pytest.raises(CorruptChunkError):
        decode(make_v2([numcodecs.JSON()], object, (2,)), b"[" * 200_000, object, (2,))


def test_text_that_is_no_utf_8_is_an_error():
    stored = bytearray(numcodecs.VLenUTF8().encode(objects(["abc"])))
    stored[-1] = 0xFF
    with pytest.raises(CorruptChunkError, match="vlen-utf8"):
        decode(make_v2([numcodecs.VLenUTF8()], object, (1,)), bytes(stored), object, (1,))


def test_pickles_are_never_opened(monkeypatch):
    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    with pytest.raises(UnsupportedError, match="runs code") as raised:
        make([("numcodecs.pickle", {"protocol": 5})], object, (3,), "a/.zarray")
    assert raised.value.document == "a/.zarray"
    assert raised.value.member == "codecs[0]"


@pytest.mark.parametrize("named", ["base64", "jenkins_lookup3", "vlen-utf8", "categorize"])
@pytest.mark.parametrize("hidden", ["pickle", "blosc", "zfpy", 7])
def test_no_member_puts_another_codec_in_the_place_of_the_one_that_was_named(named, hidden):
    codecs = [(f"numcodecs.{named}", {"id": hidden})]
    with pytest.raises(MetadataError, match="expected none") as raised:
        make([("bytes", {}), *codecs] if named in BYTES else codecs, "u1" if named in BYTES else object, (3,))
    assert raised.value.member == f"codecs[{int(named in BYTES)}].configuration.id"


def test_objects_need_a_codec_for_objects():
    with pytest.raises(MetadataError, match="no codec for elements"):
        make([("bytes", {})], object, (3,))
    with pytest.raises(MetadataError, match="other codecs did so"):
        make_v2([numcodecs.Zlib(), numcodecs.VLenUTF8()], "<i4", (3,))
    with pytest.raises(MetadataError, match="other codecs did so"):
        make([Codec("vlen-utf8"), Codec("vlen-bytes")], object, (3,))


def test_codecs_of_objects_serve_elements_of_fixed_size_too():
    values = np.array(["foo", "bar", "foo", ""])
    encoder = numcodecs.Categorize(["foo", "bar"], dtype=values.dtype, astype="u1")
    metadata = {
        "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<U3", "order": "C", "fill_value": "",
        "compressor": None, "filters": [encoder.get_config()],
    }  # fmt: skip
    array = zaro.open({".zarray": json.dumps(metadata), "0": bytes(encoder.encode(values))})
    assert array[...].tolist() == values.tolist()
    assert array[::-2].dtype == "<U3"


@pytest.mark.parametrize("config", [{"id": "zstd", "level": 100}, {"id": "gzip", "level": 70}])
def test_a_level_beyond_the_bounds_of_version_3_is_no_reason_to_refuse_version_2(config):
    assert make_v2([numcodecs.get_codec(config)], "<i2", (4,))
