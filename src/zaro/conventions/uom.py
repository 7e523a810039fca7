"""The service convention `uom`: units of measure, passed through; CF's `units` from them inside `cs`."""

from __future__ import annotations

from collections.abc import Mapping

from zaro.conventions.base import ConventionHandler, declared, identifier
from zaro.conventions.nodes import ArrayNode, GroupNode

__all__ = ["UomHandler", "units_of"]


class UomHandler(ConventionHandler):
    """Gives no coordinate; the attribute `uom` stays where it is."""

    tier, name, uuid = "service", "uom", identifier("uom")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the array declares the convention."""
        return "uom" in declared(array)


def units_of(uom: Mapping[str, object]) -> str:
    """The `units` of an object `uom`: its UCUM unit, `1` where it names none."""
    ucum = uom.get("ucum")
    unit = ucum.get("unit") if isinstance(ucum, Mapping) else None
    return unit if isinstance(unit, str) else "1"
