"""The configuration of one codec, read member by member, with errors that say where they are."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from zaro.errors import MetadataError, UnsupportedError

__all__ = ["Members"]

_ABSENT = object()


class Members:
    """Reads each member of a configuration once; `close` refuses those that nobody asked for.

    Parameters
    ----------
    document : str
        Key of the metadata document, for messages.
    place : str
        Where the codec stands in it, as `codecs[1]`.
    name : str
        The codec, as the document spells it.
    configuration : mapping

    Attributes
    ----------
    codec : str
        The codec's name without the prefix `numcodecs.`.
    """

    def __init__(self, document: str, place: str, name: str, configuration: Mapping[str, Any]) -> None:
        self.document, self.place, self.name = document, place, name
        self.codec = name.removeprefix("numcodecs.")
        self._left = dict(configuration)
        self.configuration = dict(configuration)

    def fail(self, member: str, found: object, expected: str) -> NoReturn:
        """Raise for a member whose value is not what the codec asks for."""
        reason = f"is {_spell(found)}, expected {expected}"
        raise MetadataError(self.document, f"{self.place}.configuration.{member}", reason)

    def refuse(self, reason: str) -> NoReturn:
        """Raise because zaro cannot decode this codec."""
        raise UnsupportedError(self.document, self.place, reason)

    def lacks(self, package: str, why: object = "") -> NoReturn:
        """Raise because a package that decodes this codec is not installed."""
        detail = f" ({why})" if why else ""
        reason = f"names {self.name!r}, which needs a package that is not installed: pip install {package}"
        self.refuse(reason + detail)

    def misplaced(self, reason: str) -> NoReturn:
        """Raise for a codec that cannot stand where it stands."""
        raise MetadataError(self.document, self.place, f"is {self.name}, {reason}")

    def take(self, member: str, default: Any = _ABSENT, *, expected: str = "a value") -> Any:
        """Take the value of a member, or its default."""
        value = self._left.pop(member, default)
        if value is _ABSENT:
            reason = f"lacks {member!r} of {self.name}, expected {expected}"
            raise MetadataError(self.document, f"{self.place}.configuration", reason)
        return value

    def integer(self, member: str, low: int, high: int, default: Any = _ABSENT) -> int:
        """Take an integer from `low` to `high`."""
        expected = f"an integer from {low} to {high}"
        value = self.take(member, default, expected=expected)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fail(member, value, expected)
        return value

    def optional_integer(self, member: str, low: int, high: int) -> int | None:
        """Take an integer from `low` to `high`; None where it is null or absent."""
        if self._left.get(member) is None:
            self._left.pop(member, None)
            return None
        return self.integer(member, low, high)

    def number(self, member: str, default: Any = _ABSENT) -> float:
        """Take a finite number."""
        value = self.take(member, default, expected="a number")
        number = float("nan")
        if isinstance(value, int | float) and not isinstance(value, bool):
            with contextlib.suppress(OverflowError):
                number = float(value)
        if not np.isfinite(number):
            self.fail(member, value, "a number")
        return number

    def flag(self, member: str, default: Any = _ABSENT) -> bool:
        """Take true or false."""
        value = self.take(member, default, expected="true or false")
        if not isinstance(value, bool):
            self.fail(member, value, "true or false")
        return value

    def choice(self, member: str, choices: tuple[Any, ...], default: Any = _ABSENT) -> Any:
        """Take one of a few values."""
        expected = "one of " + ", ".join(map(_spell, choices))
        value = self.take(member, default, expected=expected)
        if not any(value == one and type(value) is type(one) for one in choices):
            self.fail(member, value, expected)
        return value

    def dtype(self, member: str, default: Any = _ABSENT) -> np.dtype[Any]:
        """Take a NumPy data type that is no object type."""
        value = self.take(member, default, expected="a data type")
        try:
            dtype = np.dtype(value) if isinstance(value, str | np.dtype) else None
        except (TypeError, ValueError):
            dtype = None
        if dtype is None or dtype.hasobject or dtype.itemsize == 0:
            self.fail(member, value, "a data type of fixed size, as '<f4'")
        return dtype

    def rest(self) -> None:
        """Leave the members that were not taken to somebody else's checks."""
        self._left.clear()

    def close(self) -> None:
        """Refuse a member that the codec does not have: it may change what the bytes mean."""
        for member in self._left:
            reason = f"is no member that {self.name} is known to have"
            raise UnsupportedError(self.document, f"{self.place}.configuration.{member}", reason)


def _spell(value: object) -> str:
    """Spell a value as JSON does, cut to a readable length."""
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:57] + "..."
