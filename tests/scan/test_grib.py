"""GRIB: values of every field are those that ecCodes decodes."""

from __future__ import annotations

import warnings

import eccodes
import numpy as np
import pytest
import scan_files as files
import xarray as xr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan
from zaro.scan.gribfile import fields_of


def message(sample="regular_ll_sfc_grib2", *, values=None, missing=False, **keys) -> bytes:
    handle = eccodes.codes_grib_new_from_samples(sample)
    for key, value in keys.items():
        eccodes.codes_set(handle, key, value)
    if missing:
        eccodes.codes_set(handle, "bitmapPresent", 1)
        eccodes.codes_set(handle, "missingValue", 9999.0)
    if values is not None:
        eccodes.codes_set_values(handle, values)
    data = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return data


def decoded(data: bytes) -> np.ndarray:
    handle = eccodes.codes_new_from_message(data)
    values = eccodes.codes_get_values(handle)
    if eccodes.codes_get(handle, "bitmapPresent"):
        values[values == eccodes.codes_get(handle, "missingValue")] = np.nan
    eccodes.codes_release(handle)
    return values


RNG = np.random.default_rng(9)
N = 31 * 16


def fields():
    """Messages by (step, level), one of them with values missing."""
    found = {}
    for step in (0, 6, 12):
        for level in (500, 850):
            values = RNG.normal(280, 10, N)
            odd = (step, level) == (6, 850)
            if odd:
                values[::7] = 9999.0
            found[step, level] = message(
                "regular_ll_pl_grib2", values=values, missing=odd, step=step, level=level, shortName="t"
            )
    return found


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


def test_kerchunks_documents_read_through_ours_and_ours_through_kerchunk(tmp_path):
    from kerchunk.grib2 import scan_grib

    file = tmp_path / "f.grib2"
    file.write_bytes(b"".join(fields().values()))
    refs = scan(file, inline_threshold=0)
    how = {"decode_timedelta": True}
    with xr.open_dataset(refs, engine="zaro", **how) as ours:
        with xr.open_dataset(files.document(refs), engine="kerchunk", **how) as found:
            xr.testing.assert_identical(found.load(), ours.load())
        for document in scan_grib(str(file)):  # one for each message
            with (
                xr.open_dataset(document, engine="kerchunk", **how) as theirs,
                xr.open_dataset(document, engine="zaro", **how) as found,
            ):
                xr.testing.assert_identical(found.load(), theirs.load())
                same = ours["t"].sel(step=theirs["step"].values, isobaricInhPa=theirs["isobaricInhPa"].values)
                np.testing.assert_array_equal(found["t"].values, same.values)


def test_a_message_of_several_fields_has_each(tmp_path):
    one, two = (message(shortName=name, values=RNG.normal(5, 1, N)) for name in ("10u", "10v"))
    repeated = b"".join(two[a:b] for a, b in sections(two) if two[a + 4] >= 4)
    joined = one[:-4] + repeated + b"7777"
    joined = joined[:8] + len(joined).to_bytes(8, "big") + joined[16:]
    assert [decoded(f).tolist() for f in fields_of(joined)] == [decoded(one).tolist(), decoded(two).tolist()]
    (tmp_path / "multi.grib2").write_bytes(joined)
    root = zaro.open(scan(tmp_path / "multi.grib2"))
    np.testing.assert_array_equal(root["u10"][...].reshape(-1), decoded(one))
    np.testing.assert_array_equal(root["v10"][...].reshape(-1), decoded(two))


def sections(data: bytes):
    at = 16
    while at < len(data) - 4:
        length = int.from_bytes(data[at : at + 4], "big")
        yield at, at + length
        at += length


@pytest.mark.parametrize(
    "sample",
    [
        "reduced_gg_sfc_grib2",
        "polar_stereographic_sfc_grib2",
        "regular_gg_sfc_grib2",
        "rotated_ll_sfc_grib2",
        "regular_ll_sfc_grib1",
        "sh_ml_grib2",
    ],
)
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
