"""Where the chunks of an array lie, in columns and in words."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zaro.errors import SelectionError
from zaro.read import Source
from zaro.references.table import ABSENT, INLINE, Located

__all__ = ["explain", "locate"]


def locate(source: Source, ids: ArrayLike) -> Located:
    """Find where chunks lie; as `Array.locate`."""
    wanted = np.ascontiguousarray(ids, dtype=np.int64).reshape(-1)
    nchunks = source.metadata.nchunks
    outside = (wanted < 0) | (wanted >= nchunks)
    if outside.any():
        raise SelectionError(f"chunk {wanted[outside][0]} of an array of {nchunks} chunks")
    return source.table.locate(wanted)


def explain(source: Source, key_or_index: str | tuple[int, ...]) -> str:
    """Say in one line where a chunk lies; as `Array.explain`."""
    metadata = source.metadata
    index = _index(source, key_or_index)
    chunk = int(np.ravel_multi_index(index, metadata.grid)) if index else 0
    found = locate(source, [chunk])
    file_id, offset, length = int(found.file_id[0]), int(found.offset[0]), int(found.length[0])
    start = f"chunk {metadata.key_encoding.key(index)} of {source.node or '/'}: "
    if file_id == ABSENT:
        return f"{start}absent, reads as {metadata.fill_value!r}"
    if file_id == INLINE:
        return f"{start}{length} bytes inline in the reference set"
    where = f"bytes {offset}+{length} of" if length >= 0 else "the whole file"
    return f"{start}{where} {found.files[file_id]}"


def _index(source: Source, key_or_index: str | tuple[int, ...]) -> tuple[int, ...]:
    """Position in the chunk grid of a key, with or without the array's path, or of a position itself."""
    grid = source.metadata.grid
    if isinstance(key_or_index, str):
        key = key_or_index.removeprefix(f"{source.node}/")
        index = source.metadata.key_encoding.index(key, grid)
    else:
        index = tuple(key_or_index)
    if (
        index is None
        or len(index) != len(grid)
        or not all(0 <= i < n for i, n in zip(index, grid, strict=True))
    ):
        raise SelectionError(f"{key_or_index!r} is no chunk of {source.node!r}, whose grid is {grid}")
    return index
