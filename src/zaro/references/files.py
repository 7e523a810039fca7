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

__all__ = [
    "FileTable",
    "Files",
    "JoinedFiles",
    "PackedFiles",
    "file_table",
    "folder_of",
    "is_local",
    "is_relative",
    "local_path",
    "places",
]

MAX_LISTED = 1 << 16  # files that are kept as str, at most


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


class Files(Sequence[str]):
    """Files by id, relative ones resolved when first asked for."""

    __slots__ = ()
    folder: str | None

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self._at(i) for i in range(*index.indices(len(self)))]
        return self._at(index)

    def _at(self, index: int) -> str:
        return self._resolve(index)

    def name(self, index: int) -> str:
        """Name of a file as the document has it."""
        raise NotImplementedError

    def places(self, index: int) -> tuple[str, ...]:
        """Every place where a file may lie, for the message when it lies in none."""
        return places(self.name(index), self.folder)

    def _resolve(self, index: int) -> str:
        candidates = self.places(index)
        return next(filter(os.path.exists, candidates), candidates[0]) if candidates[1:] else candidates[0]


class FileTable(Files):
    """Files by id, relative ones resolved when first asked for.

    Parameters
    ----------
    written : list of str
        As the document names them, after templates.
    folder : str or None
        Folder of the document; None where it came from no address.
    """

    __slots__ = ("folder", "resolved", "written")

    def __init__(self, written: list[str], folder: str | None = None) -> None:
        self.written, self.folder = written, folder
        self.resolved: list[str | None] = (
            list(written) if folder is None else [None if is_relative(url) else url for url in written]
        )

    def __reduce__(self) -> tuple[object, ...]:
        return FileTable, (self.written, self.folder)

    def __len__(self) -> int:
        return len(self.written)

    def _at(self, index: int) -> str:
        url = self.resolved[index]
        if url is None:
            url = self.resolved[index] = self._resolve(index)
        return url

    def name(self, index: int) -> str:
        """Name of a file as the document has it."""
        return self.written[index]


class PackedFiles(Files):
    """The same for sets with a file per chunk: a name is a `str` only while it is used.

    Parameters
    ----------
    text : bytes
        The names one after another, in UTF-8.
    ends : (n,) int64
        Where each name ends in `text`.
    folder : str or None
        Folder of the document; None where it came from no address.
    """

    __slots__ = ("ends", "folder", "text")

    def __init__(self, text: bytes, ends: NDArray[np.int64], folder: str | None = None) -> None:
        self.text, self.ends, self.folder = text, ends, folder

    def __len__(self) -> int:
        return len(self.ends)

    def name(self, index: int) -> str:
        """Name of a file as the document has it."""
        index = range(len(self.ends))[index]
        start = int(self.ends[index - 1]) if index else 0
        return self.text[start : int(self.ends[index])].decode()


class JoinedFiles(Files):
    """Two file tables as one: ids from `split` on, as many as the first has now, are the second's."""

    __slots__ = ("first", "folder", "second", "split")

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self.first, self.second, self.folder = first, second, None
        self.split = len(first)  # which may grow

    def __len__(self) -> int:
        return self.split + len(self.second)

    def _part(self, index: int) -> tuple[Sequence[str], int]:
        index = range(len(self))[index]
        return (self.first, index) if index < self.split else (self.second, index - self.split)

    def _at(self, index: int) -> str:
        files, k = self._part(index)
        return files[k]

    def name(self, index: int) -> str:
        """Name of a file as its document has it."""
        files, k = self._part(index)
        return files.name(k) if isinstance(files, Files) else files[k]

    def places(self, index: int) -> tuple[str, ...]:
        """Every place where a file may lie, for the message when it lies in none."""
        files, k = self._part(index)
        return files.places(k) if isinstance(files, Files) else (files[k],)


def file_table(text: bytes, ends: NDArray[np.int64], folder: str | None) -> FileTable | PackedFiles:
    """Table of files whose names lie one after another in `text`; name k ends at `ends[k]`."""
    packed = PackedFiles(text, ends, folder)
    return packed if len(ends) > MAX_LISTED else FileTable([packed.name(k) for k in range(len(ends))], folder)
