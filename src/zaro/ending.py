"""What becomes of threads when the interpreter ends.

Pools take no more work when the main thread has ended; other threads may go on for hours: `LastingPool`.

Before Python 3.14 daemon threads are cut off wherever they next wait for the GIL. Two things must not happen:

* to be cut off in a destructor in C++ aborts the process, and those of pyarrow's readers wait for the GIL
  (apache/arrow#45017): `undisturbed`;
* to write an error when the main thread closes stderr aborts it too, and the connections that they read from
  are closed: `halt`.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

__all__ = ["LastingPool", "halt", "undisturbed"]

_T = TypeVar("_T")
_P = ParamSpec("_P")

_PATIENCE = 5.0  # seconds; a daemon thread that lives longer than this is waited for by somebody


class LastingPool(ThreadPoolExecutor):
    """A pool of threads; what they no longer take is done by whoever submits it."""

    def submit(self, work: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """As `Executor.submit`."""
        try:
            return super().submit(work, *args, **kwargs)
        except RuntimeError:  # the main thread has ended
            done: Future[_T] = Future()
            try:
                done.set_result(work(*args, **kwargs))
            except BaseException as err:
                done.set_exception(err)
            return done


class _Gate:
    """Lets threads in until it is closed."""

    def __init__(self) -> None:
        self.open()

    def open(self) -> None:
        """Begin anew, with nobody inside."""
        self._changed = threading.Condition()
        self._inside, self.closed = 0, False

    def enter(self) -> bool:
        """Go in; False if it is closed."""
        with self._changed:
            self._inside += not self.closed
            return not self.closed

    def leave(self) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody in any more, and wait until nobody is inside."""
        with self._changed:
            self.closed = True
            self._changed.wait_for(lambda: self._inside == 0)


_gate = _Gate()

os.register_at_fork(after_in_child=_gate.open)  # threads that were inside stayed with the parent
# The first finalizer of a process gives all of them their place among what is called at exit, latest first.
# What is registered after it is called before them; they close connections.
weakref.finalize(_gate, _gate.close)
atexit.register(_gate.close)


def halt() -> None:
    """Keep a daemon thread where it is, once the interpreter ends, until it is cut off; let all others go on.

    Raises
    ------
    RuntimeError
        That takes long: somebody waits for this thread.
    """
    if _gate.closed and threading.current_thread().daemon:
        time.sleep(_PATIENCE)
        raise RuntimeError("the interpreter ends: a daemon thread can read no more")


def undisturbed(work: Callable[[], _T]) -> _T:
    """Do work that a daemon thread must not be cut off in: the interpreter waits for it, or it is not begun.

    What must not be cut off has to be dropped when `work` returns.

    Raises
    ------
    RuntimeError
        As from `halt`.
    """
    if not threading.current_thread().daemon:
        return work()
    if not _gate.enter():
        halt()
    try:
        return work()
    finally:
        _gate.leave()
