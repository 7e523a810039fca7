"""The file table of a reference set, and what a relative path in it means.

A relative path means a file beside the document. Where the document is local and no such file
exists, but one does under the working directory, it means that one (reference sets are often made
and used in the folder of the data). A document from afar never turns a relative path into a local
file, and a set that came from no address (a dict, bytes) keeps its paths as written: they are
relative to the working directory, as any path is. Absolute paths and URLs stay as written; a
leading `~` or `$` means nothing.

The question is asked once per file, when the file is first needed: opening a set of a million
files asks the file system nothing.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileTable", "folder_of", "is_local", "is_relative", "local_path", "places"]

MAX_CACHED = 1 << 16  # names kept as str


def is_local(address: str) -> bool:
    """Whether an address is a path of this machine, spelled with or without `file://`."""
    return "::" not in address and ("://" not in address or address.startswith(("file://", "local://")))


def local_path(address: str) -> str:
    """Path of a local address."""
    return address.partition("://")[2] if "://" in address else address


def is_relative(url: str) -> bool:
    """Whether a reference's file is named relative to something."""
    return bool(url) and not url.startswith(("/", "data:")) and "://" not in url and "::" not in url


def folder_of(address: str) -> str:
    """Folder that an address lies in: an absolute path, or a URL without a `/` at its end."""
    if is_local(address):
        return os.path.dirname(os.path.abspath(local_path(address)))
    if address.startswith(("http://", "https://")):
        address = address.partition("#")[0].partition("?")[0]
    return address.rstrip("/").rpartition("/")[0]


def _beside(url: str, folder: str) -> str:
    scheme, separator, path = folder.rpartition("://")
    if not separator:
        return os.path.normpath(os.path.join(folder, url))
    host, slash, rest = path.partition("/")
    inside = posixpath.normpath(posixpath.join("/", rest, url)) if slash else posixpath.normpath("/" + url)
    return f"{scheme}://{host}{inside}"


def places(url: str, folder: str | None) -> tuple[str, ...]:
    """Where the file of a reference may lie, the likelier place first."""
    if folder is None or not is_relative(url):
        return (url,)
    beside = _beside(url, folder)
    return (beside,) if "://" in folder else (beside, os.path.abspath(url))


class FileTable(Sequence[str]):
    """Files by id, relative ones resolved when first asked for.

    The names stay packed, since a set may have a file per chunk; a name is a `str` while it is used.

    Parameters
    ----------
    names : sequence of str
        As the document has them, after templates.
    folder : str or None
        Folder of the document; None where it came from no address.
    """

    __slots__ = ("_cache", "ends", "folder", "text")

    def __init__(self, names: Sequence[str] = (), folder: str | None = None) -> None:
        encoded = [name.encode() for name in names]
        self.text = b"".join(encoded)
        self.ends = np.cumsum([len(name) for name in encoded], dtype=np.int64)
        self.folder = folder
        self._cache: dict[int, str] = {}

    @classmethod
    def packed(cls, text: bytes, ends: NDArray[np.int64], folder: str | None = None) -> FileTable:
        """Table of names that lie one after another in `text`, in UTF-8; name k ends at `ends[k]`."""
        table = cls((), folder)
        table.text, table.ends = text, ends
        return table

    def __reduce__(self) -> tuple[object, ...]:
        return FileTable.packed, (self.text, self.ends, self.folder)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        found = self._cache.get(index)
        return self._find(index) if found is None else found

    def written(self, index: int) -> str:
        """Name of a file as the document has it."""
        if not 0 <= index < len(self.ends):
            raise IndexError(f"file {index} of {len(self.ends)}")
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])].decode()

    def places(self, index: int) -> tuple[str, ...]:
        """Every place where a file may lie, for the message when it lies in none."""
        return places(self.written(index), self.folder)

    def _find(self, index: int) -> str:
        candidates = self.places(index)
        url = next(filter(os.path.exists, candidates), candidates[0]) if candidates[1:] else candidates[0]
        if len(self._cache) >= MAX_CACHED:
            self._cache.clear()
        self._cache[index] = url
        return url
