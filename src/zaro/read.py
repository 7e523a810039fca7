"""Run a plan: fetch, decode, stitch. The only home of threads.

Chunks that lie in local files, by key or by span, are read by a kernel, a batch per call, on every
thread at once. Others are fetched as bytes first; codecs that no kernel serves run in Python before
the kernel takes over.
"""

from __future__ import annotations

import contextlib
import errno
import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core.read import PathTable, Read, Worker
from zaro._core.reason import REASON, Status
from zaro.codecs.chain import Chain
from zaro.errors import ChunkError, CorruptChunkError, MissingChunkError, SelectionError, StoreError
from zaro.metadata.model import ArrayMetadata
from zaro.plan.chunks import Plan, PointsPlan
from zaro.plan.requests import Requests, merge
from zaro.references.plain import KeyTable
from zaro.references.shard import ShardTable
from zaro.references.table import ABSENT, INLINE, WHOLE, Located, Table
from zaro.stores.base import Bytes
from zaro.stores.local import LocalStore
from zaro.stores.remote import FsspecStore
from zaro.stores.targets import Targets
from zaro.stores.zip import ZipStore

if TYPE_CHECKING:
    from zaro.stores.fetch import Arrived, Fetch

__all__ = ["Source", "check_output", "read"]

# a read of less than this is done before another thread has woken
_WORTH_A_THREAD = 1 << 19
# chunks whose bytes are in memory at a time, for each thread
_BATCH_BYTES = 32 << 20
# workers with more room than this are not kept for the next read
_KEPT_ROOM = 32 << 20

_CORRUPT = {Status.SHORT, Status.LONG, Status.HEADER, Status.CORRUPT, Status.CHECKSUM}


@dataclass(frozen=True, eq=False)
class Source:
    """All that reading one array needs: what it is, where its chunks lie, how they decode."""

    node: str
    metadata: ArrayMetadata
    chain: Chain
    table: Table
    targets: Targets
    missing: Literal["fill", "warn", "raise"] = "fill"
    paths: dict[int, PathTable] = field(default_factory=dict, repr=False)

    def key(self, chunk: int) -> str:
        """Key of one chunk below the array, for messages; an inner chunk stands behind its shard's."""
        encoding = self.metadata.key_encoding
        if isinstance(self.table, ShardTable):
            shard, _ = self.table.place(np.array([chunk]))
            key = encoding.key(_index(int(shard[0]), self.table.shard_grid))
            return f"{key}, inner chunk {_index(chunk, self.metadata.grid)}"
        return encoding.key(_index(chunk, self.metadata.grid))

    def path_table(self, files: Sequence[str]) -> PathTable:
        """Paths of a table's files, kept from read to read."""
        known = self.paths.get(id(files))
        if known is None or known.n != len(files):
            known = self.paths[id(files)] = PathTable(len(files))
        return known


def _index(chunk: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(chunk, grid)) if grid else ()


# ---- threads ----------------------------------------------------------------------------------

_pool: ThreadPoolExecutor | None = None
_pool_size = 0
_workers: deque[Worker] = deque(maxlen=256)


def _forget_threads() -> None:
    global _pool, _pool_size
    _pool, _pool_size = None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _helpers(n: int) -> ThreadPoolExecutor:
    global _pool, _pool_size
    if _pool is None or _pool_size < n:
        _pool, _pool_size = ThreadPoolExecutor(n, thread_name_prefix="zaro"), n
    return _pool


def _with_worker(take_part: Callable[[Worker], None]) -> None:
    try:
        worker = _workers.pop()
    except IndexError:
        worker = Worker()
    take_part(worker)
    if worker.nbytes <= _KEPT_ROOM:
        _workers.append(worker)


def _on_threads(take_part: Callable[[Worker], None], stop: Callable[[], None], n: int) -> None:
    """Let this thread and n - 1 others take part; helpers that come too late are let go."""
    helpers: list[Future[None]] = []
    if n > 1:
        pool = _helpers(config.threads() - 1)
        with contextlib.suppress(RuntimeError):  # while the interpreter shuts down there are no helpers
            helpers.extend(pool.submit(_with_worker, take_part) for _ in range(n - 1))
    try:
        _with_worker(take_part)
    except BaseException:
        stop()
        raise
    finally:
        for helper in helpers:
            if not helper.cancel():
                helper.result()


def _thread_count(n_task: int, block_nbytes: int) -> int:
    if n_task < 2 or n_task * block_nbytes < _WORTH_A_THREAD:
        return 1
    return min(config.threads(), n_task)


