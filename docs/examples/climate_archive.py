"""A climate archive: a year of NetCDF4 files, scanned, joined along time, packed, and read as one dataset.

    python docs/examples/climate_archive.py [FOLDER]

Writes twelve files, makes the reference set of each, joins them, keeps the result in three forms, and draws
a map and a time series that are read through it. Every value is compared with what netCDF4 reads.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import netCDF4
import numpy as np
import xarray as xr

import zaro
from zaro.demo import make_dataset

mpl.use("Agg")
from matplotlib import pyplot as plt


def scanned(files: list[Path]) -> zaro.References:
    """One reference set of all files, joined along time; reads their metadata only."""
    return zaro.concat([zaro.scan(file) for file in files], "time")


def saved(refs: zaro.References, folder: Path) -> dict[str, Path]:
    """The set in three forms; prints what each takes."""
    targets = {
        "json": folder / "archive.json",
        "parquet": folder / "archive.parquet",
        "generator": folder / "archive.gen.json",
    }
    for form, target in targets.items():
        refs.save(target, format=form)
        parts = [target, *target.rglob("*")] if target.is_dir() else [target]
        nbytes = sum(part.stat().st_size for part in parts if part.is_file())
        print(f"{form:>9}: {nbytes / 1e3:6.1f} kB for {len(refs)} keys")
    return targets


def check(target: Path, files: list[Path]) -> None:
    """Every stored value is the one that netCDF4 finds."""
    group = zaro.open(target)
    for name in ("tas", "pr"):
        parts = []
        for file in files:
            with netCDF4.Dataset(file) as handle:
                handle.set_auto_maskandscale(False)
                parts.append(handle[name][...])
        np.testing.assert_array_equal(group[name][...], np.concatenate(parts))


def draw(dataset: xr.Dataset, target: Path) -> None:
    """A day on a map, and the year at two places."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
    dataset["tas"].sel(time="2019-07-14").squeeze().plot(ax=left, cmap="RdYlBu_r")
    left.set_title("14 July")
    for lat in (52, -33):
        place = dataset["tas"].sel(lat=lat, lon=13, method="nearest")
        place.plot(ax=right, label=f"{lat}° north" if lat > 0 else f"{-lat}° south", linewidth=0.9)
    right.set_title("a year at 13° east")
    right.legend()
    figure.savefig(target, dpi=110)
    plt.close(figure)


def main(folder: Path) -> Path:
    """Run all of it in a folder; returns the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    files = make_dataset(folder)
    targets = saved(scanned(files), folder)
    for target in targets.values():
        check(target, files)
    dataset = xr.open_dataset(targets["parquet"], engine="zaro", chunks={})
    picture = folder / "climate_archive.png"
    draw(dataset, picture)
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary)))
