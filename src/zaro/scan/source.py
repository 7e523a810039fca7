"""The file that is scanned: local, or remote behind a cache of blocks that looks like a file."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from zaro.collector import still
from zaro.errors import StoreError, StoreNotFoundError
from zaro.references.files import is_local, local_path
from zaro.stores import loop
from zaro.stores.base import Bytes, Place
from zaro.stores.fetch import read_all
from zaro.stores.filesystems import in_thread, place_of
from zaro.stores.remote import read_parts

__all__ = ["RemoteFile", "Source", "open_source"]

BLOCK = 1 << 16
"""Bytes that are fetched at least."""
RUN = 1 << 20
"""Bytes of one request at most; neighbouring blocks are fetched together."""
WHOLE = 32 << 20
"""Files up to so many bytes are fetched at once, in requests side by side: it costs one latency."""
ENDS = 1 << 20
"""Bytes that are fetched of each end of a larger file when it is opened."""
USUAL = 64
"""Places of a node of an index of chunks, unless somebody chose otherwise."""


class Source:
    """One file that is scanned.

    Attributes
    ----------
    url : str
        What references name: an absolute path, or the URL as it was given.
    path : str or None
        Path of a local file.
    used : list of str
        The files that its references name, once it was scanned: itself, and those that it links to.
    """

    def __init__(self, url: str, path: str | None, file: io.RawIOBase | io.BufferedReader) -> None:
        self.url, self.path, self._file = url, path, file
        self.used: list[str] = []

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

    The start is asked for together with the size. The rest of a small file follows at once; of a large one
    the end, where formats keep their indices, when something of it is wanted. Where HDF5 reads a node of an
    index, all nodes below it are fetched side by side, so that an index costs a latency for each of its
    levels. `requests` counts what was asked for.
    """

    def __init__(self, place: Place, timeout: float) -> None:
        self.place, self.timeout, self.requests = place, timeout, 2
        self.nbytes, start = loop.run(_beginning(place, timeout))
        self._at, self._blocks = 0, dict[int, bytes]()
        self._keep(range(-(-len(start) // BLOCK)), start)
        last = -(-self.nbytes // BLOCK)
        self._end = range(last - ENDS // BLOCK, last)
        if self.nbytes <= WHOLE:
            self._fetch(range(last))

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
        self._fetch(blocks)
        done = 0
        for block in blocks:
            start = self._at + done - block * BLOCK
            part = self._blocks[block][start : start + end - self._at - done]
            view[done : done + len(part)] = part
            done += len(part)
        self._at += done
        below = children(bytes(view[:done]), self.nbytes) if bytes(view[:4]) == b"TREE" else ()
        self._fetch({k for at in below for k in self._blocks_of(at, len(view))})
        return done

    def _blocks_of(self, offset: int, length: int) -> range:
        return range(offset // BLOCK, -(-min(offset + length, self.nbytes) // BLOCK))

    def _fetch(self, blocks: Collection[int]) -> None:
        """Fetch blocks that are not there yet, neighbours in one request; of the end all at once."""
        wanted = {block for block in blocks if block not in self._blocks}
        if any(block in self._end for block in wanted):
            wanted.update(block for block in self._end if block >= 0 and block not in self._blocks)
        runs = _runs(sorted(wanted))
        spans = [
            (self.place, r.start * BLOCK, min(r.stop * BLOCK, self.nbytes) - r.start * BLOCK) for r in runs
        ]
        self.requests += len(spans)
        # h5py calls us under its lock, and needs that lock to free an object: were a thread that fetches
        # to collect one that somebody left in a cycle, the two would wait for each other for ever
        with still():
            found = read_parts(spans, self.timeout) if spans else []
        for run, data in zip(runs, found, strict=True):
            if isinstance(data, Exception):
                raise data
            self._keep(run, data)

    def _keep(self, run: range, data: Bytes) -> None:
        for k, block in enumerate(run):
            self._blocks[block] = bytes(data[k * BLOCK : (k + 1) * BLOCK])


def _runs(blocks: Sequence[int]) -> list[range]:
    """Ascending blocks as runs of neighbours."""
    found: list[range] = []
    for block in blocks:
        if found and found[-1].stop == block and len(found[-1]) < RUN // BLOCK:
            found[-1] = range(found[-1].start, block + 1)
        else:
            found.append(range(block, block + 1))
    return found


def children(node: bytes, nbytes: int) -> list[int]:
    """Addresses of the nodes below a node of a B-tree of HDF5, version 1, in a file of so many bytes.

    None of a leaf. The node does not say how long its keys are, but its own length does, where it has the
    usual number of places, and leaves few answers else. A wrong one would cost needless requests, no more:
    HDF5 reads the nodes by itself.

    Source: HDF5 File Format Specification 3.0, III.A.1.
    """
    if len(node) < 24 or node[5] == 0 or node[4] not in (0, 1):
        return []
    used = int.from_bytes(node[6:8], "little")
    fitting = []
    for key in [8] if node[4] == 0 else range(24, 8 * 35, 8):
        places, rest = divmod(len(node) - 24 - key, 8 + key)
        if not rest and not places % 2 and 0 < used <= places:
            fitting.append((places != USUAL, key))
    for _, key in sorted(fitting):
        starts = range(24 + key, 24 + key + used * (8 + key), 8 + key)
        found = [int.from_bytes(node[at : at + 8], "little") for at in starts]
        if len(set(found)) == used and min(found) > 0 and max(found) < nbytes:
            return found
    return []


async def _beginning(place: Place, timeout: float) -> tuple[int, Bytes]:
    """Size of a file, and its first bytes; none where the server will not be asked for more than it has."""
    size, (start,) = await asyncio.gather(_size_of(place), read_all([(place, 0, ENDS)], timeout, ENDS))
    return size, b"" if isinstance(start, Exception) else start[:size]


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
