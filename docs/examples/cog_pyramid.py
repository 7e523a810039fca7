"""A cloud-optimised GeoTIFF: its pyramid as a group of arrays, read where and as far as needed.

    python docs/examples/cog_pyramid.py [FOLDER]

Writes a tiled TIFF file with three overviews, scans it, and draws the same view from every level, with the
number of tiles and stored bytes that each takes. The values are compared with tifffile's.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
import tifffile
from numpy.typing import NDArray

import zaro

mpl.use("Agg")
from matplotlib import pyplot as plt

SIZE, TILE, LEVELS = 2048, 256, 4


def terrain(size: int) -> NDArray[np.int16]:
    """Hills, in metres."""
    y, x = np.meshgrid(np.linspace(0, 9, size), np.linspace(0, 9, size), indexing="ij")
    hills = np.sin(x * 1.3 + np.cos(y)) * np.cos(y * 0.9) + 0.4 * np.sin(3 * x) * np.sin(2.3 * y)
    return (600 + 450 * hills).astype(np.int16)


def halved(image: NDArray[np.int16]) -> NDArray[np.int16]:
    """The mean of each four pixels."""
    size = len(image) // 2
    return image.reshape(size, 2, size, 2).mean(axis=(1, 3)).astype(np.int16)


def write(file: Path) -> list[NDArray[np.int16]]:
    """The file: deflated tiles, overviews as sub-images, a geographic transform."""
    levels = [terrain(SIZE)]
    while len(levels) < LEVELS:
        levels.append(halved(levels[-1]))
    pixel = 0.001
    tags = [
        (33550, "d", 3, (pixel, pixel, 0.0), True),
        (33922, "d", 6, (0.0, 0.0, 0.0, 10.0, 50.0, 0.0), True),
    ]
    how = {"tile": (TILE, TILE), "compression": "zlib", "photometric": "minisblack"}
    with tifffile.TiffWriter(file) as writer:
        writer.write(levels[0], subifds=LEVELS - 1, extratags=tags, **how)
        for level in levels[1:]:
            writer.write(level, subfiletype=1, **how)
    return levels


def view(array: zaro.Array, part: tuple[float, float]) -> tuple[slice, slice]:
    """The same part of the ground at any level."""
    first, last = (round(share * array.shape[0]) for share in part)
    return slice(first, last), slice(first, last)


def cost(array: zaro.Array, where: tuple[slice, slice]) -> tuple[int, int]:
    """Tiles that a read touches, and their stored bytes."""
    rows, columns = (np.arange(s.start // TILE, -(-s.stop // TILE)) for s in where)
    across = -(-array.shape[1] // TILE)
    found = array.locate((rows[:, None] * across + columns).ravel())
    return len(found.length), int(found.length.sum())


def main(folder: Path) -> Path:
    """Run all of it in a folder; returns the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    file, picture = folder / "terrain.tif", folder / "cog_pyramid.png"
    expected = write(file)
    refs = zaro.scan(file)
    refs.save(folder / "terrain.json")
    group = zaro.open(folder / "terrain.json")
    print(group.tree())
    figure, axes = plt.subplots(1, LEVELS, figsize=(12, 3.4), layout="constrained")
    for level, axis in enumerate(axes):
        array = group[f"{level}/data"]
        where = view(array, (0.2, 0.7))
        block = array[where]
        np.testing.assert_array_equal(block, expected[level][where])
        tiles, nbytes = cost(array, where)
        print(f"level {level}: {block.shape[0]:>4} pixels across, tiles: {tiles:>2}, {nbytes / 1e3:.1f} kB")
        axis.imshow(block, cmap="terrain", vmin=0, vmax=1200)
        axis.set_title(f"level {level}, tiles: {tiles}, {nbytes / 1e3:.0f} kB", fontsize=9)
        axis.set_axis_off()
    figure.savefig(picture, dpi=110)
    plt.close(figure)
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary)))
