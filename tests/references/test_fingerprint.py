"""Files that have changed since they were scanned are told when a set is opened."""

from __future__ import annotations

import json
import os
import pickle

import fsspec
import numpy as np
import pytest
import scan_files as files
import xarray as xr
from fsspec.implementations.reference import LazyReferenceMapper
from http_server import serving

import zaro
from zaro.cli import main
from zaro.errors import ChangedError, ReferenceSetError, UnsupportedError
from zaro.references.fingerprint import Fingerprint
from zaro.scan import append, concat, scan

FORMS = {
    "refs.json": {},
    "refs.json.gz": {},
    "gen.json": {"format": "generator"},
    "compact.json": {"format": "generator", "compact": True},
    "refs.parquet": {},
}


@pytest.fixture
def year(tmp_path):
    return [files.climate(tmp_path / f"day_{k}.nc", first=6 * k) for k in range(3)]


def saved(year, target, **how):
    sets = [scan(file, inline_threshold=0, fingerprint=True) for file in year]
    concat(sets, "time").save(target, **how)
    return target


def touch(file):
    status = file.stat()
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 10**9))
    return status.st_mtime_ns


@pytest.mark.parametrize("name", FORMS)
def test_a_change_is_told_by_file_and_both_values(year, tmp_path, name):
    target = saved(year, tmp_path / name, **FORMS[name])
    with xr.open_dataset(target, engine="zaro") as ds:
        assert ds.sizes["time"] == 18
    before = touch(year[1])
    was, is_ = (f"{np.datetime64(time, 'ns')} UTC" for time in (before, before + 10**9))
    with pytest.raises(
        ChangedError, match=rf"day_1.nc: has changed .* its mtime was {was}, is {is_}; scan"
    ) as caught:
        zaro.open(target)
    assert (caught.value.recorded, caught.value.found) == (before, before + 10**9)
    size = year[1].stat().st_size
    with open(year[1], "ab") as file:
        file.write(b"x")
    with pytest.raises(ChangedError, match=rf"its size was {size}, is {size + 1}") as caught:
        zaro.References.open(target)
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.url, error.what, error.recorded, error.found) == (str(year[1]), "size", size, size + 1)
    assert zaro.References.open(target, changed="ignore")["tas/0.0.0"][0] == str(year[0])
    year[1].unlink()  # an error for who reads it
    zaro.References.open(target)


def test_other_readers_pass_over_fingerprints(year, tmp_path):
    target = saved(year, tmp_path / "refs.json")
    assert list(json.loads(target.read_text())) == ["version", "refs", "zaro"]
    with (
        xr.open_dataset(target, engine="zaro") as ours,
        xr.open_dataset(str(target), engine="kerchunk") as theirs,
    ):
        xr.testing.assert_identical(theirs.load(), ours.load())
    folder = saved(year, tmp_path / "refs.parquet")
    mapper = LazyReferenceMapper(str(folder), fs=fsspec.filesystem("file"), engine="pyarrow")
    assert list(mapper["tas/0.0.0"]) == zaro.References.open(folder)["tas/0.0.0"]


def test_fingerprints_go_along_where_sets_are_joined_saved_and_grow(year, tmp_path):
    target = saved(year[:2], tmp_path / "refs.parquet")
    append(target, [scan(year[2], fingerprint=True)], "time")
    (tmp_path / "below").mkdir()
    zaro.References.open(target).save(tmp_path / "below" / "refs.json")
    known = zaro.References.open(tmp_path / "below" / "refs.json").contents.fingerprints.by_url()
    assert known == {str(f): Fingerprint(f.stat().st_size, f.stat().st_mtime_ns) for f in year}
    merged = zaro.merge(
        [scan(year[0], skip=("pr", "tas"), fingerprint=True), scan(year[0], fingerprint=True)]
    )
    assert list(merged.contents.fingerprints.by_url()) == [str(year[0])]
    assert scan(year[0]).contents.fingerprints is None


def test_the_command_writes_and_verifies_them(year, tmp_path, capsys):
    target = tmp_path / "refs.json"
    command = ["scan", str(tmp_path / "day_*.nc"), "--concat", "time", "--fingerprint", "--jobs", "1"]
    assert main([*command, "--relative", "--inline", "0", "-o", str(target)]) == 0
    assert json.loads(target.read_text())["zaro"]["fingerprints"]["files"] == [
        "day_0.nc",
        "day_1.nc",
        "day_2.nc",
    ]
    assert main(["verify", str(target)]) == 0
    touch(year[2])
    assert main(["verify", str(target), "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert found["file"] == str(year[2])
    assert found["problem"].startswith("changed: mtime was ")
    assert main(["info", str(target)]) == 1
    assert "day_2.nc: has changed since it was scanned" in capsys.readouterr().err


def test_a_server_is_asked_for_size_and_tag(year, tmp_path):
    with serving(tmp_path) as server:
        url = f"{server.url}/day_0.nc"
        refs = scan(url, fingerprint=True)
        refs.save(tmp_path / "refs.json")
        zaro.References.open(tmp_path / "refs.json")
        year[0].write_bytes(year[0].read_bytes() + b"x")
        with pytest.raises(ChangedError, match="its size was"):
            zaro.References.open(tmp_path / "refs.json")


def test_a_tag_counts_more_than_a_time():
    was = Fingerprint(5, 1, "a")
    assert was.difference(Fingerprint(5, 2, "a")) is None
    assert was.difference(Fingerprint(5, 1, "b")) == ("etag", "a", "b")
    assert was.difference(Fingerprint(6, 1, "a")) == ("size", 5, 6)
    assert was.difference(Fingerprint(5, 2)) == ("mtime", 1, 2)
    assert was.difference(Fingerprint()) is None


@pytest.mark.parametrize(
    "member",
    [
        {"fingerprints": 3},
        {"fingerprints": {"files": 3}},
        {"fingerprints": {"files": [1]}},
        {"fingerprints": {"files": ["a"], "size": []}},
        {"fingerprints": {"files": ["a"], "size": ["1"]}},
        {"fingerprints": {"files": ["a"], "size": [True]}},
    ],
)
def test_broken_fingerprints_are_an_error(member):
    with pytest.raises(ReferenceSetError, match="zaro, fingerprints"):
        zaro.References.open(json.dumps({"version": 1, "refs": {}, "zaro": member}).encode())


@pytest.mark.parametrize("member", [None, 3, [], {}, {"other": 1}, {"fingerprints": {"files": []}}])
def test_what_else_stands_there_is_passed_over(member):
    assert len(zaro.References.open(json.dumps({"version": 1, "refs": {}, "zaro": member}).encode())) == 0
    document = {"zaro/.zarray": json.dumps({"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1"})}
    assert "zaro/.zarray" in zaro.References.open(json.dumps(document).encode())


def test_a_store_of_many_files_has_none(tmp_path):
    import zarr

    zarr.create_array(tmp_path / "a.zarr", shape=(2,), dtype="i4")[:] = np.arange(2)
    with pytest.raises(UnsupportedError, match="none has a fingerprint"):
        scan(tmp_path / "a.zarr", fingerprint=True)
