"""Where each set stands along the dimension that they are joined along."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError
from zaro.references.layout import join_path
from zaro.scan.members import (
    PACKING,
    Member,
    Node,
    check_attributes,
    check_missing,
    group_of,
    is_missing,
    read_values,
)

__all__ = ["CoordinateSource", "Places", "is_exact", "places_along"]

CoordinateSource = Literal["value", "time"] | str | re.Pattern[str] | Callable[[Any, str], Any]
"""How a coordinate is found.

`"value"`: the values of the variable named as the dimension, whose units must be the same. `"time"`: the same
in the units of the first set, decoded by calendar. A regular expression: its first group, found in the name
of the file. A function of the set and that name: one value, or one for each element.
"""


@dataclass(slots=True)
class Places:
    """Values of the coordinate of each set, and what they are in the joined one."""

    values: list[NDArray[Any]]
    attrs: dict[str, Any]
    units: list[Any] = field(default_factory=list)  # of each set as stored, where they differ

    def joined(self, path: str, label: str) -> NDArray[Any]:
        """All of them.

        Raises
        ------
        CombineError
            No type holds them all.
        """
        found = np.concatenate(self.values)
        start = 0
        for values in self.values:
            if not is_exact(found[start : start + len(values)], values):
                types = ", ".join(sorted({each.dtype.str for each in self.values}))
                raise CombineError(label, path, f"has values of types {types}, which no type holds exactly")
            start += len(values)
        return found

    def reordered(self, order: Sequence[int]) -> Places:
        """The same, of the sets in another order."""
        values, units = ([each[k] for k in order] if each else [] for each in (self.values, self.units))
        return Places(values, self.attrs, units)

    def are_bounded_by(self, path: str, coordinate: str) -> bool:
        """Whether an array holds bounds of the coordinate, which need conversion as it does."""
        names = (self.attrs.get(name) for name in ("bounds", "climatology"))
        group = group_of(coordinate)
        paths = [join_path(group, name) for name in names if isinstance(name, str)]
        return bool(self.units) and path in paths

    def converted(self, k: int, values: NDArray[Any], node: Node, units: Any, label: str) -> NDArray[Any]:
        """Bounds of set `k` in other units; without units of their own they have their coordinate's."""
        own = node.attrs.get("units", self.units[k])
        if own == units:
            return values
        calendar = node.attrs.get("calendar", self.attrs.get("calendar"))
        return _in_units(values, node, (own, units), calendar, label)


def is_exact(found: NDArray[Any], values: NDArray[Any]) -> bool:
    """Whether values that were given another type are what they were."""
    kinds = found.dtype.kind + values.dtype.kind
    if kinds in ("fi", "fu", "ci", "cu"):  # to compare them would round them again
        return bool(np.array_equal(found.real.astype(object), values.astype(object)))
    return bool(np.array_equal(found, values, equal_nan=set(kinds) <= set("fc") or set(kinds) <= set("mM")))


def places_along(
    members: Sequence[Member],
    dim: str,
    path: str,
    source: CoordinateSource | None,
    sizes: Sequence[int | None],
) -> Places | None:
    """Find the coordinate of every set.

    Parameters
    ----------
    path : str
        Of the coordinate variable.
    sizes
        Elements of each set along the dimension; None where it has no such dimension yet.

    Returns
    -------
    Places, or None where no set has a coordinate and none was asked for.
    """
    if source in (None, "value", "time"):
        return _from_variables(members, dim, path, decode=source == "time", needed=source is not None)
    found = []
    for member, size in zip(members, sizes, strict=True):
        values = np.atleast_1d(np.asarray(_made(member, dim, source)))
        if len(values) != (1 if size is None else size):
            reason = f"has {size or 1} elements along {dim!r}, for which {len(values)} values were found"
            raise CombineError(member.label, path, reason)
        found.append(values)
    return _as_numbers(Places(found, {}), members, path)


def _made(member: Member, dim: str, source: Any) -> Any:
    name = member.file
    if callable(source):
        return source(member.refs, name)
    if not name:
        raise CombineError(member.label, dim, "references no file whose name could tell; give `labels`")
    match = re.search(source, name)
    text = None if match is None else match[1] if match.re.groups else match[0]
    if text is None:
        pattern = source.pattern if isinstance(source, re.Pattern) else source
        raise CombineError(member.label, dim, f"the name {name!r} does not match {pattern!r}")
    return _number(text)


def _number(text: str) -> Any:
    """A number where the text is one, a time where it is a date."""
    for kind in (int, float):
        try:
            return kind(text) if not (kind is int and re.fullmatch(r"\d{8}", text)) else _date(text)
        except ValueError:
            continue
    return _date(text)


def _date(text: str) -> Any:
    spelled = f"{text[:4]}-{text[4:6]}-{text[6:]}" if re.fullmatch(r"\d{8}", text) else text
    try:
        return np.datetime64(spelled, "s")
    except ValueError:
        return text


_EPOCH = "since 1970-01-01"
_UNITS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}


