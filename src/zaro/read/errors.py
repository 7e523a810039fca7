"""From what went wrong to an error that names node, key, file and span."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.read import Read
from zaro._core.reason import REASON, Status
from zaro.errors import ChunkError, CorruptChunkError, MissingChunkError, StoreError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.source import Source
from zaro.references.table import INLINE

__all__ = ["chunk_error", "facts_of", "kernel_error"]

_CORRUPT = {Status.SHORT, Status.LONG, Status.HEADER, Status.CORRUPT, Status.CHECKSUM}


def facts_of(source: Source, plan: Plan | PointsPlan, task: int) -> dict[str, Any]:
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
    return url if places is None or os.path.exists(url) else " or ".join(dict.fromkeys(places(file_id)))


def chunk_error(source: Source, plan: Plan | PointsPlan, task: int, err: Exception) -> ChunkError:
    """Make the error for one chunk of what fetching or decoding it raised."""
    facts = facts_of(source, plan, task)
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


def kernel_error(
    source: Source, plan: Plan | PointsPlan, kernel: Read, tasks: NDArray[np.int64] | None
) -> ChunkError:
    """Make the error for the chunk at which the kernel stopped; `tasks` are those that it was given."""
    assert kernel.error is not None
    status, k, step, code, got = kernel.error
    task = int(k if tasks is None else tasks[k])
    facts = facts_of(source, plan, task)
    reason = REASON[status]
    if status == Status.ABSENT_CHUNK:
        return MissingChunkError(reason, **facts)
    if status == Status.IO or (status == Status.MISSING and code not in (0, errno.ENOENT)):
        reason = "is no file but a pipe or device" if code == errno.ENODEV else os.strerror(code)
        return ChunkError(reason, **facts)
    if source.chain.kernel.steps and status != Status.MISSING:
        reason = f"{source.chain.kernel.steps[step][0]}: {reason}"
    if status not in _CORRUPT:
        return ChunkError(reason, **facts)
    have = f" ({got} bytes are stored)" if got >= 0 else ""
    block = f"{source.metadata.chunk_nbytes} bytes decoded are expected"
    return CorruptChunkError(f"{reason}{have}; {block}", **facts)
