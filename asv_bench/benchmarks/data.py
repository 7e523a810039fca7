"""Arrays, stores and reference sets that the benchmarks read; made where they are needed."""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CHUNKS = {
    "1MiB": (1, 512, 512),
    "1MiB cubes": (64, 64, 64),
    "16KiB": (1, 64, 64),
    "16KiB cubes": (16, 16, 16),
    "16KiB columns": (64, 8, 8),
}
SHARDS = {  # 4 MiB of float32
    "16KiB": (1, 1024, 1024),
    "16KiB cubes": (16, 256, 256),
    "16KiB columns": (64, 128, 128),
}


SMALL = "ZARO_BENCH_SMALL" in os.environ
"""Set where the suite is only tried, not measured: every axis keeps its first, smallest value."""


def axis(*values):
    """Values of a parameter, smallest first; only that one where the suite is merely tried."""
    return list(values[:1] if SMALL else values)


def need(*packages):
    """Modules by name; a benchmark without its peer is skipped, which asv spells NotImplementedError."""
    try:
        modules = [importlib.import_module(name) for name in packages]
    except ImportError as error:
        raise NotImplementedError(str(error)) from error
    return modules[0] if len(modules) == 1 else modules


@dataclass(frozen=True)
class Case:
    """One array in a file or store: its codec, its chunks, and who spells them."""

    codec: str  # none, zstd, blosc, zlib
    chunk: str  # a key of CHUNKS
    kind: str = "v3"  # v2, v3, v3 sharded, HDF5

    def __str__(self):
        return f"{self.chunk}, {self.codec} ({self.kind})"


def field(mbytes):
    """Float32 [time, lat, lon] of `mbytes` MiB, 4 at least: waves and noise, to two decimals."""
    rng = np.random.default_rng(0)
    steps = max(1, mbytes // 4)
    lat, lon = np.meshgrid(np.linspace(-1.5, 1.5, 1024), np.linspace(0, 6.28, 1024), indexing="ij")
    data = np.empty((steps, 1024, 1024), np.float32)
    for step in range(steps):
        waves = 288 + 30 * np.cos(lat) + 5 * np.sin(3 * lon + 0.1 * step) * np.cos(2 * lat)
        data[step] = np.round(waves + rng.normal(0, 5, waves.shape), 2)
    return data


def compressor(codec, zarr_format):
    """The codec as zarr-python takes it; None for none."""
    if codec == "none":
        return None
    if zarr_format == 2:
        numcodecs = need("numcodecs")
        return {
            "zstd": lambda: numcodecs.Zstd(level=3),
            "blosc": lambda: numcodecs.Blosc("lz4", clevel=5, shuffle=numcodecs.Blosc.SHUFFLE),
            "zlib": lambda: numcodecs.Zlib(level=4),
        }[codec]()
    codecs = need("zarr.codecs")
    return {
        "zstd": lambda: codecs.ZstdCodec(level=3),
        "blosc": lambda: codecs.BloscCodec(cname="lz4", clevel=5, shuffle="shuffle", typesize=4),
    }[codec]()


def write_store(path, case, data):
    """Write `data` to a new array at `path`: a Zarr store, or an HDF5 file with references beside it."""
    if case.kind == "HDF5":
        write_hdf5(path, case, data)
        return
    zarr = need("zarr")
    zarr_format = int(case.kind[1])
    array = zarr.create_array(
        store=str(path),
        shape=data.shape,
        chunks=CHUNKS[case.chunk],
        shards=SHARDS[case.chunk] if case.kind.endswith("sharded") else None,
        dtype=data.dtype,
        compressors=compressor(case.codec, zarr_format),
        filters=None,
        zarr_format=zarr_format,
        fill_value=0,
    )
    array[:] = data


def write_hdf5(path, case, data):
    """Write the data set `x`, shuffled and deflated, and kerchunk's references to `path`.json."""
    h5py, hdf = need("h5py", "kerchunk.hdf")
    how = {"compression": "gzip", "compression_opts": 4, "shuffle": True} if case.codec == "zlib" else {}
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=data, chunks=CHUNKS[case.chunk], fillvalue=0, **how)
    references = hdf.SingleHdf5ToZarr(str(path), inline_threshold=0).translate()
    Path(f"{path}.json").write_text(json.dumps(references))


def write_references(path, chunks, variables=3, files=100):
    """Write a kerchunk document (v1) of about `chunks` references in all, shaped like a climate archive's.

    Nothing stands behind the references: for benchmarks that open and look up, and read no data.
    """
    rng = np.random.default_rng(1)
    each = max(1, chunks // variables)
    lat, lon = 4, 8
    times = max(1, each // (lat * lon))
    refs = {".zgroup": '{"zarr_format":2}', ".zattrs": '{"Conventions":"CF-1.8"}'}
    for number in range(variables):
        name = f"var{number}"
        refs[f"{name}/.zarray"] = json.dumps(
            {
                "shape": [times, lat * 45, lon * 45],
                "chunks": [1, 45, 45],
                "dtype": "<f4",
                "compressor": {"id": "zlib", "level": 4},
                "filters": [{"id": "shuffle", "elementsize": 4}],
                "fill_value": 0.0,
                "order": "C",
                "zarr_format": 2,
            }
        )
        refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": ["time", "lat", "lon"]})
        lengths = rng.integers(3000, 5000, times * lat * lon)
        per_file = -(-len(lengths) // files)
        offset = 0
        for row, length in enumerate(lengths.tolist()):
            offset = 4096 if row % per_file == 0 else offset
            step, rest = divmod(row, lat * lon)
            key = f"{name}/{step}.{rest // lon}.{rest % lon}"
            refs[key] = [f"/archive/{name}/year{row // per_file:04d}.nc", offset, length]
            offset += length
    Path(path).write_text(json.dumps({"version": 1, "refs": refs}))


class Documents:
    """kerchunk documents, for benchmarks of them. The number of references is the axis that hurts."""

    references = axis(10_000, 100_000, 1_000_000)
    timeout = 300

    def setup_cache(self):
        for references in self.references:
            write_references(Path.cwd() / f"{references}.json", references)
        return Path.cwd()

    setup_cache.timeout = 900
