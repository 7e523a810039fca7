"""kerchunk's documents read by ours, and ours by kerchunk, in every case that tests of scanning have.

Values are those of the library that owns the format. Where kerchunk's own documents say something else, or
kerchunk refuses a file, tables tell which, and the tests hold kerchunk to them.
"""

from __future__ import annotations

import contextlib
import json
import warnings

import grib_files
import h5py
import hdf5_cases
import numpy as np
import pytest
import rasterio
import scan_files as files
import test_rasterio as gdal
import tiff_images
import tifffile
import xarray as xr
import zarr
from kerchunk.grib2 import scan_grib
from kerchunk.hdf import SingleHdf5ToZarr
from kerchunk.netCDF3 import NetCDF3ToZarr
from kerchunk.tiff import tiff_to_zarr
from kerchunk.utils import refs_as_store
from kerchunk.zarr import single_zarr

import zaro
from zaro.collector import still
from zaro.errors import CorruptChunkError
from zaro.scan import scan
from zaro.scan.gribfile import fields_of, messages

SAME, LEFT_OUT, OTHER, REFUSED = "same", "left out", "other values", "refused"


@contextlib.contextmanager
def quiet():
    """kerchunk and zarr-python warn of much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def by_kerchunk(document, path):
    """Values of one array through kerchunk's engine.

    Given alone, so that the engine does not stumble over the types of others, and at the root: in a group
    zarr-python lists nothing of a reference file system.
    """
    group, _, name = f"/{path}".rpartition("/")
    start = f"{group}/".lstrip("/")
    wanted = (f"{start}.z", f"{start}{name}/")
    refs = {
        key.removeprefix(start): value for key, value in document["refs"].items() if key.startswith(wanted)
    }
    how = {"open_dataset_options": {"decode_cf": False}}
    with quiet(), xr.open_dataset({"version": 1, "refs": refs}, engine="kerchunk", backend_kwargs=how) as ds:
        return ds[name].values


def native(values):
    """The same in the byte order of the machine, which zarr-python makes of any."""
    return values.astype(values.dtype.newbyteorder("=")) if values.dtype.kind in "iufcmM" else values


def outcome(read, expected):
    """What an engine finds."""
    try:
        found = read()
    except Exception:
        return REFUSED
    try:
        files.assert_same(native(found), native(expected))
    except AssertionError:
        return OTHER
    return SAME


def outcome_of_theirs(document, path, expected):
    """What a document of kerchunk's says of an array; both engines must find the same in it."""
    if f"{path}/.zarray" not in document["refs"]:
        return LEFT_OUT
    theirs = outcome(lambda: by_kerchunk(document, path), expected)
    ours = outcome(zaro.open(document)[path].read, expected)
    assert ours == theirs or (theirs, ours) == (REFUSED, SAME)
    if theirs == OTHER:
        files.assert_same(native(zaro.open(document)[path].read()), native(by_kerchunk(document, path)))
    return ours


def odd_ones(outcomes):
    """Those that are not as they should be."""
    return {name: one for name, one in outcomes.items() if one != SAME}


SWAPPED = {"whole": OTHER, "sparse": OTHER}  # places as HDF5 tells them
THEIR_HDF5 = {
    "layouts": {
        "arrays": LEFT_OUT,
        "checked": LEFT_OUT,
        "compact": OTHER,  # zeros
        "compound": LEFT_OUT,
        "hard": LEFT_OUT,  # only one of its names
        "lzf": LEFT_OUT,
        "only_checked": LEFT_OUT,
        "padded": LEFT_OUT,
        "ragged": OTHER,  # as text
        "scalar_text": OTHER,  # empty
        "scaled": LEFT_OUT,
        "soft": LEFT_OUT,
        "some_masked": REFUSED,  # as if all had their filters
    },
    "arrays": {"lzf": LEFT_OUT, "szip": LEFT_OUT},
    "fills_of_scaleoffset": dict.fromkeys(("<i4", ">i4", ">u8", "<f8", ">f4"), LEFT_OUT),
    "never_filtered": {"some": LEFT_OUT},
    "ragged_scalars": {"v": LEFT_OUT, "of one": LEFT_OUT},
    "records_never_written": {"plain": LEFT_OUT, "some": LEFT_OUT},
    "user_block": {"never": REFUSED, "scalar": REFUSED},  # as if it were there
    "columns": SWAPPED,
    "middle": SWAPPED,
    "last": SWAPPED,
}
"""Datasets that kerchunk's own documents do not say as h5py reads them."""
OUR_HDF5 = {
    "layouts": {"compound": REFUSED, "ragged": REFUSED},  # types that zarr-python has not
    "ragged_scalars": {"v": REFUSED, "of one": REFUSED},
    "sums_before_shuffling": {"v": REFUSED},  # by numcodecs' shuffle
}
"""Datasets of our documents that kerchunk's engine does not read."""


def hdf5_by_kerchunk(file):
    """kerchunk waits for a thread of zarr-python's under h5py's lock, which who collects garbage wants."""
    with quiet(), still():
        return SingleHdf5ToZarr(str(file), inline_threshold=0).translate()


