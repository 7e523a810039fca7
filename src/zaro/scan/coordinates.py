"""Where each set stands along the dimension that they are joined along."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError
from zaro.scan.members import PACKING, Member, Node, check_attributes, read_values

__all__ = ["CoordinateSource", "Places", "places_along"]

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
    units_differ: bool = False

    @property
    def joined(self) -> NDArray[Any]:
        """All of them."""
        return np.concatenate(self.values)


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
    return _as_numbers(Places(found, {}))


def _made(member: Member, dim: str, source: Any) -> Any:
    name = member.file
    if callable(source):
        return source(member.refs, name)
    match = re.search(source, name)
    if match is None:
        pattern = source.pattern if isinstance(source, re.Pattern) else source
        raise CombineError(member.label, dim, f"the name {name!r} does not match {pattern!r}")
    return _number(match[1] if match.re.groups else match[0])


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


def _as_numbers(places: Places) -> Places:
    """Times as CF spells them."""
    if any(values.dtype.kind == "O" for values in places.values):
        places.values = [np.asarray(v.astype("datetime64[s]")) for v in places.values]
    if any(values.dtype.kind == "M" for values in places.values):
        places.values = [values.astype("datetime64[s]").astype("<i8") for values in places.values]
        places.attrs = {"units": "seconds since 1970-01-01", "calendar": "proleptic_gregorian"}
    return places


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
    values = []
    first, same = nodes[0], True
    for member, node in zip(members, nodes, strict=True):
        if len(node.shape) > 1:
            raise CombineError(member.label, path, f"has {len(node.shape)} dimensions, a coordinate has one")
        check_attributes(first, node, member.label, PACKING)
        same &= _check_units(first, node, member.label, decode=decode)
        found = np.atleast_1d(read_values(member, node))
        if decode and node.attrs.get("units") != first.attrs.get("units"):
            found = _in_units(found, node, first, member.label)
        values.append(found)
    return Places(values, dict(first.attrs), not same)


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


def _in_units(values: NDArray[Any], node: Node, first: Node, label: str) -> NDArray[Any]:
    """Times in the units of the first set."""
    import cftime  # type: ignore[import-untyped]

    packed = next((name for name in PACKING if name in node.attrs), None)
    if packed is not None:
        reason = f"has {packed}, so that its stored values are no times in {node.attrs.get('units')!r}"
        raise CombineError(label, first.path, reason)
    calendar = _calendar(node.attrs.get("calendar"))
    try:
        times = cftime.num2date(values, node.attrs["units"], calendar)
        return np.asarray(cftime.date2num(times, first.attrs["units"], calendar))
    except (ValueError, KeyError) as err:
        reason = (
            f"units are {node.attrs.get('units')!r}, in the first set {first.attrs.get('units')!r}: {err}"
        )
        raise CombineError(label, first.path, reason) from err
