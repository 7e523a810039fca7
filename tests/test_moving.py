"""Code that was written for kerchunk, fsspec and zarr-python, with one word changed or none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr
import zarr
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from fsspec.implementations.dirfs import DirFileSystem

import zaro
import zaro.fsspec
import zaro.zarr
from zaro.demo import make_dataset, make_references

PAGES = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("moving") / "zaro-demo"
    made.mkdir()
    make_references(make_dataset(made, months=2, grid=(48, 96), chunk=(24, 32)), made / "refs.json")
    return made


@pytest.fixture(scope="module")
def refs(folder: Path) -> str:
    return str(folder / "refs.json")


@pytest.fixture(scope="module")
def expected(refs: str) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return xr.open_dataset(refs, engine="kerchunk", chunks={}).load()  # without, dask stays


KERCHUNKED: list[dict[str, Any]] = [
    {},
    {"chunks": {}},
    {"storage_options": {"remote_protocol": "file"}},
    {"storage_options": {"remote_protocol": "file", "remote_options": {}, "target_options": {}}},
    {"storage_options": {"target_protocol": "file", "lazy": True, "skip_instance_cache": True}},
    {"open_dataset_options": {"chunks": {}}},
    {"backend_kwargs": {"storage_options": {"remote_protocol": "file", "max_gap": 10}}},
]


@pytest.mark.parametrize("arguments", KERCHUNKED, ids=str)
def test_one_word_is_changed(refs: str, expected: xr.Dataset, arguments: dict[str, Any]) -> None:
    xr.testing.assert_identical(xr.open_dataset(refs, engine="zaro", **arguments).load(), expected)


def mappers(refs: str) -> Iterator[Any]:
    yield fsspec.get_mapper("reference://", fo=refs, remote_protocol="file")
    yield fsspec.filesystem("reference", fo=refs, remote_protocol="file").get_mapper("")
    yield zarr.storage.FsspecStore(
        fsspec.filesystem("reference", fo=refs, remote_protocol="file", asynchronous=True), path=""
    )
    yield fsspec.get_mapper("reference://", fo=json.loads(Path(refs).read_text()))


def test_a_mapper_of_references_is_opened_as_the_set_itself(refs: str, expected: xr.Dataset) -> None:
    for mapper in mappers(refs):
        found = xr.open_dataset(mapper, engine="zaro", consolidated=False)
        xr.testing.assert_identical(found.load(), expected)
        assert found.tas.encoding["chunks"] == expected.tas.encoding["chunks"]


def test_what_is_given_by_place_changes_the_set_as_what_is_given_by_name(tmp_path: Path) -> None:
    for name, value in (("old", 1), ("new", 2)):
        np.full(6, value, "<i4").tofile(tmp_path / f"{name}.bin")
    array = {"shape": [6], "chunks": [6], "dtype": "<i4", "compressor": None, "filters": None}
    meta = {
        ".zgroup": '{"zarr_format": 2}',
        "a/.zarray": json.dumps({**array, "zarr_format": 2, "order": "C", "fill_value": None}),
        "a/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}',
    }
    old, new = (str(tmp_path / f"{name}.bin") for name in ("old", "new"))
    named = {"version": 1, "templates": {"u": old}, "refs": {**meta, "a/0": ["{{u}}", 0, 24]}}
    without = {"version": 1, "refs": {**meta, "a/0": [None, 0, 24]}}
    for k, document in enumerate((named, without)):
        (tmp_path / f"{k}.json").write_text(json.dumps(document))
    for fo, *arguments in (
        (str(tmp_path / "0.json"), "", {}, "file", {}, "file", {}, None, {"u": new}),
        (str(tmp_path / "1.json"), new, {}, "file", {}, "file"),
        ({"version": 1, "refs": {**meta, "a/0": [new, 0, 24]}},),
        ({"version": 1, "refs": {**meta, "a/0": [new, 0, 24]}}, None, {}),
    ):
        for kind in (zaro.fsspec.ReferenceFileSystem, fsspec.implementations.reference.ReferenceFileSystem):
            fs = kind(fo, *arguments, skip_instance_cache=True)
            assert xr.open_dataset(fs.get_mapper(""), engine="zaro").a.values.tolist() == [2] * 6


@pytest.mark.parametrize("path", ["reference://", "reference:///"])
def test_options_of_fsspec_name_the_set(refs: str, expected: xr.Dataset, path: str) -> None:
    for storage_options in (
        {"fo": refs},
        {"fo": refs, "remote_protocol": "file", "asynchronous": True},
        {"fo": refs, "target_protocol": "file", "target_options": {}, "remote_options": {}},
    ):
        found = xr.open_dataset(path, engine="zaro", backend_kwargs={"storage_options": storage_options})
        xr.testing.assert_identical(found.load(), expected)


def test_a_group_of_references_is_named_by_the_path(tmp_path: Path) -> None:
    array = {"shape": [2], "chunks": [2], "dtype": "|u1", "compressor": None, "filters": None}
    array |= {"zarr_format": 2, "order": "C", "fill_value": None}
    refs = {
        ".zgroup": '{"zarr_format": 2}',
        "a/.zgroup": '{"zarr_format": 2}',
        "a/b/.zgroup": '{"zarr_format": 2}',
        "a/b/v/.zarray": json.dumps(array),
        "a/b/v/.zattrs": '{"_ARRAY_DIMENSIONS": ["x"]}',
        "a/b/v/0": "ab",
    }
    for engine in ("zaro", "xgroup"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = xr.open_dataset(
                "reference://a",
                engine=engine,
                group="b",
                storage_options={"fo": {"version": 1, "refs": refs}},
            )
        assert found.v.values.tolist() == [97, 98]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_stores_of_zarr_python_are_taken(tmp_path: Path, zarr_format: Any) -> None:
    data = xr.Dataset({"v": ("x", np.arange(5.0)), "w": ((), 3)})
    data.to_zarr(tmp_path / "s.zarr", zarr_format=zarr_format, consolidated=False)
    memory = zarr.storage.MemoryStore()
    data.to_zarr(memory, zarr_format=zarr_format, consolidated=False)
    with zarr.storage.ZipStore(tmp_path / "s.zip", mode="w") as packed:
        data.to_zarr(packed, zarr_format=zarr_format, consolidated=False)
    kept = f"memory://{tmp_path.name}/{zarr_format}.zarr"
    data.to_zarr(kept, zarr_format=zarr_format, consolidated=False)
    beside = DirFileSystem(tmp_path, fsspec.filesystem("file"))
    stores: list[Any] = [
        zarr.storage.LocalStore(tmp_path / "s.zarr"),
        memory,
        zarr.storage.ZipStore(tmp_path / "s.zip", mode="r"),
        zarr.storage.FsspecStore.from_url(f"file://{tmp_path}/s.zarr"),
        zaro.zarr.ZaroStore(tmp_path / "s.zarr"),
        zarr.storage.FsspecStore.from_url(f"simplecache::file://{tmp_path}/s.zarr", read_only=True),
        zarr.storage.FsspecStore.from_url(f"zip://::file://{tmp_path}/s.zip", read_only=True),
        zarr.storage.FsspecStore.from_url(kept, read_only=True),
        zarr.storage.FsspecStore(AsyncFileSystemWrapper(beside, asynchronous=True), path="s.zarr"),
        zarr.storage.WrapperStore(memory),
        zarr.storage.LoggingStore(memory),
        zarr.storage.StorePath(memory),
        fsspec.get_mapper(str(tmp_path / "s.zarr")),
        dict(fsspec.get_mapper(str(tmp_path / "s.zarr"))),
    ]
    for store in stores:
        xr.testing.assert_identical(xr.open_dataset(store, engine="zaro").load(), data)
    data.to_zarr(memory, group="deeper", zarr_format=zarr_format, consolidated=False)
    below = zarr.storage.StorePath(zarr.storage.WrapperStore(memory), "deeper")
    xr.testing.assert_identical(xr.open_dataset(below, engine="zaro").load(), data)
    groups = xr.open_groups(zarr.storage.WrapperStore(memory), engine="zaro", consolidated=False)
    assert sorted(groups) == ["/", "/deeper"]


def test_many_sets_open_together(folder: Path, expected: xr.Dataset) -> None:
    each = []
    for file in sorted(folder.glob("*.nc")):
        zaro.scan(str(file)).save(file.with_suffix(".json"))
        each.append(str(file.with_suffix(".json")))
    found = xr.open_mfdataset(each, engine="zaro", combine="nested", concat_dim="time", parallel=True)
    assert isinstance(found.tas.data, type(xr.open_dataset(each[0], engine="zaro", chunks={}).tas.data))
    np.testing.assert_array_equal(found.tas.values, expected.tas.values)
    np.testing.assert_array_equal(found.time.values, expected.time.values)


def test_zarr_python_opens_a_set_by_a_store(refs: str, expected: xr.Dataset) -> None:
    group = zarr.open_group(zaro.zarr.ZaroStore(refs), mode="r")
    raw = xr.open_dataset(refs, engine="zaro", decode_cf=False)
    np.testing.assert_array_equal(group["tas"][:3], raw.tas.values[:3])
    array = zarr.open(zaro.zarr.ZaroStore(refs), path="tas", mode="r")
    np.testing.assert_array_equal(array[-1], zaro.open(refs)["tas"][-1])
    opened = xr.open_zarr(zaro.zarr.ZaroStore(refs), zarr_format=2)
    xr.testing.assert_identical(opened.load(), expected)


PROGRAM = """
import warnings; warnings.simplefilter("ignore")
import sys, fsspec, xarray as xr, zarr
import zaro.fsspec
zaro.fsspec.install()
refs, out = sys.argv[1:]
fs = fsspec.filesystem("reference", fo=refs, remote_protocol="file")
assert type(fs) is zaro.fsspec.ReferenceFileSystem
mapper = fsspec.get_mapper("reference://", fo=refs, remote_protocol="file")
assert mapper["tas/.zarray"] and "tas/0.0.0" in mapper
by_engine = xr.open_dataset(refs, engine="kerchunk").load()
by_url = xr.open_dataset("reference://", engine="zarr", backend_kwargs={
    "consolidated": False, "storage_options": {"fo": refs, "remote_protocol": "file"}}).load()
