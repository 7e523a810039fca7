"""Any reference set to the custom generator syntax, lossless: what is regular is said once.

Every variable goes where it leaves the fewest exceptions: into one generator with the others of its
grid, chunk position by chunk position, or into one of its own. What no generator holds stays under
`refs`: metadata, inline data, whole files, other keys, and arrays that are mostly absent.

Source: D. Westwood, "Experiments with Kerchunk" (2023), "Custom Generator Syntax".
"""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro._core import intlist
from zaro._core import pack as _kernel
from zaro._core.grid import unravel
from zaro.errors import ReferenceSetError
from zaro.references import lists
from zaro.references.columns import contents_of, name_of, target_folder, used_files
from zaro.references.contents import Contents
from zaro.references.fingerprint import MEMBER
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.table import INLINE, WHOLE, Ids, Located, Reference, Table
from zaro.references.writing import Progress, new_document, spelled

if TYPE_CHECKING:
    from zaro.references.set import References

__all__ = ["Packed", "gfactor", "pack", "pieces", "write"]

SHORT = 16  # numbers up to which the plain spelling is the shorter one

Column = tuple[NDArray[np.int32], Ids, Ids]
"""File id, offset and length of every chunk of one variable; file below 0 for what is not packed."""


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """One generator, as lists.

    Attributes
    ----------
    variables : tuple of str
    dims : tuple of int
        The chunk grid that they share.
    lengths : (variables,) int64
        Bytes of a regular chunk of each.
    lists : Lists
        Start and exceptions, see `zaro._core.pack`.
    files : list of str
        Names by file id of the runs in `lists`.
    """

    variables: tuple[str, ...]
    dims: tuple[int, ...]
    lengths: Ids
    lists: _kernel.Lists
    files: list[str]

    @property
    def total(self) -> int:
        """Chunks of all variables."""
        return math.prod(self.dims) * len(self.variables)

    @property
    def exceptions(self) -> int:
        """Skipped, unique and gapped chunks together."""
        return len(self.lists.absent_id) + len(self.lists.unique_id) + len(self.lists.gap_id)

    @property
    def gfactor(self) -> float:
        """Share of regular chunks; negative where many chunks are exceptions twice over."""
        return 1 - self.exceptions / self.total


def gfactor(packed: list[Packed]) -> float:
    """Share of regular chunks of all generators together."""
    total = sum(one.total for one in packed)
    return 1 - sum(one.exceptions for one in packed) / total if total else 1.0


# ---- from columns to generators ----------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Files:
    """Files of all tables by name."""

    folder: str | None
    names: dict[str, int] = field(default_factory=dict)

    def shared(self, at: Located) -> NDArray[np.int32]:
        """File ids that mean the same for every table; below 0 for what is not packed."""
        file_id = np.where(at.length == WHOLE, np.int32(-1), at.file_id)
        used, local = used_files(file_id)
        names = [name_of(at.files, k, self.folder) for k in used.tolist()]
        ids = np.array([self.names.setdefault(name, len(self.names)) for name in names], np.int32)
        if not len(ids):
            return local
        return np.where(local >= 0, ids[np.maximum(local, 0)], np.int32(-1))


def pack(
    refs: Contents | References, *, folder: str | None = None, progress: Progress | None = None
) -> list[Packed]:
    """Pack every array of a set that a generator can hold.

    Parameters
    ----------
    refs
        The set.
    folder
        Folder of the document to be: files that lie relative to it are named so.
    progress
        Called after each array with the chunks that have been looked at, and those that there are.

    Raises
    ------
    ReferenceSetError
        A span is no place in a file.

    Notes
    -----
    Linear in the chunks of arrays that are not mostly absent; 20 bytes a chunk of working memory.
    """
    contents, files = contents_of(refs), _Files(folder)
    groups: dict[tuple[int, ...], dict[str, Column]] = {}
    done, total = 0, sum(table.nchunks for table in contents.tables.values())
    for path, table in contents.tables.items():
        column = _column(table, files)
        if column is not None:
            groups.setdefault(contents.layouts[path].grid, {})[path] = column
        done += table.nchunks
        if progress is not None:
            progress(done, total)
    names = list(files.names)
    return [packed for dims, group in groups.items() for packed in _best(dims, group, names)]


def _column(table: Table, files: _Files) -> Column | None:
    if table.nchunks == 0 or table.candidates() is not None:
        return None
    at = table.locate(np.arange(table.nchunks, dtype=np.int64))
    file = np.ascontiguousarray(files.shared(at), np.int32)
    if not (file >= 0).any():
        return None
    return file, np.ascontiguousarray(at.offset, np.int64), np.ascontiguousarray(at.length, np.int64)


def _best(dims: tuple[int, ...], group: dict[str, Column], names: list[str]) -> Iterator[Packed]:
    """Pack the variables of one grid in the order that leaves the fewest exceptions."""
    lengths = {path: _kernel.modal(file, length) for path, (file, _, length) in group.items()}
    if len(group) > 1:
        together = _cost(group, lengths)
        apart = sum(_cost({path: column}, lengths) for path, column in group.items())
        if together <= apart:
            yield _pack(dims, group, lengths, names)
            return
    for path, column in group.items():
        yield _pack(dims, {path: column}, lengths, names)


def _cost(group: dict[str, Column], lengths: dict[str, int]) -> int:
    regular = np.array([lengths[path] for path in group], np.int64)
    try:
        return sum(_kernel.count(list(group.values()), True, regular))
    except ValueError as err:
        raise ReferenceSetError("", ", ".join(group), str(err)) from err


