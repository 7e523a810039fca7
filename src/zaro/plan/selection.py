"""What a selection takes along each axis, in NumPy's words and zarr-python's."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import SelectionError

__all__ = ["Listed", "Picked", "Points", "Pick", "basic", "fields", "is_list", "orthogonal", "points"]


@dataclass(frozen=True, slots=True)
class Picked:
    """Elements start, start + step, ... of one axis; `dropped` where an integer removes the axis."""

    start: int
    step: int
    count: int
    dropped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Elements of one axis by position, in any order, repeats allowed; all within the axis."""

    positions: NDArray[np.int64]

    @property
    def count(self) -> int:
        """Number of elements."""
        return len(self.positions)

    dropped = False


Pick = Picked | Listed


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Elements picked one by one: `index` (n, rank) int64, all within the array; `shape` of the result."""

    index: NDArray[np.int64]
    shape: tuple[int, ...]


def basic(selection: Any, shape: tuple[int, ...]) -> tuple[Picked, ...]:
    """Integers, slices with any step, and one ellipsis: what `a[selection]` means in NumPy.

    Raises
    ------
    SelectionError
        Names the axis, what was asked and what there is.
    """
    parts = _per_axis(selection, shape)
    for axis, (item, _) in enumerate(parts):
        if is_list(item):
            raise SelectionError(f"axis {axis}: a list among other lists and slices; use .oindex or .vindex")
    return tuple(_pick(item, size, axis) for axis, (item, size) in enumerate(parts))


def fields(selection: Any, dtype: np.dtype[Any]) -> tuple[Any, str | list[str] | None]:
    """Take the names of fields out of a selection: `"u"`, `["u", "v"]`, `("u", 0, slice(3))`.

    Returns
    -------
    selection
        What is left of it.
    names : str, list of str or None
        The one field that is named, or several that shall make smaller records; None where none is.

    Raises
    ------
    SelectionError
        The elements have no such field.
    """
    parts = selection if isinstance(selection, tuple) else (selection,)
    names: list[str] = []
    rest: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            names.append(part)
        elif isinstance(part, list) and part and all(isinstance(item, str) for item in part):
            names += part
        else:
            rest.append(part)
    if not names:
        return selection, None
    unknown = [name for name in names if name not in (dtype.names or ())]
    if unknown:
        has = f"has the fields {', '.join(dtype.names)}" if dtype.names else f"is of {dtype}, without fields"
        raise SelectionError(f"field {unknown[0]!r} is selected from an array that {has}")
    alone = len(names) == 1 and not any(part == names for part in parts if isinstance(part, list))
    return tuple(rest) or ..., names[0] if alone else names


def is_list(item: Any) -> bool:
    """Whether one part of a selection is a list of positions or a mask."""
    return isinstance(item, list) or (isinstance(item, np.ndarray) and item.ndim > 0)


def orthogonal(selection: Any, shape: tuple[int, ...]) -> tuple[Pick, ...]:
    """As `basic`, and for any axis a list of integers or a mask, each axis on its own."""
    return tuple(_pick(item, size, axis) for axis, (item, size) in enumerate(_per_axis(selection, shape)))


def points(selection: Any, shape: tuple[int, ...]) -> Points:
    """Arrays of integers, one for each axis, that broadcast together; or one mask of the whole shape.

    Slices are allowed beside the arrays; the broadcast dimensions then come first if the arrays
    stand apart, in their place if they are neighbours, as in NumPy. Integers alone give an array of
    one element, as in zarr-python.
    """
    items = selection if isinstance(selection, tuple) else (selection,)
    if len(items) == 1 and np.asarray(items[0]).dtype == bool and np.ndim(items[0]) == len(shape) > 0:
        mask = np.asarray(items[0])
        if mask.shape != shape:
            raise SelectionError(f"a mask of shape {mask.shape} for an array of shape {shape}")
        found = np.argwhere(mask).astype(np.int64, copy=False)
        return Points(np.ascontiguousarray(found), (len(found),))
    full = [
        _pick(item, size, axis, scalar=True) for axis, (item, size) in enumerate(_per_axis(selection, shape))
    ]
    advanced = [axis for axis, pick in enumerate(full) if isinstance(pick, np.ndarray)]
    try:
        broadcast = np.broadcast_shapes(*(full[axis].shape for axis in advanced))
    except ValueError as err:
        shapes = ", ".join(str(full[axis].shape) for axis in advanced)
        raise SelectionError(f"lists of shapes {shapes} do not broadcast together") from err
    sliced = [axis for axis, pick in enumerate(full) if isinstance(pick, Picked)]
    if advanced and not sliced and not broadcast:
        broadcast = (1,)
    together = advanced == list(range(advanced[0], advanced[-1] + 1)) if advanced else False
    ahead = [axis for axis in sliced if together and axis < advanced[0]]
    behind = [axis for axis in sliced if axis not in ahead]
    result = tuple(full[a].count for a in ahead) + broadcast + tuple(full[a].count for a in behind)
    columns = []
    for axis, pick in enumerate(full):
        if isinstance(pick, np.ndarray):
            column = np.broadcast_to(pick, broadcast).reshape(
                (1,) * len(ahead) + broadcast + (1,) * len(behind)
            )
        else:
            place = ahead.index(axis) if axis in ahead else len(ahead) + len(broadcast) + behind.index(axis)
            steps = pick.start + pick.step * np.arange(pick.count, dtype=np.int64)
            column = steps.reshape([-1 if k == place else 1 for k in range(len(result))])
        columns.append(np.broadcast_to(column, result).reshape(-1))
    index = np.stack(columns, axis=1) if columns else np.zeros((1, 0), np.int64)
    return Points(np.ascontiguousarray(index, dtype=np.int64), result)


def _per_axis(selection: Any, shape: tuple[int, ...]) -> list[tuple[Any, int]]:
    """Pair each axis with its part of a selection, the ellipsis spelled out."""
    items = list(selection) if isinstance(selection, tuple) else [selection]
    ellipses = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise SelectionError("a selection has room for one ellipsis (...)")
    given = len(items) - len(ellipses)
    if given > len(shape):
        raise SelectionError(f"{given} indices for an array of {len(shape)} dimensions, shape {shape}")
    at = ellipses[0] if ellipses else len(items)
    items[at : at + len(ellipses)] = [slice(None)] * (len(shape) - given)
    return list(zip(items, shape, strict=True))


def _pick(item: Any, size: int, axis: int, *, scalar: bool = False) -> Any:
    if isinstance(item, slice):
        return _slice(item, size, axis)
    if item is None:
        raise SelectionError(
            f"axis {axis}: new axes are made with numpy after the read, not in the selection"
        )
    if isinstance(item, (bool, np.bool_)):
        raise SelectionError(f"axis {axis}: {item} is neither an index nor a mask of {size} elements")
    try:
        position = operator.index(item)
    except TypeError:
        return _list(item, size, axis, scalar=scalar)
    if not -size <= position < size:
        raise SelectionError(f"axis {axis}: index {position} in a dimension of {size}")
    if scalar:
        return np.asarray(position % size, np.int64)
    return Picked(position % size, 1, 1, dropped=True)


def _slice(item: slice, size: int, axis: int) -> Picked:
    try:
        start, stop, step = item.indices(size)
    except (TypeError, ValueError) as err:
        raise SelectionError(f"axis {axis}: {item}: {err}") from err
    count = len(range(start, stop, step))
    return Picked(start, step, count) if count > 1 else Picked(start if count else 0, 1, count)


def _list(item: Any, size: int, axis: int, *, scalar: bool) -> Any:
    values = np.asarray(item)
    if values.dtype == bool:
        if values.shape != (size,):
            raise SelectionError(f"axis {axis}: a mask of shape {values.shape} for a dimension of {size}")
        values = np.flatnonzero(values)
    elif values.size == 0 and values.ndim <= 1:
        values = np.zeros(values.shape, np.int64)
    if values.dtype.kind not in "iu":
        raise SelectionError(f"axis {axis}: {item!r} is no index, slice, list of integers or mask")
    if not scalar and values.ndim != 1:
        raise SelectionError(
            f"axis {axis}: a list of positions has one dimension, this one has {values.ndim}"
        )
    wrong = (values < -size) | (values >= size)
    if wrong.any():
        raise SelectionError(f"axis {axis}: index {values[wrong].flat[0]} in a dimension of {size}")
    values = values.astype(np.int64)  # not before: a number beyond it would turn into one below zero
    values = np.where(values < 0, values + size, values)
    return values if scalar else _regular(values)


def _regular(positions: NDArray[np.int64]) -> Pick:
    """A list that runs in equal steps is a slice, which is read faster."""
    if len(positions) == 0:
        return Picked(0, 1, 0)
    if len(positions) == 1:
        return Picked(int(positions[0]), 1, 1)
    step = int(positions[1] - positions[0])
    if step and bool((np.diff(positions) == step).all()):
        return Picked(int(positions[0]), step, len(positions))
    return Listed(positions)
