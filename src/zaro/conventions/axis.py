"""One axis of `cs`: from its JSON to coordinates, bounds and parametric terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zaro.conventions.base import tell
from zaro.conventions.crs import Axis
from zaro.conventions.nodes import ArrayNode
from zaro.conventions.ref import Fragment, Unfit
from zaro.conventions.time import time_attrs
from zaro.conventions.uom import units_of
from zaro.conventions.values import ValuesError, counted, is_number, listed, numbers, ordinal, spell
from zaro.errors import XGroupError

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["AxisContext", "axis_coordinates"]

_KINDS = ("regular", "explicit", "external")
_TEXT = "OSTU"  # kinds of NumPy types that hold no numbers


@dataclass(frozen=True, slots=True)
class AxisContext:
    """An axis, and what its coordinates need to know of the rest.

    Attributes
    ----------
    array : ArrayNode
    axis : Axis
    crs_type : str or None
    abbreviation : str or None
    """

    array: ArrayNode
    axis: Axis
    crs_type: str | None
    abbreviation: str | None

    @property
    def name(self) -> str:
        """Name of the axis, and of its dimension where the array has that."""
        return self.axis.name

    @property
    def dims(self) -> tuple[str, ...]:
        """Dimensions of its coordinates: none for a scalar axis."""
        return (self.name,) if self.name in self.array.dims else ()

    @property
    def size(self) -> int:
        """Values that a coordinate needs."""
        return self.array.sizes[self.name] if self.dims else 1

    def need(self, found: int) -> None:
        """Refuse another number of values."""
        if found != self.size:
            of = (
                f"axis {self.name!r}"
                if self.dims
                else f"axis {self.name!r}, which is no dimension of the array,"
            )
            raise ValuesError(f"{of} needs {self.size} values, found {found}")


def axis_coordinates(context: AxisContext) -> dict[str, Variable]:
    """Everything that an axis gives, by name; what is broken is warned of and left out."""
    fragment = context.axis.fragment
    items = fragment.get("coordinates")
    items = None if items is None else _followed(items)
    if items is None or not items.value:
        return _told(fragment, context.name, _ordinal, context)
    if not isinstance(items.value, list | tuple):
        tell(items.error(f"is {spell(items.value)}, expected a list"))
        return {}
    found: dict[str, Variable] = {}
    for k in range(len(items.value)):
        try:
            found |= _coordinate(context, items[k], k)
        except XGroupError as err:
            tell(err)
    return found


def _followed(fragment: Fragment) -> Fragment | None:
    try:
        return fragment.follow()
    except XGroupError as err:
        tell(err)
        return None


def _told(
    fragment: Fragment, name: str, make: Callable[..., Variable], *arguments: object
) -> dict[str, Variable]:
    """The variable that `make` gives, under its name; nothing and a warning where it fails."""
    try:
        return {name: make(*arguments)}
    except ValuesError as err:
        tell(fragment.error(str(err)))
    except XGroupError as err:
        tell(err)
    return {}


def _ordinal(context: AxisContext) -> Variable:
    from xarray import Variable

    values = ordinal(context.size)
    return Variable(context.dims, values if context.dims else values[0], _shared_attrs(context))


# ---- one coordinate ----------------------------------------------------------------------------


def _coordinate(context: AxisContext, item: Fragment, k: int) -> dict[str, Variable]:
    """The k-th coordinates of an axis, with their bounds and terms."""
    item = item.object("coordinates")
    values = item.get("values")
    if values is None:
        raise item.error("'values' is missing: exactly one of regular / explicit / external needed")
    variable = _values(context, values)
    name = context.name if k == 0 else f"{context.name}_{k}"
    attrs = {**variable.attrs, **_attrs(context, item, k, variable)}
    variable.attrs = {key: value for key, value in attrs.items() if value is not _NOTHING}
    found = {name: variable}
    bounds = item.get("boundaries")
    if bounds is not None:
        found |= _told(bounds, f"{name}_bounds", _bounds, context, bounds, variable)
        if len(found) > 1:
            variable.attrs["bounds"] = f"{name}_bounds"
    parametric = item.get("parametric")
    if parametric is not None:
        found |= _terms(context, parametric, name)
    return found


def _values(context: AxisContext, values: Fragment, *, is_term: bool = False) -> Variable:
    """The variable that an object `values` stands for."""
    from xarray import Variable

    kind, fragment = _kind(values)
    if kind == "external":
        if is_term:
            return fragment.node(lambda node: _term(context, node))
        return fragment.node(lambda node: _external(context, node), need="a 1-D array")
    try:
        if kind == "regular":
            start, step = numbers(fragment.value, 2)
            if step == 0:
                raise ValuesError("the increment must not be 0")
            found: Any = counted(start, step, context.size)
        else:
            if not isinstance(fragment.value, list | tuple):
                raise ValuesError(f"is {spell(fragment.value)}, expected a list")
            found = listed(fragment.value)
            if is_term and len(found) == 1 != context.size:
                return Variable((), found[0])
            context.need(len(found))
    except ValuesError as err:
        raise fragment.error(str(err)) from None
    return Variable(context.dims, found if context.dims else found[0])


def _kind(values: Fragment) -> tuple[str, Fragment]:
    """Which of the three kinds of values it is; a reference alone is an external one."""
    value = values.value
    if not isinstance(value, Mapping):
        raise values.error(f"is {spell(value)}, expected an object with one of regular / explicit / external")
    found = [kind for kind in _KINDS if kind in value]
    if not found and ("ref" in value or "node" in value):
        return "external", values
    if len(found) != 1:
        which = f"found {' and '.join(found)}" if found else "found none"
        raise values.error(f"exactly one of regular / explicit / external needed, {which}")
    return found[0], values[found[0]]


def _external(context: AxisContext, node: ArrayNode) -> Variable:
    """A one-dimensional array of the axis's length, or a single value for a scalar axis."""
    if not context.dims and node.shape in {(), (1,)}:
        return _scalar(node)
    if len(node.shape) != 1:
        raise Unfit(f"has {len(node.shape)} dimensions, shape {list(node.shape)}: a 1-D array required")
    try:
        context.need(node.shape[0])
    except ValuesError as err:
        raise Unfit(str(err)) from None
    return node.variable(context.dims, shared=True)


