"""What 10^4 to 10^8 references cost in each form: to open, in memory, to look up, to locate, to read from.

    python asv_bench/scale.py                                     # to 10^6 chunks: seconds
    python asv_bench/scale.py --most 8 --json scale.json    # to 10^8: a quarter of an hour, 2 GB of disk

The sets describe one array in a thousand files; every twentieth chunk has a length of its own, and so a gap
after it. JSON goes to 10^7 chunks. The form "generator, even" has no such chunks beside those of the first
file, so that its exceptions do not grow. Each cell is a process of its own that opens the set with a
warm page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from machine import record

NBYTES = 4000  # of a regular chunk: 25 x 40 int32
START = 20480
EVERY = 20
FILES = 1000
GRID = (10, 10)
FORMS = ("json", "parquet", "generator", "generator, compact", "generator, even")
JSON_MOST = 7
WINDOW = 100_000  # chunks located at once
KEYS = 1000
PARTITIONS = 10  # in which those keys lie


class Formula:
    """A table of references that takes no memory: what the writers take for one that is there."""

    def __init__(self, nchunks, folder, even=False):
        self.nchunks, self.per_file, self.even = nchunks, nchunks // FILES, even
        self.files = [str(folder / f"{k:04d}.bin") for k in range(FILES)]

    def odd(self, ids):
        """Whether chunks have a length of their own."""
        return (ids % EVERY == 7) & ((ids < self.per_file) | (not self.even))

    def locate(self, ids):
        from zaro.references.table import Located

        length = np.where(self.odd(ids), 3000 + mixed(ids) % 900, NBYTES)
        offset = START + ids % self.per_file * NBYTES
        return Located((ids // self.per_file).astype(np.int32), offset, length, self.files)

    def listed(self):
        return np.arange(self.nchunks)

    def candidates(self):
        return None


def mixed(ids):
    """Numbers without a pattern that compression would find."""
    bits = ids.astype(np.uint64)
    for _ in range(2):
        bits = (bits ^ bits >> np.uint64(16)) * np.uint64(0x45D9F3B) & np.uint64(0xFFFFFFFF)
    return (bits ^ bits >> np.uint64(16)).astype(np.int64)


def documents(nchunks):
    """Metadata by key."""
    rows, columns = GRID
    array = {
        "zarr_format": 2,
        "shape": [nchunks // (rows * columns), rows * 25, columns * 40],
        "chunks": [1, 25, 40],
        "dtype": "<i4",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
        "order": "C",
    }
    return {".zgroup": '{"zarr_format":2}', "lst/.zarray": json.dumps(array)}


def name_of(form, exponent):
    ending = "parquet" if form == "parquet" else "json"
    return f"{form.replace(', ', '-')}-{exponent}.{ending}"


def make(form, exponent, folder):
    """Write the set of 10^exponent chunks in this form, and the files that it speaks of (sparse)."""
    table = Formula(10**exponent, folder, even=form.endswith("even"))
    for name in table.files:
        with open(name, "ab") as file:
            file.truncate(max(os.path.getsize(name), START + table.per_file * NBYTES))
    target = folder / name_of(form, exponent)
    if form in {"json", "parquet"}:
        from zaro.references import parquet_writer, writing
        from zaro.references.contents import Contents

        metadata = {key: text.encode() for key, text in documents(table.nchunks).items()}
        whole = Contents(metadata=metadata, tables={"lst": table}).complete()
        (parquet_writer if form == "parquet" else writing).write(whole, target)
    else:
        target.write_text(generator(table, compact=form.endswith("compact")))
    return target


def generator(table, compact):
    """Spell a document piece by piece: the packer's columns of 10^8 chunks would need 3 GB."""
    from zaro.references.lists import compact as packed

    ids = np.arange(table.nchunks if not table.even else table.per_file)
    odd = ids[table.odd(ids)]
    at = table.locate(odd)
    first = np.arange(1, FILES) * table.per_file
    after = odd[odd % table.per_file != table.per_file - 1]
    gap_id = np.concatenate([first, after + 1])
    gap = np.concatenate([START - ends(table, first), NBYTES - table.locate(after).length])
    order = np.argsort(gap_id)

    def listed(values):
        return packed(values) if compact else values.tolist()

    one = {
        "files": [[(k + 1) * table.per_file - 1, name] for k, name in enumerate(table.files)],
        "variables": ["lst"],
        "varwise": True,
        "dims": [table.nchunks // (GRID[0] * GRID[1]), *GRID],
        "start": START,
        "lengths": [NBYTES],
        "unique": {"ids": listed(odd), "lengths": listed(at.length)},
        "gaps": {"ids": listed(gap_id[order]), "lengths": listed(gap[order])},
        "skipchunks": {},
    }
    return json.dumps({"version": 1, "refs": documents(table.nchunks), "gen": [one]}, separators=(",", ":"))


def ends(table, first):
    """Where the chunk before each of these ends."""
    at = table.locate(first - 1)
    return at.offset + at.length


def measured(form, exponent, folder):
    """In the child: the figures of one cell."""
    import zaro

    if form == "parquet":
        import pyarrow.parquet  # noqa: F401 - its import is not what opening costs
    target, nchunks = str(folder / name_of(form, exponent)), 10**exponent
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = time.perf_counter
    begun = clock()
    array = zaro.open(target)["lst"]
    opened = clock() - begun
    value = array[array.shape[0] // 2, 0, 0]
    first = clock() - begun
    assert value == 0
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    table = Formula(nchunks, folder, even=form.endswith("even"))
    window = np.arange(nchunks // 3, nchunks // 3 + min(WINDOW, nchunks // 2))
    right(array.locate(window), table.locate(window))  # and a partition is in memory
    locate = best(lambda: array.locate(window), 5) / len(window)
    refs = zaro.References.open(target)
    keys = some_keys(nchunks)
    for key in keys:
        refs[key]
    look_up = best(lambda: [refs[key] for key in keys], 3) / len(keys)
    nbytes = sum(file.stat().st_size for file in [Path(target), *Path(target).rglob("*")] if file.is_file())
    return {
        "open_s": opened,
        "first_value_s": first,
        "memory_bytes": (after - before) * 1024,
        "look_up_s": look_up,
        "locate_s": locate,
        "stored_bytes": nbytes,
    }


def right(found, expected):
    assert np.array_equal(found.offset, expected.offset)
    assert np.array_equal(found.length, expected.length)
    names = [found.files[k] for k in found.file_id[:: len(found.file_id) // 10]]
    assert names == [expected.files[k] for k in expected.file_id[:: len(expected.file_id) // 10]]


def some_keys(nchunks):
    """Keys at random, in a few partitions: as many as are kept in memory."""
    rng = np.random.default_rng(0)
    starts = rng.integers(0, max(nchunks // 100_000, 1), PARTITIONS) * 100_000
    ids = rng.choice(starts, KEYS) + rng.integers(0, min(100_000, nchunks), KEYS)
    cells = GRID[0] * GRID[1]
    return [f"lst/{n // cells}.{n % cells // GRID[1]}.{n % GRID[1]}" for n in ids.tolist()]


def best(run, times):
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        run()
        found.append(time.perf_counter() - begun)
    return min(found)


def cell(form, exponent, folder, repeat):
    """Figures of one cell: of each the best of a few processes."""
    command = [sys.executable, __file__, "--cell", form, str(exponent), "--folder", str(folder)]
    runs = [
        json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
        for _ in range(repeat)
    ]
    return {name: min(run[name] for run in runs) for name in runs[0]}


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--most", type=int, default=6, help="exponent of the largest set (6)")
    parser.add_argument("--forms", nargs="+", choices=FORMS, default=FORMS, metavar="FORM")
    parser.add_argument("--repeat", type=int, default=3, help="processes of each cell (3)")
    parser.add_argument("--folder", type=Path, help="keep the sets here and find them again")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--cell", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def rows(options, folder):
    for form in options.forms:
        most = min(options.most, JSON_MOST) if form == "json" else options.most
        for exponent in range(4, most + 1):
            if not (folder / name_of(form, exponent)).exists():
                child = [sys.executable, __file__, "--cell", form, f"-{exponent}", "--folder", str(folder)]
                subprocess.run(child, check=True)
            figures = cell(form, exponent, folder, options.repeat)
            print(f"| {form} | 10^{exponent} | {' | '.join(told(figures))} |", flush=True)
            yield {"form": form, "chunks": 10**exponent, **figures}


def told(figures):
    yield f"{figures['open_s'] * 1e3:.1f}"
    yield f"{figures['first_value_s'] * 1e3:.1f}"
    yield f"{figures['memory_bytes'] / 2**20:.1f}"
    yield f"{figures['look_up_s'] * 1e6:.2f}"
    yield f"{figures['locate_s'] * 1e9:.0f}"
    yield f"{figures['stored_bytes'] / 1e6:.2f}"


def main():
    options = arguments()
    if options.cell:
        form, exponent = options.cell[0], int(options.cell[1])
        if exponent < 0:
            make(form, -exponent, options.folder)
        else:
            print(json.dumps(measured(form, exponent, options.folder)))
        return
    print("| form | chunks | open ms | first value ms | memory MiB | look-up us | locate ns | stored MB |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(prefix="zaro-scale-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        found = list(rows(options, folder))
    if options.json:
        about = record(["zaro", "numpy", "pyarrow"])
        options.json.write_text(json.dumps({**about, "repeat": options.repeat, "cells": found}, indent=1))


if __name__ == "__main__":
    main()
