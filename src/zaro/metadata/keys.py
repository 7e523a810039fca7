"""From the index of a chunk to its key, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["KeyEncoding", "key_encoding"]


@dataclass(frozen=True, slots=True)
class KeyEncoding:
    """How a chunk's index is spelled below its array.

    `default` is v3's (`c/0/5/3`), `v2` the older (`0.5.3`); both take `.` or `/` between indices.
    """

    name: Literal["default", "v2"]
    separator: Literal[".", "/"]

    @property
    def prefix(self) -> str:
        """What stands before the indices, as `c/`."""
        return f"c{self.separator}" if self.name == "default" else ""

    def key(self, index: tuple[int, ...]) -> str:
        """Spell one index: `(0, 5, 3)` as `c/0/5/3`; a rank-0 array has `c` or `0`."""
        if not index:
            return "c" if self.name == "default" else "0"
        return self.prefix + self.separator.join(map(str, index))

    def index(self, key: str, grid: tuple[int, ...]) -> tuple[int, ...] | None:
        """Read one key back; None unless it is the one canonical spelling of a chunk of `grid`."""
        if not grid:
            return () if key == self.key(()) else None
        if not key.startswith(self.prefix):
            return None
        parts = key[len(self.prefix) :].split(self.separator)
        if len(parts) != len(grid) or not all(part.isascii() and part.isdigit() for part in parts):
            return None
        if any(len(part) > 1 and part[0] == "0" for part in parts) or any(len(part) > 19 for part in parts):
            return None
        index = tuple(map(int, parts))
        return index if all(i < n for i, n in zip(index, grid, strict=True)) else None


_ALL = tuple(KeyEncoding(name, separator) for name in ("default", "v2") for separator in (".", "/"))


def key_encoding(name: object, separator: object) -> KeyEncoding | None:
    """Give the encoding that a document means; None where there is none, whatever stands there."""
    return next((one for one in _ALL if one.name == name and one.separator == separator), None)
