"""Members of archives that fsspec unpacks, never to more than was asked for."""

from __future__ import annotations

import zipfile
from typing import Any

from zaro.errors import StoreError
from zaro.stores.base import Place, packed_document_most

__all__ = ["is_archive", "read_member"]

_ARCHIVES = frozenset({"zip", "tar", "libarchive"})
# bytes that are unpacked at a time
_STEP = 1 << 20
# what zipfile unpacks in bounded pieces; of the others forty bytes make half a gigabyte at once
_BOUNDED = (None, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_archive(fs: Any) -> bool:
    """Whether a file system is an archive."""
    kinds = {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)
    return bool(kinds & _ARCHIVES)


def read_member(
    place: Place, start: int | None, end: int | None, most: int | None, is_document: bool
) -> bytearray:
    """Read bytes `start` to `end` of a member; a start below 0 counts from its end.

    Raises
    ------
    StoreError
        It unpacks to more than `most` bytes, or to more than any packed document may, whatever the
        archive's directory promises; or it is packed in a way that cannot be watched.
    """
    facts, first = place.fs.info(place.path), start or 0
    if facts.get("compress_type") not in _BOUNDED:
        reason = "is packed otherwise than with deflate; zaro unpacks that from local .zip files only"
        raise StoreError(place.url, reason)
    if is_document and facts.get("compress_type"):
        packed = packed_document_most(int(facts["compress_size"]))
        most = packed if most is None else min(most, packed)
    if first < 0:
        first = max(0, int(facts["size"]) + first)
    wanted = None if end is None else end - first
    found = bytearray()
    with place.fs.open(place.path, "rb") as file:
        file.seek(first)
        while wanted is None or len(found) < wanted:
            part = file.read(_STEP if wanted is None else min(_STEP, wanted - len(found)))
            if not part:
                break
            found += part
            if most is not None and len(found) > most:
                raise StoreError(place.url, f"holds more than the {most} bytes that it may have")
    return found
