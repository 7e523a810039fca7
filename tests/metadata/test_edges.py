"""Rectilinear chunk grids, as zarr-extensions spells them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro.errors import MetadataError, UnsupportedError
from zaro.metadata.documents import Document
from zaro.metadata.grid import Runs, chunk_edges


def read(shapes, shape, kind="inline"):
    return chunk_edges(Document("a/zarr.json", {}), "grid", {"kind": kind, "chunk_shapes": shapes}, shape)


def test_the_example_of_the_specification():
    shapes = [4, [1, 2, 3], [[4, 2]], [[1, 3], 3], [4, 4, 4]]
    chunks, edges = read(shapes, (6, 6, 6, 6, 6))
    assert chunks == (4, 3, 4, 3, 4)
    assert [list(run) for run in edges] == [[4, 4], [1, 2, 3], [4, 4], [1, 1, 1, 3], [4, 4]]
    assert [len(run) for run in edges] == [2, 3, 2, 4, 2]


def test_a_grid_that_is_even_everywhere_is_a_regular_one():
    assert read([4, [3, 3], [[2, 9]]], (6, 6, 6)) == ((4, 3, 2), None)


def test_an_axis_of_no_elements_has_no_chunks():
    chunks, edges = read([[1, 2], 5, [1, 2]], (0, 0, 3))
    assert chunks == (1, 5, 2)
    assert [list(run) for run in edges] == [[], [], [1, 2]]


def test_runs_without_end_cost_nothing():
    chunks, edges = read([[1, [2, 2**62]]], (2**40 + 1,))
    assert chunks == (2,)
    assert edges == (Runs((1, 2), (1, 2**39)),)
    assert len(edges[0]) == 2**39 + 1


def spelled(run):
    """Spell edges in one of the ways that mean the same."""
    return st.tuples(*[st.booleans() for _ in run]).map(
        lambda flags: [[edge, 1] if packed else edge for edge, packed in zip(run, flags, strict=True)]
    )


@given(st.data())
def test_edges_are_those_of_a_simple_loop(data):
    wanted = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=8))
    length = data.draw(st.integers(1, sum(wanted)))
    expected, reached = [], 0
    for edge in wanted:
        if reached < length:
            expected.append(edge)
        reached += edge
    chunks, edges = read([data.draw(spelled(wanted))], (length,))
    assert chunks == (max(expected),)
    assert list(edges[0] if edges else [chunks[0]] * -(-length // chunks[0])) == expected


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([[1, 2]], "grid.chunk_shapes[0] is a list of 2, expected extents that sum to 4 or more, got 3"),
        ([[4, 0]], "grid.chunk_shapes[0][1] is 0, expected an integer from 1 to 2^63-1"),
        ([0], "grid.chunk_shapes[0] is 0, expected an integer from 1 to 2^63-1"),
        (
            [[[4, 1, 1]]],
            "grid.chunk_shapes[0][0] is a list of 3, expected an extent, or a pair of extent and count",
        ),
        ([[[4, -1]]], "grid.chunk_shapes[0][0][1] is -1, expected an integer from 1"),
        ([[4.0]], "grid.chunk_shapes[0][0] is 4.0, expected an integer from 1"),
        (["4"], 'grid.chunk_shapes[0] is "4", expected an integer from 1'),
        ([2, 2], "grid.chunk_shapes is a list of 2, expected a list of 1, one for each dimension of shape"),
        (None, "grid.chunk_shapes is null, expected a list of 1"),
        ([[]], "grid.chunk_shapes[0] is an empty list, expected extents that sum to 4 or more, got 0"),
    ],
)
def test_a_broken_grid_is_an_error_that_says_where(shapes, words):
    with pytest.raises(MetadataError) as caught:
        read(shapes, (4,))
    assert words in str(caught.value)


def test_a_kind_that_is_not_inline_is_unsupported():
    with pytest.raises(UnsupportedError, match=r'grid\.kind is "reference", expected "inline"'):
        read([2], (4,), kind="reference")
