"""GRIB files: fields that differ in time, step, member or level only are one array, each message a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ScanError
from zaro.references.layout import join_path
from zaro.scan.draft import Chunks, Draft, SetBuilder
from zaro.scan.gribfile import BrokenMessageError, fields_of, get, handle, messages, shape_of, straighten
from zaro.scan.source import Source

__all__ = ["scan_grib"]

_ATTRIBUTES = ("paramId", "shortName", "name", "units", "typeOfLevel", "stepType", "gridType", "cfName")
_EPOCH = "seconds since 1970-01-01"
_NO_SECOND = 255
_MARKS = {
    "bottomLevel": "to",
    "percentileValue": "percentile",
    "probabilityType": "probability",
    "lowerLimit": "lower",
    "upperLimit": "upper",
    "derivedForecast": "derived",
    "dataType": "",
    "constituentType": "constituent",
    "firstSize": "size",
    "firstWavelength": "wavelength",
    "directionNumber": "direction",
    "frequencyNumber": "frequency",
}
"""What else tells fields apart that have one place: key, and what stands before its value in a name."""
_AS_STORED = {"regular_ll", "rotated_ll", "lambert_azimuthal_equal_area"}
"""Grids of which ecCodes gives the positions in the order of the values, however they scan."""
_ROW_BY_ROW = {"regular_gg", "rotated_gg"}
"""Grids of which it does so but for columns: it gives the rows."""
_FROM_SOUTH_WEST = {
    "lambert",
    "lambert_lam",
    "polar_stereographic",
    "polar_stereographic_lam",
    "mercator",
    "mercator_lam",
}
"""Grids of which it gives rows eastward, the first point at the south-west corner, however they scan.

Readers differ on which corner that point is where a grid scans to the west or south: ecCodes and GDAL take
it for the south-west one, as is done here, wgrib2 for the first that is stored. No key tells who is right.
"""


class _Kind(NamedTuple):
    """What fields of one array have in common."""

    name: str
    level_type: str
    step_type: str
    parameter: str


@dataclass(frozen=True, slots=True)
class _Field:
    """One field: what it is of, where among others of that it stands, and where it lies."""

    kind: _Kind
    grid: str
    at: tuple[int, float, int, float]  # time (s), step (h), member, level
    marks: tuple[str, ...]  # length of the interval, and _MARKS
    attrs: dict[str, Any] = field(hash=False)
    offset: int
    length: int
    number: int


@dataclass(slots=True)
class _Grid:
    """Positions of the points of a field."""

    shape: tuple[int, ...]
    latitude: NDArray[np.float64]
    longitude: NDArray[np.float64]
    problem: str = ""  # why the positions are not known

    @property
    def separable(self) -> bool:
        """Whether every row has one latitude and every column one longitude."""
        if len(self.shape) != 2 or not self.latitude.size:
            return False
        lat, lon = self.latitude.reshape(self.shape), self.longitude.reshape(self.shape)
        return bool((lat == lat[:, :1]).all() and (lon == lon[:1]).all())

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of its dimensions."""
        if len(self.shape) == 1:
            return ("values",)
        return ("latitude", "longitude") if self.separable else ("y", "x")


def scan_grib(source: Source, builder: SetBuilder) -> None:
    """Add every field of a GRIB file.

    Names and coordinates are those of cfgrib. A variable that occurs on several types of level or steps or
    of several parameters has them in its name, and so has one whose fields differ in nothing but their
    interval, lower level, percentile or the like; where there are several grids, each is a group. A field
    that comes twice is one.

    Raises
    ------
    ScanError
        A message is broken, two fields have the same place, and nothing known tells them apart, or a grid
        scans in a way for which its positions are not known.
    """
    grids: dict[str, _Grid] = {}
    try:
        found = list(_fields(source, grids))
    except BrokenMessageError as err:
        raise ScanError(source.url, "", str(err)) from err
    file_id = builder.add_file(source.url, source.read)
    builder.add_group("", {"Conventions": "CF-1.7"})
    for k, (key, grid) in enumerate(grids.items()):
        group = f"grid_{k}" if len(grids) > 1 else ""
        if group and builder.settings.skips(group):
            continue
        if group:
            builder.add_group(group, {})
        _Hypercubes(source, builder, group, grid, file_id).add([f for f in found if f.grid == key])


