"""The keys of a plain store's chunks, spelled by the kernel, against `KeyEncoding`."""

import itertools

import numpy as np
import pytest

from zaro.metadata.keys import KeyEncoding
from zaro.references.plain import KeyTable
from zaro.stores.memory import MemoryStore


@pytest.mark.parametrize("separator", [".", "/"])
@pytest.mark.parametrize("name", ["default", "v2"])
@pytest.mark.parametrize("grid", [(), (12,), (3, 11, 2)])
@pytest.mark.parametrize("prefix", ["", "a/b/", "w\udc80/"])
def test_keys(prefix, grid, name, separator):
    encoding = KeyEncoding(name, separator)
    table = KeyTable(MemoryStore({}), prefix, encoding, grid)
    expected = [prefix + encoding.key(index) for index in itertools.product(*map(range, grid))]
    ids = np.arange(table.nchunks, dtype=np.int64)
    assert table.keys(ids) == expected
    assert table.keys(ids[::-2]) == expected[::-2]

    files = table.locate(ids[1:]).files
    assert list(files) == expected[1:]
    assert len(files) == len(expected) - 1
    if expected[1:]:
        assert files[-1] == expected[-1]
        assert files[1:3] == expected[2:4]
    with pytest.raises(IndexError):
        files[len(files)]


def test_beyond_the_grid():
    table = KeyTable(MemoryStore({}), "", KeyEncoding("v2", "."), (2, 3))
    with pytest.raises(IndexError, match="chunk 6 of 6"):
        table.keys(np.array([6]))
