"""Joining sets: equal to what xarray makes of the files, or an error that says which file, what and why."""

from __future__ import annotations

import json
import re

import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr
from joining import MISMATCHES, small

import zaro
from zaro import concat, merge
from zaro.errors import CombineError, MetadataError
from zaro.scan import scan


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    return files.days(tmp_path_factory.mktemp("year"), 4)


@pytest.mark.parametrize("inline", [0, 500, 1 << 20])
def test_files_joined_along_time_open_as_xarray_opens_them(year, inline):
    refs = concat([scan(file, inline_threshold=inline) for file in year], "time")
    with (
        files.by_xarray(year) as expected,
        xr.open_dataset(refs, engine="zaro") as found,
        xr.open_dataset(files.document(refs), engine="kerchunk") as theirs,
    ):
        xr.testing.assert_identical(found.load(), expected.load())
        xr.testing.assert_identical(theirs.load(), expected)


def test_variables_without_the_dimension_are_taken_once(year):
    refs = concat([scan(file, inline_threshold=0) for file in year], "time")
    assert refs["lat/0"][0] == str(year[0])
    assert {refs[f"tas/{k}.0.0"][0] for k in range(12)} == set(map(str, year))


@pytest.mark.parametrize("case", MISMATCHES)
def test_sets_that_do_not_fit_are_an_error_that_names_both_values(tmp_path, case):
    how, variable, message = MISMATCHES[case]
    first = small(tmp_path / "a.nc")
    other = small(tmp_path / "b.nc", **{"first": 4, **how})
    if case == "size":
        variable = "lat"
        message = "size of dimension 0 is 4, in the first set 3"
    with pytest.raises(CombineError, match=message) as caught:
        concat([scan(first), scan(other)], "time", labels=["a.nc", "b.nc"], load_threshold=0)
    assert (caught.value.file, caught.value.variable) == ("b.nc", variable)
    assert str(caught.value).startswith("b.nc: ")


def test_a_variable_that_only_a_later_file_has_is_an_error(tmp_path):
    a, b = (scan(small(tmp_path / f"{k}.nc", first=4 * k)) for k in range(2))
    with pytest.raises(CombineError, match="is there, but missing in a"):
        concat([scan(tmp_path / "0.nc", skip="v"), b], "time", labels=["a", "b"])
    assert set(concat([a, b], "time").arrays) == {"time", "lat", "v"}


def test_sorting_puts_files_in_the_order_of_their_coordinate(tmp_path):
    sets = [scan(small(tmp_path / f"{k}.nc", first=4 * k)) for k in (2, 0, 1)]
    found = zaro.open(concat(sets, "time", sort=True))
    np.testing.assert_array_equal(found["time"][...], np.arange(12))
    np.testing.assert_array_equal(found["v"][:, 0], np.arange(12))


def test_a_coordinate_may_fall(tmp_path):
    sets = [scan(small(tmp_path / f"{k}.nc", first=4 * k, values=-4.0 * k - np.arange(4))) for k in range(3)]
    np.testing.assert_array_equal(zaro.open(concat(sets, "time"))["time"][...], -np.arange(12))


def test_only_the_last_file_may_end_within_a_chunk(tmp_path):
    def three(days):
        starts = np.cumsum([0, *days])
        return [
            scan(small(tmp_path / f"{k}.nc", first=int(s), days=d))
            for k, (s, d) in enumerate(zip(starts, days, strict=False))
        ]

    refs = concat(three([4, 4, 3]), "time", load_threshold=0)
    np.testing.assert_array_equal(zaro.open(refs)["v"][:, 1], np.arange(11))
    with pytest.raises(
        CombineError, match=r"has 3 elements along 'time', no multiple of its chunks of 2.*shifted"
    ) as caught:
        concat(three([4, 3, 4]), "time", load_threshold=0, labels=["a", "b", "c"])
    assert caught.value.file == "b"
    np.testing.assert_array_equal(zaro.open(concat(three([4, 3, 4]), "time"))["v"][:, 1], np.arange(11))


def test_uncompressed_runs_of_unequal_length_are_cut_alike(tmp_path):
    import h5py

    sets, whole = [], []
    for k, days in enumerate((31, 28, 31)):
        values = np.arange(days * 40.0).reshape(days, 40) + k
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f["v"] = values
            f["time"] = np.arange(days) + 100 * k
            f["time"].make_scale("time")
            f["v"].dims[0].attach_scale(f["time"])
        sets.append(scan(tmp_path / f"{k}.h5", inline_threshold=0))
        whole.append(values)
    array = zaro.open(concat(sets, "time", load_threshold=0))["v"]
    assert array.chunks == (1, 40)
    np.testing.assert_array_equal(array[...], np.concatenate(whole))


