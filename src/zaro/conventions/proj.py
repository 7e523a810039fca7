"""The service convention `proj`: a coordinate reference system, passed through as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zaro.conventions.base import ConventionHandler, declared, identifier
from zaro.conventions.nodes import ArrayNode, GroupNode

__all__ = ["ProjHandler", "proj_members"]


class ProjHandler(ConventionHandler):
    """Gives no coordinate; `proj:*` attributes stay where they are."""

    tier, name, uuid = "service", "proj", identifier("proj")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the array or the group that holds it declares the convention."""
        return any("proj" in declared(node) for node in (array, group))


def proj_members(value: object) -> dict[str, Any]:
    """The `proj:*` members of an object; those that are null are absent."""
    if not isinstance(value, Mapping):
        return {}
    return {name: found for name, found in value.items() if name.startswith("proj:") and found is not None}
