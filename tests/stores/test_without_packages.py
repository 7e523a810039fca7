"""What needs a package says so where it is missing, and how to get it; what needs none works without."""

from __future__ import annotations

import subprocess
import sys

WITHOUT = """
import sys
for package in ("aiohttp", "requests", "s3fs", "pyarrow", "xarray", "zarr"):
    sys.modules[package] = None  # importing it fails
import fsspec
import zaro
"""

STORE = """
files = fsspec.filesystem("memory")
files.pipe("/bare/.zarray", b'{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor":'
           b' null, "filters": null, "fill_value": 0, "order": "C"}')
files.pipe("/bare/0", b"zaro")
assert zaro.open("memory://bare")[...].tobytes() == b"zaro"
"""


def test_memory_needs_no_package_of_http_or_s3():
    run(STORE)


PARQUET = """
from pathlib import Path
from zaro.scan.many import scan_many

array = ('{"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|u1", "compressor": null,'
         ' "filters": null, "fill_value": 0, "order": "C"}')
refs = zaro.References.open({".zgroup": '{"zarr_format": 2}', "x/.zarray": array, "x/0": ["/a", 8, 1]})
Path("other.parquet").mkdir()
header = {"record_size": 1, "metadata": {".zgroup": '{"zarr_format": 2}', "x/.zarray": array}}
Path("other.parquet/.zmetadata").write_text(__import__("json").dumps(header))
Path("other.parquet/x").mkdir()
Path("other.parquet/x/refs.0.parq").write_bytes(b"PAR1")
for use in (
    lambda: refs.save("refs.parquet"),
    lambda: scan_many(["a.nc"], "refs.parquet"),  # which is not looked at
    lambda: zaro.open("other.parquet")["x"][...],
):
    try:
        use()
    except zaro.errors.UnsupportedError as error:
        assert "parquet: needs pyarrow: pip install 'zaro[parquet]'" in str(error), error
    else:
        raise AssertionError(use)
assert [path.name for path in Path().iterdir()] == ["other.parquet"]
"""


def test_parquet_says_what_to_install(tmp_path):
    run(PARQUET, cwd=tmp_path)


def test_http_says_what_to_install():
    run("""
try:
    zaro.open("http://127.0.0.1:1/refs.json")
except zaro.errors.StoreError as error:
    assert "pip install 'zaro[http]'" in str(error), error
""")


def run(code, **how):
    subprocess.run([sys.executable, "-c", WITHOUT + code], check=True, **how)
