"""Which ids have the chunks of an array? Its grid and the spelling of its keys, nothing else of metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from zaro._core.grid import MAX_RANK
from zaro.errors import MetadataError
from zaro.metadata import ArrayMetadata, KeyEncoding, read_node
from zaro.metadata.keys import key_encoding

__all__ = [
    "MAX_ID",
    "METADATA_NAMES",
    "ChunkLayout",
    "array_layouts",
    "is_metadata",
    "join_path",
    "layout_of",
    "split_key",
]

METADATA_NAMES = frozenset({".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json"})
"""Last parts of the keys that hold metadata documents."""

MAX_ID = 2**63 - 1
"""Chunks of an array, and bytes, at most."""


def split_key(key: str) -> tuple[str, str]:
    """`a/b/0.0` as `("a/b", "0.0")`; a key of the root has path ""."""
    path, _, name = key.rpartition("/")
    return path, name


def join_path(path: str, name: str) -> str:
    """Key of `name` below `path`; the root's path is ""."""
    return f"{path}/{name}" if path else name


def is_metadata(key: str) -> bool:
    """Whether a key is that of a metadata document."""
    return split_key(key)[1] in METADATA_NAMES


@dataclass(frozen=True)
class ChunkLayout:
    """The chunk grid of one array, and how its keys are spelled."""

    grid: tuple[int, ...]
    encoding: KeyEncoding

    @cached_property
    def nchunks(self) -> int:
        """Number of chunks in the grid."""
        return math.prod(self.grid)

    def id(self, name: str) -> int | None:
        """Id of the chunk that `name`, the key below the array, spells canonically; None if none."""
        index = self.encoding.index(name, self.grid)
        if index is None:
            return None
        flat = 0
        for position, size in zip(index, self.grid, strict=True):
            flat = flat * size + position
        return flat

    def name(self, chunk: int) -> str:
        """Key below the array of the chunk with this id."""
        index = []
        for size in reversed(self.grid):
            chunk, position = divmod(chunk, size)
            index.append(position)
        return self.encoding.key(tuple(reversed(index)))


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= MAX_ID


def _make(shape: object, chunks: object, encoding: KeyEncoding) -> ChunkLayout | None:
    if not isinstance(shape, list) or not isinstance(chunks, list) or len(shape) != len(chunks):
        return None
    if not all(map(_is_count, shape)) or not all(map(_is_count, chunks)):
        return None
    if any(size and not chunk for size, chunk in zip(shape, chunks, strict=True)):
        return None
    grid = tuple(-(-size // chunk) if chunk else 0 for size, chunk in zip(shape, chunks, strict=True))
    return _bounded(grid, encoding)


def _bounded(grid: tuple[int, ...], encoding: KeyEncoding) -> ChunkLayout | None:
    if len(grid) > MAX_RANK or math.prod(size or 1 for size in grid) > MAX_ID:
        return None
    return ChunkLayout(grid, encoding)


def _layout_v2(document: Mapping[str, Any]) -> ChunkLayout | None:
    encoding = key_encoding("v2", document.get("dimension_separator") or ".")
    return None if encoding is None else _make(document.get("shape"), document.get("chunks"), encoding)


def _configuration(part: object) -> tuple[object, Mapping[str, Any]]:
    if not isinstance(part, dict):
        return part, {}
    configuration = part.get("configuration")
    return part.get("name"), configuration if isinstance(configuration, dict) else {}


def _layout_v3(document: Mapping[str, Any]) -> ChunkLayout | None:
    if document.get("node_type") != "array":
        return None
    grid_name, grid = _configuration(document.get("chunk_grid"))
    key_name, keys = _configuration(document.get("chunk_key_encoding"))
    if grid_name != "regular":
        return _layout_irregular(document)
    encoding = key_encoding(key_name, keys.get("separator", "/" if key_name == "default" else "."))
    return None if encoding is None else _make(document.get("shape"), grid.get("chunk_shape"), encoding)


def _layout_irregular(document: Mapping[str, Any]) -> ChunkLayout | None:
    try:
        found = read_node({"zarr.json": document}.get)
    except MetadataError:
        return None
    return _bounded(found.grid, found.key_encoding) if isinstance(found, ArrayMetadata) else None


def _parse(raw: bytes) -> Mapping[str, Any] | None:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def layout_of(key: str, raw: bytes) -> ChunkLayout | None:
    """Layout of the array that a metadata document describes; None where it describes no readable one.

    A broken document is not an error here: it is one for whoever opens the node.
    """
    name = split_key(key)[1]
    if name not in (".zarray", "zarr.json"):
        return None
    document = _parse(raw)
    if document is None:
        return None
    return _layout_v2(document) if name == ".zarray" else _layout_v3(document)


def _consolidated(metadata: Mapping[str, bytes]) -> dict[str, ChunkLayout]:
    """Layouts of arrays whose documents stand in a consolidated one only."""
    found: dict[str, ChunkLayout] = {}
    v2 = _parse(metadata.get(".zmetadata", b"null")) or {}
    members = v2.get("metadata")
    for key, document in members.items() if isinstance(members, dict) else ():
        path, name = split_key(key)
        if name == ".zarray" and isinstance(document, dict) and (layout := _layout_v2(document)):
            found[path] = layout
    v3 = (_parse(metadata.get("zarr.json", b"null")) or {}).get("consolidated_metadata")
    members = v3.get("metadata") if isinstance(v3, dict) else None
    for path, document in members.items() if isinstance(members, dict) else ():
        if isinstance(document, dict) and (layout := _layout_v3(document)):
            found[path] = layout
    return found


def array_layouts(metadata: Mapping[str, bytes]) -> dict[str, ChunkLayout]:
    """Layout of every array in a set of metadata documents, by path.

    An array's own document wins over a consolidated one, and `zarr.json` over `.zarray`.
    """
    found = _consolidated(metadata)
    for name in (".zarray", "zarr.json"):
        for key, raw in metadata.items():
            path, last = split_key(key)
            if last == name and (layout := layout_of(key, raw)):
                found[path] = layout
    return found
