"""The test vectors that docs/formats publishes: what zaro reads, writes and reads again is what they say."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import zaro
from zaro.errors import ReferenceSetError
from zaro.references import lists

VECTORS = Path(__file__).parents[1] / "docs" / "vectors"


def vectors(name):
    cases = json.loads((VECTORS / f"{name}.json").read_text())
    return [pytest.param(case, id=case["name"]) for case in cases]


def chunks(refs):
    """References of chunks by key; bytes in base64."""
    found = {key: value for key, value in refs.items() if not key.rpartition("/")[2].startswith(".z")}
    return {
        key: "base64:" + base64.b64encode(value).decode() if isinstance(value, bytes) else value
        for key, value in found.items()
    }


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("case", vectors("generator"))
def test_generators_mean_what_their_vectors_say(tmp_path, case, compact):
    document = json.dumps(case["document"]).encode()
    if "error" in case:
        with pytest.raises(ReferenceSetError, match=case["error"]):
            chunks(zaro.References.open(document))
        return
    refs = zaro.References.open(document)
    assert chunks(refs) == case["references"]
    refs.save(tmp_path / "again.json", format="generator", compact=compact)
    assert chunks(zaro.References.open(tmp_path / "again.json")) == case["references"]


@pytest.mark.parametrize("case", vectors("compact-lists"))
def test_compact_lists_mean_what_their_vectors_say(case):
    n = len(case.get("values", ())) or 3
    generator = {
        "files": [[n, "s3://archive/a.nc"]],
        "variables": ["x"],
        "dims": [n],
        "start": 2**41,
        "lengths": [4],
        "gaps": {"ids": list(range(len(case.get("values", range(n))))), "lengths": case["compact"]},
    }
    zarray = {"zarr_format": 2, "shape": [n], "chunks": [1], "dtype": "<i4", "order": "C"}
    zarray |= {"compressor": None, "filters": None, "fill_value": 0}
    document = {"version": 1, "refs": {"x/.zarray": json.dumps(zarray)}, "gen": generator}
    text = json.dumps(document).encode()
    if case.get("error"):
        with pytest.raises(ReferenceSetError, match="gaps"):
            chunks(zaro.References.open(text))
        return
    gaps = np.zeros(n, np.int64)
    gaps[: len(case["values"])] = case["values"]
    found = zaro.References.open(text).locate("x", np.arange(n)).offset
    np.testing.assert_array_equal(found, 2**41 + np.cumsum(gaps + 4) - 4)
    written = lists.compact(np.array(case["values"], np.int64))
    assert written["n"] == case["compact"]["n"]


@pytest.mark.parametrize("case", vectors("parquet"))
def test_parquet_folders_mean_what_their_vectors_say(tmp_path, case):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "refs.parquet"
    (folder / "x").mkdir(parents=True)
    (folder / ".zmetadata").write_text(json.dumps(case["header"]))
    for name, columns in case["partitions"].items():
        table = {
            key: pa.array([v.encode() if key == "raw" and v is not None else v for v in values])
            for key, values in columns.items()
        }
        parquet.write_table(pa.table(table), folder / name)
    if "error" in case:
        with pytest.raises(ReferenceSetError, match=case["error"]):
            chunks(zaro.References.open(folder))
        return
    refs = zaro.References.open(folder)
    assert chunks(refs) == case["references"]
    refs.save(tmp_path / "again.parquet", record_size=2)
    assert chunks(zaro.References.open(tmp_path / "again.parquet")) == case["references"]
