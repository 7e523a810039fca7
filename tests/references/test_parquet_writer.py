"""What is written as Parquet reads as it was, by zaro and by fsspec."""

import json
import operator
import os

import fsspec
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.reference import LazyReferenceMapper
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import as_read, old_engine, reference_sets, zarray

from zaro.errors import ReferenceSetError, StoreError
from zaro.references import parquet_writer
from zaro.references.set import References


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=reference_sets(), record_size=st.integers(1, 7))
def test_what_is_written_reads_as_it_was(tmp_path_factory, document, record_size):
    root = str(tmp_path_factory.mktemp("set") / "refs.parquet")
    refs = {
        **document[0],
        "odd/key.txt": "hello",
        "x.bin": ["/d/x.bin", 3, 4],
        ".zattrs": '{ "a" :1}',
        "b/.zattrs": "no",
    }
    before = References.open(refs)
    for _ in range(2):  # the second time replaces the first
        parquet_writer.write(before, root, record_size=record_size)
        assert dict(References.open(root)) == dict(before)
    assert os.listdir(os.path.dirname(root)) == ["refs.parquet"]


@old_engine
@pytest.mark.parametrize("engine", ["pyarrow", "fastparquet"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=reference_sets(), record_size=st.integers(1, 7))
def test_fsspec_reads_what_is_written(tmp_path_factory, engine, document, record_size):
    pytest.importorskip(engine)
    root = str(tmp_path_factory.mktemp("set") / "refs.parquet")
    refs, _ = document
    parquet_writer.write(References.open(refs), root, record_size=record_size)
    mapper = LazyReferenceMapper(root, fs=fsspec.filesystem("file"), engine=engine)
    for key, value in as_read(refs).items():
        found = mapper[key]
        if key.rpartition("/")[2].startswith(".z"):
            assert json.loads(found) == json.loads(value)
        else:
            assert (found if isinstance(value, bytes) else list(found)) == value
            if not isinstance(value, bytes):
                [operator.index(number) for number in found[1:]]  # by which a file is read


@old_engine
def test_fsspec_may_append_to_what_is_written(tmp_path):
    root = str(tmp_path / "refs.parquet")
    refs = {"x/.zarray": zarray([6]), "x/0": ["/a.nc", 1, 2], "x/4": b"abc"}
    parquet_writer.write(References.open(refs), root, record_size=4)
    mapper = LazyReferenceMapper(root, fs=fsspec.filesystem("file"), engine="pyarrow")
    mapper["x/1"] = ["/b.nc", 3, 4]
    mapper["x/5"] = ["/b.nc", 5, 6]
    mapper.flush()
    found = References.open(root)
    assert {key: found[key] for key in found if key != "x/.zarray"} == {
        "x/0": ["/a.nc", 1, 2], "x/1": ["/b.nc", 3, 4], "x/4": b"abc", "x/5": ["/b.nc", 5, 6],
    }  # fmt: skip


def test_partitions_that_list_nothing_are_left_out(tmp_path):
    root = tmp_path / "refs.parquet"
    refs = {"x/.zarray": zarray([10**6, 10**6]), "x/5.5": ["/a.nc", 1, 2], "y/.zarray": zarray([3])}
    parquet_writer.write(References.open(refs), root)
    assert sorted(str(p.relative_to(root)) for p in root.rglob("*.parq")) == ["x/refs.50.parq"]
    assert References.open(root)["x/5.5"] == ["/a.nc", 1, 2]


@old_engine
def test_bytes_that_look_like_base64_come_back(tmp_path):
    pytest.importorskip("fastparquet")
    refs = {"x/.zarray": zarray([2]), "x/0": "base64:YmFzZTY0Og==", "x/1": ""}
    parquet_writer.write(References.open(refs), tmp_path / "refs.parquet")
    found = References.open(tmp_path / "refs.parquet")
    assert (found["x/0"], found["x/1"]) == (b"base64:", b"")
    fs = fsspec.filesystem("reference", fo=str(tmp_path / "refs.parquet"))
    assert fs.cat("x/0") == b"base64:"


def test_a_span_that_parquet_cannot_hold_is_refused(tmp_path):
    refs = References.open({"x/.zarray": zarray([2]), "x/1": ["/a.nc", 0, 0]})
    with pytest.raises(ReferenceSetError, match=r"refs\.0\.parq, row 1: a span of no bytes"):
        parquet_writer.write(refs, tmp_path / "refs.parquet")
    assert os.listdir(tmp_path) == []


def test_relative_files_mean_the_same_in_another_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "refs.json").write_text(
        json.dumps({"x/.zarray": zarray([2]), "x/0": ["a.nc", 1, 2], "x/1": ["s3://b/c.nc"]})
    )
    refs = References.open(tmp_path / "refs.json")
    for target in ("beside.parquet", "sub/below.parquet"):
        parquet_writer.write(refs, tmp_path / target)
        assert dict(References.open(tmp_path / target)) == dict(refs)
    beside = pq.read_table(tmp_path / "beside.parquet" / "x" / "refs.0.parq").column("path")
    assert beside[:2].to_pylist() == ["a.nc", "s3://b/c.nc"]


def test_only_a_reference_set_is_replaced(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "precious.nc").write_text("x")
    refs = References.open({"x/.zarray": zarray([1]), "x/0": ["/a.nc"]})
    with pytest.raises(StoreError, match="left alone"):
        parquet_writer.write(refs, tmp_path / "data")
    with pytest.raises(StoreError, match="is a file"):
        parquet_writer.write(refs, tmp_path / "data" / "precious.nc")
    assert (tmp_path / "data" / "precious.nc").read_text() == "x"


def test_a_write_that_fails_leaves_the_old_set(tmp_path):
    good = References.open({"x/.zarray": zarray([2]), "x/0": ["/a.nc"]})
    bad = References.open({"x/.zarray": zarray([2]), "x/0": ["/a.nc", 0, 0]})
    parquet_writer.write(good, tmp_path / "refs.parquet")
    with pytest.raises(ReferenceSetError):
        parquet_writer.write(bad, tmp_path / "refs.parquet")
    assert dict(References.open(tmp_path / "refs.parquet")) == dict(good)
    assert os.listdir(tmp_path) == ["refs.parquet"]


def test_writing_through_fsspec_and_progress():
    refs = References.open({"x/.zarray": zarray([5]), **{f"x/{k}": ["/a.nc", k + 1, 1] for k in range(5)}})
    seen = []
    for _ in range(2):
        parquet_writer.write(
            refs, "memory://zaro-w.parquet", record_size=2, progress=lambda *at: seen.append(at)
        )
        assert dict(References.open("memory://zaro-w.parquet")) == dict(refs)
    assert seen[-1] == (5, 5)
    assert seen == sorted(seen[: len(seen) // 2]) * 2
    fsspec.filesystem("memory").rm("/zaro-w.parquet", recursive=True)


@pytest.mark.parametrize("record_size", [0, -1, "x", 1.5])
def test_an_impossible_record_size_is_refused(tmp_path, record_size):
    with pytest.raises(ValueError, match="record_size"):
        parquet_writer.write(References.open({}), tmp_path / "r.parquet", record_size=record_size)
