"""Who decodes what: the kernel, where libraries were linked or are found in packages; else a package."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from zaro._core import codec as kernel
from zaro.codecs.foreign import PACKAGES
from zaro.codecs.parts import Part

__all__ = ["providers", "served", "version_of"]

# Codecs and the kernel's step that decodes them, where there is one.
_STEPS = {
    "blosc": "blosc",
    "zstd": "zstd",
    "lz4": "lz4",
    "zlib": "zlib",
    "gzip": "gzip",
    "crc32c": "crc32c",
    "crc32": "crc32_start",
    "adler32": "adler32_start",
    "fletcher32": "fletcher32",
    "shuffle": "shuffle",
    "delta": "delta",
    "fixedscaleoffset": "scale",
    "astype": "astype",
}
# Packages that decode where the kernel does not; numcodecs for all others.
_FALLBACKS = {
    "zstd": "zstandard",
    "lz4": "lz4",
    "zlib": "python",
    "gzip": "python",
    "bz2": "python",
    "lzma": "python",
}
_OURS = ("bytes", "transpose", "quantize", "bitround", "scale_offset", "sharding_indexed")
_NUMCODECS = ("base64", "jenkins_lookup3", "packbits", "categorize", "vlen-utf8", "vlen-bytes", "vlen-array")


def served(part: Part) -> bool:
    """Whether C decodes all that this part asks for."""
    return part.steps is not None and all(_kernel_providers()[name] for name, _ in part.steps)


def providers() -> dict[str, str]:
    """Name of every codec, and who decodes it here.

    Returns
    -------
    dict of str to str
        As `"libdeflate 1.14 (C)"`, `"numcodecs 0.16.6"`, or `"not available: pip install zfpy"`.

    Notes
    -----
    Reads the versions of packages without importing them.
    """
    table = {
        codec: _kernel(step) or _package(_FALLBACKS.get(codec, "numcodecs")) for codec, step in _STEPS.items()
    }
    table |= dict.fromkeys(_OURS, "zaro")
    table |= {"bz2": _package("python"), "lzma": _package("python"), "json2": _package("python")}
    table |= dict.fromkeys(_NUMCODECS, _package("numcodecs"))
    table |= {codec: _package(package) for codec, package in PACKAGES.items() if codec not in table}
    table["cast_value"] = _package("cast-value-rs")
    table["pickle"] = "refused: it runs code of the file's author"
    return dict(sorted(table.items()))


def _kernel(step: str) -> str | None:
    name = _kernel_providers()[step]
    return f"{name} (C)" if name else None


def _package(package: str) -> str:
    if package == "python":
        return "Python's standard library"
    version = version_of(package)
    return f"{package} {version}" if version else f"not available: pip install {package}"


def version_of(package: str) -> str | None:
    """Version of an installed package; None where it is missing."""
    from importlib.metadata import PackageNotFoundError, version  # 10 ms that a read does not need

    try:
        return version(package)
    except PackageNotFoundError:
        return None


@cache
def _kernel_providers() -> dict[str, str | None]:
    for path in chain(_blosc_libraries(), _deflate_libraries()):
        if all(kernel.providers().values()):
            break
        kernel.load(path)
    return kernel.providers()


def _blosc_libraries() -> Iterator[Path]:
    """Libraries that the blosc2 package may carry, without importing it: that costs 180 ms.

    conda's package carries none, and uses the one of the environment.
    """
    roots = _folders("blosc2")
    names = ("libblosc2.so", "libblosc2.so.*", "libblosc2.dylib", "libblosc2.*.dylib")
    folders = [root / folder for root in roots for folder in ("lib", "lib64")]
    if roots and os.path.exists(os.path.join(sys.prefix, "conda-meta")):
        folders.append(Path(sys.prefix) / "lib")
    return (path for folder in folders for name in names for path in sorted(folder.glob(name)))


def _deflate_libraries() -> Iterator[Path]:
    """Of the deflate package: its extension module exports libdeflate."""
    return (path for root in _folders("deflate") for path in sorted(root.glob("_deflate*.so")))


def _folders(package: str) -> list[Path]:
    """Where a package is installed, found without importing it."""
    found = importlib.util.find_spec(package)
    return [Path(place) for place in (found.submodule_search_locations or ())] if found else []
