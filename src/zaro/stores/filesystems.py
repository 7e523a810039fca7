"""The file systems of fsspec, one for each protocol and its options, and the files that they reach."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar
from urllib.parse import unquote

from zaro import config
from zaro.ending import LastingPool
from zaro.errors import StoreError
from zaro.stores import answer, archives, http, loop, s3
from zaro.stores.attempts import Passing, attempts
from zaro.stores.base import Bytes, Place

__all__ = ["info", "listing", "place_of", "read", "read_ends", "read_into"]

T = TypeVar("T")

# chained file systems (an archive each) that are kept open
_KEPT_CHAINS = 64
# threads for file systems that know no other way than to block
_BLOCKING_THREADS = 16
# bytes for which memory is taken on the word of a document
_BELIEVED = 16 << 20
# blocking file systems that any number of threads may use, and those where only one file's readers
# get into each other's way; the others have one connection
_FREE = frozenset({"memory", "data"})
_FREE_BY_FILE = frozenset(
    {"simplecache", "filecache", "blockcache", "cached", "zip", "tar", "dir", "asyncwrapper"}
)
# asynchronous file systems that read from the end of a file; the others are told where that is
_KNOW_ENDS = frozenset({"gs", "gcs"})
# those that close their connections by themselves at the end, in the loop that they were made with
_CLOSE_THEMSELVES = frozenset({"abfs", "abfss", "az"})

_EXTRAS = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3"}


_lock = threading.Lock()
_plain: dict[tuple[str, str], Any] = {}
_chained: OrderedDict[tuple[str, str], tuple[Any, str]] = OrderedDict()
_executor: LastingPool | None = None


def _forget() -> None:
    global _lock, _executor
    _lock, _executor = threading.Lock(), None
    # never finalised: they belong to the parent
    _inherited.extend([_plain.copy(), _chained.copy()])
    _plain.clear()
    _chained.clear()
    _turns.clear()


_inherited: list[object] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def place_of(url: str, options: Mapping[str, Any]) -> Place:
    """Find the file system of a URL.

    Raises
    ------
    StoreError
        There is no such protocol, its package is not installed, or its options do not fit.
    """
    try:
        return _place_chained(url, options) if "::" in url else _place_plain(url, options)
    except ImportError as err:
        protocol = url.partition("://")[0]
        extra = f": pip install 'zaro[{_EXTRAS[protocol]}]'" if protocol in _EXTRAS else ""
        raise StoreError(url, f"{err}{extra}") from err
    except StoreError:
        raise
    except FileNotFoundError:
        raise
    except Exception as err:  # whatever a file system of others says about its options
        raise StoreError(url, f"{type(err).__name__}: {err}") from err


def _place_plain(url: str, options: Mapping[str, Any]) -> Place:
    from fsspec import get_filesystem_class  # type: ignore[import-untyped]
    from fsspec.core import split_protocol  # type: ignore[import-untyped]
    from fsspec.utils import tokenize  # type: ignore[import-untyped]

    protocol = "data" if url.startswith("data:") else split_protocol(url)[0] or "file"
    kind = get_filesystem_class(protocol)
    given = dict(options)
    nested = given.pop(protocol, {})
    given = {**kind._get_kwargs_from_urls(url), **nested, **given}
    token = (protocol, tokenize(given))
    with _lock:
        fs = _plain.get(token)
        if fs is None:
            fs = _plain[token] = _make(kind, protocol, given)
    return Place(fs, str(kind._strip_protocol(url)), url)


def _make(kind: Any, protocol: str, given: dict[str, Any]) -> Any:
    """Make a file system of ours alone, whose sessions live in our loop."""
    if not kind.async_impl:
        return kind(**given)
    blocking = protocol in _CLOSE_THEMSELVES  # only a blocking one is told its loop
    how = {"loop": loop.get_loop()} if blocking else {}
    given = {**given, **how, "asynchronous": not blocking, "skip_instance_cache": True}
    if protocol in ("s3", "s3a"):
        # as many connections as requests, and nobody but us tries again
        wanted = {"max_pool_connections": config.REQUESTS_UNDER_WAY, "retries": {"total_max_attempts": 1}}
        given["config_kwargs"] = {**wanted, **(given.get("config_kwargs") or {})}
    fs = kind(**given)
    fs.asynchronous = True
    if hasattr(fs, "retries"):
        fs.retries = 1

    async def close() -> None:
        connect = getattr(fs, "set_session", None) or getattr(fs, "_set_session", None)
        if connect is not None:
            session = await connect()
            await session.close()

    loop.at_close(close)
    return fs


def _place_chained(url: str, options: Mapping[str, Any]) -> Place:
    from fsspec.core import split_protocol, url_to_fs
    from fsspec.utils import tokenize

    first, _, rest = url.partition("::")
    protocol, _ = split_protocol(first)
    token = (f"{protocol or first}::{rest}", tokenize(dict(options)))
    with _lock:
        known = _chained.get(token)
        if known is not None:
            _chained.move_to_end(token)
    if known is not None:
        return Place(known[0], str(known[0]._strip_protocol(first)) if protocol else known[1], url)
    fs, path = url_to_fs(url, **options)
    with _lock:
        _chained[token] = fs, str(path)
        while len(_chained) > _KEPT_CHAINS:
            _chained.popitem(last=False)
    return Place(fs, str(path), url)


# ---- reading -----------------------------------------------------------------------------------


async def read(
    place: Place,
    offset: int,
    length: int | None,
    *,
    timeout: float,
    most: int | None = None,
    untold: int | None = None,
) -> Bytes:
    """Read a span of a file.

    Parameters
    ----------
    offset : int
        Below 0 it counts from the end of the file.
    length : int or None
        None reads to the end.
    timeout : float
        Seconds, for all attempts together.
    most : int or None
        Bytes that a whole file may have.
    untold : int or None
        The same for a file whose size the server does not tell.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    StoreError
        Naming the reason, and how many attempts were made.
    """
    if length is not None and offset >= 0:
        if length > _BELIEVED:  # see that there is so much before there is memory for it
            await read_into(place, offset + length - 1, memoryview(bytearray(1)), timeout=timeout)
        return await read_into(place, offset, memoryview(bytearray(length)), timeout=timeout)

    ask = _asker(place, timeout)

    async def once() -> Bytes:
        if ask is None:
            data = await _cat(place, offset or None, None, most, is_document=untold is not None)
            if offset < 0 and len(data) != -offset:
                reason = f"{len(data)} bytes came, {-offset} were asked for"
                raise Passing(reason, most=answer.WRONG_LENGTH_ATTEMPTS)
        elif offset < 0:
            data = await answer.read_tail(ask, -offset)
        else:
            data = memoryview(await answer.read_whole(ask, most, untold))[offset:]
        if most is not None and len(data) > most:
            raise StoreError(place.url, f"holds more than the {most} bytes that it may have")
        return data if length is None else memoryview(data)[:length]

    return await attempts(once, place.url, timeout)


async def read_into(place: Place, offset: int, into: memoryview, *, timeout: float) -> memoryview:
    """Read the span that begins at `offset` and is as long as `into`, and return `into`."""
    nbytes = len(into)
    if nbytes == 0:
        return into
    ask = _asker(place, timeout)
    body = answer.Body(into)

    async def once() -> memoryview:
        if ask is not None:
            await answer.read_span(ask, offset, body)
            return into
        data = await _cat(place, offset, offset + nbytes)
        if len(data) != nbytes:
            reason = f"{len(data)} bytes came, {nbytes} were asked for"
            raise Passing(reason, most=answer.WRONG_LENGTH_ATTEMPTS)
        into[:] = data
        return into

    return await attempts(once, place.url, timeout)


async def read_ends(place: Place, nbytes: int, *, timeout: float) -> tuple[int | None, Bytes, Bytes]:
    """Read the first and the last bytes of a file at the same time, and learn its size from the answers.

    What does not come is no error: the size is None then, the bytes are none.

    Raises
    ------
    FileNotFoundError
        There is no such file.
    """
    ask = _asker(place, timeout)
    if ask is None:
        return None, b"", b""

    async def one(last: bool) -> tuple[int | None, Bytes]:
        try:
            return await attempts(lambda: answer.read_end(ask, nbytes, last=last), place.url, timeout)
        except StoreError:
            return None, b""

    (size, start), (told, end) = await asyncio.gather(one(False), one(True))
    return (size, start, end) if size == told else (size, start, b"")


def _asker(place: Place, timeout: float) -> answer.Ask | None:
    """How to ask a server whose answers can be looked at; None where only the bytes are to be had."""
    fs = place.fs
    if not getattr(fs, "asynchronous", False):
        return None
    if hasattr(fs, "_call_s3"):
        return partial(s3.ask, place)
    # not imported here: that needs aiohttp, and what is none of a module's classes need not load it
    module = sys.modules.get("fsspec.implementations.http")
    is_http = module is not None and isinstance(fs, module.HTTPFileSystem)
    return partial(http.ask, place, timeout) if is_http else None


async def _cat(
    place: Place, start: int | None, end: int | None, most: int | None = None, *, is_document: bool = False
) -> Bytes:
    fs = place.fs
    try:
        if is_awaited(fs):
            if start is not None and start < 0 and not _protocols(fs) & _KNOW_ENDS:
                start = max(0, (await fs._info(place.path))["size"] + start)
            data: Bytes = await fs._cat_file(place.path, start=start, end=end)
        else:
            async with _turn(place):
                if archives.is_archive(fs):
                    data = await in_thread(archives.read_member, place, start, end, most, is_document)
                else:
                    data = await in_thread(fs.cat_file, place.path, start, end)
    except (IsADirectoryError, NotADirectoryError) as err:
        raise StoreError(place.url, "is a directory, a file is needed") from err
    except KeyError as err:  # archives
        raise FileNotFoundError(place.url) from err
    return data


def _protocols(fs: Any) -> set[str]:
    return {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)


_turns: dict[tuple[int, str], list[Any]] = {}


@asynccontextmanager
async def _turn(place: Place) -> AsyncIterator[None]:
    """Wait until a file system that is not safe to use from many threads is free."""
    kinds = _protocols(place.fs)
    if kinds & _FREE:
        yield
        return
    key = (id(place.fs), place.path if kinds & _FREE_BY_FILE else "")
    entry = _turns.setdefault(key, [asyncio.Lock(), 0])
    entry[1] += 1
    try:
        async with entry[0]:
            yield
    finally:
        entry[1] -= 1
        if not entry[1]:
            _turns.pop(key, None)


async def listing(place: Place, timeout: float) -> set[str]:
    """Names directly below a place.

    Raises
    ------
    FileNotFoundError
        There is nothing, or it is no folder.
    StoreError
    """
    fs, path = place.fs, place.path
    if path.startswith(("http://", "https://")) and "?" not in path:
        path = f"{path.rstrip('/')}/"  # without it a server sends us there, which costs a request

    async def once() -> list[str]:
        try:
            fs.invalidate_cache(path)
            if is_awaited(fs):
                found = await fs._ls(path, detail=False)
            else:
                found = await in_thread(fs.ls, path, False)
        except NotADirectoryError as err:
            raise FileNotFoundError(place.url) from err
        except NotImplementedError as err:
            raise StoreError(place.url, f"{type(fs).__name__} lists no names") from err
        return [str(name) for name in found]

    names = await attempts(once, place.url, timeout)
    here = path.strip("/")
    last = {unquote(name.rstrip("/").rpartition("/")[2]) for name in names if name.strip("/") != here}
    return {name for name in last if name and "?" not in name and name not in (".", "..")}


def is_awaited(fs: Any) -> bool:
    """Whether the methods of a file system are coroutines, to be run in the loop of this module."""
    return bool(fs.async_impl and getattr(fs, "asynchronous", False))


async def info(place: Place) -> Mapping[str, Any]:
    """What a file system tells of a file: its size, and more."""
    found: Mapping[str, Any]
    if is_awaited(place.fs):
        found = await place.fs._info(place.path)
    else:
        found = await in_thread(place.fs.info, place.path)
    return found


async def in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """Let a thread do what blocks."""
    return await asyncio.get_running_loop().run_in_executor(_threads(), work, *arguments)


def _threads() -> LastingPool:
    global _executor  # noqa: PLW0603 - one pool for the process
    if _executor is None:
        _executor = LastingPool(_BLOCKING_THREADS, thread_name_prefix="zaro-blocking")
    return _executor
