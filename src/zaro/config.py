"""Settings of the process: how many threads read, and what strangers' files may ask for.

Whoever trusts a file that needs more sets the limit before opening it: `zaro.config.SHARD_INDEX = 1 << 30`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = [
    "DOCUMENT",
    "DOCUMENT_ENTRY",
    "DOCUMENT_RATIO",
    "DOCUMENT_TEXT",
    "ENTRY_RATIO",
    "METADATA",
    "OBJECT",
    "OBJECTS",
    "PARTITION",
    "PARTITION_PAGES",
    "PARTITION_RATIO",
    "REQUESTS_UNDER_WAY",
    "REQUEST_CAP",
    "REQUEST_GAP",
    "SHARD_INDEX",
    "STORED",
    "STORED_IN_MEMORY",
    "TASKS_AT_ONCE",
    "UNTOLD",
    "memory",
    "set_threads",
    "threads",
    "threads_set_to",
]

REQUEST_GAP = 256 << 10
"""Bytes between two spans of a remote file that are read along rather than asked for apart."""
REQUEST_CAP = 2 << 20
"""Bytes that merging gives a request at the most; a single span may be longer."""
REQUESTS_UNDER_WAY = 32
"""Requests of one read that are under way at a time."""
STORED_IN_MEMORY = 40 << 20
"""Stored bytes of the process that are under way or wait for their decoder; a read always has one request."""

TASKS_AT_ONCE = 1 << 19
"""Chunks that are planned at a time; a read of more is done in parts."""

DOCUMENT = 4 << 30
"""Bytes that a reference document from a server may have."""
UNTOLD = 4 << 20
"""Bytes that a metadata document from a server may have that does not tell its length."""
METADATA = 256 << 20
"""Bytes that one metadata document of a store may have."""
PARTITION = 1 << 30
"""Bytes that a partition of a Parquet set may have."""
PARTITION_PAGES = 32 << 20
"""Bytes that the columns of one row group may always unpack to."""
PARTITION_RATIO = 100
"""Beyond `PARTITION_PAGES`: bytes that they may unpack to, for each byte stored, and 64 for each row."""
DOCUMENT_TEXT = 32 << 20
"""Bytes that a compressed document may always unpack to."""
DOCUMENT_RATIO = 50
"""Beyond `DOCUMENT_TEXT`: bytes that a compressed document may unpack to, for each byte that it has."""
DOCUMENT_ENTRY = 16 << 20
"""Bytes that one entry of a compressed document may always have."""
ENTRY_RATIO = 16
"""Beyond `DOCUMENT_ENTRY`: bytes that one entry may have, for each byte of the compressed document."""
OBJECTS = 32 << 20
"""Bytes that a chunk of elements without a fixed size (text) may always decode to."""
OBJECT = 256
"""Beyond `OBJECTS`: bytes that such a chunk may decode to, for each of its elements."""
SHARD_INDEX = 16 << 20
"""Bytes that the index of one shard may have."""
STORED = 64 << 20
"""Bytes that a stored chunk may always have, where its codec does not tell how many it needs at most."""

_threads: int | None = None


def _of_the_machine() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells which processors are ours
        return os.cpu_count() or 1


def memory() -> int:
    """Bytes of memory that the machine has; 2^62 where it does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 62


def threads() -> int:
    """Threads that take part in one read: as set, else `ZARO_THREADS`, else one for each processor.

    Returns
    -------
    int
        At least 1.
    """
    if _threads is not None:
        return _threads
    asked = os.environ.get("ZARO_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else _of_the_machine()


def set_threads(n: int | None) -> None:
    """Let `n` threads take part in each read of the process from now on.

    Parameters
    ----------
    n : int or None
        At least 1; None goes back to what the environment or the machine says.

    Raises
    ------
    ValueError
        `n` is less than 1.
    """
    global _threads  # noqa: PLW0603 - the one setting of the process
    if n is not None and n < 1:
        raise ValueError(f"{n} threads; at least 1 is needed")
    _threads = n


@contextlib.contextmanager
def threads_set_to(n: int) -> Iterator[None]:
    """Let `n` threads take part in reads within a `with` block; of all threads of the process.

    Parameters
    ----------
    n : int
        At least 1.

    Yields
    ------
    None

    Raises
    ------
    ValueError
        `n` is less than 1.
    """
    before = _threads
    set_threads(n)
    try:
        yield
    finally:
        set_threads(before)
