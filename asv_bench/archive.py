"""Simulated: an archive of 10^9 chunks in 10^6 files, 64 workers, a store that takes 10 ms to answer.

    python asv_bench/archive.py                        # half a minute; measures what it can
    python asv_bench/archive.py --json archive.json

Measured here and put into the model: opening and locating in a generator of 10^9 chunks, loading a
partition, decoding. Assumed: ASSUMED, below. One worker is simulated request by request; all are alike, and
the store serves any number of them. The model is held against a real read through HTTP with the same
latency on this machine, which has no slow requests and a link that is no limit ("held against").
"""

from __future__ import annotations

import argparse
import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.serving import serving
from machine import record
from zaro import config

FILES, PER_FILE = 1_000_000, 1000
ASSUMED = {
    "workers": 64,
    "cores of a worker": 2,
    "latency of a request, s": 0.010,
    "share of slow requests": 0.01,
    "latency of a slow request, s": 0.100,
    "bytes a second of one connection": 100e6,
    "bytes a second of one worker": 1.25e9,
    "stored bytes of a chunk": 131_072,
    "decoded bytes of a chunk": 524_288,
    "requests under way of a worker": config.REQUESTS_UNDER_WAY,
    "bytes of a merged request": config.REQUEST_CAP,
    "rows of a partition": 100_000,
}


# ---- measured ---------------------------------------------------------------------------------


def write_generator(target):
    """A document of 10^9 chunks: a million names, and a step back at each."""
    ids = np.arange(1, FILES, dtype=np.int64) * PER_FILE
    nbytes = ASSUMED["stored bytes of a chunk"]
    gaps = np.full(FILES - 1, -nbytes * PER_FILE)
    from zaro.references.lists import compact

    zarray = {"zarr_format": 2, "shape": [FILES, 10, 100], "chunks": [1, 1, 1], "dtype": "<i4", "order": "C"}
    zarray |= {"compressor": None, "filters": None, "fill_value": 0}
    one = {
        "files": [[(k + 1) * PER_FILE - 1, f"s3://archive/{k:06d}.nc"] for k in range(FILES)],
        "variables": ["x"],
        "dims": [FILES, 10, 100],
        "start": 20480,
        "lengths": [nbytes],
        "gaps": {"ids": compact(ids), "lengths": compact(gaps)},
    }
    refs = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray)}
    target.write_text(json.dumps({"version": 1, "refs": refs, "gen": [one]}))


def generator_figures(target):
    """In a child: opening, memory, locating a time series of one place (a chunk of each file)."""
    import zaro

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    array = zaro.open(target)["x"]
    array.locate([0])
    opened = time.perf_counter() - begun
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    series = np.arange(FILES, dtype=np.int64) * PER_FILE + 345
    begun = time.perf_counter()
    at = array.locate(series)
    located = time.perf_counter() - begun
    assert (at.offset == 20480 + 345 * ASSUMED["stored bytes of a chunk"]).all()
    return {
        "generator: open, s": opened,
        "generator: memory, bytes": memory,
        "locate 10^6 of 10^9, s": located,
    }


