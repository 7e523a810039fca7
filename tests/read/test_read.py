"""Every array that zarr-python writes reads the same through zaro, whole and in part."""

from __future__ import annotations

import os
import pickle
import threading
import warnings
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numcodecs
import numpy as np
import pytest
import zarr
import zarr.codecs
from hypothesis import HealthCheck, given, settings
from strategies import (
    basic_selections,
    dtypes,
    orthogonal_selections,
    point_selections,
    shapes,
    v2_compressors,
    v3_compressors,
    values,
)
from zarr.storage import MemoryStore

import zaro
from zaro import config

many = settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
MemoryKeys = dict[str, bytes]


def same(found: Any, expected: Any) -> bool:
    """Same type, shape and bits."""
    found, expected = np.asarray(found), np.asarray(expected)
    if expected.ndim == 0:  # as a NumPy scalar it has lost its byte order
        found, expected = (each.astype(each.dtype.newbyteorder("=")) for each in (found, expected))
    return (
        found.shape == expected.shape
        and found.dtype == expected.dtype
        and found.tobytes() == expected.tobytes()
    )


def keys_of(store: MemoryStore) -> MemoryKeys:
    return {key: value.to_bytes() for key, value in store._store_dict.items()}


def on_disk(keys: MemoryKeys, folder: Path) -> Path:
    for key, value in keys.items():
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value)
    return folder


@st.composite
def arrays(draw: st.DrawFn) -> tuple[MemoryKeys, np.ndarray[Any, Any]]:
    """The keys of an array that zarr-python wrote, with some chunks left out, and what it then reads."""
    zarr_format = draw(st.sampled_from([2, 3]))
    dtype = draw(dtypes("<>" if zarr_format == 2 else "<"))
    shape, chunks = draw(shapes())
    store = MemoryStore()
    options: dict[str, Any] = {}
    if zarr_format == 3:
        options["compressors"] = draw(v3_compressors()) or None
        options["filters"] = None
        if len(shape) > 1 and draw(st.booleans()):
            options["filters"] = [zarr.codecs.TransposeCodec(order=draw(st.permutations(range(len(shape)))))]
        if dtype.itemsize > 1:
            options["serializer"] = zarr.codecs.BytesCodec(endian=draw(st.sampled_from(["little", "big"])))
        separator = draw(st.sampled_from([".", "/"]))
        options["chunk_key_encoding"] = {
            "name": draw(st.sampled_from(["default", "v2"])),
            "separator": separator,
        }
    else:
        options["compressors"] = draw(v2_compressors())
        options["order"] = draw(st.sampled_from("CF"))
        options["chunk_key_encoding"] = {"name": "v2", "separator": draw(st.sampled_from([".", "/"]))}
    array = zarr.create_array(
        store,
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        zarr_format=zarr_format,
        fill_value=draw(st.sampled_from([0, 1])),
        **options,
    )
    with warnings.catch_warnings():  # zarr-python 3.4 compares signalling NaN with the fill value
        warnings.filterwarnings("ignore", "invalid value encountered in equal", RuntimeWarning)
        array[...] = values(shape, dtype, draw(st.integers(0, 2**32 - 1)))
    keys = keys_of(store)
    for key in sorted(key for key in keys if key.rpartition("/")[2][:1] not in (".", "z")):
        if draw(st.integers(0, 4)) == 0:
            del keys[key]
            del store._store_dict[key]
    return keys, zarr.open_array(store, mode="r")[...]


@many
@given(case=arrays(), data=st.data())
def test_arrays_in_memory_read_as_zarr_python_reads_them(case: Any, data: st.DataObject) -> None:
    keys, expected = case
    array = zaro.open(keys)
    assert same(array.read(), expected)
    selection = data.draw(basic_selections(expected.shape))
    assert same(array.read(selection), np.asarray(expected)[selection])


