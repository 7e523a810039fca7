"""What a library says of a damaged file becomes an error that names the file."""

import h5py
import pytest

import zaro
from zaro.errors import ScanError
from zaro.scan import hdf5


@pytest.mark.parametrize("error", [AttributeError("no path"), RuntimeError("ran off"), ZeroDivisionError()])
def test_what_a_library_says_names_the_file(tmp_path, monkeypatch, error):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = 1

    def fails(*arguments, **options):
        raise error

    monkeypatch.setattr(hdf5, "scan_hdf5", fails)
    with pytest.raises(ScanError, match=rf"a\.h5: cannot be read as hdf5: {type(error).__name__}"):
        zaro.scan(tmp_path / "a.h5")