def packed(file, first, scale, units):
    with netCDF4.Dataset(file, "w") as ds:
        ds.createDimension("time", None)
        time = ds.createVariable("time", "i4", ("time",))
        time.setncatts({"units": units, "scale_factor": scale})
        time.set_auto_maskandscale(False)
        time[:] = np.arange(first, first + 3)
        ds.createVariable("v", "f4", ("time",))[:] = np.arange(3)
    return scan(file)


def test_coordinates_that_are_packed_in_another_way_are_no_values_of_the_same_kind(tmp_path):
    days = "days since 2000-01-01"
    a = packed(tmp_path / "a.nc", 0, 0.5, days)
    joined = zaro.concat([a, packed(tmp_path / "b.nc", 10, 0.5, days)], "time")
    with xr.open_dataset(joined, engine="zaro", decode_times=False) as found:
        np.testing.assert_array_equal(found["time"], [0, 0.5, 1, 5, 5.5, 6])
    other = packed(tmp_path / "c.nc", 10, 0.25, days)
    with pytest.raises(CombineError, match=r"variable 'time': scale_factor is 0\.25, in the first set 0\.5"):
        zaro.concat([a, other], "time")
    hours = packed(tmp_path / "d.nc", 100, 0.5, "hours since 2000-01-01")
    with pytest.raises(CombineError, match="variable 'time': has scale_factor, so that"):
        zaro.concat([a, hours], "time", coords={"time": "time"})


def test_units_that_differ_are_decoded_on_request(tmp_path):
    a = scan(small(tmp_path / "a.nc", units="days since 2000-01-01"))
    b = scan(small(tmp_path / "b.nc", units="hours since 2000-01-05", values=24.0 * np.arange(4)))
    found = zaro.open(concat([a, b], "time", coords={"time": "time"}))
    np.testing.assert_array_equal(found["time"][...], np.arange(8))
    assert found["time"].attrs["units"] == "days since 2000-01-01"


def test_coordinates_come_from_names_and_functions(tmp_path):
    sets = []
    for day in ("20240101", "20240102", "20240301"):
        with netCDF4.Dataset(tmp_path / f"snow_{day}.nc", "w") as ds:
            ds.createDimension("x", 200)
            ds.createVariable("x", "f4", ("x",))[:] = np.arange(200)
            ds.createVariable("snow", "f4", ("x",), zlib=True)[:] = int(day)
        sets.append(scan(tmp_path / f"snow_{day}.nc", inline_threshold=0))
    with xr.open_dataset(concat(sets, "time", coords={"time": r"snow_(\d{8})"}), engine="zaro") as ds:
        assert ds["snow"].dims == ("time", "x")
        assert ds["time"].values.astype("M8[D]").astype(str).tolist() == [
            "2024-01-01",
            "2024-01-02",
            "2024-03-01",
        ]
        assert ds["snow"].values[:, 0].tolist() == [np.float32(d) for d in (20240101, 20240102, 20240301)]
        assert ds["x"].dims == ("x",)
    made = concat(sets, "run", coords={"run": lambda refs, name: int(name[-11:-3])})
    assert zaro.open(made)["run"][...].tolist() == [20240101, 20240102, 20240301]
    with pytest.raises(CombineError, match="does not match"):
        concat(sets, "time", coords={"time": re.compile("no such")})


def test_several_dimensions_at_once(tmp_path):
    sets, expected = [], np.zeros((4, 6))
    for t in range(2):
        for y in range(3):
            values = np.arange(4.0).reshape(2, 2) + 10 * t + 100 * y
            expected[2 * t : 2 * t + 2, 2 * y : 2 * y + 2] = values
            with netCDF4.Dataset(tmp_path / f"{t}{y}.nc", "w") as ds:
                for name, first in (("time", 2 * t), ("y", 2 * y)):
                    ds.createDimension(name, 2)
                    ds.createVariable(name, "f8", (name,))[:] = np.arange(first, first + 2)
                ds.createVariable("v", "f8", ("time", "y"), chunksizes=(1, 2), zlib=True)[:] = values
            sets.append(scan(tmp_path / f"{t}{y}.nc", inline_threshold=0))
    for order in (["time", "y"], ["y", "time"]):
        given = sets if order[0] == "time" else [sets[3 * t + y] for y in range(3) for t in range(2)]
        root = zaro.open(concat(given, order))
        np.testing.assert_array_equal(root["v"][...], expected)
        np.testing.assert_array_equal(root["time"][...], np.arange(4))
        np.testing.assert_array_equal(root["y"][...], np.arange(6))


