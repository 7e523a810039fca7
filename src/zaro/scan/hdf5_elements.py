"""Elements of HDF5 whose bytes mean something else than those of the NumPy type that h5py gives them."""

from __future__ import annotations

from typing import Any

__all__ = ["unusual"]


def unusual(kind: Any) -> str:
    """Why the stored bytes of a type are not its values; empty where they are."""
    import h5py

    if isinstance(kind, h5py.h5t.TypeCompoundID):
        parts = (unusual(kind.get_member_type(k)) for k in range(kind.get_nmembers()))
        return next((reason for reason in parts if reason), "")
    if isinstance(kind, h5py.h5t.TypeArrayID | h5py.h5t.TypeEnumID):
        return unusual(kind.get_super())
    if isinstance(kind, h5py.h5t.TypeStringID):
        spaces = not kind.is_variable_str() and kind.get_strpad() == h5py.h5t.STR_SPACEPAD
        return "holds texts that are filled up with spaces, which HDF5 takes away" if spaces else ""
    if isinstance(kind, h5py.h5t.TypeIntegerID):
        whole = kind.get_precision() == 8 * kind.get_size()
        return "" if whole else f"has integers of {kind.get_precision()} bits in {kind.get_size()} bytes"
    if isinstance(kind, h5py.h5t.TypeFloatID):
        fields = tuple(kind.get_fields())
        usual = fields == _FLOATS.get(kind.get_size(), fields)
        return "" if usual else f"has floats of {kind.get_size()} bytes that are not those of IEEE"
    return ""


_FLOATS = {2: (15, 10, 5, 0, 10), 4: (31, 23, 8, 0, 23), 8: (63, 52, 11, 0, 52)}
"""By size: where sign, exponent (and its bits) and mantissa (and its bits) lie."""