# ---- reading ----------------------------------------------------------------------------------


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
    try:
        absent = (_read_objects if dtype.kind in "OT" else _read_blocks)(source, plan, target)
    except MemoryError as err:
        nbytes = source.metadata.chunk_nbytes
        reason = f"there is no memory to decode it, a chunk of {nbytes} bytes: {err}"
        raise ChunkError(reason, node=source.node, key=source.key(int(plan.ids()[0]))) from err
    if target is not out:
        out[...] = target
    if absent and source.missing == "warn":
        warnings.warn(
            f"{absent} chunks of {source.node!r} are absent and read as the fill value", stacklevel=3
        )
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
        return _run_keys(source, plan, out, source.table, source.table.store)
    located = _locate(source, plan)
    away = _away(source, located)
    absent = _run_remote(source, plan, out, located, np.flatnonzero(away)) if away.any() else 0
    if away.all():
        return absent
    tasks = np.flatnonzero(~away) if away.any() else None
    in_memory = located.store is not None and not isinstance(located.store, LocalStore)
    if source.chain.foreign or in_memory or isinstance(source.table, KeyTable):
        return absent + _run_fetched(source, plan, out, located, tasks)
    paths = source.path_table(located.files) if located.store is None else PathTable(len(located.files))
    here = located if tasks is None else _rows(located, ~away)
    _name_files(source, here, paths)
    return absent + _run_files(source, plan, out, here, paths, tasks)


def _locate(source: Source, plan: Plan | PointsPlan) -> Located:
    try:
        return source.table.locate(plan.ids())
    except ChunkError as err:
        err.node = err.node or source.node
        raise


def _away(source: Source, located: Located) -> NDArray[np.bool_]:
    """Which chunks lie where only fsspec reaches."""
    if located.store is not None:
        return (located.file_id >= 0) & isinstance(located.store, FsspecStore)
    known = source.path_table(located.files)
    unset = known.unset(located.file_id)
    elsewhere = [k for k in unset if source.targets.local_path(located.files[k]) is None]
    return np.isin(located.file_id, elsewhere) if elsewhere else np.zeros(len(located.file_id), np.bool_)


def _name_files(source: Source, located: Located, paths: PathTable) -> None:
    """Give the kernel the paths that it needs."""
    for file_id in paths.unset(located.file_id):
        url = located.files[file_id]
        store = located.store
        local = f"{store.url}/{url}" if store is not None else source.targets.local_path(url)
        assert local is not None
        paths.set(file_id, os.fsencode(local))


def _by_file(file_id: NDArray[np.int32]) -> NDArray[np.int64] | None:
    """An order in which each file is read in one go; None where that is so already.

    Chunks of a shard, or of a file that holds a tile, do not follow one another in the array's order.
    """
    changes = np.count_nonzero(file_id[1:] != file_id[:-1])
    if changes <= 2 * np.count_nonzero(np.bincount(file_id - min(INLINE, int(file_id.min(initial=0))))):
        return None
    return np.argsort(file_id, kind="stable")


def _rows(located: Located, mask: NDArray[np.bool_] | NDArray[np.int64]) -> Located:
    return Located(
        located.file_id[mask],
        located.offset[mask],
        located.length[mask],
        located.files,
        located.inline,
        located.store,
    )


