"""Zarr stores in folders and zip files, of both versions."""

from __future__ import annotations

import json
import struct
import zipfile

import numpy as np
import pytest
import scan_files as files
import zarr

import zaro
from zaro.detect import detect
from zaro.errors import MetadataError, ScanError, StoreError
from zaro.options import Options
from zaro.scan import scan
from zaro.scan.settings import Settings
from zaro.scan.zarr import _paths


@pytest.mark.filterwarnings("ignore:Consolidated metadata")
@pytest.mark.parametrize(("version", "shards"), [(2, None), (3, None), (3, (8, 8, 5))])
def test_a_folder_reads_as_zarr_reads_it(tmp_path, version, shards):
    root = files.zarr_store(tmp_path / "s.zarr", version, shards=shards)
    for consolidated in (False, True):
        if consolidated:
            zarr.consolidate_metadata(tmp_path / "s.zarr", zarr_format=version)
        refs = scan(tmp_path / "s.zarr")
        found = zaro.open(refs)
        np.testing.assert_array_equal(found["deep/values"][...], root["deep/values"][...])
        np.testing.assert_array_equal(found["left"][...], [1, 2, 3])
        assert found.attrs == {"title": "there"}
        assert all(
            reference == [str(tmp_path / "s.zarr" / key)]
            for key, reference in refs.items()
            if key in refs and isinstance(reference, list)
        )
        assert sum(isinstance(reference, list) for reference in refs.values()) > 2
        assert "left/c/0" not in scan(tmp_path / "s.zarr", skip="left")
        assert list(scan(tmp_path / "s.zarr", skip="left").arrays) == ["deep/values"]


@pytest.mark.parametrize("folder", ["", "inner.zarr/"])
@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("version", [2, 3])
def test_stored_members_of_a_zip_file_are_referenced(tmp_path, version, inline, folder):
    root = files.zarr_store(tmp_path / "s.zarr", version)
    pack(tmp_path, folder, zipfile.ZIP_STORED)
    refs = scan(tmp_path / "s.zip", inline_threshold=inline)
    found = zaro.open(refs)
    np.testing.assert_array_equal(found["deep/values"][...], root["deep/values"][...])
    np.testing.assert_array_equal(found["left"][...], [1, 2, 3])
    assert any(isinstance(reference, list) for reference in refs.values())


def test_compressed_members_are_held_in_the_set_or_refused(tmp_path):
    root = files.zarr_store(tmp_path / "s.zarr", 2)
    pack(tmp_path, "", zipfile.ZIP_DEFLATED)
    found = zaro.open(scan(tmp_path / "s.zip"))
    np.testing.assert_array_equal(found["deep/values"][...], root["deep/values"][...])
    with pytest.raises(ScanError, match="only stored ones"):
        scan(tmp_path / "s.zip", unsupported_inline_threshold=10)


def pack(tmp_path, folder, how):
    with zipfile.ZipFile(tmp_path / "s.zip", "w", how) as archive:
        for file in sorted((tmp_path / "s.zarr").rglob("*")):
            if file.is_file():
                archive.write(file, folder + str(file.relative_to(tmp_path / "s.zarr")))


def test_a_zip_file_of_something_else_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("readme", "nothing")
    with pytest.raises(ScanError, match="without a Zarr store"):
        scan(tmp_path / "s.zip")


ARRAY = {
    "zarr_format": 2,
    "shape": [8],
    "chunks": [4],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": 0,
}


def flawed(tmp_path, change):
    """An archive of an array of two chunks, its bytes changed."""
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("zarr.json", b'{"zarr_format":3,"node_type":"group"}')
        archive.writestr("a/.zarray", json.dumps(ARRAY))
        for chunk in "01":
            archive.writestr(f"a/{chunk}", np.arange(4, dtype="<i4").tobytes())
    raw = bytearray((tmp_path / "s.zip").read_bytes())
    at = raw.rfind(b"PK\x01\x02")  # of the last member in the directory
    change(raw, at)
    (tmp_path / "s.zip").write_bytes(raw)
    return tmp_path / "s.zip"


FLAWS = {
    "checksum": (
        lambda raw, at: raw.__setitem__(at + 16, raw[at + 16] ^ 1),
        "Bad CRC",
        None,
    ),
    "encrypted": (lambda raw, at: raw.__setitem__(at + 8, 1), "encrypted", "encrypted"),
    "method": (lambda raw, at: raw.__setitem__(at + 10, 97), "method 97", "method 97"),
    "bzip2": (lambda raw, at: raw.__setitem__(at + 10, 12), "method 12", "method 12"),
    "place": (lambda raw, at: raw.__setitem__(at + 42, 7), "cannot be unpacked", "does not lie where"),
    "size": (lambda raw, at: raw.__setitem__(at + 20, 4), "Bad CRC", "4 bytes where 16 are promised"),
    "climbs": (
        lambda raw, at: raw.__setitem__(slice(at + 42, at + 46), struct.pack("<L", 1 << 30)),
        "cannot be unpacked",
        "do not hold",
    ),
}


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("flaw", FLAWS)
def test_a_damaged_member_is_an_error_that_names_it(tmp_path, flaw, inline):
    change, held, referenced = FLAWS[flaw]
    file = flawed(tmp_path, change)
    if not inline and flaw == "checksum":
        scan(file, inline_threshold=0)  # which only who reads all of a member can compare
        return
    with pytest.raises((ScanError, StoreError), match=rf"s\.zip.*{held if inline else referenced}"):
        scan(file, inline_threshold=inline)


@pytest.mark.parametrize("text", ['["consolidated_metadata"]', '{"consolidated_metadata": ', "[" * 100_000])
def test_a_document_that_is_none_is_an_error_that_names_the_store(tmp_path, text):
    text = text + "consolidated_metadata" if text.startswith("[[") else text
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr("zarr.json", text)
    with pytest.raises(MetadataError, match=r"zarr\.json: .*s\.zip"):
        scan(tmp_path / "s.zip")


def test_a_document_that_unpacks_without_bound_is_refused_unread(tmp_path):
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(".zgroup", b'{"zarr_format":2}' + bytes(64 << 20))
    with pytest.raises(ScanError, match="expected 33554432 at most"):
        scan(tmp_path / "s.zip")


def test_groups_may_lie_deep():
    keys = {f"{k * 'g/'}.zgroup": b'{"zarr_format":2}' for k in range(1200)}
    assert [path.count("g") for path in _paths(detect(keys, Options()), Settings())] == list(range(1200))
