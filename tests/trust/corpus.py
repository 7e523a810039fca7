"""All hostile cases, and what they need imported."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import hostile_archives
import hostile_chunks
import hostile_documents
import hostile_files
import hostile_metadata
import hostile_partitions
import hostile_servers
import hostile_stores
from cases import Case

__all__ = ["CASES", "published", "warm"]

published = hostile_servers.published

CASES: list[Case] = [
    *hostile_documents.CASES,
    *hostile_metadata.CASES,
    *hostile_chunks.CASES,
    *hostile_partitions.CASES,
    *hostile_stores.CASES,
    *hostile_archives.CASES,
    *hostile_files.CASES,
    *hostile_servers.CASES,
]


def warm() -> None:
    """Read the good cases that need no server, so that what reads import is there: no case pays for it."""
    import aiohttp  # noqa: F401
    import fsspec.implementations.http  # noqa: F401
    import s3fs  # noqa: F401
    import yarl  # noqa: F401

    import zaro.stores.http  # noqa: F401

    for case in CASES:
        if case.name.endswith("as it should be") and not case.name.startswith(("http", "s3")):
            with tempfile.TemporaryDirectory() as folder:
                case.make(Path(folder))
                case.read(Path(folder), "")
    gc.collect()
    gc.freeze()
