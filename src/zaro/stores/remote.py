"""A store at any address that fsspec reaches.

What talks to servers (asyncio, fsspec, aiohttp) is imported when something is asked of one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zaro import config
from zaro.errors import StoreError, StoreForbiddenError, StoreNotFoundError
from zaro.stores.base import Bytes, Place, is_document

__all__ = ["FsspecStore", "read_parts", "read_url"]

_NEW, _OLD = ("zarr.json",), (".zarray", ".zgroup", ".zattrs")
DOCUMENT_NAMES = (*_NEW, *_OLD)
"""Metadata documents that a folder may hold."""

Part = tuple[Place, int, int | None]
"""What to read: the file, the offset (below 0: from the end), the length (None: to the end)."""


class FsspecStore:
    """Keys below a URL.

    Parameters
    ----------
    url : str
        With its protocol; chained URLs too.
    options : mapping
        fsspec's options for it.
    timeout : float
        Seconds that one request may take, with all its attempts.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None, timeout: float = 60.0) -> None:
        stripped = url.rstrip("/")
        self.url = url if "?" in url or stripped.endswith(":") else stripped
        self._options, self._timeout = dict(options or {}), timeout
        self._root: tuple[int, Place] | None = None
        self._documents: dict[str, dict[str, Bytes | StoreError | None]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return FsspecStore, (self.url, self._options, self._timeout)

    @property
    def root(self) -> Place:
        """The place of the store itself; a forked child has file systems of its own."""
        if self._root is None or self._root[0] != os.getpid():
            from zaro.stores.filesystems import place_of

            found = place_of(self.url, self._options)
            self._root = os.getpid(), Place(found.fs, found.path.rstrip("/"), found.url)
        return self._root[1]

    def place(self, key: str) -> Place:
        """The place of a key."""
        if ".." in key.split("/") or key.startswith("/"):
            raise StoreError(self.url, f"key {key!r} climbs out of the store")
        root = self.root
        if not self.url.startswith(("http://", "https://")):
            return Place(root.fs, f"{root.path}/{key}" if root.path else key, _below(root.url, key))
        from urllib.parse import quote

        # a name is no query, whatever it holds; a query of the store stays behind the name
        address, mark, query = root.path.partition("?")
        url = f"{address.rstrip('/')}/{quote(key, safe='/!$&()*+,;=:@~')}{mark}{query}"
        return Place(root.fs, url, url)

    def get(self, key: str) -> Bytes | None:
        """All bytes of one key, or None where there is no such key."""
        return self.get_many([key])[0]

    def get_many(self, keys: Sequence[str]) -> list[Bytes | None]:
        """All bytes of many keys, asked for at the same time."""
        return self.get_parts([(key, 0, None) for key in keys])

    def get_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | None]:
        """Spans of keys, asked for at the same time; None where there is no such key."""
        return _raise_first(self.try_parts(parts))

    def try_parts(self, parts: Sequence[tuple[str, int, int | None]]) -> list[Bytes | StoreError | None]:
        """Spans of keys, and the errors of those that could not be read."""
        places = [(self.place(key), offset, length) for key, offset, length in parts]
        documents = all(is_document(key) for key, _, _ in parts)
        limits = {"most": config.METADATA, "untold": config.UNTOLD} if documents else {}
        found = read_parts(places, self._timeout, **limits)
        return [None if isinstance(one, FileNotFoundError) else one for one in found]

    def document(self, key: str) -> Bytes | None:
        """A metadata document; all that may lie beside it are asked for at the same time, and kept.

        Raises
        ------
        StoreError
            It cannot be read. Where another document lies beside it, one that is forbidden counts as
            absent: some servers answer so for what they do not have.
        """
        folder, _, name = key.rpartition("/")
        if folder not in self._documents:
            self.load([folder])
        beside = self._documents[folder]
        found = beside.get(name)
        if isinstance(found, StoreForbiddenError) and any(map(_is_bytes, beside.values())):
            return None
        if isinstance(found, StoreError):
            raise found
        return found

    def root_documents(self) -> dict[str, Bytes]:
        """The metadata documents of the root that can be read.

        Raises
        ------
        StoreError
            The store cannot be reached at all.
        """
        if "" not in self._documents:
            self.load([""])
        found = self._documents[""].values()
        unreachable = [
            one for one in found if isinstance(one, StoreError) and not isinstance(one, PermissionError)
        ]
        if len(unreachable) == len(found):
            raise unreachable[0]
        return {name: one for name, one in self._documents[""].items() if _is_bytes(one)}  # type: ignore[misc]

    def load(self, folders: Sequence[str]) -> None:
        """Read the metadata documents of some folders, all at the same time."""
        keys = [(folder, name) for folder in folders for name in self._may_lie_in(folder)]
        found = self.try_parts([(f"{folder}/{name}" if folder else name, 0, None) for folder, name in keys])
        fresh: dict[str, dict[str, Bytes | StoreError | None]] = {folder: {} for folder in folders}
        for (folder, name), one in zip(keys, found, strict=True):
            fresh[folder][name] = one
        self._documents |= fresh

    def _may_lie_in(self, folder: str) -> Sequence[str]:
        """Names of documents; those below a root that is known have its version."""
        if not folder:
            return *DOCUMENT_NAMES, ".zmetadata"
        root = self._documents.get("", {})
        is_new, is_old = (any(_is_bytes(root.get(name)) for name in names) for names in (_NEW, _OLD))
        return DOCUMENT_NAMES if is_new == is_old else _NEW if is_new else _OLD

    def start_of_root(self, nbytes: int) -> Bytes:
        """The first bytes of what lies at the address itself; none where it is no file."""
        try:
            found = read_parts([(self.root, 0, nbytes)], self._timeout)[0]
        except StoreError:
            return b""
        return b"" if isinstance(found, Exception) else found

    def names(self, prefix: str) -> Iterable[str]:
        """Names directly below a prefix, one level.

        Raises
        ------
        StoreError
            The server gives no listing.
        """
        from zaro.stores import filesystems, loop

        place = self.place(prefix) if prefix else self.root
        try:
            found = loop.run(filesystems.listing(place, self._timeout))
        except FileNotFoundError as err:
            if self.url.startswith(("http://", "https://")):
                raise StoreError(
                    place.url,
                    "the server gives no listing: nodes are found by name, or by consolidated metadata",
                ) from err
            return []
        return sorted(found)


