"""Coordinates of convention `cs`: every kind of values, every spelling, and what wrong input costs."""

from __future__ import annotations

import json

import cftime
import numpy as np
import pytest
import xarray as xr
from geozarr import FORMS, Leaf, axis, cs, declare, external, opened, ref, warned, write

from zaro.errors import XGroupPathError, XGroupReferenceError

SIMPLE = json.loads("""
{"cs": {"crs": [
  {"type": "planar", "id": {"proj:code": "EPSG:4326"}, "axes": {
    "lon": {"abbreviation": "X", "coordinates": [{"direction": "east",  "unit": "degrees",
      "values": {"regular": [0.625, 1.25]}, "boundaries": {"regular": [-0.625, 0.625]}}]},
    "lat": {"abbreviation": "Y", "coordinates": [{"direction": "north", "unit": "degrees",
      "values": {"explicit": [40.0, 41.5]}}]}}},
  {"type": "temporal", "axes": {"time": {"abbreviation": "T", "coordinates": [{"direction": "future",
      "time": {"unit": "day", "epoch": "1850-01-01", "calendar": "noleap"},
      "values": {"external": {"ref": {"node": "../coords/time"}}},
      "boundaries": {"external": {"ref": {"node": "../coords/time_bnds"}}}}]}}},
  {"type": "vertical", "axes": {"height": {"abbreviation": "Z", "coordinates": [{"direction": "up",
      "unit": "m", "values": {"explicit": [2]}}]}}}
]}}
""")
DAYS = np.array([15, 45, 75], "i4")


def simple(bounds_dims=("nv", "time")):
    """The first example of the conventions page."""
    bounds = np.stack([DAYS - 15, DAYS + 15])
    return {
        "/simple/t2m": Leaf(
            np.arange(24.0).reshape(3, 2, 4), ("time", "lat", "lon"), {**declare("cs", "ref"), **SIMPLE}
        ),
        "/coords/time": Leaf(DAYS, ("time",), {"long_name": "middle of month"}),
        "/coords/time_bnds": Leaf(bounds if bounds_dims[1] == "time" else bounds.T, bounds_dims),
    }


def one(axes, shape=(4,), dims=("x",), **crs):
    """A tree with one array of these axes."""
    return {"/g/a": Leaf(np.zeros(shape), dims, cs(axes, **crs))}


def lost(tmp_path, axes, **how):
    """Open an array with wrong axes: the Dataset, and the one warning."""
    found, (warning,) = warned(write(tmp_path / "s.zarr", one(axes, **how)), "/g")
    assert "a" in found.data_vars
    assert "/g/a" in str(warning)
    assert str(warning).startswith(f"{type(warning.error).__name__}: ")
    found.load()
    return found, str(warning)


# ---- the examples ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bounds_dims", [("nv", "time"), ("time", "nv")])
def test_the_example_has_every_coordinate(tmp_path, form, bounds_dims):
    found = opened(write(tmp_path / "s.zarr", simple(bounds_dims), form), "/simple")
    assert list(found.data_vars) == ["t2m"]
    assert set(found.coords) == {"lon", "lon_bounds", "lat", "time", "time_bounds", "height"}
    assert set(found.t2m.coords) == {"lon", "lat", "time", "height"}
    assert found.t2m.dims == ("time", "lat", "lon")
    np.testing.assert_array_equal(found.t2m, np.arange(24.0).reshape(3, 2, 4))
    np.testing.assert_array_equal(found.lon, [0.625, 1.875, 3.125, 4.375])
    np.testing.assert_array_equal(found.lon_bounds[0], [0.0, 1.25])
    assert found.lon_bounds.dims == ("lon", "bounds")
    assert found.lon.dtype == found.lat.dtype == "f8"
    np.testing.assert_array_equal(found.lat, [40, 41.5])
    assert found.time.values[0] == cftime.DatetimeNoLeap(1850, 1, 16, has_year_zero=True)
    assert found.time_bounds.dims == bounds_dims
    assert found.time_bounds.isel(time=0, nv=1).item() == cftime.DatetimeNoLeap(
        1850, 1, 31, has_year_zero=True
    )
    assert found.height.item() == 2
    assert found.height.dims == ()
    assert set(found.indexes) == {"lon", "lat", "time"}


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_the_example_has_every_attribute(tmp_path, form):
    found = opened(write(tmp_path / "s.zarr", simple(), form), "/simple")
    assert found.t2m.attrs == {**declare("cs", "ref"), **SIMPLE}
    assert found.lon.attrs == {
        "units": "degrees",
        "direction": "east",
        "axis": "X",
        "crs_type": "planar",
        "bounds": "lon_bounds",
    }
    assert found.lat.attrs == {"units": "degrees", "direction": "north", "axis": "Y", "crs_type": "planar"}
    assert found.time.attrs == {
        "long_name": "middle of month",
        "direction": "future",
        "axis": "T",
        "crs_type": "temporal",
        "bounds": "time_bounds",
    }
    assert found.time.encoding["units"] == "days since 1850-01-01"
    assert found.time.encoding["calendar"] == "noleap"
    assert found.height.attrs == {"units": "m", "direction": "up", "axis": "Z", "crs_type": "vertical"}


