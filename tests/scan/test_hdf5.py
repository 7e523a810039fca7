"""HDF5 and NetCDF4: values of every variable are those of h5py, netCDF4 and xarray's own engines."""

from __future__ import annotations

import json
import os
import pickle
import sys
import warnings

import h5py
import hdf5_cases as cases
import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr
from kerchunk.hdf import SingleHdf5ToZarr

import zaro
from zaro.collector import still
from zaro.errors import ScanError, StoreError
from zaro.scan import hdf5, hdf5_dataset, scan
from zaro.scan.hdf5_chunks import _through_python, chunk_index
from zaro.scan.hdf5_codec import Hdf5Filter


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    return cases.hdf5_layouts(tmp_path_factory.mktemp("hdf5") / "layouts.h5")


@pytest.fixture(scope="module")
def climate(tmp_path_factory):
    return files.climate(tmp_path_factory.mktemp("nc4") / "climate.nc")


@pytest.mark.parametrize("inline", [0, 500, 1 << 20])
def test_every_dataset_reads_as_h5py_reads_it(layouts, inline):
    files.assert_as_h5py(layouts, inline_threshold=inline)


def test_links_are_variables_under_their_own_paths(layouts):
    refs = scan(layouts, inline_threshold=0)
    assert refs["hard/0.0.0"] == refs["contiguous/0.0.0"]
    assert refs["soft/0"] == refs["group/inner/deep/0"] == refs["group_link/deep/0"]


def test_kerchunk_writes_the_same_references(tmp_path):
    file = tmp_path / "common.h5"
    with h5py.File(file, "w") as f:
        f["contiguous"] = files.VALUES
        f["scalar"] = 3.25
        f.create_dataset("big_endian", data=files.VALUES.astype(">f4"), chunks=(3, 3, 3))
        f.create_dataset(
            "deep/shuffled", data=files.VALUES, chunks=(4, 3, 5), compression="gzip", shuffle=True
        )
        masked = f.create_dataset("masked", (3, 8), "i4", chunks=(3, 4), compression="gzip", shuffle=True)
        masked.id.write_direct_chunk((0, 4), bytes(48), filter_mask=3)
    ours = scan(file, inline_threshold=0)
    with still():
        theirs = SingleHdf5ToZarr(str(file), inline_threshold=0).translate()["refs"]
    keys = [key for key in theirs if ".z" not in key]
    assert len(keys) > 50
    assert sorted(key for key in ours if ".z" not in key) == sorted(keys)
    assert all(ours[key] == theirs[key] for key in keys)
    for name in ("contiguous", "big_endian", "deep/shuffled", "masked"):
        mine, other = (json.loads(refs[f"{name}/.zarray"]) for refs in (ours, theirs))
        assert all(
            mine[member] == other[member] for member in ("shape", "chunks", "dtype", "filters", "compressor")
        )


