"""What the wrapper of the generator kernel checks; the kernel itself is tested in csrc and through tables."""

import numpy as np
import pytest

from zaro._core.generator import Index
from zaro._core.pack import count, fill, modal
from zaro.errors import GeneratorError

NONE = np.empty(0, np.int64)
LISTS = {"unique_id": NONE, "unique_length": NONE, "gap_id": NONE, "gap": NONE, "absent_id": NONE}


def index(**changes):
    given = {
        "chunks": 4, "start": 0, "varwise": True, "length": np.array([5, 6]), "last": np.array([8]),
        "file": np.zeros(1, np.int32), "files": 1, **LISTS, **changes,
    }  # fmt: skip
    return Index(**given)


def test_columns_of_different_length_are_refused():
    for name in ("unique_id", "gap", "last"):
        with pytest.raises(ValueError, match="needs one"):
            index(**{name: np.array([1, 2])})


def test_the_fault_of_the_kernel_becomes_an_error_with_field_and_index():
    with pytest.raises(GeneratorError) as caught:
        index(absent_id=np.array([9]))
    assert (caught.value.field, caught.value.index) == ("skipchunks", 9)


def test_ranges_and_ids_outside_are_index_errors():
    found = index()
    assert found.expand(8, 0)[1].tolist() == []
    for first, n in ((0, 9), (-1, 1), (9, 0), (2**62, 1)):
        if n:
            with pytest.raises(IndexError):
                found.expand(first, n)
    for variable, chunk in ((0, 4), (0, -1), (2, 0), (-1, 0)):
        with pytest.raises(IndexError):
            found.locate(variable, np.array([chunk]))
    for flat in (-1, 8):
        with pytest.raises(IndexError):
            found.describe(flat)


def test_an_index_is_built_once_and_its_columns_cannot_be_written():
    found = index(gap_id=np.array([3]), gap=np.array([2]))
    with pytest.raises(TypeError, match="once"):
        found.__init__(1, 0, True, np.array([1]), np.array([1]), np.zeros(1, np.int32), 1, **LISTS)
    assert found.locate(0, np.arange(4))[1].tolist() == [0, 11, 24, 35]
    with pytest.raises(ValueError, match="read-only"):
        found.id[0] = 0


def test_packing_wants_columns_of_one_length():
    column = (np.zeros(3, np.int32), np.arange(3), np.ones(3, np.int64))
    short = (np.zeros(2, np.int32), np.arange(2), np.ones(2, np.int64))
    with pytest.raises(ValueError, match="one length"):
        count([column, short], True, np.array([1, 1]))
    with pytest.raises(ValueError, match="2 lengths for 1 variables"):
        fill([column], True, np.array([1, 1]))
    with pytest.raises(ValueError, match="no variables"):
        count([], True, NONE)
    with pytest.raises(ValueError, match="2 files for 3 lengths"):
        modal(short[0], column[2])


def test_the_most_frequent_length_of_many():
    length = np.arange(200_000)
    length[7::1000] = 5
    assert modal(np.zeros(200_000, np.int32), length) == 5
    assert modal(np.full(3, -1, np.int32), np.ones(3, np.int64)) == 0
