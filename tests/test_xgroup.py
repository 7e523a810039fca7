"""The engine `xgroup` as xarray's users meet it: five stores, every way in, and nothing read but metadata."""

from __future__ import annotations

import json
import pickle
import threading
import warnings
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import xarray as xr
from geozarr import (
    FORMS,
    NO_PRINCIPAL,
    Counting,
    Leaf,
    axis,
    cs,
    declare,
    external,
    inline,
    opened,
    ref,
    references,
    spatial,
    warned,
    write,
)

import zaro
from zaro.errors import (
    XGroupError,
    XGroupNoPrincipalWarning,
    XGroupPathError,
    XGroupReferenceError,
    XGroupStoreError,
)
from zaro.xgroup import ResolvedZarrStore, XGroupBackendEntrypoint

TEMP = np.arange(24.0).reshape(2, 3, 4)
TIME = {"unit": "day", "epoch": "2000-01-01"}


def roms():
    """Plain CF attributes in a hierarchy."""
    return {
        "/": {"title": "roms"},
        "/grid/lon_rho": Leaf(TEMP[0], ("eta", "xi"), {"units": "degrees_east"}),
        "/grid/lat_rho": Leaf(TEMP[0], ("eta", "xi"), {"units": "degrees_north"}),
        "/ocean": {"model": "m"},
        "/ocean/temp": Leaf(
            TEMP, ("time", "eta", "xi"), {"coordinates": "../grid/lon_rho ../grid/lat_rho", "units": "C"}
        ),
        "/ocean/time": Leaf(np.arange(2), ("time",), {"units": "days since 2000-01-01"}),
        "/ocean/deep/salt": Leaf(TEMP[0], ("eta", "xi")),
    }


def cross_groups():
    """Every way in which `cs` refers to other groups."""
    library = {
        "crs": {
            "horizontal": {
                "type": "planar",
                "axes": {
                    "lat": axis({"regular": [40, 0.5]}, unit="degrees"),
                    "lon": axis(external("lon"), unit="degrees"),
                },
            }
        }
    }
    temporal = {"type": "temporal", "axes": {"time": axis(external("../coords/time"), time=TIME)}}
    vertical = {"axes": {"height": axis({"explicit": [2]}, unit="m")}}
    attrs = {
        **declare("cs", "ref"),
        "cs": {"crs": [ref("/coords", attribute="/attributes/crs/horizontal"), temporal, vertical]},
    }
    return {
        "/coords": library,
        "/coords/lon": Leaf(np.array([0, 10, 20, 30], "i2"), ("x",), {"scale_factor": 0.5}),
        "/coords/time": Leaf(np.arange(2), ("t",)),
        "/a/t2m": Leaf(TEMP, ("time", "lat", "lon"), attrs),
        "/a/d2m": Leaf(TEMP, ("time", "lat", "lon"), attrs),
        "/b/deep": {},
        "/b/pr": Leaf(TEMP, ("time", "lat", "lon"), attrs),
    }


def broken():
    """References that lead nowhere, in an array each."""
    wrong = {
        "absent": external("../nowhere"),
        "malformed": {"external": {"ref": {}}},
        "unreachable": external("/a", uri="nowhere.zarr"),
    }
    tree = {
        f"/g/{name}": Leaf(np.zeros(3), (f"{name}_dim",), cs({f"{name}_dim": axis(values)}))
        for name, values in wrong.items()
    }
    return {**tree, "/g/good": Leaf(np.zeros(4), ("x",), cs({"x": axis({"regular": [0, 1]})}))}


@pytest.fixture(params=FORMS)
def store(request, tmp_path):
    return write(tmp_path / "s.zarr", cross_groups(), request.param)


# ---- a group, a tree, groups -------------------------------------------------------------------


def test_a_group_has_coordinates_of_other_groups(store):
    found = opened(store, "/a")
    assert set(found.data_vars) == {"t2m", "d2m"}
    assert set(found.coords) == {"time", "lat", "lon", "height"}
    assert set(found.t2m.coords) == {"time", "lat", "lon", "height"}
    np.testing.assert_array_equal(found.lon, [0, 5, 10, 15])
    np.testing.assert_array_equal(found.time, np.array(["2000-01-01", "2000-01-02"], "M8[ns]"))
    np.testing.assert_array_equal(found.t2m, TEMP)
    assert found.t2m.sel(lon=5, lat=40.5, time="2000-01-02").item() == TEMP[1, 1, 1]