def partition_seconds(folder):
    """Time to decode one partition of 100 000 rows to columns, without its request."""
    from zaro.references import parquet, parquet_writer
    from zaro.references.contents import Contents
    from zaro.references.table import DenseTable

    n = ASSUMED["rows of a partition"]
    zarray = {"zarr_format": 2, "shape": [n], "chunks": [1], "dtype": "<i4", "order": "C"}
    zarray |= {"compressor": None, "filters": None, "fill_value": 0}
    rng = np.random.default_rng(0)
    length = rng.integers(60_000, 130_000, n)
    names = [f"s3://archive/{k:06d}.nc" for k in range(n // PER_FILE)]
    table = DenseTable((np.arange(n) // PER_FILE).astype(np.int32), np.cumsum(length), length, names)
    whole = Contents({"x/.zarray": json.dumps(zarray).encode()}, {"x": table}).complete()
    parquet_writer.write(whole, folder / "one.parquet")
    parts = {
        path.relative_to(folder / "one.parquet").as_posix(): path.read_bytes()
        for path in (folder / "one.parquet").rglob("*")
        if path.is_file()
    }
    times = []
    for _ in range(5):
        tables = parquet.read_folder(parts.get).tables
        begun = time.perf_counter()
        tables["x"].locate(np.arange(n))
        times.append(time.perf_counter() - begun)
    return min(times), max(map(len, parts.values()))


def decode_rate():
    """Bytes a second that one thread decodes of zstd and shuffle to float32."""
    import numcodecs

    import zaro

    values = np.round(np.random.default_rng(0).normal(288, 8, 131_072), 1).astype("<f4")
    stored = bytes(numcodecs.Zstd(3).encode(numcodecs.Shuffle(4).encode(values)))
    zarray = {"zarr_format": 2, "shape": [64 * len(values)], "chunks": [len(values)], "dtype": "<f4"}
    zarray |= {"compressor": {"id": "zstd", "level": 3}, "filters": [{"id": "shuffle", "elementsize": 4}]}
    zarray |= {"fill_value": 0, "order": "C"}
    store = {".zgroup": b'{"zarr_format":2}', "x/.zarray": json.dumps(zarray).encode()}
    array = zaro.open({**store, **{f"x/{k}": stored for k in range(64)}})["x"]
    out = np.empty(array.shape, array.dtype)
    with config.threads_set_to(1):
        array.read(out=out)
        begun = time.perf_counter()
        array.read(out=out)
        return out.nbytes / (time.perf_counter() - begun)


# ---- simulated --------------------------------------------------------------------------------


def simulate(requests, stored, decoded, measured, assumed=ASSUMED, seed=0):
    """Seconds until one worker has read `requests` requests of `stored` bytes each, decoded ones beside.

    A free slot takes the next request; it waits for the latency, then for its bytes, which share the
    worker's link; then a core decodes. Slots wait for nobody else.
    """
    rng = np.random.default_rng(seed)
    slow = rng.random(requests) < assumed["share of slow requests"]
    latency = np.where(slow, assumed["latency of a slow request, s"], assumed["latency of a request, s"])
    slots = [0.0] * min(assumed["requests under way of a worker"], requests)
    cores = [0.0] * assumed["cores of a worker"]
    link = done = 0.0
    alone, shared = (stored / assumed[f"bytes a second of one {what}"] for what in ("connection", "worker"))
    work = decoded / measured["decoded bytes a second of one core"]
    for wait in latency.tolist():
        first = heapq.heappop(slots) + wait
        link = max(link, first) + shared
        arrived = max(first + alone, link)
        heapq.heappush(slots, arrived)
        ready = max(heapq.heappop(cores), arrived) + work
        heapq.heappush(cores, ready)
        done = max(done, ready)
    return done


def workloads(measured):
    """What people do with the archive: seconds for 64 workers, by form of the set."""
    stored, decoded = ASSUMED["stored bytes of a chunk"], ASSUMED["decoded bytes of a chunk"]
    workers, per_part = ASSUMED["workers"], ASSUMED["rows of a partition"]
    together = ASSUMED["bytes of a merged request"] // stored
    lone = simulate(1, stored, decoded, measured)
    load = ASSUMED["latency of a request, s"] + measured["partition, s"]
    opening = {
        "parquet": 2 * ASSUMED["latency of a request, s"] + 0.03,
        "generator": measured["generator: open, s"],
    }

    def partitions(chunks_of_all, files):
        """Seconds that a worker spends on partitions, which it loads one after another."""
        return load * -(-min(files * PER_FILE, 10**9) // (per_part * min(workers, chunks_of_all)))

    cases = {
        "one value": (1, 1, 1, 1),
        "a map: every chunk of one file": (1000, 1, together, 1),
        "a series at a place: one chunk of each file": (FILES, FILES, 1, workers),
        "a tenth of all files, whole": (10**8, FILES // 10, together, workers),
    }
    for name, (chunks, files, merged, taking_part) in cases.items():
        each = -(-chunks // taking_part // merged)
        sample = min(each, 50_000)
        read = lone if chunks == 1 else simulate(sample, stored * merged, decoded * merged, measured)
        read *= each / sample
        yield {
            "workload": name,
            "chunks": chunks,
            "requests": each * taking_part,
            "read, s": read,
            "parquet, s": opening["parquet"] + partitions(chunks, files) + read,
            "generator, s": opening["generator"] + read,
            "decoded GB/s": chunks * decoded / read / 1e9,
        }


# ---- held against a real read -----------------------------------------------------------------


def held_against(folder, measured):
    """Seconds of a real read of one chunk of each of 320 files, through HTTP; and what the model says."""
    import zaro

    here = {**ASSUMED, "share of slow requests": 0, "bytes a second of one connection": 1e9}
    nbytes, files = ASSUMED["stored bytes of a chunk"], 320
    for k in range(files):
        with open(folder / f"{k}.bin", "wb") as file:
            file.truncate(4 * nbytes)
    zarray = {"zarr_format": 2, "shape": [files, nbytes // 4], "chunks": [1, nbytes // 4], "dtype": "<i4"}
    zarray |= {"compressor": None, "filters": None, "fill_value": 0, "order": "C"}
    with serving(folder, ASSUMED["latency of a request, s"]) as url:
        refs = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(zarray)}
        refs |= {f"x/{k}.0": [f"{url}/{k}.bin", nbytes, nbytes] for k in range(files)}
        array = zaro.open(refs)["x"]
        times = []
        for _ in range(4):
            begun = time.perf_counter()
            array[...]
            times.append(time.perf_counter() - begun)
    return {
        "requests": files,
        "measured, s": min(times),
        "model, s": simulate(files, nbytes, 0, measured, here),
    }


# ---- running ----------------------------------------------------------------------------------


def child(*words):
    found = subprocess.run([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(found.stdout)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--generator", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.generator:
        print(json.dumps(generator_figures(options.generator)))
        return
    with tempfile.TemporaryDirectory(prefix="zaro-archive-") as temporary:
        folder = Path(temporary)
        write_generator(folder / "all.json")
        measured = child("--generator", str(folder / "all.json"))
        measured["generator: stored bytes"] = os.path.getsize(folder / "all.json")
        measured["partition, s"], measured["partition, bytes"] = partition_seconds(folder)
        measured["decoded bytes a second of one core"] = decode_rate()
        real = held_against(folder, measured)
    cases = list(workloads(measured))
    for title, figures in (("assumed", ASSUMED), ("measured", measured), ("held against", real)):
        print(f"{title}:")
        for name, value in figures.items():
            print(f"  {name:<40} {value:.4g}")
    for case in cases:
        print(" | ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in case.values()))
    if options.json:
        about = record(["zaro", "numpy", "pyarrow", "aiohttp", "fsspec"])
        whole = {**about, "assumed": ASSUMED, "measured": measured, "held against": real, "cases": cases}
        options.json.write_text(json.dumps(whole, indent=1))


if __name__ == "__main__":
    main()
