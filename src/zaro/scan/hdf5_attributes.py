"""Attributes of HDF5 objects, as xarray expects them: text, numbers and lists of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from zaro.errors import ScanError

__all__ = ["HIDDEN", "attributes_of", "plain_value"]

HIDDEN = frozenset(
    {
        "CLASS",
        "DIMENSION_LIST",
        "NAME",
        "REFERENCE_LIST",
        "_NCProperties",
        "_Netcdf4Coordinates",
        "_Netcdf4Dimid",
        "_nc3_strict",
    }
)
"""What HDF5 and netCDF keep for themselves."""


def attributes_of(node: Any, file: str, path: str) -> dict[str, Any]:
    """Attributes of a group or dataset, without those that only its library needs, and `_FillValue`."""
    found = {}
    for name in node.attrs:
        if name in HIDDEN or name == "_FillValue":
            continue
        try:
            found[name] = plain_value(node.attrs[name], node)
        except (OSError, TypeError, ValueError, NotImplementedError) as err:
            raise ScanError(file, path, f"attribute {name!r} cannot be read: {err}") from err
    return found


def plain_value(value: Any, node: Any = None) -> Any:
    """A value that JSON holds; an array of one element is that element, as netCDF gives it."""
    import h5py

    if isinstance(value, h5py.Empty):
        return "" if value.dtype.kind in "SO" else []
    if isinstance(value, h5py.Reference):
        return h5py.h5r.get_name(value, node.id).decode() if value and node is not None else ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, np.ndarray):
        items = [plain_value(item, node) for item in value.reshape(-1)]
        return items[0] if len(items) == 1 else _nested(items, value.shape)
    if isinstance(value, np.void) and value.dtype.names:
        return [plain_value(value[name], node) for name in value.dtype.names]
    if isinstance(value, np.complexfloating):
        return [float(value.real), float(value.imag)]
    if isinstance(value, np.void):
        return value.tobytes().hex()
    if isinstance(value, np.longdouble):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def _nested(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """A flat list in rows, by shape."""
    for size in shape[:0:-1]:
        items = [items[k : k + size] for k in range(0, len(items), size)] if size else []
    return items