@pytest.mark.parametrize("group", ["a", "/a", "/a/", "a/"])
def test_a_group_is_named_with_or_without_slashes(tmp_path, group):
    assert "lon" in opened(write(tmp_path / "s.zarr", cross_groups()), group).coords


@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_a_tree_has_them_in_the_node_that_names_them(store):
    tree = xr.open_datatree(store, engine="xgroup")
    assert set(tree.groups) == {"/", "/coords", "/a", "/b", "/b/deep"}
    assert set(tree["/a"].to_dataset(inherit=False).coords) == {"time", "lat", "lon", "height"}
    assert set(tree["/b"].to_dataset(inherit=False).coords) == {"time", "lat", "lon", "height"}
    assert set(tree["/coords"].data_vars) == {"lon", "time"}
    np.testing.assert_array_equal(tree["/b/pr"], TEMP)


@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_groups_can_be_had_one_by_one(store):
    groups = xr.open_groups(store, engine="xgroup")
    assert set(groups) == {"/", "/coords", "/a", "/b", "/b/deep"}
    xr.testing.assert_identical(groups["/a"], opened(store, "/a"))


def test_a_tree_may_begin_below_the_root(store):
    tree = xr.open_datatree(store, engine="xgroup", group="/b")
    assert set(tree.groups) == {"/", "/deep"}
    np.testing.assert_array_equal(tree.lon, [0, 5, 10, 15])


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_plain_cf_attributes_open_as_with_the_engine_of_xarray(tmp_path, form):
    store = write(tmp_path / "s.zarr", roms(), form)
    expected = xr.open_datatree(store, engine="zarr", consolidated=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = xr.open_datatree(store, engine="xgroup")
    xr.testing.assert_identical(tree, expected)
    assert {str(each.message).split("'")[1] for each in caught} == {
        "/grid/lat_rho",
        "/grid/lon_rho",
        "/ocean/deep/salt",
        "/ocean/temp",
        "/ocean/time",
    }
    for path in expected.groups:
        for name, variable in expected[path].variables.items():
            assert tree[path].variables[name].encoding == variable.encoding


def test_variables_of_the_group_are_those_of_the_engine_zaro(store):
    found = opened(store, "/a", mask_and_scale=False)
    plain = xr.open_dataset(store, engine="zaro", group="/a", mask_and_scale=False)
    for name in ("t2m", "d2m"):
        assert found[name].attrs == plain[name].attrs
        assert found[name].encoding == plain[name].encoding


# ---- broken references -------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_broken_references_are_told_one_by_one_and_all_arrays_stay(tmp_path, form):
    folder = write(tmp_path / "s.zarr", broken(), form)
    if isinstance(folder, dict):
        (tmp_path / "refs.json").write_text(json.dumps(folder))
        folder = str(tmp_path / "refs.json")
    found, told = warned(folder, "/g")
    assert {each.error.array: type(each.error) for each in told} == {
        "/g/absent": XGroupReferenceError,
        "/g/malformed": XGroupPathError,
        "/g/unreachable": XGroupStoreError,
    }
    for each in told:
        assert str(each) == f"{type(each.error).__name__}: {each.error}"
        assert "values/external/ref" in str(each)
    assert {"absent", "malformed", "unreachable", "good", "x"} == set(found.variables)


def test_the_warning_and_its_error_pickle(tmp_path):
    _, told = warned(write(tmp_path / "s.zarr", broken()), "/g")
    for each in told:
        again = pickle.loads(pickle.dumps(each))
        assert str(again) == str(each)
        assert type(again.error) is type(each.error)
        assert str(again.error) == str(each.error)
        assert (again.error.array, again.error.place) == (each.error.array, each.error.place)


def test_errors_are_also_what_callers_catch_already():
    error = XGroupReferenceError("/a", "cs", "gone")
    assert str(error) == "/a: cs: gone"
    assert isinstance(error, XGroupError | KeyError)
    assert issubclass(XGroupStoreError, OSError)
    assert issubclass(XGroupPathError, ValueError)
    assert issubclass(XGroupError, zaro.ZaroError)
    assert XGroupNoPrincipalWarning("text").error is None


# ---- the main store ----------------------------------------------------------------------------


def test_a_store_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(XGroupStoreError, match=r"nowhere\.zarr: cannot be opened"):
        opened(str(tmp_path / "nowhere.zarr"))
    with pytest.raises(FileNotFoundError):
        opened(tmp_path / "nowhere.zarr")


def test_a_folder_that_is_no_store_is_an_error(tmp_path):
    with pytest.raises(XGroupStoreError, match="cannot be opened"):
        opened(str(tmp_path))
    (tmp_path / "zarr.json").write_text("{")
    with pytest.raises(XGroupStoreError, match=r"zarr\.json"):
        opened(str(tmp_path))
    with pytest.raises(XGroupStoreError, match="cannot be opened"):
        opened({"refs": {"a/0": 5}})


def test_a_group_that_is_not_there_is_an_error(store):
    with pytest.raises(XGroupReferenceError, match="/nowhere: there is no such group"):
        opened(store, "/nowhere")
    with pytest.raises(KeyError):
        xr.open_datatree(store, engine="xgroup", group="a/nowhere")
    with pytest.raises(XGroupReferenceError, match="/a/t2m: is an array"):
        opened(store, "/a/t2m")


def test_an_unknown_option_is_an_error(tmp_path):
    with pytest.raises(TypeError, match="wings"):
        opened(write(tmp_path / "s.zarr", cross_groups()), "/a", wings=2)


def test_a_store_without_a_document_at_its_root_is_opened_at_a_group(tmp_path):
    store = write(tmp_path / "s.zarr", cross_groups(), "v2")
    (tmp_path / "s.zarr" / ".zgroup").unlink()
    np.testing.assert_array_equal(opened(store, "/a").lon, [0, 5, 10, 15])


@pytest.mark.parametrize("form", ["v3", "v2"])
def test_targets_of_every_kind(tmp_path, form):
    folder = tmp_path / "s.zarr"
    store = write(folder, cross_groups(), form)
    expected = opened(store, "/a").load()
    (tmp_path / "refs.json").write_text(json.dumps(references(folder)))
    targets = [
        folder,
        f"file://{folder}",
        Counting(folder),
        references(folder),
        inline(folder),
        tmp_path / "refs.json",
        zaro.References.open(references(folder)),
        dict(Counting(folder)),
    ]
    for target in targets:
        xr.testing.assert_identical(opened(target, "/a").load(), expected)


def test_the_engine_is_for_those_who_ask_for_it(tmp_path):
    entrypoint = XGroupBackendEntrypoint()
    assert not entrypoint.guess_can_open(str(tmp_path / "s.zarr"))
    assert entrypoint.supports_groups
    assert "cross_store_storage_options" in entrypoint.open_dataset_parameters
    assert "xgroup" in xr.backends.list_engines()


def test_arguments_for_other_engines_change_nothing(tmp_path):
    store = write(tmp_path / "s.zarr", cross_groups())
    found = opened(
        store, "/a", consolidated=False, zarr_format=3, cross_store_storage_options=None, storage_options=None
    )
    xr.testing.assert_identical(found, opened(store, "/a"))


# ---- alignment ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        ({"regular": [0, 1]}, {"regular": [0, 2]}),
        ({"explicit": [1, 2, 3]}, external("/c/x")),
        (external("/c/x"), external("/c/other")),
    ],
)
@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_a_tree_that_is_not_aligned_says_what_to_do(tmp_path, parent, child):
    tree = {
        "/p/a": Leaf(np.zeros(3), ("x",), cs({"x": axis(parent)})),
        "/p/q/b": Leaf(np.zeros(3), ("x",), cs({"x": axis(child)})),
        "/c/x": Leaf(np.arange(3), ("n",)),
        "/c/other": Leaf(np.arange(3) * 7, ("n",)),
    }
    store = write(tmp_path / "s.zarr", tree)
    with pytest.raises(ValueError, match=r"(?s)/p/q.*not aligned with its parents.*open_groups"):
        xr.open_datatree(store, engine="xgroup")
    assert set(xr.open_groups(store, engine="xgroup")) == {"/", "/c", "/p", "/p/q"}


