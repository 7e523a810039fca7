"""The keys of a reference set as folders, one level at a time; chunks are listed only where asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from zaro.references.contents import Contents
from zaro.references.layout import split_key
from zaro.references.lookup import array_keys, id_batches
from zaro.references.table import WHOLE, Reference

__all__ = ["Entry", "Listing", "size_of"]


class Entry(NamedTuple):
    """What lies directly below a path.

    Attributes
    ----------
    key : str
        In full, from the root.
    size : int or None
        Bytes; 0 for a folder, None where the reference is a whole file.
    folder : bool
    """

    key: str
    size: int | None
    folder: bool


def size_of(reference: Reference) -> int | None:
    """Bytes that a reference names; None where it is a whole file."""
    if isinstance(reference, bytes):
        return len(reference)
    return int(reference[2]) if len(reference) == 3 else None


class Listing:
    """The folders of a reference set.

    Those that documents and odd keys make are known at once; those of chunks (`c/0/5`) are made from
    the chunks of their array each time they are asked for.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._known: dict[str, dict[str, Entry]] = {"": {}}
        for key, raw in contents.metadata.items():
            self._add(Entry(key, len(raw), folder=False))
        for key, reference in contents.other.items():
            self._add(Entry(key, size_of(reference), folder=False))
        for path in contents.layouts:
            if path:
                self._add_folder(path)

    def _add(self, entry: Entry) -> None:
        folder = split_key(entry.key)[0]
        self._add_folder(folder)
        self._known[folder][entry.key] = entry

    def _add_folder(self, path: str) -> None:
        new = []
        while path not in self._known:
            new.append(path)
            path = split_key(path)[0]
        for path in reversed(new):
            self._known[path] = {}
            self._known[split_key(path)[0]][path] = Entry(path, 0, folder=True)

    def below(self, path: str) -> Iterator[Entry]:
        """Everything directly below a path, "" for the root; nothing where there is no such folder."""
        known = self._known.get(path, {})
        yield from known.values()
        for array in self._contents.arrays_of(f"{path}/" if path else ""):
            for entry in self._chunks(array, path):
                if entry.key not in known:
                    yield entry

    def is_folder(self, path: str) -> bool:
        """Whether anything lies below a path."""
        return path in self._known or any(True for _ in self.below(path))

    def _chunks(self, array: str, path: str) -> Iterator[Entry]:
        """Chunks of an array directly below a path, and the folders that they make there."""
        table = self._contents.tables[array]
        keys = array_keys(array, self._contents.layouts[array])
        start = f"{path}/" if path else ""
        folder = ""
        for ids in id_batches(table):
            for key, size in zip(keys.keys(ids), table.locate(ids).length.tolist(), strict=True):
                if not key.startswith(start):
                    continue
                name, slash, _ = key[len(start) :].partition("/")
                if not slash:
                    yield Entry(key, None if size == WHOLE else size, folder=False)
                elif name != folder:  # ids ascend, so the chunks of a folder follow one another
                    folder = name
                    yield Entry(start + name, 0, folder=True)
