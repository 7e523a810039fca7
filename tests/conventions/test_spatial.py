"""Centres of cells from six numbers: registration, inheritance, turned grids, pyramids, and wrong input."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from geozarr import FORMS, Counting, Leaf, cs, declare, opened, spatial, warned, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLE = [10, 0, 300000, 0, -10, 5200000]


def grid(attrs, shape=(100, 100), dims=("y", "x")):
    return Leaf(np.zeros(shape, "u1"), dims, attrs)


def lost(tmp_path, attrs, **how):
    found, (warning,) = warned(write(tmp_path / "s.zarr", {"/g/a": grid(attrs, **how)}), "/g")
    assert "a" in found.data_vars
    assert str(warning).startswith("XGroupError: /g/a: spatial:")
    return found, str(warning)


# ---- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("registration", "x", "y"),
    [
        (None, (300005, 300995), (5199995, 5199005)),
        ("pixel", (300005, 300995), (5199995, 5199005)),
        ("node", (300000, 300990), (5200000, 5199010)),
    ],
)
def test_values_are_the_centres_of_cells(tmp_path, form, registration, x, y):
    tree = {"/g/a": grid(spatial(EXAMPLE, registration=registration))}
    found = opened(write(tmp_path / "s.zarr", tree, form), "/g")
    assert (found.x.values[0], found.x.values[-1]) == x
    assert (found.y.values[0], found.y.values[-1]) == y
    assert found.x.dtype == found.y.dtype == "f8"
    assert found.x.attrs == {"axis": "X"}
    assert found.y.attrs == {"axis": "Y"}
    assert set(found.indexes) == {"x", "y"}
    assert found.a.attrs == tree["/g/a"].attrs


def test_dimensions_are_told_by_name_and_others_get_nothing(tmp_path):
    tree = {"/g/a": grid(spatial([1, 0, 0, 0, 10, 0], ("lat", "lon")), (2, 3, 4), ("time", "lon", "lat"))}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    np.testing.assert_array_equal(found.lon, [0.5, 1.5, 2.5])
    np.testing.assert_array_equal(found.lat, [5, 15, 25, 35])
    assert "time" not in found.coords
    assert found.a.dims == ("time", "lon", "lat")


@given(
    st.lists(st.floats(-1e3, 1e3, allow_subnormal=False), min_size=6, max_size=6),
    st.sampled_from([0.5, 0.0]),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.booleans(),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_values_are_what_the_formula_says(tmp_path, transform, half, shape, straight):
    if straight:
        transform[1] = transform[3] = 0.0
    a, b, c, d, e, f = transform
    tree = {"/g/a": grid(spatial(transform, registration="pixel" if half else "node"), shape)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g").load()
    names = ("x", "y") if b == d == 0 else ("xc", "yc")
    x, y = (found[name].broadcast_like(found.a).transpose("y", "x").values for name in names)
    for j in range(shape[0]):
        for i in range(shape[1]):
            col, row = i + half, j + half
            np.testing.assert_allclose(x[j, i], a * col + b * row + c, rtol=1e-9, atol=1e-6)
            np.testing.assert_allclose(y[j, i], d * col + e * row + f, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("dims", [("y", "x"), ("x", "y"), ("band", "y", "x")])
def test_a_turned_grid_has_coordinates_of_rank_two_and_no_index(tmp_path, dims):
    sizes = {"y": 4, "x": 3, "band": 2}
    attrs = spatial([10, 1, 0, 2, -10, 100])
    tree = {"/g/a": grid(attrs, tuple(sizes[dim] for dim in dims), dims)}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"xc", "yc"}
    assert not found.indexes
    assert found.xc.dims == found.yc.dims == ("y", "x")
    assert found.xc.dtype == "f8"
    assert found.xc.values[2, 1] == 10 * 1.5 + 1 * 2.5
    assert found.yc.values[2, 1] == 2 * 1.5 - 10 * 2.5 + 100
    np.testing.assert_array_equal(found.xc.isel(x=[2, 0], y=1), found.xc.values[1, [2, 0]])
    np.testing.assert_array_equal(found.yc[::2, -1], found.yc.values[::2, -1])


def test_a_large_turned_grid_is_computed_where_it_is_looked_at(tmp_path):
    import zarr

    group = zarr.open_group(tmp_path / "s.zarr", mode="w").create_group("g")
    attrs = spatial([10, 1, 0, 2, -10, 100])
    size = 10**6
    group.create_array(
        "a", shape=(size, size), chunks=(1000, 1000), dtype="u1", dimension_names=["y", "x"], attributes=attrs
    )
    found = opened(str(tmp_path / "s.zarr"), "/g")
    assert found.xc[5, -1].item() == 10 * (size - 0.5) + 5.5


# ---- inheritance -------------------------------------------------------------------------------

SHARED = {**spatial([20.0, 0.0, 300000.0, 0.0, -20.0, 5200000.0]), "spatial:shape": [50, 50]}


@pytest.mark.parametrize("form", FORMS)
def test_arrays_inherit_from_the_group_that_holds_them(tmp_path, form):
    tree = {"/shared": SHARED, "/shared/b05": grid({}, (50, 50)), "/shared/b06": grid({}, (50, 50))}
    found = opened(write(tmp_path / "s.zarr", tree, form), "/shared")
    assert found.x.values[0] == 300010
    assert found.y.values[0] == 5199990
    assert set(found.b05.coords) == set(found.b06.coords) == {"x", "y"}
    assert found.b05.attrs == {}
    assert found.attrs == SHARED


def test_an_array_overrides_key_by_key(tmp_path):
    tree = {"/shared": SHARED, "/shared/a": grid({"spatial:registration": "node"}, (50, 50))}
    assert opened(write(tmp_path / "s.zarr", tree), "/shared").x.values[0] == 300000


def test_an_array_may_declare_and_take_the_rest_from_its_group(tmp_path):
    undeclared = {name: value for name, value in SHARED.items() if name != "zarr_conventions"}
    tree = {"/shared": undeclared, "/shared/a": grid(declare("spatial"), (50, 50))}
    assert opened(write(tmp_path / "s.zarr", tree), "/shared").x.values[0] == 300010


def test_grandchildren_inherit_nothing(tmp_path):
    tree = {"/shared": SHARED, "/shared/deep/a": grid({}, (50, 50))}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/shared/deep")
    assert "declares no principal convention" in str(warning)
    assert not found.coords


def test_an_array_without_both_dimensions_does_not_inherit(tmp_path):
    tree = {"/shared": SHARED, "/shared/a": grid({}, (50, 50)), "/shared/time": grid({}, (3,), ("time",))}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/shared")
    assert warning.error is None
    assert str(warning).startswith("array '/shared/time' declares no principal convention")
    assert set(found.coords) == {"x", "y", "time"}  # `time` by xarray's own rule


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_an_explicit_array_of_the_group_stands_for_the_computed_one(tmp_path, form):
    tree = {"/shared": SHARED, "/shared/a": grid({}, (50, 50)), "/shared/x": Leaf(np.arange(50.0), ("x",))}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree, form), "/shared")
    assert str(warning).startswith("array '/shared/x' declares no principal convention")
    np.testing.assert_array_equal(found.x, np.arange(50.0))
    assert found.y.values[0] == 5199990


def test_an_inherited_shape_that_differs_means_that_the_transform_is_for_others(tmp_path):
    tree = {"/shared": SHARED, "/shared/a": grid({}, (25, 25))}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/shared")
    assert "spatial:shape: is [50, 50], the array has [25, 25]: the transform is not for this array" in str(
        warning
    )
    assert "(from /shared)" in str(warning)
    assert not found.coords


def test_an_own_shape_that_differs_is_told_and_the_real_sizes_are_used(tmp_path):
    found, words = lost(tmp_path, spatial(EXAMPLE, shape=[50, 50]))
    assert "spatial:shape: is [50, 50], the array has [100, 100], which are used" in words
    assert found.sizes == {"y": 100, "x": 100}
    assert found.x.values[-1] == 300995


def test_cs_counts_more_than_what_is_inherited_and_says_nothing(tmp_path):
    axes = {"y": {}, "x": {}}
    tree = {"/shared": SHARED, "/shared/a": grid(cs(axes), (50, 50))}
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/shared").x, np.arange(50))


def test_cs_counts_more_than_spatial_on_the_array_and_that_is_told(tmp_path):
    both = {**spatial(EXAMPLE), **cs({"y": {}, "x": {}}), **declare("spatial", "cs")}
    found, (warning,) = warned(write(tmp_path / "s.zarr", {"/g/a": grid(both)}), "/g")
    assert "declares 2 principal conventions, 'cs' and 'spatial'; 'cs' is used" in str(warning)
    assert "/g/a" in str(warning)
    np.testing.assert_array_equal(found.x, np.arange(100))


# ---- pyramids ----------------------------------------------------------------------------------


def pyramid(level_attrs=None, layout_1=None):
    levels = [
        {"asset": "0", "spatial:transform": [10, 0, 0, 0, -10, 0], "spatial:shape": [8, 8]},
        {"asset": "1", "derived_from": "0", "transform": {"scale": [2, 2]}, **(layout_1 or {})},
    ]
    attrs = {**declare("spatial"), "spatial:dimensions": ["y", "x"], "spatial:registration": "node"}
    return {
        "/ms": {**attrs, "multiscales": {"layout": levels}},
        "/ms/0/b": grid({}, (8, 8)),
        "/ms/1": level_attrs or {},
        "/ms/1/b": grid({}, (4, 4)),
    }


def test_levels_of_a_pyramid_take_their_transform_from_its_layout(tmp_path):
    store = write(tmp_path / "s.zarr", pyramid(layout_1={"spatial:transform": [20, 0, 5, 0, -20, -5]}))
    np.testing.assert_array_equal(opened(store, "/ms/0").x, np.arange(8) * 10)
    np.testing.assert_array_equal(opened(store, "/ms/1").x, np.arange(4) * 20 + 5)


def test_attributes_of_a_level_count_more_than_the_layout(tmp_path):
    level = {"spatial:transform": [7, 0, 0, 0, -7, 0]}
    store = write(tmp_path / "s.zarr", pyramid(level, {"spatial:transform": [20, 0, 5, 0, -20, -5]}))
    np.testing.assert_array_equal(opened(store, "/ms/1").x, np.arange(4) * 7)


def test_no_transform_is_made_from_a_scale(tmp_path):
    found, (warning,) = warned(write(tmp_path / "s.zarr", pyramid()), "/ms/1")
    assert "spatial:transform: is missing" in str(warning)
    assert not found.coords


def test_arrays_may_be_levels_themselves(tmp_path):
    layout = [
        {"asset": name, "spatial:transform": [k, 0, 0, 0, -k, 0]} for name, k in (("a", 1), ("deep/b", 2))
    ]
    layout += [{"asset": "/a"}, {"asset": "../ms/a", "spatial:transform": []}, {}, 3]
    attrs = {**declare("spatial"), "spatial:dimensions": ["y", "x"], "multiscales": {"layout": layout}}
    tree = {"/ms": attrs, "/ms/a": grid({}, (2, 2)), "/ms/deep/b": grid({}, (3, 3))}
    store = write(tmp_path / "s.zarr", tree)
    np.testing.assert_array_equal(opened(store, "/ms").x, [0.5, 1.5])
    np.testing.assert_array_equal(opened(store, "/ms/deep").x, [1, 3, 5])


@pytest.mark.parametrize("multiscales", [3, {"layout": 3}, {"layout": {}}, {}])
def test_multiscales_that_are_none_say_nothing(tmp_path, multiscales):
    tree = {"/ms": {**SHARED, "multiscales": multiscales}, "/ms/a": grid({}, (50, 50))}
    assert opened(write(tmp_path / "s.zarr", tree), "/ms").x.values[0] == 300010


# ---- wrong input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("transform", [20, 0, 3e5], "spatial:transform: needs 6 numbers, got 3"),
        ("transform", [20, 0, "3e5", 0, 1, 1], "needs 6 numbers, got '3e5' among them"),
        ("transform", "20 0 0 0 1 1", "needs 6 numbers, got '20 0 0 0 1 1'"),
        ("transform", [1e308, 0, 0, 0, -1, 0], "lead past the largest number"),
        ("transform", None, "spatial:transform: is missing, so there are no coordinates"),
        ("dimensions", ["y"], "spatial:dimensions: is ['y']; it needs exactly [y, x]"),
        ("dimensions", ["t", "y", "x"], "it needs exactly [y, x]"),
        ("dimensions", ["x", "x"], "it needs exactly [y, x]"),
        ("dimensions", [1, 2], "it needs exactly [y, x]"),
        ("dimensions", "yx", "it needs exactly [y, x]"),
        ("dimensions", ["lat", "lon"], "'lat' is no dimension of the array; there are y, x"),
        ("transform_type", "rpc", "spatial:transform_type: is 'rpc', and only 'affine' is defined"),
        ("transform_type", ["affine"], "and only 'affine' is defined"),
    ],
)
@pytest.mark.parametrize("inherited", [False, True])
def test_wrong_settings_cost_the_coordinates_and_say_why(tmp_path, setting, value, words, inherited):
    attrs = {**spatial(EXAMPLE), f"spatial:{setting}": value}
    if value is None:
        del attrs[f"spatial:{setting}"]
    if inherited and setting == "dimensions" and value == ["lat", "lon"]:
        return  # then it is not inherited
    tree = {"/g": attrs, "/g/a": grid({})} if inherited else {"/g/a": grid(attrs)}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert str(warning).startswith(f"XGroupError: /g/a: spatial:{setting}: ")
    assert words in str(warning)
    assert ("(from /g)" in str(warning)) == (inherited and value is not None)
    assert not found.coords
    assert "a" in found


def test_a_declaration_without_dimensions_is_told(tmp_path):
    attrs = spatial(EXAMPLE)
    del attrs["spatial:dimensions"]
    found, words = lost(tmp_path, attrs)
    assert "spatial:dimensions: is missing; it needs exactly [y, x]" in words
    assert not found.coords


@pytest.mark.parametrize("wrong", ["corner", 3, ["pixel"]])
def test_an_unknown_registration_is_told_and_pixel_is_used(tmp_path, wrong):
    found, words = lost(tmp_path, spatial(EXAMPLE, registration=wrong))
    assert "expected 'pixel' or 'node'; 'pixel' is used" in words
    assert found.x.values[0] == 300005


def test_affine_by_name_and_a_box_change_nothing(tmp_path):
    attrs = spatial(EXAMPLE, transform_type="affine", bbox=[0, 0, 1, 1])
    assert opened(write(tmp_path / "s.zarr", {"/g/a": grid(attrs)}), "/g").x.values[0] == 300005


def test_a_box_computes_nothing(tmp_path):
    found, words = lost(tmp_path, spatial(None, bbox=[0, 0, 100, 100]))
    assert "spatial:transform: is missing" in words
    assert not found.coords


def test_names_that_are_missing_cannot_be_bound(tmp_path):
    found, words = lost(tmp_path, spatial(EXAMPLE), dims=None)
    assert "'y' is no dimension of the array, which names none; there are dim_0, dim_1" in words
    assert found.a.dims == ("dim_0", "dim_1")


def test_nothing_is_read_but_metadata(tmp_path):
    tree = {"/shared": SHARED, "/shared/b05": grid({}, (50, 50)), "/shared/b06": grid({}, (50, 50))}
    write(tmp_path / "s.zarr", tree)
    store = Counting(tmp_path / "s.zarr")
    xr.open_datatree(store, engine="xgroup")
    assert store.chunks_read() == []
