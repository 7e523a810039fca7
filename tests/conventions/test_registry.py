"""Handlers of other packages, found by their entry points as pip writes them."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import warnings
import zipfile

import numpy as np
import pytest
import xarray as xr
from geozarr import Leaf, cs, declare, opened, spatial, warned, write

from zaro.conventions import ConventionHandler
from zaro.conventions.registry import handlers

ZERO = np.zeros(3)

HANDLERS = '''
    import numpy as np
    import xarray as xr
    from zaro.conventions import ConventionHandler, declares
    from zaro.errors import XGroupReferenceError

    UUID = "11111111-2222-3333-4444-555555555555"

    class Ruler(ConventionHandler):
        """Counts along every dimension by tens; beside it whatever `beside` names."""

        tier, name, uuid = "principal", "ruler", UUID

        @staticmethod
        def detect(root, group, array):
            return declares(array.attrs, "ruler", UUID, ("me/ruler",))

        def get_variables(self, array, group, root):
            assert root.path == "" and array.path == f"{group.path}/{array.path.rpartition('/')[2]}"
            if "fail" in array.attrs:
                gone = XGroupReferenceError("/" + array.path, "ruler", "gone")
                raise {"key": KeyError("oops"), "ref": gone}[array.attrs["fail"]]
            if "wrong" in array.attrs:
                return {"x": [1, 2, 3]}
            found = {
                dim: xr.Variable((dim,), np.arange(size) * 10)
                for dim, size in zip(array.dims, array.shape)
            }
            for path in array.attrs.get("beside", ()):
                node = group[path] if path in group else root[path]
                found[node.path.rpartition("/")[2]] = node.variable()
            return found

    class Stamp:
        """A service, and no subclass."""

        tier, name, uuid = "service", "stamp", None

        @staticmethod
        def detect(root, group, array):
            if array.attrs.get("stamp") == "explode":
                raise RuntimeError("boom")
            return "stamp" in array.attrs

        def get_variables(self, array, group, root):
            return {"stamp": xr.Variable((), array.attrs["stamp"])}

    class NoHandler:
        pass
'''


ENTRY_POINTS = """
    [zaro.conventions]
    ruler = rulers:Ruler
    nothing = rulers:NoHandler
    gone = rulers.nowhere:Handler

    [zarr_xgroup.conventions]
    stamp = rulers:Stamp
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory):
    """A package with handlers, installed by pip into a folder of its own."""
    wheel = tmp_path_factory.mktemp("wheel") / "rulers-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("rulers.py", textwrap.dedent(HANDLERS))
        archive.writestr("rulers-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: rulers\nVersion: 1\n")
        archive.writestr(
            "rulers-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("rulers-1.dist-info/entry_points.txt", textwrap.dedent(ENTRY_POINTS))
        archive.writestr("rulers-1.dist-info/RECORD", "")
    folder = tmp_path_factory.mktemp("site")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(folder),
    ]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    return folder


@pytest.fixture
def rulers(package, monkeypatch):
    monkeypatch.syspath_prepend(package)
    importlib.invalidate_caches()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        handlers()  # the two that cannot be loaded are told of once, see below
    yield
    sys.modules.pop("rulers", None)


def declared(**attrs):
    return {"zarr_conventions": [{"uuid": "11111111-2222-3333-4444-555555555555", "name": "ruler"}], **attrs}


def test_without_other_packages_there_are_zaro_s_own():
    assert [each.name for each in handlers()][:6] == ["cs", "spatial", "ref", "proj", "uom", "geolocation"]
    assert [each.tier for each in handlers()][:6] == ["principal", "principal", *["service"] * 4]
    assert all(each.uuid for each in handlers())


def test_handlers_of_an_installed_package_are_found(rulers):
    assert [each.name for each in handlers()][6:] == ["ruler", "stamp"]
    assert isinstance(handlers()[6], ConventionHandler)


