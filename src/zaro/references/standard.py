"""kerchunk's standard generators: references by formula, over the product of some dimensions.

`{"key", "url", "offset", "length", "dimensions"}`, the last dimension fastest. Where the indices in the
key are integer expressions, whole columns are computed at once; where each is a dimension times a
number plus another, nothing is expanded at all: the table computes the chunks that are asked for.

Source: kerchunk's specification of references, version 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zaro.errors import ReferenceSetError
from zaro.references import expression as ex
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.table import WHOLE
from zaro.references.template import Templates, Value

__all__ = ["Chunks", "Dimension", "StandardGenerator", "read_generators", "size_of"]

MAX_DIMENSIONS = 32

Dimension = range | list[Value]


@dataclass(frozen=True, slots=True)
class Chunks:
    """A generator whose keys are chunks of one array: its path, and an expression for each index."""

    path: str
    index: tuple[ex.Node, ...]


@dataclass(slots=True)
class StandardGenerator:
    """One generator of a document, checked.

    Attributes
    ----------
    place : str
        Its place in the document, for messages.
    key, url : str
    offset, length : str or None
        None for whole files.
    dimensions : dict of str to range or list
    """

    place: str
    templates: Templates
    key: str
    url: str
    offset: str | None
    length: str | None
    dimensions: dict[str, Dimension]

    @property
    def total(self) -> int:
        """Number of references."""
        return math.prod(map(size_of, self.dimensions.values()))

    def refuse(self, reason: str) -> ReferenceSetError:
        """Make the error that names the generator."""
        return ReferenceSetError(self.templates.document, self.place, reason)

    def reference(self, values: Mapping[str, Value]) -> tuple[str, str, int, int]:
        """Evaluate one: key, url, offset and length."""
        key, url = self.templates.evaluate(self.key, values), self.templates.evaluate(self.url, values)
        if self.offset is None or self.length is None:
            return key, url, 0, WHOLE
        return (
            key,
            url,
            self.number("offset", self.offset, values),
            self.number("length", self.length, values),
        )

    def number(self, name: str, text: str, values: Mapping[str, Value]) -> int:
        """Evaluate an offset or a length."""
        found = self.templates.evaluate(text, values).strip()
        if not found.isascii() or not found.isdigit() or len(found) > 19 or int(found) > ex.MOST:
            raise self.refuse(f"{name} {text!r} becomes {found!r:.60}, expected a number of bytes")
        return int(found)

    def expression(self, text: str) -> ex.Node | None:
        """The one integer expression that a text is; None where it is more, or less."""
        parts = self.templates.parse(text)
        if len(parts) == 1 and not isinstance(parts[0], str):
            return parts[0]
        literal = parts[0].strip() if len(parts) == 1 and isinstance(parts[0], str) else ""
        return (
            ex.Number(int(literal)) if literal.isascii() and literal.isdigit() and len(literal) < 19 else None
        )

    def intervals(self) -> dict[str, ex.Interval]:
        """Least and largest value of the dimensions that are integers."""
        found = {}
        for name, values in self.dimensions.items():
            if size_of(values) and (isinstance(values, range) or all(type(value) is int for value in values)):
                ends = (values[0], values[-1]) if isinstance(values, range) else values
                found[name] = int(min(ends)), int(max(ends))
        return found

    def at(self, position: int) -> dict[str, Value]:
        """Give the values of the dimensions at one place of the product."""
        found: dict[str, Value] = {}
        for name, values in reversed(self.dimensions.items()):
            position, k = divmod(position, size_of(values))
            found[name] = values[k]
        return found

    def chunks(self, layouts: Mapping[str, ChunkLayout]) -> Chunks | None:
        """The array that its keys belong to, where their text says so; None where only their values do."""
        parts = list(self.templates.parse(self.key))
        start = parts.pop(0) if parts and isinstance(parts[0], str) else ""
        path = _path_of(str(start), layouts)
        if path is None:
            return None
        rest = str(start)[len(join_path(path, "")) :]
        index = _indices([rest, *parts] if rest else parts, layouts[path])
        return None if index is None else Chunks(path, index)


def size_of(values: Dimension) -> int:
    """Length of a dimension, however long."""
    if isinstance(values, range):
        return max(0, -(-(values.stop - values.start) // values.step))
    return len(values)


def _path_of(start: str, layouts: Mapping[str, ChunkLayout]) -> str | None:
    """The deepest array whose keys begin like this."""
    parts = start.split("/")[:-1]
    for n in range(len(parts), -1, -1):
        path = "/".join(parts[:n])
        if path in layouts:
            return path
    return None


def _indices(parts: list[str | ex.Node], layout: ChunkLayout) -> tuple[ex.Node, ...] | None:
    """Cut what stands below the array into one expression for each index."""
    encoding, found = layout.encoding, list[ex.Node | None]()
    if isinstance(parts[0] if parts else "", str) and parts:
        first = str(parts[0])
        if not first.startswith(encoding.prefix):
            return None
        parts = [first[len(encoding.prefix) :], *parts[1:]]
    elif encoding.prefix:
        return None
    pending: ex.Node | None = None
    for part in parts:
        if not isinstance(part, str):
            if pending is not None:
                return None
            pending = part
            continue
        for k, piece in enumerate(part.split(encoding.separator)):
            if k:
                found.append(pending)
                pending = None
            if piece:
                if pending is not None or not piece.isascii() or not piece.isdigit() or len(piece) > 18:
                    return None
                if len(piece) > 1 and piece[0] == "0":
                    return None
                pending = ex.Number(int(piece))
    found.append(pending)
    index = tuple(node for node in found if node is not None)
    return index if len(index) == len(found) == len(layout.grid) else None


# ---- from the document -------------------------------------------------------------------------


def read_generators(members: Sequence[Any], templates: Templates) -> list[StandardGenerator]:
    """Check the standard generators among the members of `gen`.

    Raises
    ------
    ReferenceSetError, TemplateError
    """
    found = []
    for number, member in enumerate(members):
        if isinstance(member, Mapping) and "variables" in member:
            continue
        found.append(_read(member, f"gen[{number}]", templates))
    return found


def _read(member: Any, place: str, templates: Templates) -> StandardGenerator:
    def refuse(reason: str) -> ReferenceSetError:
        return ReferenceSetError(templates.document, place, reason)

    if not isinstance(member, Mapping):
        raise refuse(f"is {type(member).__name__}, expected an object")
    texts: dict[str, str | None] = {}
    for name in ("key", "url", "offset", "length"):
        value = member.get(name)
        if type(value) is int and name in ("offset", "length"):
            value = str(value)
        if value is not None and not isinstance(value, str):
            raise refuse(f"{name} is {value!r:.60}, expected text")
        texts[name] = value
    key, url, offset, length = texts["key"], texts["url"], texts["offset"], texts["length"]
    if key is None or url is None:
        raise refuse("lacks key or url")
    if (offset is None) != (length is None):
        raise refuse("has one of offset and length, expected both or neither")
    dimensions = member.get("dimensions")
    if not isinstance(dimensions, Mapping) or len(dimensions) > MAX_DIMENSIONS:
        raise refuse(f"dimensions is {dimensions!r:.60}, expected an object of at most {MAX_DIMENSIONS}")
    checked = {name: _dimension(name, values, refuse) for name, values in dimensions.items()}
    return StandardGenerator(place, templates, key, url, offset, length, checked)


def _dimension(name: str, values: Any, refuse: Any) -> Dimension:
    if isinstance(values, np.ndarray):
        return [int(value) for value in values]
    if isinstance(values, list | tuple):
        for value in values:
            if type(value) not in (int, str) or (type(value) is int and not ex.LEAST <= value <= ex.MOST):
                raise refuse(f"dimension {name!r} holds {value!r:.60}, expected integers or text")
        return list(values)
    if not isinstance(values, Mapping) or "stop" not in values:
        raise refuse(f"dimension {name!r} is {values!r:.60}, expected a list or an object with stop")
    found = [
        _bound(values.get(member, default)) for member, default in (("start", 0), ("stop", 0), ("step", 1))
    ]
    start, stop, step = found
    if start is None or stop is None or not step:
        raise refuse(
            f"dimension {name!r} runs by {dict(values)!r:.80}, expected integers and a step other than 0"
        )
    return range(start, stop, step)


def _bound(value: Any) -> int | None:
    if isinstance(value, str) and len(value) < 20 and value.lstrip("-").isdecimal() and value.isascii():
        value = int(value)
    return value if type(value) is int and -(2**62) < value < 2**62 else None
