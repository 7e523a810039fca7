"""zfp as zfpy writes it; and damaged, in a process that its decoder must not end."""

from __future__ import annotations

import random

import numpy as np
import pytest
from chains import decode, make_v2

from zaro.errors import CorruptChunkError

numcodecs_zfpy = pytest.importorskip("numcodecs.zfpy", reason="numcodecs has no zfpy without the package")
ZFPY = getattr(numcodecs_zfpy, "ZFPY", None) or pytest.skip("no zfpy", allow_module_level=True)

MODES = [{"mode": 4, "tolerance": 0.01}, {"mode": 2, "rate": 8}, {"mode": 3, "precision": 20}]


def read(codec, stored, dtype, shape):
    return decode(make_v2([codec], dtype, shape), stored, dtype, shape)


KINDS = [(mode, dtype) for mode in MODES for dtype in ("<f4", "<f8")]
KINDS += [(mode, dtype) for mode in MODES[1:] for dtype in ("<i4", "<i8")]  # which know no tolerance


@pytest.mark.parametrize(("mode", "dtype"), KINDS)
@pytest.mark.parametrize("shape", [(1000,), (10, 33), (3, 4, 5), (2, 3, 4, 5)])
def test_every_mode_type_and_rank(mode, dtype, shape):
    codec = ZFPY(**mode)
    values = (np.arange(np.prod(shape)).reshape(shape) * 7 % 1000).astype(dtype)
    stored = bytes(codec.encode(values))
    np.testing.assert_array_equal(read(codec, stored, dtype, shape), codec.decode(stored))


@pytest.mark.parametrize("mode", MODES)
def test_damage_is_an_error_or_other_values_and_never_more(mode):
    codec, rng = ZFPY(**mode), random.Random(0)
    good = bytes(codec.encode(np.linspace(0, 9, 1000, dtype="<f4").reshape(20, 50)))
    refused = 0
    for _ in range(1500):
        damaged = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(40 if rng.random() < 0.8 else len(good))] = rng.randrange(256)
        if rng.random() < 0.3:
            del damaged[rng.randrange(len(damaged)) :]
        try:
            assert read(codec, bytes(damaged), "<f4", (20, 50)).shape == (20, 50)
        except CorruptChunkError:
            refused += 1
    assert refused > 100
