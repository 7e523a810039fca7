"""A group with every coordinate that the conventions of its arrays name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from zaro.conventions.base import ConventionHandler, overheard, tell
from zaro.conventions.nodes import ArrayNode, GroupNode, join
from zaro.conventions.registry import detected, handlers, principal
from zaro.errors import XGroupError, XGroupNoPrincipalWarning
from zaro.warned import warn

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["Assembled", "assemble"]


@dataclass
class Assembled:
    """The variables of one group.

    Attributes
    ----------
    variables : dict
        Arrays of the group, and coordinates from everywhere, by name.
    sources : dict
        Of each coordinate that a convention gave, the absolute path of the array that asked for it first.
    sizes : dict
        Elements along each dimension.
    """

    group: GroupNode
    variables: dict[str, Variable] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def put(self, name: str, variable: Variable) -> None:
        """Add a variable, or put it in the place of another."""
        self.variables[name] = variable
        for dim, size in variable.sizes.items():
            self.sizes.setdefault(str(dim), size)

    def take_out(self, name: str) -> None:
        """Take out a coordinate and what hangs on it; an array of the group stays, as it is stored."""
        for each in [each for each in self.sources if each == name or _hangs_on(each, name)]:
            del self.variables[each], self.sources[each]
            if each in self.group.arrays():
                self.variables[each] = self.group.arrays()[each].variable()
        for other in self.variables.values():
            if other.attrs.get("bounds") == name and name not in self.variables:
                del other.attrs["bounds"]


def _hangs_on(name: str, other: str) -> bool:
    """Whether a coordinate is a part of another: its bounds, or a parametric term of it."""
    return name.startswith((f"{other}_bounds", f"{other}_pterm_"))


def assemble(group: GroupNode, *, without: Collection[str] = ()) -> Assembled:
    """Every array of a group and their coordinates; `without` leaves arrays and coordinates out.

    A convention that is broken costs the coordinates that it would have given, and warns.
    """
    arrays = {name: node for name, node in sorted(group.arrays().items()) if name not in without}
    found = Assembled(group)
    for name, node in arrays.items():
        found.put(name, node.variable(_free_dims(node, found.sizes)))
    known, twins = [each for each in handlers() if _may_give(each)], _Twins()
    resolved = []
    for node in arrays.values():
        active = _active(known, node, group)
        if not active:
            continue
        resolved.append(node)
        if twins.has(node, active):
            continue
        with overheard() as errors:
            coordinates = [pair for handler in active for pair in _asked(handler, node, group).items()]
            _add(found, node, [(name, each) for name, each in coordinates if name not in without], arrays)
        if not errors:
            twins.keep(node, active)
    for node in resolved:
        _flatten(found, node)
    return found


def _may_give(handler: ConventionHandler) -> bool:
    """Whether a handler has coordinates to give: `ref`, `proj` and `uom` have none by themselves."""
    return getattr(type(handler), "get_variables", None) is not ConventionHandler.get_variables


class _Twins:
    """Arrays whose coordinates were worked out without a complaint; others like them have the same."""

    def __init__(self) -> None:
        self._known: list[tuple[Any, ...]] = []

    def has(self, node: ArrayNode, active: list[ConventionHandler]) -> bool:
        """Whether there is an array like this one."""
        return _likeness(node, active) in self._known

    def keep(self, node: ArrayNode, active: list[ConventionHandler]) -> None:
        """Know an array, where all that counts is known; a few are enough."""
        likeness = _likeness(node, active)
        if None not in likeness and len(self._known) < 8:
            self._known.append(likeness)


def _likeness(node: ArrayNode, active: list[ConventionHandler]) -> tuple[Any, ...]:
    inputs = (each.inputs(node) if isinstance(each, ConventionHandler) else None for each in active)
    return (node.dims, node.shape, *active, *inputs)


def _free_dims(node: ArrayNode, taken: Mapping[str, int]) -> tuple[str, ...]:
    """Names of dimensions; one that is made up must not be another array's of another size."""
    if node.has_names:
        return node.dims
    return tuple(
        f"{node.name}_{dim}" if dim == f"dim_{k}" and taken.get(dim, size) != size else dim
        for k, (dim, size) in enumerate(zip(node.dims, node.shape, strict=True))
    )


def _active(
    known: Iterable[ConventionHandler], array: ArrayNode, group: GroupNode
) -> list[ConventionHandler]:
    """Conventions of an array, the principal one first; none, and a warning, where it has no such one."""
    root = group.index.root
    main = principal(known, array, group, root)
    if main is None:
        text = f"array {array.where!r} declares no principal convention; it has no further coordinates"
        warn(XGroupNoPrincipalWarning(text))
        return []
    return [main, *(each for each in known if each.tier == "service" and detected(each, array, group, root))]