def test_raw_numbers_and_units_remain_where_times_are_not_decoded(tmp_path):
    found = opened(write(tmp_path / "s.zarr", simple()), "/simple", decode_times=False)
    np.testing.assert_array_equal(found.time, DAYS)
    assert found.time.dtype == "i4"
    assert found.time.attrs["units"] == "days since 1850-01-01"
    assert found.time.attrs["calendar"] == "noleap"
    assert found.time_bounds.dtype == "i4"


def test_labels_codes_and_ordinal_axes(tmp_path):
    axes = json.loads("""
    {"region": {"coordinates": [{"values": {"explicit": ["Tay", "Dee"]}},
                                {"name": "code", "values": {"explicit": [17, 4]}}]},
     "member": {}}""")
    found = opened(write(tmp_path / "s.zarr", one(axes, (2, 5), ("region", "member"))), "/g")
    assert found.region.values.tolist() == ["Tay", "Dee"]
    assert found.region.dtype.kind == "U"
    np.testing.assert_array_equal(found.region_1, [17, 4])
    assert found.region_1.dims == ("region",)
    assert found.region_1.dtype == "i8"
    assert found.region_1.attrs["long_name"] == "code"
    assert "region_1" in found.coords
    assert "region_1" not in found.indexes
    np.testing.assert_array_equal(found.member, range(5))
    assert found.member.dtype == "i8"


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "axis_", [{}, {"coordinates": []}, {"coordinates": None, "attributes": {"note": "n"}}]
)
def test_an_axis_without_coordinates_counts_from_zero(tmp_path, axis_):
    found = opened(write(tmp_path / "s.zarr", one({"x": axis_})), "/g")
    np.testing.assert_array_equal(found.x, [0, 1, 2, 3])
    assert found.x.dtype == "i8"
    assert found.x.attrs == axis_.get("attributes", {})


@pytest.mark.parametrize(
    ("values", "expected", "dtype"),
    [
        ({"regular": [10, -2]}, [10, 8, 6, 4], "f8"),
        ({"regular": [0.1, 0.1]}, 0.1 + np.arange(4) * 0.1, "f8"),
        ({"explicit": [4, 3, 2, 1]}, [4, 3, 2, 1], "i8"),
        ({"explicit": [4, 3, 2.5, 1]}, [4, 3, 2.5, 1], "f8"),
        ({"explicit": [2**62, 0, 1, 2]}, [2**62, 0, 1, 2], "i8"),
        ({"explicit": [2**70, 0, 1, 2]}, [2.0**70, 0, 1, 2], "f8"),
        ({"explicit": ["a", "bb", "", "d"]}, ["a", "bb", "", "d"], "<U2"),
    ],
)
def test_values_in_the_attributes(tmp_path, values, expected, dtype):
    found = opened(write(tmp_path / "s.zarr", one({"x": axis(values)})), "/g")
    np.testing.assert_array_equal(found.x, expected)
    assert found.x.dtype == dtype


def test_the_order_of_dimensions_is_the_array_s(tmp_path):
    axes = {"z": axis({"explicit": [9]}), "x": axis({"regular": [0, 1]}), "y": axis({"regular": [5, 1]})}
    found = opened(write(tmp_path / "s.zarr", one(axes, (2, 3), ("y", "x"))), "/g")
    assert found.a.dims == ("y", "x")
    np.testing.assert_array_equal(found.y, [5, 6])
    assert found.z.dims == ()


