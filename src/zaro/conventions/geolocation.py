"""The service convention `geolocation`: longitude and latitude, or planar X and Y, of every cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zaro.conventions.base import ConventionHandler, declared, identifier, tell
from zaro.conventions.crs import CRS, systems
from zaro.conventions.nodes import ArrayNode, GroupNode
from zaro.conventions.proj import proj_members
from zaro.conventions.ref import Fragment
from zaro.conventions.spatial import spatial_dims
from zaro.errors import XGroupError, XGroupPathError

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["GeolocationHandler"]

_ROLES = {
    "geodetic": ("geodetic_longitude", "geodetic_latitude"),
    "planar": ("planar_easting", "planar_northing"),
}


class GeolocationHandler(ConventionHandler):
    """Pairs of coordinates along both dimensions of a grid, beside those of the principal convention."""

    tier, name, uuid = "service", "geolocation", identifier("geolocation")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether there is a `geolocation` where one may be: a forgotten declaration costs no coordinate."""
        return _holder(array, group) is not None or (_is_cs(array) and _may_have(array.attrs.get("cs")))

    def inputs(self, array: ArrayNode) -> Any:
        """Its `geolocation`, and the `cs` that may have others."""
        return [array.attrs.get("geolocation"), array.attrs.get("cs")]

    def get_variables(self, array: ArrayNode, group: GroupNode, root: GroupNode) -> dict[str, Variable]:
        """The pairs that can be had, each under the name of its array."""
        found: dict[str, Variable] = {}
        for geolocation in _found(array, group):
            try:
                fragment = geolocation.fragment.object("geolocation")
                roles = [role for role in _ROLES if fragment.get(role) is not None]
                if not roles:
                    raise fragment.error("geolocation is empty: it has neither geodetic nor planar")
            except XGroupError as err:
                tell(err)
                continue
            for role in roles:
                for name, variable in _pair(fragment[role], role, geolocation.dims):
                    found[_free(name, variable, found, array)] = variable
        return found


def _free(name: str, variable: Variable, taken: Mapping[str, object], array: ArrayNode) -> str:
    """A name that the other one of the pair does not have: else that of the whole path."""
    node = array.index.stores.node(variable)
    return name if name not in taken or node is None else node.path.replace("/", "_")


@dataclass(frozen=True, slots=True)
class _Geolocation:
    """An object `geolocation`, and the dimensions that its arrays shall cover."""

    fragment: Fragment
    dims: tuple[str, ...]


def _found(array: ArrayNode, group: GroupNode) -> Iterator[_Geolocation]:
    """Every `geolocation` that counts: of the array, of its systems with `cs`, of its group without."""
    is_cs, holder = _is_cs(array), _holder(array, group)
    if holder is not None:
        yield _Geolocation(
            Fragment(holder.attrs["geolocation"], array, "geolocation"), _grid(array, is_cs=is_cs)
        )
    if is_cs:
        for crs in systems(array)[0]:
            fragment = crs.fragment.get("geolocation")
            if fragment is not None:
                yield _Geolocation(fragment, _axes(array, crs))


def _is_cs(array: ArrayNode) -> bool:
    return "cs" in declared(array)


def _holder(array: ArrayNode, group: GroupNode) -> ArrayNode | GroupNode | None:
    """The node whose attribute counts; with `cs` a group's does not."""
    nodes = (array,) if _is_cs(array) else (array, group)
    return next((node for node in nodes if _counts(node)), None)


def _may_have(cs: object) -> bool:
    """Whether a system of `cs` has a geolocation, or lies elsewhere and may have one."""
    items = cs.get("crs") if isinstance(cs, Mapping) else None
    if not isinstance(items, list | tuple):
        return isinstance(cs, Mapping)
    return any(isinstance(item, Mapping) and ("geolocation" in item or "axes" not in item) for item in items)


def _counts(node: ArrayNode | GroupNode) -> bool:
    """Whether the attribute is there, and meant: declared, or of the right form."""
    value = node.attrs.get("geolocation")
    if value is None:
        return False
    if "geolocation" in declared(node):
        return True
    return isinstance(value, Mapping) and any(isinstance(value.get(role), Mapping) for role in _ROLES)


def _axes(array: ArrayNode, crs: CRS) -> tuple[str, ...]:
    """Dimensions of the array that a system describes, in the order of the array."""
    names = {axis.name for axis in crs.axes}
    return tuple(dim for dim in array.dims if dim in names)


def _grid(array: ArrayNode, *, is_cs: bool) -> tuple[str, ...]:
    """Dimensions that an attribute of the array or group is about: Y and X."""
    if not is_cs:
        return spatial_dims(array) or array.dims[-2:]
    planar = [crs for crs in systems(array)[0] if crs.type == "planar" or len(_axes(array, crs)) == 2]
    return _axes(array, planar[0]) if planar else array.dims[-2:]


def _pair(fragment: Fragment, role: str, dims: tuple[str, ...]) -> list[tuple[str, Variable]]:
    """Both coordinates of one kind, or neither."""
    try:
        pair = fragment.object(role)
        missing = [name for name in ("x", "y") if pair.get(name) is None]
        if missing:
            raise pair.error(f"{missing[0]!r} missing: a pair of x and y is needed", XGroupPathError)
        nodes = [pair[name].node(lambda node: node) for name in ("x", "y")]
        crs = next(
            (proj_members(pair.value[name]) for name in ("crs", "id") if pair.get(name) is not None), {}
        )
    except XGroupError as err:
        tell(err)
        return []
    return [
        (_name(node), _variable(node, pair[name], dims, {"geolocation_role": label, **crs}))
        for node, name, label in zip(nodes, ("x", "y"), _ROLES[role], strict=True)
    ]


def _name(node: ArrayNode) -> str:
    """Last part of a path; of a node that is a store by itself, of its address."""
    return node.name or str(node.index.address).rstrip("/").rpartition("/")[2]


def _variable(node: ArrayNode, fragment: Fragment, dims: tuple[str, ...], attrs: dict[str, Any]) -> Variable:
    sizes = fragment.array.sizes
    expected = tuple(sizes[dim] for dim in dims)
    if node.has_names and all(sizes.get(dim) == size for dim, size in node.sizes.items()):
        variable = node.variable()
    elif node.shape == expected:
        variable = node.variable(dims)
    else:
        along = f"{list(expected)} along {', '.join(dims)}"
        reason = f"{node.where} has shape {list(node.shape)} and does not cover the array, which has {along}"
        tell(fragment.error(f"{reason}; it keeps its own dimensions"))
        variable = node.variable(
            node.dims if node.has_names else tuple(f"{_name(node)}_{dim}" for dim in node.dims)
        )
    variable.attrs = {**variable.attrs, **attrs}
    return variable
