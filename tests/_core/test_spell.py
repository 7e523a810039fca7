import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro._core import spell
from zaro.metadata.keys import KeyEncoding

spans = st.tuples(
    st.integers(0, 59), st.integers(0, 2), st.integers(0, 2**63 - 1), st.integers(-1, 2**63 - 1)
)
encodings = st.builds(KeyEncoding, st.sampled_from(["default", "v2"]), st.sampled_from([".", "/"]))
FILES = ["a.nc", 'é"', ""]
GRID = np.array([3, 4, 5])


def columns(rows):
    ids, file, offset, length = zip(*rows, strict=True) if rows else ((), (), (), ())
    return (
        np.array(ids, np.int64),
        np.array(file, np.int32),
        np.array(offset, np.int64),
        np.array(length, np.int64),
    )


def spelled(rows, encoding, room):
    texts = [json.dumps(name).encode() for name in FILES]
    ends = np.cumsum([len(text) for text in texts])
    start, found = 0, b""
    out = bytearray(room)
    while start < len(rows):
        done, used = spell.rows(
            out, b"g/x/", GRID, b"".join(texts), ends, *columns(rows),
            prefixed=encoding.name == "default", separator=encoding.separator, start=start,
        )  # fmt: skip
        found += out[:used]
        start += done
    return found


@given(st.lists(spans, max_size=8), encodings, st.sampled_from([1000, 100_000]))
def test_rows_become_members_of_a_document(rows, encoding, room):
    text = spelled(rows, encoding, room)
    pairs = json.loads(b"{" + text.rstrip(b",\n") + b"}", object_pairs_hook=list)
    expected = []
    for chunk, file, offset, length in rows:
        index = tuple(map(int, np.unravel_index(chunk, GRID)))
        span = [FILES[file]] if length == -1 else [FILES[file], offset, length]
        expected.append(("g/x/" + encoding.key(index), span))
    assert pairs == expected


def call(rows, *, grid=GRID, ends=(6,), files=b'"a.nc"', room=2000, start=0):
    return spell.rows(
        bytearray(room), b"x/", np.array(grid), files, np.array(ends), *columns(rows),
        prefixed=False, separator=".", start=start,
    )  # fmt: skip


def test_borders_are_checked():
    assert call([]) == call([(0, 0, 0, 0)], start=1) == (0, 0)
    with pytest.raises(IndexError, match="chunk 60 of 60"):
        call([(60, 0, 0, 0)])
    with pytest.raises(ValueError, match="outside what its place allows"):
        call([(0, 1, 0, 0)])
    with pytest.raises(ValueError, match="fewer bytes than promised"):
        call([(0, 0, 0, 0)], room=100)
    with pytest.raises(ValueError, match="file 0 ends at 7 of 6 bytes"):
        call([(0, 0, 0, 0)], ends=(7,))
    with pytest.raises(ValueError, match="file 1 ends at 2 of 6 bytes"):
        call([(0, 0, 0, 0)], ends=(6, 2))
    with pytest.raises(ValueError, match="a grid of"):
        call([(0, 0, 0, 0)], grid=[2**62, 2**62])
    with pytest.raises(ValueError, match="1 ids from 2"):
        call([(0, 0, 0, 0)], start=2)