def _as_numbers(places: Places, members: Sequence[Member], path: str) -> Places:
    """Times as CF spells them, in units that hold them all; texts as texts."""
    calendars = [_calendars(values) for values in places.values]
    for member, found in zip(members, calendars, strict=True):
        if found != calendars[0] or len(found) > 1:
            told = ", ".join(sorted(map(str, found)))
            first = ", ".join(sorted(map(str, calendars[0])))
            raise CombineError(member.label, path, f"calendar is {told}, in the first set {first}")
    (calendar,) = calendars[0]
    if calendar is not None:
        return _of_calendar(places, calendar)
    try:
        plain = [_plain(values) for values in places.values]
    except (TypeError, ValueError) as err:
        reason = f"the values found are neither numbers nor times: {err}"
        raise CombineError(members[0].label, path, reason) from err
    if not any(values.dtype.kind == "M" for values in plain):
        return Places(plain, {})
    times = [values.astype(f"M8[{_finest(plain)}]") for values in plain]
    attrs = {"units": f"{_UNITS[_finest(plain)]} {_EPOCH}", "calendar": "proleptic_gregorian"}
    return Places([values.astype("<i8") for values in times], attrs)


def _calendars(values: NDArray[Any]) -> set[Any]:
    """Calendars of times of cftime; None for all others."""
    if values.dtype.kind != "O":
        return {None}
    return {getattr(value, "calendar", None) for value in values.reshape(-1)}


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as what they all are: texts, numbers or times."""
    if values.dtype.kind != "O":
        return values
    found = np.array(values.tolist())
    return found if found.dtype.kind in "UiufbM" else values.astype("M8[us]")


def _finest(values: Sequence[NDArray[Any]]) -> str:
    """The unit that loses nothing of times."""
    for unit in _UNITS:
        if all((times.astype(f"M8[{unit}]") == times).all() for times in values):
            return unit
    return "ns"


def _of_calendar(places: Places, calendar: str) -> Places:
    """Times of cftime."""
    import cftime  # type: ignore[import-untyped]

    for unit in ("seconds", "microseconds"):
        attrs = {"units": f"{unit} {_EPOCH}", "calendar": calendar}
        values = [np.asarray(cftime.date2num(times, attrs["units"], calendar)) for times in places.values]
        if all(found.dtype.kind == "i" for found in values):
            break
    return Places(values, attrs)


def _from_variables(
    members: Sequence[Member], dim: str, path: str, *, decode: bool, needed: bool
) -> Places | None:
    there = [path in member.nodes for member in members]
    if not any(there) and not needed:
        return None
    if not all(there):
        missing = members[there.index(False)]
        raise CombineError(missing.label, path, f"is missing, and it is the coordinate of {dim!r}")
    nodes = [member.nodes[path] for member in members]
    values: list[NDArray[Any]] = []
    first, same = nodes[0], True
    for member, node in zip(members, nodes, strict=True):
        if len(node.shape) > 1:
            raise CombineError(member.label, path, f"has {len(node.shape)} dimensions, a coordinate has one")
        check_attributes(first, node, member.label, PACKING)
        same &= _check_units(first, node, member.label, decode=decode)
        found = np.atleast_1d(read_values(member, node))
        check_missing(first, node, found, member.label)
        if decode and node.attrs.get("units") != first.attrs.get("units"):
            units = node.attrs.get("units"), first.attrs.get("units")
            found = _in_units(found, node, units, node.attrs.get("calendar"), member.label)
        values.append(found)
    return Places(values, dict(first.attrs), [] if same else [node.attrs.get("units") for node in nodes])


def _check_units(first: Node, node: Node, label: str, *, decode: bool) -> bool:
    """Whether units are the same; refuses others unless they shall be decoded, and another calendar."""
    for name in ("calendar", "units"):
        found, expected = node.attrs.get(name), first.attrs.get(name)
        if name == "calendar":
            found, expected = (_calendar(value) for value in (found, expected))
        if found == expected:
            continue
        if name == "calendar" or not decode:
            how = f"; coords={{{first.dims[0]!r}: 'time'}}, or --coord {first.dims[0]}=time, decodes them"
            hint = how if name == "units" and first.dims else ""
            reason = f"{name} is {found!r}, in the first set {expected!r}{hint}"
            raise CombineError(label, first.path, reason)
        return False
    return True


def _calendar(name: Any) -> str:
    found = str(name or "standard").lower()
    return {"gregorian": "standard", "365_day": "noleap", "366_day": "all_leap"}.get(found, found)


def _in_units(
    values: NDArray[Any], node: Node, units: tuple[Any, Any], calendar: Any, label: str
) -> NDArray[Any]:
    """Times in other units: from the first of `units` to the second. What is missing stays as it is."""
    import cftime

    packed = next((name for name in PACKING if name in node.attrs), None)
    if packed is not None:
        reason = f"has {packed}, so that its stored values are no times in {units[0]!r}"
        raise CombineError(label, node.path, reason)
    told = f"units are {units[0]!r}, in the first set {units[1]!r}"
    if not all(isinstance(each, str) for each in units):
        raise CombineError(label, node.path, told)
    there = ~is_missing(node, values)
    calendar = _calendar(calendar)
    try:
        times = cftime.num2date(values[there], units[0], calendar)
        found = np.asarray(cftime.date2num(times, units[1], calendar))
    except (ValueError, OverflowError) as err:
        raise CombineError(label, node.path, f"{told}: {err}") from err
    if there.all():
        return found.reshape(values.shape)
    whole = values.astype(np.promote_types(found.dtype, values.dtype))
    whole[there] = found
    return whole
