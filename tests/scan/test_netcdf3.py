"""NetCDF classic in its three versions: values are those that netCDF4 reads."""

from __future__ import annotations

import struct

import netCDF4
import numpy as np
import pytest
import scan_files as files
import xarray as xr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("record_variables", [0, 1, 2, 3])
@pytest.mark.parametrize("version", files.CLASSIC)
def test_every_version_opens_as_xarray_opens_it(tmp_path, version, record_variables, inline):
    file = files.classic(tmp_path / "classic.nc", version, record_variables)
    for decode in (True, False):
        with (
            xr.open_dataset(file, engine="netcdf4", decode_cf=decode) as expected,
            xr.open_dataset(scan(file, inline_threshold=inline), engine="zaro", decode_cf=decode) as found,
        ):
            xr.testing.assert_identical(found.load(), expected.load())


def test_one_record_variable_has_records_without_padding(tmp_path):
    with netCDF4.Dataset(tmp_path / "one.nc", "w", format="NETCDF3_CLASSIC") as ds:
        ds.createDimension("t", None)
        ds.createVariable("v", "i1", ("t",))[:] = np.arange(9)
    np.testing.assert_array_equal(
        zaro.open(scan(tmp_path / "one.nc", inline_threshold=0))["v"][...], np.arange(9)
    )


def test_a_file_written_as_a_stream_has_as_many_records_as_there_are(tmp_path):
    file = files.classic(tmp_path / "stream.nc", "NETCDF3_CLASSIC")
    data = bytearray(file.read_bytes())
    expected = zaro.open(scan(file))["f4"][...]
    data[4:8] = b"\xff" * 4
    file.write_bytes(data)
    np.testing.assert_array_equal(zaro.open(scan(file))["f4"][...], expected)


@pytest.mark.parametrize("version", files.CLASSIC)
def test_texts_have_no_nul_wherever_it_stands(tmp_path, version):
    texts = {"inner": "a\0b", "end": "ab\0\0", "start": "\0ab", "only": "\0", "all": "\0a\0b\0", "none": ""}
    with netCDF4.Dataset(tmp_path / "f.nc", "w", format=version) as ds:
        for node in (ds, ds.createVariable("v", "i2", ())):
            node.setncatts({**texts, "after": "t\u00e9\0st"})
    assert b"a\0b" in (tmp_path / "f.nc").read_bytes()
    found = zaro.open(scan(tmp_path / "f.nc"))
    with netCDF4.Dataset(tmp_path / "f.nc") as expected:
        for name in ("inner", "end", "start", "only", "all", "none", "after"):
            assert found.attrs[name] == expected.getncattr(name)
            assert found["v"].attrs[name] == expected["v"].getncattr(name)


@pytest.mark.parametrize("version", files.CLASSIC)
def test_a_file_cut_anywhere_is_an_error_or_reads_as_whole(tmp_path, version):
    whole = files.classic(tmp_path / "whole.nc", version).read_bytes()
    cut = tmp_path / "cut.nc"
    for end in range(4, len(whole) - 4, 13):
        cut.write_bytes(whole[:end])
        with pytest.raises(ScanError, match=r"cut\.nc"):
            scan(cut)


def test_a_header_with_any_byte_changed_never_escapes_the_errors_of_ours(tmp_path):
    whole = files.classic(tmp_path / "whole.nc", "NETCDF3_64BIT_DATA").read_bytes()
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


def header(*names: str, rank: int = 1) -> bytes:
    """A file of variables of these names, each of a few bytes of its header."""

    def text(name: str) -> bytes:
        return struct.pack(">I", len(name)) + name.encode().ljust(-(-len(name) // 4) * 4, b"\0")

    found = b"CDF\x01" + struct.pack(">III", 0, 10, 1) + text("x") + struct.pack(">I", 1) + bytes(8)
    found += struct.pack(">II", 11, len(names))
    for name in names:
        found += text(name) + struct.pack(">I", rank) + bytes(4 * rank + 8) + struct.pack(">III", 4, 4, 8)
    return found


@pytest.mark.parametrize(
    ("names", "rank", "reason"),
    [
        (("v", "v"), 1, "variable 'v': is the name of two"),
        (("../v",), 1, r"variable '\.\./v': is no path"),
        (("/v",), 1, "variable '/v': is no path"),
        (("",), 1, "is the name of two"),
        (("v",), 33, "variable 'v': has 33 dimensions and 4 bytes, expected 32"),
    ],
)
def test_what_no_set_could_hold_is_an_error_that_names_it(tmp_path, names, rank, reason):
    (tmp_path / "f.nc").write_bytes(header("good"))
    assert zaro.open(scan(tmp_path / "f.nc"))["good"].shape == (1,)
    (tmp_path / "f.nc").write_bytes(header(*names, rank=rank))
    with pytest.raises(ScanError, match=rf"f\.nc: {reason}"):
        scan(tmp_path / "f.nc")
