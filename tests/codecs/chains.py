"""What the tests of this room share: compiling, and decoding as a reader does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from zaro.codecs import Chain, compile_chain, registry

DTYPES = [
    order + kind
    for order in "<>"
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
]
DTYPES += ["|b1", "|i1", "|u1", "<M8[s]", ">m8[ms]", "<U3", ">U3", "|S5", "|V7"]


LIBRARIES = ("blosc", "zstd", "lz4", "zlib", "gzip")


@contextmanager
def without_libraries(without: bool = True) -> Iterator[None]:
    """As on a machine where no library was found: packages decode."""
    found = registry._kernel_providers()
    with pytest.MonkeyPatch.context() as patch:
        if without:
            patch.setattr(registry, "_kernel_providers", lambda: found | dict.fromkeys(LIBRARIES))
        yield


def served(codec: str) -> bool:
    """Whether C decodes it here."""
    return codec not in LIBRARIES or registry._kernel_providers()[codec] is not None


@dataclass
class Codec:
    """As the metadata room's."""

    name: str
    configuration: dict[str, Any] = field(default_factory=dict)
    must_understand: bool = True


def make(codecs, dtype, shape, document="a/zarr.json", fill=None) -> Chain:
    """Compile from (name, configuration) pairs."""
    entries = [one if isinstance(one, Codec) else Codec(*one) for one in codecs]
    return compile_chain(entries, dtype=np.dtype(dtype), chunk_shape=shape, document=document, fill=fill)


def make_v2(encoders, dtype, shape, order="C") -> Chain:
    """Compile filters and a compressor of numcodecs, as a v2 document spells them."""
    codecs = [] if order == "C" else [("transpose", {"order": list(range(len(shape)))[::-1]})]
    if not np.dtype(dtype).hasobject:
        codecs.append(("bytes", {}))
    for encoder in encoders:
        config = encoder.get_config()
        codecs.append((f"numcodecs.{config.pop('id')}", config))
    return make(codecs, dtype, shape, "a/.zarray")


def decode(chain: Chain, stored, dtype, shape) -> np.ndarray:
    """The block, as a reader decodes it."""
    return chain.decode(bytes(stored), np.dtype(dtype), shape)


def block(dtype, shape, seed=0) -> np.ndarray:
    """Values with some order in them, so that compressors compress."""
    dtype = np.dtype(dtype)
    rng = np.random.default_rng(seed)
    count = math.prod(shape)
    if dtype.kind in "US":
        return np.array([str(v) for v in rng.integers(0, 99, count)], dtype).reshape(shape)
    if dtype.kind in "VmM":
        return np.frombuffer(
            rng.integers(0, 4, count * dtype.itemsize, dtype=np.uint8).tobytes(), dtype
        ).reshape(shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool).reshape(shape)
    return (np.arange(count) // 3 % 100 + rng.integers(0, 3, count)).astype(dtype).reshape(shape)


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    """Equal in shape, type, and every bit."""
    return (
        found.shape == expected.shape
        and found.dtype == expected.dtype
        and np.ascontiguousarray(found).tobytes() == np.ascontiguousarray(expected).tobytes()
    )


dtypes = st.sampled_from(DTYPES).map(np.dtype)
shapes = st.lists(st.integers(1, 6), min_size=0, max_size=4).map(tuple)
