"""Names and lengths of the dimensions of HDF5 datasets: of their scales, else such as netCDF makes up."""

from __future__ import annotations

from typing import Any

from zaro.scan.hdf5_phony import Extent, PhonyDimensions, extents_of

__all__ = ["Dimensions"]


class Dimensions:
    """Names of dimensions within one group."""

    def __init__(self, h5: Any, group: Any, phony: PhonyDimensions) -> None:
        self._h5, self._group, self._phony = h5, group, phony
        self._names_by_id: dict[int, str] | None = None
        self._lengths: dict[str, int] = {}

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
            names = self._scales(dataset, rank)
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
                found[axis] = max(found[axis], self._length(scale))
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

    def _length(self, scale: Any) -> int:
        name = str(scale.name)
        if name not in self._lengths:
            users = scale.attrs.get("REFERENCE_LIST", ())
            sizes = [scale.file[user[0]].shape[int(user[1])] for user in users if user[0]]
            self._lengths[name] = max([scale.shape[0], *sizes])
        return self._lengths[name]

    def _scales(self, dataset: Any, rank: int) -> list[str | None]:
        """The first scale that is attached to each dimension."""
        import h5py

        found: list[str | None] = [None] * rank
        for axis, references in enumerate(dataset.attrs["DIMENSION_LIST"]):
            if axis < rank and len(references) and references[0]:
                found[axis] = _last(h5py.h5r.get_name(references[0], dataset.id).decode())
        return found

    def _by_id(self, dataset: Any, rank: int) -> list[str | None]:
        """Names by netCDF's own numbers, which it notes for coordinates of several dimensions."""
        import numpy as np

        wanted = np.atleast_1d(dataset.attrs["_Netcdf4Coordinates"]).tolist()
        if self._names_by_id is None:
            self._names_by_id = {}
            self._h5.visititems(self._note)
        names = [self._names_by_id.get(number) for number in wanted]
        return names if len(names) == rank else [None] * rank

    def _note(self, name: str, node: Any) -> None:
        import h5py

        if isinstance(node, h5py.Dataset) and "_Netcdf4Dimid" in node.attrs and h5py.h5ds.is_scale(node.id):
            assert self._names_by_id is not None
            self._names_by_id.setdefault(int(node.attrs["_Netcdf4Dimid"]), _last(name))

    def _with_phony(self, names: list[str | None], extents: list[Extent]) -> tuple[str, ...]:
        """Name what has no name as netCDF does."""
        nameless = [extent for name, extent in zip(names, extents, strict=True) if name is None]
        if not nameless:
            return tuple(name for name in names if name is not None)
        taken = {name for name in names if name is not None}
        made = iter(self._phony.names(self._group, nameless, taken))
        return tuple(next(made) if name is None else name for name in names)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
