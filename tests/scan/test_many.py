"""Many files from a shell: joined, resumed, and failures told by name."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr
from joining import small

import zaro
from zaro.cli import main
from zaro.scan import many


@pytest.fixture
def year(tmp_path):
    return files.days(tmp_path, 4)


def test_a_file_with_brackets_in_its_name_is_that_file(tmp_path):
    for name in ("a[1].nc", "a1.nc"):
        (tmp_path / name).touch()
    assert many.expand([str(tmp_path / "a[1].nc")]) == [str(tmp_path / "a[1].nc")]
    assert many.expand([str(tmp_path / "a[12].nc")]) == [str(tmp_path / "a1.nc")]


@pytest.mark.parametrize("name", ["refs.json", "refs.parquet"])
@pytest.mark.parametrize("more", [["--jobs", "1"], ["--jobs", "2", "--relative"]])
def test_files_are_joined_and_written(year, tmp_path, name, more):
    target = tmp_path / name
    assert main(["scan", str(tmp_path / "day_*.nc"), "--concat", "time", "-o", str(target), *more]) == 0
    with (
        files.by_xarray(year) as expected,
        xr.open_dataset(target, engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_failures_are_listed_and_only_they_are_scanned_again(year, tmp_path, capsys):
    target = tmp_path / "refs.json"
    whole = year[2].read_bytes()
    year[2].write_bytes(whole[:100])
    command = ["scan", str(tmp_path / "day_*.nc"), "--concat", "time", "-o", str(target), "--jobs", "1"]
    assert main(command) == 1
    said = capsys.readouterr().err
    assert "day_002.nc" in said
    assert "1 of 4 files failed" in said
    assert not target.exists()
    parts = {path: path.stat().st_mtime_ns for path in (tmp_path / ".refs.json.parts").iterdir()}
    assert len(parts) == 3
    assert main([*command, "--allow-failures"]) == 1
    assert zaro.open(target)["tas"].shape[0] == 18
    year[2].write_bytes(whole)
    assert main(command) == 0
    assert zaro.open(target)["tas"].shape[0] == 24


def test_several_files_need_to_know_how_they_are_joined(year, tmp_path, capsys):
    assert main(["scan", *map(str, year), "-o", str(tmp_path / "refs.json")]) == 1
    assert "--concat DIM or --merge" in capsys.readouterr().err
    assert main(["scan", str(tmp_path / "none*.nc"), "-o", str(tmp_path / "refs.json")]) == 1
    assert "no file fits" in capsys.readouterr().err


def children_of(process):
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in found.read_text().split()] if found.exists() else []


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(done):
    deadline = time.monotonic() + 60
    while not done() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert done()


def contents(target):
    if target.is_file():
        return target.read_bytes()
    return {path.relative_to(target): path.read_bytes() for path in target.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("ending", "jobs"), [("json", "1"), ("parquet", "2")])
def test_a_run_that_was_killed_is_finished_by_the_next(tmp_path, ending, jobs):
    for k in range(60):
        with netCDF4.Dataset(tmp_path / f"f{k:02}.nc", "w") as ds:
            ds.createDimension("time", None)
            ds.createVariable("time", "f8", ("time",))[:] = [k]
            ds.createVariable("v", "f4", ("time",))[:] = [k]
    command = [
        sys.executable,
        "-m",
        "zaro.cli",
        "scan",
        str(tmp_path / "f*.nc"),
        "--concat",
        "time",
    ]
    process = subprocess.Popen([*command, "--jobs", jobs, "-o", str(tmp_path / f"killed.{ending}")])
    parts = tmp_path / f".killed.{ending}.parts"
    wait_until(lambda: process.poll() is not None or (parts.exists() and len(os.listdir(parts)) >= 5))
    workers = children_of(process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(is_running, workers)))
    assert 1 <= len(list(parts.glob("*.json"))) < 60
    for name in ("killed", "whole"):
        subprocess.run([*command, "--jobs", "1", "-o", str(tmp_path / f"{name}.{ending}")], check=True)
    assert contents(tmp_path / f"killed.{ending}") == contents(tmp_path / f"whole.{ending}")
    np.testing.assert_array_equal(zaro.open(tmp_path / f"killed.{ending}")["v"][...], np.arange(60))
    assert not parts.exists()


@pytest.mark.parametrize("group", [2, 3, 100])
def test_sets_are_joined_in_groups_that_fit_in_memory(year, tmp_path, monkeypatch, group):
    monkeypatch.setattr(many, "GROUP", group)
    target = tmp_path / "refs.parquet"
    assert main(["scan", *map(str, year), "--concat", "time", "-o", str(target), "--jobs", "1"]) == 0
    whole = zaro.concat([zaro.scan(file) for file in year], "time")
    with xr.open_dataset(target, engine="zaro") as found, xr.open_dataset(whole, engine="zaro") as expected:
        xr.testing.assert_identical(found.load(), expected.load())


def test_groups_that_do_not_fit_are_joined_at_once_and_told_by_file(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(many, "GROUP", 2)
    for k in range(5):
        small(tmp_path / f"{k}.nc", first=4 * k, dtype="f8" if k == 3 else "f4")
    command = [
        "scan",
        str(tmp_path / "*.nc"),
        "--concat",
        "time",
        "-o",
        str(tmp_path / "r.json"),
        "--jobs",
        "1",
    ]
    assert main(command) == 1
    assert "3.nc: variable 'v': dtype is '<f8'" in capsys.readouterr().err


def test_a_dask_cluster_scans_as_well(year, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        target = str(tmp_path / "refs.json")
        command = ["scan", str(tmp_path / "day_*.nc"), "--concat", "time", "-o", target]
        assert main([*command, "--dask", cluster.scheduler_address]) == 0
    assert zaro.open(target)["tas"].shape[0] == 24
