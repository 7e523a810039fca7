"""The file that is scanned: local, or remote behind a cache of blocks that looks like a file."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from zaro.collector import still
from zaro.errors import StoreError, StoreNotFoundError
from zaro.references.files import is_local, local_path
from zaro.stores import loop
from zaro.stores.base import Bytes, Place
from zaro.stores.fetch import read_all
from zaro.stores.filesystems import info, place_of, read_ends
from zaro.stores.local import open_file
from zaro.stores.remote import read_parts

__all__ = ["RemoteFile", "Source", "open_source"]

BLOCK = 1 << 15
"""Bytes that are fetched at least."""
RUN = 1 << 20
"""Bytes of one request at most; neighbouring blocks are fetched together."""
SMALL = 4 << 20
"""Files up to so many bytes are fetched as a whole when they are opened, in requests side by side."""
WHOLE = 32 << 20
"""Files up to so many bytes are fetched as a whole when something is wanted that is not there."""
ENDS = 1 << 20
"""Bytes that are fetched of each end of a file when it is opened."""
AT_ONCE = 64
"""Requests under way at a time: they bring little, and wait for the latency."""
Below = Callable[[int, memoryview], list[tuple[int, int]]]
"""From the offset of what was read, and its bytes, to spans that will be read next."""


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
        size = self.size
        if not 0 <= offset <= size - length:  # a file's own word, for which no memory is taken
            raise StoreError(self.url, f"has {size} bytes, which do not hold {length} from {offset}")
        if self.path is not None:
            data = os.pread(self._file.fileno(), length, offset)
        else:
            self._file.seek(offset)
            data = self._file.read(length) or b""
        if len(data) != length:
            raise StoreError(
                self.url, f"became shorter while it was read: {len(data)} of {length} bytes came"
            )
        return data

    def head(self, length: int) -> bytes:
        """The first bytes, fewer where the file is shorter."""
        return self.read(0, min(length, self.size))


class RemoteFile(io.RawIOBase):
    """A remote file that can be read anywhere: fetched in blocks, each once.

    Both ends are asked for at the same time, and tell the size. The rest of a small file follows at once, of
    a larger one when something is read that is not there. Of a large one comes what is read, and the nodes
    of an index that lie below it: an index costs a latency for each of its levels. Whoever can tell
    beforehand what he will read notes it, and has it fetched side by side.
    """

    def __init__(self, place: Place, timeout: float) -> None:
        self.place, self.timeout = place, timeout
        self.nbytes, start, end = loop.run(_ends(place, timeout))
        self._at, self._blocks = 0, dict[int, bytes]()
        self._noted: set[int] | None = None
        self.lacking = 0
        self.below: Below = _nothing
        self._passed = set[int]()
        self._keep(0, start)
        self._keep(self.nbytes - len(end), end)
        if self.nbytes <= SMALL:
            self._fetch(self._blocks_of(0, self.nbytes))

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
        start, end = self._at, min(self._at + len(view), self.nbytes)
        if end <= start:
            return 0
        complete = self.want(start, end - start)
        done = self._copy(start, view[: end - start])
        self._at = end
        if complete:
            self._go_below(start, view[:done])
        return done

    def _copy(self, start: int, out: memoryview) -> int:
        """Fill `out` with what lies at `start`; zeros where that is not there."""
        done = 0
        for block in self._blocks_of(start, len(out)):
            at = start + done - block * BLOCK
            part = self._blocks.get(block, _NOTHING)[at : at + len(out) - done]
            out[done : done + len(part)] = part
            done += len(part)
        return done

    def _go_below(self, start: int, node: memoryview) -> None:
        """Fetch the nodes below one, and those below them, each level side by side."""
        spans = self.below(start, node)
        while spans:
            self._want({k for span in spans for k in self._blocks_of(*span)})
            there = [s for s in spans if s[0] not in self._passed and not self._lacking(self._blocks_of(*s))]
            self._passed.update(offset for offset, _ in there)
            spans = [below for span in there for below in self.below(span[0], self._part(*span))]

    def _part(self, start: int, length: int) -> memoryview:
        found = memoryview(bytearray(length))
        self._copy(start, found)
        return found

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Fetch nothing meanwhile: what is not there reads as zeros, and is fetched afterwards, all at once.

        `lacking` counts how often something was not there.
        """
        noted = self._noted = set[int]()
        try:
            yield
        finally:
            self._noted = None
        self._fetch(noted)

    def want(self, offset: int, length: int) -> bool:
        """Fetch what will be read later, or note it; whether it is there now."""
        return self._want(self._blocks_of(offset, length))

    def _blocks_of(self, offset: int, length: int) -> range:
        return range(offset // BLOCK, -(-min(offset + length, self.nbytes) // BLOCK))

    def _lacking(self, blocks: Iterable[int]) -> set[int]:
        return {block for block in blocks if block not in self._blocks}

    def _want(self, blocks: Iterable[int]) -> bool:
        """Fetch blocks, or note them; whether all are there now."""
        lacking = self._lacking(blocks)
        if self._noted is None:
            whole = lacking and self.nbytes <= WHOLE
            self._fetch(self._blocks_of(0, self.nbytes) if whole else lacking)
            return True
        self.lacking += len(lacking)
        self._noted |= lacking
        return not lacking

    def _fetch(self, blocks: Iterable[int]) -> None:
        """Fetch blocks that are not there yet, neighbours in one request."""
        runs = _runs(sorted(self._lacking(blocks)))
        spans = [
            (self.place, r.start * BLOCK, min(r.stop * BLOCK, self.nbytes) - r.start * BLOCK) for r in runs
        ]
        # h5py calls us under its lock, and needs that lock to free an object: were a thread that fetches
        # to collect one that somebody left in a cycle, the two would wait for each other for ever
        with still():
            found = read_parts(spans, self.timeout, at_once=AT_ONCE) if spans else []
        for run, data in zip(runs, found, strict=True):
            if isinstance(data, Exception):
                raise data
            self._keep(run.start * BLOCK, data)

    def _keep(self, offset: int, data: Bytes) -> None:
        """Keep the blocks of which all bytes came."""
        for block in self._blocks_of(offset, len(data)):
            at = block * BLOCK - offset
            if at >= 0 and at + min(BLOCK, self.nbytes - block * BLOCK) <= len(data):
                self._blocks[block] = bytes(data[at : at + BLOCK])


_NOTHING = bytes(BLOCK)


def _nothing(_offset: int, _data: memoryview) -> list[tuple[int, int]]:
    return []


def _runs(blocks: Sequence[int]) -> list[range]:
    """Ascending blocks as runs of neighbours."""
    found: list[range] = []
    for block in blocks:
        if found and found[-1].stop == block and len(found[-1]) < RUN // BLOCK:
            found[-1] = range(found[-1].start, block + 1)
        else:
            found.append(range(block, block + 1))
    return found


async def _ends(place: Place, timeout: float) -> tuple[int, Bytes, Bytes]:
    """Size of a file, and its first and last bytes as far as they can be had without knowing the size."""
    told, start, end = await read_ends(place, ENDS, timeout=timeout)
    if told is not None:
        return told, start, end
    size, (found,) = await asyncio.gather(_size_of(place), read_all([(place, 0, ENDS)], timeout, ENDS))
    return size, b"" if isinstance(found, Exception) else found[:size], b""


async def _size_of(place: Place) -> int:
    try:
        found = await info(place)
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
            return Source(path, path, open(open_file(path), "rb", buffering=0))
        except FileNotFoundError as err:
            raise StoreNotFoundError(url, "No such file or directory") from err
    return Source(url, None, RemoteFile(place_of(url, storage_options or {}), timeout))
