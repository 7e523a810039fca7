"""Blocks that only Python can make, of objects mostly: decoded chunk by chunk, and placed by NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.reason import REASON, Status
from zaro.errors import MissingChunkError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.errors import chunk_error, facts_of
from zaro.read.fetched import fetched
from zaro.read.places import away_from_here, locate
from zaro.read.remote import decoded, start_requests, stored_most
from zaro.read.source import Source
from zaro.references.table import Located
from zaro.stores.base import Bytes

__all__ = ["read_objects"]


def read_objects(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> int:
    """Blocks that only Python can make, of objects mostly: decoded chunk by chunk, and placed by NumPy."""
    located = locate(source, plan)
    fill = source.metadata.blank
    flat = out.reshape(-1) if isinstance(plan, PointsPlan) else out
    absent = 0
    for task, stored in _each_stored(source, plan, located, out):
        block = None
        if stored is None:
            absent += 1
            if source.missing == "raise":
                raise MissingChunkError(REASON[Status.ABSENT_CHUNK], **facts_of(source, plan, task))
        else:
            block = _object_block(source, plan, task, stored)
        if isinstance(plan, PointsPlan):
            here = slice(plan.begin[task], plan.begin[task + 1])
            flat[plan.target[here]] = fill if block is None else block.reshape(-1)[plan.source[here]]
        else:
            _place(plan, task, flat, fill, block)
    return absent


def _each_stored(
    source: Source, plan: Plan | PointsPlan, located: Located, out: NDArray[Any]
) -> Iterator[tuple[int, Bytes | None]]:
    """Every chunk's bytes as Python's codecs leave them; remote ones in the order in which they arrive."""
    away = away_from_here(source, located)
    for task in np.flatnonzero(~away).tolist():
        yield task, fetched(source, plan, located, np.array([task]))[0]
    if not away.any():
        return
    tasks = np.flatnonzero(away)
    requests, fetch = start_requests(source, plan, located, tasks, stored_most(source, plan, out))
    try:
        while (arrived := fetch.take()) is not None:
            chunks = tasks[requests.serves(arrived.number)]
            start = int(requests.offset[arrived.number])
            yield from zip(
                chunks.tolist(), decoded(source, plan, located, chunks, arrived, start), strict=True
            )
            fetch.done(arrived)
    finally:
        fetch.stop()


def _object_block(source: Source, plan: Plan | PointsPlan, task: int, stored: Bytes) -> NDArray[Any]:
    to_block = source.chain_of(plan, task).blocks
    assert to_block is not None
    try:
        return to_block(stored)
    except Exception as err:  # whatever is in the bytes becomes an error that names the chunk
        raise chunk_error(source, plan, task, err) from err


def _place(plan: Plan, task: int, out: NDArray[Any], fill: Any, block: NDArray[Any] | None) -> None:
    """Put one block, or the fill value, where the plan wants it."""
    where: list[Any] = []
    what: list[Any] = []
    numbers = np.unravel_index(task, [len(axis.segments) for axis in plan.axes])
    for axis, number in zip(plan.axes, numbers, strict=True):
        _, _, begin, step, count, to = axis.segments[number].tolist()
        if axis.source is not None and axis.target is not None:
            what.append(axis.source[begin : begin + count])
            where.append(axis.target[begin : begin + count])
        else:
            what.append(begin + step * np.arange(count))
            where.append(np.arange(to, to + count))
    kept = [k for k, axis in enumerate(plan.axes) if not axis.dropped]
    to_place = np.ix_(*(where[k] for k in kept)) if kept else ()
    if block is None:
        out[to_place] = fill
        return
    part = block[np.ix_(*what)] if what else block
    out[to_place] = part.reshape([len(where[k]) for k in kept]) if kept else part.reshape(-1)[0]
