"""Whether a reference set is still true: its files are there and large enough, its chunks decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from zaro.errors import ChunkError, MetadataError, StoreError, ZaroError
from zaro.hierarchy import Array, open_node
from zaro.references.fingerprint import changes
from zaro.references.set import References
from zaro.scan.source import open_source
from zaro.stores.targets import Targets

__all__ = ["Finding", "verify"]

BLOCK = 1 << 16
"""Chunks that are looked at together."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as the set says: in which array, in which file, what."""

    array: str
    file: str
    problem: str

    def __str__(self) -> str:
        return ": ".join(part for part in (self.array or "/", self.file, self.problem) if part)


def verify(refs: References, *, read: bool = False) -> list[Finding]:
    """Compare a set with the files that it references.

    Parameters
    ----------
    refs : References
        The set; as a method, `refs.verify()`.
    read : bool
        Decode every chunk as well.

    Returns
    -------
    list of Finding
        Empty where all is well: metadata is readable, files can be reached and are those that were scanned,
        every span lies in its file.

    Raises
    ------
    ReferenceSetError
        The set itself cannot be read: a Parquet partition is broken. What is wrong with the files and their
        chunks is a finding, no error.

    Notes
    -----
    Asks each file for its size once. Linear in the chunks that exist.
    """
    sizes: dict[str, int | str] = {}
    found = [Finding("", url, _told(*how)) for url, how in changes(refs) if isinstance(how, tuple)]
    for path in refs.contents.layouts:
        try:
            node = open_node(refs, path)
            assert isinstance(node, Array)
            node.chunk_codecs  # noqa: B018 - compiles the codecs
        except MetadataError as err:
            found.append(Finding(path, "", str(err)))
            continue
        problems = list(_spans(refs, path, sizes))
        found += problems
        if read and not problems:
            found += _blocks(node)
    return found


def _told(what: str, recorded: object, now: object) -> str:
    return f"changed: {what} was {recorded!r} when it was scanned, is {now!r}"


def _spans(refs: References, path: str, sizes: dict[str, int | str]) -> Iterator[Finding]:
    table = refs.contents.tables[path]
    ids = table.listed()
    ends: dict[str, int] = {}
    for start in range(0, len(ids), BLOCK):
        at = table.locate(ids[start : start + BLOCK])
        named = at.file_id >= 0
        files, place = np.unique(at.file_id[named], return_inverse=True)
        most = np.zeros(len(files), np.int64)
        np.maximum.at(most, place, at.offset[named] + np.maximum(at.length[named], 0))
        for file, end in zip(files.tolist(), most.tolist(), strict=True):
            name = at.files[file]
            ends[name] = max(ends.get(name, 0), end)
    for name, end in ends.items():
        size = sizes.get(name)
        if size is None:
            size = sizes[name] = _size(refs, name)
        if isinstance(size, str):
            yield Finding(path, name, size)
        elif end > size:
            yield Finding(path, name, f"chunks end at byte {end}, the file at {size}")


def _size(refs: References, name: str) -> int | str:
    """Bytes of a file, or why it cannot be reached."""
    targets = Targets(refs.address or "", refs.options)
    try:
        targets.local_path(name)  # refuses what may not be reached
        full = targets.full(name)
        with open_source(full, refs.options.for_url(full), refs.options.timeout) as source:
            return source.size
    except (StoreError, OSError) as err:
        return str(err)


def _blocks(array: Array) -> Iterator[Finding]:
    """Chunks that do not decode, each read on its own."""
    steps = [range(0, size, chunk) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    for corner in product(*steps):
        where = tuple(slice(a, a + c) for a, c in zip(corner, array.chunks, strict=True))
        try:
            array.read(where)
        except ChunkError as err:
            yield Finding(array.path, err.file, f"chunk {err.key}: {err.reason}")
        except ZaroError as err:
            yield Finding(array.path, "", str(err))
