"""Names beside a target, where what will take its place is written; and what killed writers left there."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from contextlib import suppress

__all__ = ["aside_of", "hold", "sweep"]

FRESH = 60.0
"""Seconds in which something that nobody holds yet may belong to a writer that has just begun."""


def aside_of(target: str, ending: str) -> str:
    """Name a file or folder beside a target: hidden, and used by nobody else."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{os.urandom(6).hex()}.{ending}")


def hold(handle: int) -> None:
    """Let others see that a writer lives, for as long as the handle is open: a kill ends that too."""
    with suppress(OSError):  # a file system without locks: there nothing is swept either
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def sweep(target: str, ending: str) -> None:
    """Remove what writers of the same target left that were killed."""
    folder, name = os.path.split(target)
    ours = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{12}}\.{re.escape(ending)}", re.DOTALL)
    with suppress(OSError):
        for entry in os.listdir(folder):
            if ours.fullmatch(entry):
                _remove(os.path.join(folder, entry))


def _remove(path: str) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if time.time() - os.fstat(handle).st_mtime < FRESH:
                return
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # an error where its writer lives
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        finally:
            os.close(handle)
