"""Versions of what takes part, and who decodes each codec."""

from __future__ import annotations

import platform
import sys
from typing import Any

from zaro.codecs.registry import providers, version_of

__all__ = ["show_versions", "versions"]

_PACKAGES = (
    "zaro",
    "numpy",
    "numcodecs",
    "blosc2",
    "deflate",
    "zstandard",
    "lz4",
    "fsspec",
    "xarray",
    "dask",
    "zarr",
    "pyarrow",
    "kerchunk",
    "h5py",
    "netCDF4",
)


def versions() -> dict[str, Any]:
    """Versions by name (None where a package is missing), and who decodes each codec."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {sys.byteorder} endian",
        "packages": {name: version_of(name) for name in _PACKAGES},
        "decoders": providers(),
    }


def show_versions() -> None:
    """Print versions, and who decodes each codec, for a bug report.

    A package that is not installed is a dash. A decoder is zaro's own in C, or a Python package; a codec
    without any is an `UnsupportedError` where an array has it.

    See Also
    --------
    zaro.config : settings of the process.
    """
    found = versions()
    print(f"python {found['python']}, {found['system']}")
    for title in ("packages", "decoders"):
        print(f"\n{title}")
        for name, what in found[title].items():
            print(f"  {name:<18} {what or '-'}")
