"""Bytes over HTTP, through the session of fsspec's file system."""

from __future__ import annotations

import email.utils
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urljoin
from weakref import WeakSet

from zaro.errors import StoreError, StoreForbiddenError
from zaro.stores.answer import Answer
from zaro.stores.attempts import PASSING_STATUS, Passing
from zaro.stores.base import Place

__all__ = ["ask"]

# bytes that aiohttp keeps for us before it holds the server back
_READ_AHEAD = 1 << 19
# sessions that ask before they follow a redirect
_watched: WeakSet[Any] = WeakSet()


@asynccontextmanager
async def ask(place: Place, timeout: float, span: str | None) -> AsyncIterator[Answer]:
    """Ask for a file or a span of it."""
    import aiohttp

    session = await place.fs.set_session()
    options = dict(place.fs.kwargs)
    # a span of compressed bytes is no span of the file
    headers = {**options.pop("headers", {}), "Accept-Encoding": "identity"}
    if span is not None:
        headers["Range"] = span
    stalled = max(timeout / 3, 0.01)
    options["timeout"] = aiohttp.ClientTimeout(total=None, sock_connect=stalled, sock_read=stalled)
    if place.check is not None:
        _watch_redirects(session)
        options["trace_request_ctx"] = place.check
    address = place.fs.encode_url(place.path)
    async with session.get(address, headers=headers, read_bufsize=_READ_AHEAD, **options) as response:
        _check_status(response, place.url)
        told = {name.lower(): value for name, value in response.headers.items()}
        yield Answer(place.url, response.status == 206, told, _parts(response))


async def _parts(response: Any) -> AsyncIterator[bytes]:
    while (found := await response.content.readchunk()) != (b"", False):
        yield found[0]


def _watch_redirects(session: Any) -> None:
    """Have a session ask, before it follows a redirect, whether it may."""
    import aiohttp

    if session in _watched:
        return
    watch = aiohttp.TraceConfig()
    watch.on_request_redirect.append(_permit)
    watch.freeze()
    session.trace_configs.append(watch)
    _watched.add(session)


async def _permit(_session: Any, context: Any, step: Any) -> None:
    check = context.trace_request_ctx
    if check is not None:
        to = step.response.headers.get("Location") or step.response.headers.get("URI") or ""
        check(urljoin(str(step.url), to))


def _status(response: Any) -> str:
    return f"{response.status} {response.reason or ''}".strip()


def _check_status(response: Any, url: str) -> None:
    status = response.status
    if status in (200, 206):
        return
    text = f"HTTP {_status(response)}"
    if status in (404, 410):
        raise FileNotFoundError(url)
    if status == 416:
        total = response.headers.get("Content-Range", "").removeprefix("bytes */")
        raise StoreError(
            url, f"the file ends before the span does: {text}" + (f", it has {total} bytes" if total else "")
        )
    if status in PASSING_STATUS:
        raise Passing(text, wait=_retry_after(response.headers))
    if status in (401, 403, 407):
        raise StoreForbiddenError(url, f"{text}; are credentials missing?")
    raise StoreError(url, text)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return None
