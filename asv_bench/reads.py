"""What reading costs against the number of chunks, and of threads: many small chunks behind references.

    python asv_bench/reads.py                        # 10^3 to 10^6 chunks: a minute, 0.7 GB
    python asv_bench/reads.py --most 4 --json reads.json

One array of int32 in chunks of 1 KiB, each a zstd frame, one behind the other in a hundred files; the
references are Parquet, for the engine kerchunk JSON. Each cell is a process of its own, with a warm page
cache, and the best of a few reads into fresh memory; every value is compared once. kerchunk reads to 10^4
chunks.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from machine import record

ITEMS = 256  # of a chunk
FILES = 100
KERCHUNK_MOST = 4


def values(begin, end):
    """Elements of chunks `begin` to `end`: they differ, and compress to about a half."""
    ids = np.arange(begin * ITEMS, end * ITEMS, dtype=np.int64)
    return ((ids * 2654435761 >> 7) % 50021).astype(np.int32)


def make(exponent, folder):
    """Write the files of 10^exponent chunks and their references."""
    import zstandard

    from zaro.references import parquet_writer
    from zaro.references.contents import Contents
    from zaro.references.table import DenseTable

    nchunks, packer = 10**exponent, zstandard.ZstdCompressor(level=1)
    per_file = nchunks // FILES
    lengths, offsets, names = [], [], []
    for number in range(FILES):
        block = values(number * per_file, (number + 1) * per_file).reshape(per_file, ITEMS)
        frames = [packer.compress(row) for row in block]
        name = folder / f"{exponent}-{number:03d}.bin"
        name.write_bytes(b"".join(frames))
        sizes = np.array([len(frame) for frame in frames])
        lengths.append(sizes)
        offsets.append(np.cumsum(sizes) - sizes)
        names.append(str(name))
    file_id = np.repeat(np.arange(FILES, dtype=np.int32), per_file)
    table = DenseTable(file_id, np.concatenate(offsets), np.concatenate(lengths), names)
    array = {
        "zarr_format": 2, "shape": [nchunks * ITEMS], "chunks": [ITEMS], "dtype": "<i4", "fill_value": 0,
        "order": "C", "compressor": {"id": "zstd", "level": 1}, "filters": None,
    }  # fmt: skip
    from zaro import References

    metadata = {".zgroup": b'{"zarr_format":2}', "x/.zarray": json.dumps(array).encode()}
    parquet_writer.write(Contents(metadata=metadata, tables={"x": table}).complete(), store(exponent, folder))
    if exponent <= KERCHUNK_MOST:
        References.open(store(exponent, folder)).save(f"{store(exponent, folder)}.json")


def store(exponent, folder):
    return folder / f"{exponent}.parquet"


def zaro(target, threads):
    os.environ["ZARO_THREADS"] = str(threads)
    import zaro

    array = zaro.open(target)["x"]
    return lambda: array[...]


def kerchunk(target, threads):
    import fsspec
    import zarr

    zarr.config.set({"threading.max_workers": threads})
    files = fsspec.filesystem("reference", fo=f"{target}.json", asynchronous=True, skip_instance_cache=True)
    array = zarr.open_group(zarr.storage.FsspecStore(files), mode="r", zarr_format=2)["x"]
    return lambda: array[...]


def measured(engine, exponent, threads, folder, repeat):
    """In the child: seconds of the best read."""
    read = {"zaro": zaro, "kerchunk": kerchunk}[engine](str(store(exponent, folder)), threads)
    if not np.array_equal(read(), values(0, 10**exponent)):
        raise ValueError(f"{engine} read other values than were written")
    best = float("inf")
    for _ in range(repeat):
        begun = time.perf_counter()
        read()
        best = min(best, time.perf_counter() - begun)
    return best


def rows(options, folder):
    for exponent in range(3, options.most + 1):
        if not store(exponent, folder).exists():
            make(exponent, folder)
        cells = [("zaro", threads) for threads in options.threads]
        cells += [("kerchunk", 1)] if exponent <= KERCHUNK_MOST else []
        for engine, threads in cells:
            child = [sys.executable, __file__, "--cell", engine, str(exponent), str(threads)]
            child += ["--folder", str(folder), "--repeat", str(options.repeat)]
            found = subprocess.run(child, stdout=subprocess.PIPE, text=True, check=True).stdout
            seconds = float(found)
            each = seconds / 10**exponent * 1e6
            print(f"| {engine} | {threads} | 10^{exponent} | {seconds * 1e3:.1f} | {each:.2f} |", flush=True)
            yield {"engine": engine, "threads": threads, "chunks": 10**exponent, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=6, help="exponent of the largest array (6)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="of zaro (1 2)")
    parser.add_argument("--repeat", type=int, default=5, help="reads of which the best counts (5)")
    parser.add_argument("--folder", type=Path, help="keep the files here and find them again")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--cell", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cell:
        engine, exponent, threads = options.cell
        print(measured(engine, int(exponent), int(threads), options.folder, options.repeat))
        return
    print("| engine | threads | chunks | ms | us a chunk |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="zaro-reads-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        found = list(rows(options, folder))
    if options.json:
        about = record(["zaro", "numpy", "zarr", "kerchunk", "fsspec"])
        options.json.write_text(json.dumps({**about, "cells": found}, indent=1))


if __name__ == "__main__":
    main()
