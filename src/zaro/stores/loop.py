"""The one thread in which everything remote happens: an event loop of our own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from zaro import ending

__all__ = ["at_close", "get_loop", "run", "start"]

T = TypeVar("T")

# seconds that closing the connections may take when the interpreter ends
_CLOSING = 1.0

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_selector: selectors.BaseSelector | None = None
_thread: threading.Thread | None = None
_stopped = False
_closers: list[Callable[[], Awaitable[None]]] = []
_forgotten: list[object] = []


def get_loop() -> asyncio.AbstractEventLoop:
    """The loop of this process, started when it is first needed.

    Raises
    ------
    RuntimeError
        It has been stopped.
    """
    global _loop, _selector, _thread  # noqa: PLW0603 - one loop for the process
    with _lock:
        if _loop is None:
            _selector = selectors.DefaultSelector()
            _loop = asyncio.SelectorEventLoop(_selector)
            _loop.set_default_executor(ending.LastingPool(thread_name_prefix="zaro-names"))  # of hosts
            _thread = threading.Thread(target=_loop.run_forever, name="zaro-io", daemon=True)
            _thread.start()
    if _stopped:
        ending.halt()
        raise RuntimeError(
            "the interpreter ends: connections are closed, and nothing can be fetched any more"
        )
    return _loop


def start(work: Coroutine[Any, Any, T]) -> Callable[[], bool]:
    """Let a coroutine run in the loop; returns what cancels it."""
    return _submit(work).cancel


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in the loop and wait for its result; Ctrl-C cancels it."""
    if threading.current_thread() is _thread:
        work.close()
        raise RuntimeError("a blocking read was asked for inside of zaro's own event loop")
    future = _submit(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
    finally:
        ending.halt()  # what comes now may come from closing the connections


def _submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    try:
        return asyncio.run_coroutine_threadsafe(work, get_loop())
    except RuntimeError:
        work.close()
        raise


def at_close(close: Callable[[], Awaitable[None]]) -> None:
    """Have something closed, in the loop, when the interpreter ends."""
    _closers.append(close)


async def _close_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, *(close() for close in _closers), return_exceptions=True)


def _stop() -> None:
    global _stopped  # noqa: PLW0603 - one loop for the process
    if _loop is None or _thread is None:
        return
    with contextlib.suppress(Exception):
        asyncio.run_coroutine_threadsafe(_close_all(), _loop).result(_CLOSING)
    _stopped = True
    _loop.call_soon_threadsafe(_loop.stop)
    _thread.join(_CLOSING)


# A finalizer, not `atexit`: the latest are called first, so that those of file systems still have their loop.
weakref.finalize(_stop, _stop)


def _forget() -> None:
    """Leave the parent's loop alone in a forked child.

    The child shares the parent's connections and its epoll table: whatever the child closed or wrote
    would reach the parent's connections. So its copies of the handles become the null device.
    """
    global _lock, _loop, _selector, _thread  # noqa: PLW0603 - a child process has none of its parent's threads
    _lock = threading.Lock()
    if _loop is None or _selector is None:
        return
    numbers = [key.fd for key in (_selector.get_map() or {}).values()]
    if hasattr(_selector, "fileno"):
        numbers.append(_selector.fileno())
    with open(os.devnull, "r+b", buffering=0) as null:
        for number in numbers:
            with contextlib.suppress(OSError):
                os.dup2(null.fileno(), number, inheritable=False)
    _forgotten.extend([_loop, _selector, _closers[:]])
    _closers.clear()
    _loop = _selector = _thread = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