def _is_bytes(found: object) -> bool:
    return found is not None and not isinstance(found, Exception)


def _below(url: str, key: str) -> str:
    """URL of a key, for messages: below the first link of a chain that has a path."""
    first, chain, rest = url.partition("::")
    if not chain or "://" not in first:
        return f"{url}/{key}"
    return f"{first if first.endswith('/') else first + '/'}{key}::{rest}"


def _raise_first(found: list[Bytes | StoreError | None]) -> list[Bytes | None]:
    good = [one for one in found if not isinstance(one, StoreError)]
    if len(good) < len(found):
        raise next(one for one in found if isinstance(one, StoreError))
    return good


def read_parts(
    parts: Sequence[Part],
    timeout: float,
    *,
    most: int | None = None,
    untold: int | None = None,
    at_once: int | None = None,
) -> list[Bytes | StoreError | FileNotFoundError]:
    """Read a few spans at the same time; errors stand in the places of their results.

    A whole file may have `most` bytes, None for those that any document may have; `untold` where the
    server does not tell how many there are. `at_once`: requests under way, else those of a read.
    """
    from zaro.stores import fetch, loop

    most = config.DOCUMENT if most is None else most
    return loop.run(fetch.read_all(parts, timeout, most, untold, at_once))


def read_url(
    url: str, options: Mapping[str, Any], timeout: float = 60.0, *, most: int | None = None
) -> Bytes:
    """Read the whole file at a URL, of which there may be `most` bytes.

    Raises
    ------
    StoreNotFoundError
        There is none.
    StoreError
    """
    from zaro.stores.filesystems import place_of

    found = read_parts([(place_of(url, options), 0, None)], timeout, most=most)[0]
    if isinstance(found, FileNotFoundError) and not isinstance(found, StoreError):
        raise StoreNotFoundError(url, "No such file or directory") from found
    if isinstance(found, Exception):
        raise found
    return found
