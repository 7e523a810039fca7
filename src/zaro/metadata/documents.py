"""A metadata document: its name, its members, and the words for what is wrong with one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zaro.collector import still
from zaro.errors import MetadataError, UnsupportedError

__all__ = ["Document", "DocumentSource", "spell"]

DocumentSource = bytes | bytearray | memoryview | str | Mapping[str, Any]
"""A document as a store or reference set holds it: JSON text, or the object already parsed."""

_LONGEST = 60  # characters of a found value that a message quotes
_LONG = 1 << 16  # characters of a document


@dataclass(frozen=True, slots=True)
class Document:
    """One metadata document.

    Attributes
    ----------
    name : str
        Its key, as `sst/zarr.json`; every error names it.
    members : mapping
        The JSON object; of keys that occur twice, the last.
    """

    name: str
    members: Mapping[str, Any]

    @classmethod
    def parse(cls, name: str, source: DocumentSource) -> Document:
        """Read JSON text (UTF-8; `NaN` and `Infinity` pass, as Python writes them) or take the object.

        Raises
        ------
        MetadataError
            The text is not UTF-8, not JSON, nests too deeply, or is not an object.
        """
        if isinstance(source, Mapping):
            return cls(name, source)
        members = _load(name, source)
        if not isinstance(members, dict):
            raise MetadataError(name, "", f"the document is {spell(members)}, expected an object")
        return cls(name, members)

    def bad(self, member: str, found: object, expected: str) -> MetadataError:
        """Error for a member that is there, and wrong."""
        return MetadataError(self.name, _cut(member), f"is {spell(found)}, expected {_cut(expected)}")

    def missing(self, member: str, expected: str) -> MetadataError:
        """Error for a member that is not there."""
        return MetadataError(self.name, _cut(member), f"is missing, expected {expected}")

    def unsupported(self, member: str, found: object, reason: str) -> UnsupportedError:
        """Error for a member that may be right, but asks for what zaro does not have."""
        return UnsupportedError(self.name, _cut(member), f"is {spell(found)}, {_cut(reason)}")

    def need(self, member: str, expected: str) -> Any:
        """Give a member that must be there."""
        try:
            return self.members[member]
        except KeyError:
            raise self.missing(member, expected) from None


def _load(name: str, source: bytes | bytearray | memoryview | str) -> Any:
    try:
        text = source if isinstance(source, str) else bytes(source).decode()
    except UnicodeDecodeError as err:
        raise MetadataError(name, "", f"byte {err.start} is not UTF-8, expected JSON text") from None
    try:
        return _parse(text.removeprefix("\ufeff"))
    except RecursionError:
        raise MetadataError(name, "", "nests too deeply to be read") from None
    except json.JSONDecodeError as err:
        place = f"line {err.lineno} column {err.colno}"
        raise MetadataError(name, "", f"is not JSON: {err.msg} ({place})") from None
    except ValueError:  # Python refuses to read integers of thousands of digits
        raise MetadataError(name, "", "holds a number that is too long to be read") from None


def _parse(text: str) -> Any:
    if len(text) < _LONG:
        return json.loads(text)
    with still():
        return json.loads(text)


def _cut(text: str) -> str:
    """Shorten what a hostile name has made long."""
    return text if len(text) <= 4 * _LONGEST else f"{text[: 4 * _LONGEST]}..."


def spell(value: object) -> str:
    """Spell a JSON value for a message, briefly whatever its size."""
    if isinstance(value, Mapping):
        return f"an object of {len(value)} members" if value else "an empty object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, str):
        cut = len(value) > _LONGEST
        return json.dumps(value[:_LONGEST]) + (f" and {len(value) - _LONGEST} more characters" if cut else "")
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value)
    return f"of type {type(value).__name__}"