@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_sizes_that_are_not_aligned_say_what_to_do(tmp_path):
    tree = {
        "/p/a": Leaf(np.zeros(3), ("x",), cs({"x": {}})),
        "/p/q/b": Leaf(np.zeros(4), ("x",), cs({"x": {}})),
    }
    with pytest.raises(XGroupError, match=r"(?s)/p/q.*not aligned with its parents.*open_groups"):
        xr.open_datatree(write(tmp_path / "s.zarr", tree), engine="xgroup")


def test_a_coordinate_with_the_name_of_a_group_says_what_to_do(tmp_path):
    tree = {"/a": Leaf(np.zeros(3), ("band",), cs({"band": {}})), "/band": {}}
    store = write(tmp_path / "s.zarr", tree)
    with pytest.raises(XGroupError, match=r"(?s)variable named band.*open_groups"):
        xr.open_datatree(store, engine="xgroup")
    assert set(xr.open_groups(store, engine="xgroup")) == {"/", "/band"}


def test_a_tree_that_shares_a_coordinate_is_aligned(tmp_path):
    tree = {
        "/p/a": Leaf(np.zeros(3), ("x",), cs({"x": axis(external("/c", uri="other.zarr"))})),
        "/p/q/b": Leaf(np.zeros(3), ("x",), cs({"x": axis(external("/c", uri="other.zarr"))})),
    }
    write(tmp_path / "other.zarr", {"/c": Leaf(np.arange(3), ("n",))})
    found = xr.open_datatree(write(tmp_path / "s.zarr", tree), engine="xgroup")
    np.testing.assert_array_equal(found["/p/q"].x, [0, 1, 2])


