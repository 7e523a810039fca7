import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro._core import intlist

INTEGERS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1)


@settings(deadline=None)
@given(INTEGERS)
def test_what_is_written_parses_as_it_was_here_and_in_json(values):
    text = b"[%s]" % intlist.write(np.array(values, np.int64))
    assert json.loads(text) == values
    assert intlist.parse(text, 0, len(text), len(values)).tolist() == values


@settings(deadline=None)
@given(INTEGERS, st.sampled_from([None, 0, 3]))
def test_json_of_any_style_parses(values, indent):
    text = json.dumps({"a": values, "b": "[1,2"}, indent=indent).encode()
    ((begin, end, count, rank, flags),) = intlist.cuts(text, 0)
    assert (count, rank, flags) == (len(values), 0, 0)
    assert intlist.parse(text, begin, end, count).tolist() == values


@settings(deadline=None)
@given(st.lists(st.sampled_from(["base64:", *'[]{}",:\\ 0123456789-.eskipchunks']), max_size=60))
def test_any_text_is_cut_where_json_has_a_list(pieces):
    raw = "".join(pieces).encode()
    for begin, end, count, rank, flags in intlist.cuts(raw, 0):
        if rank:
            index, flag = intlist.parse_flags(raw, begin, end, count, rank, flags)
            found = json.loads(raw[begin:end])
            assert set(found) == {".".join(map(str, row)) for row in index.tolist()}
            assert list(found.values())[-1] in flag.tolist()
            continue
        if not count:
            assert json.loads(raw[begin:end]).startswith("base64:")
            continue
        values = intlist.parse(raw, begin, end, count)
        if values is not None:
            assert json.loads(raw[begin:end]) == values.tolist()


@settings(deadline=None)
@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1), st.sampled_from(["<i4", "<i8"]))
def test_differences_are_summed(values, dtype):
    raw = np.array(values, dtype).tobytes()
    assert intlist.sums(raw, int(dtype[2:])).tolist() == np.cumsum(values, dtype=np.int64).tolist()


def test_places_outside_the_text_are_refused():
    for begin, end, count in ((0, 9, 1), (3, 2, 1), (0, 1, 1), (0, 5, 99), (0, 5, 0), (9, 11, 1)):
        with pytest.raises(ValueError, match="bytes"):
            intlist.parse(b"[1,2]", begin, end, count)
    for begin, end, count, rank, flags in (
        (0, 99, 1, 1, 1),
        (0, 11, 0, 1, 1),
        (0, 11, 1, 0, 1),
        (0, 11, 99, 1, 1),
    ):
        with pytest.raises(ValueError, match="bytes"):
            intlist.parse_flags(b'{"0.0":[1]}', begin, end, count, rank, flags)
    with pytest.raises(ValueError, match="bytes"):
        intlist.sums(b"abc", 2)
    with pytest.raises(ValueError, match="rows of flags"):
        intlist.write_flags(np.zeros((2, 1), np.int64), np.zeros((1, 1), np.uint8))
