"""Reading many parts of many keys: by file system, neighbours together, each failure in its own place."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zaro.errors import ReferenceSetError
from zaro.fsspec.errors import ReferenceNotReachable
from zaro.fsspec.keys import Keys
from zaro.fsspec.spans import Answer, Merged, Span, fetch, fetch_async, merge
from zaro.fsspec.targets import FileSystems

__all__ = ["Reading", "Wanted"]

Wanted = tuple[str, int | None, int | None]
"""A key, and a slice of its value."""


@dataclass(slots=True)
class _Batch:
    """What is read from one file system at once."""

    fs: Any
    numbers: list[int] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    merged: Merged = field(default_factory=Merged)
    answers: list[Answer] = field(default_factory=list)


class Reading:
    """One read of many parts.

    Parameters
    ----------
    keys, fss
        The references, and the file systems that they point into.
    wanted : sequence
        What to read.
    on_error : {"raise", "return", "omit"}
        What to do with a failure.
    max_gap, max_block : int
        See `merge`.
    """

    def __init__(
        self,
        keys: Keys,
        fss: FileSystems,
        wanted: Sequence[Wanted],
        *,
        on_error: str,
        max_gap: int,
        max_block: int,
    ) -> None:
        self._keys, self._on_error = keys, on_error
        self._paths = [path for path, *_ in wanted]
        self._found: list[bytes | Span | Exception] = []
        for one in wanted:
            try:
                self._found.append(keys.part(*one))
            except (FileNotFoundError, ReferenceSetError) as err:
                if on_error == "raise":
                    raise
                self._found.append(err)
        self._batches = self._group(fss)
        for batch in self._batches:
            batch.merged = merge(batch.spans, batch.paths, max_gap, max_block)

    def _group(self, fss: FileSystems) -> list[_Batch]:
        batches: dict[int, _Batch] = {}
        for number, span in enumerate(self._found):
            if not isinstance(span, Span):
                continue
            try:
                fs, path = fss.of(span.url)
            except Exception as err:
                self._found[number] = self._unreachable(number, err)
                continue
            batch = batches.setdefault(id(fs), _Batch(fs))
            batch.numbers.append(number)
            batch.spans.append(span)
            batch.paths.append(path)
        return list(batches.values())

    def fetch(self) -> Reading:
        """Fetch everything."""
        for batch in self._batches:
            batch.answers = fetch(batch.fs, batch.merged)
        return self

    async def fetch_async(self) -> Reading:
        """Fetch everything, all file systems at the same time."""
        found = await asyncio.gather(*(fetch_async(batch.fs, batch.merged) for batch in self._batches))
        for batch, answers in zip(self._batches, found, strict=True):
            batch.answers = answers
        return self

    def results(self) -> Iterator[tuple[str, bytes | Exception]]:
        """Keys and what was read, in the order in which it was asked for.

        Raises
        ------
        ReferenceNotReachable
            Of the first failure, if so asked.
        """
        for batch in self._batches:
            for k, number in enumerate(batch.numbers):
                part = batch.merged.part(batch.spans[k], k, batch.answers)
                self._found[number] = self._unreachable(number, part) if isinstance(part, Exception) else part
        for path, result in zip(self._paths, self._found, strict=True):
            assert not isinstance(result, Span)
            if isinstance(result, Exception) and self._on_error == "raise":
                raise result
            if not (isinstance(result, Exception) and self._on_error == "omit"):
                yield path, result

    def _unreachable(self, number: int, err: Exception) -> ReferenceNotReachable:
        path = self._paths[number]
        error = ReferenceNotReachable(path, self._keys.reference(path))
        error.__cause__ = err
        return error
