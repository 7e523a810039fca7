"""Joining along coordinates of any units, calendar, type and version: what xarray finds in the files."""

from __future__ import annotations

from pathlib import Path

import cftime
import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
import zarr

import zaro
import zaro.zarr
from zaro import append, concat
from zaro.errors import CombineError, UnsupportedError
from zaro.scan import scan

pytestmark = [  # zarr-python's, of what it writes
    pytest.mark.filterwarnings("ignore:The data type .* does not have a Zarr V3 specification"),
    pytest.mark.filterwarnings("ignore:Consolidated metadata is currently not part"),
]

DAYS = ("days since 2000-01-01", "days since 2000-01-03", "hours since 2000-01-05")


def bounded(folder, bounds="bounds", **attrs):
    """Files whose times, and bounds of them, are told in units of their own."""
    paths = []
    for k, units in enumerate(DAYS):
        scale = 24 if units.startswith("hours") else 1
        paths.append(folder / f"{k}.nc")
        with netCDF4.Dataset(paths[-1], "w") as file:
            file.createDimension("time", None)
            file.createDimension("bnds", 2)
            time = file.createVariable("time", "f8", ("time",))
            time.setncatts({"units": units, "calendar": "noleap", bounds: "time_bnds"})
            time[:] = scale * np.array([0.5, 1.5])
            ends = file.createVariable("time_bnds", "f8", ("time", "bnds"))
            ends.setncatts(dict.fromkeys(attrs, units))
            ends[:] = scale * np.array([[0, 1], [1, 2]])
            file.createVariable("v", "f4", ("time",))[:] = np.arange(2) + 2 * k
    return paths


def store(path, version, **arrays):
    """A Zarr store: data, dimensions and attributes by name."""
    group = zarr.open_group(path, mode="w", zarr_format=version)
    for name, (values, dims, attrs, *how) in arrays.items():
        data = np.asarray(values)
        named = {"_ARRAY_DIMENSIONS": dims} if version == 2 else {}
        options = {"chunks": data.shape, **({} if version == 2 else {"dimension_names": dims})}
        options |= how[0] if how else {}
        array = group.create_array(
            name, shape=data.shape, dtype=data.dtype, attributes={**attrs, **named}, **options
        )
        array[...] = data
    return path


def moments(time, ends, units):
    """Times and their bounds, in the calendar."""
    values = (np.asarray(found[...]).reshape(-1) for found in (time, ends))
    return [list(map(str, cftime.num2date(each, units, "noleap"))) for each in values]


@pytest.mark.parametrize("bounds", ["bounds", "climatology"])
@pytest.mark.parametrize("attrs", [{}, {"units": True}], ids=["no units", "own units"])
def test_bounds_are_decoded_as_their_times_are(tmp_path, bounds, attrs):
    paths = bounded(tmp_path, bounds, **attrs)
    expected: list[list[str]] = [[], []]
    for path, units in zip(paths, DAYS, strict=True):
        with netCDF4.Dataset(path) as file:
            for known, found in zip(expected, moments(file["time"], file["time_bnds"], units), strict=True):
                known.extend(found)
    sets = [scan(path) for path in paths]
    target = tmp_path / "grown.json"
    sets[0].save(target)
    append(target, sets[1:], "time", coords={"time": "time"})
    turned = concat(sets[::-1], "time", coords={"time": "time"}, sort=True)
    for refs in (concat(sets, "time", coords={"time": "time"}), target, turned):
        group = zaro.open(refs)
        assert moments(group["time"], group["time_bnds"], group["time"].attrs["units"]) == expected
        assert group["v"][...].tolist() == list(range(6))


def test_bounds_of_the_same_units_stay_where_they_are(tmp_path):
    first = bounded(tmp_path)[0]
    with netCDF4.Dataset(first, "a") as file:
        file["time"][:] += 365
        file["time_bnds"][:] += 365
    later = tmp_path / "later.nc"
    first.rename(later)
    sets = [scan(path, inline_threshold=0) for path in (bounded(tmp_path)[0], later)]
    refs = concat(sets, "time", coords={"time": "time"})
    assert refs["time_bnds/3.0"][0] == str(later)