def test_an_external_array_keeps_what_it_says_of_itself_and_is_relabelled(tmp_path):
    packed = Leaf(
        np.array([0, 10, 20, -1], "i2"),
        ("station",),
        {
            "scale_factor": 0.5,
            "add_offset": 1.0,
            "_FillValue": -1,
            "long_name": "own",
            "units": "km",
            "note": 1,
        },
        chunks=(3,),
    )
    tree = {**one({"x": axis(external("/p"), unit="m", attributes={"note": 2})}), "/p": packed}
    found = opened(write(tmp_path / "s.zarr", tree, "v2"), "/g")
    np.testing.assert_array_equal(found.x, [1, 6, 11, np.nan])
    assert found.x.attrs == {"long_name": "own", "units": "m", "note": 2}
    assert found.x.encoding["scale_factor"] == 0.5
    assert found.x.encoding["dtype"] == "i2"
    assert found.x.encoding["preferred_chunks"] == {"x": 3}


def test_an_external_array_of_texts(tmp_path):
    tree = {
        **one({"x": axis(external("/names"), unit="1")}, (2,)),
        "/names": Leaf(np.array(["Tay", "Dee"]), ("n",)),
    }
    found = opened(write(tmp_path / "s.zarr", tree, "v2"), "/g")
    assert found.x.values.tolist() == ["Tay", "Dee"]
    assert "units" not in found.x.attrs


@pytest.mark.parametrize(
    ("values", "leaf"),
    [
        ({"regular": [2, 1]}, None),
        ({"explicit": [2]}, None),
        (external("/h"), Leaf(np.array([2.0]), ("n",))),
        (external("/h"), Leaf(np.float64(2), ())),
    ],
)
@pytest.mark.parametrize("form", ["v3", "v2 references"])
def test_an_axis_that_is_no_dimension_is_a_scalar(tmp_path, values, leaf, form):
    tree = one({"x": {}, "height": axis(values, unit="m", boundaries={"regular": [-1, 1]})})
    found = opened(write(tmp_path / "s.zarr", {**tree, **({"/h": leaf} if leaf else {})}, form), "/g")
    assert found.height.dims == ()
    assert found.height.item() == 2
    assert found.a.height.item() == 2
    assert found.height_bounds.dims == ("bounds",)
    np.testing.assert_array_equal(found.height_bounds, [1, 3])


def test_an_ordinal_axis_that_is_no_dimension_is_zero(tmp_path):
    found = opened(write(tmp_path / "s.zarr", one({"x": {}, "run": {}})), "/g")
    assert found.run.item() == 0
    assert found.run.dtype == "i8"


def test_further_coordinates_are_numbered(tmp_path):
    axes = {
        "x": {
            "coordinates": [
                {"name": "first", "values": {"regular": [0, 1]}},
                {"name": "second", "values": {"regular": [1, 1]}, "boundaries": {"regular": [0, 1]}},
                {"values": external("/p"), "attributes": {"long_name": "more exact"}, "name": "third"},
            ],
            "attributes": {"long_name": "of the axis", "kind": "k"},
        }
    }
    tree = {**one(axes), "/p": Leaf(np.arange(4), ("x",), {"long_name": "own"})}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"x", "x_1", "x_2", "x_1_bounds"}
    assert found.x.attrs == {"long_name": "of the axis", "kind": "k"}
    assert found.x_1.attrs == {"long_name": "second", "kind": "k", "bounds": "x_1_bounds"}
    assert found.x_2.attrs == {"long_name": "more exact", "kind": "k"}
    assert set(found.indexes) == {"x"}


@pytest.mark.parametrize("name", ["node", "ref", "external", "uri"])
@pytest.mark.parametrize("is_list", [False, True])
def test_an_axis_may_have_the_name_of_a_member_of_references(tmp_path, name, is_list):
    axes = {
        name: axis({"regular": [1, 1]}, parametric={"formula": "f", "terms": {name: {"explicit": [1, 2]}}})
    }
    spelled = [{"name": name, **axes[name]}] if is_list else axes
    found = opened(write(tmp_path / "s.zarr", one(spelled, (2,), (name,))), "/g")
    assert set(found.coords) == {name, f"{name}_pterm_{name}"}


def test_one_broken_coordinate_leaves_the_numbers_of_the_others(tmp_path):
    axes = {"x": {"coordinates": [{"values": {}}, {"values": {"regular": [0, 1]}}]}}
    found, _ = lost(tmp_path, axes)
    assert set(found.coords) == {"x_1"}


# ---- attributes --------------------------------------------------------------------------------


