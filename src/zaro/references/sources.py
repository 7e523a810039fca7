"""The bytes of a reference document: from a path, a URL or memory, decompressed on the way."""

from __future__ import annotations

import gzip
import io
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any, cast

from zaro import config
from zaro.errors import ReferenceSetError, StoreError
from zaro.references.files import is_local, local_path
from zaro.stores.remote import read_url

__all__ = ["is_packed", "open_document"]

GZIP_MAGIC, ZSTD_MAGIC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def is_packed(start: bytes) -> bool:
    """Whether a document that starts with these bytes is compressed."""
    return start.startswith((GZIP_MAGIC, ZSTD_MAGIC))


def _no_wait(path: str, flags: int) -> int:
    """Open without waiting for somebody to write to a pipe."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("is no file")
    return handle


def _open_file(address: str, storage_options: Mapping[str, Any], timeout: float) -> IO[bytes]:
    if is_local(address):
        return open(local_path(address), "rb", buffering=0, opener=_no_wait)
    return cast("IO[bytes]", _Held(read_url(address, storage_options, timeout, most=config.DOCUMENT)))


class _Held(io.RawIOBase):
    """Bytes in memory, to be read without a copy of them all."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        super().__init__()
        self._data, self._at = memoryview(data), 0

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that any place can be gone to."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        begin = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: len(self._data)}[whence]
        self._at = max(0, min(begin + offset, len(self._data)))
        return self._at

    def readinto(self, room: Any) -> int:
        """Read what fits."""
        part = self._data[self._at : self._at + len(room)]
        room[: len(part)] = part
        self._at += len(part)
        return len(part)


class Unpacked(io.RawIOBase):
    """The text of a compressed document, as long as there is no more of it than its size lets expect."""

    def __init__(self, text: IO[bytes], nbytes: int, name: str) -> None:
        super().__init__()
        self._text, self._name, self._nbytes = text, name, nbytes
        self._left = max(config.DOCUMENT_TEXT, config.DOCUMENT_RATIO * nbytes)

    @property
    def longest(self) -> int:
        """Bytes that one entry may have."""
        return max(config.DOCUMENT_ENTRY, config.ENTRY_RATIO * self._nbytes)

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, room: Any) -> int:
        """Read what fits."""
        got = int(self._text.readinto(room))  # type: ignore[attr-defined]
        self._left -= got
        if self._left < 0:
            reason = f"unpacks to far more than its {self._nbytes} bytes let expect"
            raise ReferenceSetError(self._name, "", f"{reason}; see zaro.config.DOCUMENT_RATIO")
        return got


def _decompressed(raw: IO[bytes], start: bytes, name: str) -> IO[bytes]:
    if not is_packed(start):
        return raw
    nbytes = raw.seek(0, io.SEEK_END)
    raw.seek(0)
    if start.startswith(GZIP_MAGIC):
        return cast(
            "IO[bytes]", Unpacked(cast("IO[bytes]", gzip.GzipFile(fileobj=raw, mode="rb")), nbytes, name)
        )
    import zstandard

    packed = zstandard.ZstdDecompressor(max_window_size=config.DOCUMENT_TEXT)
    return cast("IO[bytes]", Unpacked(packed.stream_reader(raw, read_across_frames=True), nbytes, name))


@contextmanager
def open_document(
    target: str | bytes, storage_options: Mapping[str, Any] | None = None, timeout: float = 60.0
) -> Iterator[IO[bytes]]:
    """Open an address, or bytes in memory, for reading; gzip and zstd are recognised by their first bytes."""
    name = target if isinstance(target, str) else ""
    try:
        raw = (
            io.BytesIO(target)
            if isinstance(target, bytes)
            else _open_file(target, storage_options or {}, timeout)
        )
    except StoreError:
        raise
    except (OSError, ValueError, ImportError) as err:
        reason = getattr(err, "strerror", None) or str(err)
        raise StoreError(name or "document in memory", f"cannot be opened: {reason}") from err
    with raw:
        start = raw.read(4)
        raw.seek(0)
        yield _decompressed(raw, start, name)
