"""Satellite swaths: measurements in one group, where they were taken in another; joined by engine `xgroup`.

    python docs/examples/satellite_swaths.py [FOLDER]

Writes a Zarr store of three orbits. The radiances of an orbit lie in `/orbits/NNN/measurements`; longitude
and latitude of every pixel lie in `/orbits/NNN/geolocation`, the times of the scans in `/orbits/NNN/time`,
and the radiances say so with the GeoZarr conventions `cs` and `geolocation`. `engine="zarr"` shows
radiances without coordinates; `engine="xgroup"` brings them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
import zarr
from numpy.typing import NDArray

mpl.use("Agg")
from matplotlib import pyplot as plt

ORBITS = ("001", "002", "003")
SCANS, PIXELS = 600, 240
UUIDS = {
    "cs": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
    "ref": "d89b30cf-ed8c-43d5-9a16-b492f0cd8786",
    "geolocation": "bb9ee930-8c60-4c47-ad6b-8daa558987ed",
}
Field = NDArray[np.float32]


def track(orbit: int) -> tuple[Field, Field]:
    """Longitude and latitude of every pixel of an orbit from south to north."""
    along, across = np.meshgrid(
        np.linspace(-1.2, 1.2, SCANS), np.linspace(-1, 1, PIXELS) * np.radians(8), indexing="ij"
    )
    tilt, start = np.radians(98), np.radians(-20 + 25 * orbit)
    lat = np.arcsin(
        np.clip(np.sin(tilt) * np.sin(along) * np.cos(across) + np.cos(tilt) * np.sin(across), -1, 1)
    )
    lon = start + np.arctan2(np.cos(tilt) * np.sin(along) - np.sin(tilt) * np.tan(across), np.cos(along))
    return np.degrees(lon).astype("f4"), np.degrees(lat).astype("f4")


def radiance_of(lon: Field, lat: Field) -> Field:
    """Something that depends on the place alone, so that orbits must fit each other in the picture."""
    return (290 - 0.006 * lat**2 + 6 * np.sin(np.radians(4 * lon)) * np.cos(np.radians(3 * lat))).astype("f4")


def conventions() -> dict[str, Any]:
    """Attributes of the radiances: which coordinates they have, and where these lie."""
    geodetic = {
        axis: {"ref": {"node": f"../geolocation/{name}"}}
        for axis, name in zip("xy", ("lon", "lat"), strict=True)
    }
    scans = {"coordinates": [{"values": {"external": {"ref": {"node": "../time/time"}}}}]}
    crs = {"axes": {"time": scans, "pixel": {}}, "geolocation": {"geodetic": geodetic}}
    declared = [{"uuid": uuid, "name": name} for name, uuid in UUIDS.items()]
    return {"zarr_conventions": declared, "cs": {"crs": [crs]}}


def write(store: Path) -> None:
    """The three orbits."""
    root = zarr.create_group(str(store), zarr_format=3, overwrite=True)
    for number, orbit in enumerate(ORBITS):
        lon, lat = track(number)
        begin = 6000 * number
        for path, data, dims, attrs in (
            (
                "measurements/radiance",
                radiance_of(lon, lat),
                ("time", "pixel"),
                {"units": "K", **conventions()},
            ),
            ("geolocation/lon", lon, ("time", "pixel"), {"units": "degrees_east"}),
            ("geolocation/lat", lat, ("time", "pixel"), {"units": "degrees_north"}),
            ("time/time", begin + 0.5 * np.arange(SCANS), ("time",), {"units": "seconds since 2026-01-01"}),
        ):
            array = root.create_array(
                f"orbits/{orbit}/{path}",
                shape=data.shape,
                chunks=tuple(min(size, 200) for size in data.shape),
                dtype=data.dtype,
                dimension_names=dims,
                attributes=attrs,
            )
            array[:] = data


def draw(swaths: list[xr.Dataset], target: Path) -> None:
    """All orbits on one map, by the coordinates that came with them."""
    figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
    for swath in swaths:
        mesh = axes.scatter(
            swath["lon"][::4, ::4],
            swath["lat"][::4, ::4],
            c=swath["radiance"][::4, ::4],
            s=1.5,
            vmin=270,
            vmax=296,
        )
    axes.set(xlabel="longitude", ylabel="latitude", title="three orbits, coordinates from other groups")
    figure.colorbar(mesh, label="K")
    figure.savefig(target, dpi=110)
    plt.close(figure)


def main(folder: Path) -> Path:
    """Run all of it in a folder; returns the picture."""
    folder.mkdir(parents=True, exist_ok=True)
    store, picture = folder / "swaths.zarr", folder / "satellite_swaths.png"
    write(store)
    groups = [f"orbits/{orbit}/measurements" for orbit in ORBITS]
    alone = xr.open_dataset(store, engine="zarr", group=groups[0], consolidated=False)
    print(f'engine="zarr":   {sorted(alone.coords) or "no coordinates"}')
    swaths = [xr.open_dataset(store, engine="xgroup", group=group) for group in groups]
    print(f'engine="xgroup": {sorted(swaths[0].coords)}')
    for number, swath in enumerate(swaths):
        lon, lat = track(number)
        np.testing.assert_array_equal(swath["lon"], lon)
        np.testing.assert_array_equal(swath["lat"], lat)
        assert swath["time"].dtype.kind == "M"
    draw(swaths, picture)
    return picture


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        print(main(Path(sys.argv[1] if len(sys.argv) > 1 else temporary)))
