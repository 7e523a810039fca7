"""Whatever numcodecs encodes, the chain decodes to the same bits."""

from __future__ import annotations

import numcodecs
import numpy as np
import pytest
from chains import block, decode, dtypes, make_v2, same, served, shapes, without_libraries
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.errors import CorruptChunkError

COMPRESSORS = [
    numcodecs.Zlib(1),
    numcodecs.Zlib(0),
    numcodecs.GZip(6),
    numcodecs.Zstd(1),
    numcodecs.Zstd(5, checksum=True),
    numcodecs.LZ4(),
    numcodecs.BZ2(1),
    numcodecs.LZMA(preset=0),
    numcodecs.Base64(),
    *(numcodecs.Blosc(c, 5, s) for c in ("blosclz", "lz4", "lz4hc", "zlib", "zstd") for s in (0, 1, 2)),
    numcodecs.Blosc("lz4", 0, 1),
    numcodecs.Blosc("zstd", 9, 1, blocksize=16),
]
CHECKS = [
    numcodecs.CRC32(),
    numcodecs.CRC32("end"),
    numcodecs.CRC32C(),
    numcodecs.CRC32C("start"),
    numcodecs.Adler32(),
    numcodecs.Adler32("end"),
    numcodecs.Fletcher32(),
    numcodecs.JenkinsLookup3(),
]


def encode(encoders, values, order="C"):
    stored = values.ravel(order=order)
    for encoder in encoders:
        stored = encoder.encode(stored)
    return np.ascontiguousarray(stored).tobytes() if isinstance(stored, np.ndarray) else bytes(stored)


@given(
    dtypes,
    shapes,
    st.lists(st.sampled_from(COMPRESSORS + CHECKS), max_size=4),
    st.sampled_from("CF"),
    st.data(),
)
@settings(max_examples=400, deadline=None)
def test_any_list_of_byte_codecs_decodes_to_what_was_encoded(dtype, shape, encoders, order, data):
    values = block(dtype, shape)
    if data.draw(st.booleans()) and dtype.itemsize > 1:
        encoders = [numcodecs.Shuffle(dtype.itemsize), *encoders]
    if dtype.kind in "mM":
        values = values.view("i8")
    stored = encode(encoders, values, order)
    with without_libraries(data.draw(st.booleans())):
        chain = make_v2(encoders, dtype, shape, order)
    assert same(decode(chain, stored, dtype, shape), values.view(dtype))


@pytest.mark.parametrize("encoder", COMPRESSORS + CHECKS, ids=repr)
def test_what_c_serves_needs_no_python(encoder):
    chain = make_v2([encoder], "<f4", (10,))
    in_python = encoder.codec_id in {"bz2", "lzma", "base64", "jenkins_lookup3"} or not served(
        encoder.codec_id
    )
    assert bool(chain.foreign) == in_python


NUMBERS = ["|b1", "|i1", "|u1"] + [o + k + w for o in "<>" for k in "iu" for w in "248"]
NUMBERS += [o + "f" + w for o in "<>" for w in "248"]
numbers = st.sampled_from(NUMBERS).map(np.dtype)


def moderate(dtype, seed):
    """Numbers that every other type holds or wraps, never a float that an integer cannot."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2 if dtype.kind == "b" else 120, 300)
    return (
        values.astype(dtype) if dtype.kind in "bu" else (values - rng.integers(0, 2, 300) * 60).astype(dtype)
    )


def anything(dtype, seed):
    """All bit patterns of integers; floats of many sizes with the special ones among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.integers(0, 2, 300).astype(dtype)
    if dtype.kind in "iu":
        return rng.integers(0, 256, 300 * dtype.itemsize, dtype=np.uint8).view(dtype)
    values = rng.standard_normal(300) * 10.0 ** rng.integers(-8, 5, 300)
    values[:4] = 0.0, -0.0, np.inf, np.nan
    return rng.permutation(values).astype(dtype)


