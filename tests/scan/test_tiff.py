"""TIFF: values of every image are those that tifffile reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tiff_images as images
import tifffile
import xarray as xr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan
from zaro.scan.codecs import PackBits, TiffPredictor


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("how", images.HOW)
def test_every_layout_reads_as_tifffile_reads_it(tmp_path, how, byteorder, inline):
    for name, (values, more) in images.KINDS.items():
        if name == "float" and images.HOW[how].get("predictor"):
            continue
        file = tmp_path / f"{name}.tif"
        tifffile.imwrite(file, values, byteorder=byteorder, **images.HOW[how], **more)
        found = zaro.open(scan(file, inline_threshold=inline))["data"]
        np.testing.assert_array_equal(found[...], tifffile.imread(file))
        np.testing.assert_array_equal(found[...], values)


def test_strips_are_chunks_and_the_last_may_be_short(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", images.GREY, compression="zlib", rowsperstrip=8)
    refs = scan(tmp_path / "s.tif", inline_threshold=0)
    assert zaro.open(refs)["data"].chunks == (8, 83)
    assert isinstance(refs["data/12.0"], bytes)
    assert isinstance(refs["data/11.0"], list)
    with pytest.raises(ScanError, match="last strips of 5 rows"):
        scan(tmp_path / "s.tif", unsupported_inline_threshold=100)


def test_pages_stand_along_a_dimension(tmp_path):
    stack = images.RNG.integers(0, 99, (4, 33, 21)).astype("i2")
    tifffile.imwrite(tmp_path / "stack.tif", stack, compression="zlib", photometric="minisblack")
    tifffile.imwrite(tmp_path / "plain.tif", stack, photometric="minisblack")
    for name in ("stack", "plain"):
        array = zaro.open(scan(tmp_path / f"{name}.tif"))["data"]
        np.testing.assert_array_equal(array[...], stack)
        assert array.dims[1:] == ("y", "x")


def test_overviews_are_groups_with_coordinates_of_their_own(tmp_path):
    file = tmp_path / "cog.tif"
    values = images.with_overviews(file)
    refs = scan(file)
    with xr.open_datatree(refs, engine="zaro", mask_and_scale=False) as tree:
        for name, k in (("0", 1), ("1", 2), ("2", 4)):
            ds = tree[name].to_dataset()
            np.testing.assert_array_equal(ds["data"], values[::k, ::k])
            np.testing.assert_allclose(ds["x"], 300000 + 10 * k * (np.arange(48 // k) + 0.5))
            np.testing.assert_allclose(ds["y"], 5200000 - 20 * k * (np.arange(64 // k) + 0.5))
            assert ds.attrs["proj:code"] == "EPSG:32632"
            assert ds.attrs["spatial:transform"] == [10.0 * k, 0.0, 300000.0, 0.0, -20.0 * k, 5200000.0]
        assert tree["0/data"].attrs["_FillValue"] == -99


@pytest.mark.parametrize("kind", ["u1", "<u2", ">u4", "<f4", ">f8"])
@pytest.mark.parametrize("predictor", [2, 3])
@pytest.mark.parametrize("samples", [1, 3])
def test_predictors_are_inverse(kind, predictor, samples):
    values = (images.RNG.normal(size=(4, 9, samples)) * 100).astype(kind)
    codec = TiffPredictor(predictor, kind, 9, samples)
    np.testing.assert_array_equal(
        np.asarray(codec.decode(codec.encode(values))).view(kind), values.reshape(-1)
    )


def test_packbits_unpacks_runs():
    packed = bytes.fromhex("FE AA 02 80 00 2A FD AA 03 80 00 2A 22 F7 AA".replace(" ", ""))
    unpacked = bytes.fromhex(
        "AA AA AA 80 00 2A AA AA AA AA 80 00 2A 22 AA AA AA AA AA AA AA AA AA AA".replace(" ", "")
    )
    assert PackBits().decode(packed) == unpacked
    assert PackBits().decode(PackBits().encode(unpacked)) == unpacked
    assert PackBits().decode_within(packed, len(unpacked)) == unpacked
    with pytest.raises(ValueError, match="more than 23 bytes"):
        PackBits().decode_within(packed, len(unpacked) - 1)


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", images.GREY, compression="zlib", rowsperstrip=8)
    whole = (tmp_path / "s.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ScanError, match=r"cut\.tif"):
        scan(tmp_path / "cut.tif")


@pytest.mark.parametrize("how", images.IMAGES)
def test_images_that_imagecodecs_decodes_read_as_tifffile_reads_them(tmp_path, how):
    pytest.importorskip("imagecodecs")
    smooth = (np.add.outer(np.arange(101), np.arange(83)) % 256).astype("u1")
    cases = {"rgb": (np.stack([smooth, smooth[::-1], 255 - smooth], -1), {"photometric": "rgb"})}
    if how != "webp":
        cases["grey"] = smooth, {}
    for name, (values, more) in cases.items():
        tifffile.imwrite(tmp_path / f"{name}.tif", values, tile=(32, 48), **images.IMAGES[how], **more)
        refs = scan(tmp_path / f"{name}.tif", inline_threshold=0, unsupported_inline_threshold=0)
        assert isinstance(refs["data/0.0.0" if name == "rgb" else "data/0.0"], list)
        np.testing.assert_array_equal(
            zaro.open(refs)["data"][...], tifffile.imread(tmp_path / f"{name}.tif"), name
        )


def test_without_imagecodecs_the_error_names_it(tmp_path, monkeypatch):
    pytest.importorskip("imagecodecs")
    tifffile.imwrite(tmp_path / "f.tif", images.GREY, tile=(32, 48), compression="lzw")
    monkeypatch.setattr(sys.modules["zaro.scan.tiff"], "with_imagecodecs", lambda name: False)
    with pytest.raises(ScanError, match="compressed by LZW, whose decoder needs the package imagecodecs"):
        scan(tmp_path / "f.tif", unsupported_inline_threshold=0)


@pytest.mark.parametrize("inline", [0, 10_000])
@pytest.mark.parametrize(
    "how", [{"imagej": True}, {"photometric": "minisblack"}, {"photometric": "minisblack", "rowsperstrip": 5}]
)
@pytest.mark.parametrize("shape", [(4, 33, 21), (2, 3, 33, 21)])
def test_images_behind_the_only_one_that_is_noted_are_read(tmp_path, shape, how, inline):
    stack = np.arange(np.prod(shape), dtype="u2").reshape(shape)
    tifffile.imwrite(tmp_path / "s.tif", stack, truncate=True, **how)
    with tifffile.TiffFile(tmp_path / "s.tif") as file:
        assert len(file.pages) == 1
    found = zaro.open(scan(tmp_path / "s.tif", inline_threshold=inline))["data"]
    assert found.shape == shape
    np.testing.assert_array_equal(found[...], stack)


def test_images_that_are_not_in_the_file_are_an_error(tmp_path):
    stack = np.arange(4 * 33 * 21, dtype="u2").reshape(4, 33, 21)
    tifffile.imwrite(tmp_path / "s.tif", stack, truncate=True, photometric="minisblack")
    raw = (tmp_path / "s.tif").read_bytes()
    (tmp_path / "s.tif").write_bytes(raw[:-2000])
    with pytest.raises(ScanError, match="variable 'data': ends behind the file"):
        scan(tmp_path / "s.tif")


OME = (
    '<?xml version="1.0" encoding="UTF-8"?><OME xmlns="http://www.openmicroscopy.org/Schemas/OME/2016-06" '
    'UUID="urn:uuid:{0}"><Image ID="Image:0"><Pixels ID="Pixels:0" DimensionOrder="XYZCT" Type="uint8" '
    'SizeX="40" SizeY="30" SizeC="1" SizeZ="2" SizeT="1"><Channel ID="Channel:0:0" SamplesPerPixel="1"/>'
    '<TiffData IFD="0" FirstZ="0" PlaneCount="1"><UUID FileName="one.ome.tif">urn:uuid:1</UUID></TiffData>'
    '<TiffData IFD="0" FirstZ="1" PlaneCount="1"><UUID FileName="two.ome.tif">urn:uuid:2</UUID></TiffData>'
    "</Pixels></Image></OME>"
)


def test_images_in_other_files_are_an_error_and_not_taken_from_this_one(tmp_path):
    for number, name in ((1, "one"), (2, "two")):
        image, text = np.full((30, 40), number, "u1"), OME.format(number)
        tifffile.imwrite(tmp_path / f"{name}.ome.tif", image, description=text, metadata=None)
    assert tifffile.imread(tmp_path / "one.ome.tif").max() == 2
    with pytest.raises(ScanError, match="variable 'data': has images in other files"):
        scan(tmp_path / "one.ome.tif")
    (tmp_path / "two.ome.tif").unlink()
    with pytest.raises(ScanError, match="variable 'data': lacks some of its images"):
        scan(tmp_path / "one.ome.tif")
