"""The mapper of Parquet sets: written by ours, read by fsspec's, and the other way round."""

from __future__ import annotations

import base64
import json
import os
from typing import Any

import numpy as np
import pytest
from fsspec.implementations import reference as original
from fsspec.implementations.local import LocalFileSystem
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import zarray

import zaro
import zaro.fsspec as ours
from zaro.errors import ReferenceSetError, StoreError

ZARRAY = zarray((2, 3))


def new_mapper(root, fs=None, record_size=4, **kwargs):
    mapper = ours.LazyReferenceMapper.create(root, fs=fs, record_size=record_size, **kwargs)
    mapper[".zgroup"] = json.dumps({"zarr_format": 2})
    mapper["a/.zarray"] = ZARRAY
    mapper["a/.zattrs"] = b"{}"
    return mapper


def read_by_fsspec(root, fs):
    theirs = original.LazyReferenceMapper(root, fs=fs, engine="pyarrow")
    found = {}
    for key in theirs:
        value = theirs[key]
        if isinstance(value, list) and isinstance(
            value[0], float
        ):  # with pandas 3 the original takes a row without a reference for one
            continue
        if key.rsplit("/", 1)[-1].startswith(".z"):
            found[key] = json.loads(value)
        elif isinstance(value, bytes):
            found[key] = value
        else:
            found[key] = [value[0], *map(int, value[1:])]
    return found


def shown(mapper):
    meta = lambda key: key.rsplit("/", 1)[-1].startswith(".z")  # noqa: E731
    return {key: json.loads(value) if meta(key) else value for key, value in mapper.items()}


@pytest.mark.parametrize("place", ["memory", "local"])
def test_what_is_written_is_read_by_both(place, memory, tmp_path):
    fs, root = (memory, "memory://set") if place == "memory" else (LocalFileSystem(), str(tmp_path / "set"))
    mapper = new_mapper(root, fs)
    mapper["a/0.0"] = ["s3://bucket/one", 0, 10]
    mapper["a/0.2"] = b"inline"
    mapper["a/1.1"] = ["s3://bucket/two"]
    mapper["a/1.2"] = "base64:" + base64.b64encode(b"\x00\xff").decode()
    mapper.flush()
    again = ours.LazyReferenceMapper(root, fs=fs)
    assert again["a/0.0"] == ["s3://bucket/one", 0, 10]
    assert again["a/0.2"] == b"inline"
    assert again["a/1.1"] == ["s3://bucket/two"]
    assert again["a/1.2"] == b"\x00\xff"
    assert "a/0.1" not in again
    with pytest.raises(KeyError):
        again["a/1.0"]
    assert shown(again) == read_by_fsspec(root, fs)


def test_a_full_partition_is_written_at_once(memory):
    mapper = new_mapper("memory://set", memory)
    for n, key in enumerate(["a/0.0", "a/0.1", "a/0.2", "a/1.0"]):
        assert not memory.exists("/set/a/refs.0.parq")
        mapper[key] = ["u", n, 1]
    assert memory.exists("/set/a/refs.0.parq")
    assert [mapper[key] for key in ("a/0.0", "a/1.0")] == [["u", 0, 1], ["u", 3, 1]]


KEYS_OF_A = [f"a/{i}.{j}" for i in range(2) for j in range(3)]
VALUES = st.one_of(
    st.binary(max_size=8),
    st.tuples(st.sampled_from(["u", "v", "s3://w/x"]), st.integers(0, 2**62), st.integers(1, 2**61)).map(
        list
    ),
    st.sampled_from(["u", "v"]).map(lambda url: [url]),
)
STEPS = st.one_of(
    st.tuples(st.just("set"), st.sampled_from(KEYS_OF_A), VALUES),
    st.tuples(st.just("delete"), st.sampled_from(KEYS_OF_A)),
    st.tuples(st.just("flush")),
    st.tuples(st.just("reopen")),
)


@given(st.lists(STEPS, max_size=25), st.integers(1, 7))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_mapper_is_a_dict_that_is_written(memory, steps, record_size):
    mapper = new_mapper("memory://set", memory, record_size)
    model: dict[str, Any] = {}
    for step, *arguments in steps:
        if step == "set":
            key, value = arguments
            mapper[key] = model[key] = value
        elif step == "delete":
            model.pop(arguments[0], None)
            del mapper[arguments[0]]
        else:
            mapper.flush()
            if step == "reopen":
                mapper = ours.LazyReferenceMapper("memory://set", fs=memory)
        decoded = {
            key: base64.b64decode(value[7:])
            if isinstance(value, bytes) and value.startswith(b"base64:")
            else value
            for key, value in model.items()
        }
        assert {key: mapper[key] for key in mapper if key in KEYS_OF_A} == decoded
        assert [key in mapper for key in KEYS_OF_A] == [key in model for key in KEYS_OF_A]


