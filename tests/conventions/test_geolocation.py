"""Longitude and latitude of every cell: names, dimensions, roles, and what wrong input costs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from geozarr import FORMS, Leaf, axis, cs, declare, opened, ref, spatial, warned, write

from zaro.errors import XGroupPathError, XGroupReferenceError

ROTATED = json.loads("""
{"cs": {"crs": [{"type": "planar", "axes": {
    "rlon": {"coordinates": [{"direction": "east", "unit": "degrees",
                              "values": {"regular": [-28.375, 0.11]}}]},
    "rlat": {"coordinates": [{"direction": "north", "unit": "degrees",
                              "values": {"regular": [-23.375, 0.11]}}]}},
  "geolocation": {"geodetic": {"x": {"ref": {"node": "../geo/lon"}}, "y": {"ref": {"node": "../geo/lat"}},
                               "crs": {"proj:code": "EPSG:4326"}}}}]}}
""")
VALUES = np.arange(12.0).reshape(3, 4)


def pair(x="/geo/lon", y="/geo/lat", **more):
    return {"x": ref(x), "y": {"node": y}, **more}


def swath(geolocation, dims=("y", "x"), shape=(3, 4), **attrs):
    """An array of `cs` with ordinal axes and a geolocation in its system."""
    axes = {dim: {} for dim in dims}
    return Leaf(np.zeros(shape), dims, {**cs(axes, geolocation=geolocation), **attrs})


def geo(dims=("y", "x"), folder="/geo", **attrs):
    return {
        f"{folder}/lon": Leaf(VALUES, dims, {"units": "degrees_east", **attrs}),
        f"{folder}/lat": Leaf(-VALUES, dims, {"units": "degrees_north", **attrs}),
    }


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dims", [("rlat", "rlon"), ("a", "b"), None])
def test_the_example_has_both_pairs(tmp_path, form, dims):
    tree = {
        "/rot/tas": Leaf(
            np.zeros((3, 4)), ("rlat", "rlon"), {**declare("cs", "geolocation", "ref"), **ROTATED}
        ),
        **geo(dims),
    }
    found = opened(write(tmp_path / "s.zarr", tree, form), "/rot")
    assert set(found.coords) == {"rlon", "rlat", "lon", "lat"}
    assert set(found.tas.coords) == {"rlon", "rlat", "lon", "lat"}
    assert found.lon.dims == found.lat.dims == ("rlat", "rlon")
    np.testing.assert_array_equal(found.lon, VALUES)
    np.testing.assert_array_equal(found.lat, -VALUES)
    np.testing.assert_allclose(found.rlon, -28.375 + 0.11 * np.arange(4))
    assert set(found.indexes) == {"rlon", "rlat"}
    assert found.lon.attrs == {
        "units": "degrees_east",
        "geolocation_role": "geodetic_longitude",
        "proj:code": "EPSG:4326",
    }
    assert found.lat.attrs["geolocation_role"] == "geodetic_latitude"


def test_planar_pairs_stand_beside_geodetic_ones(tmp_path):
    both = {
        "geodetic": pair(),
        "planar": pair("/utm/e", "/utm/n", id={"proj:code": "EPSG:32631", "proj:wkt2": None}),
    }
    tree = {
        "/g/a": swath(both),
        **geo(),
        "/utm/e": Leaf(VALUES, ("y", "x")),
        "/utm/n": Leaf(VALUES, ("y", "x")),
    }
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"y", "x", "lon", "lat", "e", "n"}
    assert found.e.attrs == {"geolocation_role": "planar_easting", "proj:code": "EPSG:32631"}
    assert found.n.attrs == {"geolocation_role": "planar_northing", "proj:code": "EPSG:32631"}


@pytest.mark.parametrize("form", ["v3", "v2"])
@pytest.mark.parametrize("place", ["array", "group", "undeclared"])
def test_with_spatial_it_stands_on_the_array_or_its_group(tmp_path, form, place):
    attrs = {"geolocation": {"geodetic": pair("../geo/lon", "../geo/lat")}}
    own = spatial([1, 0, 0, 0, 1, 0])
    declared = declare("spatial", "geolocation")
    if place == "array":
        tree = {"/g/a": Leaf(np.zeros((2, 3, 4)), ("t", "y", "x"), {**own, **attrs, **declared})}
    elif place == "group":
        tree = {"/g": {**own, **attrs, **declared}, "/g/a": Leaf(np.zeros((2, 3, 4)), ("t", "y", "x"))}
    else:
        tree = {"/g/a": Leaf(np.zeros((2, 3, 4)), ("t", "y", "x"), {**own, **attrs})}
    found = opened(write(tmp_path / "s.zarr", {**tree, **geo(None)}, form), "/g")
    assert set(found.coords) == {"x", "y", "lon", "lat"}
    assert found.lon.dims == ("y", "x")


def test_a_geolocation_of_the_array_stands_for_its_group_s(tmp_path):
    own = {**spatial([1, 0, 0, 0, 1, 0]), **declare("spatial", "geolocation")}
    tree = {
        "/g": {**own, "geolocation": {"geodetic": pair("/nowhere", "/nowhere")}},
        "/g/a": Leaf(np.zeros((3, 4)), ("y", "x"), {"geolocation": {"geodetic": pair()}}),
        **geo(),
    }
    assert {"lon", "lat"} < set(opened(write(tmp_path / "s.zarr", tree), "/g").coords)


def test_with_cs_it_may_stand_on_the_array_too(tmp_path):
    attrs = {**cs({"y": {}, "x": {}, "t": {}}), "geolocation": {"geodetic": pair()}}
    planar = {"axes": {"y": {}, "x": {}}, "type": "planar"}
    attrs["cs"] = {"crs": [{"axes": {"t": {}}}, planar]}
    tree = {"/g/a": Leaf(np.zeros((3, 2, 4)), ("y", "t", "x"), attrs), **geo(None)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert found.lon.dims == ("y", "x")


def test_with_cs_a_group_s_does_not_count(tmp_path):
    tree = {
        "/g": {**declare("geolocation"), "geolocation": {"geodetic": pair()}},
        "/g/a": Leaf(np.zeros(3), ("x",), cs({"x": {}})),
        **geo(),
    }
    assert set(opened(write(tmp_path / "s.zarr", tree), "/g").coords) == {"x"}


def test_it_never_stands_alone(tmp_path):
    attrs = {**declare("geolocation", "ref"), "geolocation": {"geodetic": pair()}}
    tree = {"/g/a": Leaf(np.zeros((3, 4)), ("y", "x"), attrs), **geo()}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert warning.error is None
    assert not found.coords


# ---- names -------------------------------------------------------------------------------------


def test_a_name_that_is_taken_becomes_the_whole_path(tmp_path):
    tree = {
        "/g/a": swath({"geodetic": pair("/geo/a/lon", "/geo/a/lat")}),
        "/g/b": swath({"geodetic": pair("/geo/b/lon", "/geo/b/lat")}),
        "/g/c": swath({"geodetic": pair("/geo/a/lon", "/geo/b/lat")}),
        **geo(folder="/geo/a"),
        **geo(folder="/geo/b", note="other"),
    }
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"y", "x", "lon", "lat", "geo_b_lon", "geo_b_lat"}
    assert found.geo_b_lon.attrs["note"] == "other"


def test_a_name_that_is_a_dimension_becomes_the_whole_path(tmp_path):
    geodetic = {"geodetic": pair()}
    tree = {"/g/a": swath(geodetic, ("lat", "lon")), **geo(None)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"lat", "lon", "geo_lat", "geo_lon"}
    assert found.geo_lon.dims == ("lat", "lon")


def test_a_name_that_is_an_array_of_the_group_becomes_the_whole_path(tmp_path):
    tree = {"/g/a": swath({"geodetic": pair()}), "/g/lon": swath({"geodetic": pair()}), **geo()}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"y", "x", "geo_lon", "lat"}
    assert set(found.data_vars) == {"a", "lon"}


def test_both_of_a_pair_may_have_one_name(tmp_path):
    tree = {
        "/g/a": swath({"geodetic": pair("/x/data", "/y/data")}),
        "/x/data": Leaf(VALUES, ("y", "x")),
        "/y/data": Leaf(-VALUES, ("y", "x")),
    }
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    np.testing.assert_array_equal(found.data, VALUES)
    np.testing.assert_array_equal(found.y_data, -VALUES)


def test_arrays_of_the_group_itself_become_coordinates(tmp_path):
    tree = {"/g/a": swath({"geodetic": pair("lon", "lat")}), **geo(folder="/g")}
    found, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert all(each.error is None for each in told)  # they declare nothing themselves
    assert set(found.coords) == {"y", "x", "lon", "lat"}
    assert found.lon.attrs == {"units": "degrees_east", "geolocation_role": "geodetic_longitude"}


def test_a_pair_of_another_store(tmp_path):
    write(tmp_path / "other.zarr", geo())
    geodetic = {
        "x": ref("/geo/lon", uri="other.zarr"),
        "y": ref(f"file://{tmp_path}/other.zarr/geo/lat"),
    }
    found = opened(write(tmp_path / "s.zarr", {"/g/a": swath({"geodetic": geodetic})}), "/g")
    np.testing.assert_array_equal(found.lat, -VALUES)


# ---- wrong input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("geolocation", "kind", "words"),
    [
        ({"geodetic": {"x": ref("/geo/lon")}}, XGroupPathError, "'y' missing: a pair of x and y is needed"),
        ({"planar": {"y": ref("/geo/lon")}}, XGroupPathError, "'x' missing: a pair of x and y is needed"),
        ({}, None, "geolocation is empty: it has neither geodetic nor planar"),
        ({"geodetic": None}, None, "geolocation is empty"),
        ("lon lat", None, "geolocation is an object, not 'lon lat'"),
        ({"geodetic": "lon lat"}, None, "geodetic is an object, not 'lon lat'"),
        ({"geodetic": pair(x="/geo")}, XGroupReferenceError, "tried /geo: is a group: an array required"),
        ({"geodetic": pair(y="/nowhere")}, XGroupReferenceError, "tried /nowhere: not found"),
        ({"geodetic": {"x": {}, "y": ref("/geo/lat")}}, XGroupPathError, "'node' missing"),
    ],
)
@pytest.mark.parametrize("principal", ["cs", "spatial"])
def test_wrong_geolocation_costs_the_pair_and_says_why(tmp_path, geolocation, kind, words, principal):
    if principal == "cs":
        leaf = swath(geolocation)
    else:
        attrs = {
            **spatial([1, 0, 0, 0, 1, 0]),
            **declare("spatial", "geolocation"),
            "geolocation": geolocation,
        }
        leaf = Leaf(np.zeros((3, 4)), ("y", "x"), attrs)
    found, (warning,) = warned(write(tmp_path / "s.zarr", {"/g/a": leaf, **geo()}), "/g")
    assert set(found.coords) == {"y", "x"}
    assert words in str(warning)
    assert kind is None or type(warning.error) is kind
    place = "cs/crs/0/geolocation" if principal == "cs" else "geolocation"
    assert f": /g/a: {place}" in str(warning)


def test_arrays_that_do_not_cover_keep_their_own_dimensions(tmp_path):
    tree = {
        "/g/a": swath({"geodetic": pair()}),
        "/geo/lon": Leaf(np.zeros((2, 2)), ("ty", "tx")),
        "/geo/lat": Leaf(np.zeros((2, 2)), None),
    }
    found, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert [str(each).split(": ", 3)[3] for each in told] == [
        f"/geo/{name} has shape [2, 2] and does not cover the array, which has [3, 4] along y, x; "
        "it keeps its own dimensions"
        for name in ("lon", "lat")
    ]
    assert set(found.coords) == {"y", "x", "lon", "lat"}
    assert found.lon.dims == ("ty", "tx")
    assert found.lat.dims == ("lat_dim_0", "lat_dim_1")
    assert set(found.a.coords) == {"y", "x"}


def test_sizes_that_clash_in_the_dataset_cost_the_coordinate(tmp_path):
    tree = {
        "/g/a": swath({"geodetic": pair()}),
        "/geo/lon": Leaf(np.zeros((2, 4)), ("y", "x")),
        "/geo/lat": Leaf(np.zeros((3, 4)), ("y", "x")),
    }
    found, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert ["does not cover" in str(each) for each in told] == [True, False]
    assert "lon: this coordinate is dropped: its dimension 'y' has 2 values" in str(told[1])
    assert set(found.coords) == {"y", "x", "lat"}


def test_a_geolocation_of_a_library_is_found(tmp_path):
    system = {
        "axes": {"y": {}, "x": axis({"regular": [0, 1]})},
        "geolocation": {"geodetic": pair("lon", "lat")},
    }
    attrs = {**declare("cs"), "cs": {"crs": [ref("/geo", attribute="/attributes/crs/a")]}}
    tree = {"/geo": {"crs": {"a": system}}, "/g/a": Leaf(np.zeros((3, 4)), ("y", "x"), attrs), **geo()}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"y", "x", "lon", "lat"}