# ---- lazy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["v3", "v2", "v3 consolidated", "v2 consolidated"])
@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_nothing_is_read_but_metadata_and_each_document_once(tmp_path, form):
    write(tmp_path / "s.zarr", computed(), form)
    store = Counting(tmp_path / "s.zarr")
    without = {"create_default_indexes": False, "decode_times": False}
    found = xr.open_groups(store, engine="xgroup", **without)
    assert store.chunks_read() == []
    below = [key for key in store.keys_read if "/" in key]  # the root is looked at twice
    assert len(below) == len(set(below))
    if form.endswith("consolidated"):
        assert len(store.keys_read) == 1
    store.keys_read.clear()
    assert found["/a"].lon.dims == ("lon",)
    assert found["/g"].x_bounds.shape == (4, 2)
    assert store.keys_read == []
    found["/a"].lon.load()
    assert store.chunks_read() == store.keys_read != []


def computed():
    """Coordinates that are computed when looked at, and terms and a geolocation that lie elsewhere."""
    axes = {
        "x": axis(
            external("/coords/lon"),
            boundaries={"regular": [-1, 1]},
            parametric={"formula": "f", "terms": {"h": external("/coords/lon")}},
        ),
        "y": axis({"regular": [0, 1]}),
        "h": axis(external("/coords/one"), time=TIME),
    }
    pair = {"x": ref("/plane/t2m"), "y": ref("/plane/d2m")}
    plane = Leaf(TEMP[0], ("y", "x"), cs({"y": {}, "x": {}}))
    return {
        **cross_groups(),
        "/plane/t2m": plane,
        "/plane/d2m": plane,
        "/coords/one": Leaf(np.array([1]), ("n",)),
        "/g/a": Leaf(np.zeros((3, 4)), ("y", "x"), cs(axes, geolocation={"geodetic": pair})),
        "/g/turned": Leaf(np.zeros((2, 3)), ("j", "i"), spatial([1, 2, 3, 4, 5, 6], ("j", "i"))),
    }


def test_with_indexes_only_coordinates_of_dimensions_are_read(tmp_path):
    write(tmp_path / "s.zarr", cross_groups())
    store = Counting(tmp_path / "s.zarr")
    found = opened(store, "/a")
    assert {key.rpartition("/c/")[0] for key in store.chunks_read()} == {"coords/lon", "coords/time"}
    store.keys_read.clear()
    assert found.t2m[0, 0, 0].item() == 0
    assert {key.rpartition("/c/")[0] for key in store.keys_read} == {"a/t2m"}


def test_a_coordinate_that_groups_share_is_read_once(tmp_path):
    tree = {
        f"/g{k}/a": Leaf(np.zeros(4), ("x",), cs({"x": axis(external("/c/x"), time=TIME)})) for k in range(5)
    }
    write(tmp_path / "s.zarr", {**tree, "/c/x": Leaf(np.arange(4), ("n",), chunks=(2,))})
    store = Counting(tmp_path / "s.zarr")
    with pytest.warns(match="'/c/x' declares no principal"):
        found = xr.open_groups(store, engine="xgroup")
    for k in range(5):
        np.testing.assert_array_equal(
            found[f"/g{k}"].x, np.datetime64("2000-01-01", "ns") + np.arange(4) * np.timedelta64(1, "D")
        )
    assert sorted(store.chunks_read()) == ["c/x/c/0", "c/x/c/1"]