def _fields(source: Source, grids: dict[str, _Grid]) -> Iterator[_Field]:
    import eccodes

    for offset, length in messages(source.read, source.size):
        for number, message in enumerate(fields_of(source.read(offset, length))):
            try:
                with handle(message) as made:
                    yield _describe(made, grids, offset, length, number)
            except (eccodes.CodesInternalError, ValueError) as err:
                raise ScanError(source.url, "", f"message at byte {offset}, field {number}: {err}") from err


def _describe(made: Any, grids: dict[str, _Grid], offset: int, length: int, number: int) -> _Field:
    attrs = {
        f"GRIB_{key}": value
        for key in _ATTRIBUTES
        if (value := get(made, key, None)) not in (None, "unknown")
    }
    attrs |= {"units": get(made, "units", "1"), "long_name": get(made, "name", "")}
    if "GRIB_cfName" in attrs:
        attrs["standard_name"] = attrs["GRIB_cfName"]
    key = str(get(made, "md5GridSection", ""))
    if key not in grids:
        grids[key] = _grid(made)
    start, end = _steps(made)
    return _Field(
        _kind(made),
        key,
        (_time(made), end, int(get(made, "number", 0)), float(get(made, "level", 0, float))),
        (_interval(start, end), *(_mark(made, key) for key in _MARKS)),
        attrs,
        offset,
        length,
        number,
    )


def _kind(made: Any) -> _Kind:
    numbers = [get(made, key, None) for key in ("discipline", "parameterCategory", "parameterNumber")]
    if None in numbers:  # edition 1
        numbers = [get(made, key, 0) for key in ("table2Version", "indicatorOfParameter")]
    names = [
        get(made, "cfVarName", "unknown"),
        get(made, "shortName", "unknown"),
        "_".join(["parameter", *map(str, numbers)]),
    ]
    known = get(made, "paramId", 0)  # one name is of several, as tp in metres and in kg m**-2
    return _Kind(
        next(str(name) for name in names if name not in ("unknown", "~")),
        str(get(made, "typeOfLevel", "unknown")),
        str(get(made, "stepType", "instant")),
        f"param{known}" if known else f"centre{get(made, 'centre', '')}",
    )


def _time(made: Any) -> int:
    date, time = int(get(made, "dataDate", 19700101)), int(get(made, "dataTime", 0))
    second = int(get(made, "second", 0))
    text = f"{date // 10000:04}-{date // 100 % 100:02}-{date % 100:02}T{time // 100:02}:{time % 100:02}"
    return int(np.datetime64(text, "s").astype("i8")) + (0 if second == _NO_SECOND else second)


def _steps(made: Any) -> tuple[float, float]:
    """Hours from the start of the forecast to the start and to the end of the step."""
    import eccodes

    try:
        eccodes.codes_set(made, "stepUnits", "s")
        start, end = (eccodes.codes_get(made, key, int) / 3600 for key in ("startStep", "endStep"))
    except eccodes.CodesInternalError:
        start, end = (float(get(made, key, 0, int)) for key in ("startStep", "endStep"))
    return start, end


def _interval(start: float, end: float) -> str:
    """Length of the interval that a field is of; nothing for an instant, or since the forecast started."""
    hours = end - start
    if start == 0 or hours == 0:
        return ""
    return f"{hours:g}h" if hours.is_integer() else f"{hours * 60:g}min"


def _mark(made: Any, key: str) -> str:
    value = get(made, key, "")
    if not isinstance(value, str):
        value = f"{get(made, key, 0, float):.10g}"  # some numbers with a fraction pass for integers
    return f"{_MARKS[key]}{value}"


def _grid(made: Any) -> _Grid:
    import eccodes

    shape = shape_of(made)
    straighten(made, np.empty(shape))  # an error now, not when a value is read
    nowhere = np.empty(0)
    problem = _unknown_order(made)
    if problem:
        return _Grid(shape, nowhere, nowhere, problem)
    try:
        lat = np.asarray(eccodes.codes_get_array(made, "latitudes"), np.float64)
        lon = np.asarray(eccodes.codes_get_array(made, "longitudes"), np.float64)
    except eccodes.CodesInternalError:  # spectral fields have no points
        return _Grid(shape, nowhere, nowhere)
    return _Grid(shape, _as_stored(made, lat, shape), _as_stored(made, lon, shape))