def test_the_index_is_the_one_that_h5py_gives(layouts):
    with h5py.File(layouts) as file:
        for name in ("big_endian", "half_written", "some_masked", "empty"):
            dataset = file[name]
            grid = tuple(-(-s // c) for s, c in zip(dataset.shape, dataset.chunks, strict=True))
            rows = [np.stack(how(dataset, grid)) for how in (chunk_index, _through_python)]
            np.testing.assert_array_equal(*rows)


def test_netcdf_opens_as_xarray_opens_it(climate):
    refs = scan(climate)
    for engine in ("netcdf4", "h5netcdf"):
        for decode in (True, False):
            with (
                xr.open_dataset(climate, engine=engine, decode_cf=decode) as expected,
                xr.open_dataset(refs, engine="zaro", decode_cf=decode) as found,
            ):
                xr.testing.assert_identical(found.load(), expected.load())


def test_a_variable_that_ends_before_its_unlimited_dimension_is_as_long_as_netcdf_says(tmp_path):
    path = tmp_path / "ragged.nc"
    with netCDF4.Dataset(path, "w") as dataset:
        for name, size in (("time", None), ("member", None), ("x", 3)):
            dataset.createDimension(name, size)
        dataset.createVariable("time", "f8", ("time",))[:] = np.arange(5.0)
        whole = dataset.createVariable("whole", "i4", ("time", "member", "x"), chunksizes=(2, 2, 3))
        whole[:] = np.arange(5 * 3 * 3).reshape(5, 3, 3)
        dataset.createVariable("short", "i2", ("time", "x"), fill_value=-7, chunksizes=(1, 3))[:2] = 1
        dataset.createVariable("few", "f4", ("time", "member"), chunksizes=(2, 1))[:3, :2] = 2
        dataset.createVariable("none", "f4", ("member", "time"))
        dataset.createVariable("word", str, ("time",))[:1] = np.array(["a"], object)
    found = zaro.open(scan(path))
    with netCDF4.Dataset(path) as dataset:
        dataset.set_auto_maskandscale(False)
        for name in ("time", "whole", "short", "none", "word"):
            np.testing.assert_array_equal(found[name][...], dataset[name][...], err_msg=name)
        few = np.full((5, 3), netCDF4.default_fillvals["f4"], "f4")
        few[:3, :2] = 2  # netCDF4 itself misplaces these, where two dimensions are ragged
        np.testing.assert_array_equal(found["few"][...], few)


def test_our_document_reads_through_kerchunk_and_theirs_through_ours(climate):
    ours = files.document(scan(climate))
    with (
        xr.open_dataset(climate, engine="netcdf4") as expected,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        with still():
            theirs = SingleHdf5ToZarr(str(climate)).translate()
        with xr.open_dataset(ours, engine="kerchunk") as found:
            xr.testing.assert_identical(found.load(), expected.load())
        with xr.open_dataset(theirs, engine="zaro") as found:
            # kerchunk masks HDF5's fill value: a scalar that was never written becomes NaN
            xr.testing.assert_equal(found.drop_vars("crs").load(), expected.drop_vars("crs").load())


@pytest.mark.parametrize(
    "how",
    [
        {"compression": "zstd"},
        {"compression": "bzip2"},
        {"compression": "blosc_lz4"},
        {"compression": "blosc_zstd", "blosc_shuffle": 2},
        {"compression": "blosc_zlib"},
        {"fletcher32": True},
        {"datatype": ">f4", "endian": "big"},
    ],
)
def test_filters_that_netcdf_has_are_decoded(tmp_path, how):
    file = tmp_path / "filters.nc"
    values = np.repeat(np.repeat(files.VALUES, 9, 1), 9, 2)  # netCDF's blosc fails on what it cannot compress
    with netCDF4.Dataset(file, "w") as ds:
        for name, size in zip("xyz", values.shape, strict=True):
            ds.createDimension(name, size)
        try:
            how = {"datatype": "f4", **how}
            variable = ds.createVariable("v", dimensions=tuple("xyz"), chunksizes=(3, 20, 25), **how)
        except RuntimeError as err:
            pytest.xfail(f"this netCDF library has no such filter: {err}")
        variable[:] = values
    np.testing.assert_array_equal(zaro.open(scan(file))["v"][...], values.astype("f4"))


def test_groups_and_dimensions_of_other_groups_keep_their_names(tmp_path):
    file = tmp_path / "tree.nc"
    with netCDF4.Dataset(file, "w") as ds:
        ds.createDimension("x", 3)
        ds.createDimension("unnamed", 2)
        group = ds.createGroup("a/b")
        group.createDimension("y", 2)
        group.createVariable("v", "i4", ("x", "y"))[:] = np.arange(6).reshape(3, 2)
        group.createVariable("w", "i4", ("unnamed",))[:] = [1, 2]
        group.createVariable("y", "i4", ("x", "y"))[:] = 3  # a coordinate of two dimensions
    with (
        xr.open_datatree(file, engine="netcdf4") as expected,
        xr.open_datatree(scan(file), engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())


def nameless(f):
    f["a"], f["b"], f["c"] = np.zeros((3, 4)), np.zeros((4, 5)), np.zeros((4, 4))


def nameless_in_groups(f):
    f["z"], f["y"] = np.zeros((3, 4)), np.zeros((4, 4, 9))
    f["a/b"], f["a/c"] = np.zeros((4, 3)), np.zeros((5, 4, 4))
    f["k/z"], f["k/w"] = np.zeros((5, 3)), np.zeros((5, 5))
    f["k/m/q"], f["k/m/r"], f["c/q"] = np.zeros(5), np.zeros((5, 5, 5)), np.zeros(3)


def nameless_beside_named(f):
    for name, size in (("x", 3), ("g/y", 6)):
        f[name] = np.arange(float(size))
        f[name].make_scale(name)
    f["v"], f["w"], f["g/z"], f["g/q"] = np.zeros((3, 4)), np.zeros(4), np.zeros(3), np.zeros((6, 6))


def nameless_that_grow(f):
    for name, most in (("a", None), ("b", 3), ("c", None)):
        f.create_dataset(name, (3,), "f4", maxshape=(most,))


@pytest.mark.parametrize(
    "make",
    [nameless, nameless_in_groups, nameless_beside_named, nameless_that_grow],
    ids=lambda m: m.__name__,
)
def test_dimensions_without_names_are_named_as_netcdf_names_them(tmp_path, make):
    file = tmp_path / "plain.h5"
    with h5py.File(file, "w") as f:
        make(f)
    with (
        xr.open_datatree(file, engine="netcdf4") as expected,
        xr.open_datatree(scan(file), engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())


def test_what_was_never_written_is_not_masked_unless_the_file_says_so(tmp_path):
    file = tmp_path / "fill.nc"
    with netCDF4.Dataset(file, "w") as ds:
        ds.createDimension("x", 6)
        ds.createVariable("plain", "f4", ("x",), chunksizes=(2,))[:2] = 1
        ds.createVariable("masked", "f4", ("x",), chunksizes=(2,), fill_value=-1)[:2] = 1
    with h5py.File(file, "a") as f:
        other = f.create_dataset("other", (6,), "i4", chunks=(2,), fillvalue=0)
        other[:2] = 1
        other.attrs["_FillValue"] = np.int32(-5)
    with (
        xr.open_dataset(file, engine="h5netcdf", phony_dims="sort") as expected,
        xr.open_dataset(scan(file), engine="zaro") as found,
    ):
        for name in ("plain", "masked", "other"):
            np.testing.assert_array_equal(found[name].values, expected[name].values)
    assert np.isnan(found["masked"].values[2:]).all()
    assert (found["plain"].values[2:] == np.float32(9.969209968386869e36)).all()
    assert (found["other"].values[2:] == 0).all()


def test_external_links_and_external_storage_lead_to_their_files(tmp_path):
    with h5py.File(tmp_path / "other.h5", "w") as f:
        f["deep/v"] = np.arange(300)
    np.arange(200, dtype="<i4").tofile(tmp_path / "raw.bin")
    with h5py.File(tmp_path / "main.h5", "w") as f:
        f["there"] = h5py.ExternalLink("other.h5", "/deep/v")
        f["folder"] = h5py.ExternalLink("other.h5", "/deep")
        f.create_dataset("raw", (150,), "<i4", external=[(str(tmp_path / "raw.bin"), 40, 600)])
    refs = scan(tmp_path / "main.h5")
    assert refs["there/0"][0] == refs["folder/v/0"][0] == str(tmp_path / "other.h5")
    assert refs["raw/0"] == [str(tmp_path / "raw.bin"), 40, 600]
    root = zaro.open(refs)
    np.testing.assert_array_equal(root["folder/v"][...], np.arange(300))
    np.testing.assert_array_equal(root["raw"][...], np.arange(10, 160))


def test_a_way_through_several_files_leads_to_the_last(tmp_path):
    (tmp_path / "sub").mkdir()
    with h5py.File(tmp_path / "sub/other.h5", "w") as f:
        f["back"] = h5py.ExternalLink("../main.h5", "/v")
        f["on"] = h5py.ExternalLink("third.h5", "/t")
        f["group/v"] = np.arange(400)
    with h5py.File(tmp_path / "sub/third.h5", "w") as f:
        f["t"] = np.arange(300)
    with h5py.File(tmp_path / "main.h5", "w") as f:
        f["v"] = np.arange(200)
        f["back"] = h5py.ExternalLink("sub/other.h5", "/back")
        f["on"] = h5py.ExternalLink("sub/other.h5", "/on")
        f["there"] = h5py.ExternalLink("sub/other.h5", "/group")
        f["through"] = h5py.SoftLink("/there/v")
    refs = scan(tmp_path / "main.h5")
    for name, file, size in (("back", "main", 200), ("on", "sub/third", 300), ("through", "sub/other", 400)):
        assert refs[f"{name}/0"][0] == str(tmp_path / f"{file}.h5")
        np.testing.assert_array_equal(zaro.open(refs)[name][...], np.arange(size))


def test_a_variable_of_another_file_has_the_dimensions_of_that_file(tmp_path):
    for name, n in (("main", 3), ("other", 20)):
        with netCDF4.Dataset(tmp_path / f"{name}.nc", "w") as ds:
            ds.createDimension("x", None)
            ds.createDimension(f"y_{name}", 2)
            ds.createVariable("short", "i4", ("x",), fill_value=-1)[:2] = 1
            ds.createVariable("long", "i4", ("x",))[:] = np.arange(n)
            ds.createVariable(f"y_{name}", "i4", (f"y_{name}", "x"))[:] = np.zeros((2, n))
    with h5py.File(tmp_path / "main.nc", "a") as f:
        f["z_short"] = h5py.ExternalLink("other.nc", "/short")
        f["z_y"] = h5py.ExternalLink("other.nc", "/y_other")
    root = zaro.open(scan(tmp_path / "main.nc"))
    assert (root["short"].shape, root["z_short"].shape) == ((3,), (20,))
    assert (root["y_main"].dims, root["z_y"].dims) == (("y_main", "x"), ("y_other", "x"))


def doubled(file, levels):
    """Each group has two links to the next: 2^levels ways lead to the last."""
    with h5py.File(file, "w") as f:
        f["nameless"] = np.arange(3)
        group = f.create_group("g")
        for _ in range(levels):
            group["b"] = group.create_group("a")
            group = group["a"]
        group["v"] = np.arange(5)
    return file


def test_every_hard_link_is_a_path_of_its_own(tmp_path):
    refs = scan(doubled(tmp_path / "f.h5", 3))
    ways = {f"g/{a}/{b}/{c}/v" for a in "ab" for b in "ab" for c in "ab"}
    assert set(refs.arrays) == {*ways, "nameless"}
    assert len({tuple(zaro.open(refs)[way][...]) for way in ways}) == 1


def test_links_that_multiply_without_end_are_an_error_that_names_one(tmp_path, monkeypatch):
    file = doubled(tmp_path / "f.h5", 40)
    monkeypatch.setattr(hdf5, "MOST_WAYS", 100)
    with pytest.raises(ScanError, match=r"f\.h5: variable 'g/a/a/.*more than 100 links"):
        scan(file)
    assert list(scan(file, skip="g").arrays) == ["nameless"]


def test_a_file_that_begins_with_bytes_of_its_users_is_read(tmp_path):
    with h5py.File(tmp_path / "user.h5", "w", userblock_size=1024) as f:
        f.create_dataset("chunked", data=np.arange(1000), chunks=(300,))
        f["contiguous"] = np.arange(500)
    root = zaro.open(scan(tmp_path / "user.h5", inline_threshold=0))
    np.testing.assert_array_equal(root["chunked"][...], np.arange(1000))
    np.testing.assert_array_equal(root["contiguous"][...], np.arange(500))


BAD = {
    "dangling": (lambda f: f.__setitem__("bad", h5py.SoftLink("/nowhere")), "leads nowhere"),
    "lost": (lambda f: f.__setitem__("bad", h5py.ExternalLink("no.h5", "/x")), "cannot be opened"),
    "circle": (lambda f: circle(f), "leads nowhere"),  # noqa: PLW0108 - defined below
    "null": (lambda f: f.__setitem__("bad", h5py.Empty("f4")), "no dataspace"),
    "cycle": (lambda f: f.__setitem__("bad", f["/"]), "lies in"),
    "references": (lambda f: f.create_dataset("bad", (2,), h5py.ref_dtype), "references"),
    "long double": (lambda f: f.create_dataset("bad", (2,), "g"), "128 bits"),
    "blanks": (
        lambda f: f.create_dataset("bad", (2**40,), "i1", chunks=(1,), fillvalue=5),
        "never written, too many",
    ),
    "large blanks": (
        lambda f: f.create_dataset("bad", (2**30,), "i1", chunks=(2**29,), fillvalue=5),
        "never written, too many",
    ),
    "texts": (
        lambda f: f.create_dataset("bad", (2**30,), h5py.string_dtype(), chunks=(2**20,)),
        "without a fixed size, too many",
    ),
    "lists": (
        lambda f: f.create_dataset("bad", (2**23,), h5py.vlen_dtype("i4"), chunks=(1,)),
        "without a fixed size, too many",
    ),
    "two": (lambda f: [f.__setitem__(name, 1) for name in ("_nc4_non_coord_bad", "bad")], "two variables"),
    "members": (lambda f: f.create_dataset("bad", (2,), [("t", h5py.string_dtype())]), "no fixed size"),
    "filter": (lambda f: foreign(f), "no decoder for HDF5 filter 305"),  # noqa: PLW0108 - defined below
    "masks": (
        lambda f: mixed(f),  # noqa: PLW0108 - defined below
        "without some of the filters",
    ),
}


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="no file but a pipe"):
        scan(tmp_path / "pipe")
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["bad"] = h5py.ExternalLink("pipe", "/v")
    with pytest.raises(ScanError, match=r"variable 'bad': .*no file but a pipe"):
        scan(tmp_path / "f.h5")


def test_what_h5py_says_of_a_damaged_variable_names_it(tmp_path, monkeypatch):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["x"] = np.arange(3.0)

    def fails(*arguments):
        raise IndexError("no such thing")

    monkeypatch.setattr(hdf5_dataset, "unusual", fails)
    with pytest.raises(ScanError, match="variable 'x': cannot be read: no such thing"):
        scan(tmp_path / "f.h5")


def test_a_fill_value_that_is_none_masks_nothing(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["x"] = np.arange(3.0)
        f["x"].attrs["_FillValue"] = np.zeros(0)
    with xr.open_dataset(scan(tmp_path / "f.h5"), engine="zaro") as found:
        np.testing.assert_array_equal(found["x"], np.arange(3.0))


def circle(f):
    """A link to itself."""
    f["bad"] = h5py.SoftLink("/bad")


def foreign(f):
    """A filter that nobody has."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((400, 400))
    plist.set_filter(305, h5py.h5z.FLAG_OPTIONAL)
    space = h5py.h5s.create_simple((400, 400))
    bad = h5py.h5d.create(f.id, b"bad", h5py.h5t.IEEE_F64LE, space, plist)
    bad.write_direct_chunk((0, 0), bytes(1000))


def mixed(f):
    bad = f.create_dataset("bad", (1024, 1024), "f8", chunks=(512, 512), compression="gzip")
    for at in ((0, 0), (0, 512)):
        bad.id.write_direct_chunk(at, bytes(512 * 512 * 8), filter_mask=1)
    bad[512:] = 1


def test_a_name_that_is_no_text_is_an_error_and_can_be_left_out(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["good"] = np.arange(3)
        h5py.h5d.create(f.id, b"\xe4", h5py.h5t.NATIVE_INT8, h5py.h5s.create_simple((1,)))
    with pytest.raises(ScanError, match=r"has the name b'\\xe4', which is no UTF-8"):
        scan(tmp_path / "f.h5")
    assert list(scan(tmp_path / "f.h5", skip="\N{REPLACEMENT CHARACTER}").arrays) == ["good"]


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_represented_is_an_error_that_names_it_and_can_be_left_out(tmp_path, case):
    make, reason = BAD[case]
    file = tmp_path / "bad.h5"
    with h5py.File(file, "w") as f:
        f["good"] = np.arange(3)
        make(f)
    with pytest.raises(ScanError, match=reason) as caught:
        scan(file)
    assert caught.value.variable == "bad"
    assert str(file) in str(caught.value)
    assert list(scan(file, skip="bad").arrays) == ["good"]


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    file = cases.hdf5_layouts(tmp_path / "whole.h5")
    cut = tmp_path / "cut.h5"
    cut.write_bytes(file.read_bytes()[:5000])
    with pytest.raises(ScanError, match=r"cut\.h5"):
        scan(cut)
    (tmp_path / "text").write_text("hello world")
    with pytest.raises(ScanError, match="begins with b'hello wo'"):
        scan(tmp_path / "text")


def test_big_runs_are_cut_along_their_leading_dimensions(tmp_path):
    file = tmp_path / "big.h5"
    values = np.arange(6 * 10 * 50, dtype="i4").reshape(6, 10, 50)
    with h5py.File(file, "w") as f:
        f["v"] = values
    for most, chunks in (
        (4000, (2, 10, 50)),
        (2000, (1, 10, 50)),
        (1500, (1, 5, 50)),
        (100, (1, 1, 25)),
        (1 << 20, (6, 10, 50)),
    ):
        array = zaro.open(scan(file, split=most, inline_threshold=0))["v"]
        assert array.chunks == chunks
        np.testing.assert_array_equal(array[...], values)


def test_files_are_named_as_asked(tmp_path):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["v"] = np.arange(100)
    assert scan(tmp_path / "f.h5", relative_to=tmp_path / "sub")["v/0"][0] == "../f.h5"
    assert (
        scan(tmp_path / "f.h5", rename={str(tmp_path): "s3://bucket/data"})["v/0"][0]
        == "s3://bucket/data/f.h5"
    )


def test_attributes_are_what_xarray_expects(tmp_path):
    with h5py.File(tmp_path / "attrs.h5", "w") as f:
        v = f.create_dataset("v", data=np.arange(3))
        v.attrs.update(
            {
                "one": np.array([4], "i2"),
                "many": [1.5, 2.5],
                "text": "ä",
                "bytes": np.bytes_(b"raw"),
                "none": h5py.Empty("S4"),
                "no numbers": h5py.Empty("f4"),
                "long": np.longdouble(0.5),
                "words": np.array(["a", "b"], object),
                "flag": True,
                "odd": np.array([[1, 2], [3, 4]]),
                "ref": f["v"].ref,
                "nan": np.nan,
            }
        )
    attrs = zaro.open(scan(tmp_path / "attrs.h5"))["v"].attrs
    assert attrs.pop("nan") != 0
    assert attrs == {
        "_ARRAY_DIMENSIONS": ["phony_dim_0"],
        "one": 4,
        "many": [1.5, 2.5],
        "text": "ä",
        "bytes": "raw",
        "none": "",
        "no numbers": [],
        "long": 0.5,
        "words": ["a", "b"],
        "flag": True,
        "odd": [[1, 2], [3, 4]],
        "ref": "/v",
    }


def spaced(nbytes):
    kind = h5py.h5t.C_S1.copy()
    kind.set_size(nbytes)
    kind.set_strpad(h5py.h5t.STR_SPACEPAD)
    return kind


def test_texts_that_fortran_fills_up_with_spaces_are_as_h5py_reads_them(tmp_path):
    file = tmp_path / "f.h5"
    words = np.array([b"ab", b"cdefg"], "S5")
    with h5py.File(file, "w") as f:
        h5py.h5d.create(f.id, b"v", spaced(5), h5py.h5s.create_simple((2,)))
        f["v"][...] = words
    with open(file, "rb") as stored:
        assert b"ab   cdefg" in stored.read()
    np.testing.assert_array_equal(zaro.open(scan(file))["v"][...], words)
    with pytest.raises(ScanError, match="'v': holds texts that are filled up with spaces"):
        scan(file, unsupported_inline_threshold=1)


def test_integers_of_fewer_bits_than_their_bytes_are_as_h5py_reads_them(tmp_path):
    kind = h5py.h5t.STD_I32LE.copy()
    kind.set_precision(12)
    kind.set_offset(4)
    values = np.array([-5, 0, 7], "i4")
    with h5py.File(tmp_path / "f.h5", "w", libver="latest") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        space = h5py.h5s.create_simple((3,))
        named = kind.copy()
        named.commit(f.id, b"twelve")  # a type that has a name may be as odd as it likes
        h5py.h5d.create(f.id, b"v", named, space, plist)
        f["v"][...] = values
    np.testing.assert_array_equal(zaro.open(scan(tmp_path / "f.h5"))["v"][...], values)


@pytest.mark.parametrize("chunks", [None, (3,)])
def test_what_is_never_filled_reads_as_h5py_reads_it(tmp_path, chunks):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f.create_dataset("v", (8,), "i4", chunks=chunks, fillvalue=7, fill_time="never")
        if chunks:
            f["v"][:2] = 1
        expected = f["v"][...]
    np.testing.assert_array_equal(zaro.open(scan(tmp_path / "f.h5"))["v"][...], expected)


def filters():
    yield "lzf", {"compression": "lzf"}
    yield "lzf after shuffle", {"compression": "lzf", "shuffle": True, "fletcher32": True}
    yield "szip", {"compression": "szip"}
    yield "szip ec", {"compression": "szip", "compression_opts": ("ec", 16)}
    yield "scaleoffset", {"scaleoffset": 3}
    hdf5plugin = pytest.importorskip("hdf5plugin")
    yield "bitshuffle", hdf5plugin.Bitshuffle(cname="none")
    yield "bitshuffle lz4", hdf5plugin.Bitshuffle()
    yield "bitshuffle zstd", hdf5plugin.Bitshuffle(cname="zstd")
    yield "blosc2", hdf5plugin.Blosc2(cname="zstd", filters=hdf5plugin.Blosc2.BITSHUFFLE)
    yield "lz4", hdf5plugin.LZ4()


@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i2", ">u4"])
def test_filters_that_only_hdf5_has_are_left_to_it(tmp_path, dtype):
    values = np.add.outer(np.arange(90) // 7, np.arange(50) // 3).astype(dtype)
    for name, how in filters():
        with h5py.File(tmp_path / "f.h5", "w") as f:
            f.create_dataset("v", data=values, chunks=(40, 30), **how)
        with h5py.File(tmp_path / "f.h5") as f:
            expected = f["v"][...]
        refs = scan(tmp_path / "f.h5", inline_threshold=0, unsupported_inline_threshold=0)
        assert refs["v/0.0"][0] == str(tmp_path / "f.h5"), name
        np.testing.assert_array_equal(zaro.open(refs)["v"][...], expected, name)
        assert refs.verify(read=True) == [], name


def test_chunks_that_hdf5_left_as_they_were_lie_beside_others(tmp_path):
    values = np.zeros((40, 1000), "u1")
    values[::2] = np.random.default_rng(0).integers(0, 256, (20, 1000))
    for how in ({}, {"fletcher32": True}, {"shuffle": True}):
        with h5py.File(tmp_path / "f.h5", "w") as f:
            v = f.create_dataset("v", data=values, chunks=(1, 1000), compression="lzf", **how)
            assert len({v.id.get_chunk_info(k).filter_mask for k in range(40)}) == 2
        refs = scan(tmp_path / "f.h5", inline_threshold=0, unsupported_inline_threshold=0)
        np.testing.assert_array_equal(zaro.open(refs)["v"][...], values)


def test_a_codec_of_hdf5_goes_both_ways_and_pickles():
    values = (np.arange(700) // 9).astype("<i4").reshape(70, 10)
    codec = Hdf5Filter(32000, [], "<i4", [70, 10])
    again = pickle.loads(pickle.dumps(codec))
    assert again.get_config() == codec.get_config()
    for _ in range(300):  # more than one file in memory takes
        stored = codec.encode(values)
    assert len(stored) < values.nbytes / 2
    np.testing.assert_array_equal(again.decode(stored), values)
    np.testing.assert_array_equal(again.decode_within(stored, values.nbytes), values)
    with pytest.raises(ValueError, match="decodes to 2800 bytes, expected 2799"):
        again.decode_within(stored, values.nbytes - 1)
    with pytest.raises(ValueError, match="cannot decode"):
        again.decode(b"\x20\xff")
    with pytest.raises(ValueError, match="no decoder for HDF5 filter 305"):
        Hdf5Filter(305, [], "<i4", [4]).decode(b"")


@pytest.mark.parametrize(
    ("dtype", "chunks"), [("|O", [1]), ("<U4", [1]), ("zzz", [1]), ("<i4", []), ("<i4", [0]), ("<i4", [True])]
)
def test_a_codec_of_hdf5_takes_numbers_and_sizes_only(dtype, chunks):
    with pytest.raises((TypeError, ValueError)):
        Hdf5Filter(32000, [], dtype, chunks)


def test_without_its_package_the_error_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "hdf5plugin", None)
    monkeypatch.setattr(h5py.h5z, "filter_avail", lambda code: False)
    with pytest.raises(ValueError, match=r"filter 32008, bitshuffle: needs .* pip install 'zaro\[codecs\]'"):
        Hdf5Filter(32008, [], "<i4", [4]).decode(b"")