def agrees(encoder, stored, dtype):
    with np.errstate(all="ignore"):
        expected = encoder.decode(np.frombuffer(stored.tobytes(), np.uint8))
    found = decode(make_v2([encoder], dtype, (stored.size,)), stored.tobytes(), dtype, (stored.size,))
    if expected.dtype.kind == "f":  # every not-a-number is as good as another
        found, expected = (np.where(np.isnan(v), v.dtype.type(0), v) for v in (found, expected))
        expected = expected.astype(dtype)
        found = found.astype(dtype)
    return same(found, expected)


@given(numbers, numbers, st.integers(0, 99))
@settings(max_examples=300, deadline=None)
def test_numbers_convert_and_add_up_as_in_numpy(stored, decoded, seed):
    values = (moderate if stored.kind == "f" and decoded.kind in "iu" else anything)(stored, seed)
    assert agrees(numcodecs.AsType(encode_dtype=stored, decode_dtype=decoded), values, decoded)
    assert agrees(numcodecs.Delta(dtype=decoded, astype=stored), values, decoded) or decoded.kind in "iu"
    if stored.kind != "f" or decoded.kind not in "iu":
        assert agrees(numcodecs.Delta(dtype=decoded, astype=stored), values, decoded)


@given(numbers, numbers, st.floats(0.01, 100), st.floats(-100, 100), st.integers(0, 99))
@settings(max_examples=300, deadline=None)
def test_scale_and_offset_round_as_in_numpy(stored, decoded, scale, offset, seed):
    values = (moderate if decoded.kind in "iu" else anything)(stored, seed)
    if decoded.kind in "iu":  # keep what comes out inside every integer
        scale, offset = max(scale, 1.0), 0.0
        values = np.abs(values) if stored.kind in "if" else values
    assert agrees(
        numcodecs.FixedScaleOffset(offset=offset, scale=scale, dtype=decoded, astype=stored), values, decoded
    )


@pytest.mark.parametrize("scale", [10, 1000, 3])
@pytest.mark.parametrize("stored", ["<i2", ">u4", "<f4", "<f2", "<i8"])
def test_a_whole_number_as_scale_is_a_number_like_others(scale, stored):
    values = anything(np.dtype(stored), 1)
    encoder = numcodecs.FixedScaleOffset(offset=7, scale=scale, dtype="<f8", astype=stored)
    assert agrees(encoder, values, np.dtype("<f8"))


def test_lossy_filters_are_not_undone():
    values = np.linspace(0, 1, 60, dtype="<f4").reshape(5, 12)
    rounded = numcodecs.BitRound(7).encode(values)
    chain = make_v2([numcodecs.BitRound(7), numcodecs.Zlib()], "<f4", (5, 12))
    assert len(chain.foreign) + len(chain.kernel) == 1
    assert same(decode(chain, numcodecs.Zlib().encode(rounded), "<f4", (5, 12)), rounded.view("<f4"))
    coarse = numcodecs.Quantize(3, "<f8", "<f4")
    chain = make_v2([coarse], "<f8", (60,))
    stored = coarse.encode(values.ravel().astype("f8"))
    assert same(decode(chain, stored.tobytes(), "<f8", (60,)), stored.astype("<f8"))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 100])
def test_packed_bits(n):
    values = np.arange(n) % 3 == 0
    chain = make_v2([numcodecs.PackBits(), numcodecs.Zlib()], "|b1", (n,))
    stored = numcodecs.Zlib().encode(numcodecs.PackBits().encode(values))
    assert same(decode(chain, stored, "|b1", (n,)), values)


def test_structured_elements():
    dtype = np.dtype([("a", "<i2"), ("b", ">f8"), ("c", "S3")])
    values = np.zeros(10, dtype)
    values["a"], values["b"], values["c"] = np.arange(10), np.linspace(0, 1, 10), b"xyz"
    chain = make_v2([numcodecs.Blosc("zstd", 5, 1)], dtype, (10,))
    assert same(decode(chain, numcodecs.Blosc("zstd", 5, 1).encode(values), dtype, (10,)), values)


