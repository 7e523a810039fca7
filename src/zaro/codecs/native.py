"""Codecs that the kernel decodes: from a configuration to steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from zaro.codecs.foreign import BloscStep, Lz4Step, ZstdStep, stream_step
from zaro.codecs.members import Members
from zaro.codecs.numbers import NUMBERS
from zaro.codecs.parts import BytesStep, Part, State, Step

__all__ = ["NATIVE", "read_order"]

Compile = Callable[[Members, State], tuple[Part, State]]
"""From a configuration and what is known before encoding, to the part and what is known after."""

_SHUFFLES = (-1, 0, 1, 2, "noshuffle", "shuffle", "bitshuffle")
_CNAMES = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")


def _compressor(
    members: Members, state: State, step: str, python: Callable[[], BytesStep]
) -> tuple[Part, State]:
    return Part(members.name, ((step, {}),), state.nbytes, python), replace(state, dtype=None, nbytes=None)


def _level(members: Members, low: int, high: int) -> None:
    """Check a level, which decoding does not need: version 3 bounds it, numcodecs writes what it is told."""
    bounded = not members.name.startswith("numcodecs.")
    members.integer("level", low if bounded else -(2**31), high if bounded else 2**31 - 1, 1)


def _zlib(members: Members, state: State) -> tuple[Part, State]:
    _level(members, -1, 9)
    return _compressor(members, state, "zlib", lambda: stream_step("zlib", members))


def _gzip(members: Members, state: State) -> tuple[Part, State]:
    _level(members, 0, 9)
    return _compressor(members, state, "gzip", lambda: stream_step("gzip", members))


def _zstd(members: Members, state: State) -> tuple[Part, State]:
    _level(members, -131072, 22)
    members.flag("checksum", False)
    return _compressor(members, state, "zstd", lambda: ZstdStep(members.name))


def _lz4(members: Members, state: State) -> tuple[Part, State]:
    members.integer("acceleration", -(2**31), 2**31 - 1, 1)
    return _compressor(members, state, "lz4", lambda: Lz4Step(members.name))


def _blosc(members: Members, state: State) -> tuple[Part, State]:
    members.choice("cname", _CNAMES, "lz4")
    members.integer("clevel", 0, 9, 5)
    members.choice("shuffle", _SHUFFLES, 1)
    members.integer("blocksize", 0, 2**31 - 1, 0)
    members.optional_integer("typesize", 0, 2**31 - 1)
    return _compressor(members, state, "blosc", lambda: BloscStep(members.name))


def _bytes(members: Members, state: State) -> tuple[Part, State]:
    """Compile `bytes`: elements in the byte order that it names, or else in that of the data type."""
    endian = members.choice("endian", ("little", "big", None), None)
    dtype = state.dtype
    width = _swap_width(dtype) if dtype is not None else 1
    swap = endian is not None and width > 1 and dtype is not None and _order(dtype) != endian
    steps: tuple[Step, ...] = (("swap", {"width": width}),) if swap else ()
    return Part(members.name, steps, state.nbytes, lambda: _never(members)), replace(state, array=False)


def read_order(members: Members, rank: int) -> tuple[int, ...]:
    """Read the permutation of the axes that `transpose` asks for."""
    expected = f"a permutation of the axes 0 to {rank - 1}"
    order = members.take("order", expected=expected)
    if order in ("C", "F"):  # spellings of the first drafts of the format
        return tuple(range(rank)) if order == "C" else tuple(range(rank))[::-1]
    if not isinstance(order, list | tuple) or any(isinstance(axis, bool) for axis in order):
        members.fail("order", order, expected)
    if sorted(axis if isinstance(axis, int) else -1 for axis in order) != list(range(rank)):
        members.fail("order", order, expected)
    return tuple(order)


def _never(members: Members) -> BytesStep:
    raise AssertionError(f"{members.name} is always decoded by the kernel")


def _order(dtype: np.dtype[Any]) -> str:
    return "big" if dtype.str[0] == ">" else "little"


def _swap_width(dtype: np.dtype[Any]) -> int:
    """Bytes that a change of byte order reverses; 1 where there is nothing to reverse."""
    if dtype.kind == "c":
        return dtype.itemsize // 2
    if dtype.kind == "U":
        return 4
    return dtype.itemsize if dtype.kind in "iufmM" else 1


def _shuffle(members: Members, state: State) -> tuple[Part, State]:
    width = members.optional_integer("elementsize", 0, 2**31 - 1)
    # where the member is absent numcodecs assumes 4, where it is null zarr-python the size of an element
    if width is None:
        named = "elementsize" in members.configuration
        width = state.dtype.itemsize if named and state.dtype is not None else 4
    steps: tuple[Step, ...] = (("shuffle", {"width": width}),) if width > 1 else ()
    return Part(members.name, steps, state.nbytes, lambda: _never(members)), state


def _checked(members: Members, state: State, step: str) -> tuple[Part, State]:
    part = Part(members.name, ((step, {}),), state.nbytes, lambda: _never(members))
    return part, replace(state, dtype=None, nbytes=None if state.nbytes is None else state.nbytes + 4)


def _located(start: str, end: str, default: str) -> Compile:
    def compile_(members: Members, state: State) -> tuple[Part, State]:
        where = members.choice("location", ("start", "end", None), None) or default
        return _checked(members, state, start if where == "start" else end)

    return compile_


NATIVE: dict[str, Compile] = {
    "bytes": _bytes,
    "blosc": _blosc,
    "zstd": _zstd,
    "lz4": _lz4,
    "zlib": _zlib,
    "gzip": _gzip,
    "shuffle": _shuffle,
    "crc32c": _located("crc32c_start", "crc32c", "end"),
    "crc32": _located("crc32_start", "crc32_end", "start"),
    "adler32": _located("adler32_start", "adler32_end", "start"),
    "fletcher32": lambda members, state: _checked(members, state, "fletcher32"),
    **NUMBERS,
}