@pytest.mark.parametrize("units", [5, ["days since 2000-01-01"], "moons since 2000-01-01"])
def test_units_that_are_none_are_an_error(tmp_path, units):
    sets = [
        scan(store(tmp_path / f"{k}.zarr", 2, time=([0.0, 1.0], ["time"], {"units": each})))
        for k, each in enumerate((DAYS[0], units))
    ]
    with pytest.raises(CombineError, match=r"1.zarr: variable 'time': units are .*, in the first set 'days"):
        concat(sets, "time", coords={"time": "time"})


def test_times_that_are_missing_stay_so_and_others_without_end_are_an_error(tmp_path):
    huge = 9.969209968386869e36
    for attrs in ({"_FillValue": huge}, {}):
        sets = [
            scan(store(tmp_path / f"{k}.zarr", 2, time=(values, ["time"], {"units": units, **attrs})))
            for k, (units, values) in enumerate(zip(DAYS, ([0.0, 1.0], [2.0, huge], [96.0]), strict=False))
        ]
        if attrs:
            found = zaro.open(concat(sets[:2], "time", coords={"time": "time"}))["time"][...]
            assert found.tolist() == [0.0, 1.0, 4.0, huge]
        else:
            with pytest.raises(CombineError, match=r"units are 'days since 2000-01-03', in the first set"):
                concat(sets, "time", coords={"time": "time"})


def test_a_coordinate_of_classic_files_keeps_what_is_missing(tmp_path):
    sets = []
    for k, units in enumerate(DAYS[:2]):
        with netCDF4.Dataset(tmp_path / f"{k}.nc", "w", format="NETCDF3_CLASSIC") as file:
            file.createDimension("time", None)
            time = file.createVariable("time", "i4", ("time",), fill_value=-1)
            time.units = units
            time[:] = np.ma.masked_equal([3 * k, -1, 3 * k + 1], -1)
            file.createVariable("v", "i4", ("time",))[:] = np.arange(3)
        sets.append(scan(tmp_path / f"{k}.nc"))
    with xr.open_dataset(concat(sets, "time", coords={"time": "time"}), engine="zaro") as ds:
        days = [str(day)[:10] for day in ds["time"].values]
    assert days == ["2000-01-01", "NaT", "2000-01-02", "2000-01-06", "NaT", "2000-01-07"]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", ["i4", "i8", "f4"])
def test_a_coordinate_has_the_type_of_its_values(tmp_path, version, dtype):
    sets = [
        scan(
            store(
                tmp_path / f"{k}.zarr",
                version,
                time=(np.array(values, dtype), ["time"], {"units": units}),
                v=([1.0, 2.0], ["time"], {}),
            )
        )
        for k, (units, values) in enumerate(((DAYS[0], [0, 1]), ("hours since 2000-01-01", [54, 78])))
    ]
    refs = concat(sets, "time", coords={"time": "time"})
    assert zaro.open(refs)["time"][...].tolist() == [0, 1, 2.25, 3.25]
    assert zarr.open_group(zaro.zarr.ZaroStore(refs), mode="r")["time"][...].tolist() == [0, 1, 2.25, 3.25]


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    "found",
    [
        [3, 4],
        [2.5, 3.5],
        [False, True],
        ["a", "north"],
        [1 + 2j, 2j],
        np.array(["2001-02-03", "2001-02-04"], "M8"),
    ],
    ids=["integers", "floats", "booleans", "texts", "complex", "dates"],
)
def test_a_new_coordinate_has_the_version_of_the_set(tmp_path, version, found):
    sets = [scan(store(tmp_path / f"{k}.zarr", version, v=([k, k], ["x"], {}))) for k in range(2)]
    values = iter(found)
    refs = concat(sets, "run", coords={"run": lambda *_: next(values)})
    group = zarr.open_group(zaro.zarr.ZaroStore(refs), mode="r")
    assert sorted(group) == ["run", "v"]
    assert {group[name].metadata.zarr_format for name in group} == {version}
    assert group["run"][...].tolist() == zaro.open(refs)["run"][...].tolist()
    with xr.open_dataset(refs, engine="zaro") as ds:
        assert ds["run"].dims == ("run",)
        assert ds["v"].dims == ("run", "x")
        assert (ds["run"].values == np.asarray(found)).all()


