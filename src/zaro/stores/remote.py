"""A store at any address that fsspec reaches, and many requests under way at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro.errors import StoreError, StoreForbiddenError, StoreNotFoundError
from zaro.stores import filesystems, loop
from zaro.stores.base import Bytes, Place
from zaro.stores.filesystems import place_of

__all__ = ["Arrived", "Fetch", "FsspecStore", "read_parts", "read_url"]

DOCUMENT_NAMES = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
"""Metadata documents that a folder may hold."""

Part = tuple[Place, int, int | None]
"""What to read: the file, the offset (below 0: from the end), the length (None: to the end)."""


# ---- the store ---------------------------------------------------------------------------------


class FsspecStore:
    """Keys below a URL.

    Parameters
    ----------
    url : str
        With its protocol; chained URLs too.
    options : mapping
        fsspec's options for it.
    timeout : float
        Seconds that one request may take, with all its attempts.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None, timeout: float = 60.0) -> None:
        self.url = url if "?" in url else url.rstrip("/")
        self._options, self._timeout = dict(options or {}), timeout
        self._root: tuple[int, Place] | None = None
        self._documents: dict[str, dict[str, Bytes | StoreError | None]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return FsspecStore, (self.url, self._options, self._timeout)

    @property
    def root(self) -> Place:
        """The place of the store itself; a forked child has file systems of its own."""
        if self._root is None or self._root[0] != os.getpid():
            found = place_of(self.url, self._options)
            self._root = os.getpid(), Place(found.fs, found.path.rstrip("/"), found.url)
        return self._root[1]

    def place(self, key: str) -> Place:
        """The place of a key."""
        if ".." in key.split("/") or key.startswith("/"):
            raise StoreError(self.url, f"key {key!r} climbs out of the store")
        root = self.root
        if not self.url.startswith(("http://", "https://")):
            return Place(root.fs, f"{root.path}/{key}" if root.path else key, _below(root.url, key))
        # a name is no query, whatever it holds; a query of the store stays behind the name
        address, mark, query = root.path.partition("?")
        url = f"{address.rstrip('/')}/{quote(key, safe='/!$&()*+,;=:@~')}{mark}{query}"
        return Place(root.fs, url, url)

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such key."""
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys, asked for at the same time."""
        return self.get_parts([(key, 0, None) for key in keys])

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans of keys, asked for at the same time; None where there is no such key."""
        return _raise_first(self.try_parts(parts))

    def try_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | StoreError | None]:
        """Spans of keys, and the errors of those that could not be read."""
        places = [(self.place(key), offset, length) for key, offset, length in parts]
        found = read_parts(places, self._timeout)
        return [None if isinstance(one, FileNotFoundError) else one for one in found]

    def document(self, key: str) -> Bytes | None:
        """A metadata document; all that may lie beside it are asked for at the same time, and kept.

        Raises
        ------
        StoreError
            It cannot be read. Where another document lies beside it, one that is forbidden counts as
            absent: some servers answer so for what they do not have.
        """
        folder, _, name = key.rpartition("/")
        if folder not in self._documents:
            self.load([folder])
        beside = self._documents[folder]
        found = beside.get(name)
        if isinstance(found, StoreForbiddenError) and any(map(_is_bytes, beside.values())):
            return None
        if isinstance(found, StoreError):
            raise found
        return found

    def root_documents(self) -> dict[str, Bytes]:
        """The metadata documents of the root that can be read.

        Raises
        ------
        StoreError
            The store cannot be reached at all.
        """
        if "" not in self._documents:
            self.load([""])
        found = self._documents[""].values()
        unreachable = [
            one for one in found if isinstance(one, StoreError) and not isinstance(one, PermissionError)
        ]
        if len(unreachable) == len(found):
            raise unreachable[0]
        return {name: one for name, one in self._documents[""].items() if _is_bytes(one)}  # type: ignore[misc]

    def load(self, folders: Sequence[str]) -> None:
        """Read the metadata documents of some folders, all at the same time."""
        keys = [
            (folder, name)
            for folder in folders
            for name in (*DOCUMENT_NAMES, *([] if folder else [".zmetadata"]))
        ]
        found = self.try_parts([(f"{folder}/{name}" if folder else name, 0, None) for folder, name in keys])
        fresh: dict[str, dict[str, Bytes | StoreError | None]] = {folder: {} for folder in folders}
        for (folder, name), one in zip(keys, found, strict=True):
            fresh[folder][name] = one
        self._documents |= fresh

    def start_of_root(self, nbytes: int) -> Bytes:
        """The first bytes of what lies at the address itself; none where it is no file."""
        try:
            found = read_parts([(self.root, 0, nbytes)], self._timeout)[0]
        except StoreError:
            return b""
        return b"" if isinstance(found, Exception) else found

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level.

        Raises
        ------
        StoreError
            The server gives no listing.
        """
        place = self.place(prefix) if prefix else self.root
        try:
            found = loop.run(filesystems.listing(place, self._timeout))
        except FileNotFoundError as err:
            if self.url.startswith(("http://", "https://")):
                raise StoreError(
                    place.url,
                    "the server gives no listing: nodes are found by name, or by consolidated metadata",
                ) from err
            return []
        return sorted(found)


def _is_bytes(found: object) -> bool:
    return found is not None and not isinstance(found, Exception)


def _below(url: str, key: str) -> str:
    """URL of a key, for messages: below the first link of a chain that has a path."""
    first, chain, rest = url.partition("::")
    if not chain or "://" not in first:
        return f"{url}/{key}"
    return f"{first if first.endswith('/') else first + '/'}{key}::{rest}"


def _raise_first(found: list[Bytes | StoreError | None]) -> list[Bytes | None]:
    good = [one for one in found if not isinstance(one, StoreError)]
    if len(good) < len(found):
        raise next(one for one in found if isinstance(one, StoreError))
    return good


def read_parts(parts: Sequence[Part], timeout: float) -> list[Bytes | StoreError | FileNotFoundError]:
    """Read a few spans at the same time; errors stand in the places of their results."""

    async def all_of_them() -> list[Bytes | StoreError | FileNotFoundError]:
        gate = asyncio.Semaphore(config.REQUESTS_UNDER_WAY)

        async def one(part: Part) -> Bytes | StoreError | FileNotFoundError:
            async with gate:
                try:
                    return await filesystems.read(*part, timeout=timeout)
                except (StoreError, FileNotFoundError) as err:
                    return err

        return list(await asyncio.gather(*map(one, parts)))

    return loop.run(all_of_them())


def read_url(url: str, options: Mapping[str, Any], timeout: float = 60.0) -> Bytes:
    """Read the whole file at a URL.

    Raises
    ------
    StoreNotFoundError
        There is none.
    StoreError
    """
    found = read_parts([(place_of(url, options), 0, None)], timeout)[0]
    if isinstance(found, FileNotFoundError) and not isinstance(found, StoreError):
        raise StoreNotFoundError(url, "No such file or directory") from found
    if isinstance(found, Exception):
        raise found
    return found


# ---- many requests -----------------------------------------------------------------------------


class _Room:
    """Bytes that may be under way or wait for their decoder, in all reads together; used in the loop only."""

    def __init__(self, nbytes: int) -> None:
        self._free = self._whole = nbytes
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, nbytes: int, *, at_once: bool) -> None:
        """Wait until there is room for so much; whoever has nothing under way need not wait."""
        if not at_once and (self._waiting or nbytes > self._free):
            turn = asyncio.get_running_loop().create_future()
            entry = (nbytes, turn)
            self._waiting.append(entry)
            try:
                await turn
            except BaseException:
                if turn.done() and not turn.cancelled():
                    self.give_back(nbytes)
                else:
                    self._waiting.remove(entry)
                raise
            return
        self._free -= nbytes

    def give_back(self, nbytes: int) -> None:
        """Return room, and let those go on who wait for it; one that needs more than there is goes alone."""
        self._free += nbytes
        while self._waiting and (self._waiting[0][0] <= self._free or self._free >= self._whole):
            nbytes, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= nbytes
                turn.set_result(None)


