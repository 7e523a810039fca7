"""The principal convention `spatial`: X and Y of a grid from six numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zaro.conventions.base import ConventionHandler, declared, identifier, tell
from zaro.conventions.nodes import ArrayNode, GroupNode, Node, join
from zaro.conventions.values import ValuesError, counted, numbers, scaled, spell
from zaro.errors import XGroupError

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["SpatialHandler", "spatial_dims"]

_DIMENSIONS, _TRANSFORM, _SHAPE = "spatial:dimensions", "spatial:transform", "spatial:shape"
_TYPE, _REGISTRATION = "spatial:transform_type", "spatial:registration"


class SpatialHandler(ConventionHandler):
    """Centres of cells along Y and X, from the attributes of the array or of the group that holds it."""

    tier, name, uuid = "principal", "spatial", identifier("spatial")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the array declares the convention, or inherits it and has both dimensions."""
        if "spatial" in declared(array):
            return True
        if not any("spatial" in declared(node) for node in _declaring(array, group)):
            return False
        dims = spatial_dims(array)
        return len(array.dims) >= 2 if dims is None else set(dims) <= set(array.dims)

    def inputs(self, array: ArrayNode) -> Any:
        """The settings that count for it."""
        own, *others = _Settings.of(array).levels
        return [{name: value for name, value in own[1].items() if name.startswith("spatial:")}, others]

    def get_variables(self, array: ArrayNode, group: GroupNode, root: GroupNode) -> dict[str, Variable]:
        """Index coordinates Y and X; two of rank 2, `yc` and `xc`, where the grid is turned or sheared."""
        try:
            found = _coordinates(array, _Settings.of(array))
        except ValuesError as err:
            raise XGroupError(array.where, "spatial:transform", str(err)) from None
        # an explicit array of the group may stand for a computed coordinate
        explicit = group.arrays() if found else {}
        return {
            name: variable for name, variable in found.items() if name not in explicit or variable.ndim > 1
        }


def spatial_dims(array: ArrayNode) -> tuple[str, str] | None:
    """Names of Y and X as an array or its group has them; None where they are not two names."""
    return _pair(_Settings.of(array).value(_DIMENSIONS))


def _pair(value: object) -> tuple[str, str] | None:
    if not isinstance(value, list | tuple) or len(value) != 2 or value[0] == value[1]:
        return None
    y, x = value
    return (y, x) if isinstance(y, str) and isinstance(x, str) else None


# ---- whose attributes count --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Settings:
    """Attributes that count for an array, the nearest first, each with the path of the node that has them."""

    array: ArrayNode
    levels: tuple[tuple[str, Mapping[str, Any]], ...]

    @classmethod
    def of(cls, array: ArrayNode) -> _Settings:
        """Its own, then those of its group; and what `multiscales` of a group above says of either."""
        if "spatial" not in array.memo:
            array.memo["spatial"] = cls(array, tuple(_levels(array)))
        found: _Settings = array.memo["spatial"]
        return found

    def find(self, name: str) -> tuple[str, Any] | None:
        """Path of the node that has a setting, and its value."""
        return next(((path, attrs[name]) for path, attrs in self.levels if attrs.get(name) is not None), None)

    def value(self, name: str) -> Any:
        """A setting; None where no node has it."""
        found = self.find(name)
        return None if found is None else found[1]

    def is_own(self, name: str) -> bool:
        """Whether the array itself has a setting."""
        return self.array.attrs.get(name) is not None

    def error(self, name: str, reason: str) -> XGroupError:
        """Error about a setting, which names the node that it comes from."""
        found = self.find(name)
        source = f" (from {found[0]})" if found is not None and not self.is_own(name) else ""
        return XGroupError(self.array.where, name, reason + source)


def _levels(array: ArrayNode) -> Iterator[tuple[str, Mapping[str, Any]]]:
    group = array.parent
    yield array.where, array.attrs
    yield from _layout_items(array)
    if group is None:
        return
    yield group.where, group.attrs
    yield from _layout_items(group)
    for above in _ancestors(group):
        if isinstance(above.attrs.get("multiscales"), Mapping) and _layout(above, array, group):
            names = (_DIMENSIONS, _REGISTRATION)
            yield above.where, {name: above.attrs[name] for name in names if name in above.attrs}


def _ancestors(node: Node) -> Iterator[GroupNode]:
    """Groups above a node, the nearest first."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _layout_items(node: Node) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the layouts of groups above say of a node."""
    for above in _ancestors(node):
        yield from ((above.where, item) for item in _layout(above, node))


