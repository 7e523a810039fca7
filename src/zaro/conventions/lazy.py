"""Coordinates that are computed from others, or from a formula, when they are looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from xarray import Variable
from xarray.backends import BackendArray
from xarray.core import indexing

__all__ = ["AffineGrid", "OffsetBounds", "ReadOnce", "affine_grid", "offset_bounds", "read_once"]


class _Computed(BackendArray):
    """An array that `_read` gives a part of: integers, slices and lists, each axis on its own."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.dtype = shape, np.dtype(np.float64)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[np.float64]:
        raise NotImplementedError


class OffsetBounds(_Computed):
    """Bounds of cells: each value plus two offsets, of shape (..., 2).

    Parameters
    ----------
    values : Variable
        Decoded, of rank 0 or 1; read when bounds are.
    offsets : pair of float
        Signed; below and above the value.
    """

    __slots__ = ("offsets", "values")

    def __init__(self, values: Variable, offsets: tuple[float, float]) -> None:
        super().__init__((*values.shape, 2))
        self.values, self.offsets = values, np.array(offsets, np.float64)

    def _read(self, key: tuple[Any, ...]) -> NDArray[np.float64]:
        values = np.asarray(self.values[key[:-1]].values, np.float64)
        with np.errstate(over="ignore", invalid="ignore"):  # a file may say anything
            found: NDArray[np.float64] = np.add.outer(values, self.offsets[key[-1]])
        return found


class ReadOnce(_Computed):
    """A small array that is read as a whole when any of it is asked for, and kept.

    Groups that share a coordinate share its values. Pickles without them: whoever receives it reads again.
    """

    __slots__ = ("_values", "source")

    def __init__(self, source: Any) -> None:
        super().__init__(source.shape)
        self.source, self.dtype = source, source.dtype
        self._values: NDArray[Any] | None = None

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        values = self._values
        if values is None:
            values = self._values = np.asarray(self.source.get_duck_array())
        for axis in reversed(range(len(key))):  # from the last: an integer then moves no axis that is to come
            values = values[(slice(None),) * axis + (key[axis],)]
        return np.array(values)  # whoever changes them changes only their own

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnce, (self.source,)


class AffineGrid(_Computed):
    """One coordinate of a turned or sheared grid: `row * i + column * j + start` at row i and column j."""

    __slots__ = ("column", "row", "start")

    def __init__(self, shape: tuple[int, int], *, row: float, column: float, start: float) -> None:
        super().__init__(shape)
        self.row, self.column, self.start = row, column, start

    def _read(self, key: tuple[Any, ...]) -> NDArray[np.float64]:
        rows, columns = (np.arange(n, dtype=np.float64)[k] for n, k in zip(self.shape, key, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):  # a file may say anything
            found: NDArray[np.float64] = np.add.outer(self.row * rows, self.column * columns) + self.start
        return found


def offset_bounds(dims: tuple[str, ...], values: Variable, offsets: tuple[float, float]) -> Variable:
    """Bounds `dims` of values, which may be packed in a store, as a lazy variable."""
    from xarray.conventions import decode_cf_variable

    decoded = decode_cf_variable("values", values, decode_times=False, decode_timedelta=False)
    return Variable(dims, indexing.LazilyIndexedArray(OffsetBounds(decoded, offsets)))


def affine_grid(dims: tuple[str, str], grid: AffineGrid) -> Variable:
    """One coordinate of a turned grid as a lazy variable."""
    return Variable(dims, indexing.LazilyIndexedArray(grid))


def read_once(data: Any) -> indexing.LazilyIndexedArray:
    """The lazy data of a small array, to be shared."""
    return indexing.LazilyIndexedArray(ReadOnce(data))