by_mapper = xr.open_dataset(mapper, engine="zaro").load()
assert by_engine.identical(by_url) and by_engine.identical(by_mapper)
by_engine.to_netcdf(out)
"""


def test_code_that_stays_as_it_is_goes_through_zaro(refs: str, expected: xr.Dataset, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM, refs, str(tmp_path / "out.nc")], check=True, timeout=120)
    with xr.open_dataset(tmp_path / "out.nc") as found:
        np.testing.assert_array_equal(found.tas.values, expected.tas.values)


@pytest.mark.parametrize("page", ["move-from-kerchunk", "cross-group", "dask"])
def test_the_cells_of_a_page_run(folder: Path, page: str, tmp_path: Path) -> None:
    text = (PAGES / f"{page}.md").read_text()
    cells = re.findall(r"^```\{code-cell\} python\n(?::[^\n]*\n)*(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(cells) >= 6
    (tmp_path / "zaro-demo").symlink_to(folder)
    body = "\n".join(cells).replace("\n", "\n    ")  # workers in processes import the program too
    (tmp_path / "page.py").write_text(f"if __name__ == '__main__':\n    {body}\n")
    ran = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, env={**os.environ, "ZARO_DOCS_DATA": str(tmp_path)},
        capture_output=True, text=True, timeout=180, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
