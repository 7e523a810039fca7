"""One group, many arrays: what they share, whose name it is, and what CF's `coordinates` become."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from geozarr import FORMS, NO_PRINCIPAL, Leaf, axis, cs, declare, external, opened, spatial, warned, write

from zaro.errors import XGroupNoPrincipalWarning

ZERO = np.zeros(3)


def array(values, attrs=None, **more):
    """An array along x with these values for it."""
    return Leaf(ZERO, ("x",), {**cs({"x": axis(values, **more)}), **(attrs or {})})


# ---- no principal convention -------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_every_array_without_a_principal_convention_is_named(tmp_path, form):
    tree = {
        "/g/a": Leaf(ZERO, ("x",), {"units": "K", "coordinates": "lon", **declare("ref", "proj", "uom")}),
        "/g/x": Leaf(ZERO, ("x",)),
        "/g/lon": Leaf(ZERO, ("x",)),
    }
    found, told = warned(write(tmp_path / "s.zarr", tree, form), "/g", decode_coords=False)
    assert [str(each)[:14] for each in told] == ["array '/g/a' d", "array '/g/lon'", "array '/g/x' d"]
    assert all(each.error is None and NO_PRINCIPAL in str(each) for each in told)
    assert set(found.data_vars) == {"a", "lon"}
    assert found.a.attrs == tree["/g/a"].attrs


def test_the_warning_can_be_silenced_and_made_an_error(tmp_path):
    store = write(tmp_path / "s.zarr", {"/g/a": Leaf(ZERO, ("x",))})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=XGroupNoPrincipalWarning)
        opened(store, "/g")
        warnings.filterwarnings("error", category=XGroupNoPrincipalWarning)
        with pytest.raises(XGroupNoPrincipalWarning, match="/g/a"):
            opened(store, "/g")


def test_a_broken_reference_that_is_made_an_error_is_one(tmp_path):
    store = write(tmp_path / "s.zarr", {"/g/a": array(external("/nowhere"))})
    with pytest.raises(XGroupNoPrincipalWarning, match=r"XGroupReferenceError: /g/a: .*'/nowhere'"):
        opened(store, "/g")


def test_arrays_without_names_have_dimensions_all_the_same(tmp_path):
    tree = {
        "/g/a": Leaf(np.zeros((3, 4)), None),
        "/g/b": Leaf(np.zeros(5), (None,)),
        "/g/c": Leaf(np.zeros(3), None),
    }
    for form in ("v3", "v2"):
        shown = {**tree, "/g/b": Leaf(np.zeros(5), (None,) if form == "v3" else None)}
        found, told = warned(write(tmp_path / form, shown, form), "/g")
        assert len(told) == 3
        assert found.a.dims == ("dim_0", "dim_1")
        assert found.b.dims == ("b_dim_0",)
        assert found.c.dims == ("dim_0",)


# ---- shared names ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"regular": [0, 1]}, {"regular": [0, 1]}),
        ({"regular": [0, 1]}, {"explicit": [0.0, 1.0, 2.0]}),
        (external("/x"), external("/x")),
        (external("/x"), {"external": {"node": "../x"}}),
        (external("/x"), external("/x", uri="s.zarr")),
    ],
)
def test_the_same_coordinate_of_two_arrays_is_one(tmp_path, one, other):
    tree = {
        "/g/a": array(one, boundaries={"regular": [0, 1]}),
        "/g/b": array(other, boundaries={"regular": [0, 1]}),
    }
    found = opened(write(tmp_path / "s.zarr", {**tree, "/x": Leaf(np.arange(3.0), ("n",))}), "/g")
    assert set(found.coords) == {"x", "x_bounds"}


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_bounds_that_only_one_array_names_belong_to_the_shared_coordinate(tmp_path, order):
    values = {"regular": [0, 1]}
    tree = {f"/g/{order[0]}": array(values), f"/g/{order[1]}": array(values, boundaries={"regular": [0, 1]})}
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"x", "x_bounds"}
    assert found.x.attrs == {"bounds": "x_bounds"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"regular": [0, 1]}, {"regular": [0, 2]}),
        (external("/x"), external("/y")),
        (external("/x"), {"regular": [0, 1]}),
    ],
)
def test_of_two_that_differ_the_first_array_s_stays(tmp_path, one, other):
    tree = {
        "/g/b": array(other, boundaries={"regular": [0, 2]}),
        "/g/a": array(one),
        "/x": Leaf(np.arange(3.0), ("n",)),
        "/y": Leaf(np.arange(3.0) * 2, ("n",)),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert (
        str(warning)
        == "XGroupError: /g/b: x: this coordinate is dropped: that of '/g/a' has the name, and differs"
    )
    np.testing.assert_array_equal(found.x, [0, 1, 2])
    assert set(found.coords) == {"x"}
    assert found.x.attrs == {}


def test_an_array_of_the_group_stays_where_a_coordinate_would_have_its_name(tmp_path):
    tree = {
        "/g/a": array({"regular": [5, 1]}),
        "/g/x": array({"regular": [5, 1]}),
        "/other": Leaf(ZERO, ("x",)),
    }
    found, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert [str(each) for each in told] == [
        f"XGroupError: /g/{name}: x: this coordinate is dropped: "
        "the array '/g/x' has the name, and is another one"
        for name in ("a", "x")
    ]
    np.testing.assert_array_equal(found.x, ZERO)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("node", ["x", "../g/x", "/g/x"])
def test_attributes_are_laid_over_the_array_of_the_group_that_a_convention_names(tmp_path, form, node):
    tree = {
        "/g/a": array(external(node), unit="km", boundaries=external("xb")),
        "/g/x": Leaf(np.array([1, 2, 3], "i2"), ("x",), {"scale_factor": 0.5, "long_name": "own"}),
        "/g/xb": Leaf(np.zeros((3, 2)), ("x", "nv")),
    }
    found, told = warned(write(tmp_path / "s.zarr", tree, form), "/g")
    assert [each.error for each in told] == [None, None]
    np.testing.assert_array_equal(found.x, [0.5, 1, 1.5])
    assert found.x.attrs == {"long_name": "own", "units": "km", "bounds": "x_bounds"}
    assert set(found.coords) == {"x", "x_bounds"}
    assert set(found.data_vars) == {"a", "xb"}


def test_a_dimension_of_another_name_is_relabelled_in_the_group_too(tmp_path):
    tree = {"/g/a": array(external("x")), "/g/x": Leaf(np.arange(3), ("station",))}
    found, _ = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert found.x.dims == ("x",)
    assert "x" in found.indexes


def test_a_scalar_that_is_the_dimension_of_another_array_is_dropped(tmp_path):
    tree = {
        "/g/a": Leaf(ZERO, ("x",), cs({"x": {}, "height": axis({"explicit": [2]})})),
        "/g/b": Leaf(np.zeros(5), ("height",), cs({"height": {}})),
    }
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert "/g/a: height: this coordinate is dropped: it has the name of a dimension" in str(warning)
    np.testing.assert_array_equal(found.height, range(5))


def test_an_array_that_says_the_same_says_the_same_again(tmp_path):
    tree = {f"/g/{name}": array({"regular": [0]}) for name in "abc"}
    _, told = warned(write(tmp_path / "s.zarr", tree), "/g")
    assert [each.error.array for each in told] == ["/g/a", "/g/b", "/g/c"]


# ---- CF's attribute `coordinates` --------------------------------------------------------------


def test_paths_become_names_of_what_was_resolved(tmp_path):
    axes = {"x": axis(external("/grid/lon")), "h": axis(external("../grid/height"))}
    attrs = {**cs(axes), "coordinates": "../grid/lon /grid/height /grid/nowhere area ../grid/other"}
    tree = {
        "/g/a": Leaf(ZERO, ("x",), attrs),
        "/g/area": Leaf(ZERO, ("x",), cs({"x": axis(external("/grid/lon"))})),
        "/grid/lon": Leaf(np.arange(3), ("n",)),
        "/grid/height": Leaf(np.float64(2), ()),
        "/grid/other": Leaf(ZERO, ("x",)),
    }
    store = write(tmp_path / "s.zarr", tree)
    found = opened(store, "/g")
    assert set(found.coords) == {"x", "h", "area"}
    assert found.a.encoding["coordinates"] == "x h area"
    assert opened(store, "/g", decode_coords=False).a.attrs["coordinates"] == "x h area"


def test_paths_that_lead_nowhere_leave_no_attribute(tmp_path):
    tree = {"/g/a": array({"regular": [0, 1]}, {"coordinates": "/no/where ../nor/here"})}
    found = opened(write(tmp_path / "s.zarr", tree), "/g", decode_coords=False)
    assert "coordinates" not in found.a.attrs


def test_names_without_paths_are_left_to_xarray(tmp_path):
    tree = {
        "/g/a": array({"regular": [0, 1]}, {"coordinates": "area nowhere"}),
        "/g/area": array({"regular": [0, 1]}),
    }
    found = opened(write(tmp_path / "s.zarr", tree), "/g")
    assert set(found.coords) == {"x", "area"}
    assert found.a.encoding["coordinates"] == "area nowhere"


def test_an_array_without_principal_convention_keeps_its_paths(tmp_path):
    tree = {"/g/a": Leaf(ZERO, ("x",), {"coordinates": "../x"}), "/x": Leaf(ZERO, ("x",))}
    with pytest.warns(match=NO_PRINCIPAL):
        found = opened(write(tmp_path / "s.zarr", tree), "/g", decode_coords=False)
    assert found.a.attrs == {"coordinates": "../x"}


# ---- passed through ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_proj_and_uom_stay_where_they_are_and_give_nothing(tmp_path, form):
    uom = {"ucum": {"unit": "K"}, "description": "kelvin"}
    own = {
        **spatial([1, 0, 0, 0, 1, 0]),
        **declare("spatial", "proj", "uom"),
        "proj:code": "EPSG:4326",
        "uom": uom,
    }
    group = {**declare("proj"), "proj:wkt2": "GEOGCRS[]", "proj:projjson": None}
    tree = {"/g": group, "/g/a": Leaf(np.zeros((2, 2)), ("y", "x"), own)}
    found = opened(write(tmp_path / "s.zarr", tree, form), "/g")
    assert set(found.variables) == {"a", "y", "x"}
    assert found.a.attrs == own
    assert found.attrs == group


@pytest.mark.parametrize("uom", [3, "K", {"unit": "K"}, None, []])
def test_a_wrong_uom_is_passed_through(tmp_path, uom):
    attrs = {**cs({"x": {}}), **declare("cs", "uom"), "uom": uom}
    assert opened(write(tmp_path / "s.zarr", {"/g/a": Leaf(ZERO, ("x",), attrs)}), "/g").a.attrs["uom"] == uom
