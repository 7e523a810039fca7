"""GRIB: values of every field are those that ecCodes decodes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from grib_files import RNG, SAMPLES, N, decoded, fields, joined_message, message

import zaro
from zaro.errors import ScanError
from zaro.scan import scan
from zaro.scan.gribfile import fields_of


def test_each_message_is_a_chunk_with_the_values_of_eccodes(tmp_path):
    found = fields()
    (tmp_path / "f.grib2").write_bytes(b"header of the line\r\n" + b"\n".join(found.values()))
    refs = scan(tmp_path / "f.grib2", inline_threshold=0)
    array = zaro.open(refs)["t"]
    assert array.shape == (3, 2, 31, 16)
    assert array.chunks == (1, 1, 31, 16)
    for s, step in enumerate((0, 6, 12)):
        for k, level in enumerate((850, 500)):
            np.testing.assert_array_equal(array[s, k].reshape(-1), decoded(found[step, level]))
    with xr.open_dataset(refs, engine="zaro", decode_timedelta=True) as ds:
        assert ds["t"].dims == ("step", "isobaricInhPa", "latitude", "longitude")
        assert ds["isobaricInhPa"].values.tolist() == [850, 500]
        assert ds["step"].values.tolist() == [int(h * 3.6e12) for h in (0, 6, 12)]
        assert np.isnan(ds["t"].values).sum() == len(range(0, N, 7))


def test_cfgrib_finds_the_same(tmp_path):
    (tmp_path / "f.grib2").write_bytes(b"".join(fields().values()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = xr.open_dataset(
            tmp_path / "f.grib2", engine="cfgrib", backend_kwargs={"indexpath": ""}
        ).load()
    with xr.open_dataset(scan(tmp_path / "f.grib2"), engine="zaro", decode_timedelta=True) as found:
        for name in ("t", "latitude", "longitude", "time", "step"):
            np.testing.assert_allclose(
                found[name].values.astype("f8"), expected[name].values.astype("f8"), rtol=1e-6, err_msg=name
            )


def test_a_message_of_several_fields_has_each(tmp_path):
    one, two = (message(shortName=name, values=RNG.normal(5, 1, N)) for name in ("10u", "10v"))
    joined = joined_message(one, two)
    assert [decoded(f).tolist() for f in fields_of(joined)] == [decoded(one).tolist(), decoded(two).tolist()]
    (tmp_path / "multi.grib2").write_bytes(joined)
    root = zaro.open(scan(tmp_path / "multi.grib2"))
    np.testing.assert_array_equal(root["u10"][...].reshape(-1), decoded(one))
    np.testing.assert_array_equal(root["v10"][...].reshape(-1), decoded(two))


@pytest.mark.parametrize("sample", SAMPLES)
def test_grids_of_every_kind_are_read(tmp_path, sample):
    data = message(sample)
    (tmp_path / "g.grib").write_bytes(data)
    root = zaro.open(scan(tmp_path / "g.grib"))
    values = [node for node in root.values() if "GRIB_gridType" in node.attrs]
    assert len(values) == 1
    np.testing.assert_array_equal(values[0][...].reshape(-1), decoded(data))


def test_the_same_field_twice_and_broken_messages_are_errors(tmp_path):
    data = message()
    (tmp_path / "twice.grib2").write_bytes(data + data)
    with pytest.raises(ScanError, match="two fields of the same place"):
        scan(tmp_path / "twice.grib2")
    (tmp_path / "cut.grib2").write_bytes(data[:-10])
    with pytest.raises(ScanError, match="does not end with 7777"):
        scan(tmp_path / "cut.grib2")
