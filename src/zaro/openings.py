"""What this process has opened: an array that arrives with every task finds its store open already."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
import weakref
import zlib
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

__all__ = ["Openings", "crc_of", "state_of"]

_Opened = TypeVar("_Opened")
_DOCUMENTS = ("zarr.json", ".zmetadata", ".zgroup", ".zarray", ".zattrs")
_SMALL = 1 << 20  # bytes of a file that are looked at, beside its size and time


class Openings(Generic[_Opened]):
    """Opened things by what and in which state they were: shared while alive, and the last few kept.

    Parameters
    ----------
    kept : int
        How many stay open that nobody holds: between two tasks nobody does.
    """

    def __init__(self, kept: int) -> None:
        self._most, self._kept = kept, OrderedDict[Hashable, _Opened]()
        self._alive: weakref.WeakValueDictionary[Hashable, _Opened] = weakref.WeakValueDictionary()
        self._reset_locks()
        os.register_at_fork(after_in_child=self._reset_locks)

    def _reset_locks(self) -> None:
        """A child that was forked while a thread held a lock would wait for it forever."""
        self._lock, self._making = threading.Lock(), dict[Hashable, threading.Lock]()

    def note(self, key: Hashable, opened: _Opened) -> None:
        """Remember what is open, as long as somebody holds it."""
        with self._lock:
            self._alive.setdefault(key, opened)

    def again(self, key: Hashable, make: Callable[[], _Opened]) -> _Opened:
        """Give what is open under a key; else make it, once however many threads ask."""
        with self._lock:
            found = self._find(key)
            making = self._making.setdefault(key, threading.Lock())
        if found is not None:
            return found
        with making:
            with self._lock:
                found = self._find(key)
            if found is None:
                found = make()
                with self._lock:
                    self._alive[key] = self._kept[key] = found
                    self._making.pop(key, None)
                    while len(self._kept) > self._most:
                        self._kept.popitem(last=False)
        return found

    def _find(self, key: Hashable) -> _Opened | None:
        found = self._alive.get(key)
        if found is not None and key in self._kept:
            self._kept.move_to_end(key)
        return found


def crc_of(parts: Iterable[bytes | bytearray | memoryview]) -> str:
    """A sum over bytes: another one where they differ, but for an accident."""
    total = 0
    for part in parts:
        total = zlib.crc32(part, zlib.crc32(len(part).to_bytes(8, "little"), total))
    return f"{total:08x}"


def state_of(path: str) -> str:
    """What tells whether a local file, or the documents of a local folder, have changed.

    Size and time of each; of small ones their bytes too, since clocks are coarse. Empty where nothing is.
    """
    paths = [os.path.join(path, name) for name in _DOCUMENTS] if os.path.isdir(path) else [path]
    facts = []
    for each in paths:
        with contextlib.suppress(OSError):
            status = os.stat(each)
            facts.append(f"{status.st_size}.{status.st_mtime_ns}")
            if stat.S_ISREG(status.st_mode) and status.st_size <= _SMALL:  # to open a pipe is to wait
                with open(each, "rb") as file:
                    facts.append(crc_of([file.read(_SMALL)]))
    return "-".join(facts)
