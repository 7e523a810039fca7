"""A store in a local ZIP archive: its members are spans of one file."""

from __future__ import annotations

import os
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from zaro import config
from zaro.errors import StoreError
from zaro.stores.base import Bytes, cut, is_document, span_within, too_long

__all__ = ["ZipStore"]

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")  # Source: APPNOTE.TXT, 4.3.7
_ENCRYPTED = 0x1
# deflate makes of a byte 1032 at the most: a member that promises more is no member
_LARGEST_RATIO = 1032


class ZipStore:
    """The members of one archive. Those that are stored as they are get read without a copy of the rest."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.url = os.path.abspath(os.fspath(path))
        self._starts: dict[str, int] = {}
        self._lock = threading.Lock()
        self._fd = -1

    def __reduce__(self) -> tuple[Any, ...]:
        return ZipStore, (self.url,)

    def __del__(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)

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
    def _folders(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for name in self._members:
            folder, _, last = name.rpartition("/")
            while last not in found.setdefault(folder, set()):
                found[folder].add(last)
                if not folder:
                    break
                folder, _, last = folder.rpartition("/")
        return found

    def get(self, key: str) -> Bytes | None:
        """All bytes of one member, or None where there is none; its checksum is compared."""
        info = self._members.get(key)
        if info is None:
            return None
        if is_document(key) and info.file_size > config.METADATA:
            raise StoreError(f"{self.url}/{key}", too_long(info.file_size))
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
        return sorted(self._folders.get(prefix, ()))

    def _part(self, key: str, offset: int, length: int | None) -> Bytes | None:
        info = self._members.get(key)
        if info is None or (offset == 0 and length is None):
            return self.get(key)
        if info.compress_type != zipfile.ZIP_STORED:
            whole = self.get(key)
            return None if whole is None else cut(whole, offset, length, f"{self.url}/{key}")
        start, n = span_within(info.file_size, offset, length, f"{self.url}/{key}")
        return self._pread(self._start(info) + start, n, key)

    def _whole(self, info: zipfile.ZipInfo) -> bytes:
        name = f"{self.url}/{info.filename}"
        if info.flag_bits & _ENCRYPTED:
            raise StoreError(name, "is encrypted")
        if info.compress_type == zipfile.ZIP_STORED and info.compress_size == info.file_size:
            return self._pread(self._start(info), info.file_size, info.filename)
        if info.file_size > _LARGEST_RATIO * info.compress_size + 64:
            raise StoreError(name, f"promises {info.file_size} bytes out of {info.compress_size}")
        if info.compress_type == zipfile.ZIP_DEFLATED:
            return self._inflate(info, name)
        try:
            with zipfile.ZipFile(self.url) as archive:
                return archive.read(info)
        except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile) as err:
            raise StoreError(name, f"cannot be unpacked: {err}") from err

    def _inflate(self, info: zipfile.ZipInfo, name: str) -> bytes:
        packed = self._pread(self._start(info), info.compress_size, info.filename)
        try:
            found = zlib.decompressobj(-15).decompress(packed, info.file_size + 1)
        except zlib.error as err:
            raise StoreError(name, f"cannot be unpacked: {err}") from err
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
        if start > size or n > size - start:
            raise StoreError(f"{self.url}/{key}", f"the archive has {size} bytes, {start + n} are needed")
        parts = []
        while n > 0 and (part := os.pread(self._handle, n, start)):
            parts.append(part)
            start += len(part)
            n -= len(part)
        if n > 0:
            raise StoreError(self.url, "became shorter while it was read")
        return parts[0] if len(parts) == 1 else b"".join(parts)