@many
@given(case=arrays(), data=st.data())
def test_arrays_on_disk_read_as_zarr_python_reads_them(
    case: Any, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    keys, expected = case
    expected = np.asarray(expected)
    array = zaro.open(on_disk(keys, tmp_path_factory.mktemp("array")))
    assert same(array.read(), expected)
    selection = data.draw(basic_selections(expected.shape))
    assert same(array.read(selection), expected[selection])
    selection = data.draw(orthogonal_selections(expected.shape))
    crossing = np.ix_(
        *(np.atleast_1d(np.arange(n)[part]) for part, n in zip(selection, expected.shape, strict=True))
    )
    kept = tuple(0 if isinstance(part, int) else slice(None) for part in selection)
    assert same(
        array.read(selection, mode="orthogonal"), expected[crossing][kept] if expected.ndim else expected
    )
    if expected.size and expected.ndim:
        selection = data.draw(point_selections(expected.shape))
        assert same(array.vindex[selection], expected[selection])
        mask = values(expected.shape, np.dtype(bool), 1)
        assert same(array.vindex[mask], expected[mask])


@settings(deadline=None)
@given(
    itemsize=st.sampled_from([2, 3, 4, 8, 16]),
    shape=st.tuples(st.integers(1, 7), st.integers(1, 9), st.integers(30, 150)),
    chunks=st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(30, 90)),
    order=st.sampled_from("CF"),
    data=st.data(),
)
def test_long_rows_of_shuffled_chunks_go_to_their_places(
    itemsize: int, shape: tuple[int, ...], chunks: tuple[int, ...], order: str, data: st.DataObject
) -> None:
    turn = slice(None, None, 1 if order == "C" else -1)
    expected = values(shape[turn], np.dtype(f"V{itemsize}"), 7)
    store = MemoryStore()
    codecs = {"filters": [numcodecs.Shuffle(itemsize)], "compressors": [numcodecs.Zlib(1)]}
    zarr.create_array(store, data=expected, chunks=chunks[turn], order=order, zarr_format=2, **codecs)
    array = zaro.open(keys_of(store))
    assert same(array.read(), expected)
    selection = data.draw(basic_selections(expected.shape))
    assert same(array.read(selection), expected[selection])
    rows = data.draw(st.lists(st.integers(0, expected.shape[1] - 1), max_size=9))
    assert same(array.oindex[:, rows, :], expected[:, rows, :])


@many
@given(case=arrays(), data=st.data())
def test_a_strided_output_of_the_caller_receives_the_result(case: Any, data: st.DataObject) -> None:
    keys, expected = case
    expected = np.asarray(expected)
    selection = data.draw(basic_selections(expected.shape))
    wanted = np.asarray(expected[selection])
    roomy = np.zeros(tuple(2 * n + 1 for n in wanted.shape), zaro.open(keys).dtype)
    out = roomy[tuple(slice(0, 2 * n, 2) for n in wanted.shape)] if wanted.ndim else roomy
    assert zaro.open(keys).read(selection, out) is out
    assert same(out, wanted)


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_sharded_arrays_read_as_zarr_python_reads_them(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rank = data.draw(st.integers(1, 3))
    chunks = tuple(data.draw(st.integers(1, 4)) for _ in range(rank))
    shards = tuple(n * data.draw(st.integers(1, 3)) for n in chunks)
    shape = tuple(data.draw(st.integers(0, 2 * n + 3)) for n in shards)
    store = MemoryStore()
    array = zarr.create_array(
        store,
        shape=shape,
        dtype=data.draw(dtypes("<")),
        fill_value=1,
        chunks=shards,
        filters=None,
        compressors=None,
        serializer=zarr.codecs.ShardingCodec(
            chunk_shape=chunks,
            codecs=[zarr.codecs.BytesCodec(endian="big"), *data.draw(v3_compressors())],
            index_location=data.draw(st.sampled_from(["start", "end"])),
        ),
    )
    part = tuple(slice(0, data.draw(st.integers(0, n))) for n in shape)
    array[part] = values(shape, array.dtype, 5)[part]
    expected = np.asarray(array[...])
    keys = keys_of(store)
    on = zaro.open(on_disk(keys, tmp_path_factory.mktemp("shards")))
    selection = data.draw(basic_selections(shape))
    for found in (zaro.open(keys), on):
        assert (found.chunks, found.shards) == (chunks, shards)
        assert same(found.read(), expected)
        assert same(found.read(selection), expected[selection])


def test_shards_within_shards_are_read() -> None:
    store = MemoryStore()
    inner = zarr.codecs.ShardingCodec(
        chunk_shape=(2, 2), codecs=[zarr.codecs.BytesCodec(), zarr.codecs.ZstdCodec()]
    )
    outer = zarr.codecs.ShardingCodec(chunk_shape=(4, 4), codecs=[inner])
    array = zarr.create_array(
        store,
        shape=(10, 9),
        chunks=(8, 8),
        dtype="i4",
        serializer=outer,
        compressors=None,
        filters=None,
        fill_value=7,
    )
    array[1:9, 2:] = np.arange(56).reshape(8, 7)
    found = zaro.open(keys_of(store))
    assert found.chunks == (2, 2)
    assert same(found[...], array[...])


# ---- what is absent, and what is broken ----------------------------------------------------------


@pytest.fixture
def store(tmp_path: Path) -> Path:
    array = zarr.create_array(
        tmp_path / "a.zarr",
        name="sst",
        shape=(4, 6),
        chunks=(2, 3),
        dtype="f4",
        zarr_format=2,
        fill_value=-1.0,
    )
    array[...] = np.arange(24).reshape(4, 6)
    return tmp_path / "a.zarr"


def test_an_absent_chunk_is_fill(store: Path) -> None:
    (store / "sst" / "0.1").unlink()
    found = zaro.open(store, "sst")[...]
    assert (found[:2, 3:] == -1).all()
    assert found[2, 3] == 15


def test_an_absent_chunk_is_an_error_where_the_caller_asks_for_one(store: Path) -> None:
    (store / "sst" / "0.1").unlink()
    with pytest.raises(
        zaro.errors.MissingChunkError, match=r"chunk 'sst/0\.1': .*sst/0\.1: the chunk is absent"
    ):
        zaro.open(store, "sst", missing="raise")[...]
    with pytest.warns(UserWarning, match="1 chunks of 'sst' are absent"):
        zaro.open(store, "sst", missing="warn")[...]


@pytest.mark.parametrize("damage", ["short", "garbage", "empty"])
def test_a_corrupt_chunk_is_an_error_that_names_node_key_and_file(store: Path, damage: str) -> None:
    path = store / "sst" / "1.0"
    whole = path.read_bytes()
    path.write_bytes({"short": whole[:-3], "garbage": b"\xff" * len(whole), "empty": b""}[damage])
    with pytest.raises(
        zaro.errors.CorruptChunkError, match=r"chunk 'sst/1\.0': .*a\.zarr/sst/1\.0"
    ) as caught:
        zaro.open(store, "sst")[...]
    assert (caught.value.node, caught.value.key) == ("sst", "1.0")
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), zaro.errors.CorruptChunkError)


