"""Python's garbage collector, kept still for a while by whoever needs that, however many do at a time."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["still"]


class _Holders:
    """How many want it still now, and whether it ran before the first of them."""

    def __init__(self) -> None:
        self.lock, self.count, self.ran = threading.RLock(), 0, False
        os.register_at_fork(after_in_child=self.let_go)

    def enter(self) -> None:
        with self.lock:
            if not self.count:
                self.ran = gc.isenabled()
            self.count += 1
            gc.disable()

    def leave(self) -> None:
        with self.lock:
            self.count = max(self.count - 1, 0)
            if not self.count and self.ran:
                gc.enable()

    def let_go(self) -> None:
        """A child that is forked has one thread, which goes on where it was: the others hold nothing."""
        self.lock = threading.RLock()
        if self.count:
            self.count = 0
            if self.ran:
                gc.enable()


_HOLDERS = _Holders()


@contextmanager
def still() -> Iterator[None]:
    """Keep the collector still: for the whole process, so not for long.

    Worth it where many objects are made that stay, as those of a large hierarchy: a collector would look
    through all of them, again and again, in vain.
    """
    _HOLDERS.enter()
    try:
        yield
    finally:
        _HOLDERS.leave()
