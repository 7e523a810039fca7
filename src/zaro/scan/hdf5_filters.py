"""The filters of HDF5 datasets, as codecs of numcodecs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zaro.scan.hdf5_codec import config_of, filter_lacks

__all__ = ["Filter", "filters_of"]

Config = dict[str, Any]
SHUFFLE = 2
"""The filter that keeps the number of bytes: what follows it still works on a whole chunk."""
_BLOSC = ("blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd")
_NAMES = {
    4: "szip",
    5: "nbit",
    6: "scaleoffset",
    32000: "lzf",
    32004: "lz4 (HDF5's own framing)",
    32008: "bitshuffle",
    32026: "blosc2",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter of a pipeline: its codec, or why there is none."""

    name: str
    config: Config | None
    reason: str = ""

    def lenient(self) -> Filter:
        """The same, where some chunks are stored without it."""
        return Filter(self.name, {**(self.config or {}), "optional": True}, self.reason)


def filters_of(plist: Any, dtype: np.dtype[Any], chunks: tuple[int, ...]) -> list[Filter]:
    """Filters of a dataset in the order of encoding, from its creation property list."""
    found: list[Filter] = []
    itemsize, sized = dtype.itemsize, True
    for k in range(plist.get_nfilters()):
        code, _, values, name = plist.get_filter(k)
        make = _MAKERS.get(code)
        label = _NAMES.get(code) or bytes(name).decode("utf-8", "replace") or str(code)
        sized, before = sized and code == SHUFFLE, sized
        if make is None:
            lacks = filter_lacks(code) if before else "it is not the first of several"
            config = config_of(code, values, dtype, chunks) if lacks is None else None
            reason = f"no decoder for HDF5 filter {code}, {label}" + (f": {lacks}" if lacks else "")
            found.append(Filter(label, config, reason))
            continue
        try:
            found.append(Filter(label, make(values, itemsize)))
        except (IndexError, ValueError) as err:
            found.append(Filter(label, None, f"HDF5 filter {code}, {label}, has parameters {values}: {err}"))
    return found


def _zlib(values: tuple[int, ...], itemsize: int) -> Config:
    return {"id": "zlib", "level": values[0] if values else 4}


def _shuffle(values: tuple[int, ...], itemsize: int) -> Config:
    return {"id": "shuffle", "elementsize": values[0] if values else itemsize}


def _fletcher32(values: tuple[int, ...], itemsize: int) -> Config:
    return {"id": "fletcher32"}


def _blosc(values: tuple[int, ...], itemsize: int) -> Config:
    if len(values) > 6 and values[6] >= len(_BLOSC):
        raise ValueError(f"compressor {values[6]} is not known")
    compressor = _BLOSC[values[6]] if len(values) > 6 else "blosclz"
    level = values[4] if len(values) > 4 else 5
    shuffle = values[5] if len(values) > 5 else 1
    return {"id": "blosc", "cname": compressor, "clevel": level, "shuffle": shuffle, "blocksize": 0}


def _zstd(values: tuple[int, ...], itemsize: int) -> Config:
    level = values[0] if values else 3
    return {"id": "zstd", "level": level - (1 << 32) if level >> 31 else level}


def _bzip2(values: tuple[int, ...], itemsize: int) -> Config:
    return {"id": "bz2", "level": values[0] if values else 9}


_MAKERS: dict[int, Callable[[tuple[int, ...], int], Config]] = {
    1: _zlib,
    2: _shuffle,
    3: _fletcher32,
    307: _bzip2,
    32001: _blosc,
    32015: _zstd,
}
