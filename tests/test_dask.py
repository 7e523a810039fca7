"""Data sets in dask, on this machine and beyond it: small tasks, one opening to a process, bounded memory."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import dask.base
import numpy as np
import pytest
import xarray as xr

import zaro
from zaro.references.table import DenseTable

MILLION = 1_000_000


def write_references(
    path: Path, chunks: int, shape: tuple[int, ...], chunk: tuple[int, ...], **how: Any
) -> Path:
    """Write a set whose chunks are of int32, one behind the other in a file that is made too."""
    nbytes = 4 * int(np.prod(chunk))
    data = path.with_suffix(".bin")
    if how.get("values", True):
        np.arange(chunks * nbytes // 4, dtype="<i4").tofile(data)
    else:
        with open(data, "wb") as file:
            file.truncate(chunks * nbytes)  # a file of holes takes no room
    array = {"zarr_format": 2, "shape": shape, "chunks": chunk, "dtype": "<i4", "compressor": None}
    array |= {"filters": None, "fill_value": None, "order": "C"}
    documents = {
        ".zgroup": {"zarr_format": 2},
        "v/.zarray": array,
        "v/.zattrs": {"_ARRAY_DIMENSIONS": ["t", "x"]},
    }
    inline = ", ".join(
        f"{json.dumps(key)}: {json.dumps(json.dumps(value))}" for key, value in documents.items()
    )
    refs = (f'"v/{k}.0": ["{data}", {k * nbytes}, {nbytes}]' for k in range(chunks))
    path.write_text(f'{{"version": 1, "refs": {{{inline}, {", ".join(refs)}}}}}')
    return path


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A million chunks of ten values each."""
    path = tmp_path_factory.mktemp("large") / "refs.json"
    return write_references(path, MILLION, (MILLION, 10), (1, 10))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_references(tmp_path / "refs.json", 40, (40, 10), (1, 10))


def tasks_of(collection: Any) -> list[Any]:
    """The tasks that are sent to workers, as dask makes them."""
    (optimized,) = dask.optimize(collection)
    return list(dict(optimized.__dask_graph__()).values())


def test_a_task_of_a_million_chunks_pickles_under_four_kilobytes(large: Path) -> None:
    opened = xr.open_dataset(large, engine="zaro", chunks={"t": 1000})
    one = opened.v.isel(t=777_777)
    for task in tasks_of(one.data):
        assert len(pickle.dumps(task)) < 4096
        assert len(cloudpickle.dumps(task)) < 4096
    assert one.compute().values.tolist() == list(range(7_777_770, 7_777_780))


