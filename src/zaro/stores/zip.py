"""A store in a local ZIP archive: its members are spans of one file."""

from __future__ import annotations

import bz2
import lzma
import os
import struct
import threading
import zipfile
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

from zaro import config
from zaro.errors import StoreError
from zaro.stores.base import Bytes, cut, is_document, packed_document_most, span_within, too_long

__all__ = ["ZipStore"]

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")  # Source: APPNOTE.TXT, 4.3.7
_ENCRYPTED = 0x1
# deflate makes of a byte 1032 at the most: a member that promises more is no member
_LARGEST_RATIO = 1032
# bytes of a dictionary and what belongs to it
_LZMA_MEMORY = 32 << 20


class ZipStore:
    """The members of one archive. Those that are stored as they are get read without a copy of the rest."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.url = os.path.abspath(os.fspath(path))
        self._starts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._fd = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return ZipStore, (self.url,)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at the end `os` may be gone
        if self._fd >= 0:
            close(self._fd)

    @property
    def _handle(self) -> int:
        with self._lock:
            if self._fd < 0:
                try:
                    self._fd = os.open(self.url, os.O_RDONLY | os.O_CLOEXEC)
                except OSError as err:
                    raise StoreError(self.url, err.strerror or str(err)) from err
            return self._fd

    @cached_property
    def _members(self) -> dict[str, zipfile.ZipInfo]:
        try:
            with zipfile.ZipFile(self.url) as archive:
                # of a name that occurs twice the last one counts, as for whoever unpacks the archive
                return {info.filename: info for info in archive.infolist() if not info.is_dir()}
        except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as err:
            raise StoreError(self.url, f"is no archive that can be read: {err}") from err

    @cached_property
    def _names(self) -> list[str]:
        return sorted(self._members)

    def get(self, key: str) -> Bytes | None:
        """All bytes of one member, or None where there is none; its checksum is compared."""
        info = self._members.get(key)
        if info is None:
            return None
        if is_document(key):
            _check_document(info, f"{self.url}/{key}")
        whole = self._whole(info)
        if zlib.crc32(whole) != info.CRC:
            raise StoreError(f"{self.url}/{key}", "its checksum in the archive does not match")
        return whole

    def nbytes(self, key: str) -> int:
        """Bytes of a member once it is unpacked; 0 where there is none."""
        info = self._members.get(key)
        return 0 if info is None else info.file_size

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans of members; None where there is no such member."""
        return [self._part(*part) for part in parts]

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many members, one after the other."""
        return [self.get(key) for key in keys]

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level."""
        # looked up, not kept by folder: a name of 64 KB may spell 32 000 folders
        start, names, found = f"{prefix}/" if prefix else "", self._names, []
        at = bisect_left(names, start)
        while at < len(names) and names[at].startswith(start):
            name, below, _ = names[at][len(start) :].partition("/")
            found.append(name)
            at = bisect_left(names, f"{start}{name}0") if below else at + 1  # "0" comes right after "/"
        return sorted({name for name in found if name})

    def _part(self, key: str, offset: int, length: int | None) -> Bytes | None:
        info = self._members.get(key)
        if info is None or (offset == 0 and length is None):
            return self.get(key)
        if not _is_plain(info):
            whole = self.get(key)
            return None if whole is None else cut(whole, offset, length, f"{self.url}/{key}")
        start, n = span_within(info.file_size, offset, length, f"{self.url}/{key}")
        return self._pread(self._start(info) + start, n, key)

    def _whole(self, info: zipfile.ZipInfo) -> bytes:
        name = f"{self.url}/{info.filename}"
        if info.flag_bits & _ENCRYPTED:
            raise StoreError(name, "is encrypted")
        if _is_plain(info):
            return self._pread(self._start(info), info.file_size, info.filename)
        if info.file_size > _LARGEST_RATIO * info.compress_size + 64:
            raise StoreError(name, f"promises {info.file_size} bytes out of {info.compress_size}")
        return self._unpack(info, name)

    def _unpack(self, info: zipfile.ZipInfo, name: str) -> bytes:
        """Unpack a member, never to more than it promises."""
        packed = self._pread(self._start(info), info.compress_size, info.filename)
        most = info.file_size + 1
        try:
            match info.compress_type:
                case zipfile.ZIP_DEFLATED:
                    found = zlib.decompressobj(-15).decompress(packed, most)
                case zipfile.ZIP_BZIP2:
                    found = bz2.BZ2Decompressor().decompress(packed, most)
                case zipfile.ZIP_LZMA:
                    found = _unpack_lzma(packed, most)
                case other:
                    raise StoreError(name, f"is packed by a method that zaro does not read: {other}")
        except (zlib.error, OSError, ValueError, lzma.LZMAError, struct.error) as err:
            raise (
                err if isinstance(err, StoreError) else StoreError(name, f"cannot be unpacked: {err}")
            ) from err
        if len(found) != info.file_size:
            raise StoreError(name, f"unpacks to {len(found)} bytes, {info.file_size} are promised")
        return found

    def _start(self, info: zipfile.ZipInfo) -> int:
        """First byte of a member's data: its own header tells, which may differ from the directory's."""
        found = self._starts.get(info.filename)
        if found is None:
            fixed = _LOCAL_HEADER.unpack(self._pread(info.header_offset, _LOCAL_HEADER.size, info.filename))
            if fixed[0] != b"PK\x03\x04":
                raise StoreError(
                    f"{self.url}/{info.filename}", "its place in the archive holds something else"
                )
            found = info.header_offset + _LOCAL_HEADER.size + fixed[-2] + fixed[-1]
            with self._lock:
                self._starts[info.filename] = found
        return found

    def _pread(self, start: int, n: int, key: str) -> bytes:
        size = os.fstat(self._handle).st_size
        if start < 0 or start > size or n > size - start:
            raise StoreError(f"{self.url}/{key}", f"the archive has {size} bytes, not {n} from {start}")
        parts = []
        while n > 0 and (part := os.pread(self._handle, n, start)):
            parts.append(part)
            start += len(part)
            n -= len(part)
        if n > 0:
            raise StoreError(self.url, "became shorter while it was read")
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _is_plain(info: zipfile.ZipInfo) -> bool:
    """Whether the bytes of a member stand in the archive as they are."""
    stored = info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size
    return stored and not info.flag_bits & _ENCRYPTED


def _check_document(info: zipfile.ZipInfo, name: str) -> None:
    """Refuse a metadata document that is too long, or that unpacks to more than any packed document may."""
    if info.file_size > config.METADATA:
        raise StoreError(name, too_long(info.file_size))
    most = packed_document_most(info.compress_size)
    if info.compress_type != zipfile.ZIP_STORED and info.file_size > most:
        raise StoreError(name, f"unpacks to {info.file_size} bytes, expected {most} at most of metadata")


def _unpack_lzma(packed: bytes, most: int) -> bytes:
    """Unpack what has LZMA's properties before it, with a header that `lzma` knows in their place.

    Source: APPNOTE.TXT, 5.8.8.
    """
    _, nbytes = struct.unpack_from("<HH", packed)
    header = packed[4 : 4 + nbytes] + b"\xff" * 8  # of a size that is not known
    unpacker = lzma.LZMADecompressor(lzma.FORMAT_ALONE, memlimit=_LZMA_MEMORY)
    return unpacker.decompress(header + packed[4 + nbytes :], most)
