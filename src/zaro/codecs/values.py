"""Codecs of zarr-extensions that change the values of an array, in the arithmetic of its own type.

Source: zarr-extensions, codecs/scale_offset and codecs/cast_value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.members import Members
from zaro.codecs.parts import Bytes, Part, State, as_bytes
from zaro.errors import CorruptChunkError

__all__ = ["VALUES"]

Type = np.dtype[Any]
_ROUNDINGS = ("nearest-even", "towards-zero", "towards-positive", "towards-negative", "nearest-away")
_CASTS = {f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
_CASTS |= {f"float{bits}" for bits in (16, 32, 64)}


@dataclass(frozen=True)
class _ValuesStep:
    """From stored numbers of one type to those of the array."""

    name: str
    stored: Type
    decoded: Callable[[NDArray[Any]], NDArray[Any]]

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        source = as_bytes(data, self.name, None)
        if source.size % self.stored.itemsize:
            raise CorruptChunkError(f"{self.name}: {source.size} bytes are no run of {self.stored}")
        try:
            with np.errstate(all="ignore"):
                found = self.decoded(source.view(self.stored))
        except (ValueError, OverflowError) as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err
        return as_bytes(found, self.name, nbytes)


def _numbers(members: Members, state: State) -> Type:
    """Type of the numbers before encoding."""
    dtype = state.dtype
    if not state.array or dtype is None:
        members.misplaced("but the array was turned into bytes before")
    if dtype.name not in _CASTS:
        members.misplaced(f"which takes integers and floats, but the elements are of type {dtype}")
    return dtype


# ---- scale_offset ------------------------------------------------------------------------------


def _scale_offset(members: Members, state: State) -> tuple[Part, State]:
    dtype = _numbers(members, state)
    offset, scale = (
        _scalar(members, name, default, dtype) for name, default in (("offset", 0), ("scale", 1))
    )
    if scale == 0:
        members.fail("scale", 0, "a number other than 0, by which values are divided")
    decoded = _unscaled_integers if dtype.kind in "iu" else _unscaled_floats
    step = _ValuesStep(members.name, dtype, lambda stored: decoded(stored, offset, scale))
    with np.errstate(all="ignore"):
        fill = None if state.fill is None else (dtype.type(state.fill) - offset) * scale
    return Part(members.name, None, state.nbytes, lambda: step), replace(state, fill=fill)


def _scalar(members: Members, member: str, default: int, dtype: Type) -> Any:
    """Take a number as the data type's fill value would be spelled."""
    value = members.take(member, default)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        if dtype.kind == "f" and isinstance(value, str) and value.startswith("0x"):
            return np.array(int(value, 16), f"u{dtype.itemsize}").view(dtype)[()]
        if dtype.kind == "f":
            return dtype.type(float(value))
        number = int(value)
        if isinstance(value, float) and number != value:
            raise ValueError
        return np.array([number], dtype)[0]
    except (ValueError, OverflowError):
        members.fail(member, value, f"a number of type {dtype}")


def _unscaled_floats(stored: NDArray[Any], offset: Any, scale: Any) -> NDArray[Any]:
    found: NDArray[Any] = stored / scale + offset
    return found


def _unscaled_integers(stored: NDArray[Any], offset: Any, scale: Any) -> NDArray[Any]:
    """Whole quotients only; what wraps on the way is right again if the ends are in range."""
    if not stored.size:
        return stored
    if np.any(stored % scale):
        raise ValueError(f"a value is no multiple of the scale {scale}")
    ends = [int(end) // int(scale) + int(offset) for end in (stored.min(), stored.max())]
    limits = np.iinfo(stored.dtype)
    if min(ends) < limits.min or max(ends) > limits.max:
        raise ValueError(f"a value is outside of the range of {stored.dtype}")
    found: NDArray[Any] = stored // scale + offset
    return found


# ---- cast_value --------------------------------------------------------------------------------


def _cast_value(members: Members, state: State) -> tuple[Part, State]:
    decoded = _numbers(members, state)
    name = members.take("data_type", expected="a data type")
    if name not in _CASTS:
        members.fail("data_type", name, f"one of {', '.join(sorted(_CASTS))}")
    stored = np.dtype(name)
    rounding = members.choice("rounding", _ROUNDINGS, "nearest-even")
    outside = members.choice("out_of_range", ("clamp", "wrap", None), None)
    scalars = members.take("scalar_map", None) or {}
    if not isinstance(scalars, Mapping):
        members.fail("scalar_map", scalars, "an object with lists of pairs")
    back, forth = (
        _pairs(members, scalars, "decode", stored, decoded),
        _pairs(members, scalars, "encode", decoded, stored),
    )
    try:
        from cast_value_rs import cast_array
    except ImportError as err:
        members.lacks("cast-value-rs", err)

    def cast(values: NDArray[Any], target: Type, pairs: dict[Any, Any] | None) -> NDArray[Any]:
        found: NDArray[Any] = cast_array(
            values,
            target_dtype=target,
            rounding_mode=rounding,
            out_of_range_mode=outside,
            scalar_map_entries=pairs,
        )
        return found

    step = _ValuesStep(members.name, stored, lambda values: cast(values, decoded, back))
    fill = None if state.fill is None else cast(np.array([state.fill], decoded), stored, forth)[0]
    nbytes = None if state.nbytes is None else state.nbytes // decoded.itemsize * stored.itemsize
    return Part(members.name, None, state.nbytes, lambda: step), replace(
        state, dtype=stored, nbytes=nbytes, fill=fill
    )


def _pairs(
    members: Members, scalars: Mapping[str, Any], direction: str, source: Type, target: Type
) -> dict[Any, Any] | None:
    """Values that stand for others, in one direction."""
    if (found := scalars.get(direction)) is None:
        return None
    of_source, of_target = (int if dtype.kind in "iu" else float for dtype in (source, target))
    try:
        return {of_source(key): of_target(value) for key, value in found}
    except (TypeError, ValueError, OverflowError):
        members.fail(f"scalar_map.{direction}", found, "a list of pairs of numbers")


VALUES = {"scale_offset": _scale_offset, "cast_value": _cast_value}
