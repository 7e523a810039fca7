"""What an array or group is, whichever Zarr version said so."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from zaro.metadata.grid import Runs
from zaro.metadata.keys import KeyEncoding

__all__ = ["ArrayMetadata", "Codec", "GroupMetadata", "NodeMetadata"]


@dataclass(frozen=True, slots=True)
class Codec:
    """One step of a codec chain, as the document names it.

    `name` is the v3 name (`zstd`, `bytes`, `transpose`, `numcodecs.delta`); a codec of a v2
    document is `numcodecs.` and its id. Whoever lacks a codec with `must_understand` false may leave it out.
    """

    name: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    must_understand: bool = field(default=True, repr=False)


@dataclass(frozen=True)
class ArrayMetadata:
    """One array. Past this room nothing asks whether the document was v2 or v3.

    Attributes
    ----------
    shape, chunks : tuple of int
        Elements along each dimension; `chunks` is the extent of a whole chunk.
    dtype : numpy.dtype
        As a reader gets it: in stored byte order for v2, native for v3.
    fill_value : numpy scalar or None
        What an absent chunk holds; None where a v2 document leaves it undefined (read as zero).
    codecs : tuple of Codec
        In the order of encoding. A v2 document's order, filters and compressor are spelled as
        `transpose` (for order F), `bytes`, then one `numcodecs.*` each.
    key_encoding : KeyEncoding
        From the index of a chunk to its key.
    dimension_names : tuple of str or None, or None
        From `dimension_names` (v3) or the attribute `_ARRAY_DIMENSIONS` (v2).
    attributes : dict
    zarr_format : 2 or 3
    edges : tuple of Runs, or None
        Extents of the chunks along each axis of a rectilinear grid, `chunks` being the largest; None where
        all chunks are alike.
    has_compressor : bool
        Whether the last codec of a v2 document is its compressor; the others are its filters.
    """

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: np.dtype[Any]
    fill_value: Any
    codecs: tuple[Codec, ...]
    key_encoding: KeyEncoding
    dimension_names: tuple[str | None, ...] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: Literal[2, 3] = 3
    edges: tuple[Runs, ...] | None = None
    has_compressor: bool = False

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Number of chunks along each dimension."""
        if self.edges is not None:
            return tuple(map(len, self.edges))
        return tuple(
            -(-size // chunk) if chunk else 0 for size, chunk in zip(self.shape, self.chunks, strict=True)
        )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @cached_property
    def nchunks(self) -> int:
        """Number of chunks in the grid."""
        return math.prod(self.grid)

    @cached_property
    def blank(self) -> Any:
        """What an absent chunk reads as: `fill_value`, or where that is undefined what zarr-python gives."""
        return self.fill_value if self.fill_value is not None else _blank(self.dtype, self.codecs)

    def chunk_shape(self, index: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of one chunk as it is stored, whole also where it reaches past the array."""
        if self.edges is None:
            return self.chunks
        return tuple(runs.extent(k) for runs, k in zip(self.edges, index, strict=True))

    @property
    def chunk_nbytes(self) -> int:
        """Bytes of one decoded chunk; of the largest one where they differ."""
        return math.prod(self.chunks) * self.dtype.itemsize


def _blank(dtype: np.dtype[Any], codecs: tuple[Codec, ...]) -> Any:
    """Give zero, text or bytes of no length, not-a-time, or None for other objects."""
    if dtype.kind in "OT":
        names = {codec.name for codec in codecs}
        return "" if "numcodecs.vlen-utf8" in names else b"" if "numcodecs.vlen-bytes" in names else None
    if dtype.kind in "mM":
        return np.array("NaT", dtype.newbyteorder("="))[()]
    return np.zeros((), dtype)[()]


@dataclass(frozen=True)
class GroupMetadata:
    """One group.

    Attributes
    ----------
    attributes : dict
    zarr_format : 2 or 3
    consolidated : mapping, or None
        Where a v3 group carries them: the documents of all nodes below it, by key below it (`sst/zarr.json`).
    """

    attributes: dict[str, Any] = field(default_factory=dict)
    zarr_format: Literal[2, 3] = 3
    consolidated: Mapping[str, Mapping[str, Any]] | None = None


NodeMetadata = ArrayMetadata | GroupMetadata