def test_merging_puts_variables_side_by_side(tmp_path):
    a = scan(small(tmp_path / "a.nc"))
    b = scan(small(tmp_path / "b.nc", name="w"))
    refs = merge([a, b])
    with (
        xr.open_dataset(refs, engine="zaro") as found,
        xr.open_mfdataset(
            [tmp_path / "a.nc", tmp_path / "b.nc"], compat="no_conflicts", join="outer"
        ) as expected,
    ):
        xr.testing.assert_identical(found.load(), expected.load())
    with pytest.raises(CombineError, match="dimension 'lat' has 4 elements, in a 3"):
        merge([a, scan(small(tmp_path / "c.nc", name="w", lat=4))], labels=["a", "c"])
    with pytest.raises(CombineError, match=r"lat.*at \[0\]"):
        merge([a, scan(small(tmp_path / "d.nc", name="w", shift=1))])


def test_sets_of_version_3_join_as_well(tmp_path):
    import zarr

    sets = []
    for k in range(3):
        root = zarr.open_group(tmp_path / f"{k}.zarr", mode="w", zarr_format=3)
        root.create_array("v", shape=(4, 5), chunks=(2, 5), dtype="f4", dimension_names=("time", "x"))[:] = k
        root.create_array("time", shape=(4,), chunks=(4,), dtype="i8", dimension_names=("time",))[:] = (
            np.arange(4) + 4 * k
        )
        sets.append(scan(tmp_path / f"{k}.zarr"))
    found = zaro.open(concat(sets, "time"))
    np.testing.assert_array_equal(found["v"][:, 0], np.repeat([0, 1, 2], 4))
    np.testing.assert_array_equal(found["time"][...], np.arange(12))


@pytest.mark.parametrize("separator", ["-", ["."]])
def test_an_array_whose_keys_nobody_spells_is_an_error_and_not_taken_once(tmp_path, separator):
    references = files.document(scan(small(tmp_path / "a.nc")))["refs"]
    document = json.loads(references["v/.zarray"]) | {"dimension_separator": separator}
    references["v/.zarray"] = json.dumps(document)
    with pytest.raises(CombineError, match="'v': has a document that does not tell its chunks"):
        concat([references, references], "time")


ARRAY = {
    "zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "<i4", "compressor": None, "filters": None,
    "order": "C", "fill_value": 0,
}  # fmt: skip
ARRAY3 = {
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32", "fill_value": 0,
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}}, "codecs": ["bytes"],
    "chunk_key_encoding": {"name": "v2"}, "dimension_names": ["t"],
}  # fmt: skip
NAMED = {"_ARRAY_DIMENSIONS": ["t"]}
BROKEN = {
    "attributes that are a list": (ARRAY, [1], "zattrs"),
    "attributes that are text": (ARRAY, "x", "zattrs"),
    "an unknown type": ({**ARRAY, "dtype": "zzz"}, NAMED, "dtype"),
    "filters that are a number": ({**ARRAY, "filters": 5}, NAMED, "filters"),
    "no codecs": ({**ARRAY3, "codecs": None}, None, "codecs"),
    "names that are text": ({**ARRAY3, "dimension_names": "t"}, None, "dimension_names"),
    "attributes of version 3 that are a list": ({**ARRAY3, "attributes": [1]}, None, "attributes"),
}


def documents(array, attrs):
    name = ".zarray" if array["zarr_format"] == 2 else "zarr.json"
    found = {f"v/{name}": json.dumps(array), "v/0": ["d.bin", 0, 16]}
    return found if attrs is None else {**found, "v/.zattrs": json.dumps(attrs)}


@pytest.mark.parametrize("case", BROKEN)
def test_a_document_that_is_broken_is_an_error_that_names_set_and_member(case):
    array, attrs, member = BROKEN[case]
    good, bad = documents(ARRAY, NAMED), documents(array, attrs)
    for join in (lambda sets, **how: zaro.concat(sets, "t", **how), zaro.merge):
        with pytest.raises(MetadataError, match=rf"v/.*{member}.*\(in second\)"):
            join([good, bad], labels=["first", "second"])


@pytest.mark.parametrize("names", [5, [["t"]], ["t", "x"]])
def test_names_of_dimensions_that_are_none_name_no_dimension(names):
    sets = [documents(ARRAY, {"_ARRAY_DIMENSIONS": names})] * 2
    assert zaro.open(zaro.concat(sets, "t"), "v").shape == (2, 4)
