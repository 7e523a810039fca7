"""Names and lengths of the dimensions of HDF5 datasets: of their scales, else such as netCDF makes up."""

from __future__ import annotations

from functools import partial
from typing import Any

from zaro.scan.hdf5_phony import Extent, PhonyDimensions, extents_of

__all__ = ["Dimensions", "Scales"]


class Scales:
    """What netCDF's scales say, in whichever file: each worked out once."""

    def __init__(self) -> None:
        self._names: dict[str, dict[int, str]] = {}
        self._lengths: dict[tuple[str, str], int] = {}

    def names(self, file: Any) -> dict[int, str]:
        """Names of the dimensions of a file by netCDF's own numbers."""
        if file.filename not in self._names:
            found = self._names[file.filename] = {}
            file.visititems(partial(_note, found))
        return self._names[file.filename]

    def length(self, scale: Any) -> int:
        """Elements of the longest dataset along a scale."""
        key = str(scale.file.filename), str(scale.name)
        if key not in self._lengths:
            users = scale.attrs.get("REFERENCE_LIST", ())
            sizes = [scale.file[user[0]].shape[int(user[1])] for user in users if user[0]]
            self._lengths[key] = max([scale.shape[0], *sizes])
        return self._lengths[key]


def _note(found: dict[int, str], name: str, node: Any) -> None:
    import h5py

    if isinstance(node, h5py.Dataset) and "_Netcdf4Dimid" in node.attrs and h5py.h5ds.is_scale(node.id):
        found.setdefault(int(node.attrs["_Netcdf4Dimid"]), _last(name))


class Dimensions:
    """Names of dimensions within one group."""

    def __init__(self, group: Any, phony: PhonyDimensions, scales: Scales) -> None:
        self._group, self._phony, self._scales = group, phony, scales

    def names(self, dataset: Any, inner: tuple[int, ...] = ()) -> tuple[str, ...]:
        """A name for each dimension of a dataset, and of `inner` ones that its elements have."""
        import h5py

        rank = len(dataset.shape)
        if not rank:
            return self._with_phony([None] * len(inner), [(size, False) for size in inner])
        names: list[str | None] = [None] * rank
        if h5py.h5ds.is_scale(dataset.id):  # one of several dimensions is of the first, and has no list
            if rank > 1 and h5py.h5a.exists(dataset.id, b"_Netcdf4Coordinates"):
                names = self._by_id(dataset, rank)
            names[0] = names[0] or _last(dataset.name)
        elif h5py.h5a.exists(dataset.id, b"DIMENSION_LIST"):
            names = _attached(dataset, rank)
        extents = [*extents_of(dataset), *((size, False) for size in inner)]
        return self._with_phony([*names, *[None] * len(inner)], extents)

    def lengths(self, dataset: Any) -> tuple[int, ...]:
        """Elements along each dimension of a dataset, as netCDF counts them.

        An unlimited dimension of netCDF's is as long as the longest variable that has it; where another was
        written less far, the rest of it reads as its fill value.
        """
        found = list(dataset.shape)
        for axis, most in enumerate(dataset.maxshape):
            scale = self._netcdf_scale(dataset, axis) if most is None else None
            if scale is not None:
                found[axis] = max(found[axis], self._scales.length(scale))
        return tuple(found)

    def _netcdf_scale(self, dataset: Any, axis: int) -> Any:
        """The scale of an axis, if netCDF wrote it."""
        import h5py

        scale = None
        if h5py.h5ds.is_scale(dataset.id):
            scale = dataset if axis == 0 else None
        elif h5py.h5a.exists(dataset.id, b"DIMENSION_LIST"):
            references = dataset.attrs["DIMENSION_LIST"][axis]
            scale = dataset.file[references[0]] if len(references) and references[0] else None
        return scale if scale is not None and "_Netcdf4Dimid" in scale.attrs else None

    def _by_id(self, dataset: Any, rank: int) -> list[str | None]:
        """Names by netCDF's own numbers, which it notes for coordinates of several dimensions."""
        import numpy as np

        known = self._scales.names(dataset.file)
        names = [known.get(number) for number in np.atleast_1d(dataset.attrs["_Netcdf4Coordinates"]).tolist()]
        return names if len(names) == rank else [None] * rank

    def _with_phony(self, names: list[str | None], extents: list[Extent]) -> tuple[str, ...]:
        """Name what has no name as netCDF does."""
        nameless = [extent for name, extent in zip(names, extents, strict=True) if name is None]
        if not nameless:
            return tuple(name for name in names if name is not None)
        taken = {name for name in names if name is not None}
        made = iter(self._phony.names(self._group, nameless, taken))
        return tuple(next(made) if name is None else name for name in names)


def _attached(dataset: Any, rank: int) -> list[str | None]:
    """The first scale that is attached to each dimension."""
    import h5py

    found: list[str | None] = [None] * rank
    for axis, references in enumerate(dataset.attrs["DIMENSION_LIST"]):
        if axis < rank and len(references) and references[0]:
            found[axis] = _last(h5py.h5r.get_name(references[0], dataset.id).decode())
    return found


def _last(path: str) -> str:
    return path.rpartition("/")[2]
