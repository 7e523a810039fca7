"""Sets that grow: equal to those that were joined at once, and whole for every reader at every moment."""

from __future__ import annotations

import os

import fsspec
import netCDF4
import numcodecs
import numpy as np
import pytest
import scan_files as files
import xarray as xr
import zarr
from fsspec.implementations.reference import LazyReferenceMapper
from joining import MISMATCHES, small

import zaro
from zaro.cli import main
from zaro.errors import CombineError, UnsupportedError
from zaro.references import parquet_writer
from zaro.scan import append, concat, scan


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    return files.days(tmp_path_factory.mktemp("year"), 5)


def saved(sets, target, **how):
    concat(sets, "time").save(target, **how)
    return target


def how_of(name):
    return {"record_size": 5} if name.endswith("parquet") else {}


def states(folder):
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(folder))] = (status.st_ino, status.st_mtime_ns)
    return found


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("name", ["refs.json", "refs.parquet"])
def test_a_set_that_grew_opens_as_the_files_do(year, tmp_path, name, inline):
    sets = [scan(file, inline_threshold=inline) for file in year]
    target = saved(sets[:2], tmp_path / name, **how_of(name))
    append(target, sets[2:4], "time")
    append(target, sets[4:], "time")
    with (
        files.by_xarray(year) as expected,
        xr.open_dataset(target, engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())
    refs = zaro.References.open(target)
    if name.endswith("json"):
        with xr.open_dataset(str(target), engine="kerchunk") as theirs:
            xr.testing.assert_identical(theirs.load(), expected)
    else:
        mapper = LazyReferenceMapper(str(target), fs=fsspec.filesystem("file"), engine="pyarrow")
        chunks = {key: value for key, value in refs.items() if "/.z" not in f"/{key}"}
        assert {key: (v if isinstance(v := mapper[key], bytes) else list(v)) for key in chunks} == chunks
    assert zaro.References.open(target).verify(read=True) == []


def test_only_the_last_partitions_and_the_header_are_written(year, tmp_path):
    sets = [scan(file, inline_threshold=0) for file in year]
    target = saved(sets[:4], tmp_path / "refs.parquet", record_size=7)
    before = states(target)
    append(target, sets[4:], "time")
    after = states(target)
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed >= {".zmetadata", "tas/refs.6.parq", "pr/refs.7.parq", "time/refs.0.parq"}
    assert not {name for name in changed if name.startswith(("lat", "lon", "crs"))}
    for name in changed & {f"{v}/refs.{k}.parq" for v in ("tas", "pr") for k in range(20)}:
        assert int(name.split(".")[1]) >= 48 // 7, name
    assert set(before) <= set(after)
    assert not {name for name in after if "partial" in name}


class Watcher:
    """Opens the set anew, and reads it through an older opening, after each file that is written."""

    def __init__(self, target, monkeypatch):
        self.target, self.older, self.seen = target, zaro.References.open(target), []
        self.before = self.values(self.older)
        put = parquet_writer._put_one

        def watched(address, key, data, options):
            self.look()
            put(address, key, data, options)
            self.look()

        monkeypatch.setattr(parquet_writer, "_put_one", watched)

    def values(self, refs):
        with xr.open_dataset(refs, engine="zaro") as ds:
            return ds.load()

    def look(self):
        fresh = zaro.References.open(self.target)
        self.seen.append(self.values(fresh))
        # nothing of the older opening is in memory any more: it finds new partitions under an old header
        for path, table in self.older.contents.tables.items():
            for block in range(-(-table.nchunks // 5)):
                table.shared.forget(path, block)
        xr.testing.assert_identical(self.values(self.older), self.before)


@pytest.mark.parametrize("inline", [0, 500])
def test_a_reader_sees_the_old_set_or_the_new_one(year, tmp_path, monkeypatch, inline):
    sets = [scan(file, inline_threshold=inline) for file in year]
    target = saved(sets[:2], tmp_path / "refs.parquet", record_size=5)
    append(target, sets[2:3], "time")  # so that the last chunk of the coordinate is not full
    watcher = Watcher(target, monkeypatch)
    append(target, sets[3:], "time")
    after = watcher.values(zaro.References.open(target))
    assert after.sizes["time"] == 30
    assert len(watcher.seen) > 6
    for seen in watcher.seen[:-1]:
        xr.testing.assert_identical(seen, watcher.before)
    xr.testing.assert_identical(watcher.seen[-1], after)


def test_an_interruption_leaves_the_old_set_and_the_next_run_ends_the_work(year, tmp_path, monkeypatch):
    sets = [scan(file, inline_threshold=0) for file in year]
    target = saved(sets[:4], tmp_path / "refs.parquet", record_size=5)
    with xr.open_dataset(target, engine="zaro") as ds:
        before = ds.load()
    put, left = parquet_writer._put_one, [3]

    def failing(*arguments):
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        put(*arguments)

    monkeypatch.setattr(parquet_writer, "_put_one", failing)
    with pytest.raises(KeyboardInterrupt):
        append(target, sets[4:], "time")
    monkeypatch.undo()
    with xr.open_dataset(target, engine="zaro") as ds:
        xr.testing.assert_identical(ds.load(), before)
    append(target, sets[4:], "time")
    with (
        xr.open_dataset(target, engine="zaro") as found,
        xr.open_dataset(concat(sets, "time"), engine="zaro") as all_,
    ):
        xr.testing.assert_identical(found.load(), all_.load())


@pytest.mark.parametrize("name", ["refs.json", "refs.parquet"])
@pytest.mark.parametrize("case", MISMATCHES)
def test_what_cannot_be_joined_cannot_be_appended(tmp_path, case, name):
    how, variable, message = MISMATCHES[case]
    if case == "size":
        variable, message = "lat", "size of dimension 0 is 4, in the first set 3"
    target = tmp_path / name
    concat([scan(small(tmp_path / "a.nc"))], "time").save(target)
    before = states(tmp_path)
    other = scan(small(tmp_path / "b.nc", **{"first": 4, **how}))
    with pytest.raises(CombineError, match=message) as caught:
        append(target, [other], "time", labels=["b.nc"], load_threshold=0)
    assert (caught.value.file, caught.value.variable) == ("b.nc", variable)
    assert before.items() <= states(tmp_path).items()


def test_a_set_that_ends_within_a_chunk_is_an_error_unless_it_is_small(tmp_path):
    sets = [scan(small(tmp_path / f"{k}.nc", first=s, days=d)) for k, (s, d) in enumerate([(0, 3), (3, 4)])]
    target = saved(sets[:1], tmp_path / "refs.parquet")
    with pytest.raises(
        CombineError, match=r"has 3 elements along 'time', no multiple of its chunks of 2"
    ) as caught:
        append(target, sets[1:], "time", load_threshold=0)
    assert caught.value.file == str(target)
    append(target, sets[1:], "time")
    found = zaro.open(target)
    np.testing.assert_array_equal(found["v"][:, 1], np.arange(7))
    np.testing.assert_array_equal(found["time"][...], np.arange(7))


def test_day_after_day_is_appended(tmp_path):
    target = tmp_path / "refs.parquet"
    sets = [scan(small(tmp_path / f"{k}.nc", first=2 * k, days=2)) for k in range(8)]
    saved(sets[:1], target, record_size=3)
    for one in sets[1:]:
        append(target, [one], "time")
    found = zaro.open(target)
    np.testing.assert_array_equal(found["v"][:, 2], np.arange(16))
    np.testing.assert_array_equal(found["time"][...], np.arange(16))


def test_coordinates_come_from_names_units_and_order(tmp_path):
    def snow(day):
        with netCDF4.Dataset(tmp_path / f"snow_{day}.nc", "w") as ds:
            ds.createDimension("x", 200)
            ds.createVariable("x", "f4", ("x",))[:] = np.arange(200)
            ds.createVariable("snow", "f4", ("x",), zlib=True)[:] = int(day) % 100
        return scan(tmp_path / f"snow_{day}.nc", inline_threshold=0)

    target = tmp_path / "refs.parquet"
    concat([snow("20240101"), snow("20240102")], "time", coords={"time": r"_(\d{8})"}).save(target)
    append(target, [snow("20240105"), snow("20240104")], "time", coords={"time": r"_(\d{8})"}, sort=True)
    with xr.open_dataset(target, engine="zaro") as ds:
        assert ds["time"].dt.day.values.tolist() == [1, 2, 4, 5]
        assert ds["snow"].values[:, 7].tolist() == [1, 2, 4, 5]

    target = tmp_path / "other.json"
    concat([scan(small(tmp_path / "a.nc", units="days since 2000-01-01"))], "time").save(target)
    later = scan(small(tmp_path / "b.nc", units="hours since 2000-01-05", values=24.0 * np.arange(4)))
    append(target, [later], "time", coords={"time": "time"})
    np.testing.assert_array_equal(zaro.open(target)["time"][...], np.arange(8))


def test_sets_of_version_3_grow_as_well(tmp_path):
    sets = []
    for k in range(3):
        root = zarr.open_group(tmp_path / f"{k}.zarr", mode="w", zarr_format=3)
        root.create_array("v", shape=(4, 5), chunks=(2, 5), dtype="f4", dimension_names=("time", "x"))[:] = k
        root.create_array("time", shape=(4,), chunks=(4,), dtype="i8", dimension_names=("time",))[:] = (
            np.arange(4) + 4 * k
        )
        sets.append(scan(tmp_path / f"{k}.zarr"))
    target = saved(sets[:2], tmp_path / "refs.parquet")
    append(target, sets[2:], "time")
    found = zaro.open(target)
    np.testing.assert_array_equal(found["v"][:, 0], np.repeat([0, 1, 2], 4))
    np.testing.assert_array_equal(found["time"][...], np.arange(12))


@pytest.mark.parametrize("dtype", [">i4", "<i4", ">f8", ">M8[s]", "|b1", "S3"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("compressor", [None, "zlib"])
def test_what_is_added_by_value_is_stored_as_the_set_has_it(tmp_path, dtype, order, compressor):
    blocks = [np.arange(5 * n).reshape(n, 5).astype(dtype) for n in (2, 8, 7)]
    sets = []
    for k, block in enumerate(blocks):
        root = zarr.open_group(tmp_path / f"{k}.zarr", mode="w", zarr_format=2)
        root.create_array(
            "v",
            shape=block.shape,
            chunks=(4, 4),
            dtype=block.dtype,
            order=order,
            compressors=numcodecs.Zlib() if compressor else None,
            attributes={"_ARRAY_DIMENSIONS": ["time", "x"]},
        )[...] = block
        sets.append(scan(tmp_path / f"{k}.zarr"))
    target = saved(sets[:1], tmp_path / "refs.parquet", record_size=3)
    append(target, sets[1:2], "time")
    append(target, sets[2:], "time")
    np.testing.assert_array_equal(zaro.open(target)["v"][...], np.concatenate(blocks))
    np.testing.assert_array_equal(zaro.open(concat(sets, "time"))["v"][...], np.concatenate(blocks))


def test_days_of_classic_files_are_appended(tmp_path):
    sets = []
    for k in range(3):
        with netCDF4.Dataset(tmp_path / f"{k}.nc", "w", format="NETCDF3_CLASSIC") as ds:
            ds.createDimension("time", None)
            ds.createVariable("time", "f8", ("time",))[:] = np.arange(3) + 3 * k
            ds.createVariable("v", "i2", ("time",))[:] = np.arange(3) + 3 * k
        sets.append(scan(tmp_path / f"{k}.nc"))
    target = saved(sets[:1], tmp_path / "refs.json")
    append(target, sets[1:2], "time")
    append(target, sets[2:], "time")
    found = zaro.open(target)
    np.testing.assert_array_equal(found["time"][...], np.arange(9))
    np.testing.assert_array_equal(found["v"][...], np.arange(9))


def test_what_cannot_grow_where_it_lies_says_so(year, tmp_path):
    sets = [scan(file, inline_threshold=0) for file in year[:2]]
    concat(sets[:1], "time").save(tmp_path / "gen.json", format="generator")
    with pytest.raises(UnsupportedError, match="holds generators"):
        append(tmp_path / "gen.json", sets[1:], "time")
    target = saved(sets[:1], tmp_path / "refs.json")
    north = files.climate(tmp_path / "north.nc")
    with netCDF4.Dataset(north, "a") as ds:
        ds["lat"][:] = np.linspace(91, 100, 7)
    with pytest.raises(UnsupportedError, match="'lat', its dimension 1, and has several chunks"):
        append(target, [scan(north)], "lat", check=False)
    with pytest.raises(CombineError, match="no variable with the dimension 'run'"):
        append(target, sets[1:], "run")


def test_the_command_appends(year, tmp_path, capsys):
    target = tmp_path / "refs.parquet"
    os.symlink(year[0].parent, tmp_path / "data")
    first, rest = str(tmp_path / "data" / "day_000.nc"), str(tmp_path / "data" / "day_00[1-4].nc")
    assert (
        main(
            [
                "scan",
                first,
                "--concat",
                "time",
                "-o",
                str(target),
                "--relative",
                "--jobs",
                "1",
                "--inline",
                "0",
            ]
        )
        == 0
    )
    assert (
        main(
            [
                "scan",
                rest,
                "--concat",
                "time",
                "--append",
                str(target),
                "--relative",
                "--jobs",
                "1",
                "--inline",
                "0",
            ]
        )
        == 0
    )
    refs = zaro.References.open(target)
    assert refs.contents.tables["tas"].locate(np.arange(60)).files.name(0) == "data/day_000.nc"
    assert refs.verify(read=True) == []
    assert zaro.open(target)["tas"].shape[0] == 30
    assert main(["scan", rest, "--concat", "time", "--append", str(target), "--jobs", "1"]) == 1
    assert "they overlap" in capsys.readouterr().err
    assert main(["scan", rest, "--append", str(target)]) == 1
    assert "--append needs --concat DIM" in capsys.readouterr().err
