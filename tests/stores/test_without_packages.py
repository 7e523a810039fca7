"""A store needs the packages of its own protocol, and no others."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
for package in ("aiohttp", "requests", "s3fs", "pyarrow", "xarray", "zarr"):
    sys.modules[package] = None  # importing it fails
import fsspec
import zaro

files = fsspec.filesystem("memory")
files.pipe("/bare/.zarray", b'{"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|u1", "compressor":'
           b' null, "filters": null, "fill_value": 0, "order": "C"}')
files.pipe("/bare/0", b"zaro")
assert zaro.open("memory://bare")[...].tobytes() == b"zaro"
"""


def test_memory_needs_no_package_of_http_or_s3():
    subprocess.run([sys.executable, "-c", CODE], check=True)