@pytest.mark.parametrize("encoder", COMPRESSORS + CHECKS, ids=repr)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_damaged_chunks_are_errors_or_blocks_of_the_right_size(encoder, data):
    values = block("<i4", (40,))
    stored = bytearray(encode([encoder], values))
    kind = data.draw(st.sampled_from(["cut", "grown", "flipped", "spliced"]))
    if kind == "cut":
        del stored[data.draw(st.integers(0, len(stored) - 1)) :]
    elif kind == "grown":
        stored += data.draw(st.binary(min_size=1, max_size=9))
    elif kind == "flipped":
        stored[data.draw(st.integers(0, len(stored) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    else:
        at = data.draw(st.integers(0, len(stored)))
        stored[at : at + 4] = data.draw(st.binary(max_size=8))
    with without_libraries(data.draw(st.booleans())):
        chain = make_v2([encoder], "<i4", (40,))
    try:
        found = decode(chain, bytes(stored), "<i4", (40,))
    except CorruptChunkError:
        return
    assert found.shape == (40,)
    if kind == "cut":
        assert same(found, values)


@pytest.mark.parametrize("encoder", COMPRESSORS, ids=repr)
@pytest.mark.parametrize("wrong", [0, 1, 39, 41, 1000])
@pytest.mark.parametrize("without", [False, True])
def test_a_chunk_of_another_size_is_an_error(encoder, wrong, without):
    stored = encode([encoder], block("<i4", (40,)))
    with without_libraries(without):
        chain = make_v2([encoder], "<i4", (wrong,))
    with pytest.raises(CorruptChunkError):
        decode(chain, stored, "<i4", (wrong,))


@pytest.mark.parametrize("without", [False, True])
def test_what_follows_the_end_is_judged_as_the_originals_do(without):
    values = block("<i4", (40,))
    cases = [
        (numcodecs.Zlib(), b"junk", True),
        (numcodecs.GZip(), b"\0\0", True),
        (numcodecs.GZip(), b"junk", False),
    ]
    cases += [
        (numcodecs.BZ2(), b"junk", True),
        (numcodecs.Zstd(), b"junk", False),
    ]
    for encoder, more, fine in cases:
        stored = encode([encoder], values) + more
        with without_libraries(without):
            chain = make_v2([encoder], "<i4", (40,))
        if fine:
            assert encoder.decode(stored) is not None
            assert same(decode(chain, stored, "<i4", (40,)), values)
        else:
            with pytest.raises(CorruptChunkError):
                decode(chain, stored, "<i4", (40,))


@pytest.mark.parametrize("without", [False, True])
def test_frames_and_members_may_follow_each_other(without):
    values = block("<i4", (40,))
    for encoder in (numcodecs.Zstd(), numcodecs.GZip(), numcodecs.BZ2()):
        stored = bytes(encoder.encode(values[:11])) + bytes(encoder.encode(values[11:]))
        with without_libraries(without):
            chain = make_v2([encoder], "<i4", (40,))
        assert same(decode(chain, stored, "<i4", (40,)), values)


@pytest.mark.parametrize("without", [False, True])
def test_a_zstd_frame_need_not_state_its_size(without):
    zstandard = pytest.importorskip("zstandard")
    values = block("<i4", (40,))
    stored = zstandard.ZstdCompressor(write_content_size=False).compress(values.tobytes())
    with without_libraries(without):
        chain = make_v2([numcodecs.Zstd()], "<i4", (40,))
    assert same(decode(chain, stored, "<i4", (40,)), values)


@given(st.integers(1, 20), st.integers(1, 400), st.sampled_from([0, 16, 64]), st.sampled_from([0, 1, 2]))
@settings(max_examples=200, deadline=None)
def test_blosc_chunks_need_not_hold_whole_elements(width, nbytes, blocksize, shuffle):
    # libblosc2 forgets the last bytes of such a chunk where its bits are shuffled
    values = (np.arange(nbytes) // 5).astype("u1")
    stored = numcodecs.blosc.compress(values, b"lz4", 5, shuffle, blocksize * width, width)
    assert same(decode(make_v2([numcodecs.Blosc()], "|u1", (nbytes,)), stored, "|u1", (nbytes,)), values)