def test_attributes_are_laid_one_over_the_other(tmp_path):
    axes = {
        "x": {
            "abbreviation": "X",
            "direction": "of axis",
            "attributes": {"a": "axis", "b": "axis", "units": "axis", "axis": "axis"},
            "coordinates": [
                {"values": external("/p"), "unit": "km", "attributes": {"b": "coord", "direction": "attr"}}
            ],
        }
    }
    own = {"a": "own", "b": "own", "c": "own", "units": "own", "direction": "own", "crs_type": "own"}
    tree = {**one(axes, type="undefined"), "/p": Leaf(np.arange(4), ("x",), own)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert found.x.attrs == {
        "a": "axis",
        "b": "coord",
        "c": "own",
        "units": "km",
        "direction": "of axis",
        "axis": "X",
        "crs_type": "undefined",
    }


def test_a_direction_is_passed_on_as_it_is_written(tmp_path):
    axes = {"x": {"direction": "south", **axis({"regular": [0, 1]}, direction="North-by-East")}}
    assert opened(write(tmp_path / "s.zarr", one(axes)), "/g").x.attrs["direction"] == "North-by-East"


@pytest.mark.parametrize(
    ("unit", "units"),
    [
        ("degrees", "degrees"),
        ("K", "K"),
        ({"ucum": {"unit": "m.s-1"}}, "m.s-1"),
        ({"ucum": {}}, "1"),
        ({"ucum": {"unit": None, "version": "2.1"}, "description": "d"}, "1"),
        ({"description": "no ucum"}, "1"),
    ],
)
def test_units_are_a_text(tmp_path, unit, units):
    found = opened(write(tmp_path / "s.zarr", one({"x": axis({"regular": [0, 1]}, unit=unit)})), "/g")
    assert found.x.attrs["units"] == units
    assert found.x.attrs.get("uom") == (unit if isinstance(unit, dict) else None)


# ---- bounds ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offsets", "first"),
    [([-0.5, 0.5], [9.5, 10.5]), ([0.5, -0.5], [10.5, 9.5]), ([0, 2], [10, 12]), ([0.5, 0.5], [9.5, 10.5])],
)
@pytest.mark.parametrize("step", [2, -2])
def test_regular_bounds_are_signed_offsets(tmp_path, offsets, first, step):
    axes = {"x": axis({"regular": [10, step]}, boundaries={"regular": offsets, "attributes": {"note": "n"}})}
    found = opened(write(tmp_path / "s.zarr", one(axes)), "/g")
    np.testing.assert_array_equal(found.x_bounds[0], first)
    np.testing.assert_array_equal(found.x_bounds[3], np.array(first) + 3 * step)
    assert found.x_bounds.attrs == {"note": "n"}
    assert found.x.attrs["bounds"] == "x_bounds"
    assert "x_bounds" in found.coords


def test_regular_bounds_of_packed_values_are_bounds_of_what_they_mean(tmp_path):
    packed = Leaf(np.array([0, 10, 20, 30], "i2"), ("n",), {"scale_factor": 0.5, "add_offset": 1.0})
    tree = {**one({"x": axis(external("/p"), boundaries={"regular": [-1, 2]})}), "/p": packed}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    np.testing.assert_array_equal(found.x_bounds, np.stack([found.x - 1, found.x + 2], axis=1))
    np.testing.assert_array_equal(found.x_bounds[1:3, 1], [8, 13])
    np.testing.assert_array_equal(found.x_bounds.isel(x=[3, 0], bounds=0), [15, 0])
    np.testing.assert_array_equal(found.x_bounds.isel(x=2), [10, 13])
    assert found.x_bounds.attrs == {}


def test_regular_bounds_of_times_are_times(tmp_path):
    time = {"unit": "day", "epoch": "2000-01-01"}
    axes = {"x": axis(external("/t"), time=time, boundaries={"regular": [-0.5, 0.5]})}
    found = opened(write(tmp_path / "s.zarr", {**one(axes), "/t": Leaf(np.arange(4), ("x",))}), "/g")
    assert found.x_bounds.dtype.kind == "M"
    assert found.x_bounds.values[1, 0] == np.datetime64("2000-01-01T12:00")


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        ((2, 4), ("nv", "x"), ("nv", "x")),
        ((4, 2), ("x", "nv"), ("x", "nv")),
        ((2, 4), ("m", "n"), ("m", "x")),
        ((4, 2), None, ("x", "bounds")),
        ((2, 4), None, ("bounds", "x")),
        ((2, 4), (None, "x"), ("bounds", "x")),
    ],
)
@pytest.mark.parametrize("is_bare", [True, False])
def test_bounds_in_an_array_keep_their_order(tmp_path, shape, dims, expected, is_bare):
    values = np.arange(8.0).reshape(shape)
    boundaries = {"external": {"node": "/b"}} if is_bare else external("/b")
    tree = {
        **one({"x": axis({"regular": [0, 1]}, boundaries=boundaries)}),
        "/b": Leaf(values, dims, {"own": 1}),
    }
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert found.x_bounds.dims == expected
    np.testing.assert_array_equal(found.x_bounds, values)
    assert found.x_bounds.attrs == {"own": 1}


