"""The kernels that move and sum bytes, against loops too simple to be wrong and against the originals."""

from __future__ import annotations

import zlib

import google_crc32c
import numcodecs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro._core import checksum, filter  # noqa: A004

data = st.binary(max_size=3000)


def slow_unshuffle(stored: bytes, width: int) -> bytes:
    count = len(stored) // width
    body = bytes(stored[at % width * count + at // width] for at in range(count * width))
    return body + stored[count * width :]


@given(data, st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_unshuffle_agrees_with_the_loop(stored, width):
    assert filter.unshuffle(stored, width).tobytes() == slow_unshuffle(stored, width)
    assert filter.unshuffle_plain(stored, width).tobytes() == slow_unshuffle(stored, width)


@given(data, st.sampled_from([2, 3, 4, 8, 16]))
def test_unshuffle_undoes_what_numcodecs_does(values, width):
    values = values[: len(values) // width * width]
    stored = bytes(numcodecs.Shuffle(width).encode(values))
    assert filter.unshuffle(stored, width).tobytes() == values


@given(data, st.integers(1, 20))
def test_swap_reverses_every_element(values, width):
    whole = len(values) // width * width
    elements = [values[at : at + width][::-1] for at in range(0, whole, width)]
    assert filter.swap(values, width).tobytes() == b"".join(elements) + values[whole:]


@given(data)
@settings(max_examples=200)
def test_checksums_agree_with_the_originals(values):
    assert checksum.crc32c(values) == checksum.crc32c_plain(values) == google_crc32c.value(values)
    assert checksum.crc32(values) == zlib.crc32(values)
    assert checksum.adler32(values) == zlib.adler32(values)
    if values:
        stored = bytes(numcodecs.Fletcher32().encode(values))
        assert checksum.fletcher32(values) == int.from_bytes(stored[-4:], "little")


@pytest.mark.parametrize("n", [0, 1, 719, 720, 721, 100_000, 100_001])
@pytest.mark.parametrize("value", [0, 1, 255])
def test_sums_do_not_overflow(n, value):
    values = np.full(n, value, np.uint8).tobytes()
    assert checksum.adler32(values) == zlib.adler32(values)
    if n:
        stored = bytes(numcodecs.Fletcher32().encode(values))
        assert checksum.fletcher32(values) == int.from_bytes(stored[-4:], "little")


def test_an_element_has_bytes():
    with pytest.raises(ValueError, match="at least 1 byte"):
        filter.swap(b"abc", 0)
