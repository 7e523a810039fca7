"""A store in memory: any mapping of keys to bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from zaro.errors import StoreError
from zaro.stores.base import Bytes, cut

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keys and bytes of a mapping, which is asked only for what is needed."""

    url = "memory"

    def __init__(self, mapping: Mapping[str, Bytes]) -> None:
        self._mapping = mapping

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such key."""
        try:
            value = self._mapping[key]
        except KeyError:
            return None
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise StoreError(self.url, f"{key!r} holds {type(value).__name__}, expected bytes")
        return value

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans of keys; None where there is no such key."""
        return [
            None if (whole := self.get(key)) is None else cut(whole, offset, length, f"{self.url}: {key}")
            for key, offset, length in parts
        ]

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys at once."""
        return [self.get(key) for key in keys]

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level."""
        start = f"{prefix}/" if prefix else ""
        return sorted({key[len(start) :].split("/", 1)[0] for key in self._mapping if key.startswith(start)})
