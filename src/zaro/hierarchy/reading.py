"""From a selection, as NumPy spells it, to values: which kind it is, in which parts it is read."""

from __future__ import annotations

import math
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro.errors import SelectionError
from zaro.plan.chunks import halves, longest_axis, plan_axes, plan_points
from zaro.plan.selection import Pick, Points, basic, fields, is_list, orthogonal, points
from zaro.read import Source, check_output, read

__all__ = ["Indexer", "Mode", "read_selection", "scalar"]

Mode = Literal["basic", "orthogonal", "points"]


class _Readable(Protocol):
    def read(self, selection: Any = ..., out: NDArray[Any] | None = None, *, mode: Mode) -> NDArray[Any]: ...


class Indexer:
    """`a.oindex` and `a.vindex`."""

    def __init__(self, array: _Readable, mode: Mode) -> None:
        self._array, self._mode = array, mode

    def __getitem__(self, selection: Any) -> Any:
        return scalar(self._array.read(selection, mode=self._mode))


def scalar(found: NDArray[Any]) -> Any:
    """NumPy gives a scalar where every axis was picked by an integer."""
    return found[()] if found.ndim == 0 else found


def read_selection(source: Source, selection: Any, out: NDArray[Any] | None, mode: Mode) -> NDArray[Any]:
    """Read a selection; as `Array.read`, which says what may be asked for."""
    metadata = source.metadata
    selection, names = fields(selection, metadata.dtype)
    if names is not None:
        return _fields_of(read_selection(source, selection, None, mode), names, out)
    if mode == "basic":
        mode = _meaning(selection, len(metadata.shape))
    if mode == "points":
        chosen = points(selection, metadata.shape)
        if metadata.edges is not None:
            return _read_where_they_cross(source, chosen, out)
        return read(source, plan_points(metadata, chosen, source.chain.order), out)
    picks = (orthogonal if mode == "orthogonal" else basic)(selection, metadata.shape)
    return _read_picks(source, picks, out)


def _meaning(selection: Any, ndim: int) -> Mode:
    """What lists in `a[...]` mean in NumPy: one of them its axis, one for each axis points."""
    items = selection if isinstance(selection, tuple) else (selection,)
    lists = [item for item in items if is_list(item)]
    if len(lists) == 1 and np.ndim(lists[0]) == 1:
        return "orthogonal"
    whole_mask = len(items) == len(lists) == 1 and np.ndim(lists[0]) == ndim
    return "points" if lists and (len(lists) == ndim or whole_mask) else "basic"


def _read_picks(source: Source, picks: tuple[Pick, ...], out: NDArray[Any] | None) -> NDArray[Any]:
    """Read by axes; in parts where so many chunks are touched that planning them at once costs memory."""
    metadata = source.metadata
    shape = tuple(pick.count for pick in picks if not pick.dropped)
    if out is None:
        _refuse_what_is_too_large(shape, metadata.dtype)
    axis = longest_axis(metadata, picks) if 0 not in shape else None
    if axis is None:
        return read(source, plan_axes(metadata, picks), out)
    if out is None:
        out = np.empty(shape, metadata.dtype)
    check_output(out, shape, metadata.dtype)
    before = sum(not pick.dropped for pick in picks[:axis])
    at = 0
    for part in halves(picks[axis]):
        here = (slice(None),) * before + (slice(at, at + part.count),)
        _read_picks(source, (*picks[:axis], part, *picks[axis + 1 :]), out[here])
        at += part.count
    return out


def _read_where_they_cross(source: Source, chosen: Points, out: NDArray[Any] | None) -> NDArray[Any]:
    """Points of a rectilinear grid, whose blocks differ: read where rows and columns cross."""
    ndim = len(source.metadata.shape)
    crossing = [np.unique(chosen.index[:, d], return_inverse=True) for d in range(ndim)]
    picks = orthogonal(tuple(positions for positions, _ in crossing), source.metadata.shape)
    block = _read_picks(source, picks, None)
    return _given(block[tuple(row for _, row in crossing)].reshape(chosen.shape), out)


def _refuse_what_is_too_large(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Say how large a result is, before there is memory for it."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > config.memory():
        reason = f"a result of shape {shape} has {nbytes} bytes, and this machine {config.memory()} of memory"
        raise SelectionError(f"{reason}; read it in parts")


def _fields_of(records: NDArray[Any], names: str | list[str], out: NDArray[Any] | None) -> NDArray[Any]:
    """Some fields of records, without the bytes of the others."""
    if isinstance(names, str):
        found = np.ascontiguousarray(records[names]) if records.ndim else records[names].copy()
    else:
        found = np.empty(records.shape, [(name, records.dtype[name]) for name in names])
        for name in names:
            found[name] = records[name]
    return _given(found, out)


def _given(found: NDArray[Any], out: NDArray[Any] | None) -> NDArray[Any]:
    """Give what was read, in the caller's own array where there is one."""
    if out is None:
        return found
    check_output(out, found.shape, found.dtype)
    out[...] = found
    return out
