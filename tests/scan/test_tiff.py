"""TIFF: values of every image are those that tifffile reads."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scan_files as files
import tifffile
import xarray as xr
import zarr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan
from zaro.scan.codecs import PackBits, TiffPredictor

RNG = np.random.default_rng(8)
GREY = RNG.integers(0, 60000, (101, 83)).astype("u2")
RGB = RNG.integers(0, 255, (101, 83, 3)).astype("u1")
HOW = {
    "plain": {},
    "strips": {"rowsperstrip": 8},
    "deflated strips": {"compression": "zlib", "rowsperstrip": 8},
    "one strip": {"compression": "zlib"},
    "tiles": {"tile": (16, 32)},
    "deflated tiles": {"compression": "zlib", "tile": (32, 16)},
    "differences": {"compression": "zlib", "predictor": 2, "tile": (32, 16)},
    "strips of differences": {"compression": "zlib", "predictor": 2, "rowsperstrip": 8},
    "lzma": {"compression": "lzma", "rowsperstrip": 50},
}


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("how", HOW)
def test_every_layout_reads_as_tifffile_reads_it(tmp_path, how, byteorder, inline):
    cases = {
        "grey": (GREY, {}),
        "float": (GREY.astype("f4") / 7, {}),
        "rgb": (RGB, {"photometric": "rgb"}),
        "planes": (RGB.transpose(2, 0, 1).copy(), {"photometric": "rgb", "planarconfig": "separate"}),
    }
    for name, (values, more) in cases.items():
        if name == "float" and HOW[how].get("predictor"):
            continue
        file = tmp_path / f"{name}.tif"
        tifffile.imwrite(file, values, byteorder=byteorder, **HOW[how], **more)
        found = zaro.open(scan(file, inline_threshold=inline))["data"]
        np.testing.assert_array_equal(found[...], tifffile.imread(file))
        np.testing.assert_array_equal(found[...], values)


def test_strips_are_chunks_and_the_last_may_be_short(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", GREY, compression="zlib", rowsperstrip=8)
    refs = scan(tmp_path / "s.tif", inline_threshold=0)
    assert zaro.open(refs)["data"].chunks == (8, 83)
    assert isinstance(refs["data/12.0"], bytes)
    assert isinstance(refs["data/11.0"], list)
    with pytest.raises(ScanError, match="last strips of 5 rows"):
        scan(tmp_path / "s.tif", unsupported_inline_threshold=100)


def test_pages_stand_along_a_dimension(tmp_path):
    stack = RNG.integers(0, 99, (4, 33, 21)).astype("i2")
    tifffile.imwrite(tmp_path / "stack.tif", stack, compression="zlib", photometric="minisblack")
    tifffile.imwrite(tmp_path / "plain.tif", stack, photometric="minisblack")
    for name in ("stack", "plain"):
        array = zaro.open(scan(tmp_path / f"{name}.tif"))["data"]
        np.testing.assert_array_equal(array[...], stack)
        assert array.dims[1:] == ("y", "x")


def test_overviews_are_groups_with_coordinates_of_their_own(tmp_path):
    file = tmp_path / "cog.tif"
    tags = [
        (33550, "d", 3, (10.0, 20.0, 0.0)),
        (33922, "d", 6, (0.0, 0.0, 0.0, 300000.0, 5200000.0, 0.0)),
        (34735, "H", 16, (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632)),
        (42113, "s", 5, "-99\0"),
    ]
    values = np.arange(64 * 48, dtype="i2").reshape(64, 48)
    with tifffile.TiffWriter(file) as writer:
        writer.write(values, tile=(16, 16), compression="zlib", subifds=2, extratags=tags, metadata=None)
        for k in (2, 4):
            writer.write(values[::k, ::k], tile=(16, 16), compression="zlib", subfiletype=1, metadata=None)
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


def test_zarr_and_kerchunk_read_our_document(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", GREY, compression="zlib", predictor=2, rowsperstrip=8)
    refs = scan(tmp_path / "s.tif")
    with xr.open_dataset(files.document(refs), engine="kerchunk") as ds:
        np.testing.assert_array_equal(ds["data"], GREY)
    assert zarr.__version__


@pytest.mark.parametrize("kind", ["u1", "<u2", ">u4", "<f4", ">f8"])
@pytest.mark.parametrize("predictor", [2, 3])
@pytest.mark.parametrize("samples", [1, 3])
def test_predictors_are_inverse(kind, predictor, samples):
    values = (RNG.normal(size=(4, 9, samples)) * 100).astype(kind)
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


def test_a_damaged_file_is_an_error_that_names_it(tmp_path):
    tifffile.imwrite(tmp_path / "s.tif", GREY, compression="zlib", rowsperstrip=8)
    whole = (tmp_path / "s.tif").read_bytes()
    (tmp_path / "cut.tif").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ScanError, match=r"cut\.tif"):
        scan(tmp_path / "cut.tif")


IMAGES = {
    "lzw": {"compression": "lzw"},
    "lzw of differences": {"compression": "lzw", "predictor": 2},
    "jpeg": {"compression": "jpeg"},
    "jpeg 2000": {"compression": "jpeg2000"},
    "webp": {"compression": "webp"},
}


@pytest.mark.parametrize("how", [*sorted(HOW.keys() - {"lzma"}), "lzw", "jpeg"])
def test_kerchunks_document_reads_through_ours_and_ours_through_kerchunk(tmp_path, how):
    from kerchunk.tiff import tiff_to_zarr

    settings = HOW.get(how, {"compression": how, "tile": (32, 16)})
    if how in ("lzw", "jpeg"):
        pytest.importorskip("imagecodecs")
    values = (GREY[:96, :80] % 256).astype("u1")
    file = tmp_path / "f.tif"
    # without notes of its own on the shape, which kerchunk stumbles over
    tifffile.imwrite(file, values, metadata=None, **settings)
    expected = tifffile.imread(file)
    document = tiff_to_zarr(str(file))
    np.testing.assert_array_equal(zaro.open(document)[...], expected)
    with xr.open_dataset(files.document(scan(file, inline_threshold=0)), engine="kerchunk") as ds:
        np.testing.assert_array_equal(ds["data"].values, expected)


@pytest.mark.parametrize("how", IMAGES)
def test_images_that_imagecodecs_decodes_read_as_tifffile_reads_them(tmp_path, how):
    pytest.importorskip("imagecodecs")
    smooth = (np.add.outer(np.arange(101), np.arange(83)) % 256).astype("u1")
    cases = {"rgb": (np.stack([smooth, smooth[::-1], 255 - smooth], -1), {"photometric": "rgb"})}
    if how != "webp":
        cases["grey"] = smooth, {}
    for name, (values, more) in cases.items():
        tifffile.imwrite(tmp_path / f"{name}.tif", values, tile=(32, 48), **IMAGES[how], **more)
        refs = scan(tmp_path / f"{name}.tif", inline_threshold=0, unsupported_inline_threshold=0)
        assert isinstance(refs["data/0.0.0" if name == "rgb" else "data/0.0"], list)
        np.testing.assert_array_equal(
            zaro.open(refs)["data"][...], tifffile.imread(tmp_path / f"{name}.tif"), name
        )


def test_without_imagecodecs_the_error_names_it(tmp_path, monkeypatch):
    pytest.importorskip("imagecodecs")
    tifffile.imwrite(tmp_path / "f.tif", GREY, tile=(32, 48), compression="lzw")
    monkeypatch.setattr(sys.modules["zaro.scan.tiff"], "with_imagecodecs", lambda name: False)
    with pytest.raises(ScanError, match="compressed by LZW, whose decoder needs the package imagecodecs"):
        scan(tmp_path / "f.tif", unsupported_inline_threshold=0)