def test_the_mapper_lists_as_fsspec_does(memory):
    mapper = new_mapper("memory://set", memory)
    mapper["g/.zgroup"] = json.dumps({"zarr_format": 2})
    mapper["g/b/.zarray"] = ZARRAY
    for key in KEYS_OF_A:
        mapper[key] = ["u", 0, 5]
        mapper[f"g/b/{key[2:]}"] = ["u", 0, 5]
    mapper.flush()
    theirs = original.LazyReferenceMapper("memory://set", fs=memory, engine="pyarrow")
    assert set(mapper.listdir()) == set(theirs.listdir())
    for path in ("", "a", "g", "g/b"):
        assert mapper.ls(path, detail=False) == sorted(theirs.ls(path, detail=False))
    with pytest.raises(KeyError):
        mapper.ls("absent")
    assert mapper.zmetadata == theirs.zmetadata
    assert mapper.record_size == theirs.record_size


def test_an_array_can_grow(memory):
    mapper = new_mapper("memory://set", memory)
    for n, key in enumerate(KEYS_OF_A):
        mapper[key] = ["u", n, 1]
    mapper.flush()
    mapper["a/.zarray"] = zarray((3, 3))
    mapper["a/2.0"] = ["u", 99, 1]
    mapper.flush()
    again = ours.LazyReferenceMapper("memory://set", fs=memory)
    assert [again[key][1] for key in [*KEYS_OF_A, "a/2.0"]] == [0, 1, 2, 3, 4, 5, 99]
    again["a/.zarray"] = zarray((3, 4))
    again.flush()
    again = ours.LazyReferenceMapper("memory://set", fs=memory)
    assert [again[key][1] for key in [*KEYS_OF_A, "a/2.0"]] == [0, 1, 2, 3, 4, 5, 99]
    assert "a/0.3" not in again


def test_a_deleted_array_leaves_nothing_behind(memory):
    mapper = new_mapper("memory://set", memory)
    mapper["a/0.0"] = ["u", 1, 1]
    mapper.flush()
    del mapper["a/.zarray"]
    mapper["a/.zarray"] = ZARRAY
    assert "a/0.0" not in mapper
    mapper["a/1.2"] = ["u", 2, 1]
    mapper.flush()
    again = ours.LazyReferenceMapper("memory://set", fs=memory)
    assert [key for key in again if key in KEYS_OF_A] == ["a/1.2"]


def test_a_partition_that_cannot_be_read_is_no_absence(memory):
    mapper = new_mapper("memory://set", memory)
    mapper["a/0.0"] = ["u", 1, 1]
    mapper.flush()
    memory.pipe_file("/set/a/refs.0.parq", b"rubbish")
    fs = ours.ReferenceFileSystem("memory://set/", remote_protocol="memory")
    with pytest.raises(ReferenceSetError, match=r"refs\.0\.parq"):
        fs.cat("a/0.0")
    with pytest.raises(FileNotFoundError):
        fs.cat("absent")


def test_a_key_that_is_no_chunk_is_refused(memory):
    mapper = new_mapper("memory://set", memory)
    for key in ("a/9.9", "a/00.0", "b/0.0", "a/x"):
        with pytest.raises(KeyError):
            mapper[key] = ["u", 0, 1]


def test_the_mapper_writes_elsewhere_when_told(memory, tmp_path):
    mapper = new_mapper("memory://set", memory)
    mapper["a/0.0"] = ["u", 1, 1]
    mapper.flush(f"file://{tmp_path}/copy")
    copy = ours.LazyReferenceMapper(str(tmp_path / "copy"))
    assert copy["a/0.0"] == ["u", 1, 1]
    assert not memory.exists("/set/a/refs.0.parq")


def test_arrays_are_written_through_zarr(memory):
    import zarr

    ours.LazyReferenceMapper.create("memory://set", fs=memory)
    fs = ours.ReferenceFileSystem("memory://set/", remote_protocol="memory", asynchronous=True)
    store = zarr.storage.FsspecStore(fs, path="")
    group = zarr.open_group(store, mode="a", zarr_format=2)
    array = group.create_array("x", shape=(10,), chunks=(3,), dtype="i4")
    array[:] = np.arange(10)
    fs.references.flush()
    assert (zaro.open("memory://set/")["x"][:] == np.arange(10)).all()


@pytest.mark.parametrize("flaw", ["a link", "a folder that is a link", "a pipe", "no folder at all"])
def test_partitions_that_are_there_and_cannot_be_read_list_no_absent_chunks(tmp_path, flaw):
    root = tmp_path / "set"
    writer = new_mapper(str(root), LocalFileSystem())
    for key in KEYS_OF_A:
        writer[key] = ["u", 0, 1]
    writer.flush()
    mapper, fs = ours.LazyReferenceMapper(str(root)), ours.ReferenceFileSystem(str(root))
    assert mapper["a/0.0"] == fs.references["a/0.0"] == ["u", 0, 1]
    partition = root / "a" / "refs.1.parq"
    if flaw.endswith("a link"):
        (root / "a").rename(root / "b") if "folder" in flaw else partition.unlink()
        (root / "a" if "folder" in flaw else partition).symlink_to("nowhere")
    elif flaw == "a pipe":
        partition.unlink()
        os.mkfifo(partition)
    else:
        root.rename(tmp_path / "gone")
    for read in (mapper.__getitem__, fs.cat):
        with pytest.raises((StoreError, ReferenceSetError), match=r"leads nowhere|pipe|was removed"):
            read("a/1.2")
