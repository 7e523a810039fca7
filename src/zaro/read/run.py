"""Run a plan: fetch, decode, stitch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ChunkError, SelectionError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.fetched import read_fetched
from zaro.read.local import read_files, read_keys
from zaro.read.objects import read_objects
from zaro.read.places import away_from_here, locate
from zaro.read.remote import read_remote
from zaro.read.source import Source
from zaro.references.plain import KeyTable
from zaro.stores.local import LocalStore
from zaro.warned import warn

__all__ = ["check_output", "read"]


def read(source: Source, plan: Plan | PointsPlan, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Read what a plan describes.

    Parameters
    ----------
    out : ndarray, optional
        Receives the result: of the plan's shape and the array's dtype, any strides.

    Returns
    -------
    ndarray
        Of the plan's shape; `out` itself where given.

    Raises
    ------
    ChunkError
        A chunk is listed and cannot be read, or (`missing="raise"`) is absent.
    """
    dtype = source.metadata.dtype
    if out is None:
        out = np.empty(plan.shape, dtype)
    else:
        check_output(out, plan.shape, dtype)
    if out.size == 0 or plan.n_task == 0:
        return out
    target = out
    if isinstance(plan, PointsPlan) and not out.flags.c_contiguous:
        target = np.empty(plan.shape, dtype)
    read_into = _read_blocks if source.chain.blocks is None else read_objects
    try:
        absent = read_into(source, plan, target)
    except MemoryError as err:
        nbytes = source.metadata.chunk_nbytes
        reason = f"there is no memory to decode it, a chunk of {nbytes} bytes: {err}"
        raise ChunkError(reason, node=source.node, key=source.key(int(plan.ids()[0]))) from err
    if absent:
        source.check_present()
    if target is not out:
        out[...] = target
    if absent and source.missing == "warn":
        warn(UserWarning(f"{absent} chunks of {source.node!r} are absent and read as the fill value"))
    return out


def check_output(out: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse a caller's output that does not fit.

    Raises
    ------
    SelectionError
    """
    if out.shape != shape or out.dtype != dtype:
        raise SelectionError(
            f"out has shape {out.shape} and type {out.dtype}; {shape} and {dtype} are needed"
        )
    if not out.flags.writeable:
        raise SelectionError("out is read-only")


def _read_blocks(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> int:
    """Read blocks of fixed-width items with the kernel; returns how many chunks were absent."""
    if (
        isinstance(source.table, KeyTable)
        and isinstance(source.table.store, LocalStore)
        and not source.chain.foreign
    ):
        return read_keys(source, plan, out, source.table, source.table.store)
    located = locate(source, plan)
    away = away_from_here(source, located)
    absent = read_remote(source, plan, out, located, np.flatnonzero(away)) if away.any() else 0
    if away.all():
        return absent
    tasks = np.flatnonzero(~away) if away.any() else None
    in_memory = located.store is not None and not isinstance(located.store, LocalStore)
    if source.chain.foreign or in_memory or isinstance(source.table, KeyTable):
        return absent + read_fetched(source, plan, out, located, tasks)
    return absent + read_files(source, plan, out, located, tasks)
