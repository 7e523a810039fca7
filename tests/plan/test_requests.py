import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.plan.requests import merge

GAP, CAP = 8, 40
spans = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 120), st.integers(-1, 30)), min_size=0, max_size=40
)


def columns(rows):
    file_id, offset, length = zip(*rows, strict=True) if rows else ((), (), ())
    return np.array(file_id, np.int32), np.array(offset, np.int64), np.array(length, np.int64)


def slow(rows):
    """(file, start, stop, spans) of each request, one span after the other; stop -1 is the whole file."""
    requests = []
    for k in sorted(range(len(rows)), key=lambda k: (*rows[k][:2], k)):
        file, start, length = rows[k]
        last = requests[-1] if requests else None
        if length < 0:
            if last and last[0] == file and last[2] < 0:
                last[3].append(k)
            else:
                requests.append([file, 0, -1, [k]])
            continue
        stop = start + length
        if last and last[0] == file and last[2] >= 0 and start <= last[2] + GAP:
            reach = max(stop, last[2])
            if reach - last[1] <= CAP or reach == last[2]:
                last[2] = reach
                last[3].append(k)
                continue
        requests.append([file, start, stop, [k]])
    return requests


@given(spans)
@settings(max_examples=200, deadline=None)
def test_kernel_agrees_with_the_loop(rows):
    found = merge(*columns(rows), gap=GAP, cap=CAP)
    expected = slow(rows)
    assert len(found) == len(expected)
    for k, (file, start, stop, served) in enumerate(expected):
        assert found.file_id[k] == file
        assert found.offset[k] == start
        assert found.length[k] == (-1 if stop < 0 else stop - start)
        assert found.serves(k).tolist() == served


def test_spans_in_a_row_become_requests_of_at_most_the_cap():
    offset = np.arange(100, dtype=np.int64) * 10
    found = merge(np.zeros(100, np.int32), offset, np.full(100, 10, np.int64), gap=0, cap=250)
    assert found.offset.tolist() == [0, 250, 500, 750]
    assert found.length.tolist() == [250] * 4


def test_a_span_longer_than_the_cap_is_a_request():
    found = merge(*columns([(0, 0, 10), (0, 10, 500), (0, 510, 10)]), gap=0, cap=40)
    assert found.length.tolist() == [10, 500, 10]


@pytest.mark.parametrize("row", [(0, 2**63 - 1, 5), (0, -1, 5), (0, 0, -2), (-1, 0, 5)])
def test_a_span_that_is_none_is_an_error(row):
    with pytest.raises(ValueError, match=r"bytes .* of file"):
        merge(*columns([row]))


def test_order_of_the_spans_does_not_matter():
    rng = np.random.default_rng(0)
    offset = np.arange(1000, dtype=np.int64) * 100
    file_id = np.repeat(np.arange(4, dtype=np.int32), 250)
    shuffled = rng.permutation(1000)
    length = np.full(1000, 90, np.int64)
    straight = merge(file_id, offset, length, gap=10, cap=5000)
    mixed = merge(file_id[shuffled], offset[shuffled], length, gap=10, cap=5000)
    assert mixed.offset.tolist() == straight.offset.tolist()
    assert shuffled[mixed.order].tolist() == straight.order.tolist()
