"""From a codec list to a chain that decodes: what runs in C, what in Python, what moves no bytes at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core import codec as kernel
from zaro.codecs.members import Members
from zaro.codecs.native import NATIVE, read_order
from zaro.codecs.numbers import NUMBERS
from zaro.codecs.objects import OBJECTS
from zaro.codecs.other import compile_other
from zaro.codecs.parts import Bytes, BytesStep, CodecLike, KernelStep, Part, SizedStep, State, as_bytes
from zaro.codecs.registry import served
from zaro.codecs.shards import compile_shard
from zaro.codecs.values import VALUES
from zaro.errors import MetadataError, UnsupportedError

__all__ = ["Chain", "compile_chain"]

# Codecs that may stand before one that turns the array into bytes, or be it; and those that take bytes only.
ARRAY = frozenset({"bytes", "packbits", "pcodec", "zfpy", *NUMBERS})
MOST_CODECS = 30
BYTES = frozenset({*NATIVE, "bz2", "lzma", "base64", "jenkins_lookup3"})


@dataclass(frozen=True)
class Chain:
    """How the stored bytes of a chunk become its values.

    Attributes
    ----------
    kernel : zaro._core.codec.Chain
        The steps that C decodes: the last ones, in the order of decoding.
    foreign : tuple of BytesStep
        Steps before those, which run in Python; empty where C decodes all.
    order : tuple of int, or None
        Stored axis k of the decoded block is array axis `order[k]`; None for C order.
    blocks : callable or None
        For elements without a fixed size: from what `foreign` leaves to a block of the chunk's shape; the
        kernel's chain is then empty.
    sharding : mapping or None
        The configuration of `sharding_indexed`, where that codec is the whole list.
    stored_most : int
        Bytes that a stored chunk may have; what codecs of others may leave nobody knows.
    """

    kernel: kernel.Chain
    foreign: tuple[BytesStep, ...] = ()
    order: tuple[int, ...] | None = None
    blocks: Callable[[Bytes], NDArray[Any]] | None = None
    sharding: Mapping[str, Any] | None = None
    stored_most: int = 0

    def run_foreign(self, data: Bytes) -> Bytes:
        """Run the steps that C does not decode.

        Raises
        ------
        CorruptChunkError
            Naming the codec that refuses.
        """
        for step in self.foreign:
            data = step.decode(data, None)
        return data

    def decode(self, data: Bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Decode one chunk of `shape` and `dtype` to a new array, one thread, nothing reused.

        Raises
        ------
        CorruptChunkError
            Naming the codec that refuses.
        """
        if self.sharding is not None:
            raise ValueError("the chunks of a shard are decoded one by one")
        data = self.run_foreign(data)
        if self.blocks is not None:
            return self.blocks(data)
        nbytes = math.prod(shape) * dtype.itemsize
        flat = self.kernel.decode(as_bytes(data, "chunk", None), nbytes).view(dtype)
        order = self.order or tuple(range(len(shape)))
        return flat.reshape([shape[axis] for axis in order]).transpose(np.argsort(order))


def compile_chain(
    codecs: Sequence[CodecLike],
    *,
    dtype: np.dtype[Any],
    chunk_shape: tuple[int, ...],
    document: str,
    fill: Any = None,
    whole: bool = False,
) -> Chain:
    """Compile a codec list, in the order of encoding, to a chain.

    Parameters
    ----------
    codecs : sequence
        Entries with `name` and `configuration`.
    dtype : numpy.dtype
        Of the elements, with the byte order that the block shall have.
    chunk_shape : tuple of int
        Shape of a whole chunk.
    document : str
        Key of the metadata document, for messages.
    fill : scalar, optional
        What an absent chunk holds; asked for by shards that are decoded whole.
    whole : bool
        Decode a shard whole even where it is the whole list.

    Raises
    ------
    MetadataError
        The list contradicts itself, or a configuration is not what its codec asks for.
    UnsupportedError
        A codec is unknown, needs a package that is not installed, or would run code.
    """
    if len(codecs) > MOST_CODECS:
        raise MetadataError(document, "codecs", f"holds {len(codecs)} codecs, expected {MOST_CODECS} at most")
    members = [
        Members(document, f"codecs[{k}]", codec.name, codec.configuration) for k, codec in enumerate(codecs)
    ]
    if [m.codec for m in members] == ["sharding_indexed"] and not whole:
        return Chain(kernel.Chain(), sharding=members[0].configuration)
    found = _Walk(dtype, chunk_shape, fill)
    for codec, one in zip(codecs, members, strict=True):
        try:
            found.take(one)
            one.close()
        except UnsupportedError:
            if codec.must_understand:
                raise
    if found.state.array:
        raise MetadataError(document, "codecs", "holds no codec that turns an array into bytes")
    if dtype.hasobject and found.blocks is None:
        raise MetadataError(document, "codecs", f"holds no codec for elements of type {dtype}")
    chain = _assemble(found)
    return replace(chain, stored_most=_stored_most(chain, found, document))


