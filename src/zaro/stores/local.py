"""A store in a local directory."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from zaro import config
from zaro.errors import StoreError, StoreNotFoundError
from zaro.stores.base import Bytes, is_document, span_within, too_long

__all__ = ["LocalStore", "leads_nowhere", "open_file", "read_span"]

# a FIFO must not hold the caller up
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


class LocalStore:
    """The files below one directory, opened once; keys are relative paths and cannot climb out."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.url = os.path.abspath(os.fspath(folder))

    @cached_property
    def handle(self) -> int:
        """Handle of the directory, for kernels that open files relative to it."""
        try:
            return os.open(self.url, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as err:
            raise StoreError(self.url, err.strerror or str(err)) from err

    def check_present(self, folder: str = "") -> None:
        """See that the directory is still there, and a folder in it: else no key is, whatever they held.

        Raises
        ------
        StoreNotFoundError
        """
        if os.fstat(self.handle).st_nlink == 0:
            raise StoreNotFoundError(self.url, "was removed while it was open")
        if folder:
            try:
                os.stat(folder, dir_fd=self.handle)
            except FileNotFoundError as err:
                path = os.path.join(self.url, folder)
                raise StoreNotFoundError(path, "is missing, though there is metadata of it") from err

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the end `os` may be gone
        if "handle" in self.__dict__:
            close(self.handle)

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalStore, (self.url,)

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such file."""
        return self._part(key, 0, None)

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans of keys; None where there is no such file."""
        return [self._part(*part) for part in parts]

    def _part(self, key: str, offset: int, length: int | None) -> Bytes | None:
        path = os.path.join(self.url, key)
        if ".." in key.split("/") or key.startswith("/"):
            raise StoreError(self.url, f"key {key!r} climbs out of the store")
        if "\0" in key:
            return None  # no file is called so
        try:
            fd = os.open(key, _FLAGS, dir_fd=self.handle)
        except (FileNotFoundError, NotADirectoryError) as err:
            # a folder that is such a link holds no node; an array that is there has its chunks behind it
            if leads_nowhere(path, path if is_document(key) else self.url):
                raise StoreError(path, "a link that leads nowhere") from err
            return None
        except OSError as err:
            raise StoreError(path, err.strerror or str(err)) from err
        try:
            return _read(fd, path, offset, length)
        finally:
            os.close(fd)

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys, one after the other."""
        return [self.get(key) for key in keys]

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level."""
        try:
            with os.scandir(os.path.join(self.url, prefix)) as entries:
                return sorted(
                    entry.name for entry in entries if not (entry.is_symlink() and self._leads_up(entry.path))
                )
        except (FileNotFoundError, NotADirectoryError) as err:
            if leads_nowhere(os.path.join(self.url, prefix), self.url):
                raise StoreError(os.path.join(self.url, prefix), "a link that leads nowhere") from err
            return []
        except OSError as err:
            raise StoreError(os.path.join(self.url, prefix), err.strerror or str(err)) from err

    def _leads_up(self, path: str) -> bool:
        """Whether a link leads to a folder above it: who follows it comes by again, without end."""
        target, above = os.path.realpath(path), os.path.dirname(path)
        while len(above) >= len(self.url):
            if os.path.realpath(above) == target:
                return True
            above = os.path.dirname(above)
        return False


def leads_nowhere(path: str, top: str) -> bool:
    """Whether a path that is not there, or a folder above it up to `top`, is a link to nowhere."""
    while not os.path.lexists(path) and len(path) > len(top):
        path = os.path.dirname(path)
    return os.path.islink(path) and not os.path.exists(path)


def _size(fd: int, path: str) -> int:
    """Bytes of a file; refuses what is none."""
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        kind = "directory" if stat.S_ISDIR(status.st_mode) else "pipe or device"
        raise StoreError(path, f"is no file but a {kind}")
    return status.st_size


def _read(fd: int, path: str, offset: int, length: int | None, most: int | None = None) -> bytes:
    start, n = span_within(_size(fd, path), offset, length, path)
    if is_document(path) and n > config.METADATA:
        raise StoreError(path, too_long(n))
    if most is not None and n > most:
        raise StoreError(path, f"has {n} bytes, expected {most} at most")
    parts = []
    while n > 0 and (part := os.pread(fd, n, start)):
        parts.append(part)
        start += len(part)
        n -= len(part)
    if n > 0:
        raise StoreError(path, f"became shorter while it was read, {n} bytes are missing")
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _open(path: str) -> int:
    try:
        return os.open(path, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as err:
        raise StoreError(path, err.strerror or str(err)) from err


def open_file(path: str) -> int:
    """Open a local file for reading, without waiting for whoever writes; the caller closes the handle.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        It is no file but a directory, pipe or device, or it cannot be opened.
    """
    fd = _open(path)
    try:
        _size(fd, path)
    except StoreError:
        os.close(fd)
        raise
    return fd


def read_span(path: str, offset: int, length: int | None, *, most: int | None = None) -> bytes:
    """Bytes of one span of a local file; an offset below 0 counts from the end, `length` None reads to it.

    Of bytes to the end there may be `most`.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        The file ends before the span does, or cannot be read.
    """
    fd = _open(path)
    try:
        return _read(fd, path, offset, length, most)
    finally:
        os.close(fd)
