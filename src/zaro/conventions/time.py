"""Time in `cs`: from unit, epoch and calendar to the `units` that CF and xarray know."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

from zaro.conventions.base import tell
from zaro.conventions.ref import Fragment
from zaro.conventions.values import spell

__all__ = ["time_attrs"]

_UNITS = {
    "seconds": ("s", "sec", "secs", "second"),
    "minutes": ("min", "mins", "minute", "m"),
    "hours": ("h", "hr", "hrs", "hour"),
    "days": ("d", "day"),
    "milliseconds": ("ms", "msec", "millisecond"),
    "microseconds": ("us", "microsecond"),
    "nanoseconds": ("ns", "nanosecond"),
    "months": ("month",),
    "years": ("year",),
    "common_years": ("common_year",),
}
_FULL = {short: full for full, shorts in _UNITS.items() for short in (full, *shorts)}


def time_attrs(time: Fragment) -> dict[str, Any]:
    """Attributes of a temporal coordinate.

    `units` and `calendar` where xarray can decode them; else `time_unit`, `time_epoch` and
    `calendar` as they were given, with a warning.
    """
    unit, epoch, calendar = _members(time)
    given = {} if calendar is None else {"calendar": calendar}
    for name, value in (("unit", unit), ("epoch", epoch)):
        if not isinstance(value, str):
            found = "is missing" if value is None else f"is {spell(value)}, expected text"
            tell(time.error(f"{name!r} {found}"))
            return given if isinstance(calendar, str) else {}
    units = f"{_full(unit.strip())} since {epoch}"
    reason = _undecodable(units, calendar if isinstance(calendar, str) else None)
    if calendar is not None and not isinstance(calendar, str):
        reason = f"the calendar is {spell(calendar)}, expected text"
    if reason is None:
        return {"units": units, **given}
    tell(time.error(f"{units!r} in calendar {calendar or 'standard'!r} cannot be decoded: {reason}"))
    return {"time_unit": unit, "time_epoch": epoch, **given}


def _full(unit: str) -> str:
    """The word that xarray knows; of letters the case counts, since `M` is no minute."""
    return _FULL.get(unit if len(unit) < 3 else unit.lower(), unit)


def _members(time: Fragment) -> tuple[Any, Any, Any]:
    """Unit, epoch and calendar; an older spelling has the first two in one text `reference`."""
    value = time.value
    unit, epoch = value.get("unit"), value.get("epoch")
    reference = value.get("reference")
    if unit is None and epoch is None and isinstance(reference, str):
        unit, _, epoch = (part.strip() for part in reference.partition(" since "))
    return unit, epoch, value.get("calendar")


@lru_cache(maxsize=256)
def _undecodable(units: str, calendar: str | None) -> str | None:
    """Why xarray cannot decode times in some units; None where it can."""
    from xarray import Variable
    from xarray.conventions import decode_cf_variable

    attrs = {"units": units} | ({} if calendar is None else {"calendar": calendar})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the time of the epoch is nobody's data
        try:
            decode_cf_variable("time", Variable(("time",), [0], attrs)).load()
        except Exception as err:  # whatever a decoder makes of text from a file
            return str(err).partition("\n")[0]
    return None