def test_what_one_group_changes_another_does_not_see(tmp_path):
    axes = {"y": {}, "x": axis({"regular": [0, 1]}), "h": axis(external("/c/h"))}
    tree = {f"/g{k}/a": Leaf(np.zeros((2, 4)), ("y", "x"), cs(axes)) for k in range(2)}
    store = write(tmp_path / "s.zarr", {**tree, "/c/h": Leaf(np.array([3.0]), ("n",))})
    with pytest.warns(match="'/c/h' declares no principal"):
        groups = xr.open_groups(store, engine="xgroup")
    groups["/g0"].h.load().values[...] = 9
    groups["/g0"].h.attrs["note"] = 1
    assert groups["/g1"].h.item() == 3
    assert groups["/g1"].h.attrs == {}


# ---- dask, pickles, threads --------------------------------------------------------------------


def test_datasets_pickle_and_are_read_where_they_arrive(tmp_path):
    found = opened(write(tmp_path / "s.zarr", computed()), "/g")
    assert {"x_bounds", "x_pterm_h", "h", "t2m", "d2m", "xc", "yc"} <= set(found.coords)
    again = pickle.loads(pickle.dumps(found))
    xr.testing.assert_identical(again.load(), found.load())


def test_dask_computes_the_same(store):
    dask = pytest.importorskip("dask")
    expected = opened(store, "/a").load()
    found = opened(store, "/a", chunks={})
    assert found.t2m.chunks is not None
    assert dask.base.tokenize(found.t2m) == dask.base.tokenize(opened(store, "/a", chunks={}).t2m)
    with dask.config.set(scheduler="threads"):
        xr.testing.assert_identical(found.compute(), expected)


def test_many_threads_may_open_at_once(tmp_path):
    store = write(tmp_path / "s.zarr", cross_groups())
    expected = opened(store, "/a").load()
    found = [None] * 8

    def work(k):
        found[k] = opened(store, "/a").load()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in found:
        xr.testing.assert_identical(each, expected)


# ---- the store behind the engine ---------------------------------------------------------------


def test_a_resolved_store_needs_no_store_behind_it():
    variables = {"a": xr.Variable(("x",), [1, 2]), "x": xr.Variable(("x",), [3, 4])}
    store = ResolvedZarrStore(variables, {"title": "t", "_NCProperties": "p"})
    assert dict(store.get_variables()) == variables
    assert store.get_attrs() == {"title": "t"}
    assert dict(store.get_dimensions()) == {"x": 2}
    assert xr.open_dataset(store).identical(xr.Dataset(variables, attrs={"title": "t"}).set_coords("x"))


# ---- over HTTP ---------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Serves a folder and keeps the paths that are asked for."""

    daemon_threads = True

    def __init__(self, folder):
        asked = self.asked = []

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args):
                super().__init__(*args, directory=str(folder))

            def do_GET(self):
                asked.append(self.path)
                super().do_GET()

            def list_directory(self, path):
                self.send_error(404)

            def log_message(self, *args):
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def server(tmp_path):
    found = Server(tmp_path)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield found
    found.shutdown()
    thread.join()
    found.server_close()


@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
@pytest.mark.parametrize("form", ["v3 consolidated", "v2 consolidated"])
def test_over_http_there_are_no_more_requests_than_nodes(tmp_path, server, form):
    tree = {
        f"/g{k}/a{i}": Leaf(np.zeros(4), ("x",), cs({"x": axis(external("/c/x"), time=TIME)}))
        for k in range(5)
        for i in range(3)
    }
    write(tmp_path / "s.zarr", {**tree, "/c/x": Leaf(np.arange(4), ("n",))}, form)
    url = f"http://127.0.0.1:{server.server_address[1]}/s.zarr"
    found = xr.open_groups(url, engine="xgroup")
    assert len(found) == 7
    np.testing.assert_array_equal(found["/g4"].x.dt.day, [1, 2, 3, 4])
    assert len(server.asked) <= 7  # the root's documents, and one chunk


@pytest.mark.filterwarnings(f"ignore:.*{NO_PRINCIPAL}")
def test_a_store_on_a_server_may_name_another_one_and_no_file_of_this_machine(tmp_path, server):
    url = f"http://127.0.0.1:{server.server_address[1]}"
    write(tmp_path / "other.zarr", {"/x": Leaf(np.arange(4), ("n",))}, "v3 consolidated")
    for uri, is_found in (
        (f"{url}/other.zarr", True),
        (f"file://{tmp_path}/other.zarr", False),
        ("other.zarr", False),
    ):
        tree = {"/g/a": Leaf(np.zeros(4), ("x",), cs({"x": axis(external("/x", uri=uri))}))}
        write(tmp_path / "s.zarr", tree, "v3 consolidated")
        found, told = warned(f"{url}/s.zarr", "/g")
        assert ("x" in found.coords) == is_found
        assert bool(told) != is_found