def _pack(
    dims: tuple[int, ...], group: dict[str, Column], lengths: dict[str, int], names: list[str]
) -> Packed:
    regular = np.array([lengths[path] for path in group], np.int64)
    try:
        found = _kernel.fill(list(group.values()), True, regular)
    except ValueError as err:
        raise ReferenceSetError("", ", ".join(group), str(err)) from err
    return Packed(tuple(group), dims, regular, found, names)


# ---- the document ------------------------------------------------------------------------------


def pieces(
    refs: Contents | References,
    *,
    compact: bool = False,
    folder: str | None = None,
    progress: Progress | None = None,
) -> Iterator[bytes]:
    """Spell a set as a document of generators, piece by piece.

    Parameters
    ----------
    refs
        The set.
    compact : bool
        Spell long lists the compact way, which only zaro reads.
    folder
        Folder of the document: files that lie relative to it are named so.
    progress
        See `pack`, which takes most of the time.
    """
    contents = contents_of(refs)
    packed = pack(contents, folder=folder, progress=progress)
    held = {path for one in packed for path in one.variables}
    yield b'{"version": 1, "refs": {'
    separator = b"\n"
    for key, value in _left_over(contents, held, folder):
        yield b"%s%s: %s" % (separator, json.dumps(key).encode(), json.dumps(value).encode())
        separator = b",\n"
    yield b"}"
    if packed:
        yield b',\n"gen": ' if len(packed) == 1 else b',\n"gen": ['
        for number, one in enumerate(packed):
            yield b",\n" if number else b""
            yield from _spell(one, compact)
        yield b"" if len(packed) == 1 else b"]"
    if contents.fingerprints is not None:
        member = json.dumps(contents.fingerprints.spelled(folder)).encode()
        yield b',\n"%s": %s' % (MEMBER.encode(), member)
    yield b"}\n"


def write(
    refs: Contents | References,
    target: str | os.PathLike[str],
    *,
    compact: bool = False,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a set as a document of generators, which replaces what is there once it is complete.

    Parameters
    ----------
    refs
        The set.
    target
        Path or URL.
    compact : bool
        Spell long lists the compact way, which only zaro reads.
    storage_options
        fsspec's options for a URL.
    progress
        Called now and then with the chunks that are done, and those that there are.

    Raises
    ------
    ReferenceSetError
        A span is no place in a file.
    StoreError
        The document cannot be written.
    """
    address = os.fspath(target)
    with new_document(address, storage_options) as file:
        for piece in pieces(refs, compact=compact, folder=target_folder(address), progress=progress):
            file.write(piece)  # a compressor has no writelines


def _left_over(contents: Contents, held: set[str], folder: str | None) -> Iterator[tuple[str, Any]]:
    """References that no generator holds, by key."""
    for key, raw in contents.metadata.items():
        yield key, spelled(raw)
    for path, table in contents.tables.items():
        yield from _rest_of(path, table, contents.layouts[path], path in held, folder)
    for key, value in contents.other.items():
        yield key, spelled(value) if isinstance(value, bytes) else value


def _rest_of(
    path: str, table: Table, layout: ChunkLayout, is_held: bool, folder: str | None
) -> Iterator[tuple[str, Any]]:
    ids = table.listed()
    at = table.locate(ids)
    if is_held:
        left = np.flatnonzero((at.file_id == INLINE) | (at.length == WHOLE))
        if not len(left):
            return
        ids, at = ids[left], table.locate(ids[left])
    columns = (ids, at.file_id, at.offset, at.length)
    data = memoryview(at.inline).cast("B")
    for chunk, file_id, offset, length in zip(*(column.tolist() for column in columns), strict=True):
        value: Reference | str
        if file_id == INLINE:
            value = "base64:" + base64.b64encode(data[offset : offset + length]).decode()
        else:
            name = name_of(at.files, file_id, folder)
            value = [name] if length == WHOLE else [name, offset, length]
        yield join_path(path, layout.name(chunk)), value


def _spell(packed: Packed, compact: bool) -> Iterator[bytes]:
    """Spell one generator as JSON."""
    found, names = packed.lists, packed.files
    runs = [[last, names[file]] for last, file in zip(found.last.tolist(), found.file.tolist(), strict=True)]
    head = {
        "files": runs,
        "variables": list(packed.variables),
        "varwise": True,
        "dims": list(packed.dims),
        "dimensions": {"i": {"stop": str(packed.total)}},
        "start": str(found.start),
        "lengths": packed.lengths.tolist(),
        "gfactor": f"{packed.gfactor:.4f}",
    }
    yield json.dumps(head).encode()[:-1]
    for name, ids, lengths in (
        ("unique", found.unique_id, found.unique_length),
        ("gaps", found.gap_id, found.gap),
    ):
        yield b', "%s": {"ids": ' % name.encode()
        yield _integers(ids, compact)
        yield b', "lengths": '
        yield _integers(lengths, compact)
        yield b"}"
    yield b', "skipchunks": {'
    if compact and len(found.absent_id):
        yield b'"ids": ' + _integers(found.absent_id, compact)
    elif len(found.absent_id):
        yield _skipped(packed)
    yield b"}}"


def _integers(values: Ids, compact: bool) -> bytes:
    if compact and len(values) > SHORT:
        return json.dumps(lists.compact(values)).encode()
    return b"[%s]" % intlist.write(np.ascontiguousarray(values))


def _skipped(packed: Packed) -> bytes:
    """Spell the absent chunks as keys with a flag for each variable."""
    chunk, variable = np.divmod(packed.lists.absent_id, len(packed.variables))
    begins = np.append(True, chunk[1:] != chunk[:-1])
    flags = np.zeros((int(begins.sum()), len(packed.variables)), np.uint8)
    flags[np.cumsum(begins) - 1, variable] = 1
    positions = np.ascontiguousarray(chunk[begins])
    index = unravel(positions, np.array(packed.dims, np.int64))
    return intlist.write_flags(index, flags)