def test_a_link_that_leads_nowhere_is_broken_and_not_absent(store: Path) -> None:
    path = store / "sst" / "1.0"
    path.unlink()
    path.symlink_to("nowhere")
    with pytest.raises(zaro.errors.ChunkError, match=r"does not exist|leads nowhere"):
        zaro.open(store, "sst")[...]


@pytest.mark.parametrize("shards", [None, (8,)])
def test_a_folder_of_chunks_that_is_a_link_to_nowhere_is_broken_and_not_absent(tmp_path, shards) -> None:
    made = zarr.create_array(tmp_path / "a.zarr", shape=(16,), chunks=(4,), shards=shards, dtype="i4")
    made[:] = 1
    (tmp_path / "a.zarr" / "c").rename(tmp_path / "moved")
    (tmp_path / "a.zarr" / "c").symlink_to("nowhere")
    with pytest.raises(zaro.errors.ChunkError, match=r"does not exist|leads nowhere"):
        zaro.open(tmp_path / "a.zarr")[...]
    with pytest.raises(zaro.errors.StoreError, match="leads nowhere"):
        zaro.scan(tmp_path / "a.zarr")


def test_a_directory_or_pipe_in_place_of_a_chunk_is_an_error(store: Path) -> None:
    path = store / "sst" / "1.0"
    path.unlink()
    path.mkdir()
    with pytest.raises(zaro.errors.ChunkError, match=r"(?i:is a directory)|no file but a directory"):
        zaro.open(store, "sst")[...]
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(zaro.errors.ChunkError, match=r"chunk 'sst/1\.0'"):
        zaro.open(store, "sst")[...]


@pytest.fixture
def references(tmp_path: Path) -> dict[str, Any]:
    data = np.arange(24, dtype="<f4")
    (tmp_path / "a.nc").write_bytes(b"head" + data.tobytes())
    document = {"zarr_format": 2, "shape": [24], "chunks": [6], "dtype": "<f4", "fill_value": 9, "order": "C"}
    url = str(tmp_path / "a.nc")
    return {
        ".zgroup": '{"zarr_format":2}',
        "sst/.zarray": document | {"compressor": None, "filters": None},
        "sst/0": [url, 4, 24],
        "sst/1": [url, 28, 24],
        "sst/3": [url, 76, 24],
    }


def test_a_chunk_that_references_do_not_list_is_fill(references: dict[str, Any]) -> None:
    found = zaro.open(references)["sst"][...]
    assert (found[12:18] == 9).all()
    assert (found[18:] == np.arange(18, 24)).all()


def test_a_missing_target_is_an_error_that_names_key_file_and_range(references: dict[str, Any]) -> None:
    references["sst/1"][0] += ".gone"
    with pytest.raises(
        zaro.errors.ChunkError, match=r"chunk 'sst/1': bytes 28\+24 of .*a\.nc\.gone: the file does not exist"
    ):
        zaro.open(references)["sst"][...]
    assert zaro.open(references)["sst"][0] == 0  # other chunks are well


def test_a_truncated_target_is_an_error_that_names_key_file_and_range(references: dict[str, Any]) -> None:
    references["sst/3"] = [references["sst/3"][0], 90, 24]
    with pytest.raises(
        zaro.errors.CorruptChunkError, match=r"chunk 'sst/3': bytes 90\+24 of .*a\.nc: fewer bytes"
    ):
        zaro.open(references)["sst"][...]


