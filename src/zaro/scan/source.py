"""The file that is scanned: local, or remote behind a cache of blocks that looks like a file."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from zaro.collector import still
from zaro.errors import StoreError, StoreNotFoundError
from zaro.references.files import is_local, local_path
from zaro.stores import loop
from zaro.stores.base import Place
from zaro.stores.filesystems import in_thread, place_of
from zaro.stores.remote import read_parts

__all__ = ["RemoteFile", "Source", "open_source"]

BLOCK = 1 << 20
"""Bytes that are fetched at a time."""
WHOLE = 32 << 20
"""Files up to so many bytes are fetched at once, in blocks side by side: it costs one latency."""
_AHEAD = 4  # blocks fetched at each end of a larger file when it is opened


class Source:
    """One file that is scanned.

    Attributes
    ----------
    url : str
        What references name: an absolute path, or the URL as it was given.
    path : str or None
        Path of a local file.
    """

    def __init__(self, url: str, path: str | None, file: io.RawIOBase | io.BufferedReader) -> None:
        self.url, self.path, self._file = url, path, file

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def file(self) -> Any:
        """The file as Python's `io` has it, for libraries that take one."""
        return self._file

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.seek(0, io.SEEK_END)

    def read(self, offset: int, length: int) -> bytes:
        """Bytes of a span.

        Raises
        ------
        StoreError
            The file ends before the span does.
        """
        if self.path is not None:
            data = os.pread(self._file.fileno(), length, offset)
        else:
            self._file.seek(offset)
            data = self._file.read(length) or b""
        if len(data) != length:
            raise StoreError(self.url, f"ends within bytes {offset}+{length}, {len(data)} of them are there")
        return data

    def head(self, length: int) -> bytes:
        """The first bytes, fewer where the file is shorter."""
        return self.read(0, min(length, self.size))


class RemoteFile(io.RawIOBase):
    """A remote file that can be read anywhere: fetched in blocks, each once.

    The first requests bring a small file as a whole, of a large one its two ends, where formats keep
    their indices. `requests` counts what was asked for.
    """

    def __init__(self, place: Place, timeout: float) -> None:
        self.place, self.timeout, self.requests = place, timeout, 1
        self.nbytes = loop.run(_size_of(place))
        self._at, self._blocks = 0, dict[int, bytes]()
        last = -(-self.nbytes // BLOCK)
        ends = range(last) if self.nbytes <= WHOLE else [*range(_AHEAD), *range(last - _AHEAD, last)]
        self._fetch(list(ends))

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.nbytes}[whence]
        self._at = max(start + offset, 0)
        return self._at

    def tell(self) -> int:
        """Position."""
        return self._at

    def readinto(self, out: Any) -> int:
        """Fill `out` as far as the file goes."""
        view = memoryview(out).cast("B")
        end = min(self._at + len(view), self.nbytes)
        if end <= self._at:
            return 0
        blocks = range(self._at // BLOCK, -(-end // BLOCK))
        self._fetch([block for block in blocks if block not in self._blocks])
        done = 0
        for block in blocks:
            start = self._at + done - block * BLOCK
            part = self._blocks[block][start : start + end - self._at - done]
            view[done : done + len(part)] = part
            done += len(part)
        self._at += done
        return done

    def _fetch(self, blocks: Sequence[int]) -> None:
        spans = [(self.place, block * BLOCK, min(BLOCK, self.nbytes - block * BLOCK)) for block in blocks]
        self.requests += len(spans)
        # h5py calls us under its lock, and needs that lock to free an object: were a thread that fetches
        # to collect one that somebody left in a cycle, the two would wait for each other for ever
        with still():
            found = read_parts(spans, self.timeout) if spans else []
        for block, data in zip(blocks, found, strict=True):
            if isinstance(data, Exception):
                raise data
            self._blocks[block] = bytes(data)


async def _size_of(place: Place) -> int:
    fs = place.fs
    try:
        if fs.async_impl and getattr(fs, "asynchronous", False):
            found = await fs._info(place.path)
        else:
            found = await in_thread(fs.info, place.path)
    except FileNotFoundError as err:
        raise StoreNotFoundError(place.url, "there is no such file") from err
    size = found.get("size")
    if not isinstance(size, int):
        raise StoreError(place.url, "the server does not say how large the file is")
    return size


def open_source(url: str, storage_options: Mapping[str, Any] | None = None, timeout: float = 60.0) -> Source:
    """Open a file by path or URL.

    Raises
    ------
    StoreNotFoundError
        There is none.
    StoreError
        It cannot be reached.
    """
    if is_local(url):
        path = os.path.abspath(os.path.expanduser(local_path(url)))
        try:
            return Source(path, path, open(path, "rb", buffering=0))
        except FileNotFoundError as err:
            raise StoreNotFoundError(url, "No such file or directory") from err
        except OSError as err:
            raise StoreError(url, err.strerror or str(err)) from err
    return Source(url, None, RemoteFile(place_of(url, storage_options or {}), timeout))
