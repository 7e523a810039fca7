"""Codecs that change numbers when they decode, and those that did so for good when they encoded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from zaro.codecs.foreign import numcodecs_step
from zaro.codecs.members import Members
from zaro.codecs.parts import Part, State, Step

__all__ = ["NUMBERS"]

Type = np.dtype[Any]


def _decoded(members: Members, state: State, member: str) -> Type:
    """Type of the decoded numbers; of an array that is still one, the array's own."""
    if _given(members, member) or not state.array or state.dtype is None:
        dtype = members.dtype(member)
    else:
        members.take(member, None)
        dtype = state.dtype
    if state.array and state.dtype is not None:
        if (dtype.kind, dtype.itemsize) != (state.dtype.kind, state.dtype.itemsize):
            members.fail(member, dtype.str, f"{state.dtype.str}, the type of the elements")
        dtype = state.dtype
    if state.nbytes is not None and state.nbytes % dtype.itemsize:
        members.fail(member, dtype.str, f"a type of which {state.nbytes} bytes hold a whole number")
    return dtype


def _encoded(members: Members, state: State, member: str, default: Type | None) -> Type:
    """Type of the stored numbers; before `bytes` they have no byte order yet."""
    if default is None or _given(members, member):
        dtype = members.dtype(member)
    else:
        members.take(member, None)
        dtype = default
    return dtype.newbyteorder("=") if state.array else dtype


def _given(members: Members, member: str) -> bool:
    return members.configuration.get(member) is not None


def _convert(
    members: Members, state: State, step: str, decoded: Type, encoded: Type, **parameters: float
) -> tuple[Part, State]:
    known = all(dtype.kind in "biuf" and dtype.itemsize <= 8 for dtype in (decoded, encoded))
    steps: tuple[Step, ...] | None = None
    if known:
        steps = ((step, {"source": encoded.str, "target": decoded.str, **parameters}),)
    if step == "astype" and encoded == decoded:
        steps = ()
    nbytes = None if state.nbytes is None else state.nbytes // decoded.itemsize * encoded.itemsize
    part = Part(members.name, steps, state.nbytes, _python(members, decoded, encoded))
    return part, replace(state, dtype=encoded, nbytes=nbytes)


def _python(members: Members, decoded: Type, encoded: Type) -> Callable[[], Any]:
    names = ("decode_dtype", "encode_dtype") if members.codec == "astype" else ("dtype", "astype")
    return lambda: numcodecs_step(members.codec, members, {names[0]: decoded.str, names[1]: encoded.str})


def _delta(members: Members, state: State) -> tuple[Part, State]:
    decoded = _decoded(members, state, "dtype")
    return _convert(members, state, "delta", decoded, _encoded(members, state, "astype", decoded))


def _fixedscaleoffset(members: Members, state: State) -> tuple[Part, State]:
    decoded = _decoded(members, state, "dtype")
    encoded = _encoded(members, state, "astype", decoded)
    scale, offset = members.number("scale"), members.number("offset")
    if not scale:
        members.fail("scale", scale, "a number other than 0, by which values are divided")
    return _convert(members, state, "scale", decoded, encoded, scale=scale, offset=offset)


def _astype(members: Members, state: State) -> tuple[Part, State]:
    decoded = _decoded(members, state, "decode_dtype")
    return _convert(members, state, "astype", decoded, _encoded(members, state, "encode_dtype", None))


def _quantize(members: Members, state: State) -> tuple[Part, State]:
    members.integer("digits", -400, 400)  # the digits are gone; only the type may come back
    decoded = _decoded(members, state, "dtype")
    return _convert(members, state, "astype", decoded, _encoded(members, state, "astype", decoded))


def _bitround(members: Members, state: State) -> tuple[Part, State]:
    members.integer("keepbits", 0, 52)  # the other bits are gone
    return Part(members.name, (), state.nbytes, _nothing), state


def _nothing() -> Any:
    raise AssertionError("a codec without steps never runs")


NUMBERS = {
    "delta": _delta,
    "fixedscaleoffset": _fixedscaleoffset,
    "astype": _astype,
    "quantize": _quantize,
    "bitround": _bitround,
}