def test_building_a_graph_asks_for_no_chunk(large: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("chunks were looked for")

    monkeypatch.setattr(DenseTable, "locate", never)
    monkeypatch.setattr(DenseTable, "listed", never)
    opened = xr.open_dataset(large, engine="zaro", chunks={})
    assert opened.v.data.npartitions == MILLION
    rechunked = xr.open_dataset(large, engine="zaro", chunks={"t": 100_000})
    assert len(tasks_of(rechunked.v.sum().data)) < 100
    assert repr(opened)


def test_a_process_opens_a_set_once_however_many_tasks_bring_it(small: Path) -> None:
    opened = xr.open_dataset(small, engine="zaro", chunks={"t": 10})
    sent = [cloudpickle.dumps(task) for task in tasks_of(opened.v.data)]
    assert len(sent) >= 4
    program = """
import pickle, sys, zaro.detect
calls, detect = [], zaro.detect.detect
zaro.detect.detect = lambda *args: calls.append(args) or detect(*args)
tasks = [pickle.loads(each) for each in pickle.load(sys.stdin.buffer)]
print(len(calls), len(tasks))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        input=pickle.dumps(sent), capture_output=True, timeout=120, check=True, cwd="/",
    )  # fmt: skip
    assert done.stdout.split() == [b"1", str(len(sent)).encode()]


def test_a_relative_path_is_found_from_another_folder(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(small.parent)
    array = zaro.open(small.name)["v"]
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(array))
    assert again[39].tolist() == array[39].tolist() == list(range(390, 400))


# ---- tokens ------------------------------------------------------------------------------------


def token(target: Any, **options: Any) -> str:
    found: str = dask.base.tokenize(zaro.open(target, "v", **options))
    return found


def lazy_token(target: Any) -> str:
    """The token of an array that xarray has not yet given to dask."""
    chunked = xr.open_dataset(target, engine="zaro").v.chunk({"t": 5})
    name: str = chunked.data.name
    return name


@pytest.mark.parametrize("of", [token, lazy_token])
def test_tokens_are_the_same_for_all_who_open_the_same(small: Path, of: Any) -> None:
    assert of(small) == of(str(small)) == of(small)
    document = json.loads(small.read_text())
    assert of(document) == of(json.loads(small.read_text()))
    assert of(zaro.References.open(small)) == of(zaro.References.open(small))


def test_tokens_are_the_same_in_another_process(small: Path) -> None:
    program = f"import dask.base, zaro; print(dask.base.tokenize(zaro.open({str(small)!r}, 'v')))"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, timeout=120, check=True
    )
    assert done.stdout.decode().strip() == token(small)


@pytest.mark.parametrize("of", [token, lazy_token])
def test_tokens_differ_where_references_differ(small: Path, of: Any) -> None:
    before, text = of(small), small.read_text()
    as_dict = of(json.loads(text))
    changed = text.replace('.bin", 40, 40]', '.bin", 80, 40]')
    assert len(changed) == len(text) != 0
    assert of(json.loads(changed)) != as_dict
    small.write_text(changed)
    os.utime(small, ns=(0, 0))
    assert of(small) != before


def test_tokens_differ_by_path_options_and_array(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    other.write_text(small.read_text())
    tokens = {token(small), token(other), token(small, missing="raise")}
    tokens.add(dask.base.tokenize(zaro.open(small)))
    assert len(tokens) == 4


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_tokens_of_a_store_differ_where_its_documents_do(tmp_path: Path, zarr_format: Any) -> None:
    data = xr.Dataset({"v": ("t", np.arange(4))})
    tokens = set()
    for attrs in ({}, {}, {"units": "m"}):
        data.v.attrs = dict(attrs)
        data.to_zarr(tmp_path / "s.zarr", mode="w", zarr_format=zarr_format, consolidated=False)
        tokens.add(token(tmp_path / "s.zarr"))
    assert token(tmp_path / "s.zarr") in tokens
    assert len(tokens) >= 2


def test_what_has_changed_since_is_opened_anew(small: Path) -> None:
    """A process that holds an older state of a file does not take it for the newer one."""
    old = zaro.open(small)["v"]
    held = pickle.loads(pickle.dumps(old))
    small.write_text(small.read_text().replace('.bin", 40, 40]', '.bin", 80, 40]'))
    new = zaro.open(small)["v"]
    again = pickle.loads(pickle.dumps(new))
    assert held[1, 0] == 10
    assert again[1, 0] == new[1, 0] == 20


# ---- memory ------------------------------------------------------------------------------------


def test_a_reduction_of_a_whole_archive_needs_a_few_blocks_of_memory(tmp_path: Path) -> None:
    size = 1 << 20  # bytes of a chunk
    path = write_references(tmp_path / "refs.json", 256, (256, size // 4), (1, size // 4), values=False)
    opened = xr.open_dataset(path, engine="zaro", chunks={"t": 4})
    with dask.config.set(scheduler="threads", num_workers=2):
        opened.v.isel(t=slice(8)).max().compute()  # whatever is made once
        tracemalloc.start()
        try:
            assert int(opened.v.max()) == 0
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert opened.v.nbytes == 256 * size
    assert most < 32 * size


# ---- processes ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two workers in processes of their own."""
    distributed = pytest.importorskip("distributed")
    limits = {
        "distributed.comm.timeouts.connect": "60s",
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.daemon": True,
    }
    with (
        dask.config.set(limits),
        distributed.LocalCluster(
            n_workers=2, processes=True, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        ) as running,
        distributed.Client(running, timeout=60) as client,
    ):
        yield client


def result(client: Any, collection: Any) -> Any:
    """What workers compute of a collection, in bounded time."""
    return client.compute(collection, sync=False).result(timeout=120)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_workers_in_processes_compute_the_same(cluster: Any, small: Path, tmp_path: Path) -> None:
    expected = np.arange(400).reshape(40, 10)
    opened = xr.open_dataset(small, engine="zaro", chunks={"t": 3})
    assert np.array_equal(result(cluster, opened).v.values, expected)
    assert result(cluster, opened.v.sum()) == expected.sum()
    picked = opened.v.isel(t=[7, 3, 30], x=slice(None, None, -2))
    assert np.array_equal(result(cluster, picked), expected[[7, 3, 30], ::-2])
    points = opened.v.isel(t=xr.DataArray([5, 39], dims="p"), x=xr.DataArray([1, 9], dims="p"))
    assert np.array_equal(result(cluster, points), expected[[5, 39], [1, 9]])
    lazy = xr.open_dataset(small, engine="zaro")  # not in dask: the array itself is sent
    assert cluster.submit(lambda data: float(data.v.mean()), lazy).result(timeout=120) == expected.mean()
    refs = zaro.References.open(json.loads(small.read_text()))  # has no address: its columns are sent
    assert result(cluster, xr.open_dataset(refs, engine="zaro", chunks={}).v.sum()) == expected.sum()
    tree = xr.DataTree.from_dict({"/": xr.Dataset(), "/a": xr.Dataset({"v": (("t", "x"), expected)})})
    tree.to_zarr(tmp_path / "t.zarr", zarr_format=3, consolidated=False)
    group = xr.open_dataset(tmp_path / "t.zarr", engine="zaro", group="a", chunks={})
    assert result(cluster, group.v.sum()) == expected.sum()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_workers_in_processes_open_a_large_set_once(cluster: Any, large: Path) -> None:
    opened = xr.open_dataset(large, engine="zaro", chunks={"t": 25_000})
    values = 10 * MILLION
    assert result(cluster, opened.v.sum(dtype="i8")) == values * (values - 1) // 2

    def kept() -> int:
        from zaro import detect

        return sum(key[0].endswith("refs.json") and "large" in key[0] for key in detect._OPENINGS._kept)

    assert set(cluster.run(kept).values()) <= {0, 1}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_workers_in_processes_compute_coordinates_of_other_groups(cluster: Any, tmp_path: Path) -> None:
    import zarr

    root = zarr.create_group(tmp_path / "x.zarr")
    axis = {
        "coordinates": [{"direction": "east", "unit": "m", "values": {"external": {"ref": {"node": "/c/x"}}}}]
    }
    own = {
        "zarr_conventions": [{"uuid": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4", "name": "cs"}],
        "cs": {"crs": [{"type": "planar", "axes": {"x": axis}}]},
    }
    data = root.create_array(
        "a/v", shape=(8,), dtype="i4", chunks=(2,), dimension_names=["x"], attributes=own
    )
    where = root.create_array("c/x", shape=(8,), dtype="f8", dimension_names=["x"])
    data[:], where[:] = np.arange(8), np.arange(8) * 2.5
    opened = xr.open_dataset(tmp_path / "x.zarr", engine="xgroup", group="a", chunks={})
    assert result(cluster, (opened.v * opened.x).sum()) == float((np.arange(8) ** 2 * 2.5).sum())
