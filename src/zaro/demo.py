"""`zaro demo`: the main job on real files, from a NetCDF4 archive to values, checked against netCDF4 itself.

Writes a small climate archive (monthly NetCDF4 files), makes kerchunk references of it, reads them
through every interface that can, and compares every value bit for bit with what netCDF4 reads.
"""

from __future__ import annotations

import calendar
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import zaro
from zaro.collector import still

__all__ = ["Outcome", "compare", "make_dataset", "make_references", "missing_packages", "run"]

_NEEDS = ("dask", "h5py", "kerchunk", "netCDF4", "xarray", "zarr")
_YEAR = 2019
_PACKED = {"scale_factor": 0.01, "add_offset": 273.15}
_Values = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way of reading the archive: how long it took in seconds, and whether it found the right values."""

    reader: str
    opened: float
    read: float
    nbytes: int
    equal: bool | None  # None for the reader that the others are held against


def missing_packages() -> list[str]:
    """Names of the packages that the demo needs and cannot find; they come with `zaro[demo]`."""
    return [name for name in _NEEDS if find_spec(name) is None]


def make_dataset(
    folder: Path, *, months: int = 12, grid: tuple[int, int] = (96, 192), chunk: tuple[int, int] = (48, 64)
) -> list[Path]:
    """Write a year of daily fields on a globe, one NetCDF4 file a month.

    Parameters
    ----------
    folder : Path
        Where the files go; it must exist.
    months : int
        How many files, from January on.
    grid, chunk : (int, int)
        Points along latitude and longitude, in all and in one chunk; a chunk holds one day.

    Returns
    -------
    list of Path
        The files. `tas` is packed: int16 with `scale_factor`, `add_offset` and `_FillValue`, shuffled and
        deflated; `pr` is float32. Some chunks of both are never written.
    """
    rng = np.random.default_rng(_YEAR)
    files, day = [], 0
    for month in range(1, months + 1):
        days = np.arange(day, day + calendar.monthrange(_YEAR, month)[1])
        file = folder / f"daily_{_YEAR}-{month:02d}.nc"
        _write_month(file, days, grid, chunk, rng)
        files.append(file)
        day = int(days[-1]) + 1
    return files


def _write_month(
    file: Path,
    days: NDArray[np.int64],
    grid: tuple[int, int],
    chunk: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    import netCDF4

    lat, lon = np.linspace(-90, 90, grid[0]), np.linspace(0, 360, grid[1], endpoint=False)
    with netCDF4.Dataset(file, "w") as dataset:
        dataset.setncatts({"Conventions": "CF-1.8", "title": f"zaro demo, {_YEAR}"})
        for name, size in (("time", None), ("lat", grid[0]), ("lon", grid[1])):
            dataset.createDimension(name, size)
        axes = {
            "time": (days, "f8", {"units": f"days since {_YEAR}-01-01", "calendar": "standard", "axis": "T"}),
            "lat": (lat, "f4", {"units": "degrees_north", "standard_name": "latitude"}),
            "lon": (lon, "f4", {"units": "degrees_east", "standard_name": "longitude"}),
        }
        for name, (values, kind, attrs) in axes.items():
            axis = dataset.createVariable(name, kind, (name,))
            axis.setncatts(attrs)
            axis[:] = values
        _write_fields(dataset, days, lat, lon, chunk, rng)


def _write_fields(
    dataset: Any,
    days: NDArray[np.int64],
    lat: NDArray[np.float64],
    lon: NDArray[np.float64],
    chunk: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    how = {"zlib": True, "complevel": 4, "shuffle": True, "chunksizes": (1, *chunk)}
    dims = ("time", "lat", "lon")
    tas = dataset.createVariable("tas", "i2", dims, fill_value=-32768, **how)
    tas.setncatts({**_PACKED, "units": "K", "long_name": "air temperature near the surface"})
    pr = dataset.createVariable("pr", "f4", dims, fill_value=1e20, **how)
    pr.setncatts({"units": "kg m-2 s-1", "long_name": "precipitation"})
    tas.set_auto_maskandscale(False)
    mean = 30 * np.cos(np.radians(lat))[:, None] + 4 * np.sin(np.radians(2 * lon))[None, :] - 12
    for row, day in enumerate(days):
        season = 10 * np.sin(np.radians(lat))[:, None] * np.cos(2 * np.pi * (day - 200) / 365)
        celsius = mean + season + rng.normal(0, 1, mean.shape)
        rain = np.maximum(rng.normal(-2e-5, 4e-5, mean.shape), 0)
        if day % 9 == 4:  # a day that was never delivered: its chunks are absent
            continue
        # the last band of the south is missing on other days: part of a row of chunks
        south = chunk[0] if day % 5 == 2 and chunk[0] < len(lat) else 0
        tas[row, south:] = np.round(celsius / _PACKED["scale_factor"]).astype("i2")[south:]
        pr[row, south:] = rain[south:]


def make_references(files: list[Path], target: Path) -> Path:
    """Write the kerchunk document (JSON) that joins `files` along time to `target`."""
    from kerchunk.combine import MultiZarrToZarr
    from kerchunk.hdf import SingleHdf5ToZarr

    with _quiet(), still():  # its threads and h5py's lock may wait for each other where the collector runs
        singles = [SingleHdf5ToZarr(str(file.resolve()), inline_threshold=300).translate() for file in files]
        joined = MultiZarrToZarr(singles, concat_dims=["time"], identical_dims=["lat", "lon"]).translate()
    target.write_text(json.dumps(joined))
    return target


def compare(files: list[Path], references: Path) -> list[Outcome]:
    """Read every variable in every way; the netCDF4 library tells what is right."""
    import xarray

    def through(engine: str) -> Callable[[], Any]:
        return lambda: xarray.open_dataset(str(references), engine=engine)

    def many() -> Any:
        return xarray.open_mfdataset(files, engine="netcdf4", combine="by_coords")

    def load(dataset: Any) -> _Values:
        return {name: variable.values for name, variable in dataset.load().variables.items()}

    def stored(group: Any) -> _Values:
        return {name: group[name][...] for name in ("pr", "tas")}

    with _quiet():
        expected, netcdf = _timed("netCDF4, xarray.open_mfdataset", many, load)
        raw, plain = _timed("netCDF4, as stored", lambda: files, _stored_by_netcdf4)
        return [
            netcdf,
            _timed('xarray, engine="kerchunk"', through("kerchunk"), load, expected)[1],
            _timed('xarray, engine="zaro"', through("zaro"), load, expected)[1],
            plain,
            _timed("zaro.open, as stored", lambda: zaro.open(references), stored, raw)[1],
        ]


def _stored_by_netcdf4(files: list[Path]) -> _Values:
    import netCDF4

    parts: dict[str, list[NDArray[Any]]] = {"pr": [], "tas": []}
    for path in files:
        with netCDF4.Dataset(path) as dataset:
            dataset.set_auto_maskandscale(False)
            for name, blocks in parts.items():
                blocks.append(dataset[name][...])
    return {name: np.concatenate(blocks) for name, blocks in parts.items()}


def _timed(
    reader: str, start: Callable[[], Any], load: Callable[[Any], _Values], expected: _Values | None = None
) -> tuple[_Values, Outcome]:
    begun = time.perf_counter()
    opened = start()
    between = time.perf_counter()
    values = load(opened)
    ended = time.perf_counter()
    nbytes = sum(block.nbytes for block in values.values())
    equal = None if expected is None else _same(values, expected)
    return values, Outcome(reader, between - begun, ended - between, nbytes, equal)


def _same(found: _Values, expected: _Values) -> bool:
    """Bit for bit: names, shapes, types, and the bytes of every value, so that NaN and -0.0 count too."""
    return found.keys() == expected.keys() and all(
        found[name].shape == block.shape
        and found[name].dtype == block.dtype
        and np.ascontiguousarray(found[name]).tobytes() == np.ascontiguousarray(block).tobytes()
        for name, block in expected.items()
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """The other libraries' warnings are not what a newcomer should read first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(keep: Path | None = None, *, months: int = 12, say: Callable[[str], None] = print) -> bool:
    """Make, read, compare and tell; the files stay in `keep`, or go when it is None.

    Returns
    -------
    bool
        Whether every reader found every value.
    """
    with tempfile.TemporaryDirectory(prefix="zaro-demo-") as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        begun = time.perf_counter()
        files = make_dataset(folder, months=months)
        made = time.perf_counter()
        references = make_references(files, folder / "refs.json")
        size = sum(file.stat().st_size for file in files) / 1e6
        say(f"{len(files)} NetCDF4 files, {size:.1f} MB, written in {made - begun:.1f} s to {folder}")
        say(f"kerchunk references of them, made in {time.perf_counter() - made:.1f} s: {references.name}\n")
        outcomes = compare(files, references)
    for line in _table(outcomes):
        say(line)
    right = all(outcome.equal is not False for outcome in outcomes)
    say("\nEvery value is equal, bit for bit." if right else "\nNOT EQUAL: the rows marked above differ.")
    for line in _next_steps(keep):
        say(line)
    return right


def _table(outcomes: list[Outcome]) -> Iterator[str]:
    words = {None: "the measure", True: "equal", False: "DIFFERS"}
    yield f"{'read by':<32} {'open':>8} {'read':>8} {'MB':>7}  values"
    for outcome in outcomes:
        times = f"{outcome.opened * 1e3:>5.0f} ms {outcome.read * 1e3:>5.0f} ms"
        yield f"{outcome.reader:<32} {times} {outcome.nbytes / 1e6:>7.1f}  {words[outcome.equal]}"


def _next_steps(keep: Path | None) -> Iterator[str]:
    folder = keep or Path("zaro-demo")
    yield "\nWhat to type next:" if keep else f"\nWhat to type next, after `zaro demo --keep {folder}`:"
    yield f"  zaro ls {folder}/refs.json"
    yield f"  zaro info {folder}/refs.json tas"
    yield f"  zaro read {folder}/refs.json tas --select '0, :, 0:90' -o tas.npy"
    opened = f"xarray.open_dataset('{folder}/refs.json', engine='zaro')"
    yield f'  python -c "import xarray; print({opened})"'
