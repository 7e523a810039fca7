"""Warnings that name the line of whoever asked."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn"]

_BETWEEN = {"zaro", "xarray", "dask"}
"""Packages whose lines tell nobody why."""


def warn(warning: Warning) -> None:
    """Warn at the innermost line that is neither zaro's nor of what called zaro for somebody."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, stacklevel=level)