def _as_stored(made: Any, positions: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Positions that ecCodes gives, in the order of the values."""
    if len(shape) != 2:
        return positions
    kind = get(made, "gridType", "")
    columns = bool(get(made, "jPointsAreConsecutive", 0))
    if kind in _FROM_SOUTH_WEST:
        rows = positions.reshape(shape[::-1] if columns else shape)
        north, west = get(made, "jScansPositively", 0), get(made, "iScansNegatively", 0)
        positions = rows[:: 1 if north else -1, :: -1 if west else 1].reshape(-1)
    if columns and kind not in _AS_STORED:
        positions = positions.reshape(shape[::-1]).T.reshape(-1)
    return positions


def _unknown_order(made: Any) -> str:
    """Why the positions of a grid cannot be told from those that ecCodes gives, if so."""
    keys = ("iScansNegatively", "jScansPositively", "jPointsAreConsecutive")
    mode = west, north, columns = tuple(get(made, key, 0) for key in keys)
    kind = get(made, "gridType", "")
    other = west or columns or (north and kind != "reduced_ll")  # its rows go from first to last latitude
    if kind in _AS_STORED | _ROW_BY_ROW | _FROM_SOUTH_WEST or not other:
        return ""
    spelled = ", ".join(f"{key}={value}" for key, value in zip(keys, mode, strict=True))
    todo = "skip latitude and longitude to scan the rest"
    return f"positions of {kind} grids with {spelled} are not supported; {todo}"


@dataclass(slots=True)
class _Hypercubes:
    """Fields of one grid, as arrays of one group."""

    source: Source
    builder: SetBuilder
    group: str
    grid: _Grid
    file_id: int

    def add(self, found: list[_Field]) -> None:
        """Gather fields by what they are of."""
        self._positions()
        by_kind: dict[_Kind, list[_Field]] = {}
        for one in found:
            by_kind.setdefault(one.kind, []).append(one)
        axes: dict[str, dict[tuple[float, ...], str]] = {}
        for kind, fields in by_kind.items():
            name = self._name(kind, list(by_kind))
            for mark, some in _told_apart(fields):
                path = join_path(self.group, name + mark)
                if not self.builder.settings.skips(path):
                    self._array(path, kind, some, axes)

    def _name(self, kind: _Kind, kinds: list[_Kind]) -> str:
        same = [other for other in kinds if other.name == kind.name]
        return "_".join(
            [kind.name, *(part for k, part in enumerate(kind) if any(o[k] != part for o in same))]
        )

    def _array(self, path: str, kind: _Kind, fields: list[_Field], axes: dict[str, dict[Any, str]]) -> None:
        values = [sorted({one.at[k] for one in fields}) for k in range(4)]
        if kind.level_type == "isobaricInhPa":  # upwards, as cfgrib has it
            values[3].reverse()
        names = ["time", "step", "number", kind.level_type]
        long = [k for k in range(4) if len(values[k]) > 1]
        dims = [self._axis(names[k], tuple(values[k]), axes) for k in long]
        scalars = [self._scalar(names[k], values[k][0], axes) for k in range(4) if k not in long]
        shape = tuple(len(values[k]) for k in long)
        places = [{value: k for k, value in enumerate(column)} for column in values]
        where: dict[int, _Field] = {}
        for one in fields:
            index = tuple(places[k][one.at[k]] for k in long)
            chunk = int(np.ravel_multi_index(index, shape)) if shape else 0
            twin = where.setdefault(chunk, one)
            if twin is not one and self._stored(twin) != self._stored(one):
                reason = f"has two fields of the same place, at bytes {twin.offset} and {one.offset}"
                raise ScanError(self.source.url, path, reason)
        self._write(path, shape, tuple(dims), scalars, where)

    def _stored(self, one: _Field) -> bytes:
        return fields_of(self.source.read(one.offset, one.length))[one.number]

    def _write(
        self,
        path: str,
        shape: tuple[int, ...],
        dims: tuple[str, ...],
        scalars: list[str],
        where: dict[int, _Field],
    ) -> None:
        first = next(iter(where.values()))
        numbers = {one.number for one in where.values()}
        if len(numbers) > 1:
            reason = "its fields stand at different places in their messages, but all chunks have one codec"
            raise ScanError(self.source.url, path, reason)
        draft = Draft(
            (*shape, *self.grid.shape),
            (*(1 for _ in shape), *self.grid.shape),
            np.dtype("<f8"),
            (*dims, *self.grid.dims),
            "NaN",
            [{"id": "zaro_grib", "field": first.number}],
            dict(first.attrs),
        )
        apart = not self.grid.separable and self.grid.latitude.size
        coordinates = [*scalars, *(("latitude", "longitude") if apart else ())]
        draft.attrs["coordinates"] = " ".join(coordinates)
        ids = np.fromiter(where, np.int64, len(where))
        offset = np.array([one.offset for one in where.values()], np.int64)
        length = np.array([one.length for one in where.values()], np.int64)
        draft.rows = Chunks.of(ids, offset, length, self.file_id)
        self.builder.add_array(path, draft)

    # coordinates

    def _positions(self) -> None:
        grid, separable = self.grid, self.grid.separable
        wanted = (
            not self.builder.settings.skips(join_path(self.group, k)) for k in ("latitude", "longitude")
        )
        if grid.problem and any(wanted):
            raise ScanError(self.source.url, self.group, grid.problem)
        if not grid.latitude.size:
            return
        for k, (name, values, units) in enumerate(
            (("latitude", grid.latitude, "degrees_north"), ("longitude", grid.longitude, "degrees_east"))
        ):
            block = values.reshape(grid.shape)
            block = (block[:, 0] if k == 0 else block[0]) if separable else block
            dims = (name,) if separable else grid.dims
            self._coordinate(name, block, dims, {"units": units, "standard_name": name})

    def _axis(self, name: str, values: tuple[float, ...], axes: dict[str, dict[Any, str]]) -> str:
        """Name of the dimension with these values: a number follows it where others have the name."""
        known = axes.setdefault(name, {})
        if values not in known:
            known[values] = f"{name}_{len(known)}" if known else name
            self._coordinate(known[values], *_typed(name, np.array(values), (known[values],)))
        return known[values]

    def _scalar(self, name: str, value: float, axes: dict[str, dict[Any, str]]) -> str:
        known = axes.setdefault(name, {})
        if value not in known:
            known[value] = f"{name}_{len(known)}" if known else name
            self._coordinate(known[value], *_typed(name, np.array(value), ()))
        return known[value]

    def _coordinate(
        self, name: str, values: NDArray[Any], dims: tuple[str, ...], attrs: dict[str, Any]
    ) -> None:
        path = join_path(self.group, name)
        if self.builder.settings.skips(path):
            return
        filters = [{"id": "zlib", "level": 6}] if values.nbytes > 4096 else []
        draft = Draft(values.shape, values.shape, values.dtype, dims, None, filters, attrs)
        draft.rows = Chunks.bytes_of({0: draft.encode(values)})
        self.builder.add_array(path, draft)


def _told_apart(fields: list[_Field]) -> Iterator[tuple[str, list[_Field]]]:
    """Fields of one kind by what their names need, so that no two that differ in a mark have one place."""
    places: dict[tuple[float, ...], list[_Field]] = {}
    for one in fields:
        places.setdefault(one.at, []).append(one)
    shared = [same for same in places.values() if len(same) > 1]
    telling = (
        k for k in range(1 + len(_MARKS)) if any(len({one.marks[k] for one in same}) > 1 for same in shared)
    )
    k = next(telling, None)
    if k is None:
        yield "", fields
        return
    by_mark: dict[str, list[_Field]] = {}
    for one in fields:
        by_mark.setdefault(one.marks[k], []).append(one)
    for mark, some in by_mark.items():
        for more, few in _told_apart(some):
            yield f"_{mark}{more}" if mark else more, few


def _typed(
    name: str, values: NDArray[Any], dims: tuple[str, ...]
) -> tuple[NDArray[Any], tuple[str, ...], dict[str, Any]]:
    """Values of a coordinate in their type, and its attributes."""
    if name == "time":
        attrs = {
            "units": _EPOCH,
            "calendar": "proleptic_gregorian",
            "standard_name": "forecast_reference_time",
        }
        return values.astype("<i8"), dims, attrs
    if name == "step":
        return values.astype("<f8"), dims, {"units": "hours", "standard_name": "forecast_period"}
    if name == "number":
        return values.astype("<i8"), dims, {"units": "1", "standard_name": "realization"}
    return values.astype("<f8"), dims, {"long_name": f"level of type {name}"}
