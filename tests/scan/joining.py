"""Files that can be joined, and those that cannot: what differs, in which variable, and what is told."""

from __future__ import annotations

import netCDF4
import numpy as np


def small(file, **how):
    """A file of one variable; what is not given is as in all others."""
    how = {
        "first": 0,
        "days": 4,
        "dtype": "f4",
        "chunk": 2,
        "units": "days since 2000-01-01",
        "calendar": "noleap",
        "zlib": True,
        "fill": -1.0,
        "scale": None,
        "lat": 3,
        "name": "v",
        "values": None,
    } | how
    with netCDF4.Dataset(file, "w") as ds:
        ds.createDimension("time", None)
        ds.createDimension("lat", how["lat"])
        time = ds.createVariable("time", "f8", ("time",))
        time.units, time.calendar = how["units"], how["calendar"]
        time[:] = how["first"] + np.arange(how["days"]) if how["values"] is None else how["values"]
        ds.createVariable("lat", "f4", ("lat",))[:] = np.arange(how["lat"]) + how.get("shift", 0)
        v = ds.createVariable(
            how["name"],
            how["dtype"],
            ("time", "lat"),
            zlib=how["zlib"],
            fill_value=how["fill"],
            chunksizes=(how["chunk"], how["lat"]),
        )
        if how["scale"]:
            v.scale_factor = how["scale"]
        v[:] = np.arange(how["first"], how["first"] + how["days"])[:, None] + np.zeros(how["lat"])
    return file


MISMATCHES = {
    "dtype": ({"dtype": "f8"}, "v", "dtype is '<f8', in the first set '<f4'"),
    "chunks": ({"chunk": 4}, "v", r"chunks are \(4, 3\), in the first set \(2, 3\)"),
    "codec": ({"zlib": False}, "v", r"codecs is \[\], in the first set \["),
    "fill": ({"fill": -2.0}, "v", "fill_value is -2.0, in the first set -1.0"),
    "scale": ({"scale": 0.1}, "v", "scale_factor is 0.1, in the first set None"),
    "calendar": ({"calendar": "standard"}, "time", "calendar is 'standard', in the first set 'noleap'"),
    "units": (
        {"units": "days since 2001-01-01"},
        "time",
        "units is 'days since 2001-01-01', in the first set",
    ),
    "missing": ({"name": "w"}, "v", "is missing"),
    "overlapping": ({"first": 2}, "time", "begins at 2.0, .* ends at 3.0: they overlap"),
    "unordered": ({"first": -9}, "time", "not in order; sort=True"),
    "size": ({"lat": 4}, "v", "size of dimension 1 is 4, in the first set 3"),
    "identical": ({"shift": 1}, "lat", r"at \[0\]"),
}
