"""Spans of files: where a reference lies, which neighbours are fetched together, and the fetching."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from zaro.errors import ReferenceSetError, StoreError
from zaro.fsspec.targets import unwrapped
from zaro.stores.local import read_span

__all__ = ["Answer", "Merged", "Span", "fetch", "fetch_async", "merge", "narrow"]

Answer = bytes | Exception
"""What a request brought."""


class Span(NamedTuple):
    """Part of a file.

    Attributes
    ----------
    url : str
        The file.
    start, end : int or None
        As slicing has them; None is the begin or end of the file.
    exact : bool
        Whether the file must have every byte of it.
    """

    url: str
    start: int | None
    end: int | None
    exact: bool = False


def narrow(reference: Any, start: int | None, end: int | None, *, document: str = "", key: str = "") -> Span:
    """Span of a slice `[start:end]` of what the reference of a key names.

    Raises
    ------
    ReferenceSetError
        It is neither `[url]` nor `[url, offset, length]`.
    """
    match reference:
        case [url]:
            return Span(url, start, end)
        case [url, offset, size] if _is_count(offset) and _is_count(size):
            offset, size = int(offset), int(size)
        case _:
            reason = f"is {reference!r:.100}, expected text, [url] or [url, offset, length]"
            raise ReferenceSetError(document, key, reason)
    first, last, _ = slice(start, end).indices(size)
    return Span(url, offset + first, offset + max(first, last), exact=True)


def _is_count(value: Any) -> bool:
    """Whether a value is a whole number from 0, of whichever type."""
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    return whole and value >= 0


@dataclass(slots=True)
class Merged:
    """Requests that serve some spans of one file system, and which of them serves which."""

    requests: list[Span] = field(default_factory=list)
    serving: dict[int, int] = field(default_factory=dict)  # span -> request

    def part(self, span: Span, number: int, answers: Sequence[Answer]) -> Answer:
        """Bytes of a span, out of the answers to the requests."""
        request = self.serving[number]
        answer, begin = answers[request], self.requests[request].start
        if isinstance(answer, Exception):
            return answer
        if span[1:3] == self.requests[request][1:3]:
            found = answer
        elif begin is None or span.start is None:
            found = answer[span.start : span.end]
        else:
            found = answer[span.start - begin : None if span.end is None else span.end - begin]
        return _short(span, len(found)) or found


def _short(span: Span, got: int) -> StoreError | None:
    """Whether fewer bytes came than the reference promises."""
    if not span.exact or span.start is None or span.end is None or got == span.end - span.start:
        return None
    return StoreError(
        span.url, f"{got} bytes of {span.start}+{span.end - span.start} came: the file is shorter"
    )


def merge(spans: Sequence[Span], paths: Sequence[str], max_gap: int, max_block: int) -> Merged:
    """Merge neighbouring spans of the same file to requests.

    Parameters
    ----------
    spans, paths
        What is wanted, and how the file system names each file.
    max_gap : int
        Bytes that may be read in vain between two spans; below 0 nothing is merged.
    max_block : int
        Bytes that a request of several spans may have.
    """
    merged = Merged()
    by_path: dict[str, list[int]] = {}
    for number, path in enumerate(paths):
        by_path.setdefault(path, []).append(number)
    for path, numbers in by_path.items():
        if any(_is_open(spans[k]) for k in numbers) and len(numbers) > 1:
            _whole(merged, path, numbers)
        else:
            _neighbours(
                merged, path, sorted(numbers, key=lambda k: spans[k].start or 0), spans, max_gap, max_block
            )
    return merged


def _is_open(span: Span) -> bool:
    """Whether the span depends on the size of the file."""
    return span.end is None or span.end < 0 or span.start is None or span.start < 0


def _whole(merged: Merged, path: str, numbers: list[int]) -> None:
    merged.serving |= dict.fromkeys(numbers, len(merged.requests))
    merged.requests.append(Span(path, None, None))


def _neighbours(
    merged: Merged, path: str, numbers: list[int], spans: Sequence[Span], max_gap: int, max_block: int
) -> None:
    last: Span | None = None
    for k in numbers:
        span = spans[k]._replace(url=path)
        joined = _joined(last, span, max_gap, max_block) if last is not None else None
        if joined is None:
            merged.requests.append(span)
        else:
            merged.requests[-1] = joined
        last = merged.requests[-1]
        merged.serving[k] = len(merged.requests) - 1


def _joined(last: Span, span: Span, max_gap: int, max_block: int) -> Span | None:
    """Span of two that are to be fetched together, or None."""
    if last.start is None or last.end is None or span.start is None or span.end is None or max_gap < 0:
        return None
    end = max(last.end, span.end)
    if span.start - last.end > max_gap or end - last.start > max_block:
        return None
    return Span(last.url, last.start, end, last.exact and span.exact)


# ---- fetching ----------------------------------------------------------------------------------


def fetch(fs: Any, merged: Merged) -> list[Answer]:
    """Fetch requests from a file system; what goes wrong stands in the place of its answer."""
    inner = unwrapped(fs)
    if _is_local(inner):
        return _fetch_local(inner, merged)
    return list(inner.cat_ranges(*_columns(merged), on_error="return"))


async def fetch_async(fs: Any, merged: Merged) -> list[Answer]:
    """Do the same in the running event loop, if the file system can, else in a thread."""
    if isinstance(fs, AsyncFileSystemWrapper) or not fs.async_impl:
        return await asyncio.to_thread(fetch, fs, merged)
    return list(await fs._cat_ranges(*_columns(merged), on_error="return"))


def _columns(merged: Merged) -> tuple[list[Any], ...]:
    paths, starts, ends, _ = zip(*merged.requests, strict=True)
    return list(paths), list(starts), list(ends)


def _is_local(fs: Any) -> bool:
    return type(fs) is LocalFileSystem


def _fetch_local(fs: Any, merged: Merged) -> list[Answer]:
    found: list[Answer] = []
    for request in merged.requests:
        try:
            found.append(_read_local(fs._strip_protocol(request.url), request))
        except OSError as err:
            found.append(err)
    return found


def _read_local(path: str, request: Span) -> bytes:
    start, end = request.start, request.end
    if not request.exact or start is None or end is None:
        if start is None and end is None:
            return read_span(path, 0, None)
        start, end, _ = slice(start, end).indices(os.stat(path).st_size)
    return read_span(path, start, max(end - start, 0))
