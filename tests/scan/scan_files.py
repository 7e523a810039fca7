"""Files with odd cases, each made by the library that owns the format."""

from __future__ import annotations

import base64
from pathlib import Path

import h5py
import netCDF4
import numpy as np
import xarray as xr
import zarr

import zaro

CLASSIC = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")
VALUES = np.random.default_rng(6).normal(size=(10, 7, 9))


def climate(file: Path, *, first: int = 0, days: int = 6, chunk: int = 2, **how) -> Path:
    """A packed field along time, as models write them."""
    how = {"zlib": True, "shuffle": True, "chunksizes": (chunk, 4, 5), **how}
    with netCDF4.Dataset(file, "w") as ds:
        ds.title = "test"
        for name, size in (("time", None), ("lat", 7), ("lon", 9), ("nv", 2)):
            ds.createDimension(name, size)
        time = ds.createVariable("time", "f8", ("time",))
        time.units, time.calendar = "days since 2000-01-01", "noleap"
        time[:] = np.arange(first, first + days)
        bounds = ds.createVariable("time_bnds", "f8", ("time", "nv"))
        bounds[:] = np.stack([time[:], time[:] + 1], 1)
        ds.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-90, 90, 7)
        ds.createVariable("lon", "f4", ("lon",))[:] = np.linspace(0, 320, 9)
        crs = ds.createVariable("crs", "i4", ())
        crs.grid_mapping_name = "latitude_longitude"
        tas = ds.createVariable("tas", "i2", ("time", "lat", "lon"), fill_value=-32768, **how)
        tas.scale_factor, tas.add_offset, tas.units = 0.01, 273.15, "K"
        tas.set_auto_maskandscale(False)
        rng = np.random.default_rng(first)
        tas[:] = rng.integers(-3000, 3000, (days, 7, 9))
        tas[0, :4] = -32768
        pr = ds.createVariable("pr", "f4", ("time", "lat", "lon"), **how)
        pr[1:] = rng.normal(size=(days - 1, 7, 9))
    return file


def days(folder: Path, n: int) -> list[Path]:
    """Files of such fields, each six days later than the one before."""
    return [climate(folder / f"day_{k:03}.nc", first=6 * k) for k in range(n)]


def by_xarray(paths: list[Path]) -> xr.Dataset:
    """Files joined along time by xarray, from the first of them what has no time."""
    return xr.open_mfdataset(
        paths,
        combine="nested",
        concat_dim="time",
        data_vars="minimal",
        coords="minimal",
        compat="override",
        join="override",
    )


def classic(file: Path, version: str, record_variables: int = 3) -> Path:
    """A file of NetCDF classic."""
    with netCDF4.Dataset(file, "w", format=version) as ds:
        ds.setncatts({"title": "classic", "numbers": [1.5, 2.5], "one": np.int16(3), "empty": ""})
        ds.createDimension("time", None)
        ds.createDimension("x", 5)
        ds.createDimension("word", 4)
        ds.createVariable("fixed", "f8", ("x",))[:] = np.arange(5)
        ds.createVariable("words", "S1", ("x", "word"))[:] = np.array([list("abcd")] * 5, "S1")
        ds.createVariable("scalar", "i4", ())[...] = 7
        rng = np.random.default_rng(1)
        for name, kind, dims in (
            ("i2", "i2", ("time", "x")),
            ("i1", "i1", ("time",)),
            ("f4", "f4", ("time", "x")),
        )[:record_variables]:
            variable = ds.createVariable(name, kind, dims, fill_value=-1)
            variable[:] = rng.integers(-5, 100, (7, 5)[: len(dims)])
        if version == "NETCDF3_64BIT_DATA":
            for kind in ("u1", "u2", "u4", "u8", "i8"):
                ds.createVariable(kind, kind, ("time",))[:] = np.arange(7)
    return file


def zarr_store(store: Path, version: int, *, shards: tuple[int, ...] | None = None) -> zarr.Group:
    """A store of two arrays, one of them in a group, with chunks that were never written."""
    root = zarr.open_group(store, mode="w", zarr_format=version, attributes={"title": "there"})
    for name, shape, chunks, more in (
        ("deep/values", (10, 7, 9), (4, 4, 5), {"dtype": "f8", "fill_value": 1.5, "shards": shards}),
        ("left", (3,), (3,), {"dtype": "i4"}),
    ):
        dims = [f"{name[-1]}{k}" for k in range(len(shape))]
        named = {"attributes": {"_ARRAY_DIMENSIONS": dims}} if version == 2 else {"dimension_names": dims}
        root.create_array(name, shape=shape, chunks=chunks, **more, **named)
    root["deep/values"][:8] = VALUES[:8]
    root["left"][:] = [1, 2, 3]
    return root


def datasets(file: h5py.File) -> dict[str, h5py.Dataset]:
    found = {}

    def note(name, _):
        if isinstance(file[name], h5py.Dataset):
            found[name] = file[name]

    file.visititems(note)
    file.visititems_links(note)
    return found


def plain(values):
    """Values as zaro gives them: text decoded."""
    if values.dtype.kind == "O" and h5py.check_string_dtype(values.dtype) is not None:
        return np.array(
            [v.decode() if isinstance(v, bytes) else v for v in values.reshape(-1)], object
        ).reshape(values.shape)
    return values


def assert_same(found, expected):
    assert found.shape == expected.shape
    if expected.dtype.names:
        for name in expected.dtype.names:
            assert_same(found[name], expected[name])
    elif expected.dtype.kind == "O":
        pairs = zip(found.reshape(-1), expected.reshape(-1), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def values_of(dataset: h5py.Dataset) -> np.ndarray:
    """What h5py reads, as zaro gives it: text decoded."""
    if dataset.ndim == 0 and isinstance(h5py.check_vlen_dtype(dataset.dtype), np.dtype):
        one = np.empty((), object)  # h5py gives the array itself where an array of one is meant
        one[()] = dataset[()]
        return one
    return plain(np.asarray(dataset[()], dataset.dtype.base))


def assert_as_h5py(file: Path, **how) -> None:
    """Every dataset that a link reaches has the values that h5py reads."""
    root = zaro.open(zaro.scan(file, **how))
    with h5py.File(file) as opened:
        found = datasets(opened)
        assert found
        for name, dataset in found.items():
            assert_same(root[name].read(), values_of(dataset))


def document(refs) -> dict:
    """A set as kerchunk spells it."""
    texts = {
        k: v if isinstance(v, list) else "base64:" + base64.b64encode(v).decode() for k, v in refs.items()
    }
    return {
        "version": 1,
        "refs": {k: bytes(refs[k]).decode() if "/.z" in f"/{k}" else v for k, v in texts.items()},
    }
