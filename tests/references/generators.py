"""Generator documents for tests, and the rules of the syntax as a loop too simple to be wrong."""

from __future__ import annotations

import itertools
import json
import math

from hypothesis import strategies as st


def metadata_of(generators):
    """A `.zarray` for every variable, with chunks of one element."""
    return {
        f"{name}/.zarray": json.dumps(
            {
                "zarr_format": 2,
                "shape": [int(size) for size in generator["dims"]],
                "chunks": [1] * len(generator["dims"]),
                "dtype": "<i2",
                "compressor": None,
                "filters": None,
                "fill_value": 0,
                "order": "C",
            }
        ).encode()
        for generator in generators
        for name in generator["variables"]
    }


def slow_references(generator):
    """Every reference of a generator by (variable, chunk id): the recurrence, one chunk after the other."""
    variables, dims = generator["variables"], generator["dims"]
    chunks = math.prod(dims)
    keys = [".".join(map(str, index)) or "0" for index in itertools.product(*map(range, dims))]
    if generator.get("varwise", True):
        order = [(v, c) for c in range(chunks) for v in range(len(variables))]
    else:
        order = [(v, c) for v in range(len(variables)) for c in range(chunks)]
    unique = dict(zip(generator["unique"]["ids"], generator["unique"]["lengths"], strict=True))
    gaps = dict(zip(generator["gaps"]["ids"], generator["gaps"]["lengths"], strict=True))
    found, here, size = {}, int(generator["start"]), 0
    for i, (v, c) in enumerate(order):
        here += size + gaps.get(i, 0)
        skipped = bool(generator["skipchunks"].get(keys[c], [0] * len(variables))[v])
        size = 0 if skipped else unique.get(i, generator["lengths"][v])
        if not skipped:
            name = next(name for last, name in generator["files"] if i <= last)
            found[variables[v], c] = [name, here, size]
    return found


@st.composite
def generators(draw, names=("lst", "unc", "n")):
    """Documents whose every member may hold anything that the syntax allows; some offsets are negative."""
    variables = list(names[: draw(st.integers(1, len(names)))])
    dims = draw(st.lists(st.integers(1, 4), max_size=3))
    chunks = math.prod(dims)
    total = chunks * len(variables)
    size = st.integers(0, 5000)
    unique = draw(st.dictionaries(st.integers(0, total - 1), size))
    gaps = draw(st.dictionaries(st.integers(0, total - 1), st.integers(-4000, 5000)))
    keys = [".".join(map(str, index)) or "0" for index in itertools.product(*map(range, dims))]
    flags = st.lists(st.integers(0, 1), min_size=len(variables), max_size=len(variables))
    lasts = sorted(draw(st.sets(st.integers(0, total - 2), max_size=4))) if total > 1 else []
    return {
        "files": [[last, f"f{k % 3}.nc"] for k, last in enumerate([*lasts, total - draw(st.integers(0, 1))])],
        "variables": variables,
        "varwise": draw(st.booleans()),
        "dims": dims,
        "dimensions": {"i": {"stop": str(total)}},
        "start": str(draw(st.integers(0, 20_000))),
        "lengths": draw(st.lists(size, min_size=len(variables), max_size=len(variables))),
        "unique": {"ids": list(unique), "lengths": list(unique.values())},
        "gaps": {"ids": list(gaps), "lengths": list(gaps.values())},
        "skipchunks": draw(st.dictionaries(st.sampled_from(keys), flags)),
        "gfactor": "0.41",
    }