def test_a_reference_of_the_wrong_length_is_an_error(references: dict[str, Any]) -> None:
    references["sst/3"][2] = 20
    with pytest.raises(zaro.errors.CorruptChunkError, match=r"chunk 'sst/3'.*fewer bytes than promised"):
        zaro.open(references)["sst"][...]


def test_a_huge_promise_is_refused_before_memory_is_taken(references: dict[str, Any]) -> None:
    references["sst/3"][2] = 2**40
    with pytest.raises(zaro.errors.ChunkError, match=r"more bytes than promised"):
        zaro.open(references)["sst"][...]


@pytest.mark.parametrize("file", ["a.nc", "http://127.0.0.1:9/a.nc"])
@pytest.mark.parametrize("selection", [slice(None), slice(20, 22)])
def test_a_span_beyond_any_file_is_an_error_that_names_it(
    references: dict[str, Any], file: str, selection: slice
) -> None:
    url = file if "://" in file else references["sst/3"][0]
    references["sst/3"] = [url, 2**63 - 4, 24]
    words = rf"chunk 'sst/3': bytes {2**63 - 4}\+24 of .*a\.nc: .* range of 64 bits"
    with pytest.raises(zaro.errors.ChunkError, match=words):
        zaro.open(references)["sst"][selection]


# ---- selections ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        ((0, 0, 0), "3 indices for an array of 2 dimensions"),
        (4, "axis 0: index 4 in a dimension of 4"),
        ((0, -7), "axis 1: index -7 in a dimension of 6"),
        ((..., ...), "one ellipsis"),
        (None, "new axes"),
        (slice(0, 4, 0), "zero"),
        ("sst", "field .sst. is selected from an array that is of .*, without fields"),
        (([[0, 1]], slice(3)), "use .oindex or .vindex"),
        ((0, True), "neither an index nor a mask"),
    ],
)
def test_a_selection_that_does_not_fit_says_why(store: Path, selection: Any, words: str) -> None:
    with pytest.raises(zaro.errors.SelectionError, match=words):
        zaro.open(store, "sst")[selection]


def test_a_position_that_fits_unsigned_numbers_only_is_refused(store: Path) -> None:
    array = zaro.open(store, "sst")
    with pytest.raises(zaro.errors.SelectionError, match=f"axis 0: index {2**64 - 1} in a dimension of 4"):
        array.oindex[np.array([2**64 - 1], np.uint64)]
    assert same(array.oindex[np.array([3], np.uint64)], array[3:4])


def test_an_output_that_does_not_fit_says_what_is_needed(store: Path) -> None:
    array = zaro.open(store, "sst")
    with pytest.raises(zaro.errors.SelectionError, match=r"\(2, 6\) and float32 are needed"):
        array.read(slice(0, 2), np.empty((2, 6), "f8"))
    out = np.empty((4, 6), "f4")
    out.flags.writeable = False
    with pytest.raises(zaro.errors.SelectionError, match="read-only"):
        array.read(..., out)


# ---- threads and processes -----------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> tuple[Path, np.ndarray[Any, Any]]:
    data = np.random.default_rng(0).integers(0, 99, (512, 512)).astype("f8")
    array = zarr.create_array(tmp_path / "large", shape=data.shape, chunks=(32, 32), dtype="f8")
    array[...] = data
    return tmp_path / "large", data


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_any_number_of_threads_reads_the_same(large: tuple[Path, Any], threads: int) -> None:
    path, data = large
    with config.threads_set_to(threads):
        assert same(zaro.open(path)[...], data)


def test_many_threads_share_one_array(large: tuple[Path, Any]) -> None:
    path, data = large
    array = zaro.open(path)
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(n for n in range(1, 8) if not same(array[k::n, ::-1], data[k::n, ::-1]))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_error_on_any_thread_reaches_the_caller(large: tuple[Path, Any]) -> None:
    path, _ = large
    (path / "c" / "9" / "9").write_bytes(b"broken")
    array = zaro.open(path)
    for _ in range(20):
        with pytest.raises(zaro.errors.CorruptChunkError, match="c/9/9"):
            array[...]


def test_arrays_pickle_small_and_read_the_same(large: tuple[Path, Any]) -> None:
    path, data = large
    small = pickle.dumps(zaro.open(path))
    assert len(small) < 1000
    assert same(pickle.loads(small)[5:9], data[5:9])


def test_a_forked_child_reads(large: tuple[Path, Any]) -> None:
    path, data = large
    array = zaro.open(path)
    array[...]
    child = os.fork()
    if child == 0:
        os._exit(0 if same(array[...], data) else 1)
    assert os.waitpid(child, 0)[1] == 0
