"""From a reference to the node that it means: paths, pointers, other stores, and what wrong ones cost."""

from __future__ import annotations

import numpy as np
import pytest
from geozarr import FORMS, Leaf, axis, cs, declare, external, opened, ref, warned, write

from zaro.conventions.nodes import join
from zaro.errors import XGroupPathError, XGroupReferenceError, XGroupStoreError

LON = np.array([1.0, 2.5, 4.0])
PLACE = "cs/crs/0/axes/x/coordinates/0/values/external/ref"


def pointing(values, path="/ocean/temp"):
    """An array whose coordinate x is a reference."""
    return {path: Leaf(np.zeros(3), ("x",), cs({"x": axis(values)}))}


def lon(**attrs):
    return Leaf(LON, ("x",), attrs)


# ---- paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "path", "found"),
    [
        ("ocean", "lon", "ocean/lon"),
        ("ocean", "../lon", "lon"),
        ("ocean", "../coords/time", "coords/time"),
        ("ocean", "..", ""),
        ("ocean", "../../x", "x"),
        ("ocean", "./a//b/./c", "ocean/a/b/c"),
        ("a/b", "../../../../x/..", ""),
        ("", "/x", "x"),
    ],
)
def test_paths_are_joined_and_stop_at_the_root(base, path, found):
    assert join(base, path) == found


