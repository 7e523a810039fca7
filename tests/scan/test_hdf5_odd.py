"""HDF5 files as they are rarely written: each was once read wrongly, or not at all."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scan_files as files
from numpy.testing import assert_array_equal

import zaro
from zaro.scan import hdf5_chunks, scan

GRIDS = {
    "columns": ((2, 1), (1, 1), (2, None)),
    "middle": ((3, 4, 2), (1, 2, 1), (5, None, 3)),
    "last": ((5, 8, 3), (2, 5, 2), (5, 8, None)),
    "first": ((3, 4, 2), (1, 1, 1), (None, 6, 3)),
    "two": ((3, 4, 2), (1, 1, 1), (None, None, 3)),
    "bounded": ((3, 4, 2), (1, 1, 1), (7, 6, 3)),
}


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("through", ["the library", "h5py"])
@pytest.mark.parametrize("version", ["earliest", "latest"])
@pytest.mark.parametrize("grid", GRIDS)
def test_whichever_dimension_grows_chunks_are_in_their_places(
    tmp_path, monkeypatch, grid, version, through, compression
):
    shape, chunks, most = GRIDS[grid]
    with h5py.File(tmp_path / "f.h5", "w", libver=version) as f:
        values = np.arange(np.prod(shape), dtype="<i4").reshape(shape) + 1
        for name in ("whole", "sparse"):
            f.create_dataset(name, shape, "<i4", chunks=chunks, maxshape=most, compression=compression)
        f["whole"][...] = values
        f["sparse"][-1:] = values[-1:]
    if through == "h5py":
        monkeypatch.setattr(hdf5_chunks, "_iterate", lambda: None)
    files.assert_as_h5py(tmp_path / "f.h5", inline_threshold=0)


def user_block(f):
    f.create_dataset("never", (3,), "<f8")
    f.create_dataset("scalar", (), ">f4")
    f["there"] = np.arange(3)


def arrays(f):
    kind = np.dtype((">i4", (2, 3)))
    for name, how in {
        "szip": {"compression": "szip"},
        "lzf": {"compression": "lzf", "shuffle": True},
    }.items():
        v = f.create_dataset(name, (3, 3, 5), kind, chunks=(2, 2, 2), **how)
        v[...] = np.arange(270).reshape(3, 3, 5, 2, 3) // 7


def fills_of_scaleoffset(f):
    for kind in ("<i4", ">i4", "<i2", ">u8", "u1", "<f8", ">f4"):
        scale = 2 if kind[1] == "f" else 0
        v = f.create_dataset(kind, (8, 5), kind, chunks=(3, 2), scaleoffset=scale, fillvalue=7)
        v[:5] = np.arange(25).reshape(5, 5) % 9


def records_never_written(f):
    f.create_dataset("plain", (4,), [("a", "<i2"), ("t", "S3")])
    f.create_dataset("some", (4,), [("a", "<i2"), ("t", "S3")], chunks=(2,))[:2] = (1, b"abc")
    times = h5py.opaque_dtype(np.dtype("M8[s]"))
    f.create_dataset("times", (4,), times, chunks=(2,))[:2] = np.arange(2).astype("M8[s]").astype(times)


def ragged_scalars(f):
    f.create_dataset("v", (), h5py.vlen_dtype("<i4"))[()] = np.arange(3, dtype="<i4")
    f.create_dataset("of one", (), h5py.vlen_dtype(">f8"))[()] = np.ones(1)


def never_filtered(f):
    """Small chunks that lzf leaves as they are, beside chunks that were never written."""
    f.create_dataset("none", (8,), "<i2", chunks=(2,), compression="lzf", fillvalue=1)
    some = f.create_dataset("some", (80,), "<i2", chunks=(20,), compression="lzf", fillvalue=1)
    some[:20], some[20:40] = 5, np.random.default_rng(0).integers(0, 999, 20)


def sums_before_shuffling(f):
    """As netCDF orders its filters: what is shuffled is four bytes longer than a chunk."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((3,))
    plist.set_fill_value(np.array(7.0))
    plist.set_fletcher32()
    plist.set_shuffle()
    plist.set_deflate(4)
    h5py.h5d.create(f.id, b"v", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((9,)), plist)
    f["v"][:2] = 1


ODD = [
    arrays,
    fills_of_scaleoffset,
    never_filtered,
    ragged_scalars,
    records_never_written,
    sums_before_shuffling,
    user_block,
]


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
def test_odd_datasets_read_as_h5py_reads_them(tmp_path, make, inline):
    with h5py.File(tmp_path / "f.h5", "w", userblock_size=512) as f:
        make(f)
    if make is not ragged_scalars:
        files.assert_as_h5py(tmp_path / "f.h5", inline_threshold=inline)
        return
    root = zaro.open(scan(tmp_path / "f.h5", inline_threshold=inline))
    with h5py.File(tmp_path / "f.h5") as f:
        for name in f:  # h5py gives the array itself where an array of one is meant
            assert_array_equal(root[name].read()[()], f[name][()])