def _layout(group: GroupNode, *nodes: Node) -> list[Mapping[str, Any]]:
    """Items of a group's `multiscales` whose asset is one of some nodes."""
    multiscales = group.attrs.get("multiscales")
    layout = multiscales.get("layout") if isinstance(multiscales, Mapping) else None
    if not isinstance(layout, list | tuple):
        return []
    paths = {node.path for node in nodes}
    return [
        item
        for item in layout
        if isinstance(item, Mapping)
        and isinstance(asset := item.get("asset"), str)
        and not asset.startswith("/")
        and ".." not in asset.split("/")
        and join(group.path, asset) in paths
    ]


def _declaring(array: ArrayNode, group: GroupNode) -> Iterator[GroupNode]:
    """Groups whose declaration counts for an array: its own, and those whose `multiscales` list either."""
    yield group
    yield from (above for above in _ancestors(group) if _layout(above, array, group))


# ---- from settings to coordinates --------------------------------------------------------------


def _coordinates(array: ArrayNode, settings: _Settings) -> dict[str, Variable]:
    y_dim, x_dim = _dimensions(array, settings)
    kind = settings.value(_TYPE)
    if kind not in (None, "affine"):
        raise settings.error(_TYPE, f"is {spell(kind)}, and only 'affine' is defined")
    shape = array.sizes[y_dim], array.sizes[x_dim]
    _check_shape(settings, shape)
    a, b, c, d, e, f = _transform(settings)
    half = 0.5 if _registration(settings) == "pixel" else 0.0
    if b or d:
        from zaro.conventions.lazy import AffineGrid, affine_grid

        xc = AffineGrid(shape, row=b, column=a, start=c + half * (a + b))
        yc = AffineGrid(shape, row=e, column=d, start=f + half * (d + e))
        return {"yc": affine_grid((y_dim, x_dim), yc), "xc": affine_grid((y_dim, x_dim), xc)}
    from xarray import Variable

    return {
        y_dim: Variable((y_dim,), _centres(f, e, half, shape[0]), {"axis": "Y"}),
        x_dim: Variable((x_dim,), _centres(c, a, half, shape[1]), {"axis": "X"}),
    }


def _centres(start: float, step: float, half: float, n: int) -> Any:
    """`start + step * (i + half)`, in this order of operations, so that round numbers stay round."""
    return scaled(start, step, counted(half, 1.0, n))


def _dimensions(array: ArrayNode, settings: _Settings) -> tuple[str, str]:
    value = settings.value(_DIMENSIONS)
    pair = _pair(value)
    if pair is None:
        found = "is missing" if value is None else f"is {spell(value)}"
        raise settings.error(_DIMENSIONS, f"{found}; it needs exactly [y, x]")
    for name in pair:
        if name not in array.dims:
            unnamed = "" if array.has_names else ", which names none"
            reason = (
                f"{name!r} is no dimension of the array{unnamed}; there are {', '.join(array.dims) or 'none'}"
            )
            raise settings.error(_DIMENSIONS, reason)
    return pair


def _transform(settings: _Settings) -> list[float]:
    value = settings.value(_TRANSFORM)
    if value is None:
        raise settings.error(_TRANSFORM, "is missing, so there are no coordinates")
    try:
        return numbers(value, 6)
    except ValuesError as err:
        raise settings.error(_TRANSFORM, str(err)) from None


def _registration(settings: _Settings) -> str:
    value = settings.value(_REGISTRATION)
    if value is None or value == "node":
        return value or "pixel"
    if value != "pixel":
        tell(settings.error(_REGISTRATION, f"is {spell(value)}, expected 'pixel' or 'node'; 'pixel' is used"))
    return "pixel"


def _check_shape(settings: _Settings, sizes: tuple[int, int]) -> None:
    """A shape that the array inherits tells whether the transform is meant for it."""
    value = settings.value(_SHAPE)
    if value is None or (isinstance(value, list | tuple) and tuple(value) == sizes):
        return
    reason = f"is {spell(value)}, the array has {list(sizes)}"
    if settings.is_own(_SHAPE) or settings.is_own(_TRANSFORM):
        tell(settings.error(_SHAPE, f"{reason}, which are used"))
    else:
        raise settings.error(
            _SHAPE, f"{reason}: the transform is not for this array, so there are no coordinates"
        )
