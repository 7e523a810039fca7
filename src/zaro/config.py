"""Settings of the process: how many threads read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

__all__ = [
    "REQUESTS_UNDER_WAY",
    "REQUEST_CAP",
    "REQUEST_GAP",
    "STORED_IN_MEMORY",
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

_threads: int | None = None


def _of_the_machine() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells which processors are ours
        return os.cpu_count() or 1


def threads() -> int:
    """Threads that take part in one read: as set, else `ZARO_THREADS`, else one for each processor."""
    if _threads is not None:
        return _threads
    asked = os.environ.get("ZARO_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else _of_the_machine()


def set_threads(n: int | None) -> None:
    """Let `n` threads take part in each read from now on; None goes back to what the machine has."""
    global _threads  # noqa: PLW0603 - the one setting of the process
    if n is not None and n < 1:
        raise ValueError(f"{n} threads; at least 1 is needed")
    _threads = n


@contextlib.contextmanager
def threads_set_to(n: int) -> Iterator[None]:
    """Let `n` threads take part in reads within a `with` block."""
    before = _threads
    set_threads(n)
    try:
        yield
    finally:
        set_threads(before)
