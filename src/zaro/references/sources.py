"""The bytes of a reference document: from a path, a URL or memory, decompressed on the way."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

from zaro.errors import StoreError
from zaro.references.files import is_local, local_path
from zaro.stores.remote import read_url

__all__ = ["is_packed", "open_document"]

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_packed(start: bytes) -> bool:
    """Whether a document that starts with these bytes is compressed."""
    return start.startswith((GZIP_MAGIC, ZSTD_MAGIC))


def _open_file(address: str, storage_options: Mapping[str, Any]) -> IO[bytes]:
    if is_local(address):
        return open(local_path(address), "rb", buffering=0)
    return io.BytesIO(read_url(address, storage_options))


def _decompressed(raw: IO[bytes], start: bytes) -> IO[bytes]:
    if start.startswith(GZIP_MAGIC):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb"))
    if start.startswith(ZSTD_MAGIC):
        import zstandard

        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True))
    return raw


@contextmanager
def open_document(
    target: str | bytes, storage_options: Mapping[str, Any] | None = None
) -> Iterator[IO[bytes]]:
    """Open an address, or bytes in memory, for reading; gzip and zstd are recognised by their first bytes."""
    try:
        raw = io.BytesIO(target) if isinstance(target, bytes) else _open_file(target, storage_options or {})
    except StoreError:
        raise
    except (OSError, ValueError, ImportError) as err:
        where = target[:200] if isinstance(target, str) else "document in memory"
        raise StoreError(where, f"cannot be opened: {err}") from err
    with raw:
        start = raw.read(4)
        raw.seek(0)
        yield _decompressed(raw, start)