@pytest.mark.parametrize("case", hdf5_cases.CASES)
def test_kerchunks_document_of_hdf5(tmp_path, case):
    file = hdf5_cases.write(tmp_path / "f.h5", case)
    document = hdf5_by_kerchunk(file)
    with h5py.File(file) as opened:
        found = {
            name: outcome_of_theirs(document, name, files.values_of(dataset))
            for name, dataset in files.datasets(opened).items()
        }
    assert odd_ones(found) == THEIR_HDF5.get(case, {})


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("case", hdf5_cases.CASES)
def test_our_document_of_hdf5_through_kerchunk(tmp_path, case, inline):
    file = hdf5_cases.write(tmp_path / "f.h5", case)
    document = files.document(scan(file, inline_threshold=inline))
    with h5py.File(file) as opened:
        found = {
            name: outcome(lambda name=name: by_kerchunk(document, name), files.values_of(dataset))
            for name, dataset in files.datasets(opened).items()
        }
    assert odd_ones(found) == OUR_HDF5.get(case, {})


# ---- NetCDF classic ----------------------------------------------------------------------------


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("record_variables", [0, 1, 2, 3])
@pytest.mark.parametrize("version", files.CLASSIC)
def test_our_document_of_netcdf3_through_kerchunk(tmp_path, version, record_variables, inline):
    file = files.classic(tmp_path / "f.nc", version, record_variables)
    document = files.document(scan(file, inline_threshold=inline))
    with (
        xr.open_dataset(file, engine="netcdf4") as expected,
        xr.open_dataset(document, engine="kerchunk") as found,
    ):
        xr.testing.assert_identical(found.load(), expected.load())


@pytest.mark.parametrize("inline", [0, 100])
@pytest.mark.parametrize("record_variables", [0, 2, 3])
@pytest.mark.parametrize("version", files.CLASSIC[:2])
def test_kerchunks_document_of_netcdf3(tmp_path, version, record_variables, inline):
    file = files.classic(tmp_path / "f.nc", version, record_variables)
    document = NetCDF3ToZarr(str(file), inline_threshold=inline).translate()
    with (
        xr.open_dataset(file, engine="netcdf4") as expected,
        xr.open_dataset(document, engine="kerchunk") as theirs,
        xr.open_dataset(document, engine="zaro") as found,
    ):
        xr.testing.assert_identical(found.load(), theirs.load())
        xr.testing.assert_equal(found, expected.load())


@pytest.mark.parametrize("version", files.CLASSIC[:2])
def test_of_a_single_record_variable_kerchunk_counts_a_record_too_many(tmp_path, version):
    file = files.classic(tmp_path / "f.nc", version, record_variables=1)
    document = NetCDF3ToZarr(str(file), inline_threshold=0).translate()
    assert json.loads(document["refs"]["i2/.zarray"])["shape"] == [8, 5]
    with pytest.raises(CorruptChunkError, match="fewer bytes than promised"):
        zaro.open(document)["i2"].read()


def test_kerchunk_reads_no_cdf5(tmp_path):
    with pytest.raises(ValueError, match="Unexpected header"):
        NetCDF3ToZarr(str(files.classic(tmp_path / "f.nc", files.CLASSIC[2])))


# ---- TIFF --------------------------------------------------------------------------------------


def assert_pixels(document, path, expected):
    files.assert_same(native(by_kerchunk(document, path)), native(expected))


TIFF = [*tiff_images.HOW, "lzw", "jpeg"]


@pytest.mark.parametrize("notes", [True, False])
@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("how", TIFF)
def test_documents_of_tiff_both_ways(tmp_path, how, byteorder, notes):
    settings = tiff_images.HOW.get(how, {"compression": how, "tile": (32, 16)})
    file = tmp_path / "f.tif"
    kinds = tiff_images.KINDS
    if how == "jpeg":
        kinds = {"grey": ((tiff_images.GREY % 256).astype("u1"), {})}
    for kind, (values, more) in kinds.items():
        if kind == "float" and settings.get("predictor"):
            continue
        # notes on the shape, which kerchunk stumbles over
        tifffile.imwrite(
            file, values, byteorder=byteorder, **({} if notes else {"metadata": None}), **settings, **more
        )
        expected = tifffile.imread(file)
        assert_pixels(files.document(scan(file, inline_threshold=0)), "data", expected)
        if values.shape[values.shape[0] == 3] % settings.get("rowsperstrip", 1):
            with pytest.raises(ValueError, match="incomplete chunks are not supported"):
                tiff_to_zarr(str(file))
        elif notes:
            with pytest.raises(TypeError, match="not 'tuple'"):
                tiff_to_zarr(str(file))
        else:
            files.assert_same(native(zaro.open(tiff_to_zarr(str(file))).read()), native(expected))


