"""Which conventions there are, and which of them apply to an array."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from zaro.conventions.base import ConventionHandler, declared, tell
from zaro.conventions.cs import CSHandler
from zaro.conventions.geolocation import GeolocationHandler
from zaro.conventions.nodes import ArrayNode, GroupNode
from zaro.conventions.proj import ProjHandler
from zaro.conventions.ref import RefHandler
from zaro.conventions.spatial import SpatialHandler
from zaro.conventions.uom import UomHandler
from zaro.errors import XGroupError

__all__ = ["detected", "handlers", "principal"]

ENTRY_POINTS = ("zaro.conventions", "zarr_xgroup.conventions")
_OWN: tuple[ConventionHandler, ...] = (
    CSHandler(),
    SpatialHandler(),
    RefHandler(),
    ProjHandler(),
    UomHandler(),
    GeolocationHandler(),
)


def handlers() -> tuple[ConventionHandler, ...]:
    """Every handler, those of other packages after zaro's own.

    Notes
    -----
    Looking through all installed packages takes longer than opening a store, so it is done once for
    each state of `sys.path`.
    """
    return _OWN + _foreign(tuple(sys.path), importlib.metadata.entry_points)


@lru_cache(maxsize=8)
def _foreign(
    _path: tuple[str, ...], entry_points: Callable[..., Iterable[Any]]
) -> tuple[ConventionHandler, ...]:
    found: list[ConventionHandler] = []
    for group in ENTRY_POINTS:
        for entry in entry_points(group=group):
            try:
                found.append(_handler(entry.load()))
            except Exception as err:  # whatever another package does when it is imported
                reason = f"{type(err).__name__}: {err}"
                tell(XGroupError("", f"entry point {entry.name!r} of {group}", f"cannot be used: {reason}"))
    return tuple(found)


def _handler(found: Any) -> ConventionHandler:
    """The handler that an entry point names, as a class or an instance."""
    handler = found() if isinstance(found, type) else found
    missing = [name for name in ("tier", "name", "detect", "get_variables") if not hasattr(handler, name)]
    if missing:
        raise TypeError(f"{found!r} is no ConventionHandler: it has no {', '.join(missing)}")
    if handler.tier not in {"principal", "service"}:
        raise ValueError(f"tier is {handler.tier!r}, expected 'principal' or 'service'")
    return handler  # type: ignore[no-any-return]


def detected(handler: ConventionHandler, array: ArrayNode, group: GroupNode, root: GroupNode) -> bool:
    """Whether a handler applies; one that fails does not."""
    try:
        return bool(handler.detect(root, group, array))
    except Warning:
        raise
    except Exception as err:  # a handler of another package may raise anything
        tell(
            XGroupError(
                array.where, f"convention {handler.name!r}", f"failed to detect: {type(err).__name__}: {err}"
            )
        )
        return False


def principal(
    known: Iterable[ConventionHandler], array: ArrayNode, group: GroupNode, root: GroupNode
) -> ConventionHandler | None:
    """The one principal convention of an array; warns where it declares two."""
    found = [each for each in known if each.tier == "principal" and detected(each, array, group, root)]
    if len(found) > 1:  # what a group passes down yields to what the array says of itself
        found = [each for each in found if not _is_inherited(each, array)] or found
    if len(found) > 1:
        names = " and ".join(repr(each.name) for each in found)
        reason = f"declares {len(found)} principal conventions, {names}; {found[0].name!r} is used"
        tell(XGroupError(array.where, "zarr_conventions", reason))
    return found[0] if found else None


def _is_inherited(handler: ConventionHandler, array: ArrayNode) -> bool:
    return isinstance(handler, SpatialHandler) and "spatial" not in declared(array)
