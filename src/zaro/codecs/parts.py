"""What one codec of a chain asks of a decoder, and the words that the rest of the room shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zaro._core import codec as kernel
from zaro.errors import CorruptChunkError

__all__ = ["BytesStep", "CodecLike", "Bytes", "Entry", "KernelStep", "Part", "SizedStep", "State", "as_bytes"]

Bytes = bytes | bytearray | memoryview | NDArray[Any]
"""Bytes in memory."""

CHECKS = frozenset(
    {"crc32c", "crc32c_start", "crc32_start", "crc32_end", "adler32_start", "adler32_end", "fletcher32"}
)
TELL_SIZE = CHECKS | {"shuffle", "swap", "blosc", "lz4"}

Step = tuple[str, dict[str, Any]]
"""One step of `zaro._core.codec.Chain`: its name and its parameters."""


class CodecLike(Protocol):
    """One entry of a codec list: the metadata room's `Codec` is one."""

    @property
    def name(self) -> str:
        """The v3 name; `numcodecs.` and the id for a codec of a v2 document."""

    @property
    def configuration(self) -> Mapping[str, Any]:
        """Its members, as the document spells them."""

    @property
    def must_understand(self) -> bool:
        """Whether a reader that lacks the codec must give up, and not read as if it were not there."""


@dataclass(frozen=True)
class Entry:
    """One entry of a codec list that stands inside another codec."""

    name: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    must_understand: bool = True


class BytesStep(Protocol):
    """One decoding step that runs in Python."""

    @property
    def name(self) -> str:
        """The codec, as the document spells it."""

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """Decode `data` to `nbytes` bytes, or to as many as there are where None: `most` at most.

        Raises
        ------
        CorruptChunkError
            The bytes do not decode, or to another number of bytes.
        """


@dataclass(frozen=True)
class State:
    """What is known of a chunk between two codecs, on the way from array to stored bytes.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Of its elements; None where it is no longer a run of elements.
    nbytes : int or None
        Its size; None where the data decide.
    array : bool
        Whether it is still an array: no codec that turns arrays into bytes has been met.
    fill : scalar, optional
        What an absent chunk holds, as the codecs so far encode it.
    """

    dtype: np.dtype[Any] | None
    nbytes: int | None
    array: bool = True
    fill: Any = None


@dataclass(frozen=True)
class Part:
    """One codec, ready to decode.

    Attributes
    ----------
    name : str
    steps : tuple of steps, or None
        For the kernel, in the order of decoding; empty where nothing is to be done, None where C has no step.
    nbytes : int or None
        Bytes that leave it when it decodes.
    python : callable
        Makes the step that does the same in Python.
    """

    name: str
    steps: tuple[Step, ...] | None
    nbytes: int | None
    python: Callable[[], BytesStep]

    @property
    def tells_size(self) -> bool:
        """Whether what enters tells the size of what leaves."""
        return self.steps is not None and all(name in TELL_SIZE for name, _ in self.steps)


def as_bytes(value: Any, name: str, nbytes: int | None) -> NDArray[np.uint8]:
    """View what a decoder returned as bytes, and insist on their number."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise CorruptChunkError(f"{name}: decodes to Python objects where bytes are expected")
        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
    else:
        data = np.frombuffer(value, np.uint8)
    if nbytes is not None and data.size != nbytes:
        raise CorruptChunkError(f"{name}: decodes to {data.size} bytes, expected {nbytes}")
    return data


@dataclass(frozen=True)
class SizedStep:
    """A step in its place in a chain, where the size of what leaves it is known, or what it is at most."""

    step: BytesStep
    nbytes: int | None
    most: int

    @property
    def name(self) -> str:
        """The codec, as the document spells it."""
        return self.step.name

    def decode(self, data: Bytes, nbytes: int | None = None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`; without sizes, those known here are asked for."""
        wanted = self.nbytes if nbytes is None else nbytes
        return self.step.decode(data, wanted, self.most if most is None else most)


@dataclass(frozen=True)
class KernelStep:
    """One codec that C decodes, standing before one that runs in Python.

    Where the size of the result is not known, only codecs whose input tells it may come here.
    """

    name: str
    chain: kernel.Chain

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        source = as_bytes(data, self.name, None)
        wanted = self._told(source) if nbytes is None else nbytes
        if nbytes is None and most is not None and wanted > most:
            raise CorruptChunkError(f"{self.name}: promises {wanted} bytes, expected {most} at most")
        return self.chain.decode(source, wanted)

    def _told(self, source: NDArray[np.uint8]) -> int:
        step = self.chain.steps[0][0]
        if step == "blosc":
            return min(int.from_bytes(source[4:8].tobytes(), "little"), 2**31 - 1)
        if step == "lz4":  # a sequence of n bytes never decodes to more than 255 n
            return min(int.from_bytes(source[:4].tobytes(), "little"), 255 * source.size)
        return max(source.size - 4, 0) if step in CHECKS else source.size