def test_arrays_in_fortran_order_are_joined_by_their_values(tmp_path):
    blocks = [np.arange(12, dtype="i4").reshape(3, 4) + 100 * k for k in range(2)]
    sets = [
        scan(store(tmp_path / f"{k}.zarr", 2, v=(block, ["x", "y"], {}, {"chunks": (2, 4), "order": "F"})))
        for k, block in enumerate(blocks)
    ]
    np.testing.assert_array_equal(zaro.open(concat(sets, "x"))["v"][...], np.concatenate(blocks))


@pytest.mark.parametrize(
    "how",
    [
        {"chunks": (2, 2), "shards": (4, 4)},
        {"chunks": (2, 4), "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
        {"chunks": (2, 4), "shards": (4, 4), "filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    ],
    ids=["shards", "transposed", "shards of transposed"],
)
def test_codecs_that_know_of_dimensions_learn_of_a_new_one(tmp_path, how):
    blocks = [np.arange(16).reshape(4, 4) + 100 * k for k in range(3)]
    sets = [
        scan(store(tmp_path / f"{k}.zarr", 3, v=(block, ["y", "x"], {}, how)))
        for k, block in enumerate(blocks)
    ]
    target = tmp_path / "t.json"
    concat(sets[:2], "t").save(target)
    append(target, sets[2:], "t")
    for refs in (concat(sets, "t"), target):
        np.testing.assert_array_equal(zaro.open(refs)["v"][...], blocks)
        np.testing.assert_array_equal(zaro.open(refs)["v"][1:, 1, 3:], np.array(blocks)[1:, 1, 3:])


def test_one_set_gets_the_coordinate_that_was_asked_for(tmp_path):
    paths = [
        store(tmp_path / f"{m}_{y}.zarr", 2, year=([0], ["year"], {}), v=([y + 0.5], ["year"], {}))
        for m in "ab"
        for y in (2005, 2006)
    ]
    year = {"year": r"_(\d{4})"}
    assert zaro.open(concat([scan(paths[0])], "year", coords=year))["year"][...].tolist() == [2005]
    coords = {**year, "member": "([ab])_2"}
    refs = concat([scan(paths[0]), scan(paths[2])], ["member", "year"], coords=coords)
    assert zaro.open(refs)["year"][...].tolist() == [2005]
    refs = concat([scan(path) for path in paths], ["member", "year"], coords=coords)
    assert zaro.open(refs)["year"][...].tolist() == [2005, 2006]
    assert zaro.open(refs)["v"][...].tolist() == [[2005.5, 2006.5]] * 2


def test_a_set_that_holds_all_its_chunks_is_named_by_the_file_that_was_scanned(tmp_path):
    paths = [tmp_path / f"day{day}.nc" for day in (17, 18)]
    for path in paths:
        xr.Dataset({"v": ("x", np.arange(3.0))}).to_netcdf(path)
    sets = [scan(path) for path in paths]
    assert zaro.open(concat(sets, "day", coords={"day": r"day(\d+)"}))["day"][...].tolist() == [17, 18]
    with pytest.raises(CombineError, match=r"day17.nc: .*the name '.*day17.nc' does not match 'day\(x\)\?'"):
        concat(sets, "day", coords={"day": "day(x)?"})
    with pytest.raises(CombineError, match="references no file whose name could tell; give `labels`"):
        concat([dict(one) for one in sets], "day", coords={"day": r"(\d+)"})


@pytest.mark.parametrize(
    ("fills", "values"), [((-9999.0, -1.0), [11, -1, 13]), ((99.0, None), [98, 99, 100])]
)
def test_what_is_missing_in_one_set_only_cannot_be_told_in_both(tmp_path, fills, values):
    sets = []
    for k, fill in enumerate(fills):
        attrs = {} if fill is None else {"_FillValue": fill}
        data = np.array(values if k else [1, 2, 3], "f8")
        sets.append(scan(store(tmp_path / f"{k}.zarr", 2, obs=(data, ["obs"], attrs))))
    with pytest.raises(CombineError, match=rf"_FillValue is {fills[1]}, in the first set {fills[0]}"):
        concat(sets, "obs")
    plain = store(tmp_path / "plain.zarr", 2, obs=([201.0], ["obs"], {"_FillValue": fills[1] or -5.0}))
    assert zaro.open(concat([sets[0], scan(plain)], "obs"))["obs"][...].tolist() == [1, 2, 3, 201]


def test_flags_of_other_meanings_are_not_joined(tmp_path):
    sets = []
    for k, names in enumerate(({"clear": 0, "cloud": 1}, {"cloud": 0, "clear": 1})):
        with netCDF4.Dataset(tmp_path / f"{k}.nc", "w") as file:
            file.createDimension("time", None)
            file.createVariable("v", file.createEnumType("u1", "e", names), ("time",))[:2] = [0, 1]
            file.createVariable("time", "f8", ("time",))[:] = [2 * k, 2 * k + 1]
        sets.append(scan(tmp_path / f"{k}.nc"))
    with pytest.raises(CombineError, match="flag_meanings is 'cloud clear', in the first set 'clear cloud'"):
        concat(sets, "time")


@pytest.mark.parametrize(
    ("made", "calendar"),
    [
        ([np.datetime64("2020-01-01T00:00:00.750"), np.datetime64("2020-01-02")], "proleptic_gregorian"),
        (
            [np.datetime64("1901-01-01"), np.datetime64("1901-01-01T00:00:00.000000001")],
            "proleptic_gregorian",
        ),
        ([cftime.DatetimeNoLeap(2000, 2, 28, 6), cftime.DatetimeNoLeap(2000, 3, 1)], "noleap"),
        ([cftime.Datetime360Day(2000, 2, 30, 0, 0, 0, 1), cftime.Datetime360Day(2000, 3, 1)], "360_day"),
    ],
    ids=["milliseconds", "nanoseconds", "noleap", "360_day"],
)
def test_times_that_are_made_are_kept_to_the_last_digit(tmp_path, made, calendar):
    sets = [scan(store(tmp_path / f"{k}.zarr", 2, v=([k], ["x"], {}))) for k in range(2)]
    values = iter(made)
    refs = concat(sets, "t", coords={"t": lambda *_: next(values)})
    assert zaro.open(refs)["t"].attrs["calendar"] == calendar
    with xr.open_dataset(refs, engine="zaro") as ds:
        found = ds["t"].values
    assert (found == np.array(made, found.dtype)).all()


def test_what_is_neither_number_nor_text_nor_time_is_an_error(tmp_path):
    sets = [scan(store(tmp_path / f"{k}.zarr", 2, v=([k], ["x"], {}))) for k in range(2)]
    with pytest.raises(CombineError, match="the values found are neither numbers nor times"):
        concat(sets, "t", coords={"t": lambda *_: np.array([{}], object)})
    values = iter([cftime.DatetimeNoLeap(2000, 1, 1), cftime.Datetime360Day(2000, 1, 2)])
    with pytest.raises(CombineError, match=r"1.zarr: .*calendar is 360_day, in the first set noleap"):
        concat(sets, "t", coords={"t": lambda *_: next(values)})
    texts = iter("ab")
    refs = concat(sets, "t", coords={"t": lambda *_: np.array([next(texts)], object)})
    assert zaro.open(refs)["t"][...].tolist() == ["a", "b"]


def test_variables_of_any_type_are_compared(tmp_path):
    odd = np.array([(np.nan, 1), (2, 2)], [("a", "f4"), ("b", "i4")])
    for k, last in enumerate((4, 4, 5)):
        with h5py.File(tmp_path / f"{k}.h5", "w") as file:
            lists = file.create_dataset("lists", (2,), dtype=h5py.vlen_dtype("i4"))
            lists[0], lists[1] = [1, 2], [3, last]
            file.create_dataset("odd", data=odd, chunks=(1,), compression="gzip")
            file.create_dataset("time", data=[float(k)]).make_scale()
    same, like, other = (scan(tmp_path / f"{k}.h5", inline_threshold=0) for k in range(3))
    assert zaro.open(concat([same, like], "time"))["odd"]["b"].tolist() == [1, 2]
    with pytest.raises(
        CombineError, match=r"'lists': has \[3 5\] at \[1\], .*has \[3 4\]; only one can stay"
    ):
        concat([same, other], "time")


def test_sets_of_other_chunks_are_appended_along_a_dimension_that_was_made(tmp_path):
    blocks = [np.arange(40.0).reshape(10, 4) + 100 * k for k in range(3)]
    sets = [
        scan(store(tmp_path / f"{k}.zarr", 2, v=(block, ["y", "x"], {}, {"chunks": (10 if k < 2 else 5, 4)})))
        for k, block in enumerate(blocks)
    ]
    target = tmp_path / "t.json"
    concat(sets[:2], "t").save(target)
    append(target, sets[2:], "t")
    np.testing.assert_array_equal(zaro.open(target)["v"][...], blocks)


def test_coordinates_of_others_that_all_sets_hold_alike_get_no_new_dimension(tmp_path):
    place = np.arange(6.0).reshape(2, 3)
    sets = [
        scan(
            store(
                tmp_path / f"{k}.zarr",
                2,
                lat=(place, ["y", "x"], {}),
                lon=(place + k, ["y", "x"], {}),
                v=(place, ["y", "x"], {"coordinates": "lat lon"}),
            )
        )
        for k in range(2)
    ]
    held = concat([zaro.References.open(dict(one)) for one in map(inlined, sets)], "t")
    assert {name: node.dims for name, node in zaro.open(held).items()} == {
        "lat": ("y", "x"),
        "lon": ("t", "y", "x"),
        "v": ("t", "y", "x"),
    }


def inlined(refs):
    """The same, its chunks in the set."""
    return {
        key: Path(found[0]).read_bytes() if isinstance(found, list) else found for key, found in refs.items()
    }


def along(path, values, version=2):
    """A set of one coordinate."""
    values = np.asarray(values)
    group = zarr.open_group(path, mode="w", zarr_format=version)
    how = {"attributes": {"_ARRAY_DIMENSIONS": ["t"]}} if version == 2 else {"dimension_names": ["t"]}
    dtype = str if values.dtype.kind == "O" else values.dtype
    group.create_array("t", shape=values.shape, dtype=dtype, compressors=None, **how)[...] = values
    return scan(path)


TWO = {
    "integers": ([0, 1], [2, 3]),
    "times": (np.array([0, 1], "M8[s]"), np.array([2, 3], "M8[s]")),
    "spans": (np.array([0, 1], "m8[h]"), np.array([2, 3], "m8[h]")),
    "falling": ([7, 6], [3, 2]),
}
TEXTS = {
    "texts": (["a", "b"], ["c", "d"]),
    "objects": (np.array(["a", "b"], object), np.array(["c", "ddd"], object)),
}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("case", [*TWO, *TEXTS])
def test_sets_stand_in_the_order_of_their_coordinate(tmp_path, case, version):
    first, last = (TWO | TEXTS)[case]
    sets = [along(tmp_path / f"{k}.zarr", each, version) for k, each in enumerate((first, last))]
    expected = [*np.asarray(first).tolist(), *np.asarray(last).tolist()]
    for refs in (concat(sets, "t"), concat(sets, "t", sort=True), concat(sets[::-1], "t", sort=True)):
        assert zaro.open(refs)["t"][...].tolist() == expected
    if case in TEXTS:  # which have no order but what they are put in
        assert zaro.open(concat(sets[::-1], "t"))["t"][...].tolist() == expected[2:] + expected[:2]
        return
    for wrong in (sets[::-1], [sets[0], sets[0]]) if case != "falling" else ([sets[0], sets[0]],):
        with pytest.raises(CombineError, match=r"they (overlap|are not in order)"):
            concat(wrong, "t")


@pytest.mark.parametrize("case", [*TWO, *TEXTS])
def test_sets_of_version_3_grow_by_any_coordinate_or_say_why_not(tmp_path, case):
    first, last = (TWO | TEXTS)[case]
    target = tmp_path / "t.json"
    along(tmp_path / "0.zarr", first, 3).save(target)
    if case == "objects":
        with pytest.raises(UnsupportedError, match="cannot be encoded by vlen-utf8"):
            append(target, [along(tmp_path / "1.zarr", last, 3)], "t")
        return
    append(target, [along(tmp_path / "1.zarr", last, 3)], "t")
    expected = [*np.asarray(first).tolist(), *np.asarray(last).tolist()]
    assert zaro.open(target)["t"][...].tolist() == expected


def test_numbers_that_no_type_holds_are_not_rounded(tmp_path):
    floats, huge = along(tmp_path / "0.zarr", [0.0, 1.0]), along(tmp_path / "1.zarr", [2**53 + 1, 2**53 + 3])
    with pytest.raises(CombineError, match="values of types <f8, <i8, which no type holds exactly"):
        concat([floats, huge], "t")
    floats.save(tmp_path / "t.json")
    with pytest.raises(CombineError, match="has values of type int64, which '<f8' of the first"):
        append(tmp_path / "t.json", [huge], "t")
    found = concat([floats, along(tmp_path / "2.zarr", [2, 3])], "t")
    assert zaro.open(found)["t"][...].tolist() == [0, 1, 2, 3]


def test_what_is_no_time_is_the_same_as_what_is_none(tmp_path):
    target = tmp_path / "t.json"
    along(tmp_path / "0.zarr", np.array(["2000", "2001"], "M8[s]")).save(target)
    append(target, [along(tmp_path / "1.zarr", np.array(["2002", "NaT"], "M8[s]"))], "t")
    assert str(zaro.open(target)["t"][...]) == str(np.array(["2000", "2001", "2002", "NaT"], "M8[s]"))
    sets = []
    for k in range(2):
        held = np.array(["2000", "NaT", "2002"], "M8[s]")
        arrays = {"t": ([k], ["t"], {}), "held": (held, ["x"], {}, {"chunks": (2,)})}
        sets.append(scan(store(tmp_path / f"{k}.zarr", 2, **arrays), inline_threshold=0))
    assert zaro.open(concat(sets, "t"))["held"].shape == (3,)


def test_nothing_to_append_is_an_error(tmp_path):
    along(tmp_path / "0.zarr", [0, 1]).save(tmp_path / "t.json")
    with pytest.raises(ValueError, match="there are no sets to join"):
        append(tmp_path / "t.json", [], "t")


def test_copies_of_documents_do_not_outlive_what_they_copy(tmp_path):
    """Sets of stores with consolidated metadata, as others than zaro make them."""
    documents = []
    for k, name in enumerate("vvw"):
        plain = ({"compressors": None},)
        arrays = {"t": ([2 * k, 2 * k + 1], ["t"], {}, *plain), name: ([k, k], ["t"], {}, *plain)}
        path = store(tmp_path / f"{k}.zarr", 3, **arrays)
        zarr.consolidate_metadata(path)
        documents.append(
            {
                str(file.relative_to(path)): file.read_text() if file.name == "zarr.json" else [str(file)]
                for file in path.rglob("*")
                if file.is_file()
            }
        )
    zaro.References.open(documents[0]).save(tmp_path / "grown.json")
    append(tmp_path / "grown.json", documents[1:2], "t")
    for refs in (concat(documents[:2], "t"), tmp_path / "grown.json"):
        group = zarr.open_group(zaro.zarr.ZaroStore(refs), mode="r")
        assert (group["t"][...].tolist(), group["v"][...].tolist()) == ([0, 1, 2, 3], [0, 0, 1, 1])
    merged = zarr.open_group(zaro.zarr.ZaroStore(zaro.merge(documents[1:], check=False)), mode="r")
    assert sorted(merged) == ["t", "v", "w"]
