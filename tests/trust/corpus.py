"""All hostile cases, and what they need imported."""

from __future__ import annotations

import hostile_chunks
import hostile_documents
import hostile_metadata
from cases import Case

__all__ = ["CASES", "warm"]

CASES: list[Case] = [*hostile_documents.CASES, *hostile_metadata.CASES, *hostile_chunks.CASES]


def warm() -> None:
    """Import what reads import when they need it, so that no case pays for it."""
    import zaro.fsspec
    import zaro.stores.filesystems  # noqa: F401
