"""What every store gives: the bytes of a key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from zaro import config
from zaro.errors import StoreError

__all__ = ["Bytes", "Place", "Store", "cut", "is_document", "packed_document_most", "span_within", "too_long"]

Bytes = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class Place:
    """A file that fsspec reaches.

    Attributes
    ----------
    fs : fsspec.AbstractFileSystem
    path : str
        As the file system spells it.
    url : str
        For messages.
    check : callable or None
        Raises a StoreError for a URL that a redirect may not lead to.
    """

    fs: Any
    path: str
    url: str
    check: Callable[[str], None] | None = None


class Store(Protocol):
    """Bytes by key. Absent is None; anything else that goes wrong is a StoreError that names the place."""

    @property
    def url(self) -> str:
        """Where the store lies, for messages and for reopening."""
        ...

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such key."""
        ...

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans (key, offset, length) of keys; None where there is no such key.

        An offset below 0 counts from the end; length None is to the end. A key that ends before its
        span does is a StoreError.
        """
        ...

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys at once."""
        ...

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix (`""` or `a/b`), one level."""
        ...


def is_document(key: str) -> bool:
    """Whether a key is that of a metadata document."""
    return key.rpartition("/")[2] in ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")


def too_long(nbytes: int) -> str:
    """Say that a metadata document is too long to be one."""
    return f"has {nbytes} bytes, expected {config.METADATA} at most of metadata; see zaro.config.METADATA"


def packed_document_most(nbytes: int) -> int:
    """Bytes that a document of so many packed bytes may unpack to."""
    return max(config.DOCUMENT_TEXT, config.DOCUMENT_RATIO * nbytes)


def span_within(size: int, offset: int, length: int | None, url: str) -> tuple[int, int]:
    """First byte and length of a span in `size` bytes: offsets below 0 count from the end.

    Raises
    ------
    StoreError
        The bytes end before the span does.
    """
    start = size + offset if offset < 0 else offset
    n = size - start if length is None else length
    if start < 0 or n < 0 or start > size or n > size - start:
        raise StoreError(
            url, f"has {size} bytes; {-offset if offset < 0 else offset + (length or 0)} are needed"
        )
    return start, n


def cut(whole: Bytes, offset: int, length: int | None, url: str) -> memoryview:
    """One span of bytes that are in memory, without a copy."""
    start, n = span_within(len(whole), offset, length, url)
    return memoryview(whole)[start : start + n]
