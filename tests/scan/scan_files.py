"""Files with odd cases, each made by the library that owns the format."""

from __future__ import annotations

import base64
from pathlib import Path

import h5py
import netCDF4
import numpy as np

import zaro

RNG = np.random.default_rng(6)
VALUES = RNG.normal(size=(10, 7, 9))


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


def hdf5_layouts(file: Path) -> Path:
    """Every layout, filter and type that can be represented."""
    with h5py.File(file, "w") as f:
        f.attrs["title"] = "layouts"
        f["contiguous"] = VALUES
        f.create_dataset("big_endian", data=VALUES.astype(">f4"), chunks=(3, 3, 3))
        f.create_dataset("never_written", (4, 5), "f4", fillvalue=7.5)
        f.create_dataset("half_written", (10, 6), "i4", chunks=(4, 4), fillvalue=-9)[:3, :3] = 5
        for name, how in {
            "deflate": {"compression": "gzip"},
            "shuffled": {"compression": "gzip", "shuffle": True},
            "checked": {"compression": "gzip", "shuffle": True, "fletcher32": True},
            "only_checked": {"fletcher32": True},
            "lzf": {"compression": "lzf"},
            "scaled": {"scaleoffset": 3},
        }.items():
            f.create_dataset(name, data=VALUES, chunks=(4, 3, 5), **how)
        f.create_dataset(
            "odd_bytes", data=np.arange(15, dtype="i1").reshape(3, 5), chunks=(1, 3), fletcher32=True
        )
        f["scalar"] = 3.25
        f["scalar_text"] = "a word"
        f["texts"] = np.array(["", "Größe", "x" * 300], object)
        f.create_dataset(
            "texts_chunked",
            data=np.array([["a", "bb"]] * 5, object),
            chunks=(2, 2),
            dtype=h5py.string_dtype(),
        )
        f["fixed"] = np.array([b"one", b"three", b""], "S5")
        f.create_dataset("empty", (0, 3), "f4", maxshape=(None, 3), chunks=(2, 3))
        enum = h5py.enum_dtype({"low": 0, "high": 5}, "u1")
        f.create_dataset("enum", data=np.array([0, 5, 5], "u1"), dtype=enum)
        f["flags"] = np.array([True, False])
        f["half"] = np.arange(5, dtype="f2")
        f["complex"] = np.arange(4) * (1 + 2j)
        f["compound"] = np.array([(1, 2.5, (3, 4))], [("a", "<i4"), ("b", "<f8"), ("c", "<i2", (2,))])
        padded = np.dtype({"names": ["p", "q"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 24})
        block = np.zeros(5, padded)
        block["p"], block["q"] = np.arange(5), np.arange(5) / 2
        f.create_dataset("padded", data=block, chunks=(2,), compression="gzip", shuffle=True)
        f.create_dataset("arrays", (3,), np.dtype(("<i4", (2, 2))))[:] = np.arange(12).reshape(3, 2, 2)
        ragged = f.create_dataset("ragged", (3,), h5py.vlen_dtype("i4"))
        ragged[0], ragged[2] = [1, 2, 3], [4]
        f["group/inner/deep"] = np.arange(6)
        f["hard"] = f["contiguous"]
        f["soft"] = h5py.SoftLink("/group/inner/deep")
        f["group_link"] = h5py.SoftLink("/group/inner")
        _compact(f)
        _masked(f)
    return file


def _compact(f: h5py.File) -> None:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    dataset = h5py.h5d.create(f.id, b"compact", h5py.h5t.NATIVE_INT32, space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.arange(4, dtype="i4"))


def _masked(f: h5py.File) -> None:
    """One chunk without deflate, and a dataset whose chunks have none of their filters."""
    block = np.arange(12, dtype="i4").reshape(3, 4)
    some = f.create_dataset("some_masked", (6, 8), "i4", chunks=(3, 4), compression="gzip", shuffle=True)
    some[:] = 1
    some.id.write_direct_chunk((3, 4), block.tobytes(), filter_mask=3)
    every = f.create_dataset("all_masked", (3, 8), "i4", chunks=(3, 4), compression="gzip", shuffle=True)
    for column in (0, 4):
        every.id.write_direct_chunk((0, column), block.tobytes(), filter_mask=3)


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
        pairs = zip(np.asarray(found, object).reshape(-1), expected.reshape(-1), strict=True)
        assert all(np.array_equal(a, b) for a, b in pairs)
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def values_of(dataset: h5py.Dataset) -> np.ndarray:
    """What h5py reads, as zaro gives it: text decoded."""
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
