"""From keys to references and back, for a whole set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zaro._core.key import ArrayKeys, KeyIndex
from zaro.references.contents import Contents
from zaro.references.layout import METADATA_NAMES, ChunkLayout, split_key
from zaro.references.table import INLINE, WHOLE, Located, Reference, Table

__all__ = ["array_keys", "explain", "id_batches", "key_index", "listed_keys", "references_of"]

BATCH = 1 << 14  # chunks whose keys are spelled at a time


def array_keys(path: str, layout: ChunkLayout) -> ArrayKeys:
    """Give the keys of an array's chunks."""
    encoding = layout.encoding
    grid = np.array(layout.grid, np.int64)
    return ArrayKeys(path, grid, prefixed=encoding.name == "default", separator=encoding.separator)


def key_index(contents: Contents) -> KeyIndex:
    """Make the look-up of a set: a key costs a microsecond where the table lies in memory."""
    arrays = {path: array_keys(path, layout) for path, layout in contents.layouts.items()}
    tables = contents.tables
    sources = {path: table.source(arrays[path]) for path, table in tables.items()}
    known = {path: source for path, source in sources.items() if source is not None}
    return KeyIndex(arrays, known, lambda path, chunk: tables[path].reference(chunk))


def id_batches(table: Table) -> Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Ids of the chunks that exist, some at a time."""
    listed = table.listed()
    for start in range(0, len(listed), BATCH):
        yield np.ascontiguousarray(listed[start : start + BATCH])


def listed_keys(path: str, layout: ChunkLayout, table: Table) -> Iterator[str]:
    """Spell the keys of the chunks of an array that exist."""
    keys = array_keys(path, layout)
    for ids in id_batches(table):
        yield from keys.keys(ids)


def references_of(path: str, layout: ChunkLayout, table: Table) -> Iterator[tuple[str, Reference]]:
    """Give the chunks of an array that exist, with their references."""
    keys = array_keys(path, layout)
    for ids in id_batches(table):
        yield from zip(keys.keys(ids), _references(table.locate(ids)), strict=True)


def _references(located: Located) -> Iterator[Reference]:
    files, inline = located.files, located.inline
    names: dict[int, str] = {}
    rows = zip(located.file_id.tolist(), located.offset.tolist(), located.length.tolist(), strict=True)
    for file_id, offset, length in rows:
        if file_id == INLINE:
            yield bytes(inline[offset : offset + length])
            continue
        name = names.get(file_id)
        if name is None:
            name = names[file_id] = files[file_id]
        yield [name] if length == WHOLE else [name, offset, length]


def explain(contents: Contents, key: str) -> str:
    """Say in a sentence where a key leads."""
    if key in contents.metadata:
        return f"{key}: metadata, {len(contents.metadata[key])} bytes in the set itself"
    place = key_index(contents).chunk(key)
    other = contents.other.get(key)
    if place is None:
        if other is None:
            return f"{key}: not in the set" + _near(contents, key)
        return f"{key}: {_spell(other)}"
    path, chunk = place
    what = f"chunk {key[len(path) :].lstrip('/')} of {path or 'the root array'}"
    table = contents.tables[path]
    found = table.reference(chunk)
    where = "absent, it reads as the fill value" if found is None else _spell(found)
    how = table.explain(chunk)
    return f"{what}: {where}, {how}" if how else f"{what}: {where}"


def _spell(reference: Reference) -> str:
    if isinstance(reference, bytes):
        return f"{len(reference)} bytes in the set itself"
    if len(reference) == 1:
        return f"the whole of {reference[0]}"
    return f"bytes {reference[1]}+{reference[2]} of {reference[0]}"


def _near(contents: Contents, key: str) -> str:
    path, name = split_key(key)
    if key in contents.layouts:
        path = key
    elif name in METADATA_NAMES or not contents.arrays_of(key):
        return ""
    else:
        path = contents.arrays_of(key)[0]
    layout = contents.layouts[path]
    grid = " x ".join(map(str, layout.grid)) or "one chunk"
    first = layout.encoding.key((0,) * len(layout.grid))
    return f"; {path or 'the root array'} has {grid} chunks, the first is {first!r}"
