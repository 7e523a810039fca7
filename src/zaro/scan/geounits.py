"""Units of the axes of a GeoTIFF, as UDUNITS spells them: CF wants that spelling.

Source: OGC 19-008r4, "GeoTIFF Standard" 1.1, unit keys; EPSG Geodetic Parameter Dataset, units of measure;
UDUNITS 2.2, `udunits2-base.xml`, `udunits2-accepted.xml` and `udunits2-common.xml`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["UNIT_SIZE", "axis_unit"]

UNIT_SIZE = 3077
"""The key of the metres of a unit that has no code."""

_USER_DEFINED = 32767
_GEOGRAPHIC, _ANGLE = 2048, 2054
_PROJECTED, _LENGTH = 3072, 3076

_SURVEY_FOOT = 1200 / 3937
_NAMES = {
    1.0: "m",
    0.001: "mm",
    0.01: "cm",
    1000.0: "km",
    0.3048: "foot",
    0.9144: "yard",
    1609.344: "mile",
    1852.0: "nautical_mile",
    _SURVEY_FOOT: "US_survey_foot",
    5280 * _SURVEY_FOOT: "US_survey_mile",
}
"""By metres. Not `chain` and `fathom`: those of UDUNITS have other lengths."""
_METRES = {
    1025: 0.001,
    1033: 0.01,
    9001: 1.0,
    9002: 0.3048,
    9003: _SURVEY_FOOT,
    9005: 0.3047972654,  # Clarke's foot
    9014: 1.8288,  # fathom
    9030: 1852.0,
    9031: 1.0000135965,  # German legal metre
    9033: 66 * _SURVEY_FOOT,  # US survey chain
    9034: 0.66 * _SURVEY_FOOT,  # US survey link
    9035: 5280 * _SURVEY_FOOT,
    9036: 1000.0,
    9037: 0.9143917962,  # Clarke's yard
    9038: 20.1166195164,  # Clarke's chain
    9039: 0.201166195164,  # Clarke's link
    9040: 0.914398414616029,  # British yard (Sears 1922)
    9041: 0.304799471538676,  # British foot (Sears 1922)
    9042: 20.1167651215526,  # British chain (Sears 1922)
    9062: 20.1167824943759,  # British chain (Benoit 1895 B)
    9084: 0.914398530744441,  # Indian yard
    9093: 1609.344,
    9094: 0.304799710181509,  # Gold Coast foot
    9096: 0.9144,
    9097: 20.1168,  # chain
    9098: 0.201168,  # link
    9301: 20.116756,  # British chain (Sears 1922 truncated)
}
"""By code of EPSG: those that its projected systems have, and common ones."""
_ANGLES = {
    9101: "radian",
    9102: "degree",
    9103: "arc_minute",
    9104: "arc_second",
    9105: "grade",
    9106: "grade",  # gon
    9107: "degree",  # this and two more say how degrees are shown; GDAL takes them so
    9108: "degree",
    9110: "degree",
    9122: "degree",
}
_IN_GRADES = frozenset({4807, 4810, 4811, 4816, 4819, 4821, 4901, 4902})
"""Geographic systems of EPSG whose unit is no degree."""


def axis_unit(keys: Mapping[int, int], size: float | None, geographic: bool) -> str | None:
    """Unit of both axes; None where neither the file nor a library that is installed tells it.

    The key of the unit goes before the code of the system, as in GDAL.

    Parameters
    ----------
    keys : numbers by GeoKey.
    size : value of UNIT_SIZE, if there is one.
    geographic : whether the axes are longitude and latitude.
    """
    if geographic:
        if keys.get(_ANGLE):
            return _ANGLES.get(keys[_ANGLE])
        return "grade" if keys.get(_GEOGRAPHIC) in _IN_GRADES else "degree"
    unit = keys.get(_LENGTH)
    if unit == _USER_DEFINED:
        return _spelled(size)
    return _spelled(_METRES.get(unit) if unit else _metres_of(keys.get(_PROJECTED)))


def _spelled(metres: float | None) -> str | None:
    if metres is None or not math.isfinite(metres) or metres <= 0:
        return None
    for size, name in _NAMES.items():
        if math.isclose(metres, size, rel_tol=1e-9):  # the feet differ by 2e-6
            return name
    return f"{metres:.15g} m"  # as many digits as EPSG has


def _metres_of(code: int | None) -> float | None:
    """Metres of the unit of a projected system. GDAL writes no key of the unit beside a vertical system."""
    if code in (None, 0, _USER_DEFINED):
        return None
    try:
        from pyproj import CRS
    except ImportError:
        return None
    try:
        system = CRS.from_epsg(code)
    except RuntimeError:  # an unknown code, or no database
        return None
    return float(system.axis_info[0].unit_conversion_factor) if system.is_projected else None