@pytest.mark.parametrize(
    ("dims", "expected"),
    [
        (("x", "nv"), ("x", "nv")),
        (("nv", "x"), ("nv", "x")),
        (("m", "n"), ("m", "x")),
        (None, ("bounds", "x")),
    ],
)
def test_names_tell_which_dimension_of_square_bounds_is_which(tmp_path, dims, expected):
    axes = {"x": axis({"regular": [0, 1]}, boundaries=external("/b"))}
    tree = {**one(axes, (2,)), "/b": Leaf(np.arange(4.0).reshape(2, 2), dims)}
    assert opened(write(tmp_path / "s.zarr", tree), "/g").x_bounds.dims == expected


@pytest.mark.parametrize("shape", [(2,), (1, 2), (2, 1)])
def test_bounds_of_a_scalar_in_an_array(tmp_path, shape):
    axes = {"x": {}, "h": axis({"explicit": [2]}, boundaries=external("/b"))}
    tree = {**one(axes), "/b": Leaf(np.array([1.0, 3.0]).reshape(shape), None)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert found.h_bounds.dims == ("bounds",)
    np.testing.assert_array_equal(found.h_bounds, [1, 3])


@pytest.mark.parametrize(
    ("boundaries", "words"),
    [
        ({}, "exactly one of regular / external needed, found none"),
        ({"regular": [0, 1], **external("/b")}, "found regular and external"),
        ({"regular": [1]}, "needs two numbers, got 1"),
        ({"regular": [1, "2"]}, "needs two numbers, got '2' among them"),
        (
            external("/nowhere"),
            "XGroupReferenceError: /g/a: cs/crs/0/axes/x/coordinates/0/boundaries/external/ref",
        ),
        (external("/b"), "has shape [3, 2], bounds of axis 'x' need [2, 4] or [4, 2]"),
        ({"external": {}}, "'node' missing"),
        ("wide", "boundaries is an object, not 'wide'"),
    ],
)
def test_wrong_boundaries_cost_the_bounds_and_leave_the_coordinate(tmp_path, boundaries, words):
    tree = {
        **one({"x": axis({"regular": [0, 1]}, boundaries=boundaries)}),
        "/b": Leaf(np.zeros((3, 2)), ("x", "nv")),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert words in str(warning)
    assert set(found.coords) == {"x"}
    assert "bounds" not in found.x.attrs


def test_texts_have_no_boundaries(tmp_path):
    axes = {"x": axis({"explicit": ["a", "b", "c", "d"]}, boundaries={"regular": [0, 1]})}
    found, words = lost(tmp_path, axes)
    assert "only numbers have boundaries" in words
    assert set(found.coords) == {"x"}


# ---- parametric --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["v3", "v2 references"])
def test_terms_of_a_parametric_coordinate_are_coordinates(tmp_path, form):
    formula = "atmosphere_hybrid_sigma_pressure_coordinate"
    terms = {
        "a": {"explicit": [1.0, 2.0, 3.0]},
        "b": external("/b"),
        "ps": external("/ps"),
        "p0": {"explicit": [1000]},
        "s": {"regular": [0, 0.5]},
    }
    axes = {
        "lev": axis({"regular": [0, 1]}, unit="1", parametric={"formula": formula, "terms": terms}),
        "y": {},
        "x": {},
    }
    tree = {
        **one(axes, (3, 2, 4), ("lev", "y", "x")),
        "/b": Leaf(np.arange(3.0), ("lev",), {"units": "1"}),
        "/ps": Leaf(np.ones((2, 4)), ("y", "x"), {"units": "Pa"}),
    }
    found = opened(write(tmp_path / "s.zarr", tree, form), "/g")
    names = {f"lev_pterm_{term}" for term in terms}
    assert names <= set(found.coords)
    assert {name: found[name].dims for name in names} == {
        "lev_pterm_a": ("lev",),
        "lev_pterm_b": ("lev",),
        "lev_pterm_ps": ("y", "x"),
        "lev_pterm_p0": (),
        "lev_pterm_s": ("lev",),
    }
    assert found.lev_pterm_ps.attrs == {
        "units": "Pa",
        "parametric_formula": formula,
        "parametric_term": "ps",
    }
    np.testing.assert_array_equal(found.lev_pterm_s, [0, 0.5, 1])


@pytest.mark.parametrize(
    ("parametric", "words"),
    [
        ({"formula": "f"}, "'terms' is missing"),
        ({"terms": [1]}, "terms is an object, not a list of 1"),
        ({"terms": {"h": {"explicit": [1, 2]}}}, "axis 'x' needs 4 values, found 2"),
        ({"terms": {"h": external("/nowhere")}}, "not found"),
        ({"terms": {"h": 5}}, "is 5, expected an object"),
        ({"terms": {"h": external("/deep")}}, "has 5 dimensions, a term has at most 4"),
        ({"terms": {"h": external("/clash")}}, "dimension 'x' has 7 values"),
    ],
)
def test_a_wrong_term_costs_itself(tmp_path, parametric, words):
    tree = {
        **one({"x": axis({"regular": [0, 1]}, parametric=parametric)}),
        "/deep": Leaf(np.zeros((1,) * 5), tuple("abcde")),
        "/clash": Leaf(np.zeros(7), ("x",)),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert words in str(warning)
    assert set(found.coords) == {"x"}


# ---- older spellings ---------------------------------------------------------------------------


def test_axes_may_be_a_list_of_objects_with_names(tmp_path):
    axes = [{"name": "x", **axis({"regular": [1, 1]})}, {"name": "y", "coordinates": []}]
    found = opened(write(tmp_path / "s.zarr", one(axes, (2, 3), ("y", "x"))), "/g")
    np.testing.assert_array_equal(found.x, [1, 2, 3])
    np.testing.assert_array_equal(found.y, [0, 1])


def test_time_may_be_one_text(tmp_path):
    time = {"reference": "days since 1850-01-01", "calendar": "360_day"}
    found = opened(write(tmp_path / "s.zarr", one({"x": axis({"regular": [59, 30]}, time=time)})), "/g")
    assert found.x.values[0] == cftime.Datetime360Day(1850, 2, 30, has_year_zero=True)


def test_direction_may_stand_in_the_axis(tmp_path):
    axes = {"x": {"direction": "east", **axis({"regular": [1, 1]})}}
    assert opened(write(tmp_path / "s.zarr", one(axes)), "/g").x.attrs == {"direction": "east"}


@pytest.mark.parametrize(("older", "name"), [({"axes": {}}, "axes"), ({"composite": {"a": 1}}, "composite")])
def test_the_first_draft_is_named_and_gives_nothing(tmp_path, older, name):
    tree = {"/g/a": Leaf(np.zeros(2), ("x",), {**declare("cs"), "cs": older})}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert "declared but no `cs.crs`: there is no `crs` list" in str(warning)
    assert f"'cs.{name}' is of a draft" in str(warning)
    assert not found.coords


# ---- wrong input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "exactly one of regular / explicit / external needed, found none"),
        (
            {"regular": [0, 1], "explicit": [1, 2, 3, 4]},
            "exactly one of regular / explicit / external needed, found regular and explicit",
        ),
        ({"regular": [0]}, "needs two numbers, got 1"),
        ({"regular": [0, 1, 2]}, "needs two numbers, got 3"),
        ({"regular": [0, 0]}, "the increment must not be 0"),
        ({"regular": ["0", 1]}, "needs two numbers, got '0' among them"),
        ({"regular": [True, 1]}, "needs two numbers, got True among them"),
        ({"regular": [float("nan"), 1]}, "needs two numbers, got nan among them"),
        ({"regular": [10**400, 1]}, "needs two numbers, got 1000"),
        ({"regular": [1e308, 1e308]}, "lead past the largest number"),
        ({"regular": "0 1"}, "needs two numbers, got '0 1'"),
        ({"explicit": [1, 2, 3]}, "axis 'x' needs 4 values, found 3"),
        ({"explicit": []}, "axis 'x' needs 4 values, found 0"),
        ({"explicit": [1, "2", 3, 4]}, "needs all numbers or all texts, found '2' among 4"),
        ({"explicit": [1, None, 3, 4]}, "needs all numbers or all texts, found None among 4"),
        ({"explicit": 5}, "is 5, expected a list"),
        ("1 2 3 4", "is '1 2 3 4', expected an object with one of regular / explicit / external"),
        (None, "'values' is missing"),
    ],
)
def test_wrong_values_cost_their_coordinate(tmp_path, values, words):
    found, said = lost(tmp_path, {"x": axis(values), "y": {}}, shape=(4, 2), dims=("x", "y"))
    assert words in said
    assert "cs/crs/0/axes/x/coordinates/0" in said
    assert set(found.coords) == {"y"}


@pytest.mark.parametrize(
    ("values", "kind", "words"),
    [
        (external("/long"), XGroupReferenceError, "axis 'time' needs 12 values, found 24"),
        ({"external": {}}, XGroupPathError, "'node' missing"),
        ({"external": {"ref": {}}}, XGroupPathError, "'node' missing"),
        (external("/flat"), XGroupReferenceError, "has 2 dimensions, shape [12, 1]: a 1-D array required"),
        (external("/coords"), XGroupReferenceError, "is a group: a 1-D array required"),
        (external("../nowhere"), XGroupReferenceError, "not found"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_external_array_costs_its_coordinate(tmp_path, values, kind, words, form):
    tree = {
        **one({"time": axis(values), "x": {}}, (12, 2), ("time", "x")),
        "/coords": {},
        "/long": Leaf(np.arange(24), ("time",)),
        "/flat": Leaf(np.zeros((12, 1)), ("time", "one")),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree, form), "/g")
    assert type(warning.error) is kind
    assert words in str(warning)
    assert "cs/crs/0/axes/time/coordinates/0/values/external" in str(warning)
    assert set(found.coords) == {"x"}


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        (ref("/lib", attribute="/attributes/crs/text"), XGroupReferenceError),
        (ref("/lib", attribute="/attributes/crs/empty"), XGroupReferenceError),
        (ref("/lib"), XGroupReferenceError),
        ({"type": "planar"}, XGroupReferenceError),
        ("EPSG:4326", XGroupReferenceError),
        (None, XGroupReferenceError),
        (ref("/lib", attribute="/attributes/crs/missing"), XGroupPathError),
    ],
)
def test_what_is_no_crs_object_costs_its_coordinates_and_says_so_once(tmp_path, item, kind):
    attrs = {**declare("cs"), "cs": {"crs": [item, {"axes": {"x": {}}}]}}
    tree = {
        "/lib": {"crs": {"text": "a", "empty": {"type": "planar"}}},
        "/g/a": Leaf(np.zeros((4, 2)), ("x", "y"), attrs),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert type(warning.error) is kind
    assert "cs/crs/0" in str(warning)
    assert kind is XGroupPathError or "not a CRS object" in str(warning)
    assert set(found.coords) == {"x"}


@pytest.mark.parametrize(
    "value", [None, {}, {"crs": []}, {"crs": {}}, {"crs": "x"}, {"crs": None}, "cs", 3, []]
)
def test_cs_that_is_declared_and_absent_counts_as_found(tmp_path, value):
    attrs = {**declare("cs"), **({} if value is None else {"cs": value})}
    tree = {"/g/a": Leaf(np.zeros(2), ("x",), attrs)}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert "declared but no `cs.crs`" in str(warning)
    assert "/g/a" in str(warning)
    assert not found.coords


def test_a_dimension_without_axis_is_named_and_the_others_keep_theirs(tmp_path):
    found, words = lost(tmp_path, {"x": {}}, shape=(4, 2), dims=("x", "y"))
    assert "dimension 'y' has no axis" in words
    assert set(found.coords) == {"x"}


def test_an_axis_of_many_values_that_is_no_dimension_is_dropped(tmp_path):
    axes = {"x": {}, "z": axis({"explicit": [1, 2, 3]})}
    found, words = lost(tmp_path, axes)
    assert "axis 'z', which is no dimension of the array, needs 1 values, found 3" in words
    assert set(found.coords) == {"x"}


def test_names_that_are_missing_cannot_be_bound(tmp_path):
    tree = {"/g/a": Leaf(np.zeros(4), None, cs({"x": {}}))}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert "dimension 'dim_0' has no axis (the array names no dimensions)" in str(warning)
    assert found.a.dims == ("dim_0",)


def test_unit_and_time_together_are_told_and_time_is_used(tmp_path):
    both = axis({"regular": [0, 1]}, unit="d", time={"unit": "day", "epoch": "2000-01-01"})
    found, words = lost(tmp_path, {"x": both})
    assert "has both 'unit' and 'time'; 'time' is used" in words
    assert found.x.values[1] == np.datetime64("2000-01-02")


def test_an_abbreviation_that_is_there_twice_is_told_and_counts_once(tmp_path):
    axes = {"x": {"abbreviation": "X"}, "y": {"abbreviation": "X"}}
    found, words = lost(tmp_path, axes, shape=(4, 2), dims=("x", "y"))
    assert "X is the abbreviation of another axis too" in words
    assert found.x.attrs == {"axis": "X"}
    assert found.y.attrs == {}


@pytest.mark.parametrize("wrong", ["E", "x", 3, ["X"], {}])
def test_an_abbreviation_that_is_none_is_told(tmp_path, wrong):
    found, words = lost(tmp_path, {"x": {"abbreviation": wrong}})
    assert "expected X, Y, Z or T" in words
    assert "axis" not in found.x.attrs


def test_an_axis_that_is_there_twice_counts_once(tmp_path):
    attrs = {
        **declare("cs"),
        "cs": {"crs": [{"axes": {"x": axis({"regular": [k, 1]})}} for k in (1, 2)]},
    }
    tree = {"/g/a": Leaf(np.zeros(2), ("x",), attrs)}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert "the axis 'x' is there twice; the first one is used" in str(warning)
    np.testing.assert_array_equal(found.x, [1, 2])


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        ({"x": 3}, "an axis is an object, not 3"),
        ([{"name": "x"}, 4], "an axis is an object, not 4"),
        ([{"name": "x"}, {"coordinates": []}], "an axis in a list needs its name"),
        ({"x": {"coordinates": 5}}, "is 5, expected a list"),
        ({"x": {"coordinates": [7]}}, "coordinates is an object, not 7"),
        ({"x": {"attributes": 7}}, "is 7, expected an object"),
        ({"x": {"attributes": {"scale_factor": "2"}}}, "attributes/scale_factor: is '2', expected a number"),
        ({"x": axis({"regular": [0, 1]}, unit=7)}, "a unit is an object, not 7"),
        ({"x": axis({"regular": [0, 1]}, time=7)}, "time is an object, not 7"),
    ],
)
def test_wrong_members_are_told(tmp_path, axes, words):
    tree = one(axes)
    _, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert any(words in str(each) for each in told)


