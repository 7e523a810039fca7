"""One table over another, and other ways to lay one over: what is mostly absent stays cheap to walk."""

import json

import numpy as np
import pytest

import zaro
from zaro.fsspec.changes import ChangedTable
from zaro.references import pack
from zaro.references.columns import blocks
from zaro.references.contents import Contents
from zaro.references.overlay import overlay
from zaro.references.table import DenseTable, EmptyTable, SparseTable, batches
from zaro.scan.append import _Longer

N = 10**15  # chunks that no walk over all of them would ever end


def sparse(*ids):
    column = np.array(ids, np.int64)
    return SparseTable(N, column, np.zeros(len(ids), np.int32), 8 + column % 7, column * 0 + 4, ["a.nc"])


LAID = {
    "sparse over sparse": (overlay(sparse(3, 10**14), sparse(5, 10**14)), [3, 5, 10**14]),
    "twice": (overlay(overlay(sparse(3), sparse(5)), sparse(7)), [3, 5, 7]),
    "sparse over nothing": (overlay(EmptyTable(N), sparse(5)), [5]),
    "room behind": (_Longer(sparse(3, 5), 2 * N), [3, 5]),
    "changes": (ChangedTable(sparse(3, 5), N, {3: None, 9: ["b.nc", 1, 2]}), [5, 9]),
}


@pytest.mark.parametrize("name", LAID)
def test_a_table_that_is_mostly_absent_is_walked_by_what_may_exist(name):
    table, ids = LAID[name]
    assert table.listed().tolist() == ids
    assert set(ids) <= set(table.candidates().tolist())
    walked = [int(one) for batch in batches(table, 2) for one in batch]
    assert walked == table.candidates().tolist()
    found = [
        block * 10 + int(row) for block, at in blocks(table, 10) for row in np.flatnonzero(at.file_id != -1)
    ]
    assert found == ids


def test_a_set_that_is_mostly_absent_is_saved_and_described_whatever_it_was_laid_over(tmp_path):
    document = {"zarr_format": 2, "shape": [N], "chunks": [1], "dtype": "<i2", "compressor": None}
    document |= {"filters": None, "fill_value": 0, "order": "C"}
    table, ids = LAID["sparse over sparse"]
    whole = Contents(metadata={"v/.zarray": json.dumps(document).encode()}, tables={"v": table}).complete()
    assert pack.pack(whole) == []
    refs = zaro.References(whole)
    for form in ("json", "generator"):
        refs.save(tmp_path / "refs.json", format=form)
        again = zaro.References.open(tmp_path / "refs.json")
        assert sorted(again) == sorted(["v/.zarray", *(f"v/{k}" for k in ids)])
    assert "1,000,000,000,000,000 chunks in 2 files, 100.0% absent" in refs._repr_html_()


def test_where_any_chunk_may_exist_none_is_named():
    number = np.zeros(N % 97, np.int64)
    dense = DenseTable(number.astype(np.int32), number, number, ["a.nc"])
    assert dense.candidates() is None
    assert (
        overlay(dense, SparseTable(len(number), number[:1], *([number[:1]] * 3), ["b.nc"])).candidates()
        is None
    )
