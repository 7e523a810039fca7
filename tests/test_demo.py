from __future__ import annotations

import json

import h5py
import numpy as np
import pytest

from zaro import demo


def test_archive_is_what_a_climate_archive_is(archive):
    with h5py.File(archive.files[0]) as file:
        tas = file["tas"]
        assert tas.dtype == np.int16
        assert tas.shape == (31, 48, 96)
        assert tas.chunks == (1, 24, 32)
        assert tas.shuffle
        assert tas.compression == "gzip"
        assert tas.attrs["scale_factor"] == 0.01
        assert 0 < tas.id.get_num_chunks() < 31 * 2 * 3


def test_chunks_that_were_never_written_are_not_listed(archive):
    refs = json.loads(archive.references.read_text())["refs"]
    listed = sum(key.startswith("tas/") and not key.startswith("tas/.") for key in refs)
    with_h5py = 0
    for path in archive.files:
        with h5py.File(path) as file:
            with_h5py += file["tas"].id.get_num_chunks()
    assert listed == with_h5py


def test_every_reader_finds_every_value(archive):
    outcomes = demo.compare(archive.files, archive.references)
    assert [outcome.equal for outcome in outcomes] == [None, True, True, None, True]


def test_one_wrong_bit_is_seen(own_archive):
    archive = own_archive()
    document = json.loads(archive.references.read_text())
    refs = document["refs"]
    refs["tas/0.0.0"], refs["tas/0.0.1"] = refs["tas/0.0.1"], refs["tas/0.0.0"]
    archive.references.write_text(json.dumps(document))
    outcomes = demo.compare(archive.files, archive.references)
    assert [outcome.equal for outcome in outcomes] == [None, False, False, None, False]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.array([0.0]), np.array([-0.0])),
        (np.array([np.nan], "f4"), np.array([np.nan], "f8")),
        (np.zeros((2, 3)), np.zeros((3, 2))),
    ],
)
def test_comparison_is_bit_for_bit(one, other):
    assert demo._same({"a": one}, {"a": one.copy()})
    assert not demo._same({"a": one}, {"a": other})
    assert not demo._same({"a": one}, {"b": one})


def test_demo_tells_what_was_read_and_what_to_type_next(tmp_path):
    lines = []
    assert demo.run(tmp_path / "kept", months=1, say=lines.append)
    told = "\n".join(lines)
    assert "Every value is equal, bit for bit." in told
    assert told.count("equal") == 4
    assert f"zaro ls {tmp_path}/kept/refs.json" in told
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["daily_2019-01.nc", "refs.json"]
