"""The coordinate reference systems of an array's `cs`, and the axes in them, in every spelling."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zaro.conventions.base import tell
from zaro.conventions.nodes import ArrayNode, Node
from zaro.conventions.ref import Fragment, Unfit, is_reference
from zaro.errors import XGroupError, XGroupReferenceError

__all__ = ["CRS", "Axis", "systems"]


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: the dimension that it describes, and its JSON object."""

    name: str
    fragment: Fragment


@dataclass(frozen=True, slots=True)
class CRS:
    """One coordinate reference system: its JSON object, its `type` where it has one, and its axes."""

    fragment: Fragment
    type: str | None
    axes: tuple[Axis, ...]


def systems(array: ArrayNode) -> tuple[list[CRS], bool]:
    """The coordinate reference systems of an array, and whether all that it names could be read.

    Worked out, and warned of, once for each array.
    """
    if "crs" not in array.memo:
        array.memo["crs"] = _systems(array)
    found: tuple[list[CRS], bool] = array.memo["crs"]
    return found


def _systems(array: ArrayNode) -> tuple[list[CRS], bool]:
    try:
        items = _listed(array)
    except XGroupError as err:
        tell(err)
        return [], False
    found = []
    for k in range(len(items.value)):
        try:
            found.append(_system(items[k]))
        except XGroupError as err:
            tell(err)
    return found, len(found) == len(items.value)


def _listed(array: ArrayNode) -> Fragment:
    """The list `cs.crs`."""
    whole = Fragment(array.attrs.get("cs"), array, "cs").follow()
    items = whole.get("crs")
    items = None if items is None else items.follow()
    if items is None or not isinstance(items.value, list | tuple) or not items.value:
        older = [name for name in ("axes", "composite") if whole.get(name) is not None]
        hint = f"; 'cs.{older[0]}' is of a draft that is not supported" if older else ""
        raise XGroupError(array.where, "cs", f"declared but no `cs.crs`: there is no `crs` list{hint}")
    return items


def _system(item: Fragment) -> CRS:
    """One item of the list: the object itself, or a reference to one."""
    if is_reference(item.value) and "axes" not in item.value:
        item = item.resolve(_crs_object)
    elif not _has_axes(item.value):
        raise item.error("not a CRS object: it has no axes and is no reference", XGroupReferenceError)
    kind = item.value.get("type")
    return CRS(item, kind if isinstance(kind, str) else None, tuple(_axes(item)))


def _crs_object(node: Node, found: Fragment | None) -> Fragment:
    if found is None:
        raise Unfit("not a CRS object: no 'attribute' says which part of the node it is")
    if not _has_axes(found.value):
        raise Unfit("not a CRS object: an object with 'axes' is needed")
    return found


def _has_axes(value: object) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("axes"), Mapping | list | tuple)
        and bool(value["axes"])
    )


def _axes(crs: Fragment) -> list[Axis]:
    """Axes, keyed by name or in a list of objects with `name`; those that cannot be read are warned of."""
    axes = crs["axes"].follow()
    keys = list(axes.value) if isinstance(axes.value, Mapping) else range(len(axes.value))
    found = []
    for key in keys:
        try:
            axis = axes[key].object("an axis")
            name = key if isinstance(key, str) else axis.value.get("name")
            if not isinstance(name, str):
                raise axis.error("an axis in a list needs its name")
        except XGroupError as err:
            tell(err)
        else:
            found.append(Axis(name, axis))
    return found
