"""Codecs that the kernel does not decode: through packages, or not at all."""

from __future__ import annotations

from dataclasses import replace

from zaro.codecs.foreign import numcodecs_step, stream_step
from zaro.codecs.members import Members
from zaro.codecs.parts import Part, State

__all__ = ["ARRAY", "compile_other"]

# Codecs that may stand before one that turns the array into bytes, or be it.
ARRAY = frozenset(
    {"bytes", "delta", "fixedscaleoffset", "astype", "quantize", "bitround", "packbits", "pcodec", "zfpy"}
)


def compile_other(members: Members, state: State) -> tuple[Part, State]:
    """Compile a codec that C does not decode."""
    if members.codec == "pickle":
        members.refuse(
            "names 'pickle', which runs code of the file's author when it decodes; zaro never does"
        )
    if members.codec in {"bz2", "lzma"}:
        members.rest()
        part = Part(members.name, None, state.nbytes, lambda: stream_step(members.codec, members))
    else:
        step = numcodecs_step(members.codec, members)
        part = Part(members.name, None, state.nbytes, lambda: step)
    return part, replace(state, dtype=None, nbytes=None, array=False)
