"""Names that netCDF makes up for dimensions of HDF5 files that have none.

Source: netCDF-C, libhdf5/hdf5open.c: a dimension without scale is one of its group that is as long and may
grow as that may, else a new one, numbered behind all others of the file; groups count after those below them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from zaro.scan.hdf5_ahead import address_of

__all__ = ["Extent", "PhonyDimensions", "extents_of"]

Extent = tuple[int, bool]
"""Length of a dimension, and whether it may grow without limit."""


class PhonyDimensions:
    """The dimensions of all groups of a file; looks the file over when the first name is wanted."""

    def __init__(self, h5: Any) -> None:
        self._h5 = h5
        self._known: dict[Any, list[tuple[str, Extent]]] = {}
        self._count: int | None = None

    def names(self, group: Any, extents: Sequence[Extent], taken: set[str]) -> list[str]:
        """Names for dimensions of one dataset of a group, none of them `taken`; each has another."""
        if self._count is None:
            self._look()
        return self._named(address_of(group), extents, taken)

    def _named(self, group: Any, extents: Sequence[Extent], taken: set[str]) -> list[str]:
        known = self._known.setdefault(group, [])
        taken, found = set(taken), []
        for extent in extents:
            name = next((name for name, other in known if other == extent and name not in taken), None)
            if name is None:
                assert self._count is not None
                name = f"phony_dim_{self._count}"
                self._count += 1
                known.append((name, extent))
            taken.add(name)
            found.append(name)
        return found

    def _look(self) -> None:
        import h5py

        nameless: list[tuple[Any, list[Extent]]] = []
        self._count = 0
        for group in _upwards(self._h5["/"], set()):
            address = address_of(group)
            for dataset in _members(group, h5py.Dataset):
                if h5py.h5ds.is_scale(dataset.id):
                    self._count += 1
                    scale = dataset.name.rpartition("/")[2], extents_of(dataset)[0]
                    self._known.setdefault(address, []).append(scale)
                elif dataset.shape is not None and not h5py.h5a.exists(dataset.id, b"DIMENSION_LIST"):
                    nameless.append((address, extents_of(dataset)))
        for address, extents in nameless:
            self._named(address, extents, set())


def extents_of(dataset: Any) -> list[Extent]:
    """Length of each dimension, and whether it may grow."""
    return [(size, most is None) for size, most in zip(dataset.shape, dataset.maxshape, strict=True)]


def _upwards(group: Any, seen: set[Any]) -> Iterator[Any]:
    """All groups, each after those below it, and once: many ways may lead to it."""
    import h5py

    seen.add(address_of(group))
    for below in _members(group, h5py.Group):
        if address_of(below) not in seen:
            yield from _upwards(below, seen)
    yield group


def _members(group: Any, kind: type) -> Iterator[Any]:
    """What lies in a group itself, not behind a link of it; the walk tells what cannot be opened."""
    import h5py

    for name in group:
        if isinstance(name, bytes) or group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
            continue
        try:
            node = group[name]
        except (KeyError, OSError, RuntimeError, TypeError, NotImplementedError):
            continue
        if isinstance(node, kind):
            yield node
