"""Many requests under way at once, under one budget of memory."""

from __future__ import annotations

import asyncio
import contextlib
import queue
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zaro import config, ending
from zaro.errors import StoreError
from zaro.stores import filesystems, loop
from zaro.stores.base import Bytes, Place

__all__ = ["Arrived", "Fetch", "read_all"]

PIECE = 4 << 20
"""Bytes of a span of several times this length that one request asks for."""


async def read_all(
    parts: Sequence[tuple[Place, int, int | None]],
    timeout: float,
    most: int | None = None,
    untold: int | None = None,
    at_once: int | None = None,
) -> list[Bytes | StoreError | FileNotFoundError]:
    """Read a few spans at the same time; errors stand in the places of their results."""
    gate = asyncio.Semaphore(at_once or config.REQUESTS_UNDER_WAY)

    async def one(part: tuple[Place, int, int | None]) -> Bytes | StoreError | FileNotFoundError:
        async with gate:
            try:
                return await filesystems.read(*part, timeout=timeout, most=most, untold=untold)
            except (StoreError, FileNotFoundError) as err:
                return err

    return list(await asyncio.gather(*map(one, parts)))


# buffers that are allocated together
_AT_ONCE = 4


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
        ending.halt()
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
                data = await self._read(place, offset, self._buffer(number, length))
            return Arrived(number, data)
        except Exception as err:  # handed over to whoever waits for these bytes
            return Arrived(number, None, err)

    async def _read(self, place: Place, offset: int, into: memoryview) -> memoryview:
        """Read a span; a long one in pieces that are under way at the same time."""
        if len(into) <= 2 * PIECE:
            return await filesystems.read_into(place, offset, into, timeout=self._timeout)
        gate = asyncio.Semaphore(config.REQUESTS_UNDER_WAY)

        async def piece(start: int) -> None:
            async with gate:
                part = into[start : start + PIECE]
                await filesystems.read_into(place, offset + start, part, timeout=self._timeout)

        try:
            async with asyncio.TaskGroup() as group:
                for start in range(0, len(into), PIECE):
                    group.create_task(piece(start))
        except ExceptionGroup as err:
            raise err.exceptions[0] from None
        return into

    def _buffer(self, number: int, nbytes: int) -> memoryview:
        """Memory for a request: used again and again where requests are about as large as they get."""
        if config.REQUEST_CAP // 2 < nbytes <= config.REQUEST_CAP:
            if not self._spare:  # several at once: the system has large pages for large arrays
                self._spare.extend(np.empty((_AT_ONCE, config.REQUEST_CAP), np.uint8))
            whole = self._buffers[number] = self._spare.pop()
            return memoryview(whole)[:nbytes]
        return memoryview(np.empty(nbytes, np.uint8))

    def _give_all_back(self) -> None:
        for number in list(self._held):
            self._give_back(number)

    def _give_back(self, number: int) -> None:
        _room().give_back(self._held.pop(number, 0))
        if number in self._buffers:
            self._spare.append(self._buffers.pop(number))
