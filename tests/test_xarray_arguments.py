"""Every argument of xarray's openers means with the engine `zaro` what it means with xarray's own."""

from __future__ import annotations

import asyncio
import inspect
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
import zarr
from xarray.backends.zarr import ZarrBackendEntrypoint

from zaro.xarray import ZaroBackendEntrypoint

FORMATS: list[Any] = [2, 3]


def assert_same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """Identical, of the same types, chunked the same and encoded the same."""
    xr.testing.assert_identical(found, expected)
    for name, variable in expected.variables.items():
        assert found[name].chunks == variable.chunks, name
        assert found[name].dtype == variable.dtype, name
        ours, theirs = found[name].encoding, variable.encoding
        assert ours.keys() == theirs.keys(), name
        for member in theirs.keys() - {"dtype"}:
            assert repr(ours[member]) == repr(theirs[member]), f"{name}.encoding[{member!r}]"
        if "dtype" in theirs:
            assert ours["dtype"] == theirs["dtype"]


@pytest.fixture(scope="module", params=FORMATS)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with whatever an argument may turn on or off."""
    path = tmp_path_factory.mktemp("arguments") / f"v{request.param}.zarr"
    values = np.random.default_rng(1).random((6, 20))
    data = xr.Dataset(
        {
            "packed": (("time", "x"), values),
            "masked": (("time", "x"), np.where(values < 0.3, np.nan, values)),
            "lag": ("time", np.arange(6) * np.timedelta64(1, "D")),
            "flag": ("time", np.arange(6) % 2 == 0),
            "text": ("x", np.array([f"n{k}" for k in range(20)], dtype="S3")),
            "names": ("time", np.array(list("abcdef"), dtype=object)),
            "unsigned": ("x", np.arange(20, dtype="u1")),
        },
        coords={
            "time": np.datetime64("2020-02-27", "ns") + np.arange(6) * np.timedelta64(1, "D"),
            "area": ("x", np.arange(20.0)),
        },
    )
    data.packed.encoding = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 1.0, "_FillValue": -9}
    data.packed.encoding["chunks"] = (2, 5)
    data.masked.encoding = {"_FillValue": -1.0, "chunks": (6, 10)}
    data.text.encoding = {"char_dim_name": "letter", "dtype": "S1"}
    data.unsigned.encoding = {"_Unsigned": "true", "dtype": "i1", "_FillValue": np.int8(-1)}
    if request.param == 3:
        del data["unsigned"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data.to_zarr(path, zarr_format=request.param)
        data.packed.isel(time=0).drop_vars("time").to_dataset().drop_encoding().to_zarr(
            path, group="below", zarr_format=request.param, mode="a"
        )
    return path


ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"chunks": {}},
    {"chunks": "auto", "drop_variables": "names"},  # dask cannot tell the size of a text
    {"chunks": -1},
    {"chunks": {"time": 4}},
    {"chunks": {"x": 10, "time": -1}, "inline_array": True},
    {"decode_cf": False},
    {"mask_and_scale": False},
    {"mask_and_scale": {"packed": False}},
    {"decode_times": False},
    {"decode_times": xr.coders.CFDatetimeCoder(time_unit="s")},
    {"decode_times": xr.coders.CFDatetimeCoder(use_cftime=True)},
    {"decode_timedelta": True},
    {"decode_timedelta": False},
    {"concat_characters": False},
    {"decode_coords": False},
    {"decode_coords": "all"},
    {"drop_variables": "packed"},
    {"drop_variables": ["packed", "area", "nowhere"]},
    {"group": "below"},
    {"group": "/below/"},
    {"consolidated": False},
    {"consolidated": True},
    {"consolidated": None},
    {"cache": False},
    {"create_default_indexes": False},
    {"storage_options": None},
    {"backend_kwargs": {"consolidated": True}},
]


@pytest.mark.parametrize(
    "arguments", ARGUMENTS, ids=lambda found: "-".join(map(str, found.items()))[:40] or "none"
)
@pytest.mark.filterwarnings(
    "ignore:.*In a future version", "ignore:The specified chunks", "ignore:.*UnstableSpec"
)
def test_an_argument_means_what_it_means_to_xarrays_own_engine(
    store: Path, arguments: dict[str, Any]
) -> None:
    expected = xr.open_dataset(store, engine="zarr", **arguments)
    found = xr.open_dataset(store, engine="zaro", **arguments)
    assert set(found.xindexes) == set(expected.xindexes)
    for name in expected.variables:
        assert found[name].chunks == expected[name].chunks, name
    assert_same(found.load(), expected.load())


@pytest.mark.filterwarnings("ignore:.*use_cftime", "ignore:.*UnstableSpec")
@pytest.mark.parametrize("use_cftime", [True, False, None])
def test_times_of_cftime_are_those_of_xarrays_own_engine(store: Path, use_cftime: bool | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # xarray wants it to be said in another way by now
        expected = xr.open_dataset(store, engine="zarr", use_cftime=use_cftime).load()
        assert_same(xr.open_dataset(store, engine="zaro", use_cftime=use_cftime).load(), expected)


def test_the_format_may_be_named(store: Path) -> None:
    zarr_format = int(store.stem[1:])
    expected = xr.open_dataset(store, engine="zarr", zarr_format=zarr_format).load()
    assert_same(xr.open_dataset(store, engine="zaro", zarr_format=zarr_format).load(), expected)


def test_every_argument_of_xarrays_own_engine_is_taken() -> None:
    for name in ("open_dataset", "open_groups_as_dict"):
        theirs = inspect.signature(getattr(ZarrBackendEntrypoint, name)).parameters
        ours = inspect.signature(getattr(ZaroBackendEntrypoint, name)).parameters
        assert set(theirs) - {"store", "engine"} <= set(ours), name
    assert {"store", "engine"} & set(ZaroBackendEntrypoint.open_dataset_parameters) == set()


@pytest.mark.parametrize("opener", [xr.open_dataset, xr.open_datatree, xr.open_groups])
def test_an_argument_that_nobody_knows_is_an_error(store: Path, opener: Any) -> None:
    with pytest.raises(TypeError, match="unknown option 'chonks'"):
        opener(store, engine="zaro", chonks={})
    with pytest.raises(ValueError, match="mode='r\\+'; zaro only reads"):
        opener(store, engine="zaro", mode="r+")


# ---- consolidated metadata ---------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    xr.Dataset({"v": ("x", np.arange(4))}).to_zarr(tmp_path / "s.zarr", zarr_format=2, consolidated=False)
    return tmp_path / "s.zarr"


def test_a_store_without_consolidated_metadata_is_told_of_to_who_asks(plain: Path) -> None:
    xr.open_dataset(plain, engine="zaro")
    xr.open_dataset(plain, engine="zaro", consolidated=False)
    with pytest.warns(RuntimeWarning, match="Failed to open Zarr store with consolidated"):
        xr.open_dataset(plain, engine="zaro", consolidated=None)
    with pytest.raises(ValueError, match="has no consolidated metadata"):
        xr.open_dataset(plain, engine="zaro", consolidated=True)
    for opener in (xr.open_datatree, xr.open_groups):
        opener(plain, engine="zaro", consolidated=False)
        with pytest.warns(RuntimeWarning, match="Failed to open Zarr store with consolidated") as told:
            opener(plain, engine="zaro")
        assert told[0].filename == __file__
        with pytest.raises(ValueError, match="has no consolidated metadata"):
            opener(plain, engine="zaro", consolidated=True)


@pytest.mark.parametrize("asked", [None, True, False])
def test_references_have_all_metadata_at_hand(asked: bool | None) -> None:
    refs = {".zgroup": '{"zarr_format": 2}'}
    assert xr.open_dataset(refs, engine="zaro", consolidated=asked).sizes == {}
    assert xr.open_datatree(refs, engine="zaro", consolidated=asked).sizes == {}


@pytest.mark.parametrize("engine", ["zaro", "xgroup"])
@pytest.mark.filterwarnings("ignore:.*declares no principal")
def test_metadata_that_are_newer_than_the_consolidated_ones_are_seen_without_these(
    tmp_path: Path, engine: str
) -> None:
    data = xr.Dataset({"v": ("x", np.arange(4))})
    data.to_zarr(tmp_path / "s.zarr", zarr_format=2, consolidated=True)
    zarr.open_array(tmp_path / "s.zarr", path="v", mode="a").attrs["units"] = "m"
    assert "units" not in xr.open_dataset(tmp_path / "s.zarr", engine=engine).v.attrs
    assert xr.open_dataset(tmp_path / "s.zarr", engine=engine, consolidated=False).v.attrs["units"] == "m"


# ---- shards, and await -------------------------------------------------------------------------


def test_shards_are_preferred_where_they_are_asked_for(tmp_path: Path) -> None:
    group = zarr.create_group(tmp_path / "s.zarr", zarr_format=3)
    array = group.create_array(
        "v", shape=(100, 8), chunks=(5, 4), shards=(20, 8), dtype="i4", dimension_names=["y", "x"]
    )
    array[:] = np.arange(800).reshape(100, 8)
    other = group.create_array("w", shape=(100,), chunks=(20,), dtype="i4", dimension_names=["y"])
    other[:] = 1
    small = xr.open_dataset(tmp_path / "s.zarr", engine="zaro", chunks={})
    assert small.v.data.chunksize == (5, 4)
    assert_same(
        small.load(),
        xr.open_dataset(tmp_path / "s.zarr", engine="zarr", chunks={}, consolidated=False).load(),
    )
    large = xr.open_dataset(tmp_path / "s.zarr", engine="zaro", chunks={}, prefer_shards=True)
    assert large.v.data.chunksize == (20, 8)
    assert large.w.data.chunksize == (20,)
    xr.testing.assert_identical(large.compute(), small.compute())
    tree = xr.open_datatree(
        tmp_path / "s.zarr", engine="zaro", chunks={}, prefer_shards=True, consolidated=False
    )
    assert tree.v.data.chunksize == (20, 8)


@pytest.mark.skipif(not hasattr(xr.Dataset, "load_async"), reason="this xarray has no load_async")
def test_values_can_be_awaited(store: Path) -> None:
    expected = xr.open_dataset(store, engine="zaro").load()

    async def load() -> list[Any]:
        opened = xr.open_dataset(store, engine="zaro")
        points = xr.DataArray([1, 3], dims="p")
        return await asyncio.gather(
            xr.open_dataset(store, engine="zaro").load_async(),
            opened.packed.isel(time=[3, 1], x=slice(None, None, -3)).load_async(),
            opened.masked.isel(time=points, x=points).load_async(),
        )

    whole, outer, some = asyncio.run(load())
    points = xr.DataArray([1, 3], dims="p")
    xr.testing.assert_identical(whole, expected)
    xr.testing.assert_identical(outer, expected.packed.isel(time=[3, 1], x=slice(None, None, -3)))
    xr.testing.assert_identical(some, expected.masked.isel(time=points, x=points))