class _Walk:
    """A codec list on the way from array to stored bytes."""

    def __init__(self, dtype: np.dtype[Any], chunk_shape: tuple[int, ...], fill: Any) -> None:
        self.dtype, self.chunk_shape = dtype, chunk_shape
        self.nbytes = math.prod(chunk_shape) * dtype.itemsize
        self.state = State(dtype, self.nbytes, fill=fill)
        self.parts: list[Part] = []
        self.order = tuple(range(len(chunk_shape)))
        self.blocks: Callable[[Bytes], NDArray[Any]] | None = None

    @property
    def most(self) -> int:
        """Bytes that a chunk may have between two codecs, where they do not tell."""
        if self.blocks is not None:
            return config.OBJECTS + config.OBJECT * math.prod(self.chunk_shape)
        return 2 * self.nbytes + (1 << 20)

    def take(self, members: Members) -> None:
        """Add one codec."""
        if members.codec == "transpose":
            self._transpose(members)
        elif members.codec in OBJECTS and self.blocks is None and not self.parts:
            flat = OBJECTS[members.codec](members, self.dtype, math.prod(self.chunk_shape))
            self.blocks = partial(_block, flat, self._shape(), self.order)
            self.state = State(None, None, array=False)
        elif members.codec == "sharding_indexed" and self.state.array:
            self._shard(members)
        else:
            part, self.state = self._compiler(members)(members, self.state)
            if part.steps != ():
                self.parts.append(part)

    def _compiler(self, members: Members) -> Callable[[Members, State], tuple[Part, State]]:
        codec, array = members.codec, self.state.array
        if codec == "bytes" and not array:
            members.misplaced("but the array was turned into bytes before")
        if codec in OBJECTS:
            members.misplaced("which turns elements into bytes, but other codecs did so before")
        if array and codec in BYTES and codec not in ARRAY:
            members.misplaced("but no codec before it turned the array into bytes")
        if members.name in VALUES:
            return VALUES[members.name]
        return NATIVE.get(codec, compile_other)

    def _shape(self) -> tuple[int, ...]:
        """Shape of the stored block."""
        return tuple(self.chunk_shape[axis] for axis in self.order)

    def _shard(self, members: Members) -> None:
        if self.state.dtype is None:
            members.misplaced("but a codec before it left no array of numbers")
        shard = compile_shard(members, self.state.dtype, self._shape(), self.state.fill, compile_chain)
        if self.dtype.hasobject:
            self.blocks = partial(_block, shard.block, self._shape(), self.order)
        else:
            self.parts.append(Part(members.name, None, self.state.nbytes, lambda: shard))
        self.state = State(None, None, array=False)

    def _transpose(self, members: Members) -> None:
        if not self.state.array:
            members.misplaced("but the array was turned into bytes before")
        order = read_order(members, len(self.order))
        self.order = tuple(self.order[axis] for axis in order)


def _block(
    flat: Callable[[Bytes], NDArray[Any]], shape: tuple[int, ...], order: tuple[int, ...], data: Bytes
) -> NDArray[Any]:
    return flat(data).reshape(shape).transpose(np.argsort(order))


def _assemble(found: _Walk) -> Chain:
    parts = found.parts[::-1]
    unserved = [k for k, part in enumerate(parts) if not served(part)]
    split = len(parts) if found.blocks else unserved[-1] + 1 if unserved else 0
    steps = [step for part in parts[split:] for step in part.steps or ()]
    most = found.most
    natural = found.order == tuple(range(len(found.order)))
    return Chain(
        kernel.Chain(steps),
        tuple(SizedStep(_python(part), part.nbytes, most) for part in parts[:split]),
        None if natural or found.blocks else found.order,
        found.blocks,
    )


def _python(part: Part) -> BytesStep:
    if served(part) and part.steps and (part.nbytes is not None or part.tells_size):
        return KernelStep(part.name, kernel.Chain(part.steps))
    return part.python()


def _stored_most(chain: Chain, found: _Walk, document: str) -> int:
    """Bytes that a stored chunk may have."""
    unknown = max(config.STORED, 2 * found.most)
    if found.blocks is not None:
        return unknown
    try:
        stored = chain.kernel.sizes(found.nbytes)[0]
        return unknown if chain.foreign else stored
    except ValueError as err:
        reason = f"cannot hold chunks of {found.nbytes} bytes: {err}"
        raise MetadataError(document, "codecs", reason) from err