_rooms: dict[int, _Room] = {}


def _room() -> _Room:
    """The room of the running loop."""
    key = id(asyncio.get_running_loop())
    if key not in _rooms:
        _rooms.clear()
        _rooms[key] = _Room(config.STORED_IN_MEMORY)
    return _rooms[key]


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request that is done: its number, and its bytes or what went wrong."""

    number: int
    data: Bytes | None
    error: Exception | None = None


class Fetch:
    """Requests under way; each is handed out as soon as it is there, in any order.

    Any number of threads may `take` from one. Whoever took something says with `done` that its
    memory is free again: that is what lets further requests start.

    Parameters
    ----------
    n : int
        How many requests there are.
    span : callable
        From the number of a request to the name of its file, offset and length (None: the whole file).
    find : callable
        From such a name to its place.
    nbytes : callable
        From the number of a request to the bytes that it is expected to bring.
    timeout : float
        Seconds for each request, with all its attempts.
    most : int
        Bytes that a whole file may have.
    """

    def __init__(
        self,
        n: int,
        span: Callable[[int], tuple[str, int, int | None]],
        find: Callable[[str], Place],
        nbytes: Callable[[int], int],
        *,
        timeout: float,
        most: int,
    ) -> None:
        self._n, self._span, self._find, self._nbytes = n, span, find, nbytes
        self._timeout, self._most = timeout, most
        self._next = 0
        self._held: dict[int, int] = {}  # bytes of room that each request under way has
        self._buffers: dict[int, NDArray[np.uint8]] = {}
        self._spare: list[NDArray[np.uint8]] = []
        self._arrived: queue.SimpleQueue[Arrived | None] = queue.SimpleQueue()
        self._loop = loop.get_loop()
        self._cancel = loop.start(self._run())

    def take(self) -> Arrived | None:
        """Wait for the next request that is done; None when there are no more."""
        found = self._arrived.get()
        if found is None:
            self._arrived.put(None)  # for the others that wait
        return found

    def done(self, arrived: Arrived) -> None:
        """Say that the bytes of a request are not needed any more."""
        self._loop.call_soon_threadsafe(self._give_back, arrived.number)

    def stop(self) -> None:
        """Cancel what is under way, and let nobody wait any longer."""
        self._cancel()
        self._loop.call_soon_threadsafe(self._give_all_back)
        while not self._arrived.empty():
            with contextlib.suppress(queue.Empty):
                self._arrived.get_nowait()
        self._arrived.put(None)

    # in the loop

    async def _run(self) -> None:
        runners = [
            asyncio.create_task(self._runner()) for _ in range(min(config.REQUESTS_UNDER_WAY, self._n))
        ]
        try:
            await asyncio.gather(*runners)
        except BaseException:
            for runner in runners:
                runner.cancel()
            await asyncio.gather(*runners, return_exceptions=True)
            self._give_all_back()
            raise
        finally:
            self._arrived.put(None)

    async def _runner(self) -> None:
        while self._next < self._n:
            number = self._next
            self._next += 1
            nbytes = self._nbytes(number)
            await _room().take(nbytes, at_once=not self._held)
            self._held[number] = nbytes
            self._arrived.put(await self._one(number))

    async def _one(self, number: int) -> Arrived:
        try:
            name, offset, length = self._span(number)
            # a link of a chain may have to be opened first
            place = await filesystems.in_thread(self._find, name) if "::" in name else self._find(name)
            if length is None:
                data = await filesystems.read(place, offset, None, timeout=self._timeout, most=self._most)
            else:
                into = self._buffer(number, length)
                data = await filesystems.read_into(place, offset, into, timeout=self._timeout)
            return Arrived(number, data)
        except Exception as err:  # handed over to whoever waits for these bytes
            return Arrived(number, None, err)

    def _buffer(self, number: int, nbytes: int) -> memoryview:
        """Memory for a request: used again and again where requests are about as large as they get."""
        if config.REQUEST_CAP // 2 < nbytes <= config.REQUEST_CAP:
            whole = self._spare.pop() if self._spare else np.empty(config.REQUEST_CAP, np.uint8)
            self._buffers[number] = whole
            return memoryview(whole)[:nbytes]
        return memoryview(np.empty(nbytes, np.uint8))

    def _give_all_back(self) -> None:
        for number in list(self._held):
            self._give_back(number)

    def _give_back(self, number: int) -> None:
        _room().give_back(self._held.pop(number, 0))
        if number in self._buffers:
            self._spare.append(self._buffers.pop(number))
