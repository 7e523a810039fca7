"""Whether a reference set is still true: its files are there and large enough, its chunks decode."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ChunkError, MetadataError, StoreError, ZaroError
from zaro.hierarchy import Array, open_node
from zaro.references.fingerprint import changes
from zaro.references.set import References
from zaro.scan.source import open_source
from zaro.shown import spelled_fact
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
    was, is_ = (spelled_fact(what, value) for value in (recorded, now))
    return f"changed: {what} was {was} when it was scanned, is {is_}"


def _spans(refs: References, path: str, sizes: dict[str, int | str]) -> Iterator[Finding]:
    contents = refs.contents
    table = contents.tables[path]
    ids = table.listed()
    last: dict[str, tuple[int, int]] = {}  # where the last chunk in each file ends, and its id
    for start in range(0, len(ids), BLOCK):
        block = ids[start : start + BLOCK]
        at = table.locate(block)
        end = at.offset + np.maximum(at.length, 0)
        order = np.argsort(end, kind="stable")
        for k, file in _last_of_each(at.file_id[order]):
            row = order[k]
            name, found = at.files[file], (int(end[row]), int(block[row]))
            last[name] = max(last.get(name, found), found)
    for name, (end_of_last, chunk) in last.items():
        size = sizes.get(name)
        if size is None:
            size = sizes[name] = _size(refs, name)
        if isinstance(size, str):
            yield Finding(path, name, size)
        elif end_of_last > size:
            key = contents.layouts[path].name(chunk)
            yield Finding(path, name, f"chunk {key} ends at byte {end_of_last}, the file at {size}")


def _last_of_each(file_ids: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Where each file stands last, and its id; what is in no file is left out."""
    files, first = np.unique(file_ids[::-1], return_index=True)
    places = len(file_ids) - 1 - first
    return ((k, file) for k, file in zip(places.tolist(), files.tolist(), strict=True) if file >= 0)


def _size(refs: References, name: str) -> int | str:
    """Bytes of a file, or why it cannot be reached."""
    targets = Targets(refs.address or "", refs.options)
    try:
        targets.local_path(name)  # refuses what may not be reached
        full = targets.full(name)
        with open_source(full, refs.options.for_url(full), refs.options.timeout) as source:
            return source.size
    except StoreError as err:
        return err.reason if err.url == name else str(err)
    except OSError as err:
        return str(err)


def _blocks(array: Array) -> Iterator[Finding]:
    """Chunks that do not decode, each read on its own."""
    steps = [range(0, size, chunk or 1) for size, chunk in zip(array.shape, array.chunks, strict=True)]
    for corner in product(*steps):
        where = tuple(slice(a, a + c) for a, c in zip(corner, array.chunks, strict=True))
        try:
            array.read(where)
        except ChunkError as err:
            yield Finding(array.path, err.file, f"chunk {err.key}: {err.reason}")
        except ZaroError as err:
            yield Finding(array.path, "", str(err))
