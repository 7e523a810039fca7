"""Read the same arrays with zaro and its peers, in turn, and print the table.

    python asv_bench/peers.py                       # 256 MB, 2 threads, best of 5: some twenty minutes
    python asv_bench/peers.py --mbytes 16 --only '16KiB, zstd' --engines zaro zarrs
    python asv_bench/peers.py --only HDF5           # an HDF5 file, and references to it

Each cell is a process of its own: it opens the store, reads it whole (or `--select`s a part) a few
times into fresh memory with a warm page cache, and reports the best. One read of each is compared
with what was written. The column `limit` is a straight C program, see limit.c; it is no peer. Chunks
are planes of the field, but for "cubes", of 64 x 64 x 64 and 16 x 16 x 16, and "columns", of 64 x 8 x 8:
arrays of 64 (the first cubes and columns: 256) MiB or more are cut into them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

import limit
from benchmarks.data import CHUNKS, SHARDS, Case, field, write_store
from benchmarks.engines import HDF5, PACKAGES, ZARR
from machine import record

CODECS = (("none", "v3"), ("zstd", "v3"), ("blosc", "v3"), ("blosc", "v2"), ("zlib", "v2"))
CASES = [
    *(Case(codec, chunk, kind) for chunk in CHUNKS for codec, kind in CODECS),
    *(Case("zstd", chunk, "v3 sharded") for chunk in SHARDS),
    *(Case("zlib", chunk, "HDF5") for chunk in CHUNKS),
]
LIMIT = "limit"
NAMES = [LIMIT, *{**ZARR, **HDF5}]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mbytes", type=int, default=256, help="size of the array in MiB (256)")
    parser.add_argument("--threads", type=int, default=2, help="threads of every engine (2)")
    parser.add_argument(
        "--repeat", type=int, default=5, help="reads of each cell, of which the best counts (5)"
    )
    parser.add_argument(
        "--seconds", type=float, default=15, help="stop repeating a cell after this long (15)"
    )
    parser.add_argument("--engines", nargs="+", choices=NAMES, default=NAMES, metavar="NAME")
    parser.add_argument("--only", default="", help="only cases whose name has this text: '16KiB, zstd'")
    parser.add_argument("--select", default="", help="read only this: ':, 100:110, 200:210'")
    parser.add_argument("--folder", type=Path, help="keep the stores here and find them again")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--cell", nargs=2, metavar=("ENGINE", "STORE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def selection(text):
    """`:, 100:110, 5` as a tuple of slices and integers; everything for an empty text."""
    if not text:
        return ...
    parts = [part.strip().split(":") for part in text.split(",")]
    return tuple(
        slice(*(int(n) if n else None for n in part)) if len(part) > 1 else int(part[0]) for part in parts
    )


def timed(read, part):
    """What was read, and the seconds that it took."""
    before = time.perf_counter()
    block = read(part)
    return block, time.perf_counter() - before


def cell(options):
    """In the child: one engine, one store; prints the best time in seconds."""
    engine, store = options.cell
    part = selection(options.select)
    read = engines_of(store)[engine](store, options.threads)
    expected = np.load(Path(store).parent / "data.npy", mmap_mode="r")[part]
    found, best = timed(read, part)
    if found.dtype != expected.dtype or not np.array_equal(found, expected):
        raise ValueError(f"{engine} read other values than were written")
    del found
    spent = best
    for _ in range(options.repeat):
        if spent > options.seconds:
            break
        seconds = timed(read, part)[1]
        best, spent = min(best, seconds), spent + seconds
    print(best)


def engines_of(store):
    return HDF5 if str(store).endswith("HDF5") else ZARR


def run_cell(engine, store, options):
    """Seconds, or the last line of what went wrong."""
    command = [sys.executable, __file__, "--cell", engine, str(store), "--threads", str(options.threads)]
    command += [
        "--repeat",
        str(options.repeat),
        "--seconds",
        str(options.seconds),
        "--select",
        options.select,
    ]
    environment = {**os.environ, "RAYON_NUM_THREADS": str(options.threads)}
    child = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if child.returncode == 0:
        return float(child.stdout.split()[-1])
    return (child.stderr.strip().splitlines() or [f"ended with {child.returncode}"])[-1]


def measure(folder, options):
    """Rows of (case, {engine: seconds}), stores being made as they are missing."""
    data = folder / "data.npy"
    if not data.exists():
        np.save(data, field(options.mbytes))
    shape = np.load(data, mmap_mode="r").shape
    program = limit.build(folder) if LIMIT in options.engines and not options.select else None
    rows = []
    cases = [case for case in CASES if options.only in str(case) and CHUNKS[case.chunk][0] <= shape[0]]
    for number, case in enumerate(cases):
        store = folder / f"{case.chunk}-{case.codec}-{case.kind}".replace(" ", "-")
        if not store.exists():
            write_store(store, case, np.load(data, mmap_mode="r"))
        engines = [engine for engine in options.engines if engine in engines_of(store)]
        print(f"{case} ...", file=sys.stderr)
        times = {}
        # whoever comes first pays for a cold machine: let it be another one each time
        turn = number % max(len(engines), 1)
        for engine in [LIMIT] * (program is not None) + engines[turn:] + engines[:turn]:
            if engine == LIMIT:
                how = {"threads": options.threads, "repeat": options.repeat}
                outcome = limit.run(program, store, case, shape, **how)
            else:
                outcome = run_cell(engine, store, options)
            if isinstance(outcome, float):
                times[engine] = outcome
            else:
                print(f"{case}: {engine}: {outcome}", file=sys.stderr)
        rows.append((case, times))
    return rows


def table(rows, engines):
    """The figures in milliseconds as Markdown; the last column is zaro as a share of the best peer."""
    yield f"| chunks, codec | {' | '.join(engines)} | best peer | zaro / best peer |"
    yield f"| --- | {' | '.join('---:' for _ in engines)} | --- | ---: |"
    for case, times in rows:
        cells = [f"{times[engine] * 1e3:.1f}" if engine in times else "-" for engine in engines]
        peers = {engine: seconds for engine, seconds in times.items() if engine not in ("zaro", LIMIT)}
        best = min(peers, key=peers.__getitem__, default="-")
        ratio = f"{times['zaro'] / peers[best]:.2f}" if peers and "zaro" in times else "-"
        yield f"| {case} | {' | '.join(cells)} | {best} | {ratio} |"


def versions(engines):
    for engine in engines:
        if engine == LIMIT:
            continue
        try:
            yield f"{engine} {version(PACKAGES.get(engine, engine))}"
        except PackageNotFoundError:
            yield f"{engine} not installed"


def main():
    options = arguments()
    if options.cell:
        cell(options)
        return
    with tempfile.TemporaryDirectory(prefix="zaro-peers-") as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = measure(folder, options)
    what = f"[{options.select}] of " if options.select else ""
    print(
        f"{what}{options.mbytes} MiB of float32, {options.threads} threads each, best of {options.repeat}, "
        f"milliseconds.\n{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}; "
        f"{', '.join(versions(options.engines))}.\n"
    )
    for engines in (ZARR, HDF5):
        part = [(case, times) for case, times in rows if (case.kind == "HDF5") == (engines is HDF5)]
        if part:
            shown = [name for name in options.engines if name in engines or name == LIMIT]
            print("\n".join(table(part, shown)), end="\n\n")
    if options.json:
        about = record([PACKAGES.get(engine, engine) for engine in options.engines if engine != LIMIT])
        about |= {name: getattr(options, name) for name in ("mbytes", "threads", "repeat", "select")}
        cases = [{"case": str(case), "seconds": times} for case, times in rows]
        options.json.write_text(json.dumps({**about, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
