"""Inner chunks and their shards, against numpy's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro._core import shard as kernel
from zaro._core.shard import ShardGrid

EMPTY = 2**64 - 1

runs = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=3)


def places(along):
    """Shard, position in it, and chunks of the shard, for each chunk along one axis."""
    sizes = np.repeat([size for size, _ in along], [count for _, count in along])
    shard = np.repeat(np.arange(len(sizes)), sizes)
    return shard, np.concatenate([np.arange(size) for size in sizes]), sizes[shard]


@given(axes=st.lists(runs, max_size=3), data=st.data())
def test_places_are_those_of_each_axis(axes, data):
    along = [places(axis) for axis in axes]
    cut = [data.draw(st.integers(1, len(shard))) for shard, _, _ in along]  # the last shard may reach out
    shards = tuple(sum(count for _, count in axis) for axis in axes)
    grid = ShardGrid(tuple(cut), shards, [tuple(zip(*axis, strict=True)) for axis in axes])
    ids = np.arange(int(np.prod(cut)), dtype=np.int64)
    index = np.unravel_index(ids, cut) if axes else ()
    expected, within = np.zeros_like(ids), np.zeros_like(ids)
    for (shard, inner, size), position, n in zip(along, index, shards, strict=True):
        expected = expected * n + shard[position]
        within = within * size[position] + inner[position]
    found = grid.place(ids[::-1].copy())
    assert np.array_equal(found[0][::-1], expected)
    assert np.array_equal(found[1][::-1], within)


def test_an_axis_without_elements_has_no_places():
    grid = ShardGrid((0, 4), (0, 2), [((0,), (0,)), ((2,), (2,))])
    assert grid.place(np.empty(0, np.int64))[0].shape == (0,)
    with pytest.raises(IndexError, match="inner chunk 0"):
        grid.place(np.array([0]))


@pytest.mark.parametrize("ids", [[-1], [8], [0, 2**62]])
def test_ids_outside_are_refused(ids):
    with pytest.raises(IndexError, match=f"inner chunk {ids[-1]}"):
        ShardGrid((8,), (4,), [((2,), (4,))]).place(np.array(ids, np.int64))


@pytest.mark.parametrize(
    ("chunks", "shards", "along"),
    [
        ((8,), (4,), []),
        ((8,), (4,), [((2,), (3,))]),
        ((9,), (4,), [((2,), (4,))]),
        ((8,), (4,), [((0,), (4,))]),
        ((8,), (4,), [((2, 2), (5, -1))]),
        ((8,), (4,), [((2, 2), (4,))]),
        ((1,) * 33, (1,) * 33, [((1,), (1,))] * 33),
    ],
)
def test_grids_that_contradict_themselves_are_refused(chunks, shards, along):
    with pytest.raises(ValueError, match=r"axes|axis|zip"):
        ShardGrid(chunks, shards, along)


@given(st.lists(st.integers(0, 9), max_size=12), st.booleans())
def test_groups_are_those_of_numpy(shards, ascending):
    shard = np.array(sorted(shards) if ascending else shards, np.int64)
    for found, expected in zip(kernel.group(shard), np.unique(shard, return_inverse=True), strict=True):
        assert found.dtype == np.int64
        assert np.array_equal(found, expected)


def columns(n, **changes):
    """Arguments of `locate` for n chunks of one shard that has 100 bytes at 1000 of file 5."""
    given = {
        "row": np.zeros(n, np.int64),
        "within": np.arange(n, dtype=np.int64),
        "first": 0,
        "entries": np.full((1, n, 2), EMPTY, np.uint64),
        "outer_file": np.array([5], np.int32),
        "outer_offset": np.array([1000]),
        "outer_length": np.array([100]),
        "absent": -1,
        "file_id": np.zeros(n, np.int32),
        "offset": np.zeros(n, np.int64),
        "length": np.zeros(n, np.int64),
    }
    return given | changes


def test_spans_lie_where_the_index_says():
    asked = columns(3)
    asked["entries"][0, 1:] = [10, 90], [0, 0]
    assert kernel.locate(*asked.values()) is None
    assert asked["file_id"].tolist() == [-1, 5, 5]
    assert asked["offset"].tolist() == [0, 1010, 1000]
    assert asked["length"].tolist() == [0, 90, 0]
    asked["entries"][0, 2] = 10, 91
    assert kernel.locate(*asked.values()) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"within": np.zeros(2, np.int64)},
        {"file_id": np.zeros(4, np.int32)},
        {"outer_length": np.zeros(2, np.int64)},
        {"entries": np.zeros((2, 3, 2), np.uint64)},
        {"entries": np.zeros((1, 3, 1), np.uint64)},
        {"entries": np.zeros((1, 0, 2), np.uint64)},
        {"first": 1},
        {"first": -1},
    ],
)
def test_columns_that_do_not_fit_are_refused(changes):
    with pytest.raises(ValueError, match=r"columns|indices"):
        kernel.locate(*columns(3, **changes).values())
