"""References of kerchunk and VirtualiZarr open with the engine `zaro` as with those that know them."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import xarray as xr

from zaro.collector import still

HEADER = 16  # bytes before the first chunk of a file


def month(number: int) -> xr.Dataset:
    """Five days of fields: packed, masked, scalar, big-endian, of text, with coordinates of rank two."""
    rng = np.random.default_rng(number)
    days = np.arange(number * 5, number * 5 + 5) * np.timedelta64(1, "D")
    shape, dims = (5, 6, 8), ("time", "lat", "lon")
    made = xr.Dataset(
        {
            "tas": (dims, 273 + 30 * rng.random(shape), {"units": "K", "cell_methods": "time: mean"}),
            "pr": (dims, np.where(rng.random(shape) < 0.2, np.nan, rng.random(shape)).astype("f4")),
            "flag": ("lat", np.arange(6, dtype="i1"), {"flag_values": [0, 1]}),
            "turned": ("lon", np.arange(8, dtype=">f4")),
        },
        coords={
            "time": np.datetime64("2020-01-01", "ns") + days,
            "lat": np.linspace(-90, 90, 6),
            "lon": np.linspace(0, 315, 8),
            "area": (("lat", "lon"), rng.random((6, 8))),
        },
        attrs={"title": "fields", "n": np.int32(3), "weights": [1.5, 2.5]},
    )
    packed = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.15, "_FillValue": np.int16(-32768)}
    made.tas.encoding = {**packed, "zlib": True, "shuffle": True, "chunksizes": (1, 3, 4)}
    made.pr.encoding = {"zlib": True, "chunksizes": (1, 6, 8), "_FillValue": np.float32(1e20)}
    made.time.encoding = {"units": "days since 2020-01-01"}
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("fields")
    for number in range(2):
        month(number).to_netcdf(folder / f"{number}.nc", engine="netcdf4")
    return sorted(folder.glob("*.nc"))


@pytest.fixture(scope="module")
def kerchunked(files: list[Path]) -> dict[str, Any]:
    """The document of version 1 that kerchunk makes of the files."""
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.hdf import SingleHdf5ToZarr

    with warnings.catch_warnings(), still():
        warnings.simplefilter("ignore")
        each = [SingleHdf5ToZarr(str(file), inline_threshold=100).translate() for file in files]
        found: dict[str, Any] = MultiZarrToZarr(
            each, concat_dims=["time"], identical_dims=["lat", "lon", "area", "flag", "turned"]
        ).translate()
    return found


@pytest.fixture(scope="module")
def virtual(files: list[Path]) -> xr.Dataset:
    """The files as VirtualiZarr sees them."""
    pytest.importorskip("virtualizarr")
    from obspec_utils.registry import ObjectStoreRegistry
    from obstore.store import LocalStore
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    registry = ObjectStoreRegistry({"file://": LocalStore()})
    how: Any = {"parser": HDFParser(), "loadable_variables": ["time", "lat", "lon"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = [open_virtual_dataset(f"file://{file}", registry=registry, **how) for file in files]
        return xr.concat(
            each,
            dim="time",
            coords="minimal",
            data_vars="minimal",
            compat="override",
            combine_attrs="override",
        )


def write_parquet(refs: dict[str, Any], path: Path) -> None:
    from kerchunk.df import refs_to_dataframe

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refs_to_dataframe(refs, str(path), record_size=7)


def write_packed(refs: dict[str, Any], path: Path) -> None:
    with fsspec.open(str(path), "w", compression="zstd") as file:
        json.dump(refs, file)


WRITERS: dict[str, Callable[[dict[str, Any], Path], Any]] = {
    "v0.json": lambda refs, path: path.write_text(json.dumps(refs["refs"])),
    "v1.json": lambda refs, path: path.write_text(json.dumps(refs)),
    "v1.json.zst": write_packed,
    "v1.parquet": write_parquet,
}


def assert_same(found: xr.Dataset, expected: xr.Dataset) -> None:
    """Identical in values and attributes, and encoded the same."""
    xr.testing.assert_identical(found, expected)
    for name, variable in expected.variables.items():
        ours, theirs = found[name].encoding, variable.encoding
        assert ours.keys() == theirs.keys(), name
        for member in theirs.keys() - {"dtype"}:
            assert repr(ours[member]) == repr(theirs[member]), f"{name}.encoding[{member!r}]"
        assert ours["dtype"] == theirs["dtype"]


def opened_by_kerchunk(path: Path, **options: Any) -> xr.Dataset:
    kerchunks: Any = {"skip_instance_cache": True, "remote_protocol": "file"}
    if path.suffix == ".zst":
        kerchunks["target_options"] = {"compression": "zstd"}
    direct = {
        name: options.pop(name) for name in ("drop_variables",) if name in options
    }  # nested, it is lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = xr.open_dataset(
            str(path),
            engine="kerchunk",
            chunks={},
            storage_options=kerchunks,
            open_dataset_options=options,
            **direct,
        )
        return found.load()


DECODINGS: list[dict[str, Any]] = [
    {},
    {"mask_and_scale": False},
    {"decode_times": False, "decode_coords": False},
    {"decode_coords": "all"},
    {"drop_variables": ["tas", "area"]},
    {"decode_cf": False},
]


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("decoding", DECODINGS, ids=lambda found: ",".join(found) or "plain")
def test_what_kerchunk_wrote_opens_as_its_engine_opens_it(
    tmp_path: Path, kerchunked: dict[str, Any], form: str, decoding: dict[str, Any]
) -> None:
    WRITERS[form](kerchunked, tmp_path / form)
    expected = opened_by_kerchunk(tmp_path / form, **decoding)
    assert_same(xr.open_dataset(tmp_path / form, engine="zaro", **decoding).load(), expected)
    nested = xr.open_dataset(str(tmp_path / form), engine="zaro", open_dataset_options=decoding)
    assert_same(nested.load(), expected)


@pytest.mark.parametrize("form", ["v.json", "v.parquet"])
@pytest.mark.parametrize("decoding", DECODINGS[:3], ids=lambda found: ",".join(found) or "plain")
def test_what_virtualizarr_wrote_opens_as_the_engine_of_kerchunk_opens_it(
    tmp_path: Path, virtual: xr.Dataset, form: str, decoding: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        virtual.vz.to_kerchunk(str(tmp_path / form), format=form.rpartition(".")[2])
    expected = opened_by_kerchunk(tmp_path / form, **decoding)
    assert_same(xr.open_dataset(tmp_path / form, engine="zaro", **decoding).load(), expected)


def references_of_store(store: Path, data: Path) -> dict[str, Any]:
    """References of a v3 store: documents and small chunks inline, the others in one file."""
    refs: dict[str, Any] = {}
    blob = bytearray(HEADER)
    for path in sorted(store.rglob("*")):
        if path.is_file():
            key, raw = path.relative_to(store).as_posix(), path.read_bytes()
            if path.name == "zarr.json":
                refs[key] = raw.decode()
            elif len(raw) < 60:
                refs[key] = "base64:" + base64.b64encode(raw).decode()
            else:
                refs[key] = [str(data), len(blob), len(raw)]
                blob += raw
    data.write_bytes(blob)
    return refs


@pytest.mark.parametrize("form", ["v0.json", "v1.json"])
@pytest.mark.parametrize("decoding", DECODINGS[:4], ids=lambda found: ",".join(found) or "plain")
@pytest.mark.parametrize("shards", [None, (2, 6, 8)])
@pytest.mark.filterwarnings("ignore:.*does not have a Zarr V3 specification")
def test_references_with_documents_of_v3_open_as_xarrays_own_engine_opens_them(
    tmp_path: Path, form: str, decoding: dict[str, Any], shards: tuple[int, ...] | None
) -> None:
    written = month(0)
    for each in written.variables.values():
        each.encoding = {
            name: value
            for name, value in each.encoding.items()
            if name in ("dtype", "scale_factor", "add_offset", "_FillValue", "units")
        }
    written.tas.encoding |= {"chunks": (1, 3, 4)} | ({} if shards is None else {"shards": shards})
    written.to_zarr(tmp_path / "s.zarr", zarr_format=3, consolidated=False)
    refs = references_of_store(tmp_path / "s.zarr", tmp_path / "data.bin")
    WRITERS[form]({"version": 1, "refs": refs}, tmp_path / form)
    expected = xr.open_dataset(tmp_path / "s.zarr", engine="zarr", consolidated=False, **decoding)
    assert_same(xr.open_dataset(tmp_path / form, engine="zaro", **decoding).load(), expected.load())
