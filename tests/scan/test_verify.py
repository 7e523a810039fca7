"""What has changed since a set was made is found, and told by file and chunk."""

from __future__ import annotations

import json
import re

import scan_files as files

import zaro
from zaro.cli import main
from zaro.scan import scan


def test_a_set_that_is_true_has_no_findings(tmp_path, capsys):
    refs = scan(files.climate(tmp_path / "c.nc"), inline_threshold=0)
    assert refs.verify() == []
    assert refs.verify(read=True) == []
    refs.save(tmp_path / "refs.json")
    assert main(["verify", str(tmp_path / "refs.json"), "--read"]) == 0
    assert "0 problems in 7 arrays" in capsys.readouterr().out


def test_files_that_are_gone_or_shorter_are_found(tmp_path, capsys):
    file = files.climate(tmp_path / "c.nc")
    refs = scan(file, inline_threshold=0)
    refs.save(tmp_path / "refs.json")
    whole = file.read_bytes()
    file.write_bytes(whole[:6000])
    found = refs.verify()
    assert found
    assert all(f.file == str(file) and "the file at 6000" in f.problem for f in found)
    assert all(ends_behind(refs, f, 6000) for f in found)
    file.unlink()
    assert main(["verify", str(tmp_path / "refs.json"), "--json"]) == 1
    problem = json.loads(capsys.readouterr().out)[0]["problem"]
    assert problem.startswith("No such file"), "the file stands before it"


def ends_behind(refs, finding, size):
    """Whether the chunk that a finding names is the last of its array, and ends behind the file."""
    name, end = re.match(r"chunk (\S+) ends at byte (\d+)", finding.problem).groups()
    _, offset, length = refs[f"{finding.array}/{name}"]
    spans = [value for key, value in refs.items() if key.startswith(f"{finding.array}/")]
    ends = [sum(value[1:]) for value in spans if isinstance(value, list)]
    return size < offset + length == int(end) == max(ends)


def test_a_chunk_that_does_not_decode_is_found_by_reading(tmp_path):
    file = files.climate(tmp_path / "c.nc")
    refs = scan(file, inline_threshold=0)
    _, offset, length = refs["tas/1.0.1"]
    data = bytearray(file.read_bytes())
    data[offset : offset + length] = b"\xff" * length
    file.write_bytes(data)
    assert refs.verify() == []
    (found,) = zaro.References.verify(refs, read=True)
    assert (found.array, found.file) == ("tas", str(file))
    assert "1.0.1" in found.problem


def test_an_array_without_elements_is_well(tmp_path):
    array = {"zarr_format": 2, "shape": [0], "chunks": [0], "dtype": "<i4", "compressor": None}
    refs = zaro.References.open(
        {"v/.zarray": json.dumps({**array, "filters": None, "order": "C", "fill_value": 0})}
    )
    assert refs.verify(read=True) == []
