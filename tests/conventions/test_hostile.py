"""Whatever stands in the attributes, the arrays open: conventions are safely ignorable."""

from __future__ import annotations

import copy
import json
import warnings

import numpy as np
import pytest
from geozarr import Counting, Leaf, axis, cs, declare, external, opened, ref, spatial, warned, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zaro.conventions import ref as convention
from zaro.errors import XGroupNoPrincipalWarning, XGroupReferenceError

words = st.sampled_from([
    "", "x", "y", "..", "/", "/c/x", "/c", "../nowhere", "external", "regular", "days since 2000-01-01",
    "day",
    "affine", "360_day", "/attributes/crs/a", "file:///nowhere.zarr", "\0", "\ud800", "2000-01-01", "node",
])  # fmt: skip
numbers = st.integers(-3, 5) | st.sampled_from([2**70, 1e308, float("nan"), float("inf"), 0.5, -0.0])
junk = st.recursive(
    st.none() | st.booleans() | numbers | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)

AXES = {
    "y": axis({"regular": [0, 1]}, boundaries={"regular": [0, 1]}, unit={"ucum": {"unit": "m"}}),
    "x": {
        "abbreviation": "X",
        "attributes": {"note": 1},
        "coordinates": [
            {
                "values": external("/c/x"),
                "time": {"unit": "day", "epoch": "2000-01-01", "calendar": "noleap"},
                "boundaries": external("/c/b"),
                "parametric": {
                    "formula": "f",
                    "terms": {"h": external("/c/x"), "k": {"explicit": [1, 2, 3]}},
                },
            },
            {"name": "second", "values": {"explicit": ["a", "b", "c"]}},
        ],
    },
}
PAIR = {"geodetic": {"x": ref("/c/lon"), "y": ref("/c/lon"), "crs": {"proj:code": "EPSG:4326"}}}
INLINE = {**cs(AXES, type="planar", geolocation=PAIR), "geolocation": PAIR}
LIBRARY = {**declare("cs"), "cs": {"crs": [ref("/c", attribute="/attributes/crs/a")]}}
GRID = {**spatial([1, 0, 0, 0, -1, 0], shape=[2, 3], registration="node"), "geolocation": PAIR}
SHARED = {"crs": {"a": {"axes": AXES, "geolocation": PAIR}}}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The files of a store in memory; the attributes of `g/a` are to be replaced."""
    folder = tmp_path_factory.mktemp("store") / "s.zarr"
    tree = {
        "/g/a": Leaf(np.ones((2, 3)), ("y", "x")),
        "/c": SHARED,
        "/c/x": Leaf(np.arange(3), ("n",)),
        "/c/b": Leaf(np.zeros((2, 3)), ("nv", "n")),
        "/c/lon": Leaf(np.zeros((2, 3)), ("y", "x")),
    }
    write(folder, tree)
    return dict(Counting(folder))


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, member in members:
        yield from places(member, (*path, key))


def replaced(value, path, new):
    """A copy with another value at one place."""
    if not path:
        return new
    found = copy.deepcopy(value)
    here = found
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = new
    return found


@pytest.mark.parametrize("attrs", [INLINE, LIBRARY, GRID, SHARED], ids=["cs", "library", "spatial", "group"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_value_anywhere_leaves_the_array_readable(store, attrs, data):
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from([each for each in places(attrs) if each]))
        attrs = replaced(attrs, path, data.draw(junk))
    key, others = ("c/zarr.json", LIBRARY) if "crs" in attrs or attrs == {} else ("g/a/zarr.json", None)
    documents = {**store, key: changed(store[key], attrs)}
    if others:
        documents["g/a/zarr.json"] = changed(store["g/a/zarr.json"], others)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", XGroupNoPrincipalWarning)
        found = opened(documents, "/g")
        np.testing.assert_array_equal(found.a, np.ones((2, 3)))
        for name in found.coords:
            assert found[name].shape == found[name].values.shape


def changed(document, attrs):
    return json.dumps({**json.loads(document), "attributes": attrs}).encode()


def test_references_that_fork_again_and_again_are_followed_once_each(store, monkeypatch):
    """Each may mean a node beside its holder or beside the array: 2^15 ways, all in vain."""
    steps = 15
    attrs = {f"r{k}": {"node": "a", "attribute": f"/attributes/r{k + 1}"} for k in range(steps)}
    group = json.dumps(
        {"zarr_format": 3, "node_type": "group", "attributes": {**attrs, f"r{steps}": ref("no")}}
    )
    documents = {f"{'a/' * k}zarr.json": group.encode() for k in range(steps + 3)}
    attrs = {**declare("cs"), "cs": {"crs": [ref("a", attribute="/attributes/r0")]}}
    followed, pointed = [], convention._pointed
    monkeypatch.setattr(convention, "_pointed", lambda *step: followed.append(step) or pointed(*step))
    found, (warning,) = warned({**documents, "v/zarr.json": changed(store["c/x/zarr.json"], attrs)})
    assert "v" in found
    assert isinstance(warning.error, XGroupReferenceError)
    assert len(followed) < 2 * steps**2
