"""Who decodes what: the kernel where a library was found, else a package."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path

from zaro._core import codec as kernel
from zaro.codecs.parts import Part

__all__ = ["served"]


def served(part: Part) -> bool:
    """Whether C decodes all that this part asks for."""
    return part.steps is not None and all(_kernel_providers()[name] for name, _ in part.steps)


@cache
def _kernel_providers() -> dict[str, str | None]:
    for path in _blosc_libraries():
        if kernel.load_blosc(path):
            break
    return kernel.providers()


def _blosc_libraries() -> list[Path]:
    """Libraries that the blosc2 package may carry, without importing it: that costs 180 ms."""
    found = importlib.util.find_spec("blosc2")
    roots = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    names = ("libblosc2.so", "libblosc2.so.*", "libblosc2.dylib", "libblosc2.*.dylib")
    return [
        path
        for root in roots
        for folder in ("lib", "lib64")
        for name in names
        for path in sorted((root / folder).glob(name))
    ]