def test_documents_of_tiff_with_overviews_both_ways(tmp_path):
    file = tmp_path / "cog.tif"
    values = tiff_images.with_overviews(file)
    ours, theirs = files.document(scan(file, inline_threshold=0)), zaro.open(tiff_to_zarr(str(file)))
    for level, step in enumerate((1, 2, 4)):
        assert_pixels(ours, f"{level}/data", values[::step, ::step])
        np.testing.assert_array_equal(theirs[str(level)].read(), values[::step, ::step])


@pytest.mark.filterwarnings(
    "ignore::PendingDeprecationWarning", "ignore::rasterio.errors.NotGeoreferencedWarning"
)
@pytest.mark.parametrize("case", gdal.FILES)
def test_our_document_of_gdals_tiff_through_kerchunk(tmp_path, case):
    values, how = gdal.FILES[case]
    file = gdal.write(tmp_path / "f.tif", values, **how)
    with rasterio.open(file) as dataset:
        expected, overviews = dataset.read(), dataset.overviews(1)
    refs = scan(file, inline_threshold=0)
    path = "0/data" if overviews else "data"
    array = zaro.open(refs)[path]
    bands = array.dims.index("band") if "band" in array.dims else None
    found = by_kerchunk(files.document(refs), path)
    found = found[None] if bands is None else np.moveaxis(found, bands, 0)
    np.testing.assert_array_equal(found, expected)


# ---- GRIB --------------------------------------------------------------------------------------

GRIB = grib_files.files()
THEIR_GRIB = {
    "regular_ll_sfc_grib1": REFUSED,  # lengths of edition 1 taken for those of edition 2
    "regular_ll_pl_grib1": REFUSED,
    "sh_ml_grib2": LEFT_OUT,  # spectra have no rows
    "sh_pl_grib1": LEFT_OUT,
    # arrays of 2 ** 31 columns, so that it is better not asked
    "reduced_gg_sfc_grib2": None,
    "reduced_ll_sfc_grib2": None,
}
"""Files of which kerchunk makes no document, or one that leads behind the end of the file."""


@pytest.mark.parametrize("case", GRIB)
def test_our_document_of_grib_through_kerchunk(tmp_path, case):
    (tmp_path / "f.grib").write_bytes(GRIB[case])
    refs = scan(tmp_path / "f.grib", inline_threshold=0, skip=grib_files.SKIPPED.get(case, ()))
    how = {"decode_timedelta": True}
    with (
        xr.open_dataset(refs, engine="zaro", **how) as ours,
        xr.open_dataset(files.document(refs), engine="kerchunk", **how) as found,
    ):
        xr.testing.assert_identical(found.load(), ours.load())


@pytest.mark.parametrize("case", [case for case in GRIB if THEIR_GRIB.get(case, SAME) is not None])
def test_kerchunks_documents_of_grib(tmp_path, case):
    data, expected = GRIB[case], THEIR_GRIB.get(case, SAME)
    (tmp_path / "f.grib").write_bytes(data)
    if expected == LEFT_OUT:
        with pytest.raises(KeyError, match="Ny"):
            scan_grib(str(tmp_path / "f.grib"))
        return
    documents = scan_grib(str(tmp_path / "f.grib"))
    spans = list(messages(lambda offset, length: data[offset : offset + length], len(data)))
    how = {"decode_timedelta": True}
    for document, (offset, length) in zip(documents, spans, strict=True):
        if expected == REFUSED:
            with (
                pytest.raises(CorruptChunkError, match="more bytes than promised"),
                xr.open_dataset(document, engine="zaro", **how) as found,
            ):
                found.load()
            continue
        field = grib_files.decoded(fields_of(data[offset : offset + length])[0])  # kerchunk takes the first
        with (
            xr.open_dataset(document, engine="kerchunk", **how) as theirs,
            xr.open_dataset(document, engine="zaro", **how) as found,
        ):
            xr.testing.assert_identical(found.load(), theirs.load())
            (values,) = found.data_vars.values()
            np.testing.assert_array_equal(values.values.reshape(-1), field)


# ---- Zarr --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize("consolidated", [False, True])
@pytest.mark.parametrize(("version", "shards"), [(2, None), (3, None), (3, (8, 8, 5))])
def test_documents_of_zarr_both_ways(tmp_path, version, shards, consolidated):
    store = tmp_path / "s.zarr"
    root = files.zarr_store(store, version, shards=shards)
    if consolidated:
        zarr.consolidate_metadata(store, zarr_format=version)
    ours = files.document(scan(store))
    for name in ("deep/values", "left"):
        expected = root[name][...]
        if version == 2:
            files.assert_same(by_kerchunk(ours, name), expected)
        with quiet():
            found = zarr.open_array(refs_as_store(ours), path=name, mode="r")[...]
        files.assert_same(found, expected)
    if version == 3:
        with pytest.raises(ValueError, match="V2 zarr"):
            single_zarr(str(store))
        return
    for inline in (0, 100):
        theirs = single_zarr(str(store), inline_threshold=inline)
        for name in ("deep/values", "left"):
            files.assert_same(zaro.open(theirs)[name].read(), root[name][...])
