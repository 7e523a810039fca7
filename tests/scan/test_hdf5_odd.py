"""HDF5 files as they are rarely written: each was once read wrongly, or not at all."""

from __future__ import annotations

import hdf5_cases as cases
import pytest
import scan_files as files

from zaro.scan import hdf5_chunks


@pytest.mark.parametrize("compression", [None, "gzip"])
@pytest.mark.parametrize("through", ["the library", "h5py"])
@pytest.mark.parametrize("version", ["earliest", "latest"])
@pytest.mark.parametrize("grid", cases.GRIDS)
def test_whichever_dimension_grows_chunks_are_in_their_places(
    tmp_path, monkeypatch, grid, version, through, compression
):
    file = cases.growing(tmp_path / "f.h5", grid, version=version, compression=compression)
    if through == "h5py":
        monkeypatch.setattr(hdf5_chunks, "_iterate", lambda: None)
    files.assert_as_h5py(file, inline_threshold=0)


@pytest.mark.parametrize("inline", [0, 500])
@pytest.mark.parametrize("case", cases.ODD)
def test_odd_datasets_read_as_h5py_reads_them(tmp_path, case, inline):
    files.assert_as_h5py(cases.write(tmp_path / "f.h5", case), inline_threshold=inline)
