"""Reference sets as Parquet: a folder of partitions, read one at a time and kept under a byte budget.

`.zmetadata` holds the metadata and `record_size`; chunk `i` of array `a/b` is row `i % record_size` of
`a/b/refs.{i // record_size}.parq`. Folders are never listed. A partition that is not there lists no
chunks: writers leave out those that would be all null.

Source: fsspec's LazyReferenceMapper, whose folders these are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from zaro import config
from zaro.errors import ReferenceSetError, StoreError
from zaro.options import Options
from zaro.references.contents import Contents
from zaro.references.files import is_local, local_path
from zaro.references.fingerprint import MEMBER, written
from zaro.references.json import read_mapping
from zaro.references.parquet_set import BUDGET, Fetch, ParquetSet
from zaro.references.parquet_table import ParquetTable
from zaro.stores.local import leads_nowhere, read_span
from zaro.stores.remote import FsspecStore

__all__ = ["EXTRA", "HEADER", "Folder", "read", "read_folder"]

HEADER = ".zmetadata"
EXTRA = MEMBER
"""Member of the header in which zaro keeps what the format has no place for."""
_NO_SET = "there is no Parquet reference set here (of a Zarr store, zaro.scan makes one)"
MOST_ROWS = 2**31 - 1


def read(address: str, *, options: Options, folder: str | None) -> Contents:
    """Open the folder at a path or URL; reads its header, and no partition."""
    return read_folder(_fetcher(address, options), document=address, folder=folder)


def read_folder(
    fetch: Fetch, *, document: str = "", folder: str | None = None, budget: int = BUDGET
) -> Contents:
    """Open a folder that is known by the bytes of its keys.

    Parameters
    ----------
    fetch
        Gives the bytes of a key, None where there is none.
    document
        Its name, for messages.
    folder
        What relative paths in it are resolved against.
    budget : int
        Bytes of partitions that are kept in memory.

    Raises
    ------
    ReferenceSetError
        The header is missing or broken. A broken partition is found when it is first used.
    """
    raw = fetch(HEADER)
    if raw is None:
        raise ReferenceSetError(document, HEADER, f"is missing: {_NO_SET}")
    header = _object(raw, document, HEADER)
    size = header.get("record_size")
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_ROWS:
        reason = _NO_SET if size is None else f"is {size!r}, expected a number of rows"
        raise ReferenceSetError(document, f"{HEADER}, record_size", reason)
    extra = header.get(EXTRA)
    extra = extra if isinstance(extra, dict) else {}
    beside = _other(extra, document)
    metadata = _metadata(header, extra, document) | beside.metadata
    contents = Contents(metadata=metadata, other=beside.other).complete()
    contents.fingerprints = written(extra, document, folder)
    shared = ParquetSet(fetch, size, document, folder, budget)
    for path, layout in contents.layouts.items():
        if any(part in ("", ".", "..") for part in path.split("/")) and path:
            raise ReferenceSetError(document, HEADER, f"names an array {path!r}, which is no path in the set")
        if layout.nchunks:
            contents.tables[path] = ParquetTable(shared, path, layout.nchunks)
    return contents


def _object(raw: bytes | bytearray | memoryview, document: str, place: str) -> dict[str, Any]:
    try:
        found = json.loads(bytes(raw))
    except (ValueError, RecursionError) as err:
        raise ReferenceSetError(document, place, f"is no JSON: {err}") from err
    if not isinstance(found, dict):
        raise ReferenceSetError(document, place, f"holds a {type(found).__name__}, expected an object")
    return found


def _metadata(header: Mapping[str, Any], extra: Mapping[str, Any], document: str) -> dict[str, bytes]:
    members = header.get("metadata")
    if not isinstance(members, dict):
        raise ReferenceSetError(document, f"{HEADER}, metadata", "is missing, expected an object")
    texts = extra.get("texts")
    texts = texts if isinstance(texts, dict) else {}
    found = {}
    for key, value in members.items():
        if isinstance(value, str):
            found[key] = value.encode("utf-8", "surrogatepass")
        elif isinstance(value, dict):
            found[key] = _as_written(value, texts.get(key))
        else:
            raise ReferenceSetError(document, f"{HEADER}, {key!r}", f"is {value!r:.60}, expected an object")
    return found


def _as_written(value: dict[str, Any], text: object) -> bytes:
    """Spell a document as the set that it came from did, if that text still says the same."""
    if isinstance(text, str):
        try:
            if json.dumps(json.loads(text)) == json.dumps(value):
                return text.encode("utf-8", "surrogatepass")
        except (ValueError, RecursionError):
            pass
    return json.dumps(value).encode()


def _other(extra: Mapping[str, Any], document: str) -> Contents:
    """Read what the format has no place for: documents that are no objects, and keys of no array."""
    other = extra.get("other")
    return read_mapping({"version": 1, "refs": other if isinstance(other, dict) else {}}, name=document)


def _fetcher(address: str, options: Options) -> Fetch:
    if is_local(address):
        return Folder(local_path(address).rstrip("/")).get
    store = FsspecStore(address.rstrip("/"), options.storage_options, options.timeout)
    return store.get


class Folder:
    """A local folder of partitions, as long as it is the one that was opened.

    Writers replace folders: partitions of the new set mean nothing to who has read the old header. Who
    appends writes into the folder what the old header says nothing of.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._opened: tuple[int, ...] | None = None

    def get(self, key: str) -> bytes | None:
        """All bytes of a key; None where there is none, and the set is still there."""
        if key == HEADER:
            self._opened = self._identity()
        path = f"{self.root}/{key}"
        try:
            found = read_span(path, 0, None, most=config.PARTITION)
        except StoreError:
            raise
        except (FileNotFoundError, NotADirectoryError) as err:
            if leads_nowhere(path, self.root):
                raise StoreError(path, "a link that leads nowhere") from err
            found = None
        if key != HEADER and self._opened not in (None, self._identity()):
            reason = "was removed or replaced while it was open; open it again"
            raise ReferenceSetError(self.root, key, reason)
        return found

    def _identity(self) -> tuple[int, ...] | None:
        """What tells one folder from another; None for one that holds no set."""
        try:
            os.stat(f"{self.root}/{HEADER}")
            found = os.stat(self.root)
        except OSError:
            return None
        return found.st_dev, found.st_ino
