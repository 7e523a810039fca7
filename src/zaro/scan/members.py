"""The sets that are joined, array by array: what concat and merge compare and count."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError, MetadataError
from zaro.hierarchy import Array, open_node
from zaro.metadata import ArrayMetadata, KeyEncoding, read_node
from zaro.metadata.documents import Document, DocumentSource
from zaro.references.layout import join_path, split_key
from zaro.references.set import References
from zaro.references.table import INLINE, Table

__all__ = [
    "PACKING",
    "Member",
    "Node",
    "check_attributes",
    "check_like",
    "check_missing",
    "document_alone",
    "group_of",
    "is_missing",
    "members_of",
    "read_values",
]

PACKING = ("scale_factor", "add_offset", "_Unsigned")
"""Attributes by which stored values are turned into others."""
_VALUES = (
    *PACKING,
    "units",
    "calendar",
    "_FillValue",
    "missing_value",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "valid_range",
    "valid_min",
    "valid_max",
)
"""Attributes that say what stored values mean: they must be the same in all sets."""
KEPT = 16 << 20
"""Bytes of an array whose values are kept while others are compared with them."""
_TIME = frozenset({"units", "calendar"})


@lru_cache(maxsize=4096)
def _checked(
    path: str, name: str, raw: bytes, beside: bytes | None
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The document of an array, and its attributes; sets that were made alike have the same.

    `beside`: the `.zattrs`.
    """
    documents = {join_path(path, name): raw, join_path(path, ".zattrs"): beside}
    node = read_node(documents.get, path)
    assert isinstance(node, ArrayMetadata)
    document: dict[str, Any] = Document.parse(name, raw).members  # type: ignore[assignment]
    bare = {k: v for k, v in document.items() if k not in ("attributes", "consolidated_metadata")}
    return bare, node.attributes


