"""Chunks whose bytes Python handles first: in memory, in archives, or with codecs in Python."""

from __future__ import annotations

import os
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.read import Worker
from zaro._core.reason import REASON, Status
from zaro.errors import CorruptChunkError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.errors import chunk_error, kernel_error
from zaro.read.kernel import kernel_of
from zaro.read.source import Source
from zaro.read.threads import on_threads, thread_count
from zaro.references.table import ABSENT, INLINE, Located
from zaro.stores.base import Bytes
from zaro.stores.local import LocalStore
from zaro.stores.zip import ZipStore

__all__ = ["fetched", "read_fetched"]

# chunks whose bytes are in memory at a time, for each thread
_BATCH_BYTES = 32 << 20


def read_fetched(
    source: Source,
    plan: Plan | PointsPlan,
    out: NDArray[Any],
    located: Located,
    tasks: NDArray[np.int64] | None,
) -> int:
    """Fetch the bytes of chunks batch by batch, decode what only Python can, and hand over to the kernel."""
    todo = np.arange(plan.n_task) if tasks is None else tasks
    size = max(1, min(256, _BATCH_BYTES // max(source.metadata.chunk_nbytes, 1)))
    batches = deque(todo[k : k + size] for k in range(0, len(todo), size))
    absent: list[int] = []

    def take_part(worker: Worker) -> None:
        while True:
            try:
                batch = batches.popleft()
            except IndexError:
                return
            kernel = kernel_of(source, plan, out)
            kernel.from_memory(fetched(source, plan, located, batch), batch)
            kernel.run(worker)
            if kernel.error is not None:
                raise kernel_error(source, plan, kernel, batch)
            absent.append(kernel.absent)

    on_threads(take_part, batches.clear, thread_count(len(todo), source.metadata.chunk_nbytes))
    return sum(absent)


def fetched(
    source: Source, plan: Plan | PointsPlan, located: Located, tasks: NDArray[np.int64]
) -> list[Bytes | None]:
    """The bytes of some chunks, None for absent ones, decoded as far as Python must."""
    found: list[Bytes | None] = []
    for task in tasks.tolist():
        try:
            stored = _stored(source, located, task)
            if stored is not None:
                stored = memoryview(source.chain_of(plan, task).run_foreign(stored))
        except Exception as err:  # whatever a codec of others raises becomes an error that names the chunk
            raise chunk_error(source, plan, task, err) from err
        found.append(stored)
    return found


def _stored(source: Source, located: Located, task: int) -> Bytes | None:
    file_id, offset, length = (
        int(column[task]) for column in (located.file_id, located.offset, located.length)
    )
    if file_id == ABSENT:
        return None
    if file_id == INLINE:
        return memoryview(located.inline)[offset : offset + length]
    part = (located.files[file_id], offset, None if length < 0 else length)
    nbytes = _file_nbytes(source, located, part[0]) if length < 0 else length
    if nbytes > source.chain.stored_most:
        most = source.chain.stored_most
        reason = f"{REASON[Status.LONG]}: {nbytes} bytes are stored, {most} are expected at most"
        raise CorruptChunkError(f"{reason}; see zaro.config.STORED")
    return (located.store.get_parts([part]) if located.store is not None else source.targets.read([part]))[0]


def _file_nbytes(source: Source, located: Located, name: str) -> int:
    """Bytes of a local file or member of an archive; 0 for what lies elsewhere, or nowhere."""
    store = located.store
    if store is not None and not isinstance(store, LocalStore):
        return store.nbytes(name) if isinstance(store, ZipStore) else 0
    path = f"{store.url}/{name}" if store is not None else source.targets.local_path(name)
    try:
        return os.path.getsize(path) if path is not None else 0
    except (OSError, ValueError):
        return 0
