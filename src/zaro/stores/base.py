"""What every store gives: the bytes of a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

__all__ = ["Bytes", "Store"]

Bytes = bytes | bytearray | memoryview


class Store(Protocol):
    """Bytes by key. Absent is None; anything else that goes wrong is a StoreError that names the place."""

    @property
    def url(self) -> str:
        """Where the store lies, for messages and for reopening."""
        ...

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such key."""
        ...

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys at once."""
        ...

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix (`""` or `a/b`), one level."""
        ...