@dataclass(slots=True)
class Node:
    """One array of one set. `document` and `attrs` are shared: never changed, only copied."""

    path: str
    document: Mapping[str, Any]
    attrs: Mapping[str, Any]
    table: Table
    keys: KeyEncoding

    @property
    def is_v3(self) -> bool:
        """Whether it has a document of version 3."""
        return self.document.get("zarr_format") == 3

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return tuple(self.document["shape"])

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements of a chunk along each dimension."""
        found = (
            self.document["chunk_grid"]["configuration"]["chunk_shape"]
            if self.is_v3
            else self.document["chunks"]
        )
        return tuple(found)

    @property
    def grid(self) -> tuple[int, ...]:
        """Chunks along each dimension."""
        return tuple(-(-s // c) if c else 0 for s, c in zip(self.shape, self.chunks, strict=True))

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        names = self.document.get("dimension_names") if self.is_v3 else self.attrs.get("_ARRAY_DIMENSIONS")
        if not isinstance(names, list | tuple) or len(names) != len(self.shape):
            return ()
        return tuple(names) if all(isinstance(name, str | None) for name in names) else ()

    @property
    def nchunks(self) -> int:
        """Chunks of the grid."""
        return math.prod(self.grid)

    def reshaped(self, shape: Sequence[int], chunks: Sequence[int], dims: Sequence[str]) -> dict[str, Any]:
        """The document of an array of another shape, which may have a new first dimension."""
        found = {**self.document, "shape": list(shape)}
        if self.is_v3:
            found["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
            found["dimension_names"] = list(dims)
            if len(shape) > len(self.shape):
                found["codecs"] = _lifted(self.document["codecs"])
        else:
            found["chunks"] = list(chunks)
        return found

    def documents(self, document: Mapping[str, Any], attrs: Mapping[str, Any]) -> dict[str, bytes]:
        """Metadata by key, as this version spells it."""
        if self.is_v3:
            return {join_path(self.path, "zarr.json"): _dump({**document, "attributes": dict(attrs)})}
        return {
            join_path(self.path, ".zarray"): _dump(document),
            join_path(self.path, ".zattrs"): _dump(attrs),
        }


def _lifted(codecs: Sequence[Any]) -> list[Any]:
    """Codecs of version 3 for blocks that have a new first dimension, of one element."""
    found = []
    for codec in codecs:
        how = dict(codec.get("configuration") or {}) if isinstance(codec, Mapping) else {}
        if isinstance(how.get("order"), list):  # of `transpose`
            how["order"] = [0, *(axis + 1 for axis in how["order"])]
        if isinstance(how.get("chunk_shape"), list):  # of `sharding_indexed`
            how |= {"chunk_shape": [1, *how["chunk_shape"]], "codecs": _lifted(how["codecs"])}
        found.append({**codec, "configuration": how} if how else codec)
    return found


def _dump(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


@dataclass(slots=True, eq=False)
class Member:
    """One of the sets."""

    refs: References
    label: str
    is_named: bool = True
    nodes: dict[str, Node] = field(default_factory=dict)
    _values: dict[str, NDArray[Any]] = field(default_factory=dict)

    def values(self, path: str) -> NDArray[Any]:
        """Values of an array that many others are compared with: small ones are read once."""
        found = self._values.get(path)
        if found is None:
            found = read_values(self, self.nodes[path])
            if found.nbytes <= KEPT:
                self._values[path] = found
        return found

    @property
    def file(self) -> str:
        """The first file that it references, for most the only one; else its own name, if it has one."""
        for node in self.nodes.values():
            ids = node.table.listed()[:64]
            found = node.table.locate(ids)
            named = np.flatnonzero(found.file_id >= 0)
            if len(named):
                return found.files[int(found.file_id[named[0]])]
        return self.label if self.is_named else ""


def members_of(sets: Sequence[Any], labels: Sequence[str] | None) -> list[Member]:
    """Open the sets, and read the documents of their arrays.

    Each is named by `labels`, else by its address, else by the file that it was scanned from.
    """
    if not sets:
        raise ValueError("there are no sets to join")
    if labels is not None and len(labels) != len(sets):
        raise ValueError(f"{len(labels)} labels for {len(sets)} sets")
    found = []
    for k, one in enumerate(sets):
        refs = one if isinstance(one, References) else References.open(one)
        name = labels[k] if labels is not None else refs.address or refs.contents.origin
        member = Member(refs, name or f"set {k}", bool(name))
        for key in refs.contents.metadata:
            path, name = split_key(key)
            if name == ".zarray" and path not in refs.contents.layouts:
                raise CombineError(member.label, path, "has a document that does not tell its chunks")
        for path in refs.contents.layouts:
            member.nodes[path] = _node(member, path)
        found.append(member)
    return found


def _node(member: Member, path: str) -> Node:
    contents = member.refs.contents
    for name in ("zarr.json", ".zarray"):
        raw = contents.metadata.get(join_path(path, name))
        if raw is None:
            continue
        beside = contents.metadata.get(join_path(path, ".zattrs"))
        try:
            document, attrs = _checked(path, name, bytes(raw), None if beside is None else bytes(beside))
        except MetadataError as err:
            raise err.of(member.label) from None
        if document.get("chunk_grid", {"name": "regular"})["name"] != "regular":
            reason = "has a grid of chunks of many sizes, which cannot be joined"
            raise CombineError(member.label, path, reason)
        return Node(path, document, attrs, contents.tables[path], contents.layouts[path].encoding)
    raise CombineError(member.label, path, "has no document of its own in the set")


# ---- comparing ---------------------------------------------------------------------------------


def check_like(first: Node, other: Node, label: str, *, along: int | None, units: bool = True) -> None:
    """Refuse an array that cannot follow another: of another type, codec, fill value, packing or shape.

    Parameters
    ----------
    along : int or None
        Dimension whose size may differ.
    units : bool
        Whether units and calendar must be the same.

    Raises
    ------
    CombineError
        Naming the set, the variable, and both values.
    """
    if first.document is not other.document:
        _check_members(first, other, label)
    if first.dims != other.dims or len(first.shape) != len(other.shape):
        raise _unlike(label, first, "dimensions", other.dims or other.shape, first.dims or first.shape)
    for axis, (size, wanted) in enumerate(zip(other.shape, first.shape, strict=True)):
        if axis != along and size != wanted:
            raise _unlike(label, first, f"size of dimension {axis}", size, wanted)
    if first.attrs is other.attrs:
        return
    check_attributes(first, other, label, _VALUES if units else [n for n in _VALUES if n not in _TIME])


def check_attributes(first: Node, other: Node, label: str, names: Sequence[str]) -> None:
    """Refuse other values of some attributes.

    Raises
    ------
    CombineError
        Naming the set, the variable, and both values.
    """
    for name in names:
        value, expected = other.attrs.get(name), first.attrs.get(name)
        if json.dumps(value) != json.dumps(expected):
            raise _unlike(label, first, name, value, expected)


def _fills(node: Node) -> dict[str, Any]:
    """What stands for missing values, by where it is said."""
    said = {name: node.attrs.get(name) for name in ("_FillValue", "missing_value")}
    return {"fill_value": node.document.get("fill_value"), **said}


def is_missing(node: Node, values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values stand for what is missing."""
    found = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
    for fill in _fills(node).values():
        if isinstance(fill, int | float) and values.dtype.kind in "biufc":
            found |= values == fill
    return found


