"""Codecs that the kernel does not decode: through packages, or not at all."""

from __future__ import annotations

from dataclasses import replace

from zaro.codecs.foreign import NumcodecsStep, numcodecs_step, stream_step
from zaro.codecs.members import Members
from zaro.codecs.parts import BytesStep, Part, State
from zaro.codecs.zfp import ZfpStep

__all__ = ["compile_other"]


def compile_other(members: Members, state: State) -> tuple[Part, State]:
    """Compile a codec that C does not decode."""
    step = _step(members, state)
    array = state.array and members.codec == "packbits"  # the others leave bytes
    return Part(members.name, None, state.nbytes, lambda: step), replace(
        state, dtype=None, nbytes=None, array=array
    )


def _step(members: Members, state: State) -> BytesStep:
    if members.codec == "pickle":
        members.refuse(
            "names 'pickle', which runs code of the file's author when it decodes; zaro never does"
        )
    if members.codec in {"bz2", "lzma"}:
        stream = stream_step(members.codec, members)
        members.rest()  # what is left told the encoder how to write
        return stream
    step = numcodecs_step(members.codec, members)
    if members.codec == "packbits" and state.dtype is not None and state.dtype.itemsize != 1:
        members.misplaced(f"which packs booleans, but the elements are of type {state.dtype}")
    # a codec that stands for `bytes` knows the type of its numbers, and it must be the array's
    step = NumcodecsStep(step.name, step.codec, state.dtype if state.array else None)
    return ZfpStep(step) if members.codec == "zfpy" else step
