import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro._core.key import ArrayKeys, Columns, KeyIndex
from zaro.metadata.keys import KeyEncoding

grids = st.lists(st.one_of(st.integers(0, 12), st.integers(0, 10**6)), max_size=3).map(tuple)
encodings = st.builds(KeyEncoding, st.sampled_from(["default", "v2"]), st.sampled_from([".", "/"]))
names = st.one_of(
    st.text("0123456789./c", max_size=8),
    st.text(max_size=4),
    st.from_regex(r"\A(c[./])?[0-9]{1,4}([./][0-9]{1,4}){0,2}\Z"),
)


def keys_of(path, grid, encoding):
    prefixed = encoding.name == "default"
    return ArrayKeys(path, np.array(grid, np.int64), prefixed=prefixed, separator=encoding.separator)


def slow_id(name, grid, encoding):
    index = encoding.index(name, grid)
    return None if index is None else int(sum(i * np.prod(grid[d + 1 :]) for d, i in enumerate(index)))


@given(grids, encodings, names)
def test_names_are_read_as_the_slow_twin_reads_them(grid, encoding, name):
    assert keys_of("", grid, encoding).id(name) == slow_id(name, grid, encoding)


@given(grids.filter(lambda grid: 0 not in grid), encodings, st.data())
def test_spelled_keys_are_the_slow_twins_and_read_back(grid, encoding, data):
    keys = keys_of("a/b", grid, encoding)
    ids = data.draw(st.lists(st.integers(0, keys.nchunks - 1), max_size=5))
    found = keys.keys(np.array(ids, np.int64))
    indices = [np.unravel_index(k, grid) if grid else () for k in ids]
    assert found == ["a/b/" + encoding.key(tuple(map(int, index))) for index in indices]
    assert [keys.id(key.removeprefix("a/b/")) for key in found] == ids


def test_ids_outside_the_grid_have_no_key():
    keys = keys_of("a", (2, 3), KeyEncoding("v2", "."))
    for chunk in (-1, 6):
        with pytest.raises(IndexError, match="of 6"):
            keys.keys(np.array([chunk]))


@pytest.mark.parametrize("grid", [[-1], [1] * 33, [2**62, 3], [2**62, 3, 0]])
def test_impossible_grids_are_refused(grid):
    with pytest.raises(ValueError, match="a grid of"):
        keys_of("a", grid, KeyEncoding("v2", "."))


def test_deepest_array_that_has_the_chunk_is_found():
    slash = KeyEncoding("v2", "/")
    arrays = {path: keys_of(path, grid, slash) for path, grid in {"": (9, 9), "1": (5,), "1/2": ()}.items()}
    index = KeyIndex(arrays, {}, lambda path, chunk: [path, chunk] if path != "1" else None)
    assert index.chunk("1/2") == ("1", 2)
    assert index.chunk("1/2/0") == ("1/2", 0)
    assert index.chunk("1/8") == ("", 17)
    assert index.reference("1/2") == ["", 11]  # the deeper one does not have it
    assert index.reference("1/2/1") is None
    assert index.reference("\ud800") is None
    assert index.chunk("\ud800") is None


def test_long_keys_of_slashes_take_no_time():
    index = KeyIndex({"": keys_of("", (9,), KeyEncoding("v2", "/"))}, {}, lambda path, chunk: None)
    assert index.chunk("/" * 2_000_000) is None
    assert index.chunk("0/" * 1_000_000) is None


def test_columns_must_fit_the_grid():
    keys = keys_of("a", (3,), KeyEncoding("v2", "."))
    file, number = np.zeros(2, np.int32), np.zeros(2, np.int64)
    with pytest.raises(ValueError, match="expected 3"):
        Columns(keys, file, number, number, [], b"")
    with pytest.raises(ValueError, match="expected 1"):
        Columns(keys, file, number, number, [], b"", np.zeros(1, np.int64))


@given(
    st.dictionaries(st.integers(0, 30), st.tuples(st.integers(-2, 2), st.integers(0, 9), st.integers(-1, 9)))
)
def test_look_up_in_columns_agrees_with_the_dict(rows):
    keys = keys_of("a", (31,), KeyEncoding("v2", "."))
    files, inline = ["x", "y", "z"], bytes(range(64))
    ids = np.array(sorted(rows), np.int64)
    sparse = [
        np.array([rows[k][c] for k in sorted(rows)], t)
        for c, t in ((0, np.int32), (1, np.int64), (2, np.int64))
    ]
    sparse[2][sparse[0] == -2] %= 7
    dense = [np.full(31, -1, np.int32), np.zeros(31, np.int64), np.zeros(31, np.int64)]
    for column, values in zip(dense, sparse, strict=True):
        column[ids] = values
    for columns in (Columns(keys, *sparse, files, inline, ids), Columns(keys, *dense, files, inline)):
        index = KeyIndex({"a": keys}, {"a": columns}, lambda path, chunk: None)
        for k in range(31):
            file, offset, length = (int(column[k]) for column in dense)
            span = [files[file]] if length == -1 else [files[file], offset, length]
            expected = None if file == -1 else inline[offset : offset + length] if file == -2 else span
            assert index.reference(f"a/{k}") == expected
