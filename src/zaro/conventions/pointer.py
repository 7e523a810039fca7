"""JSON pointers, as RFC 6901 has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["PointerError", "check", "point"]

_POINTER = re.compile(r"(/([^~/]|~[01])*)*", re.DOTALL)
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")


class PointerError(Exception):
    """A pointer is none, or leads nowhere; never leaves the conventions."""


def check(pointer: str) -> None:
    """Refuse what is no pointer, whatever the document."""
    if pointer and not pointer.startswith("/"):
        raise PointerError(f"the pointer {pointer!r} must start with '/'")
    if not _POINTER.fullmatch(pointer):
        raise PointerError(f"the pointer {pointer!r} has a '~' that is neither '~0' nor '~1'")


def point(document: Any, pointer: str) -> Any:
    """The value at `pointer`: `""` is the document, `/a/0` the first item of its member `a`."""
    check(pointer)
    here = document
    for token in pointer.split("/")[1:]:
        here = _step(here, token.replace("~1", "/").replace("~0", "~"), pointer)
    return here


def _step(here: Any, name: str, pointer: str) -> Any:
    if isinstance(here, Mapping):
        if name not in here:
            raise PointerError(f"the pointer {pointer!r} finds no member {name!r}")
        return here[name]
    if isinstance(here, Sequence) and not isinstance(here, str | bytes):
        if not _INDEX.fullmatch(name) or int(name) >= len(here):
            raise PointerError(f"the pointer {pointer!r} finds no item {name!r} in a list of {len(here)}")
        return here[int(name)]
    raise PointerError(f"the pointer {pointer!r} goes on at {name!r}, below a value")
