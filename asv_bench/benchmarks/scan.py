"""Files scanned and joined, beside kerchunk; a remote file, beside one download of its metadata.

As a script it prints milliseconds, the best of a few tries in turn:

    python -m benchmarks.scan --files 60 --latency 30 --repeat 5     # in asv_bench/
"""

from __future__ import annotations

import io
import json
import tempfile
import urllib.request
from pathlib import Path

import numpy as np

from .data import axis, need
from .serving import serving
from .turns import best_in_turn, command

FILES = axis(2, 20, 60)
SETS = axis(10, 100, 1000)
REFERENCES = axis(10_000, 1_000_000)[-1]
LATENCY = axis(0, 30)  # milliseconds before each answer
CHUNKS = 2000


def write_archive(folder, files):
    """Write NetCDF4 files of one month each: 3 variables of 648 chunks, deflated and shuffled."""
    netcdf = need("netCDF4")
    rng = np.random.default_rng(0)
    paths = [folder / f"month{n:03}.nc" for n in range(files)]
    for n, path in enumerate(paths):
        with netcdf.Dataset(path, "w") as file:
            for name, size in (("time", None), ("lat", 180), ("lon", 180)):
                file.createDimension(name, size)
            times = file.createVariable("time", "f8", ("time",))
            times.units = "hours since 2000-01-01"
            times[:] = np.arange(8) + 8 * n
            for name in ("tas", "pr", "hurs"):
                how = {"zlib": True, "shuffle": True, "chunksizes": (1, 20, 20)}
                variable = file.createVariable(name, "f4", ("time", "lat", "lon"), **how)
                variable[:] = rng.normal(280, 10, (8, 180, 180)).round(1)
    return [str(path) for path in paths]


def by_zaro(paths):
    zaro = need("zaro")
    return zaro.concat([zaro.scan(path, inline_threshold=500) for path in paths], "time")


def by_kerchunk(paths):
    hdf, combine = need("kerchunk.hdf", "kerchunk.combine")
    sets = [hdf.SingleHdf5ToZarr(path, inline_threshold=500).translate() for path in paths]
    return combine.MultiZarrToZarr(sets, concat_dims=["time"], identical_dims=["lat", "lon"]).translate()


ENGINES = {"zaro": by_zaro, "kerchunk": by_kerchunk}


def write_chunks(path):
    """Write a NetCDF4 file of 2000 chunks, the nodes of its index between them."""
    with need("netCDF4").Dataset(path, "w") as file:
        for name, size in (("time", None), ("lat", 60), ("lon", 60)):
            file.createDimension(name, size)
        how = {"zlib": True, "shuffle": True, "chunksizes": (1, 60, 60)}
        variable = file.createVariable("tas", "f4", ("time", "lat", "lon"), **how)
        rng = np.random.default_rng(0)
        for begin in range(0, CHUNKS, 100):
            variable[begin : begin + 100] = rng.normal(280, 5, (100, 60, 60)).round(2)


class _Noted(io.FileIO):
    """A file that counts which of its bytes were read."""

    def __init__(self, path):
        super().__init__(path)
        self.read_bytes = np.zeros(Path(path).stat().st_size, bool)

    def readinto(self, buffer):
        at = self.tell()
        n = super().readinto(buffer)
        self.read_bytes[at : at + n] = True
        return n


def metadata_nbytes(path):
    """Bytes of a file that HDF5 reads to tell all attributes and chunks."""
    h5py = need("h5py")
    noted = _Noted(path)
    with h5py.File(noted, "r") as file:
        for node in file.values():
            dict(node.attrs)
            if node.chunks:
                node.id.chunk_iter(lambda chunk: None)
    return int(noted.read_bytes.sum())


def download(url, nbytes):
    """Fetch so many bytes with one request."""
    request = urllib.request.Request(url, headers={"Range": f"bytes=0-{nbytes - 1}"})
    with urllib.request.urlopen(request) as answer:
        return answer.read()


class Files:
    """Local NetCDF4 files, scanned and joined. Their number is the axis that hurts."""

    params = (list(ENGINES), FILES)
    param_names = ("engine", "files")
    timeout = 300

    def setup_cache(self):
        return write_archive(Path.cwd(), FILES[-1])

    setup_cache.timeout = 300

    def setup(self, paths, engine, files):
        ENGINES[engine](paths[:1])

    def time_scan_and_join(self, paths, engine, files):
        ENGINES[engine](paths[:files])


class Join:
    """Sets in memory, a million references in all. The number of sets is the axis that hurts."""

    params = SETS
    param_names = ("sets",)
    timeout = 300

    def setup(self, sets):
        self.zaro = need("zaro")
        each = REFERENCES // sets
        array = {"zarr_format": 2, "shape": [each, 8], "chunks": [1, 8], "dtype": "<f4", "order": "C"}
        array |= {"compressor": None, "filters": None, "fill_value": None, "dimension_separator": "."}
        documents = {".zgroup": '{"zarr_format":2}', "v/.zarray": json.dumps(array)}
        documents["v/.zattrs"] = '{"_ARRAY_DIMENSIONS":["time","x"]}'
        self.sets = [
            self.zaro.References.open(
                documents | {f"v/{k}.0": [f"/data/{n}.bin", 32 * k, 32] for k in range(each)}
            )
            for n in range(sets)
        ]

    def time_concat(self, sets):
        self.zaro.concat(self.sets, "time")


class Remote:
    """A file of 2000 chunks behind a server. Its latency is the axis that hurts."""

    params = (["scan", "download"], LATENCY)
    param_names = ("what", "latency_ms")

    def setup_cache(self):
        write_chunks(Path.cwd() / "chunks.nc")
        return Path.cwd()

    def setup(self, folder, what, latency_ms):
        self.server = serving(folder, latency_ms / 1000)
        url = f"{self.server.__enter__()}/chunks.nc"
        zaro, nbytes = need("zaro"), metadata_nbytes(folder / "chunks.nc")
        self.run = {
            "scan": lambda: zaro.scan(url, inline_threshold=0),
            "download": lambda: download(url, nbytes),
        }[what]
        self.run()

    def teardown(self, folder, what, latency_ms):
        self.server.__exit__(None, None, None)

    def time_metadata(self, folder, what, latency_ms):
        self.run()


def main():
    parser = command(__doc__)
    parser.add_argument("--files", type=int, default=60, help="NetCDF4 files of 3 x 648 chunks (60)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zaro-scan-") as temporary:
        folder = Path(temporary)
        paths = write_archive(folder, options.files)
        print(f"{options.files} files of 1944 chunks, scanned and joined, best of {options.repeat}")
        tries = {name: lambda run=run: run(paths) for name, run in ENGINES.items()}
        found = best_in_turn(tries, options.repeat)
        print(f"zaro / kerchunk: {found['zaro'] / found['kerchunk']:.2f}\n")

        write_chunks(folder / "chunks.nc")
        nbytes = metadata_nbytes(folder / "chunks.nc")
        print(f"a file of {CHUNKS} chunks, {nbytes} bytes of metadata, {options.latency:g} ms to an answer")
        with serving(folder, options.latency / 1000) as server:
            url = f"{server}/chunks.nc"
            zaro = need("zaro")
            tries = {
                "one download": lambda: download(url, nbytes),
                "scan": lambda: zaro.scan(url, inline_threshold=0),
            }
            found = best_in_turn(tries, 2 * options.repeat)
        print(f"scan / one download: {found['scan'] / found['one download']:.2f}")


if __name__ == "__main__":
    main()
