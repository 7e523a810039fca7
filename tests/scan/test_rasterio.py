"""TIFF as GDAL writes it: values, coordinates, nodata and reference system are those that rasterio reads."""

from __future__ import annotations

import itertools
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import rasterio
import tifffile
import xarray as xr
from rasterio.enums import Resampling
from rasterio.transform import Affine

import zaro
from zaro.errors import ScanError
from zaro.scan import scan

pytestmark = pytest.mark.filterwarnings(
    "ignore::PendingDeprecationWarning", "ignore::rasterio.errors.NotGeoreferencedWarning"
)
HEIGHT, WIDTH = 101, 83
STEPS = np.add.outer(np.arange(HEIGHT) // 7, np.arange(WIDTH) // 5) + np.arange(4)[:, None, None]
WHERE = Affine(10, 0, 300000, 0, -20, 5200000)
LAYOUTS = {
    "tiles": {"tiled": True, "blockxsize": 32, "blockysize": 16},
    "strips": {"blockysize": 8},
    "one strip": {"blockysize": HEIGHT},
}
PACKED = ["none", "deflate", "zstd", "packbits", "lzma", "lzw"]
DTYPES = ["uint8", "int8", "uint16", "int32", "float32", "float64", "complex64"]


def write(file, values, *, overviews=(), transform=WHERE, crs="EPSG:32632", driver="GTiff", **how):
    values = values if values.ndim == 3 else values[None]
    shape = dict(zip(("count", "height", "width"), values.shape, strict=True))
    how = {"dtype": values.dtype, "transform": transform, "crs": crs, **shape, **how}
    with rasterio.open(file, "w", driver=driver, **how) as dataset:
        dataset.write(values)
        if overviews:
            dataset.build_overviews(overviews, Resampling.nearest)
    return file


def bands_first(array):
    values = array.values
    return values[None] if values.ndim == 2 else np.moveaxis(values, array.dims.index("band"), 0)


def assert_as_rasterio(file):
    with rasterio.open(file) as dataset:
        overviews = dataset.overviews(1)
    refs = scan(file, inline_threshold=0)
    with xr.open_datatree(refs, engine="zaro", mask_and_scale=False) as tree:
        for k in range(len(overviews) + 1):
            how = {"overview_level": k - 1} if k else {}
            with rasterio.open(file, **how) as expected:
                found = (tree[str(k)] if overviews else tree).to_dataset()
                assert_same(found, expected)


def assert_same(found, expected):
    values, read = bands_first(found["data"]), expected.read()
    assert values.dtype.newbyteorder("=") == read.dtype
    np.testing.assert_array_equal(values, read)
    a, b, c, d, e, f = list(expected.transform)[:6]
    np.testing.assert_allclose(found.attrs["spatial:transform"], [a, b, c, d, e, f], rtol=1e-12)
    if not b and not d:
        np.testing.assert_allclose(found["x"], c + a * (np.arange(expected.width) + 0.5), rtol=1e-12)
        np.testing.assert_allclose(found["y"], f + e * (np.arange(expected.height) + 0.5), rtol=1e-12)
    code = found.attrs.get("proj:code")
    if code is None:
        assert expected.crs is None or expected.crs.to_epsg() is None
    else:
        assert rasterio.crs.CRS.from_user_input(code) == expected.crs
    np.testing.assert_equal(found["data"].attrs.get("_FillValue"), expected.nodata)
    if not b and not d and "+" not in (code or ""):  # see the test of systems without a key of the unit
        assert_unit(found, expected.crs)


def assert_unit(found, crs):
    """Both axes have the unit that rasterio tells, and none where it tells none."""
    x, y = (found[name].attrs for name in ("x", "y"))
    name, size = crs.units_factor if crs else ("unknown", 1.0)
    if name == "unknown" and size == 1:
        assert "units" not in x
        assert "units" not in y
    else:
        assert y["units"] == ("degrees_north" if x["units"] == "degrees_east" else x["units"])
        assert metres(x["units"]) == pytest.approx(size, rel=1e-12)
        assert ("longitude" in x["standard_name"]) == crs.is_geographic


UDUNITS = {"m": 1, "mm": 0.001, "cm": 0.01, "km": 1000, "foot": 0.3048, "yard": 0.9144, "mile": 1609.344}
UDUNITS |= {"nautical_mile": 1852, "US_survey_foot": 1200 / 3937, "US_survey_mile": 5280 * 1200 / 3937}
UDUNITS |= {"radian": 1, "arc_minute": np.pi / 10800, "arc_second": np.pi / 648000, "grade": np.pi / 200}
UDUNITS["degrees_east"] = np.pi / 180


def metres(text):
    """Size of a unit of UDUNITS, as its tables have it; radians of an angle."""
    number, _, name = text.rpartition(" ")
    return float(number or 1) * UDUNITS[name]


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_and_types_read_as_rasterio_reads_them(tmp_path, layout, packed):
    if packed == "lzw":
        pytest.importorskip("imagecodecs")
    kinds = itertools.product(DTYPES, ["pixel", "band"], [1, 3], ["LITTLE", "BIG"], [1, 2, 3])
    for dtype, interleave, bands, order, predictor in kinds:
        little = dtype != "complex64" or order == "LITTLE"
        fitting = {1: True, 2: little, 3: dtype.startswith("float")}[predictor]
        if not fitting or (predictor > 1 and packed in ("none", "packbits", "lzma")):
            continue  # GDAL writes no such file
        if interleave == "band" and bands == 1:
            continue
        how = LAYOUTS[layout] | {"interleave": interleave, "ENDIANNESS": order, "nodata": 5}
        how |= {"compress": packed} if packed != "none" else {}
        how |= {"predictor": predictor} if predictor > 1 else {}
        values = STEPS[:bands] * (1 + 0.5j) if dtype == "complex64" else STEPS[:bands]
        assert_as_rasterio(write(tmp_path / "f.tif", values.astype(dtype), **how))


U2 = STEPS[0].astype("u2")
F4 = (STEPS[0] / 3).astype("f4")
TILED = {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}
FILES = {
    "overviews": (U2, {**TILED, "predictor": 2, "overviews": (2, 4)}),
    "overviews of pixels": (STEPS[:3].astype("u1"), {**TILED, "interleave": "pixel", "overviews": (2, 4)}),
    "overviews of bands": (STEPS[:3].astype("u1"), {**TILED, "interleave": "band", "overviews": (2, 4)}),
    "overviews of strips": (U2, {"compress": "zstd", "overviews": (2,)}),
    "cog": (np.tile(U2, (3, 4)), {"driver": "COG", "compress": "deflate", "blocksize": 128}),
    "cog of floats": (F4, {"driver": "COG", "compress": "zstd", "predictor": "YES", "nodata": np.nan}),
    "bigtiff": (U2, {**TILED, "BIGTIFF": "YES"}),
    "big bigtiff": (U2, {**TILED, "BIGTIFF": "YES", "ENDIANNESS": "BIG", "predictor": 2}),
    "rotated": (U2, {"transform": Affine(8, 5, 1000, 3, -7, 2000)}),
    "south up": (U2, {"transform": Affine(10, 0, 5, 0, 10, 7)}),
    "geographic": (U2, {"transform": Affine(0.5, 0, -180, 0, -0.25, 90), "crs": "EPSG:4326"}),
    "two systems": (U2, {"crs": "EPSG:32632+5773"}),
    "no code": (U2, {"crs": "+proj=laea +lat_0=10 +lon_0=20 +datum=WGS84 +units=m"}),
    "lowest float": (F4, {"nodata": -3.4028234663852886e38}),
    "infinite": (F4, {"nodata": -np.inf}),
    "lowest byte": (STEPS[0].astype("i1"), {"nodata": -128}),
    "alpha": (STEPS.astype("u1"), {"photometric": "rgb", "interleave": "pixel", "compress": "deflate"}),
    "blocks that are not there": (U2 * 0, {**TILED, "SPARSE_OK": "TRUE"}),
    "nodata that is not there": (U2 * 0 + 9, {**TILED, "SPARSE_OK": "TRUE", "nodata": 9}),
    "one pixel": (U2[:1, :1], {}),
    "one row": (U2[:1], {}),
    "one column": (U2[:, :1], {}),
    "a tile that is larger": (U2[:40, :50], {"tiled": True, "blockxsize": 256, "blockysize": 256}),
    "lerc of integers": (U2, {"compress": "lerc", "nodata": 7}),
    "jpeg": (STEPS[0].astype("u1"), {**TILED, "compress": "jpeg"}),
    "jpeg of pixels": (
        STEPS[:3].astype("u1"),
        {**TILED, "compress": "jpeg", "photometric": "rgb", "interleave": "pixel"},
    ),
    "jpeg of bands": (STEPS[:3].astype("u1"), {**TILED, "compress": "jpeg", "interleave": "band"}),
    "webp": (
        STEPS[:3].astype("u1"),
        {**TILED, "compress": "webp", "webp_lossless": True, "interleave": "pixel"},
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files_read_as_rasterio_reads_them(tmp_path, case):
    values, how = FILES[case]
    if how.get("compress") in ("lerc", "jpeg", "webp"):
        pytest.importorskip("imagecodecs")
    assert_as_rasterio(write(tmp_path / "f.tif", values, **how))


def test_a_transform_of_points_is_one_of_centres(tmp_path):
    write(tmp_path / "f.tif", U2)
    with rasterio.open(tmp_path / "f.tif", "r+") as dataset:
        dataset.update_tags(AREA_OR_POINT="Point")
    assert_as_rasterio(tmp_path / "f.tif")


def test_images_of_several_sizes_have_dimensions_of_their_own(tmp_path):
    file = write(tmp_path / "f.tif", U2)
    write(file, F4[:50, :40], transform=Affine(1, 0, 0, 0, -1, 0), APPEND_SUBDATASET="YES")
    write(file, STEPS[:3].astype("u1"), APPEND_SUBDATASET="YES", interleave="pixel")
    with xr.open_dataset(scan(file), engine="zaro") as found:
        assert found["data"].dims == ("y", "x")
        assert found["data_1"].dims == ("y_1", "x_1")
        assert found["data_2"].dims == ("y", "x", "band")
        np.testing.assert_allclose(found["x"], 300000 + 10 * (np.arange(WIDTH) + 0.5))
        np.testing.assert_allclose(found["x_1"], np.arange(40) + 0.5)
        np.testing.assert_array_equal(found["data_1"], F4[:50, :40])


@pytest.mark.parametrize("scales", [(0.5, 0.5), (0.5, 2.0)])
def test_scales_are_attributes_that_xarray_decodes_where_bands_share_them(tmp_path, scales):
    file = write(tmp_path / "f.tif", STEPS[:2].astype("i2"), interleave="band")
    with rasterio.open(file, "r+") as dataset:
        dataset.scales, dataset.offsets, dataset.units = scales, (3.0, 3.0), ('K & "C"', 'K & "C"')
        dataset.set_band_description(1, "first")
    with xr.open_dataset(scan(file), engine="zaro") as found:
        attrs = found["data"].attrs
        assert attrs["units"] == 'K & "C"'
        assert attrs["band_names"] == ["first", ""]
        if scales[0] == scales[1]:
            np.testing.assert_allclose(found["data"], STEPS[:2] * 0.5 + 3)
        else:
            assert attrs["scales"] == [0.5, 2.0]
            assert attrs["offsets"] == [3.0, 3.0]
            np.testing.assert_array_equal(found["data"], STEPS[:2])


def test_a_reference_system_without_a_code_is_described(tmp_path):
    file = write(tmp_path / "f.tif", U2, crs="+proj=laea +lat_0=10 +lon_0=20 +datum=WGS84 +units=m")
    with xr.open_dataset(scan(file), engine="zaro") as found:
        assert found.attrs["geotiff_keys"]["ProjCenterLongGeoKey"] == 20


def test_masks_of_lerc_are_no_values(tmp_path):
    values = F4.copy()
    values[10:50, 20:70] = np.nan
    file = write(tmp_path / "f.tif", values, compress="lerc")
    with pytest.raises(ScanError, match="'data': is compressed by LERC, whose masks of missing"):
        scan(file)


INTEGERS = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"]
NODATA = [
    "0",
    "-0",
    "+5",
    "5.",
    "5,0",
    "  5",
    "127.00",
    "255",
    "255.0",
    "-1",
    "-128",
    "-9999.0",
    "256",
    "nan",
    "inf",
]
NODATA += ["-32768.000000", "65535", "-2147483648", "4294967295", "9007199254740993", "9007199254740993.0"]
NODATA += ["9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", ""]


def nodata_of(file, values, text):
    """The fill value of a file with this text, and which of the values rasterio masks."""
    tifffile.imwrite(file, values, extratags=[(42113, "s", 0, text, True)])
    with rasterio.open(file) as dataset:
        masked = dataset.read_masks(1) == 0
    return json.loads(bytes(scan(file)["data/.zarray"]))["fill_value"], values[masked].tolist()


@pytest.mark.parametrize("text", NODATA)
@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_without_data_are_those_that_rasterio_masks(tmp_path, kind, text):
    limits = np.iinfo(kind)
    near = {0, 1, 5, 6, 127, 255, 256, -1, -128, -9999, -32768, 65535, 2**32 - 1, -(2**31)}
    near |= {
        2**53,
        2**53 + 1,
        2**53 + 2,
        limits.min,
        limits.min + 1,
        limits.max - 1,
        limits.max,
        2**63 - 1,
        2**63,
    }
    values = np.array([sorted(v for v in near if limits.min <= v <= limits.max)], kind)
    number = text.split(".")[0].split(",")[0]
    whole = int(number) if number.strip("+- ").isdecimal() else None
    fill, masked = nodata_of(tmp_path / "f.tif", values, text)
    if whole is not None and limits.min <= whole <= limits.max:
        assert fill == whole
        assert masked == [whole]
    else:  # of 64 bits, GDAL takes the nearest number that there is, and 0 for a text
        assert fill is None
        assert masked == [] or kind in ("u8", "i8")


@pytest.mark.parametrize(
    "text", ["5.5", "9007199254740993.5", "1e999999999", "-1e999999999", "abc", "sNaN", "1e"]
)
@pytest.mark.parametrize("kind", INTEGERS)
def test_a_text_that_is_no_integer_of_the_type_is_no_nodata(tmp_path, kind, text):
    tifffile.imwrite(tmp_path / "f.tif", np.ones((3, 4), kind), extratags=[(42113, "s", 0, text, True)])
    with xr.open_dataset(scan(tmp_path / "f.tif"), engine="zaro", mask_and_scale=False) as found:
        assert "_FillValue" not in found["data"].attrs


def test_nodata_of_64_bits_reaches_xarray_exactly(tmp_path):
    for kind, value in (("u8", 2**64 - 1), ("i8", 2**53 + 1), ("i8", 2**63 - 1)):
        values = np.full((3, 4), value, kind)
        tifffile.imwrite(tmp_path / "f.tif", values, extratags=[(42113, "s", 0, str(value), True)])
        with xr.open_dataset(scan(tmp_path / "f.tif"), engine="zaro", mask_and_scale=False) as found:
            assert int(found["data"].attrs["_FillValue"]) == value
        with xr.open_dataset(scan(tmp_path / "f.tif"), engine="zaro") as found:
            assert np.isnan(found["data"]).all()


SYSTEMS = ["EPSG:2222", "EPSG:2263", "EPSG:2314", "EPSG:24571", "EPSG:29371", "EPSG:29871", "EPSG:29872"]
SYSTEMS += ["EPSG:2066", "EPSG:2136", "EPSG:3139", "EPSG:3167", "EPSG:5472", "EPSG:22300", "EPSG:24370"]
SYSTEMS += ["EPSG:27291", "EPSG:4807", "+proj=longlat +R=3396190", None]
SYSTEMS += [
    f"+proj=utm +zone=33 +datum=WGS84 {unit}" for unit in ("+units=us-ft", "+units=km", "+to_meter=17.5")
]


@pytest.mark.parametrize("crs", SYSTEMS)
def test_units_of_axes_are_those_of_the_reference_system(tmp_path, crs):
    assert_as_rasterio(write(tmp_path / "f.tif", U2, crs=crs))


def test_units_have_the_spelling_of_udunits(tmp_path):
    for crs, unit in (
        ("EPSG:32632", "m"),
        ("EPSG:2222", "foot"),
        ("EPSG:2263", "US_survey_foot"),
        ("EPSG:24571", "20.1167824943759 m"),
        ("EPSG:4807", "grade"),
        ("EPSG:4326", "degrees_east"),
    ):
        assert unit_of_x(write(tmp_path / "f.tif", U2, crs=crs)) == unit


def unit_of_x(file):
    return zaro.open(scan(file))["x"].attrs.get("units")


PROJECTED = [(1024, 0, 1, 1), (1025, 0, 1, 1), (2048, 0, 1, 4326)]
GEOGRAPHIC = [(1024, 0, 1, 2), (1025, 0, 1, 1), (2048, 0, 1, 32767), (2050, 0, 1, 6326)]


def with_keys(file, *keys, doubles=()):
    """A file with GeoKeys of any kind: GDAL would not write these."""
    tags = [(33550, "d", 3, (1.0, 1.0, 0.0), True), (33922, "d", 6, (0.0,) * 6, True)]
    directory = [1, 1, 0, len(keys), *itertools.chain(*keys)]
    tags.append((34735, "H", len(directory), directory, True))
    if doubles:
        tags.append((34736, "d", len(doubles), doubles, True))
    tifffile.imwrite(file, np.ones((3, 4), "u1"), extratags=tags)
    return file


@pytest.mark.parametrize("model", ["projected", "geographic"])
def test_a_key_of_a_unit_means_what_it_means_to_rasterio(tmp_path, model):
    named = 0
    for code in [1025, 1033, *range(9000, 9125), 9301, 32767, 1234]:
        if model == "projected":
            keys = [*PROJECTED, (3072, 0, 1, 32767), (3074, 0, 1, 16032), (3076, 0, 1, code)]
        else:
            keys = [*GEOGRAPHIC, (2054, 0, 1, code)]
        unit = unit_of_x(with_keys(tmp_path / "f.tif", *keys))
        with rasterio.open(tmp_path / "f.tif") as dataset:
            name, size = dataset.crs.units_factor
        if unit is not None:  # GDAL takes metres or degrees for what it does not know
            named += 1
            assert name != "unknown"
            assert metres(unit) == pytest.approx(size, rel=1e-12)
    assert named == (27 if model == "projected" else 10)


@pytest.mark.parametrize(
    ("size", "unit"), [(17.5, "17.5 m"), (0.3048, "foot"), (1200 / 3937, "US_survey_foot")]
)
def test_a_unit_without_a_code_is_told_by_its_size(tmp_path, size, unit):
    keys = [*PROJECTED, (3072, 0, 1, 32767), (3074, 0, 1, 16032), (3076, 0, 1, 32767), (3077, 34736, 1, 1)]
    assert unit_of_x(with_keys(tmp_path / "f.tif", *keys, doubles=(9.0, size))) == unit
    with rasterio.open(tmp_path / "f.tif") as dataset:
        assert dataset.crs.units_factor[1] == pytest.approx(metres(unit))
    for wrong in (0.0, -1.0, np.nan, np.inf):
        assert unit_of_x(with_keys(tmp_path / "f.tif", *keys, doubles=(9.0, wrong))) is None


def test_the_key_of_the_unit_goes_before_the_code_of_a_projected_system(tmp_path):
    for unit in (9001, 9002, 9003):
        keys = (1024, 0, 1, 1), (3072, 0, 1, 2263), (3076, 0, 1, unit)
        assert_unit_of_keys(tmp_path / "f.tif", *keys)


@pytest.mark.parametrize(
    "code",
    [4258, 4267, 4269, 4326, 4801, 4803, 4807, 4810, 4811, 4813, 4816, 4819, 4821, 4901, 4902, 4903],
)
def test_the_code_of_a_geographic_system_tells_its_unit(tmp_path, code):
    assert_unit_of_keys(tmp_path / "f.tif", (1024, 0, 1, 2), (2048, 0, 1, code))


def assert_unit_of_keys(file, *keys):
    with_keys(file, *keys)
    with rasterio.open(file) as dataset:
        assert metres(unit_of_x(file)) == pytest.approx(dataset.crs.units_factor[1], rel=1e-12)


@pytest.mark.parametrize("unit", [9101, 9102, 9105, 9107])
@pytest.mark.parametrize("code", [4267, 4807])
def test_the_key_of_the_unit_goes_before_the_code_of_a_geographic_system(tmp_path, code, unit):
    assert_unit_of_keys(tmp_path / "f.tif", (1024, 0, 1, 2), (2048, 0, 1, code), (2054, 0, 1, unit))


@pytest.mark.parametrize("installed", [False, True])
def test_without_a_key_of_the_unit_pyproj_tells_it(tmp_path, monkeypatch, installed):
    def from_epsg(code):
        if code == 1999:
            raise RuntimeError("no such code")
        size, projected = {2263: (1200 / 3937, True), 32632: (1.0, True), 4326: (0.0174, False)}[code]
        axes = [SimpleNamespace(unit_conversion_factor=size)] * 2
        return SimpleNamespace(axis_info=axes, is_projected=projected)

    fake = SimpleNamespace(CRS=SimpleNamespace(from_epsg=from_epsg))
    monkeypatch.setitem(sys.modules, "pyproj", fake if installed else None)
    for code, unit in ((2263, "US_survey_foot"), (32632, "m"), (4326, None), (1999, None), (32767, None)):
        with_keys(tmp_path / "f.tif", (1024, 0, 1, 1), (3072, 0, 1, code))
        assert unit_of_x(tmp_path / "f.tif") == (unit if installed else None)
    write(tmp_path / "f.tif", U2, crs="EPSG:32632+5773")
    assert unit_of_x(tmp_path / "f.tif") == ("m" if installed else None)


def test_a_predictor_of_complex_numbers_that_depends_on_the_machine_is_an_error(tmp_path):
    values = (STEPS[:1] * (1 + 0.5j)).astype("c8")
    file = write(tmp_path / "f.tif", values, **TILED, predictor=2, ENDIANNESS="BIG")
    reason = r"'data': has predictor 2 of complex64, 64 bits in byte order '>', for which there is no decoder"
    with pytest.raises(ScanError, match=reason):
        scan(file)
    file = write(tmp_path / "i.tif", values, **TILED, predictor=2, dtype="complex_int16")
    with pytest.raises(ScanError, match="'data': has predictor 2 of complex64, 32 bits in byte order '<'"):
        scan(file)


@pytest.mark.parametrize(("nbits", "predictor"), [(128, 2), (64, 3), (128, 3)])
def test_a_predictor_of_complex_numbers_that_gdal_refuses_is_an_error(tmp_path, nbits, predictor):
    file = write(tmp_path / "f.tif", STEPS[:1].astype("f8"), **TILED, predictor=predictor)
    with tifffile.TiffFile(file, mode="r+") as tiff:
        tiff.pages[0].tags["BitsPerSample"].overwrite(nbits)
        tiff.pages[0].tags["SampleFormat"].overwrite(6)
    with rasterio.open(file) as dataset, pytest.raises(rasterio.errors.RasterioIOError):
        dataset.read()
    with pytest.raises(ScanError, match=f"'data': has predictor {predictor} of complex{nbits}, {nbits} bits"):
        scan(file)