@pytest.mark.parametrize(
    ("node", "target"),
    [
        ("lon", "/ocean/lon"),
        ("./lon", "/ocean/lon"),
        ("../lon", "/lon"),
        ("../coords/lon", "/coords/lon"),
        ("../../x", "/x"),
        ("/coords/lon", "/coords/lon"),
        ("/a/../coords//lon", "/coords/lon"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_relative_path_counts_from_the_group_and_an_absolute_one_from_the_root(
    tmp_path, node, target, form
):
    target_store = write(tmp_path / "s.zarr", {**pointing(external(node)), target: lon()}, form)
    found, _ = warned(target_store, "/ocean")  # `/ocean/lon` itself declares nothing
    np.testing.assert_array_equal(found["temp"].coords["x"], LON)


@pytest.mark.parametrize(
    ("node", "target"), [("../lon", "/ocean/lon"), ("../coords/time", "/ocean/coords/time")]
)
def test_a_path_from_the_array_itself_is_tried_second(tmp_path, node, target):
    other = {"/lon": Leaf(LON * 2, ("x",)), "/coords/time": Leaf(LON * 3, ("x",))}
    first = write(tmp_path / "first.zarr", {**pointing(external(node)), **other, target: lon()})
    second = write(tmp_path / "second.zarr", {**pointing(external(node)), target: lon()})
    assert warned(first, "/ocean")[0]["temp"].x.values[0] > 1
    np.testing.assert_array_equal(warned(second, "/ocean")[0]["temp"].x, LON)


def test_the_first_candidate_that_can_be_used_is_taken(tmp_path):
    tree = {**pointing(external("../lon")), "/lon": Leaf(np.zeros(7), ("x",)), "/ocean/lon": lon()}
    np.testing.assert_array_equal(warned(write(tmp_path / "s.zarr", tree), "/ocean")[0]["temp"].x, LON)


def test_all_that_was_tried_is_named_the_group_s_path_first(tmp_path):
    tree = {**pointing(external("../lon")), "/ocean/lon": Leaf(np.zeros((2, 2)), ("a", "b"))}
    _, found = warned(write(tmp_path / "s.zarr", tree), "/ocean")
    text = str(next(each for each in found if each.error))
    assert text.startswith(f"XGroupReferenceError: /ocean/temp: {PLACE}: '../lon': tried /lon: not found")
    assert "tried /ocean/lon: has 2 dimensions, shape [2, 2]: a 1-D array required" in text


# ---- spellings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"external": {"ref": {"node": "/lon"}}},
        {"external": {"node": "/lon"}},
        {"ref": {"external": {"node": "/lon"}}},
        {"ref": {"node": "/lon"}},
        {"node": "/lon"},
        {"external": {"ref": {"node": "/lon", "uri": None, "attribute": None}}},
    ],
)
def test_every_spelling_of_an_external_reference_is_read(tmp_path, values):
    store = write(tmp_path / "s.zarr", {**pointing(values), "/lon": lon()})
    np.testing.assert_array_equal(opened(store, "/ocean").x, LON)


@pytest.mark.parametrize("wrap", [lambda found: {"ref": found}, lambda found: found])
@pytest.mark.parametrize("form", FORMS)
def test_a_system_of_a_library_is_found_by_its_pointer(tmp_path, wrap, form):
    attrs = {
        **declare("cs"),
        "cs": {"crs": [wrap({"node": "/coords", "attribute": "/attributes/crs/WGS84"})]},
    }
    library = {
        **declare("cs"),
        "crs": {"other": {}, "WGS84": {"type": "planar", "axes": {"x": axis({"regular": [5, 1]})}}},
    }
    store = write(tmp_path / "s.zarr", {"/coords": library, "/a/b": Leaf(np.zeros(2), ("x",), attrs)}, form)
    found = opened(store, "/a")
    np.testing.assert_array_equal(found.x, [5, 6])
    assert found.x.attrs == {"crs_type": "planar"}


def test_the_whole_document_of_a_node_can_be_pointed_into(tmp_path):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/coords/x", attribute="/attributes/a~1b~0c/1")]}}
    library = {"a/b~c": [None, {"axes": {"x": axis({"explicit": [3, 4]})}}]}
    tree = {"/coords/x": Leaf(np.zeros(1), ("n",), library), "/a/b": Leaf(np.zeros(2), ("x",), attrs)}
    for form in ("v3", "v2"):
        np.testing.assert_array_equal(opened(write(tmp_path / form, tree, form), "/a").x, [3, 4])


@pytest.mark.parametrize(("form", "rank"), [("v3", 1), ("v2", 1)])
def test_members_of_the_document_beside_its_attributes_are_seen(tmp_path, form, rank):
    tree = {
        "/a/b": Leaf(
            np.zeros(2), ("x",), {**declare("cs"), "cs": {"crs": [ref("/c", attribute="/shape/0")]}}
        ),
        "/c": Leaf(np.zeros((7, 8)), ("m", "n")),
    }
    _, (warning,) = warned(write(tmp_path / "s.zarr", tree, form), "/a")
    assert "tried /c: not a CRS object" in str(warning)  # the value is there, it is only no system


def test_a_reference_in_a_fragment_counts_from_the_node_that_holds_it(tmp_path):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/coords", attribute="/attributes/crs/a")]}}
    library = {"crs": {"a": {"axes": {"x": axis(external("lon"))}}}}
    tree = {"/coords": library, "/coords/lon": lon(), "/ocean/temp": Leaf(np.zeros(3), ("x",), attrs)}
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/ocean").x, LON)


def test_a_reference_in_a_fragment_counts_next_from_the_group_of_the_array(tmp_path):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/coords/holder", attribute="/attributes/crs/a")]}}
    library = {"crs": {"a": {"axes": {"x": axis(external("lon"))}}}}
    tree = {
        "/coords/holder": Leaf(np.zeros(1), ("n",), library),
        "/ocean/deep/lon": lon(),
        "/ocean/deep/temp": Leaf(np.zeros(3), ("x",), attrs),
    }
    np.testing.assert_array_equal(warned(write(tmp_path / "s.zarr", tree), "/ocean/deep")[0].x, LON)
    beside = {**tree, "/coords/lon": Leaf(LON * 2, ("x",))}
    np.testing.assert_array_equal(warned(write(tmp_path / "t.zarr", beside), "/ocean/deep")[0].x, LON * 2)


def test_a_value_that_is_a_reference_is_followed(tmp_path):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/lib", attribute="/attributes/first")]}}
    library = {
        "first": ref("/lib", attribute="/attributes/second"),
        "second": {"node": "deep", "attribute": "/attributes/third"},
    }
    deep = {"third": {"axes": {"x": axis({"explicit": [1, 2, 3]})}}}
    tree = {"/lib": library, "/lib/deep": deep, "/ocean/temp": Leaf(np.zeros(3), ("x",), attrs)}
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/ocean").x, [1, 2, 3])


def test_an_array_can_be_named_by_way_of_an_attribute(tmp_path):
    tree = {
        **pointing(external("/lib", attribute="/attributes/lon")),
        "/lib": {"lon": ref("../coords/lon")},
        "/coords/lon": lon(),
    }
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/ocean").x, LON)


def test_references_that_go_round_in_a_circle_are_told(tmp_path):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/lib", attribute="/attributes/a")]}}
    library = {"a": ref("/lib", attribute="/attributes/b"), "b": ref("/lib", attribute="/attributes/a")}
    tree = {"/lib": library, "/ocean/temp": Leaf(np.zeros(3), ("x",), attrs)}
    found, (warning,) = warned(write(tmp_path / "s.zarr", tree), "/ocean")
    assert isinstance(warning.error, XGroupReferenceError)
    assert "circle" in str(warning)
    assert list(found.coords) == []


@pytest.mark.parametrize(("hops", "is_found"), [(15, True), (16, False), (40, False)])
def test_sixteen_references_may_follow_one_another(tmp_path, hops, is_found):
    attrs = {**declare("cs"), "cs": {"crs": [ref("/lib", attribute="/attributes/0")]}}
    library = {str(k): ref("/lib", attribute=f"/attributes/{k + 1}") for k in range(hops)}
    library[str(hops)] = {"axes": {"x": axis({"explicit": [1, 2, 3]})}}
    tree = {"/lib": library, "/ocean/temp": Leaf(np.zeros(3), ("x",), attrs)}
    found, told = warned(write(tmp_path / "s.zarr", tree), "/ocean")
    assert ("x" in found.coords) == is_found
    assert is_found or "more than 16 references" in str(told[0])


# ---- other stores ------------------------------------------------------------------------------


def other_store(tmp_path, form="v3"):
    return write(tmp_path / "other.zarr", {"/lat": lon(units="m"), "/deep/lat": lon()}, form)


@pytest.mark.parametrize("node", ["/lat", "lat", "/deep/lat", "deep/../lat"])
@pytest.mark.parametrize(
    "uri",
    ["{folder}/other.zarr", "file://{folder}/other.zarr", "../other.zarr", "other.zarr", "./other.zarr"],
)
def test_a_node_of_another_store_is_found(tmp_path, node, uri):
    other_store(tmp_path)
    values = external(node, uri=uri.format(folder=tmp_path))
    store = write(tmp_path / "s.zarr", pointing(values, "/a/b/temp"))
    np.testing.assert_array_equal(opened(store, "/a/b").x, LON)


@pytest.mark.parametrize("form", FORMS)
def test_a_store_of_every_form_may_be_named_and_may_name(tmp_path, form):
    other_store(tmp_path, form.replace(" references", ""))
    store = write(tmp_path / "s.zarr", pointing(external("/lat", uri=str(tmp_path / "other.zarr"))), form)
    np.testing.assert_array_equal(opened(store, "/ocean").x, LON)


def test_a_reference_set_may_be_named(tmp_path):
    import json

    from geozarr import references

    other_store(tmp_path)
    (tmp_path / "refs.json").write_text(json.dumps(references(tmp_path / "other.zarr")))
    for values in (external("/lat", uri="refs.json"), external(f"file://{tmp_path}/refs.json/deep/lat")):
        store = write(tmp_path / "s.zarr", pointing(values))
        np.testing.assert_array_equal(opened(store, "/ocean").x, LON)


@pytest.mark.parametrize("path", ["other.zarr/lat", "other.zarr/deep/lat", "other.zarr/deep/../lat"])
def test_a_node_may_be_an_address_by_itself(tmp_path, path):
    other_store(tmp_path)
    store = write(tmp_path / "s.zarr", pointing(external(f"file://{tmp_path}/{path}")))
    np.testing.assert_array_equal(opened(store, "/ocean").x, LON)


def test_a_system_of_another_store_counts_its_references_from_there(tmp_path):
    library = {"crs": {"a": {"axes": {"x": axis(external("../lat"))}}}}
    write(tmp_path / "other.zarr", {"/lib": library, "/lat": lon()})
    attrs = {**declare("cs"), "cs": {"crs": [ref("/lib", uri="other.zarr", attribute="/attributes/crs/a")]}}
    tree = {"/ocean/temp": Leaf(np.zeros(3), ("x",), attrs), "/lat": Leaf(LON * 2, ("x",))}
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/ocean").x, LON)


def test_a_relative_uri_needs_a_store_in_a_folder(tmp_path):
    other_store(tmp_path)
    document = write(tmp_path / "s.zarr", pointing(external("/lat", uri="../other.zarr")), "v3 references")
    _, (warning,) = warned(document, "/ocean")
    assert isinstance(warning.error, XGroupPathError)
    assert str(warning).startswith(f"XGroupPathError: /ocean/temp: {PLACE}: '/lat' of store '../other.zarr'")
    assert "local directory" in str(warning)


def test_a_store_is_opened_once_in_a_call(tmp_path, monkeypatch):
    import zaro.xgroup as door

    asked = []
    monkeypatch.setattr(
        door,
        "open_node",
        lambda target, *args, _open=door.open_node, **options: (
            asked.append(str(target)),
            _open(target, *args, **options),
        )[1],
    )
    other_store(tmp_path)
    tree = {}
    for k in range(4):
        tree |= pointing(external("/lat", uri="other.zarr"), f"/ocean/temp{k}")
        tree |= pointing(external("/lat", uri="nowhere.zarr"), f"/ice/temp{k}")
    import xarray as xr

    store = write(tmp_path / "s.zarr", tree)
    with pytest.warns(match=r"nowhere\.zarr cannot be opened"):
        xr.open_groups(store, engine="xgroup")
    assert sorted(asked) == sorted([store, str(tmp_path / "other.zarr"), str(tmp_path / "nowhere.zarr")])


def test_the_longest_prefix_chooses_the_options_of_another_store(tmp_path, monkeypatch):
    import zaro.xgroup as door

    given = {}

    def open_node(target, *args, _open=door.open_node, **options):
        given[str(target)] = options.pop("storage_options", None)
        return _open(target, *args, **options)

    monkeypatch.setattr(door, "open_node", open_node)
    other_store(tmp_path)
    store = write(tmp_path / "s.zarr", pointing(external("/lat", uri="other.zarr")))
    prefixes = {str(tmp_path): {"a": 1}, str(tmp_path / "other"): {"b": 2}, "https://": {"c": 3}}
    opened(store, "/ocean", cross_store_storage_options=prefixes)
    assert given[str(tmp_path / "other.zarr")] == {"b": 2}
    opened(store, "/ocean", cross_store_storage_options={"file:///": {"f": 6}})
    assert given[str(tmp_path / "other.zarr")] == {"f": 6}
    opened(store, "/ocean", cross_store_storage_options={"s3://": {"d": 4}}, storage_options={"e": 5})
    assert given == {store: {"e": 5}, str(tmp_path / "other.zarr"): None}


def test_a_store_in_memory_is_reached_by_fsspec(tmp_path):
    import fsspec

    other_store(tmp_path)
    memory = fsspec.filesystem("memory")
    try:
        for file in sorted((tmp_path / "other.zarr").rglob("*")):
            if file.is_file():
                memory.pipe(
                    f"/xgroup/other.zarr/{file.relative_to(tmp_path / 'other.zarr')}", file.read_bytes()
                )
        for values in (
            external("/lat", uri="memory://xgroup/other.zarr"),
            external("memory://xgroup/other.zarr/lat"),
        ):
            store = write(tmp_path / "s.zarr", pointing(values))
            np.testing.assert_array_equal(opened(store, "/ocean").x, LON)
    finally:
        memory.rm("/xgroup", recursive=True)


def test_references_reach_no_place_that_is_not_allowed(tmp_path):
    other_store(tmp_path)
    store = write(tmp_path / "s.zarr", pointing(external("/lat", uri="other.zarr")))
    np.testing.assert_array_equal(opened(store, "/ocean", allow_targets=[str(tmp_path)]).x, LON)
    _, (warning,) = warned(store, "/ocean", allow_targets=["https://example.org/"])
    assert isinstance(warning.error, XGroupStoreError)
    assert "allow_targets" in str(warning)


# ---- wrong references --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "kind", "words"),
    [
        ({}, XGroupPathError, "'node' missing"),
        ({"array": "/lon"}, XGroupPathError, "'node' missing"),
        ({"group": "/", "name": "lon"}, XGroupPathError, "'node' missing"),
        ("lon", XGroupPathError, "a reference is an object with 'node', not 'lon'"),
        (["/lon"], XGroupPathError, "a reference is an object with 'node', not a list of 1"),
        (None, XGroupPathError, "a reference is an object with 'node', not null"),
        ({"node": ""}, XGroupPathError, "'node' is '', expected text"),
        ({"node": 3}, XGroupPathError, "'node' is 3, expected text"),
        ({"node": None}, XGroupPathError, "'node' is null, expected text"),
        ({"node": "/l\0n"}, XGroupPathError, "'node' is '/l\\x00n', expected text"),
        ({"node": "/lon", "uri": 1}, XGroupPathError, "'uri' is 1, expected text"),
        ({"node": "/lon", "uri": ""}, XGroupPathError, "'uri' is '', expected text"),
        ({"node": "/grp", "attribute": 1}, XGroupPathError, "'attribute' is 1"),
        ({"node": "/grp", "attribute": "attributes/x"}, XGroupPathError, "must start with '/'"),
        ({"node": "/grp", "attribute": "/attributes/~x"}, XGroupPathError, "neither '~0' nor '~1'"),
        ({"node": "/grp", "attribute": "/attributes/x"}, XGroupPathError, "no member 'x'"),
        ({"node": "/grp", "attribute": "/attributes/y/7"}, XGroupPathError, "no item '7'"),
        (
            {"node": "/grp", "attribute": "/attributes/y"},
            XGroupReferenceError,
            "a 1-D array required, not a list of 1",
        ),
        ({"node": "../nowhere"}, XGroupReferenceError, "'../nowhere': tried /nowhere: not found"),
        ({"node": "/grp"}, XGroupReferenceError, "tried /grp: is a group: a 1-D array required"),
        ({"node": "/flat"}, XGroupReferenceError, "tried /flat: has 2 dimensions"),
        ({"node": "/short"}, XGroupReferenceError, "axis 'x' needs 3 values, found 2"),
        ({"node": "/scalar"}, XGroupReferenceError, "has 0 dimensions"),
        ({"node": "/" + "long" * 200}, XGroupReferenceError, "tried /long"),
        ({"node": "/\ud800"}, XGroupReferenceError, "tried"),
        ({"node": "/broken"}, XGroupReferenceError, "tried /broken: broken/zarr.json"),
        ({"uri": "../nowhere.zarr", "node": "/a"}, XGroupStoreError, "nowhere.zarr cannot be opened"),
        ({"uri": "nosuch://x/y.zarr", "node": "/a"}, XGroupStoreError, "nosuch://x/y.zarr cannot be opened"),
        ({"uri": "notes.txt", "node": "/a"}, XGroupStoreError, "notes.txt cannot be opened"),
        ({"node": "nosuch://x/y.zarr/a"}, XGroupStoreError, "nosuch://x/y.zarr cannot be opened"),
    ],
)
def test_a_wrong_reference_costs_its_coordinate_and_says_why(tmp_path, reference, kind, words):
    (tmp_path / "notes.txt").write_text("no store")
    attrs = cs({"x": axis({"external": {"ref": reference}}), "y": axis({"explicit": [1, 2]})})
    tree = {
        "/ocean/temp": Leaf(np.zeros((2, 3)), ("y", "x"), attrs),
        "/ocean/other": Leaf(np.zeros(2), ("y",), cs({"y": axis({"explicit": [1, 2]})})),
        "/grp": {"y": [1]},
        "/flat": Leaf(np.zeros((2, 2)), ("a", "b")),
        "/short": Leaf(np.zeros(2), ("x",)),
        "/scalar": Leaf(np.float64(1), ()),
        "/broken": {},
    }
    store = write(tmp_path / "s.zarr", tree)
    (tmp_path / "s.zarr" / "broken" / "zarr.json").write_text("{")
    found, (warning,) = warned(store, "/ocean")
    assert type(warning.error) is kind
    assert str(warning).startswith(
        f"{kind.__name__}: /ocean/temp: cs/crs/0/axes/x/coordinates/0/values/external"
    )
    assert words in str(warning)
    assert set(found.coords) == {"y"}
    assert set(found.data_vars) == {"temp", "other"}
    found.load()


def test_a_host_that_is_not_there_costs_a_coordinate(tmp_path):
    store = write(tmp_path / "s.zarr", pointing(external("/a", uri="https://no.invalid/x.zarr")))
    _, (warning,) = warned(store, "/ocean", timeout=2)
    assert isinstance(warning.error, XGroupStoreError)
    assert "https://no.invalid/x.zarr cannot be opened" in str(warning)