def test_attributes_that_xarray_cannot_decode_cost_the_coordinate_and_not_the_open(tmp_path):
    axes = {
        "x": axis({"regular": [0, 1]}, attributes={"units": "seconds since never"}),
        "y": axis({"regular": [0, 1]}, unit="days since yesterday"),
        "z": axis({"regular": [0, 1]}),
    }
    tree = one(axes, (4, 2, 3), ("x", "y", "z"))
    found, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"z"}
    assert all("xarray cannot decode it" in str(each) for each in told)
    assert [each.error.place for each in told] == ["x", "y"]


def test_an_array_too_long_to_count_is_told(tmp_path):
    import zarr

    group = zarr.open_group(tmp_path / "s.zarr", mode="w").create_group("g")
    group.create_array(
        "a", shape=(2**40,), chunks=(2**20,), dtype="u1", dimension_names=["x"], attributes=cs({"x": {}})
    )
    found, (warning,) = warned(str(tmp_path / "s.zarr"), "/g")
    assert "values are too many to be computed" in str(warning)
    assert not found.coords


def test_a_declaration_of_the_group_makes_no_array_cs(tmp_path):
    tree = {"/g": declare("cs"), "/g/a": Leaf(np.zeros(2), ("x",), {"cs": {"crs": [{"axes": {"x": {}}}]}})}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert warning.error is None
    assert str(warning).startswith("array '/g/a' declares no principal convention")
    assert not found.coords


def test_decode_coords_and_dropping_change_what_is_asked(tmp_path):
    store = write(tmp_path / "s.zarr", simple())
    for decode_coords in (False, True, "all"):
        found = opened(store, "/simple", decode_coords=decode_coords)
        assert set(found.coords) == {"lon", "lon_bounds", "lat", "time", "time_bounds", "height"}
    found = opened(store, "/simple", drop_variables=["lon_bounds", "height"])
    assert set(found.coords) == {"lon", "lat", "time", "time_bounds"}
    assert not opened(store, "/simple", drop_variables="t2m").variables
    raw = xr.open_dataset(store, engine="xgroup", group="/simple", decode_cf=False)
    assert set(raw.coords) == {"lon", "lon_bounds", "lat", "time", "time_bounds", "height"}
