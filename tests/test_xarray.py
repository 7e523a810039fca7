"""The engine `zaro` gives what xarray's own engines give."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr

import zaro
from zaro.demo import make_dataset, make_references


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """References of a small archive of NetCDF4 files, as kerchunk writes them."""
    folder = tmp_path_factory.mktemp("archive")
    files = make_dataset(folder, months=3)
    return make_references(files, folder / "refs.json")


ENCODINGS = [
    *("chunks", "preferred_chunks", "compressors", "filters", "shards", "serializer", "dtype", "fill_value"),
    *("_FillValue", "scale_factor", "add_offset", "units", "calendar", "coordinates"),
]


def assert_same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """Identical, and encoded the same."""
    xr.testing.assert_identical(found, expected)
    for name, variable in expected.variables.items():
        for member in ENCODINGS:
            ours, theirs = found[name].encoding.get(member), variable.encoding.get(member)
            same = ours == theirs if member == "dtype" else repr(ours) == repr(theirs)
            assert same, f"{name}.encoding[{member!r}]"


@pytest.mark.parametrize("decoded", [True, False])
def test_references_open_as_the_kerchunk_engine_opens_them(archive: Path, decoded: bool) -> None:
    options: Any = {} if decoded else {"open_dataset_options": {"decode_cf": False, "chunks": {}}}
    with xr.open_dataset(archive, engine="zaro", **options) as found:
        assert_same(found.load(), xr.open_dataset(str(archive), engine="kerchunk", **options).load())


def test_a_dict_and_references_open_as_well(archive: Path) -> None:
    expected = xr.open_dataset(archive, engine="zaro")
    for target in (json.loads(archive.read_text()), zaro.References.open(archive)):
        xr.testing.assert_identical(xr.open_dataset(target, engine="zaro"), expected)


def test_every_kind_of_indexing_gives_what_loading_first_gives(archive: Path) -> None:
    lazy = xr.open_dataset(archive, engine="zaro")
    loaded = xr.open_dataset(archive, engine="zaro").load()
    points = xr.DataArray([3, 1, 3], dims="p")
    for pick in (
        {"time": slice(None, None, -7)},
        {"time": [5, 2, 2], "lon": slice(3, 90, 4)},
        {"time": points, "lat": points + 1, "lon": points},
        {"time": points, "lat": slice(2, 9)},
        {"time": 4, "lat": [1, 0], "lon": np.arange(192) % 3 == 0},
        {"lat": points},
    ):
        xr.testing.assert_identical(lazy.isel(pick).load(), loaded.isel(pick))


def test_dask_chunks_are_the_stored_chunks_and_compute_the_same(archive: Path) -> None:
    chunked = xr.open_dataset(archive, engine="zaro", chunks={})
    assert chunked.tas.data.chunksize == chunked.tas.encoding["chunks"]
    xr.testing.assert_identical(chunked.compute(), xr.open_dataset(archive, engine="zaro").load())
    assert chunked.tas.data.name == xr.open_dataset(archive, engine="zaro", chunks={}).tas.data.name


def test_a_lazy_data_set_pickles_small(archive: Path) -> None:
    found = xr.open_dataset(archive, engine="zaro", chunks={})
    assert len(pickle.dumps(found.tas.variable._data)) < 20_000
    lazy = xr.open_dataset(archive, engine="zaro").tas.variable._data
    assert len(pickle.dumps(lazy)) < 4000
    xr.testing.assert_identical(pickle.loads(pickle.dumps(found)).compute(), found.compute())


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_plain_store_opens_as_xarrays_own_engine_opens_it(tmp_path: Path, zarr_format: Any) -> None:
    rng = np.random.default_rng(0)
    written = xr.Dataset(
        {
            "sst": (("time", "x"), rng.random((5, 7)), {"units": "K"}),
            "packed": (("x",), np.array([1.5, np.nan, 2, 3, 4, 5, 6])),
            "flag": (("time",), np.array([True, False, True, True, False])),
            "scalar": ((), 3),
        },
        coords={
            "time": np.array("2020-01-01", "M8[ns]") + np.arange(5) * np.timedelta64(1, "D"),
            "x": np.arange(7),
        },
        attrs={"title": "a store"},
    )
    written.packed.encoding = {"dtype": "i2", "scale_factor": 0.5, "add_offset": 1.0, "_FillValue": -9}
    path = tmp_path / "s.zarr"
    written.chunk(x=3).to_zarr(path, zarr_format=zarr_format, consolidated=zarr_format == 2)
    expected = xr.open_dataset(path, engine="zarr", consolidated=False).load()
    assert_same(xr.open_dataset(path, engine="zaro").load(), expected)
    assert_same(
        xr.open_zarr(path, consolidated=False).load(), xr.open_dataset(path, engine="zaro", chunks={}).load()
    )
    again = tmp_path / "again.zarr"
    xr.open_dataset(path, engine="zaro").to_zarr(again, zarr_format=zarr_format, consolidated=False)
    xr.testing.assert_identical(xr.open_dataset(again, engine="zaro").load(), expected)


def test_groups_open_as_a_tree(tmp_path: Path) -> None:
    tree = xr.DataTree.from_dict({
        "/": xr.Dataset(coords={"x": [1, 2]}),
        "/ocean": xr.Dataset({"sst": ("x", [3.0, 4.0])}),
        "/ocean/deep": xr.Dataset({"salt": ("y", [5, 6, 7])}),
    })  # fmt: skip
    tree.to_zarr(tmp_path / "t.zarr", zarr_format=3, consolidated=False)
    expected = xr.open_datatree(tmp_path / "t.zarr", engine="zarr", consolidated=False)
    xr.testing.assert_identical(
        xr.open_datatree(tmp_path / "t.zarr", engine="zaro", consolidated=False), expected
    )
    below = xr.open_datatree(tmp_path / "t.zarr", engine="zaro", group="ocean", consolidated=False)
    xr.testing.assert_identical(
        below["deep"].to_dataset(inherit=False), expected["ocean/deep"].to_dataset(inherit=False)
    )
    one = xr.open_dataset(tmp_path / "t.zarr", engine="zaro", group="/ocean/deep")
    assert one.salt.values.tolist() == [5, 6, 7]
    assert set(xr.open_groups(tmp_path / "t.zarr", engine="zaro", consolidated=False)) == {
        "/",
        "/ocean",
        "/ocean/deep",
    }


def test_an_array_without_dimension_names_says_what_xarray_needs(tmp_path: Path) -> None:
    zarr.create_group(tmp_path / "s").create_array("a", shape=(3, 2), dtype="i4")
    with pytest.raises(KeyError, match=r"a/zarr\.json: dimension_names has 0 names for 2 dimensions"):
        xr.open_dataset(tmp_path / "s", engine="zaro")


def test_what_is_not_there_is_what_callers_expect(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        xr.open_dataset(tmp_path / "nowhere", engine="zaro")


def test_the_engine_guesses_reference_sets_only() -> None:
    engine = xr.backends.list_engines()["zaro"]
    assert all(engine.guess_can_open(name) for name in ("a.json", "b/c.parquet", "d.parq/", "e.json.zst"))
    assert not any(engine.guess_can_open(name) for name in ("a.nc", "b.zarr", {"refs": {}}))


def test_kerchunks_nested_options_are_understood(archive: Path) -> None:
    options = {
        "remote_protocol": "file",
        "remote_options": {},
        "target_options": {},
        "skip_instance_cache": True,
    }
    found = xr.open_dataset(
        archive, engine="zaro", storage_options=options, open_dataset_options={"decode_times": False}
    )
    assert found.time.dtype.kind == "f"


def test_options_for_the_document_are_taken_out_of_kerchunk_s_nested_form():
    nested = {"remote_protocol": "s3", "target_protocol": "http", "target_options": {"headers": {"a": "b"}}}
    from zaro.callers import engine_options

    assert engine_options(nested, {}) == {
        "remote_protocol": "s3",
        "storage_options": {"headers": {"a": "b"}},
    }
