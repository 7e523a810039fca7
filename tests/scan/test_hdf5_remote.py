"""A remote HDF5 file is read in few rounds of requests, whatever its indices look like."""

from __future__ import annotations

import re

import h5py
import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr
from http_server import serving
from hypothesis import given
from hypothesis import strategies as st

import zaro
from zaro.errors import ScanError
from zaro.scan import scan, source
from zaro.scan.hdf5_nodes import NodeFinder, children


@pytest.fixture(scope="module")
def climate(tmp_path_factory):
    return files.climate(tmp_path_factory.mktemp("nc4") / "climate.nc")


@pytest.fixture
def rounds(monkeypatch):
    """How many requests each round has, of files that count as large."""
    found, read_parts = [], source.read_parts

    def counted(spans, timeout, **how):
        found.append(len(spans))
        return read_parts(spans, timeout, **how)

    monkeypatch.setattr(source, "read_parts", counted)
    monkeypatch.setattr(source, "SMALL", 0)
    monkeypatch.setattr(source, "WHOLE", 0)
    monkeypatch.setattr(source, "ENDS", source.BLOCK)
    return found


def test_a_small_file_is_fetched_in_two_requests(climate):
    with serving(climate.parent) as server:
        url = f"{server.url}/climate.nc"
        refs = scan(url, inline_threshold=0)
        requests = len(server.requests)
        assert refs["tas/0.0.0"] == [url, *scan(climate, inline_threshold=0)["tas/0.0.0"][1:]]
        with xr.open_dataset(climate) as expected, xr.open_dataset(refs, engine="zaro") as found:
            xr.testing.assert_identical(found.load(), expected.load())
    assert requests == 2


N = 2000
LAYOUTS = {
    "b-tree": ({"libver": ("earliest", "v108")}, {}, 2),
    "b-tree of compressed chunks": ({"libver": ("earliest", "v108")}, {"compression": "lzf"}, 2),
    "one chunk after the other": ({"libver": "latest"}, {"maxshape": (N, 40, 40)}, 1),
    "extensible array": ({"libver": "latest"}, {"maxshape": (None, 40, 40)}, 2),
    "extensible array of compressed chunks": (
        {"libver": "latest"},
        {"maxshape": (None, 40, 40), "compression": "gzip"},
        3,
    ),
    "new b-tree": ({"libver": "latest"}, {"maxshape": (None, None, 40)}, 3),
    "pages": (
        {"libver": "latest", "fs_strategy": "page", "fs_page_size": 1 << 15},
        {"maxshape": (None, 40, 40)},
        2,
    ),
}