def test_entry_points_that_cannot_be_used_are_told(package, monkeypatch):
    monkeypatch.syspath_prepend(package)
    monkeypatch.syspath_prepend(str(package / "makes-the-path-another"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        handlers()
    told = sorted(str(each.message) for each in caught)
    assert len(told) == 2
    assert told[0].startswith(
        "XGroupError: entry point 'gone' of zaro.conventions: cannot be used: ModuleNotFound"
    )
    assert "entry point 'nothing' of zaro.conventions: cannot be used: TypeError" in told[1]
    assert "is no ConventionHandler: it has no tier, name, detect, get_variables" in told[1]
    sys.modules.pop("rulers", None)


@pytest.mark.parametrize("form", ["v3", "v2 references"])
def test_a_principal_convention_of_another_package_gives_coordinates(tmp_path, rulers, form):
    tree = {
        "/g/a": Leaf(ZERO, ("x",), declared(beside=["/c/lat", "../c/lon"])),
        "/c/lat": Leaf(np.arange(3.0), ("x",), {"units": "degrees_north"}),
        "/c/lon": Leaf(np.arange(4.0), ("n",)),
    }
    found = opened(write(tmp_path / "s.zarr", tree, form), "/g")
    np.testing.assert_array_equal(found.x, [0, 10, 20])
    assert set(found.coords) == {"x", "lat", "lon"}
    assert found.lat.attrs == {"units": "degrees_north"}


def test_a_service_is_asked_beside_a_principal_convention_only(tmp_path, rulers):
    tree = {"/g/a": Leaf(ZERO, ("x",), declared(stamp="s")), "/h/a": Leaf(ZERO, ("x",), {"stamp": "s"})}
    store = write(tmp_path / "s.zarr", tree)
    assert opened(store, "/g").stamp.item() == "s"
    found, (warning,) = warned(store, "/h")
    assert warning.error is None
    assert not found.coords


def test_arrays_that_are_alike_are_all_asked(tmp_path, rulers):
    tree = {f"/g/{name}": Leaf(ZERO, ("x",), declared()) for name in "ab"}
    assert set(opened(write(tmp_path / "s.zarr", tree), "/g").coords) == {"x"}


@pytest.mark.parametrize(
    ("attrs", "words"),
    [
        ({"fail": "key"}, "XGroupError: /g/a: convention 'ruler': failed: KeyError: 'oops'"),
        ({"fail": "ref"}, "XGroupReferenceError: /g/a: ruler: gone"),
        ({"wrong": 1}, "XGroupError: /g/a: convention 'ruler': failed: TypeError: 'x' is no xarray.Variable"),
        ({"stamp": "explode"}, "XGroupError: /g/a: convention 'stamp': failed to detect: RuntimeError: boom"),
        ({"beside": ["/nowhere"]}, "XGroupError: /g/a: convention 'ruler': failed: KeyError: '/nowhere'"),
    ],
)
def test_a_handler_that_fails_costs_its_coordinates_and_is_named(tmp_path, rulers, attrs, words):
    found, (warning,) = warned(
        write(tmp_path / "s.zarr", {"/g/a": Leaf(ZERO, ("x",), declared(**attrs))}), "/g"
    )
    assert str(warning) == words
    assert "a" in found.data_vars


def test_two_principal_conventions_are_told_and_zaro_s_own_is_used(tmp_path, rulers):
    attrs = {**cs({"x": {}}), **declare("cs")}
    attrs["zarr_conventions"] = attrs["zarr_conventions"] + declared()["zarr_conventions"]
    found, (warning,) = warned(write(tmp_path / "s.zarr", {"/g/a": Leaf(ZERO, ("x",), attrs)}), "/g")
    assert "declares 2 principal conventions, 'cs' and 'ruler'; 'cs' is used" in str(warning)
    np.testing.assert_array_equal(found.x, [0, 1, 2])


def test_what_is_inherited_yields_to_a_convention_of_another_package(tmp_path, rulers):
    tree = {"/g": spatial([1, 0, 0, 0, 1, 0]), "/g/a": Leaf(np.zeros((2, 2)), ("y", "x"), declared())}
    np.testing.assert_array_equal(opened(write(tmp_path / "s.zarr", tree), "/g").x, [0, 10])


def test_the_packages_of_the_machine_are_looked_through_once(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: asked.append(group) or [])
    store = write(
        tmp_path / "s.zarr",
        {"/g/a": Leaf(ZERO, ("x",), cs({"x": {}})), "/h/a": Leaf(ZERO, ("x",), cs({"x": {}}))},
    )
    xr.open_groups(store, engine="xgroup")
    opened(store, "/g")
    assert asked == ["zaro.conventions", "zarr_xgroup.conventions"]
