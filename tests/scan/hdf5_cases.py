"""HDF5 files with every layout, filter and type, and such as are rarely written."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
from scan_files import VALUES

GRIDS = {
    "columns": ((2, 1), (1, 1), (2, None)),
    "middle": ((3, 4, 2), (1, 2, 1), (5, None, 3)),
    "last": ((5, 8, 3), (2, 5, 2), (5, 8, None)),
    "first": ((3, 4, 2), (1, 1, 1), (None, 6, 3)),
    "two": ((3, 4, 2), (1, 1, 1), (None, None, 3)),
    "bounded": ((3, 4, 2), (1, 1, 1), (7, 6, 3)),
}
"""Shape, chunks and limits of datasets, by which dimension may grow."""


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


def growing(file: Path, grid: str, *, version: str = "latest", compression: str | None = None) -> Path:
    """A dataset of which every chunk is there, and one of which few are."""
    shape, chunks, most = GRIDS[grid]
    with h5py.File(file, "w", libver=version) as f:
        values = np.arange(np.prod(shape), dtype="<i4").reshape(shape) + 1
        for name in ("whole", "sparse"):
            f.create_dataset(name, shape, "<i4", chunks=chunks, maxshape=most, compression=compression)
        f["whole"][...] = values
        f["sparse"][-1:] = values[-1:]
    return file


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


ODD = {
    make.__name__: make
    for make in (
        arrays,
        fills_of_scaleoffset,
        never_filtered,
        ragged_scalars,
        records_never_written,
        sums_before_shuffling,
        user_block,
    )
}
CASES = ("layouts", *ODD, *GRIDS)


def write(file: Path, case: str) -> Path:
    """A file of any case."""
    if case == "layouts":
        return hdf5_layouts(file)
    if case in GRIDS:
        return growing(file, case)
    with h5py.File(file, "w", userblock_size=512) as f:
        ODD[case](f)
    return file
