"""Arrays behind an HTTP server on loopback that takes its time: references into an HDF5 file, and small keys.

As a script it prints milliseconds for each engine, the best of a few reads in turn:

    python -m benchmarks.remote --mbytes 256 --latency 30 --repeat 5     # in asv_bench/
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import numpy as np

from .data import Case, axis, field, need, write_store
from .serving import serving
from .turns import best_in_turn, command

MBYTES = axis(4, 256)[-1]
LATENCY = axis(0, 30)  # milliseconds before each answer
THREADS = 2
HDF5 = Case("zlib", "1MiB", "HDF5")


def references(folder, url):
    """References into the file of a folder that a server publishes."""
    return json.loads((folder / "data.h5.json").read_text().replace(str(folder), url))


def by_zaro(refs):
    os.environ["ZARO_THREADS"] = str(THREADS)
    array = need("zaro").open(refs)["x"]
    return lambda: array[...]


def by_kerchunk(refs):
    """xarray's engine `kerchunk`: zarr-python over fsspec's reference file system."""
    xarray, *_ = need("xarray", "kerchunk", "aiohttp")
    dataset = xarray.open_dataset(refs, engine="kerchunk", cache=False, chunks=None)
    return lambda: dataset["x"].values


ENGINES = {"zaro": by_zaro, "kerchunk": by_kerchunk}


class References:
    """Chunks of 1 MiB, deflated and shuffled, of one file. The server's latency is the axis that hurts."""

    params = (list(ENGINES), LATENCY)
    param_names = ("engine", "latency_ms")
    timeout = 300

    def setup_cache(self):
        write_store(Path.cwd() / "data.h5", HDF5, field(MBYTES))
        return Path.cwd()

    setup_cache.timeout = 900

    def setup(self, folder, engine, latency_ms):
        self.server = serving(folder, latency_ms / 1000)
        self.read = ENGINES[engine](references(folder, self.server.__enter__()))
        self.read()

    def teardown(self, folder, engine, latency_ms):
        self.server.__exit__(None, None, None)

    def time_whole(self, folder, engine, latency_ms):
        self.read()

    def peakmem_whole(self, folder, engine, latency_ms):
        self.read()


class Keys:
    """A store of 16 KiB keys: what a request costs where nothing can be merged."""

    params = (["zaro", "zarr_python"], LATENCY)
    param_names = ("engine", "latency_ms")
    timeout = 300

    def setup_cache(self):
        write_store(Path.cwd() / "keys.zarr", Case("zstd", "16KiB"), field(axis(4, 16)[-1]))
        return Path.cwd()

    def setup(self, folder, engine, latency_ms):
        self.server = serving(folder, latency_ms / 1000)
        url = f"{self.server.__enter__()}/keys.zarr"
        if engine == "zaro":
            self.array = need("zaro").open(url)
        else:
            self.array = need("zarr", "aiohttp")[0].open_array(url, mode="r")
        self.array[0, :64, :64]

    def teardown(self, folder, engine, latency_ms):
        self.server.__exit__(None, None, None)

    def time_whole(self, folder, engine, latency_ms):
        self.array[...]


class Merge:
    """Spans to requests. How many there are is the axis that hurts, and whether they ascend."""

    params = (axis(10_000, 100_000, 1_000_000), [True, False])
    param_names = ("spans", "ascending")

    def setup(self, spans, ascending):
        self.merge = need("zaro.plan.requests").merge
        offset = np.arange(spans, dtype=np.int64) * 16_384
        if not ascending:
            np.random.default_rng(0).shuffle(offset)
        self.columns = np.zeros(spans, np.int32), offset, np.full(spans, 16_000, np.int64)

    def time_merge(self, spans, ascending):
        self.merge(*self.columns)


def main():
    parser = command(__doc__)
    parser.add_argument("--mbytes", type=int, default=256, help="size of the array in MiB (256)")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=list(ENGINES), metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zaro-remote-") as temporary:
        folder, data = Path(temporary), field(options.mbytes)
        write_store(folder / "data.h5", HDF5, data)
        stored = (folder / "data.h5").stat().st_size / 1e6
        print(
            f"{options.mbytes} MiB, {stored:.0f} MB stored, {options.latency:g} ms, best of {options.repeat}"
        )
        with serving(folder, options.latency / 1000) as url:
            reads = {name: ENGINES[name](references(folder, url)) for name in options.engines}
            for name, read in reads.items():
                if not np.array_equal(read(), data):
                    raise ValueError(f"{name} read other values than were written")
            best_in_turn(reads, options.repeat)


if __name__ == "__main__":
    main()