def _kernel(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> Read:
    metadata = source.metadata
    by_points = isinstance(plan, PointsPlan)
    everything = np.empty((0, 6), np.int64)
    return Read(
        [(everything, None, None, 0)] * metadata.ndim if by_points else plan.rows(out),  # type: ignore[union-attr]
        source.chain.order if source.chain.order is not None else tuple(range(metadata.ndim)),
        metadata.dtype.itemsize,
        out,
        _fill_bytes(metadata),
        source.chain.kernel,
        source.missing == "raise",
        (plan.begin, plan.index, plan.source, plan.target, plan.block)
        if isinstance(plan, PointsPlan)
        else None,
    )


def _fill_bytes(metadata: ArrayMetadata) -> bytes:
    value = np.empty((), metadata.dtype)
    value[()] = metadata.blank
    return value.tobytes()


def _run_keys(
    source: Source, plan: Plan | PointsPlan, out: NDArray[Any], table: KeyTable, store: LocalStore
) -> int:
    kernel = _kernel(source, plan, out)
    prefix, encoding = table.prefix, table.encoding
    kernel.from_keys(
        store.handle,
        os.fsencode(prefix + (encoding.prefix if table.grid else encoding.key(()))),
        encoding.separator,
    )
    _run(kernel, source, plan, None)
    return kernel.absent


def _run_files(
    source: Source,
    plan: Plan | PointsPlan,
    out: NDArray[Any],
    located: Located,
    paths: PathTable,
    tasks: NDArray[np.int64] | None,
) -> int:
    kernel = _kernel(source, plan, out)
    inline = np.frombuffer(located.inline, np.uint8)
    order = _by_file(located.file_id)
    if order is not None:
        located, tasks = _rows(located, order), order if tasks is None else tasks[order]
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


def _run(kernel: Read, source: Source, plan: Plan | PointsPlan, tasks: NDArray[np.int64] | None) -> None:
    n = plan.n_task if tasks is None else len(tasks)
    _on_threads(kernel.run, kernel.stop, _thread_count(n, source.metadata.chunk_nbytes))
    if kernel.error is not None:
        raise _error(source, plan, kernel, tasks)


def _fetch_remote(
    source: Source, plan: Plan | PointsPlan, located: Located, tasks: NDArray[np.int64], most: int
) -> tuple[Requests, Fetch]:
    """Start the requests that bring the bytes of some chunks."""
    from zaro.stores.fetch import Fetch

    length = located.length[tasks]
    too_long = np.flatnonzero(length > most)
    if len(too_long):
        task = int(tasks[too_long[0]])
        raise CorruptChunkError(f"{REASON[Status.LONG]}: at most {most} bytes", **_facts(source, plan, task))
    requests = merge(located.file_id[tasks], located.offset[tasks], length)
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


def _run_remote(
    source: Source, plan: Plan | PointsPlan, out: NDArray[Any], located: Located, tasks: NDArray[np.int64]
) -> int:
    """Fetch chunks, and decode those that are there while others are still on their way."""
    most = _stored_most(source, plan, out)
    requests, fetch = _fetch_remote(source, plan, located, tasks, most)
    absent: list[int] = []

    def take_part(worker: Worker) -> None:
        while (arrived := fetch.take()) is not None:
            chunks = tasks[requests.serves(arrived.number)]
            start = int(requests.offset[arrived.number])
            try:
                kernel = _kernel(source, plan, out)
                whole = requests.length[arrived.number] == WHOLE
                if arrived.data is not None and not source.chain.foreign and not whole:
                    _spans_of(kernel, located, chunks, arrived.data, start)
                else:
                    kernel.from_memory(_arrived(source, plan, located, chunks, arrived, start), chunks)
                kernel.run(worker)
                if kernel.error is not None:
                    raise _error(source, plan, kernel, chunks)
            except BaseException:
                fetch.stop()
                raise
            fetch.done(arrived)
            absent.append(kernel.absent)

    _on_threads(take_part, fetch.stop, _thread_count(len(tasks), source.metadata.chunk_nbytes))
    return sum(absent)


def _stored_most(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> int:
    """Bytes that a stored chunk may have."""
    known = not source.chain.foreign and source.chain.blocks is None
    return _kernel(source, plan, out).stored_most if known else source.chain.stored_most


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


def _arrived(
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
            found.append(memoryview(source.chain.run_foreign(stored)))
        except Exception as err:  # whatever a codec of others raises becomes an error that names the chunk
            raise _chunk_error(source, plan, task, err) from err
    return found


def _run_fetched(
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
    absent = 0

    def take_part(worker: Worker) -> None:
        nonlocal absent
        while True:
            try:
                batch = batches.popleft()
            except IndexError:
                return
            kernel = _kernel(source, plan, out)
            kernel.from_memory(_fetch(source, plan, located, batch, decode=True), batch)
            kernel.run(worker)
            if kernel.error is not None:
                batches.clear()
                raise _error(source, plan, kernel, batch)
            absent += kernel.absent

    _on_threads(take_part, batches.clear, _thread_count(len(todo), source.metadata.chunk_nbytes))
    return absent


def _fetch(
    source: Source, plan: Plan | PointsPlan, located: Located, tasks: NDArray[np.int64], *, decode: bool
) -> list[Bytes | None]:
    """The bytes of some chunks, None for absent ones; decoded as far as Python must, if asked."""
    found: list[Bytes | None] = []
    for task in tasks.tolist():
        try:
            stored = _stored(source, located, task)
            if decode and stored is not None:
                stored = memoryview(source.chain.run_foreign(stored))
        except Exception as err:  # whatever a codec of others raises becomes an error that names the chunk
            raise _chunk_error(source, plan, task, err) from err
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
        reason = (
            f"{REASON[Status.LONG]}: {nbytes} bytes are stored, expected {source.chain.stored_most} at most"
        )
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


def _read_objects(source: Source, plan: Plan | PointsPlan, out: NDArray[Any]) -> int:
    """Blocks of Python objects: decoded chunk by chunk, and placed by NumPy."""
    located = _locate(source, plan)
    fill = source.metadata.blank
    flat = out.reshape(-1) if isinstance(plan, PointsPlan) else out
    absent = 0
    for task, stored in _each_stored(source, plan, located, out):
        block = None
        if stored is None:
            absent += 1
            if source.missing == "raise":
                raise MissingChunkError(REASON[Status.ABSENT_CHUNK], **_facts(source, plan, task))
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
    away = _away(source, located)
    for task in np.flatnonzero(~away).tolist():
        yield task, _fetch(source, plan, located, np.array([task]), decode=True)[0]
    if not away.any():
        return
    tasks = np.flatnonzero(away)
    requests, fetch = _fetch_remote(source, plan, located, tasks, _stored_most(source, plan, out))
    try:
        while (arrived := fetch.take()) is not None:
            chunks = tasks[requests.serves(arrived.number)]
            start = int(requests.offset[arrived.number])
            yield from zip(
                chunks.tolist(), _arrived(source, plan, located, chunks, arrived, start), strict=True
            )
            fetch.done(arrived)
    finally:
        fetch.stop()


def _object_block(source: Source, plan: Plan | PointsPlan, task: int, stored: Bytes) -> NDArray[Any]:
    assert source.chain.blocks is not None
    try:
        return source.chain.blocks(stored)
    except Exception as err:  # as in _fetch
        raise _chunk_error(source, plan, task, err) from err


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


# ---- errors -----------------------------------------------------------------------------------


def _facts(source: Source, plan: Plan | PointsPlan, task: int) -> dict[str, Any]:
    """Node, key, file and span of one chunk, for its error."""
    ids = plan.ids()[task : task + 1]
    located = source.table.locate(ids)
    chunk = int(ids[0])
    facts: dict[str, Any] = {"node": source.node, "key": source.key(chunk)}
    file_id, offset, length = int(located.file_id[0]), int(located.offset[0]), int(located.length[0])
    if file_id >= 0:
        store = located.store
        name = located.files[file_id] if store is not None else _describe_file(located.files, file_id)
        facts["file"] = f"{store.url}/{name}" if store is not None else name
        if length >= 0:
            facts |= {"offset": offset, "length": length}
    elif file_id == INLINE:
        facts["file"] = "inline data of the reference set"
    return facts


def _describe_file(files: Sequence[str], file_id: int) -> str:
    """The file for a message: every place where it was looked for."""
    places = getattr(files, "places", None)
    url = files[file_id]
    return url if places is None or os.path.exists(url) else " or ".join(places(file_id))


def _chunk_error(source: Source, plan: Plan | PointsPlan, task: int, err: Exception) -> ChunkError:
    facts = _facts(source, plan, task)
    if isinstance(err, ChunkError):  # a codec tells what is wrong, not with which chunk
        return err if err.key else type(err)(err.reason, **facts)
    if isinstance(err, FileNotFoundError):
        return ChunkError("the file does not exist", **facts)
    if isinstance(err, StoreError) and err.url == facts.get("file"):
        tries = f" (after {err.attempts} attempts)" if err.attempts > 1 else ""
        return ChunkError(f"{err.reason}{tries}", **facts)
    if isinstance(err, (StoreError, OSError)):
        return ChunkError(str(err), **facts)
    return CorruptChunkError(f"{type(err).__name__}: {err}", **facts)


def _error(
    source: Source, plan: Plan | PointsPlan, kernel: Read, tasks: NDArray[np.int64] | None
) -> ChunkError:
    assert kernel.error is not None
    status, k, step, code, got = kernel.error
    task = int(k if tasks is None else tasks[k])
    facts = _facts(source, plan, task)
    reason = REASON[status]
    if status == Status.ABSENT_CHUNK:
        return MissingChunkError(reason, **facts)
    if status == Status.IO or (status == Status.MISSING and code not in (0, errno.ENOENT)):
        reason = "is no file but a pipe or device" if code == errno.ENODEV else os.strerror(code)
        return ChunkError(reason, **facts)
    if status not in _CORRUPT:
        return ChunkError(reason, **facts)
    if source.chain.kernel.steps:
        reason = f"{source.chain.kernel.steps[step][0]}: {reason}"
    have = f" ({got} bytes are stored)" if got >= 0 else ""
    block = f"{source.metadata.chunk_nbytes} bytes decoded are expected"
    return CorruptChunkError(f"{reason}{have}; {block}", **facts)
