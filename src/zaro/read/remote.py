"""Chunks that fsspec fetches: decoded while others are on their way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.read import PathTable, Read, Worker
from zaro._core.reason import REASON, Status
from zaro.errors import ChunkError, CorruptChunkError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.plan.requests import Requests, merge
from zaro.read.errors import chunk_error, facts_of, kernel_error
from zaro.read.kernel import kernel_of
from zaro.read.source import Source
from zaro.read.threads import on_threads, thread_count
from zaro.references.table import INLINE, WHOLE, Located
from zaro.stores.base import Bytes
from zaro.stores.remote import FsspecStore

if TYPE_CHECKING:
    from zaro.stores.fetch import Arrived, Fetch

__all__ = ["decoded", "read_remote", "start_requests"]


def read_remote(
    source: Source, plan: Plan | PointsPlan, out: NDArray[Any], located: Located, tasks: NDArray[np.int64]
) -> int:
    """Fetch chunks, and decode those that are there while others are still on their way."""
    most = stored_most(source, plan, out)
    requests, fetch = start_requests(source, plan, located, tasks, most)
    absent: list[int] = []

    def take_part(worker: Worker) -> None:
        while (arrived := fetch.take()) is not None:
            chunks = tasks[requests.serves(arrived.number)]
            start = int(requests.offset[arrived.number])
            kernel = kernel_of(source, plan, out)
            whole = requests.length[arrived.number] == WHOLE
            if arrived.data is not None and not source.chain.foreign and not whole:
                _spans_of(kernel, located, chunks, arrived.data, start)
            else:
                kernel.from_memory(decoded(source, plan, located, chunks, arrived, start), chunks)
            kernel.run(worker)
            if kernel.error is not None:
                raise kernel_error(source, plan, kernel, chunks)
            fetch.done(arrived)
            absent.append(kernel.absent)

    on_threads(take_part, fetch.stop, thread_count(len(tasks), source.metadata.chunk_nbytes))
    return sum(absent)


def start_requests(
    source: Source, plan: Plan | PointsPlan, located: Located, tasks: NDArray[np.int64], most: int
) -> tuple[Requests, Fetch]:
    """Start the requests that bring the bytes of some chunks."""
    from zaro.stores.fetch import Fetch

    offset, length = located.offset[tasks], located.length[tasks]
    too_long = np.flatnonzero(length > most)
    if len(too_long):
        facts = facts_of(source, plan, int(tasks[too_long[0]]))
        raise CorruptChunkError(f"{REASON[Status.LONG]}: at most {most} bytes", **facts)
    too_far = np.flatnonzero(offset > np.iinfo(np.int64).max - np.maximum(length, 0))
    if len(too_far):
        raise ChunkError(REASON[Status.OVERFLOW], **facts_of(source, plan, int(tasks[too_far[0]])))
    requests = merge(located.file_id[tasks], offset, length)
    store, files = located.store, located.files

    def span(k: int) -> tuple[str, int, int | None]:
        offset, n = int(requests.offset[k]), int(requests.length[k])
        return files[requests.file_id[k]], offset, None if n == WHOLE else n

    def nbytes(k: int) -> int:
        return int(requests.length[k]) if requests.length[k] >= 0 else source.metadata.chunk_nbytes

    find = store.place if isinstance(store, FsspecStore) else source.targets.place
    return requests, Fetch(
        len(requests), span, find, nbytes, timeout=source.targets.options.timeout, most=most
    )


def stored_most(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> int:
    """Bytes that a stored chunk may have."""
    known = not source.chain.foreign and source.chain.blocks is None
    return kernel_of(source, plan, out).stored_most if known else source.chain.stored_most


def _spans_of(kernel: Read, located: Located, chunks: NDArray[np.int64], data: Bytes, start: int) -> None:
    """Have the kernel read chunks out of the bytes of one request, which begin at `start` of the file."""
    kernel.from_files(
        np.full(len(chunks), INLINE, np.int32),
        located.offset[chunks] - start,
        located.length[chunks],
        PathTable(0),
        np.frombuffer(data, np.uint8),
        chunks,
    )


def decoded(
    source: Source,
    plan: Plan | PointsPlan,
    located: Located,
    chunks: NDArray[np.int64],
    arrived: Arrived,
    start: int,
) -> list[Bytes | None]:
    """The bytes of each chunk of one request, None for an absent one, decoded as far as Python must."""
    found: list[Bytes | None] = []
    for task in chunks.tolist():
        offset, length = int(located.offset[task]) - start, int(located.length[task])
        try:
            if arrived.error is not None:
                if (
                    isinstance(arrived.error, FileNotFoundError)
                    and located.store is not None
                    and length == WHOLE
                ):
                    found.append(None)
                    continue
                raise arrived.error
            assert arrived.data is not None
            stored = arrived.data if length == WHOLE else memoryview(arrived.data)[offset : offset + length]
            found.append(memoryview(source.chain_of(plan, task).run_foreign(stored)))
        except Exception as err:  # whatever a codec of others raises becomes an error that names the chunk
            raise chunk_error(source, plan, task, err) from err
    return found
