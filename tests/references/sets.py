"""Reference sets for tests: random ones, and what any reading of them must give."""

from __future__ import annotations

import base64
import itertools
import json

import pytest
from hypothesis import strategies as st

old_engine = pytest.mark.filterwarnings("ignore:The 'fastparquet' engine is deprecated")

GRIDS = st.lists(st.integers(1, 4), max_size=3)
FILES = st.sampled_from(["/d/a.nc", "s3://b/c.nc", "https://h.org/\u00e9 d.nc?x=1", "/d/e.nc"])
SIZES = st.one_of(st.integers(0, 60), st.integers(0, 2**40))
SPANS = st.tuples(FILES, SIZES, SIZES).filter(lambda span: span[1:] != (0, 0)).map(list)
# in Parquet (0, 0) is a whole file
RAW = st.binary(min_size=1, max_size=9).filter(lambda raw: not raw.startswith(b"base64:"))
REFERENCES = st.one_of(SPANS, SPANS, FILES.map(lambda url: [url]), RAW)


def zarray(grid, **changes):
    return json.dumps(
        {
            "zarr_format": 2,
            "shape": [2 * n for n in grid],
            "chunks": [2] * len(grid),
            "dtype": "<i2",
            "compressor": None,
            "filters": None,
            "fill_value": 0,
            "order": "C",
            **changes,
        }
    )


def names_of(grid):
    """Keys of all chunks of a grid below their array, in C order."""
    return [".".join(map(str, index)) or "0" for index in itertools.product(*map(range, grid))]


@st.composite
def chunks(draw, grid):
    """References of some chunks of a grid, by id."""
    n = len(names_of(grid))
    return draw(st.dictionaries(st.integers(0, n - 1), REFERENCES, max_size=n))


@st.composite
def reference_sets(draw):
    """A reference document, and its arrays as grid and references by id."""
    refs = {".zgroup": json.dumps({"zarr_format": 2})}
    arrays = {}
    for name in draw(st.lists(st.sampled_from(["t", "lst", "unc", "g/h/x"]), unique=True, min_size=1)):
        grid = draw(GRIDS)
        found = draw(chunks(grid))
        arrays[name] = (grid, found)
        refs[f"{name}/.zarray"] = zarray(grid)
        refs[f"{name}/.zattrs"] = json.dumps({"_ARRAY_DIMENSIONS": [f"d{k}" for k in range(len(grid))]})
        refs.update({f"{name}/{names_of(grid)[chunk]}": as_json(value) for chunk, value in found.items()})
    return refs, arrays


def as_json(value):
    if isinstance(value, bytes):
        return "base64:" + base64.b64encode(value).decode()
    return value


def as_read(refs):
    """What the mapping of a set shows for a document."""
    shown = {}
    for key, value in refs.items():
        if isinstance(value, str):
            shown[key] = base64.b64decode(value[7:]) if value.startswith("base64:") else value.encode()
        else:
            shown[key] = value
    return shown
