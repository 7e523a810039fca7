"""Zarr stores in folders and zip files, of both versions."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
import scan_files as files
import zarr

import zaro
from zaro.errors import ScanError
from zaro.scan import scan


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