def check_missing(first: Node, node: Node, values: NDArray[Any], label: str) -> None:
    """Refuse values that stand for what is missing in one of two sets, and for themselves in the other.

    Raises
    ------
    CombineError
        Naming the set, the variable, and both fill values.
    """
    wanted = _fills(first)
    for name, fill in _fills(node).items():
        if json.dumps(fill) == json.dumps(wanted[name]):
            continue
        if not np.array_equal(is_missing(node, values), is_missing(first, values)):
            raise _unlike(label, first, name, fill, wanted[name])


def _check_members(first: Node, other: Node, label: str) -> None:
    names = (
        "zarr_format",
        "dtype",
        "data_type",
        "fill_value",
        "order",
        "chunk_key_encoding",
        "dimension_separator",
    )
    for name in names:
        found, expected = other.document.get(name), first.document.get(name)
        if found != expected and json.dumps(found) != json.dumps(expected):
            raise _unlike(label, first, name, found, expected)
    if _chain(other) != _chain(first):
        raise _unlike(label, first, "codecs", _chain(other), _chain(first))


def _chain(node: Node) -> list[Any]:
    """Codecs in order; in version 2 it is the same whether the last stands as compressor or as filter."""
    if node.is_v3:
        return list(node.document["codecs"])
    compressor = node.document.get("compressor")
    return [*(node.document.get("filters") or ()), *([compressor] if compressor else ())]


def _unlike(label: str, first: Node, what: str, found: Any, expected: Any) -> CombineError:
    return CombineError(label, first.path, f"{what} is {found!r}, in the first set {expected!r}")


# ---- values ------------------------------------------------------------------------------------


def read_values(member: Member, node: Node) -> NDArray[Any]:
    """All values of an array; at once where they stand in the set as they are."""
    quick = _inline_values(node)
    if quick is not None:
        return quick
    array = open_node(member.refs, node.path)
    assert isinstance(array, Array)
    return np.asarray(array[...])


def _inline_values(node: Node) -> NDArray[Any] | None:
    dtype = node.document.get("dtype")
    if (
        node.is_v3
        or _chain(node)
        or not isinstance(dtype, str)
        or node.nchunks != 1
        or dtype[1] not in "iufb"
    ):
        return None
    if node.shape != node.chunks or node.document.get("order", "C") != "C":
        return None
    found = node.table.locate(np.zeros(1, np.int64))
    if found.file_id[0] != INLINE:
        return None
    offset, length = int(found.offset[0]), int(found.length[0])
    raw = bytes(memoryview(found.inline)[offset : offset + length])
    if length != math.prod(node.shape) * np.dtype(dtype).itemsize:
        return None
    return np.frombuffer(raw, dtype).reshape(node.shape)


def document_alone(key: str, document: DocumentSource, target: str) -> bytes:
    """A document as bytes, without the copies of others in it."""
    if isinstance(document, bytes | bytearray | memoryview):
        raw = bytes(document)
        if b"consolidated_metadata" not in raw:
            return raw
    try:
        members = Document.parse(key, document).members
    except MetadataError as err:
        raise err.of(target) from None
    return json.dumps({k: v for k, v in members.items() if k != "consolidated_metadata"}).encode()


def group_of(path: str) -> str:
    """Path of the group that an array lies in."""
    return split_key(path)[0]