def _scalar(node: ArrayNode) -> Variable:
    """The one value of an array."""
    if not node.shape:
        return node.variable(shared=True)
    if "scalar" not in node.memo:
        node.memo["scalar"] = node.variable(shared=True).isel(dict.fromkeys(node.dims, 0))
        node.index.stores.remember(node.memo["scalar"], (*node.key, "scalar"))
    found: Variable = node.memo["scalar"].copy(deep=False)
    found.encoding = {}
    return found


# ---- attributes --------------------------------------------------------------------------------

_NOTHING = object()  # an attribute that must not stay, wherever it came from


def _shared_attrs(context: AxisContext) -> dict[str, Any]:
    """Attributes that every coordinate of an axis has."""
    found = _object(context.axis.fragment, "attributes")
    return found | _last(context, context.axis.fragment.value.get("direction"))


def _last(context: AxisContext, direction: object) -> dict[str, Any]:
    found = {"direction": direction, "axis": context.abbreviation, "crs_type": context.crs_type}
    return {name: value for name, value in found.items() if value is not None}


def _attrs(context: AxisContext, item: Fragment, k: int, variable: Variable) -> dict[str, Any]:
    """What `cs` says of a coordinate, in the order in which it is laid over the array's own."""
    found = _object(context.axis.fragment, "attributes")
    if k > 0 and isinstance(item.value.get("name"), str):
        found["long_name"] = item.value["name"]
    found |= _object(item, "attributes")
    if variable.dtype.kind not in _TEXT:
        found |= _units(item)
    direction = item.value.get("direction")
    if direction is None:
        direction = context.axis.fragment.value.get("direction")
    return found | _last(context, direction)


def _object(fragment: Fragment, name: str) -> dict[str, Any]:
    """A member that is an object, or else nothing and a warning."""
    member = fragment.get(name)
    if member is None:
        return {}
    if not isinstance(member.value, Mapping):
        tell(member.error(f"is {spell(member.value)}, expected an object"))
        return {}
    found = dict(member.value)
    for packing in ("scale_factor", "add_offset"):  # a text here would break the values, and only when read
        if packing in found and not is_number(found[packing]):
            tell(member.at(packing).error(f"is {spell(found.pop(packing))}, expected a number"))
    return found


def _units(item: Fragment) -> dict[str, Any]:
    """`units` and `calendar`, from `time` or `unit`."""
    time, unit = item.get("time"), item.get("unit")
    if time is not None:
        if unit is not None:
            tell(item.error("has both 'unit' and 'time'; 'time' is used"))
        try:
            found = time_attrs(time.object("time"))
        except XGroupError as err:
            tell(err)
            return {}
        return found if "units" in found else {"units": _NOTHING, "calendar": _NOTHING, **found}
    if unit is None:
        return {}
    if isinstance(unit.value, str):
        return {"units": unit.value}
    try:
        uom = unit.object("a unit")
    except XGroupError as err:
        tell(err)
        return {}
    return {"units": units_of(uom.value), "uom": dict(uom.value)}


# ---- bounds and terms --------------------------------------------------------------------------


