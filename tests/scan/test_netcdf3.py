"""NetCDF classic in its three versions: values are those that netCDF4 reads."""

from __future__ import annotations

import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan

VERSIONS = ("NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA")


def write(file, version, record_variables=3):
    with netCDF4.Dataset(file, "w", format=version) as ds:
        ds.setncatts({"title": "classic", "numbers": [1.5, 2.5], "one": np.int16(3), "empty": ""})
        ds.createDimension("time", None)
        ds.createDimension("x", 5)
        ds.createDimension("word", 4)
        ds.createVariable("fixed", "f8", ("x",))[:] = np.arange(5)
        ds.createVariable("words", "S1", ("x", "word"))[:] = np.array([list("abcd")] * 5, "S1")
        ds.createVariable("scalar", "i4", ())[...] = 7
        rng = np.random.default_rng(1)
        for name, kind, dims in (
            ("i2", "i2", ("time", "x")),
            ("i1", "i1", ("time",)),
            ("f4", "f4", ("time", "x")),
        )[:record_variables]:
            variable = ds.createVariable(name, kind, dims, fill_value=-1)
            variable[:] = rng.integers(-5, 100, (7, 5)[: len(dims)])
        if version == "NETCDF3_64BIT_DATA":
            for kind in ("u1", "u2", "u4", "u8", "i8"):
                ds.createVariable(kind, kind, ("time",))[:] = np.arange(7)
    return file


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("record_variables", [0, 1, 2, 3])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_opens_as_xarray_opens_it(tmp_path, version, record_variables, inline):
    file = write(tmp_path / "classic.nc", version, record_variables)
    for decode in (True, False):
        with (
            xr.open_dataset(file, engine="netcdf4", decode_cf=decode) as expected,
            xr.open_dataset(scan(file, inline_threshold=inline), engine="zaro", decode_cf=decode) as found,
        ):
            xr.testing.assert_identical(found.load(), expected.load())


def test_kerchunk_reads_our_document(tmp_path):
    file = write(tmp_path / "classic.nc", "NETCDF3_CLASSIC")
    with (
        xr.open_dataset(file, engine="netcdf4") as expected,
        xr.open_dataset(files.document(scan(file)), engine="kerchunk") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())


@pytest.mark.parametrize("threshold", [0, 100])
@pytest.mark.parametrize("record_variables", [0, 3])  # of a single one kerchunk counts a record too many
def test_kerchunks_document_reads_as_the_file(tmp_path, record_variables, threshold):
    pytest.importorskip("scipy")
    from kerchunk.netCDF3 import NetCDF3ToZarr

    file = write(tmp_path / "classic.nc", "NETCDF3_CLASSIC", record_variables)
    document = NetCDF3ToZarr(str(file), inline_threshold=threshold).translate()
    with (
        xr.open_dataset(file, engine="netcdf4") as expected,
        xr.open_dataset(document, engine="kerchunk") as theirs,
        xr.open_dataset(document, engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), theirs.load())
        xr.testing.assert_equal(found, expected.load())


def test_one_record_variable_has_records_without_padding(tmp_path):
    with netCDF4.Dataset(tmp_path / "one.nc", "w", format="NETCDF3_CLASSIC") as ds:
        ds.createDimension("t", None)
        ds.createVariable("v", "i1", ("t",))[:] = np.arange(9)
    np.testing.assert_array_equal(
        zaro.open(scan(tmp_path / "one.nc", inline_threshold=0))["v"][...], np.arange(9)
    )


def test_a_file_written_as_a_stream_has_as_many_records_as_there_are(tmp_path):
    file = write(tmp_path / "stream.nc", "NETCDF3_CLASSIC")
    data = bytearray(file.read_bytes())
    expected = zaro.open(scan(file))["f4"][...]
    data[4:8] = b"\xff" * 4
    file.write_bytes(data)
    np.testing.assert_array_equal(zaro.open(scan(file))["f4"][...], expected)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_file_cut_anywhere_is_an_error_or_reads_as_whole(tmp_path, version):
    whole = write(tmp_path / "whole.nc", version).read_bytes()
    cut = tmp_path / "cut.nc"
    for end in range(4, len(whole) - 4, 13):
        cut.write_bytes(whole[:end])
        with pytest.raises(ScanError, match=r"cut\.nc"):
            scan(cut)


def test_a_header_with_any_byte_changed_never_escapes_the_errors_of_ours(tmp_path):
    whole = write(tmp_path / "whole.nc", "NETCDF3_64BIT_DATA").read_bytes()
    rng = np.random.default_rng(3)
    file = tmp_path / "hostile.nc"
    for _ in range(300):
        data = bytearray(whole)
        data[rng.integers(4, 400)] = rng.integers(0, 256)
        file.write_bytes(data)
        try:
            scan(file)
        except ScanError:
            continue