def make(file, layout, names=("v",)):
    """Chunks written in order, so that the nodes of the index come to lie between them."""
    whole, each, most = LAYOUTS[layout]
    with h5py.File(file, "w", **whole) as f:
        for name in names:
            f.create_dataset(name, (N // len(names), 40, 40), "i2", chunks=(1, 40, 40), **each)
        for name in names:
            f[name][:] = np.arange(N // len(names), dtype="i2")[:, None, None] + np.zeros((40, 40), "i2")
    return most


@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_index_costs_a_latency_for_each_of_its_levels(tmp_path, rounds, layout):
    most = make(tmp_path / "f.h5", layout)
    with serving(tmp_path) as server:
        found = scan(f"{server.url}/f.h5", inline_threshold=0)
    expected = scan(tmp_path / "f.h5", inline_threshold=0)
    for column in ("offset", "length"):
        columns = [getattr(refs.locate("v", np.arange(N)), column) for refs in (found, expected)]
        np.testing.assert_array_equal(*columns)
    asked = [n for n in rounds if n]
    assert len(asked) <= most
    assert sum(asked) <= 70


@pytest.mark.parametrize("layout", ["b-tree", "extensible array"])
def test_variables_do_not_wait_for_each_other(tmp_path, rounds, layout):
    names = [f"v{k}" for k in range(20)]
    most = make(tmp_path / "f.h5", layout, names)
    with serving(tmp_path) as server:
        found = scan(f"{server.url}/f.h5", inline_threshold=0)
    assert {key: found[key][1:] for key in found if ".z" not in key} == {
        key: one[1:] for key, one in scan(tmp_path / "f.h5", inline_threshold=0).items() if ".z" not in key
    }
    assert len([n for n in rounds if n]) <= most + 2


def test_small_chunks_that_are_held_in_the_set_come_together(tmp_path, rounds):
    with netCDF4.Dataset(tmp_path / "f.nc", "w") as ds:
        ds.createDimension("time", 40)
        ds.createDimension("x", 3000)
        for k in range(12):
            ds.createVariable(f"scalar{k}", "f8", ())
            ds.createVariable(f"v{k}", "f8", ("time", "x"), chunksizes=(1, 3000))
        for k in range(12):
            ds[f"v{k}"][:] = k
            ds[f"scalar{k}"][...] = k
    with serving(tmp_path) as server:
        found = scan(f"{server.url}/f.nc")
    expected = scan(tmp_path / "f.nc")
    assert all(found[f"scalar{k}/0"] == expected[f"scalar{k}/0"] for k in range(12))
    assert len([n for n in rounds if n]) <= 4


def link(f, secret):
    f["x"] = h5py.ExternalLink(str(secret), "/v")


def way(f, secret):
    f["away"] = h5py.ExternalLink(str(secret), "/")
    f["x"] = h5py.SoftLink("/away/v")


def url(f, secret):
    f["x"] = h5py.ExternalLink(f"file://{secret}", "/v")


def bytes_of(f, secret):
    f.create_dataset("x", (5,), "i8", external=[(str(secret), 0, 40)])


def pieces(f, secret):
    f.create_dataset("x", (5,), "i8", external=[(str(secret), 0, 8), (str(secret), 8, 32)])


def virtual(f, secret):
    layout = h5py.VirtualLayout((5,), "i8")
    layout[:] = h5py.VirtualSource(str(secret), "v", (5,))
    f.create_virtual_dataset("x", layout)


@pytest.mark.parametrize("point", [link, way, url, bytes_of, pieces, virtual], ids=lambda f: f.__name__)
def test_a_file_from_afar_does_not_reach_those_of_this_machine(tmp_path, point):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as f:
        f["v"] = np.arange(5)
    (tmp_path / "served").mkdir()
    with h5py.File(tmp_path / "served/f.h5", "w") as f:
        f["v"] = np.arange(5) + 100  # HDF5 would take this file for the other
        point(f, secret)
    skip = "away" if point is way else ()
    with serving(tmp_path / "served") as server:
        with pytest.raises(ScanError, match=r"(came from afar .* this machine's files|beside a local file)"):
            scan(f"{server.url}/f.h5", skip=skip)
        assert list(scan(f"{server.url}/f.h5", skip=["x", "away"]).arrays) == ["v"]


def test_a_file_shorter_than_what_is_said_of_it_is_not_looked_for_here(tmp_path, monkeypatch):
    (tmp_path / "served").mkdir()
    (tmp_path / "served/raw.bin").write_bytes(bytes(8))
    np.arange(5).tofile(tmp_path / "raw.bin")
    with h5py.File(tmp_path / "served/f.h5", "w") as f:
        f.create_dataset("x", (5,), "i8", external=[("raw.bin", 0, 40)])
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path / "served") as server, pytest.raises(ScanError, match="beside a local file"):
        scan(f"{server.url}/f.h5")


def test_links_lead_to_neighbours_on_the_server(tmp_path):
    (tmp_path / "sub").mkdir()
    with h5py.File(tmp_path / "sub/other.h5", "w") as f:
        f["group/v"] = np.arange(400)
    np.arange(300).tofile(tmp_path / "raw.bin")
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["group/v"] = np.arange(400) + 1000
        f["there"] = h5py.ExternalLink("sub/other.h5", "/group/v")
        f["folder"] = h5py.ExternalLink("sub/other.h5", "/group")
        f["through"] = h5py.SoftLink("/folder/v")
        f["self"] = h5py.SoftLink("group/./v")
        f.create_dataset("raw", (300,), "i8", external=[("raw.bin", 0, 2400)])
        layout = h5py.VirtualLayout((400,), "i8")
        layout[:] = h5py.VirtualSource(".", "/group/v", (400,))
        f.create_virtual_dataset("view", layout)
    with serving(tmp_path) as server:
        refs = scan(f"{server.url}/f.h5")
        root = zaro.open(refs)
        for name in ("there", "folder/v", "through"):
            assert refs[f"{name}/0"][0] == f"{server.url}/sub/other.h5"
            np.testing.assert_array_equal(root[name][...], np.arange(400))
        np.testing.assert_array_equal(root["raw"][...], np.arange(300))
        for name in ("self", "view"):
            np.testing.assert_array_equal(root[name][...], np.arange(400) + 1000)


def test_links_that_lead_in_a_circle_are_an_error_from_afar_too(tmp_path, rounds):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["group/v"] = np.arange(3)
        f["group/up"] = f["/"]
    with serving(tmp_path) as server, pytest.raises(ScanError, match="lies in"):
        scan(f"{server.url}/f.h5")


@pytest.mark.parametrize("nbytes", [100, source.ENDS + 5000, 3 * source.ENDS])
@pytest.mark.parametrize("fault", ["ignored", "chunked", None])
def test_servers_that_know_no_ranges_will_do(tmp_path, nbytes, fault):
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["v"] = np.arange(nbytes, dtype="u1")
        f["w"] = np.arange(300)
    with serving(tmp_path) as server:
        if fault is not None:
            server.fault = lambda path, n: (fault, 1 << 16)
        found = scan(f"{server.url}/f.h5", inline_threshold=0)
    expected = scan(tmp_path / "f.h5", inline_threshold=0)
    assert [found[name][1:] for name in ("v/0", "w/0")] == [expected[name][1:] for name in ("v/0", "w/0")]


@given(
    rank=st.integers(0, 32),
    half=st.integers(1, 64),
    level=st.integers(1, 3),
    addresses=st.lists(st.integers(1, 2**60), min_size=1, unique=True),
)
def test_the_nodes_below_a_node_are_found(rank, half, level, addresses):
    key = 8 * (rank + 2) if rank else 8  # of a node of chunks, or of the members of a group
    used = addresses[: 2 * half]
    head = b"TREE" + bytes([bool(rank), level]) + len(used).to_bytes(2, "little") + bytes(16)
    body = b"".join(bytes(key) + at.to_bytes(8, "little") for at in used)
    node = (head + body).ljust(24 + 2 * half * (key + 8) + key, b"\0")
    found = children(node, 2**60 + 1)
    assert found == used or (rank and half != 32)  # of another length, another rank may fit as well
    assert children(node[:5] + b"\0" + node[6:], 2**60) == []


@given(
    st.lists(
        st.tuples(
            st.sampled_from([b"TREE", b"BTHD", b"BTIN", b"FAHD", b"EAHD", b"EAIB", b"EASB", b"none"]),
            st.integers(0, 200),
            st.binary(max_size=300),
        ),
        max_size=6,
    )
)
def test_whatever_a_node_holds_what_is_found_lies_within_the_file(nodes):
    finder = NodeFinder(5000)
    for kind, at, data in nodes:
        for offset, length in finder.below(at, memoryview(kind + data)):
            assert 0 < offset < offset + length <= 5000


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_nodes_below_a_header_are_found(tmp_path, layout):
    make(tmp_path / "f.h5", layout)
    data = (tmp_path / "f.h5").read_bytes()
    finder, seen = NodeFinder(len(data)), set()
    todo = [(m.start(), 3136 if m[0] == b"TREE" else 72) for m in re.finditer(b"TREE|BTHD|FAHD|EAHD", data)]
    while todo:
        at, length = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += finder.below(at, memoryview(data)[at : at + length])
    wanted = {m.start() for m in re.finditer(b"BTIN|BTLF|FADB|EAIB|EASB|EADB", data)}
    assert wanted <= seen
