"""The principal convention `cs`: coordinates of every axis of an array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from zaro.conventions.axis import AxisContext, axis_coordinates
from zaro.conventions.base import ConventionHandler, declared, identifier, tell
from zaro.conventions.crs import CRS, Axis, systems
from zaro.conventions.nodes import ArrayNode, GroupNode
from zaro.conventions.values import spell
from zaro.errors import XGroupError

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["CSHandler"]


class CSHandler(ConventionHandler):
    """Coordinates of every axis, their bounds and parametric terms, and scalar coordinates."""

    tier, name, uuid = "principal", "cs", identifier("cs")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the array declares the convention; that of a group only says that it holds a library."""
        return "cs" in declared(array)

    def inputs(self, array: ArrayNode) -> Any:
        """Its `cs`; where its references lead is the same for all arrays of a group."""
        return array.attrs.get("cs")

    def get_variables(self, array: ArrayNode, group: GroupNode, root: GroupNode) -> dict[str, Variable]:
        """Coordinates in the order of the array's dimensions, then scalar ones."""
        crs, complete = systems(array)
        axes = _by_name(array, crs)
        if complete:
            _tell_of_dimensions_without_axis(array, axes)
        found: dict[str, Variable] = {}
        for context in _in_order(array, axes):
            found |= axis_coordinates(context)
        return found


def _by_name(array: ArrayNode, crs: list[CRS]) -> dict[str, tuple[CRS, Axis]]:
    axes: dict[str, tuple[CRS, Axis]] = {}
    for each in crs:
        for axis in each.axes:
            if axis.name in axes:
                tell(axis.fragment.error(f"the axis {axis.name!r} is there twice; the first one is used"))
            axes.setdefault(axis.name, (each, axis))
    return axes


def _tell_of_dimensions_without_axis(array: ArrayNode, axes: Mapping[str, object]) -> None:
    for dim in array.dims:
        if dim not in axes:
            unnamed = "" if array.has_names else " (the array names no dimensions)"
            tell(XGroupError(array.where, "cs/crs", f"dimension {dim!r} has no axis{unnamed}"))


def _in_order(array: ArrayNode, axes: Mapping[str, tuple[CRS, Axis]]) -> Iterator[AxisContext]:
    """Axes with what they need to know, the dimensions' first."""
    names = [*(dim for dim in array.dims if dim in axes), *(name for name in axes if name not in array.dims)]
    used: set[str] = set()
    for name in names:
        crs, axis = axes[name]
        yield AxisContext(array, axis, crs.type, _abbreviation(axis, used))


def _abbreviation(axis: Axis, used: set[str]) -> str | None:
    """X, Y, Z or T; each once."""
    value = axis.fragment.value.get("abbreviation")
    if value is None:
        return None
    if value not in ("X", "Y", "Z", "T"):
        tell(axis.fragment.at("abbreviation").error(f"is {spell(value)}, expected X, Y, Z or T"))
        return None
    if value in used:
        tell(axis.fragment.at("abbreviation").error(f"{value} is the abbreviation of another axis too"))
        return None
    used.add(value)
    return str(value)