def _asked(handler: ConventionHandler, array: ArrayNode, group: GroupNode) -> dict[str, Variable]:
    """Ask one handler, whatever it does."""
    from xarray import Variable

    try:
        found = handler.get_variables(array, group, group.index.root)
        wrong = [name for name, each in found.items() if not isinstance(each, Variable)]
        if wrong:
            raise TypeError(f"{wrong[0]!r} is no xarray.Variable")
    except Warning:  # the caller made errors of them
        raise
    except XGroupError as err:
        tell(err)
    except Exception as err:  # a handler of another package may raise anything
        tell(XGroupError(array.where, f"convention {handler.name!r}", f"failed: {type(err).__name__}: {err}"))
    else:
        return found
    return {}


# ---- one name, one coordinate ------------------------------------------------------------------


def _add(
    found: Assembled,
    array: ArrayNode,
    coordinates: list[tuple[str, Variable]],
    arrays: Mapping[str, ArrayNode],
) -> None:
    """Add the coordinates of one array to those that are there; what hangs on a dropped one goes with it."""
    dropped: list[str] = []
    for name, variable in coordinates:
        if any(_hangs_on(name, each) for each in dropped):
            continue
        reason = _put(found, array, _geolocation_name(found, name, variable), variable, arrays)
        if reason is None:
            continue
        tell(XGroupError(array.where, name, f"this coordinate is dropped: {reason}"))
        dropped.append(name)
        for _, other in coordinates:
            if other.attrs.get("bounds") == name:
                del other.attrs["bounds"]


def _put(
    found: Assembled, array: ArrayNode, name: str, variable: Variable, arrays: Mapping[str, ArrayNode]
) -> str | None:
    """Add one coordinate, unless it is there; or say why it cannot be."""
    there = found.variables.get(name)
    if there is not None and not _same(found, there, variable):
        if name in found.sources:
            return f"that of {found.sources[name]!r} has the name, and differs"
        return f"the array {arrays[name].where!r} has the name, and is another one"
    if there is not None and name in found.sources:
        if "bounds" in variable.attrs:
            there.attrs.setdefault("bounds", variable.attrs["bounds"])
        return None
    clash = _clash(found, name, variable)
    if clash is None:
        found.put(name, variable)
        found.sources[name] = array.where
    return clash


def _same(found: Assembled, one: Variable, other: Variable) -> bool:
    """Whether two variables are the same node, or equal values in memory."""
    stores = found.group.index.stores
    origins = stores.origin(one), stores.origin(other)
    if origins != (None, None):
        return origins[0] == origins[1] and one.shape == other.shape
    if not (isinstance(one._data, np.ndarray) and isinstance(other._data, np.ndarray)):
        return one._data is other._data
    return one.dims == other.dims and one.dtype == other.dtype and np.array_equal(one._data, other._data)


def _clash(found: Assembled, name: str, variable: Variable) -> str | None:
    """Why xarray could not hold a variable beside the others."""
    for dim, size in variable.sizes.items():
        if found.sizes.get(str(dim), size) != size:
            return f"its dimension {dim!r} has {size} values, that of another array {found.sizes[str(dim)]}"
        other = found.variables.get(str(dim))
        if other is not None and dim != name and other.dims != (dim,):
            return f"its dimension {dim!r} has the name of another variable"
    if variable.dims != (name,) and (name in found.sizes or name in variable.dims):
        return "it has the name of a dimension, and does not run along it"
    return None


def _geolocation_name(found: Assembled, name: str, variable: Variable) -> str:
    """The name of a coordinate; of geolocation that of its node, or the whole path where that is taken."""
    node = found.group.index.stores.node(variable)
    if node is None or "geolocation_role" not in variable.attrs:
        return name
    there = found.variables.get(name)
    if there is None:
        is_taken = name in found.sizes or name in variable.dims
    else:
        is_taken = not _same(found, there, variable)
    return node.path.replace("/", "_") if is_taken else name


def _flatten(found: Assembled, array: ArrayNode) -> None:
    """Turn paths in CF's attribute `coordinates` into names of the Dataset, or leave them out."""
    attrs = found.variables[array.name].attrs
    text = attrs.get("coordinates")
    if not isinstance(text, str) or "/" not in text:
        return
    stores, index = found.group.index.stores, found.group.index
    names = {stores.origin(each): name for name, each in found.variables.items()}
    flat = []
    for word in text.split():
        name: str | None = word if word in found.variables else None
        if name is None:
            node = index.node(join("" if word.startswith("/") else found.group.path, word))
            name = names.get(node.key) if isinstance(node, ArrayNode) else None
        flat += [] if name is None else [name]
    del attrs["coordinates"]
    if flat:
        attrs["coordinates"] = " ".join(flat)
