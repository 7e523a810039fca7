"""Chunks in local files, by key or by span: opened, read, decoded and placed by the kernel."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.read import PathTable, Read
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.errors import kernel_error
from zaro.read.kernel import kernel_of
from zaro.read.places import rows_of
from zaro.read.source import Source
from zaro.read.threads import on_threads, thread_count
from zaro.references.plain import KeyTable
from zaro.references.table import INLINE, Located
from zaro.stores.local import LocalStore

__all__ = ["read_files", "read_keys"]


def read_keys(
    source: Source, plan: Plan | PointsPlan, out: NDArray[Any], table: KeyTable, store: LocalStore
) -> int:
    """Read chunks by their keys, each the whole of a file; returns how many were absent."""
    kernel = kernel_of(source, plan, out)
    prefix, encoding = table.prefix, table.encoding
    kernel.from_keys(
        store.handle,
        os.fsencode(prefix + (encoding.prefix if table.grid else encoding.key(()))),
        encoding.separator,
    )
    _run(kernel, source, plan, None)
    return kernel.absent


def read_files(
    source: Source,
    plan: Plan | PointsPlan,
    out: NDArray[Any],
    located: Located,
    tasks: NDArray[np.int64] | None,
) -> int:
    """Read chunks by their spans in local files, all or those of some tasks; returns how many were absent."""
    kernel = kernel_of(source, plan, out)
    inline = np.frombuffer(located.inline, np.uint8)
    if tasks is not None:
        located = rows_of(located, tasks)
    paths = _paths_of(source, located)
    order = _by_file(located.file_id)
    if order is not None:
        located, tasks = rows_of(located, order), order if tasks is None else tasks[order]
    kernel.from_files(
        np.ascontiguousarray(located.file_id),
        np.ascontiguousarray(located.offset),
        np.ascontiguousarray(located.length),
        paths,
        inline,
        tasks,
    )
    _run(kernel, source, plan, tasks)
    return kernel.absent


def _paths_of(source: Source, located: Located) -> PathTable:
    """The paths that the kernel needs; those of reference sets are kept from read to read."""
    paths = source.path_table(located.files) if located.store is None else PathTable(len(located.files))
    store = located.store
    names = located.files if store is None else located.files[:]  # keys are spelled faster together
    for file_id in paths.unset(located.file_id):
        name = names[file_id]
        local = f"{store.url}/{name}" if store is not None else source.targets.local_path(name)
        assert local is not None
        paths.set(file_id, os.fsencode(local))
    return paths


def _by_file(file_id: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """An order in which each file is read in one go; None where that is so already.

    Chunks of a shard, or of a file that holds a tile, do not follow one another in the array's order.
    """
    changes = np.count_nonzero(file_id[1:] != file_id[:-1])
    if changes <= 2 * np.count_nonzero(np.bincount(file_id - min(INLINE, int(file_id.min(initial=0))))):
        return None
    return np.argsort(file_id, kind="stable")


def _run(kernel: Read, source: Source, plan: Plan | PointsPlan, tasks: NDArray[np.int64] | None) -> None:
    n = plan.n_task if tasks is None else len(tasks)
    on_threads(kernel.run, kernel.stop, thread_count(n, source.metadata.chunk_nbytes))
    if kernel.error is not None:
        raise kernel_error(source, plan, kernel, tasks)
