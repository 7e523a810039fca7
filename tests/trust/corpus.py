"""All hostile cases, and what they need imported."""

from __future__ import annotations

import hostile_chunks
import hostile_documents
import hostile_metadata
import hostile_partitions
import hostile_servers
import hostile_stores
from cases import Case

__all__ = ["CASES", "published", "warm"]

published = hostile_servers.published

CASES: list[Case] = [*hostile_documents.CASES, *hostile_metadata.CASES, *hostile_chunks.CASES, *hostile_partitions.CASES, *hostile_stores.CASES, *hostile_servers.CASES]


def warm() -> None:
    """Import what reads import when they need it, so that no case pays for it."""
    import aiohttp  # noqa: F401
    import fsspec.implementations.http  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import zaro.fsspec
    import zaro.stores.http
    import zaro.stores.filesystems  # noqa: F401
