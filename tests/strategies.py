"""Arrays, stores and selections to draw from."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numcodecs
import numpy as np
import zarr.codecs
from hypothesis.extra import numpy as npst

KINDS = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def dtypes(byte_orders: str = "<>") -> st.SearchStrategy[np.dtype[Any]]:
    """Booleans, integers, floats and complex numbers."""
    return st.builds(
        lambda order, kind: np.dtype(order + kind), st.sampled_from(byte_orders), st.sampled_from(KINDS)
    )


@st.composite
def shapes(draw: st.DrawFn, max_rank: int = 6, min_side: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and chunk shape of an array of at most a few thousand elements."""
    rank = draw(st.integers(0, max_rank))
    most = {0: 1, 1: 60, 2: 24, 3: 9, 4: 6, 5: 4, 6: 3}[rank]
    shape = tuple(draw(st.integers(min_side, most)) for _ in range(rank))
    chunks = tuple(draw(st.integers(1, max(size + 2, 1))) for size in shape)
    return shape, chunks


def values(shape: tuple[int, ...], dtype: np.dtype[Any], seed: int) -> np.ndarray[Any, Any]:
    """Random bytes seen as numbers: NaN, infinities and extremes included. Booleans are 0 or 1."""
    rng = np.random.default_rng(seed)
    n = int(np.prod(shape, dtype=int))
    if dtype.kind == "b":
        return rng.integers(0, 2, n).astype(dtype).reshape(shape)
    raw = rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


def v3_compressors() -> st.SearchStrategy[Any]:
    """Chains of bytes-to-bytes codecs, as zarr-python writes them."""
    blosc = st.builds(
        lambda cname, shuffle, level: zarr.codecs.BloscCodec(cname=cname, shuffle=shuffle, clevel=level),
        st.sampled_from(["lz4", "lz4hc", "blosclz", "zstd", "zlib"]),
        st.sampled_from(["noshuffle", "shuffle", "bitshuffle"]),
        st.sampled_from([0, 1, 5, 9]),
    )
    one = st.one_of(
        blosc,
        st.builds(zarr.codecs.ZstdCodec, level=st.integers(0, 4)),
        st.builds(zarr.codecs.GzipCodec, level=st.integers(0, 9)),
    )
    check = st.lists(st.builds(zarr.codecs.Crc32cCodec), max_size=1)
    return st.builds(lambda a, b: tuple(a + b), st.lists(one, max_size=2), check)


def v2_compressors() -> st.SearchStrategy[Any]:
    """Compressors of format 2, None for none."""
    return st.one_of(
        st.none(),
        st.builds(numcodecs.Zlib, st.integers(0, 9)),
        st.builds(numcodecs.GZip, st.integers(0, 9)),
        st.builds(numcodecs.Zstd, st.integers(0, 4)),
        st.builds(numcodecs.LZ4),
        st.builds(
            lambda cname, shuffle: numcodecs.Blosc(cname=cname, shuffle=shuffle),
            st.sampled_from(["lz4", "blosclz", "zstd", "zlib"]),
            st.sampled_from([0, 1, 2, -1]),
        ),
    )


@st.composite
def basic_selections(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    """Integers, slices of any step, an ellipsis, or fewer indices than dimensions."""
    if not shape:
        return draw(st.sampled_from([(), ...]))
    return draw(npst.basic_indices(shape, allow_newaxis=False, allow_ellipsis=True))


@st.composite
def orthogonal_selections(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """For each axis an integer, a slice, a list of integers in any order, or a mask."""
    parts: list[Any] = []
    for size in shape:
        kinds = ["slice", "mask"] + (["int", "list"] if size else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "int":
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "list":
            parts.append(np.array(draw(st.lists(st.integers(-size, size - 1), min_size=1, max_size=8))))
        elif kind == "mask":
            parts.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool))
        else:
            parts.append(draw(st.slices(size)))
    return tuple(parts)


@st.composite
def point_selections(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Lists of positions, one for each axis, that broadcast together."""
    n = draw(st.integers(1, 6))
    return tuple(
        np.array(draw(st.lists(st.integers(-size, size - 1), min_size=n, max_size=n))) for size in shape
    )
