"""Chunks where segments cross, against numpy's arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro._core import grid as kernel


def segments(positions):
    """Segments of one axis that lie in these chunks."""
    rows = np.zeros((len(positions), 6), np.int64)
    rows[:, 0] = positions
    return rows


axes = st.lists(st.lists(st.integers(0, 6), max_size=5), max_size=4)


@given(axes)
def test_they_cross_in_c_order(positions):
    grid = tuple(max(along, default=0) + 1 for along in positions)
    found = kernel.cross([segments(along) for along in positions], grid)
    index = [
        tuple(along[k] for along, k in zip(positions, place, strict=True))
        for place in np.ndindex(*map(len, positions))
    ]
    assert found.tolist() == [int(np.ravel_multi_index(one, grid)) if one else 0 for one in index]


@pytest.mark.parametrize("grid", [(2, 3), (3, 2), (3,), (2**62, 3), (3,) * 33])
def test_chunks_outside_of_the_grid_are_refused(grid):
    with pytest.raises((IndexError, ValueError), match="grid"):
        kernel.cross([segments([2]), segments([2])], grid)


def test_segments_have_six_columns():
    with pytest.raises(ValueError, match="six columns"):
        kernel.cross([np.zeros((1, 5), np.int64)], (1,))
