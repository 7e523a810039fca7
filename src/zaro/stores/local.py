"""A store in a local directory."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from zaro.errors import StoreError
from zaro.stores.base import Bytes

__all__ = ["LocalStore", "read_span"]

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

    def __del__(self) -> None:
        if "handle" in self.__dict__:
            os.close(self.handle)

    def __reduce__(self) -> tuple[Any, ...]:
        return LocalStore, (self.url,)

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such file."""
        if ".." in key.split("/") or key.startswith("/"):
            raise StoreError(self.url, f"key {key!r} climbs out of the store")
        try:
            fd = os.open(key, _FLAGS, dir_fd=self.handle)
        except (FileNotFoundError, NotADirectoryError) as err:
            if os.path.lexists(os.path.join(self.url, key)):
                raise StoreError(os.path.join(self.url, key), "a link that leads nowhere") from err
            return None
        except OSError as err:
            raise StoreError(os.path.join(self.url, key), err.strerror or str(err)) from err
        try:
            return _read_all(fd, os.path.join(self.url, key))
        finally:
            os.close(fd)

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys, one after the other."""
        return [self.get(key) for key in keys]

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level."""
        try:
            return sorted(os.listdir(os.path.join(self.url, prefix)))
        except (FileNotFoundError, NotADirectoryError):
            return []


def _read_all(fd: int, path: str) -> bytes:
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise StoreError(path, f"is no file but a {_kind(status.st_mode)}")
    parts = []
    while part := os.read(fd, max(status.st_size, 1 << 16)):
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    return "pipe or device"


def read_span(path: str, offset: int, length: int | None) -> bytes:
    """Bytes of one span of a local file; `length` None reads to its end.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        The file ends before the span does, or cannot be read.
    """
    try:
        fd = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as err:
        raise StoreError(path, err.strerror or errno.errorcode.get(err.errno or 0, str(err))) from err
    try:
        if length is None:
            return _read_all(fd, path)
        size = os.fstat(fd).st_size
        if offset > size or length > size - offset:
            raise StoreError(path, f"the file has {size} bytes, {offset + length} are needed")
        parts, at = [], offset
        while at < offset + length and (part := os.pread(fd, offset + length - at, at)):
            parts.append(part)
            at += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(fd)
