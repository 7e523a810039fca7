"""Elements without a fixed size: text, bytes and other objects."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.foreign import NumcodecsStep, numcodecs_step
from zaro.codecs.members import Members
from zaro.codecs.parts import Bytes, as_bytes
from zaro.errors import CorruptChunkError

__all__ = ["OBJECTS"]

Objects = Callable[[Bytes], NDArray[Any]]
"""From the bytes of a chunk to its elements [count], in C order."""


def _fit(elements: NDArray[Any], name: str, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """Elements [count] of the array's type."""
    if elements.size != count:
        raise CorruptChunkError(f"{name}: decodes to {elements.size} elements, expected {count}")
    try:
        return elements.reshape(-1).astype(dtype, copy=False)
    except (TypeError, ValueError) as err:
        raise CorruptChunkError(f"{name}: its elements are no {dtype}: {err}") from err


@dataclass(frozen=True)
class _Lengths:
    """Each element behind its length: `vlen-utf8`, `vlen-bytes`, `vlen-array`."""

    step: NumcodecsStep
    dtype: np.dtype[Any]
    count: int

    def __call__(self, data: Bytes) -> NDArray[Any]:
        source = as_bytes(data, self.step.name, None)
        promised = int.from_bytes(source[:4].tobytes(), "little")
        # the decoder allocates as many elements as the header promises
        if source.size < 4 or promised != self.count or promised > (source.size - 4) // 4:
            found = f"{source.size} bytes promise {promised} elements"
            raise CorruptChunkError(f"{self.step.name}: {found}, expected {self.count}")
        return _fit(self.step.value(source), self.step.name, self.dtype, self.count)


@dataclass(frozen=True)
class _Listed:
    """A list of all elements, then their type and their shape: `json2`, `msgpack2`."""

    name: str
    parse: Callable[[bytes], Any]
    dtype: np.dtype[Any]
    count: int

    def __call__(self, data: Bytes) -> NDArray[Any]:
        try:
            items = self.parse(bytes(data))
        except (ValueError, TypeError, RecursionError) as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err
        if not isinstance(items, list) or len(items) < 2 or not isinstance(items[-1], list):
            raise CorruptChunkError(f"{self.name}: decodes to no list of elements, type and shape")
        elements = self._flat(items[:-2], items[-1])
        out = np.empty(len(elements), object)
        for k, element in enumerate(elements):  # an element may be a list, which an assignment would unpack
            out[k] = element
        return _fit(out, self.name, self.dtype, self.count)

    def _flat(self, elements: list[Any], shape: list[Any]) -> list[Any]:
        for _ in shape[1:]:
            if not all(isinstance(row, list) for row in elements):
                raise CorruptChunkError(
                    f"{self.name}: its elements have not the shape {shape!r:.60} that it states"
                )
            elements = list(chain.from_iterable(elements))
        return elements


def _lengths(members: Members, dtype: np.dtype[Any], count: int) -> Objects:
    return _Lengths(numcodecs_step(members.codec, members), dtype, count)


def _json(members: Members, dtype: np.dtype[Any], count: int) -> Objects:
    encoding = members.choice("encoding", ("utf-8", "utf8", "ascii", "latin-1", "utf-16", "utf-32"), "utf-8")
    strict = members.flag("strict", True)
    members.rest()  # what is left told the encoder how to write
    return _Listed(members.name, lambda data: json.loads(data.decode(encoding), strict=strict), dtype, count)


def _msgpack(members: Members, dtype: np.dtype[Any], count: int) -> Objects:
    raw = members.flag("raw", False)
    members.rest()
    try:
        from msgpack import unpackb
    except ImportError:
        members.lacks("msgpack")
    # the parser bounds every length in the data by the size of the data
    return _Listed(members.name, lambda data: unpackb(data, raw=raw, strict_map_key=False), dtype, count)


@dataclass(frozen=True)
class _Labels:
    """Numbers that stand for labels: `categorize`."""

    step: NumcodecsStep
    dtype: np.dtype[Any]
    count: int

    def __call__(self, data: Bytes) -> NDArray[Any]:
        return _fit(self.step.value(data), self.step.name, self.dtype, self.count)


def _categorize(members: Members, dtype: np.dtype[Any], count: int) -> Objects:
    return _Labels(numcodecs_step(members.codec, members), dtype, count)


OBJECTS: dict[str, Callable[[Members, np.dtype[Any], int], Objects]] = {
    "vlen-utf8": _lengths,
    "vlen-bytes": _lengths,
    "vlen-array": _lengths,
    "json2": _json,
    "msgpack2": _msgpack,
    "categorize": _categorize,
}