def _bounds(context: AxisContext, boundaries: Fragment, variable: Variable) -> Variable:
    """Bounds of a coordinate, from offsets or from an array."""
    boundaries = boundaries.object("boundaries")
    if variable.dtype.kind in _TEXT:
        raise boundaries.error("only numbers have boundaries, these values are texts")
    kinds = [kind for kind in ("regular", "external") if kind in boundaries.value]
    is_bare = not kinds and ("ref" in boundaries.value or "node" in boundaries.value)
    if len(kinds) != 1 and not is_bare:
        which = f"found {' and '.join(kinds)}" if kinds else "found none"
        raise boundaries.error(f"exactly one of regular / external needed, {which}")
    if kinds == ["regular"]:
        found = _offset_bounds(context, boundaries["regular"], variable)
    else:
        fragment = boundaries if is_bare else boundaries["external"]
        found = fragment.node(lambda node: _external_bounds(context, node))
    found.attrs |= _object(boundaries, "attributes")
    return found


def _offset_bounds(context: AxisContext, fragment: Fragment, variable: Variable) -> Variable:
    """Bounds as signed offsets from each value; computed when looked at where the values are in a store."""
    import numpy as np
    from xarray import Variable

    from zaro.conventions.lazy import offset_bounds

    try:
        low, high = numbers(fragment.value, 2)
    except ValuesError as err:
        raise fragment.error(str(err)) from None
    if low == high > 0:  # magnitudes, though the convention asks for offsets
        low = -low
    dims = (*context.dims, "bounds")
    if isinstance(variable._data, np.ndarray):
        return Variable(dims, np.add.outer(variable.values.astype(np.float64), np.array([low, high])))
    found = offset_bounds(dims, variable, (low, high))
    stores = context.array.index.stores
    stores.remember(found, ("bounds", stores.origin(variable), low, high))
    return found


def _external_bounds(context: AxisContext, node: ArrayNode) -> Variable:
    """An array of shape (2, n) or (n, 2), in the order in which it is stored."""
    n, name, shape = context.size, context.name, node.shape
    if not context.dims:
        return _scalar_bounds(node)
    if len(shape) != 2 or sorted(shape) != sorted((2, n)):
        raise Unfit(f"has shape {list(shape)}, bounds of axis {name!r} need [2, {n}] or [{n}, 2]")
    along = 1 if shape == (2, n) else 0
    if n == 2 and name in node.dims:
        along = node.dims.index(name)
    own = node.dims[1 - along]
    taken = not node.has_names or own == name or context.array.sizes.get(own, 2) != 2
    other = "bounds" if taken else own
    return node.variable((name, other) if along == 0 else (other, name), shared=True)


def _scalar_bounds(node: ArrayNode) -> Variable:
    if node.shape == (2,):
        return node.variable(("bounds",) if not node.has_names else node.dims)
    if node.shape not in {(1, 2), (2, 1)}:
        raise Unfit(f"has shape {list(node.shape)}, bounds of a single value need [2]")
    along = node.shape.index(1)
    found = node.variable(shared=True).isel({node.dims[along]: 0})
    found.dims = ("bounds",) if not node.has_names else (node.dims[1 - along],)
    found.encoding = {}
    node.index.stores.remember(found, (*node.key, "scalar bounds"))
    return found


def _terms(context: AxisContext, parametric: Fragment, name: str) -> dict[str, Variable]:
    """The terms of a parametric coordinate, each a coordinate of its own."""
    try:
        parametric = parametric.object("parametric")
        terms = parametric.get("terms")
        if terms is None:
            raise parametric.error("'terms' is missing")
        terms = terms.object("terms")
    except XGroupError as err:
        tell(err)
        return {}
    found: dict[str, Variable] = {}
    for term in terms.value:
        found |= _told(
            terms[term], f"{name}_pterm_{term}", _named_term, context, parametric, terms[term], term
        )
    return found


def _named_term(context: AxisContext, parametric: Fragment, values: Fragment, term: str) -> Variable:
    formula = parametric.value.get("formula")
    variable = _values(context, values, is_term=True)
    variable.attrs = {**variable.attrs, "parametric_term": term}
    if isinstance(formula, str):
        variable.attrs["parametric_formula"] = formula
    return variable


def _term(context: AxisContext, node: ArrayNode) -> Variable:
    """A term of any rank, along its own dimensions; along the array's where it names none."""
    if len(node.shape) > 4:
        raise Unfit(f"has {len(node.shape)} dimensions, a term has at most 4")
    if node.has_names:
        return node.variable()
    if node.shape == (context.size,):
        return node.variable(context.dims or node.dims)
    return node.variable(context.array.dims if node.shape == context.array.shape else node.dims)
