"""TIFF images of every kind, and how tifffile stores them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tifffile

RNG = np.random.default_rng(8)
GREY = RNG.integers(0, 60000, (101, 83)).astype("u2")
RGB = RNG.integers(0, 255, (101, 83, 3)).astype("u1")
HOW = {
    "plain": {},
    "strips": {"rowsperstrip": 8},
    "deflated strips": {"compression": "zlib", "rowsperstrip": 8},
    "one strip": {"compression": "zlib"},
    "tiles": {"tile": (16, 32)},
    "deflated tiles": {"compression": "zlib", "tile": (32, 16)},
    "differences": {"compression": "zlib", "predictor": 2, "tile": (32, 16)},
    "strips of differences": {"compression": "zlib", "predictor": 2, "rowsperstrip": 8},
    "lzma": {"compression": "lzma", "rowsperstrip": 50},
}
"""Layouts and codecs."""
IMAGES = {
    "lzw": {"compression": "lzw"},
    "lzw of differences": {"compression": "lzw", "predictor": 2},
    "jpeg": {"compression": "jpeg"},
    "jpeg 2000": {"compression": "jpeg2000"},
    "webp": {"compression": "webp"},
}
"""Codecs that imagecodecs decodes."""
KINDS = {
    "grey": (GREY, {}),
    "float": (GREY.astype("f4") / 7, {}),
    "rgb": (RGB, {"photometric": "rgb"}),
    "planes": (RGB.transpose(2, 0, 1).copy(), {"photometric": "rgb", "planarconfig": "separate"}),
}
"""Images, and what tifffile is told of them."""


def with_overviews(file: Path) -> np.ndarray:
    """An image of 64 rows and 48 columns, and two smaller ones of it, of a half and a quarter."""
    tags = [
        (33550, "d", 3, (10.0, 20.0, 0.0)),
        (33922, "d", 6, (0.0, 0.0, 0.0, 300000.0, 5200000.0, 0.0)),
        (34735, "H", 16, (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32632)),
        (42113, "s", 5, "-99\0"),
    ]
    values = np.arange(64 * 48, dtype="i2").reshape(64, 48)
    with tifffile.TiffWriter(file) as writer:
        writer.write(values, tile=(16, 16), compression="zlib", subifds=2, extratags=tags, metadata=None)
        for k in (2, 4):
            writer.write(values[::k, ::k], tile=(16, 16), compression="zlib", subfiletype=1, metadata=None)
    return values
