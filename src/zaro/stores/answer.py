"""A server's answer to a request for bytes, checked before its bytes are believed.

The libraries hand over whatever body comes: from a server that ignores `Range`, or answers with
another one, they would bring the wrong bytes in silence.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from zaro.errors import StoreError, StoreForbiddenError
from zaro.stores.attempts import Passing
from zaro.stores.base import Bytes, packed_document_most

__all__ = [
    "WRONG_LENGTH_ATTEMPTS",
    "Answer",
    "Ask",
    "Body",
    "read_end",
    "read_span",
    "read_tail",
    "read_whole",
]

WRONG_LENGTH_ATTEMPTS = 3
"""Attempts after which a body of the wrong length is believed to be all that there is."""
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)\s*$")


@dataclass(slots=True)
class Answer:
    """What a server says: that it sends the whole file, or a part and which, and the bytes as they come.

    `headers` have names in lower case.
    """

    url: str
    partial: bool
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]

    @property
    def size(self) -> int | None:
        """Bytes of the body, where they are told."""
        text = self.headers.get("content-length", "")
        return int(text) if text.isdecimal() and not self.compressed else None

    @property
    def compressed(self) -> bool:
        """Whether the body is compressed on its way."""
        return self.headers.get("content-encoding", "identity") not in ("", "identity", "aws-chunked")

    @property
    def unpacked_most(self) -> int | None:
        """Bytes that the body may unpack to, where it is compressed on its way."""
        packed = self.headers.get("content-length", "")
        if not self.compressed:
            return None
        return packed_document_most(int(packed) if packed.isdecimal() else 0)

    @property
    def tag(self) -> str | None:
        """What tells one version of the file from another."""
        return self.headers.get("etag") or self.headers.get("last-modified")

    @property
    def is_page(self) -> bool:
        """Whether it calls itself an HTML page."""
        return self.headers.get("content-type", "").startswith("text/html")


Ask = Callable[[str | None], AbstractAsyncContextManager[Answer]]
"""Asks for a span, spelled as `Range` has it, or for the whole file; raises where the answer is neither."""


@dataclass(slots=True)
class Body:
    """The bytes of one span, as far as they have come: another attempt goes on from there."""

    into: memoryview
    have: int = 0
    tag: str | None = None


async def read_span(ask: Ask, offset: int, body: Body) -> None:
    """Read bytes `offset` to `offset + len(body.into)`, from where an earlier attempt ended.

    Raises
    ------
    FileNotFoundError, StoreError, Passing
    """
    start, stop = offset + body.have, offset + len(body.into)
    async with ask(f"bytes={start}-{stop - 1}") as answer:
        skip = 0
        if answer.partial:
            _check_range(answer, start, stop)
            _check_tag(answer, body)
        else:
            _check_whole(answer, stop)
            body.have, skip = 0, offset
        await _fill(answer, body, skip)


async def read_tail(ask: Ask, nbytes: int) -> bytes:
    """Read the last `nbytes` bytes of a file."""
    async with ask(f"bytes=-{nbytes}") as answer:
        if answer.partial:
            first, last, total = _content_range(answer)
            if last - first + 1 != nbytes or (total is not None and last != total - 1):
                reason = f"the last {nbytes} bytes were asked for, bytes {first} to {last} came"
                raise StoreError(answer.url, reason)
        tail = bytearray()
        async for part in answer.parts:
            tail += part
            del tail[: max(0, len(tail) - nbytes)]
    if len(tail) != nbytes:
        raise Passing(f"{len(tail)} bytes came, {nbytes} were asked for", most=WRONG_LENGTH_ATTEMPTS)
    return bytes(tail)


async def read_end(ask: Ask, nbytes: int, *, last: bool) -> tuple[int | None, bytes]:
    """Read the first or the last `nbytes` bytes of a file, or all where it has fewer, and learn its size.

    Of a server that only gives whole files the last bytes are none. The size is None where it is not told.
    """
    async with ask(f"bytes=-{nbytes}" if last else f"bytes=0-{nbytes - 1}") as answer:
        size, expected = answer.size, nbytes
        if answer.partial:
            first, end, size = _content_range(answer)
            wanted = (max(0, size - nbytes), size - 1) if last and size is not None else (0, nbytes - 1)
            expected = min(nbytes, nbytes if size is None else size)
            if (first, end) != (wanted[0], wanted[0] + expected - 1):
                reason = f"{nbytes} bytes of an end were asked for, bytes {first} to {end} came"
                raise StoreError(answer.url, reason)
        elif last:
            return size, b""
        elif size is not None:
            expected = min(nbytes, size)
        found = bytearray()
        async for part in answer.parts:
            if not found and not answer.partial:
                _refuse_page(answer, part)
            found += part
            if len(found) >= expected:
                break
    if len(found) < expected and size is not None:
        raise Passing(f"{len(found)} bytes came, {expected} were promised", most=WRONG_LENGTH_ATTEMPTS)
    return size, bytes(found[:expected])


async def read_whole(ask: Ask, most: int | None, untold: int | None = None) -> Bytes:
    """Read all bytes of a file, of which there may be `most`; `untold`, where their number is not told."""
    found = bytearray()
    async with ask(None) as answer:
        if answer.partial:
            raise StoreError(answer.url, "the whole was asked for, the answer is a part")
        if answer.size is None:
            most = min((one for one in (most, untold, answer.unpacked_most) if one is not None), default=None)
        async for part in answer.parts:
            if not found:
                _refuse_page(answer, part)
            if most is not None and max(answer.size or 0, len(found) + len(part)) > most:
                raise StoreError(answer.url, f"holds more than the {most} bytes that it may have")
            if len(part) == answer.size:
                return part
            found += part
        if answer.size not in (None, len(found)):
            raise Passing(f"{len(found)} bytes came, {answer.size} were promised", most=WRONG_LENGTH_ATTEMPTS)
    return found


def _content_range(answer: Answer) -> tuple[int, int, int | None]:
    """First byte, last byte and size of the file as `Content-Range` has them."""
    text = answer.headers.get("content-range", "")
    found = _RANGE.match(text)
    if found is None:
        reason = f"answers with a part of the file but not which: Content-Range is {text[:80]!r}"
        raise StoreError(answer.url, reason)
    if answer.compressed:
        raise StoreError(answer.url, f"compresses the span as {answer.headers['content-encoding'][:20]!r}")
    return int(found[1]), int(found[2]), None if found[3] == "*" else int(found[3])


def _check_range(answer: Answer, start: int, stop: int) -> None:
    first, last, total = _content_range(answer)
    if total is not None and total < stop:
        raise StoreError(answer.url, f"the file has {total} bytes, {stop} are needed")
    if first != start or last != stop - 1:
        reason = f"bytes {start} to {stop - 1} were asked for, the answer has {first} to {last}"
        raise StoreError(answer.url, reason)


def _check_tag(answer: Answer, body: Body) -> None:
    """See that two halves of a span come from the same version of the file."""
    tag = answer.tag
    if body.have and (tag is None or tag != body.tag):
        body.have = 0
        raise Passing("the file may have changed between two attempts")
    body.tag = tag


def _check_whole(answer: Answer, stop: int) -> None:
    """Check an answer that ignores the range: fine as long as the file is long enough."""
    if answer.size is not None and answer.size < stop:
        page = " (an HTML page; is a login needed?)" if answer.is_page else ""
        reason = f"ignores ranges and answers with {answer.size} bytes, {stop} are needed{page}"
        raise StoreError(answer.url, reason)


def _refuse_page(answer: Answer, start: bytes) -> None:
    """Refuse an HTML page in the place of data: who is not logged in often gets one, with status 200."""
    if answer.is_page and start.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        raise StoreForbiddenError(answer.url, "an HTML page came in the place of data; is a login needed?")


async def _fill(answer: Answer, body: Body, skip: int) -> None:
    """Move the body to its place, without its first `skip` bytes."""
    into, nbytes = body.into, len(body.into)
    first = not answer.partial
    async for part in answer.parts:
        if first and part:
            _refuse_page(answer, part)
            first = False
        kept = part[skip:] if skip else part
        skip -= len(part) - len(kept)
        room = nbytes - body.have
        if len(kept) > room:
            if answer.partial:
                body.have = 0
                reason = f"more than the {nbytes} bytes that were asked for came"
                raise Passing(reason, most=WRONG_LENGTH_ATTEMPTS)
            kept = kept[:room]
        into[body.have : body.have + len(kept)] = kept
        body.have += len(kept)
        if not answer.partial and body.have == nbytes:
            return  # the rest of the file is of no use
    if body.have < nbytes:
        reason = f"{body.have} bytes came, {nbytes} were asked for"
        body.have = 0
        raise Passing(reason, most=WRONG_LENGTH_ATTEMPTS)
