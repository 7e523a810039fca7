"""GRIB messages, made by ecCodes."""

from __future__ import annotations

import eccodes
import numpy as np

SAMPLES = (
    "reduced_gg_sfc_grib2",
    "reduced_ll_sfc_grib2",
    "polar_stereographic_sfc_grib2",
    "regular_gg_sfc_grib2",
    "rotated_gg_sfc_grib2",
    "rotated_ll_sfc_grib2",
    "regular_ll_sfc_grib1",
    "regular_ll_pl_grib1",
    "sh_ml_grib2",
    "sh_pl_grib1",
)
"""Samples of ecCodes, of grids of every kind."""
SKIPPED = {"polar_stereographic_sfc_grib2": ("latitude", "longitude")}
"""What a scan must leave out: that grid scans southward, and readers differ on where it begins."""


def message(sample="regular_ll_sfc_grib2", *, values=None, missing=False, **keys) -> bytes:
    handle = eccodes.codes_grib_new_from_samples(sample)
    for key, value in keys.items():
        eccodes.codes_set(handle, key, value)
    if missing:
        eccodes.codes_set(handle, "bitmapPresent", 1)
        eccodes.codes_set(handle, "missingValue", 9999.0)
    if values is not None:
        eccodes.codes_set_values(handle, values)
    data = eccodes.codes_get_message(handle)
    eccodes.codes_release(handle)
    return data


def decoded(data: bytes) -> np.ndarray:
    handle = eccodes.codes_new_from_message(data)
    values = eccodes.codes_get_values(handle)
    if eccodes.codes_get(handle, "bitmapPresent"):
        values[values == eccodes.codes_get(handle, "missingValue")] = np.nan
    eccodes.codes_release(handle)
    return values


RNG = np.random.default_rng(9)
N = 31 * 16


def fields():
    """Messages by (step, level), one of them with values missing."""
    found = {}
    for step in (0, 6, 12):
        for level in (500, 850):
            values = RNG.normal(280, 10, N)
            odd = (step, level) == (6, 850)
            if odd:
                values[::7] = 9999.0
            found[step, level] = message(
                "regular_ll_pl_grib2", values=values, missing=odd, step=step, level=level, shortName="t"
            )
    return found


def joined_message(one: bytes, two: bytes) -> bytes:
    """Two fields of one grid as one message."""
    repeated = b"".join(two[a:b] for a, b in sections(two) if two[a + 4] >= 4)
    joined = one[:-4] + repeated + b"7777"
    return joined[:8] + len(joined).to_bytes(8, "big") + joined[16:]


def sections(data: bytes):
    at = 16
    while at < len(data) - 4:
        length = int.from_bytes(data[at : at + 4], "big")
        yield at, at + length
        at += length


def files() -> dict[str, bytes]:
    """Contents of files, by case."""
    several = list(fields().values())
    wind = (message(shortName=name, values=RNG.normal(5, 1, N)) for name in ("10u", "10v"))
    return {
        "several messages": b"".join(several),
        "bytes between messages": b"header of the line\r\n" + b"\n".join(several),
        "two fields in one message": joined_message(*wind),
        **{sample: message(sample) for sample in SAMPLES},
    }
