"""The threads that reads share, and the workers that they take along."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from zaro import config
from zaro._core.read import Worker

__all__ = ["on_threads", "thread_count"]

# a read of less than this is done before another thread has woken
_WORTH_A_THREAD = 1 << 19
# workers with more room than this are not kept for the next read
_KEPT_ROOM = 32 << 20

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


def on_threads(take_part: Callable[[Worker], None], stop: Callable[[], None], n: int) -> None:
    """Let this thread and n - 1 others take part; helpers that come too late are let go.

    What goes wrong on one stops them all. When this returns or raises nobody takes part any more: the output
    is the caller's again.
    """

    def help_out() -> None:
        try:
            _with_worker(take_part)
        except BaseException:
            stop()
            raise

    helpers: list[Future[None]] = []
    if n > 1:
        pool = _helpers(config.threads() - 1)
        with contextlib.suppress(RuntimeError):  # while the interpreter shuts down there are no helpers
            helpers.extend(pool.submit(help_out) for _ in range(n - 1))
    try:
        _with_worker(take_part)
        _finish(helpers)
    except BaseException:
        stop()
        _finish(helpers)
        raise
    for helper in helpers:
        if not helper.cancelled():
            helper.result()


def _finish(helpers: list[Future[None]]) -> None:
    """Let helpers go that have not begun, and wait for the others."""
    begun = [helper for helper in helpers if not helper.cancel()]
    if begun:
        wait(begun)


def thread_count(n_task: int, block_nbytes: int) -> int:
    """Choose how many threads a read of so many blocks is worth."""
    if n_task < 2 or n_task * block_nbytes < _WORTH_A_THREAD:
        return 1
    return min(config.threads(), n_task)
