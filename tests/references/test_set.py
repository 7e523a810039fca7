import json
import pickle

import numpy as np
import pytest

from zaro.metadata import KeyEncoding
from zaro.references.files import FileTable, JoinedFiles
from zaro.references.layout import ChunkLayout
from zaro.references.overlay import overlay
from zaro.references.set import References
from zaro.references.table import ABSENT, DenseTable

ZARRAY = json.dumps({"shape": [4, 6], "chunks": [2, 2], "dtype": "<i2", "zarr_format": 2})
REFS = {
    ".zgroup": '{"zarr_format": 2}',
    "sst/.zarray": ZARRAY,
    "sst/0.0": ["/data/a.nc", 100, 20],
    "sst/1.2": ["/data/b.nc"],
    "sst/0.1": "base64:AAEC",
    "readme.txt": "hello",
}


def test_mapping_shows_what_the_document_says():
    refs = References.open(REFS)
    assert dict(refs) == {
        ".zgroup": b'{"zarr_format": 2}',
        "sst/.zarray": ZARRAY.encode(),
        "sst/0.0": ["/data/a.nc", 100, 20],
        "sst/1.2": ["/data/b.nc"],
        "sst/0.1": b"\0\1\2",
        "readme.txt": b"hello",
    }
    assert len(refs) == 6


@pytest.mark.parametrize(
    "key", ["sst/00.0", "sst/0.2", "sst/0.0.0", "sst/2.0", "other", "sst", "", "sst/0/0"]
)
def test_absent_and_odd_keys_are_key_errors(key):
    refs = References.open(REFS)
    assert key not in refs
    with pytest.raises(KeyError):
        refs[key]


def test_array_whose_document_lies_in_a_file_has_a_table_once_its_layout_is_known():
    refs = References.open(
        {"x/.zarray": ["/d/doc"], "x/0.1": ["/d/a", 1, 2], "x/1.1": "ab", "x/7.7": ["/d/b"]}
    )
    assert not refs.arrays
    layout = ChunkLayout((2, 3), KeyEncoding("v2", "."))
    table = refs.contents.table("x", layout)
    assert table.listed().tolist() == [1, 4]
    assert [table.reference(k) for k in (0, 1, 4)] == [None, ["/d/a", 1, 2], b"ab"]
    refs = References.open({"x/.zarray": ZARRAY, "x/0.1": ["/d/a", 1, 2], "x/0": ["/d/b"]})
    assert refs.contents.table("x", refs.arrays["x"].layout) is refs.arrays["x"].table
    other = refs.contents.table("x", ChunkLayout((9,), KeyEncoding("v2", ".")))
    assert other.reference(0) == ["/d/b"]
    other = refs.contents.table("x", ChunkLayout((1, 2), KeyEncoding("v2", ".")))
    assert other.reference(1) == ["/d/a", 1, 2]


@pytest.mark.parametrize("compress", [False, True])
def test_set_pickles_by_address(tmp_path, compress):
    import gzip

    raw = json.dumps({"version": 1, "refs": REFS}).encode()
    path = tmp_path / ("refs.json.gz" if compress else "refs.json")
    path.write_bytes(gzip.compress(raw) if compress else raw)
    refs = References.open(path)
    data = pickle.dumps(refs)
    assert len(data) < 2000
    assert dict(pickle.loads(data)) == dict(refs) == dict(References.open(REFS))
    assert dict(pickle.loads(pickle.dumps(References.open(REFS)))) == dict(refs)


def test_relative_files_lie_beside_the_document(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/here.nc").touch()
    (tmp_path / "there.nc").touch()
    refs = {
        "x/.zarray": ZARRAY,
        "x/0.0": ["here.nc", 0, 1],
        "x/0.1": ["there.nc", 0, 1],
        "x/0.2": ["none.nc", 0, 1],
    }
    (tmp_path / "deep/refs.json").write_text(json.dumps(refs))
    opened = References.open("deep/refs.json")
    assert opened["x/0.0"] == [str(tmp_path / "deep/here.nc"), 0, 1]
    assert opened["x/0.1"] == [str(tmp_path / "there.nc"), 0, 1]
    assert opened["x/0.2"] == [str(tmp_path / "deep/none.nc"), 0, 1]


def test_explain_names_the_generator_and_the_gap():
    gen = {
        "files": [[6, "a.nc"]],
        "variables": ["sst"],
        "dims": [2, 3],
        "start": 20480,
        "lengths": [4000],
        "gaps": {"ids": [1], "lengths": [128]},
        "unique": {"ids": [2], "lengths": [77]},
        "skipchunks": {"1.0": [1]},
    }
    refs = References.open({"version": 1, "refs": {"sst/.zarray": ZARRAY, "sst/1.2": "own"}, "gen": gen})
    assert refs.explain("sst/0.0") == "chunk 0.0 of sst: bytes 20480+4000 of a.nc, from generator 0"
    assert refs.explain("sst/0.1").endswith("of a.nc, from generator 0, gap before it 128")
    assert refs.explain("sst/0.2").endswith("from generator 0, a length of its own")
    assert refs.explain("sst/1.0").startswith("chunk 1.0 of sst: absent, it reads as the fill value")
    assert refs.explain("sst/1.2") == "chunk 1.2 of sst: 3 bytes in the set itself"
    stats = refs.stats()["sst"]
    assert stats.pop("gfactor") == pytest.approx(1 / 3)
    assert stats == {
        "chunks": 6,
        "present": 5,
        "absent": 1,
        "inline": 1,
        "bytes": 12080,
        "files": 1,
    }


def test_the_files_of_two_tables_stay_apart_when_the_first_grow():
    first = FileTable(["/a.nc"])
    joined = JoinedFiles(first, ["/z.nc"])
    first.written.append("/b.nc")
    first.resolved.append("/b.nc")
    assert list(joined) == ["/a.nc", "/z.nc"]


def test_an_overlay_has_one_table_of_files():
    one = np.zeros(2, np.int64)
    lower = DenseTable(np.array([0, 0], np.int32), one, one + 4, FileTable(["/a.nc"]))
    upper = DenseTable(np.array([ABSENT, 0], np.int32), one, one + 4, FileTable(["/b.nc"]))
    table = overlay(lower, upper)
    found = [table.locate(np.arange(2)) for _ in range(2)]
    assert [found[0].files[k] for k in found[0].file_id] == ["/a.nc", "/b.nc"]
    assert found[0].files is found[1].files


@pytest.mark.parametrize(
    "document",
    [
        {"dimension_separator": ["x"], "shape": [1], "chunks": [1]},
        {"dimension_separator": {}, "zarr_format": 2},
    ],
)
def test_an_array_with_a_separator_that_is_none_has_no_chunks(document):
    refs = References.open({"a/.zarray": json.dumps(document), "a/0": ["/a.nc", 0, 1], "b": "text"})
    assert list(refs.arrays) == []
    assert set(refs) == {"a/.zarray", "a/0", "b"}
    key = {"name": "default", "configuration": {"separator": ["x"]}}
    grid = {"name": "regular", "configuration": {"chunk_shape": [1]}}
    v3 = {"node_type": "array", "shape": [1], "chunk_grid": grid, "chunk_key_encoding": key}
    assert list(References.open({"a/zarr.json": json.dumps(v3), "a/c/0": ["/a.nc", 0, 1]}).arrays) == []
