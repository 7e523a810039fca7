"""What reading a partition brings into a process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyarrow")

PROGRAM = """
import sys, zaro
array = zaro.open(sys.argv[1])["x"]
assert array.locate([0, 1, 2]).length.tolist() == [4, 3, 0]
assert "pandas" not in sys.modules
"""


def test_reading_parquet_does_not_import_pandas(tmp_path):
    import zaro

    zarray = (
        '{"zarr_format":2,"shape":[3],"chunks":[1],"dtype":"<i4",'
        '"compressor":null,"filters":null,"fill_value":0,"order":"C"}'
    )
    refs = {".zgroup": '{"zarr_format":2}', "x/.zarray": zarray, "x/0": ["/a.nc", 8, 4], "x/1": "base64:AAEC"}
    target = tmp_path / "refs.parquet"
    zaro.References.open(refs).save(target)
    subprocess.run([sys.executable, "-c", PROGRAM, str(target)], check=True)
