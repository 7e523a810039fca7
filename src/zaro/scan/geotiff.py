"""Where the pixels of a GeoTIFF lie.

Source: OGC 19-008r4, "GeoTIFF Standard" 1.1, requirements classes of the raster to model transformation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.scan.geounits import UNIT_SIZE, axis_unit

__all__ = ["Geometry", "geometry_of"]

_USER_DEFINED = 32767
_POINT = 2
_VERTICAL = 4096
_DOUBLES = 34736
_SPATIAL = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
_PROJ = "f17cb550-5864-4468-aeb7-f3180cfb622f"


@dataclass(frozen=True, slots=True)
class Geometry:
    """The affine transform from pixels to the plane, of the corners of pixels.

    `transform` is (a, b, c, d, e, f): x = a column + b row + c, y = d column + e row + f. `keys` describe a
    reference system that has no code; `unit` is that of both axes, None where it is not known.
    """

    transform: tuple[float, float, float, float, float, float]
    size: tuple[int, int]
    code: str | None
    geographic: bool
    unit: str | None
    keys: dict[str, Any]

    def scaled(self, size: tuple[int, int], dims: tuple[str, ...]) -> Geometry | None:
        """The geometry of the same area in another number of rows and columns."""
        if "y" not in dims or "x" not in dims:
            return None
        a, b, c, d, e, f = self.transform
        down, across = self.size[0] / size[0], self.size[1] / size[1]
        transform = (a * across, b * down, c, d * across, e * down, f)
        return replace(self, transform=transform, size=size)

    def axes(self) -> dict[str, NDArray[np.float64]]:
        """Centres of the pixels along y and x; none where the image is rotated."""
        a, b, c, d, e, f = self.transform
        if b or d:
            return {}
        rows, columns = (np.arange(n, dtype=np.float64) + 0.5 for n in self.size)
        return {"y": np.asarray(f + e * rows, np.float64), "x": np.asarray(c + a * columns, np.float64)}

    def attributes(self) -> dict[str, Any]:
        """Attributes `spatial` and `proj` of the group, see the GeoZarr conventions."""
        conventions = [{"uuid": _SPATIAL, "name": "spatial"}]
        found: dict[str, Any] = {
            "spatial:dimensions": ["y", "x"],
            "spatial:transform": list(self.transform),
            "spatial:shape": list(self.size),
            "spatial:registration": "pixel",
        }
        if self.code is not None:
            conventions.append({"uuid": _PROJ, "name": "proj"})
            found["proj:code"] = self.code
        elif self.keys:
            found["geotiff_keys"] = self.keys
        return {"zarr_conventions": conventions, **found}

    def axis_attributes(self, name: str) -> dict[str, Any]:
        """CF attributes of a coordinate."""
        long, degrees = {"x": ("longitude", "degrees_east"), "y": ("latitude", "degrees_north")}[name]
        standard = long if self.geographic else f"projection_{name}_coordinate"
        found = {"axis": name.upper(), "standard_name": standard}
        unit = degrees if self.unit == "degree" else self.unit
        return found if unit is None else {**found, "units": unit}


def geometry_of(page: Any, first: Any) -> Geometry | None:
    """Geometry of a page; None for one that has none."""
    tags = page.tags
    matrix = tags.valueof("ModelTransformationTag")
    scale, tie = tags.valueof("ModelPixelScaleTag"), tags.valueof("ModelTiepointTag")
    if matrix is not None and len(matrix) >= 8:
        transform = (matrix[0], matrix[1], matrix[3], matrix[4], matrix[5], matrix[7])
    elif scale is not None and tie is not None and len(scale) >= 2 and len(tie) == 6:
        column, row, _, x, y, _ = tie
        transform = (scale[0], 0.0, x - column * scale[0], 0.0, -scale[1], y + row * scale[1])
    else:
        return None
    keys = _keys(tags.valueof("GeoKeyDirectoryTag") or ())
    a, b, c, d, e, f = map(float, transform)
    if keys.get(1025) == _POINT:  # the transform is of the centres
        c, f = c - (a + b) / 2, f - (d + e) / 2
    code = keys.get(3072) or keys.get(2048)
    known = code not in (None, 0, _USER_DEFINED)
    size = (int(first.imagelength), int(first.imagewidth))
    height = keys.get(_VERTICAL)
    named = f"EPSG:{code}" if known else None
    if known and height not in (None, 0, _USER_DEFINED):
        named = f"{named}+{height}"
    described = {} if known else _described(page)
    geographic = keys.get(1024) == 2
    unit = axis_unit(keys, _double(tags, UNIT_SIZE), geographic)
    return Geometry((a, b, c, d, e, f), size, named, geographic, unit, described)


def _keys(directory: Any) -> dict[int, int]:
    """Keys whose value stands in the directory itself."""
    rows = [directory[k : k + 4] for k in range(4, len(directory) - 3, 4)]
    return {int(key): int(value) for key, place, count, value in rows if place == 0}


def _double(tags: Any, wanted: int) -> float | None:
    """A key whose value is one number in the tag of doubles."""
    directory = tags.valueof("GeoKeyDirectoryTag") or ()
    numbers = np.asarray(tags.valueof("GeoDoubleParamsTag", ()), np.float64).reshape(-1)
    rows = [directory[k : k + 4] for k in range(4, len(directory) - 3, 4)]
    for key, place, count, at in rows:
        if (key, place, count) == (wanted, _DOUBLES, 1) and at < len(numbers):
            return float(numbers[at])
    return None


def _described(page: Any) -> dict[str, Any]:
    """The keys of a reference system that has no code, by name."""
    found = {}
    for name, value in (page.geotiff_tags or {}).items():
        if name.endswith("GeoKey") and isinstance(value, int | float | str):
            found[name] = int(value) if isinstance(value, int) else value
    return found
