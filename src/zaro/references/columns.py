"""Walking over the columns of a reference set, block by block: what every writer does first."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zaro.references.contents import Contents
from zaro.references.files import Files, JoinedFiles, folder_of, is_local, local_path
from zaro.references.table import ABSENT, Located, Table

if TYPE_CHECKING:
    from zaro.references.set import References

__all__ = ["blocks", "contents_of", "name_of", "target_folder", "used_files"]


def contents_of(refs: Contents | References) -> Contents:
    """Contents of a set, or the contents themselves."""
    return refs if isinstance(refs, Contents) else refs.contents


def target_folder(target: str | os.PathLike[str]) -> str:
    """Folder that relative files of a document at `target` are resolved against."""
    address = os.fspath(target)
    return folder_of(os.path.abspath(local_path(address)) if is_local(address) else address)


def name_of(files: Sequence[str], file_id: int, folder: str | None) -> str:
    """How a document in `folder` names a file: as it was written, if it means the same there."""
    if isinstance(files, JoinedFiles):
        behind = file_id - files.split
        return name_of(files.first, file_id, folder) if behind < 0 else name_of(files.second, behind, folder)
    if isinstance(files, Files) and files.folder in (None, folder):
        return files.name(file_id)
    return files[file_id]


def used_files(file_id: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Ids of the files that occur, ascending, and for each row its place among them (rows below 0 keep that).

    Linear where ids are small beside the number of rows, as they mostly are.
    """
    named = file_id >= 0
    if not named.any():
        return np.empty(0, np.int64), file_id
    most = int(file_id.max())
    if most > 8 * len(file_id):
        used = np.unique(file_id[named]).astype(np.int64)
        places = np.searchsorted(used, file_id).astype(np.int32)
    else:
        seen = np.zeros(most + 1, bool)
        seen[file_id[named]] = True
        used = np.flatnonzero(seen).astype(np.int64)
        places = (np.cumsum(seen, dtype=np.int32) - np.int32(1))[np.maximum(file_id, 0)]
    return used, np.where(named, places, file_id)


def blocks(table: Table, size: int) -> Iterator[tuple[int, Located]]:
    """Blocks of `size` ids that hold any chunk: number of the block, and where its chunks lie."""
    few = table.candidates()
    for block in range(-(-table.nchunks // size)) if few is None else np.unique(few // size).tolist():
        at = table.locate(np.arange(block * size, min((block + 1) * size, table.nchunks), dtype=np.int64))
        if (at.file_id != ABSENT).any():
            yield block, at
