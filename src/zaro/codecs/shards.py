"""Shards that stand among other codecs, decoded whole.

A shard that is the whole codec list is not decoded here: its chunks are found one by one, as those of any
other array. Around a shard a codec hides where they lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core.codec import Chain as Kernel
from zaro.codecs.members import Members
from zaro.codecs.parts import Bytes, BytesStep, Entry, as_bytes
from zaro.errors import CorruptChunkError, MetadataError

__all__ = ["Decoder", "Shard", "compile_shard"]

_ABSENT = np.iinfo(np.uint64).max


class Decoder(Protocol):
    """A compiled chain: see `zaro.codecs.Chain`."""

    @property
    def kernel(self) -> Kernel:
        """The steps that C decodes."""

    @property
    def foreign(self) -> tuple[BytesStep, ...]:
        """The steps before those."""

    def decode(self, data: Bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Decode one chunk."""


class Compile(Protocol):
    """`zaro.codecs.compile_chain`."""

    def __call__(
        self,
        codecs: Any,
        *,
        dtype: np.dtype[Any],
        chunk_shape: tuple[int, ...],
        document: str,
        fill: Any,
        whole: bool,
    ) -> Decoder: ...


@dataclass(frozen=True)
class Shard:
    """How the bytes of one shard become its block.

    Attributes
    ----------
    grid, inner : tuple of int
        Chunks of a shard along each axis, and the shape of one.
    chunk, index : Decoder
        Of a chunk, and of the index.
    index_nbytes : int
    at_end : bool
        Where the index lies.
    fill : scalar
        What an absent chunk holds.
    """

    name: str
    dtype: np.dtype[Any]
    grid: tuple[int, ...]
    inner: tuple[int, ...]
    chunk: Decoder
    index: Decoder
    index_nbytes: int
    at_end: bool
    fill: Any

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        return as_bytes(self.block(data), self.name, nbytes)

    def block(self, data: Bytes) -> NDArray[Any]:
        """Decode to an array of the shard's shape."""
        stored = as_bytes(data, self.name, None)
        shape = tuple(n * size for n, size in zip(self.grid, self.inner, strict=True))
        out = np.full(shape, self.fill, self.dtype)
        for where, span in self._spans(stored):
            region = tuple(slice(k * n, k * n + n) for k, n in zip(where, self.inner, strict=True))
            out[region] = self.chunk.decode(stored[span], self.dtype, self.inner)
        return out

    def _spans(self, stored: NDArray[np.uint8]) -> Iterator[tuple[tuple[int, ...], slice]]:
        if stored.size < self.index_nbytes:
            reason = f"{stored.size} bytes do not hold an index of {self.index_nbytes}"
            raise CorruptChunkError(f"{self.name}: {reason}")
        found = stored[-self.index_nbytes :] if self.at_end else stored[: self.index_nbytes]
        index = self.index.decode(found, np.dtype(np.uint64), (*self.grid, 2))
        first, last = (0, stored.size - found.size) if self.at_end else (found.size, stored.size)
        for where in np.ndindex(*self.grid):
            offset, length = map(int, index[where])
            if offset == length == _ABSENT:
                continue
            if offset < first or offset + length > last:
                reason = f"chunk {where} lies at bytes {offset}+{length}, outside bytes {first} to {last}"
                raise CorruptChunkError(f"{self.name}: {reason}")
            yield where, slice(offset, offset + length)


def compile_shard(
    members: Members, dtype: np.dtype[Any], shape: tuple[int, ...], fill: Any, compile_chain: Compile
) -> Shard:
    """Compile `sharding_indexed` for shards of `shape`."""
    inner = _inner_shape(members, shape)
    grid = tuple(size // n for size, n in zip(shape, inner, strict=True))
    if 16 * math.prod(grid) > config.SHARD_INDEX:
        expected = f"chunks so large that the index of a shard has {config.SHARD_INDEX} bytes at most"
        members.fail("chunk_shape", list(inner), f"{expected}, see zaro.config.SHARD_INDEX")
    at_end = members.choice("index_location", ("start", "end"), "end") == "end"
    document = f"{members.document}: {members.place}.configuration"
    fill = np.zeros((), dtype)[()] if fill is None else fill
    index_shape = (*grid, 2)
    codecs = _entries(members, "codecs")
    chunk = compile_chain(codecs, dtype=dtype, chunk_shape=inner, document=document, fill=fill, whole=True)
    index = compile_chain(
        _entries(members, "index_codecs"),
        dtype=np.dtype(np.uint64),
        chunk_shape=index_shape,
        document=f"{document}.index_codecs",
        fill=None,
        whole=True,
    )
    stored, _, exact = index.kernel.sizes(8 * math.prod(index_shape))
    if not exact or index.foreign:
        reason = "must give every index the same size, as bytes and crc32c do"
        raise MetadataError(document, "index_codecs", reason)
    return Shard(members.name, dtype, grid, inner, chunk, index, stored, at_end, fill)


def _inner_shape(members: Members, shape: tuple[int, ...]) -> tuple[int, ...]:
    expected = f"{len(shape)} integers that divide the shard shape {list(shape)}"
    inner = members.take("chunk_shape", expected=expected)
    if not isinstance(inner, list | tuple) or [type(n) for n in inner] != [int] * len(shape):
        members.fail("chunk_shape", inner, expected)
    if any(n < 1 or size % n for n, size in zip(inner, shape, strict=True)):
        members.fail("chunk_shape", inner, expected)
    return tuple(inner)


def _entries(members: Members, member: str) -> list[Entry]:
    found = members.take(member, expected="a list of codecs")
    if not isinstance(found, list | tuple):
        members.fail(member, found, "a list of codecs")
    return [_entry(members, member, one) for one in found]


def _entry(members: Members, member: str, found: Any) -> Entry:
    if isinstance(found, str):
        return Entry(found)
    name = found.get("name") if isinstance(found, Mapping) else None
    configuration = found.get("configuration", {}) if isinstance(found, Mapping) else None
    if not isinstance(name, str) or not isinstance(configuration, Mapping):
        members.fail(member, found, "codecs with a name and a configuration")
    return Entry(name, configuration, found.get("must_understand", True) is not False)
