"""Bytes over HTTP, through the session of fsspec's file system, with every answer checked.

fsspec's own `_cat_file` takes whatever body comes: a server that ignores `Range`, or answers with
another one, would hand over the wrong bytes in silence.
"""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin
from weakref import WeakSet

from zaro.errors import StoreError, StoreForbiddenError
from zaro.stores.attempts import PASSING_STATUS, Passing
from zaro.stores.base import Place

__all__ = ["Body", "read_span", "read_tail", "read_whole"]

# attempts after which a body of the wrong length is believed to be all that there is
_WRONG_LENGTH_ATTEMPTS = 3
# bytes that aiohttp keeps for us before it holds the server back
_READ_AHEAD = 1 << 19
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)\s*$")


# sessions that ask before they follow a redirect
_watched: WeakSet[Any] = WeakSet()


@dataclass(slots=True)
class Body:
    """The bytes of one span, as far as they have come: another attempt goes on from there."""

    into: memoryview
    have: int = 0
    tag: str | None = None


async def read_span(place: Place, offset: int, body: Body, timeout: float) -> None:
    """Read bytes `offset` to `offset + len(body.into)`, from where an earlier attempt ended.

    Raises
    ------
    FileNotFoundError, StoreError, Passing
    """
    url, start, stop = place.url, offset + body.have, offset + len(body.into)
    async with _get(place, timeout, f"bytes={start}-{stop - 1}") as response:
        skip = 0
        if response.status == 206:
            _check_range(response, url, start, stop)
            _check_tag(response, body)
        else:
            _check_whole(response, url, stop)
            body.have, skip = 0, offset
        await _fill(response, url, body, skip)


async def read_tail(place: Place, nbytes: int, timeout: float) -> bytes:
    """Read the last `nbytes` bytes of a file."""
    url = place.url
    async with _get(place, timeout, f"bytes=-{nbytes}") as response:
        if response.status == 206:
            first, last, total = _content_range(response, url)
            if last - first + 1 != nbytes or (total is not None and last != total - 1):
                raise StoreError(url, f"the last {nbytes} bytes were asked for, bytes {first} to {last} came")
        tail = bytearray()
        async for part, _ in response.content.iter_chunks():
            tail += part
            del tail[: max(0, len(tail) - nbytes)]
    if len(tail) != nbytes:
        raise Passing(f"{len(tail)} bytes came, {nbytes} were asked for", most=_WRONG_LENGTH_ATTEMPTS)
    return bytes(tail)


async def read_whole(place: Place, most: int | None, timeout: float) -> bytes:
    """Read all bytes of a file, of which there may be `most`."""
    url, parts, have = place.url, [], 0
    async with _get(place, timeout, None) as response:
        if response.status != 200:
            raise StoreError(url, f"the whole was asked for, the answer is HTTP {_status(response)}")
        async for part, _ in response.content.iter_chunks():
            if not have:
                _refuse_page(response, url, part)
            have += len(part)
            if most is not None and have > most:
                raise StoreError(url, f"holds more than the {most} bytes that it may have")
            parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


# ---- asking ------------------------------------------------------------------------------------


@asynccontextmanager
async def _get(place: Place, timeout: float, span: str | None) -> AsyncIterator[Any]:
    """Ask for a file or a span of it; the answer is 200 or (for a span) 206 from here on."""
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
        yield response


def _watch_redirects(session: Any) -> None:
    """Have a session ask, before it follows a redirect, whether it may."""
    import aiohttp

    if session in _watched:
        return
    watch = aiohttp.TraceConfig()
    watch.on_request_redirect.append(_ask)
    watch.freeze()
    session.trace_configs.append(watch)
    _watched.add(session)


async def _ask(_session: Any, context: Any, step: Any) -> None:
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
    if text.isdigit():
        return float(text)
    try:
        return email.utils.parsedate_to_datetime(text).timestamp() - time.time()
    except (TypeError, ValueError):
        return None


# ---- checking ----------------------------------------------------------------------------------


def _content_range(response: Any, url: str) -> tuple[int, int, int | None]:
    """First byte, last byte and size of the file as `Content-Range` has them."""
    text = response.headers.get("Content-Range", "")
    found = _RANGE.match(text)
    if found is None:
        raise StoreError(
            url, f"answers with a part of the file but not which: Content-Range is {text[:80]!r}"
        )
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise StoreError(url, f"compresses the span as {response.headers['Content-Encoding'][:20]!r}")
    return int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3])


def _check_range(response: Any, url: str, start: int, stop: int) -> None:
    first, last, total = _content_range(response, url)
    if total is not None and total < stop:
        raise StoreError(url, f"the file has {total} bytes, {stop} are needed")
    if first != start or last != stop - 1:
        raise StoreError(url, f"bytes {start} to {stop - 1} were asked for, the answer has {first} to {last}")


def _check_tag(response: Any, body: Body) -> None:
    """See that two halves of a span come from the same version of the file."""
    tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
    if body.have and (tag is None or tag != body.tag):
        body.have = 0
        raise Passing("the file may have changed between two attempts")
    body.tag = tag


def _check_whole(response: Any, url: str, stop: int) -> None:
    """Check an answer that ignores the range: fine as long as the file is long enough."""
    size = None if "Content-Encoding" in response.headers else response.content_length
    if size is not None and size < stop:
        raise StoreError(
            url, f"ignores ranges and answers with {size} bytes, {stop} are needed{_page(response)}"
        )


def _page(response: Any) -> str:
    html = response.headers.get("Content-Type", "").startswith("text/html")
    return " (an HTML page; is a login needed?)" if html else ""


def _refuse_page(response: Any, url: str, start: bytes) -> None:
    """Refuse an HTML page in the place of data: who is not logged in often gets one, with status 200."""
    if _page(response) and start.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        raise StoreForbiddenError(url, "an HTML page came in the place of data; is a login needed?")


async def _fill(response: Any, url: str, body: Body, skip: int) -> None:
    """Move the body to its place, without its first `skip` bytes."""
    into, nbytes = body.into, len(body.into)
    whole = response.status == 200
    first = whole
    async for part, _ in response.content.iter_chunks():
        if first and part:
            _refuse_page(response, url, part)
            first = False
        if skip:
            kept = part[skip:]
            skip -= len(part) - len(kept)
        else:
            kept = part
        room = nbytes - body.have
        if len(kept) > room:
            if not whole:
                body.have = 0
                raise Passing(
                    f"more than the {nbytes} bytes that were asked for came", most=_WRONG_LENGTH_ATTEMPTS
                )
            kept = kept[:room]
        into[body.have : body.have + len(kept)] = kept
        body.have += len(kept)
        if whole and body.have == nbytes:
            return  # the rest of the file is of no use
    if body.have < nbytes:
        reason = f"{body.have} bytes came, {nbytes} were asked for"
        body.have = 0
        raise Passing(reason, most=_WRONG_LENGTH_ATTEMPTS)
