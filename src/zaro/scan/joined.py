"""The joined set while it is made: columns of several sets as one, on grids that fit each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError
from zaro.metadata import KeyEncoding
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.fingerprint import Fingerprint, Fingerprints
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.set import References
from zaro.references.table import INLINE, Ids
from zaro.scan.coordinates import CoordinateSource, Places
from zaro.scan.draft import Chunks, Draft
from zaro.scan.members import Member, Node, check_like, document_alone, read_values

__all__ = ["How", "Output", "bounds_of", "cut", "misfit", "unfit"]


@dataclass(frozen=True, slots=True)
class How:
    """What the caller of `concat` chose."""

    coords: dict[str, CoordinateSource]
    sort: bool
    check: bool
    load_threshold: int


class Output:
    """The joined set while it is made.

    Attributes
    ----------
    contents : Contents
    files : FileTable
        Of all its tables; filled by `finish`.
    """

    def __init__(self) -> None:
        self.contents = Contents()
        self._ids: dict[str, int] = {}
        self._known: dict[int, tuple[Any, NDArray[np.int32]]] = {}
        self.files = FileTable([], None)

    def fingerprints(self, members: Sequence[Member]) -> None:
        """Take what was written down of the files of all sets."""
        found: dict[str, Fingerprint] = {}
        for member in members:
            if member.refs.contents.fingerprints is not None:
                found |= member.refs.contents.fingerprints.by_url()
        self.contents.fingerprints = Fingerprints.of(found) if found else None

    def finish(self) -> References:
        """The set."""
        self.files.written.extend(self._ids)
        self.files.resolved.extend(self._ids)
        return References(self.contents)

    def groups(self, member: Member) -> None:
        """Documents of groups that are not there yet."""
        arrays = set(member.nodes)
        for key, raw in member.refs.contents.metadata.items():
            path, _, name = key.rpartition("/")
            if path not in arrays and name != ".zmetadata" and key not in self.contents.metadata:
                self.contents.metadata[key] = document_alone(key, raw, member.label)
        for key, reference in member.refs.contents.other.items():
            self.contents.other.setdefault(key, reference)

    def take(self, member: Member, node: Node) -> None:
        """Add an array as it is."""
        self.write(node, node.document, node.attrs, [self.rows_of(node)], node.shape, node.chunks)

    def joined(
        self, members: list[Member], nodes: list[Node], axis: int, how: How, places: Places, path: str
    ) -> None:
        """Add an array that grows along one of its dimensions."""
        first = nodes[0]
        bounds = places.are_bounded_by(first.path, path)
        for member, node, values in zip(members, nodes, places.values, strict=True):
            check_like(first, node, member.label, along=axis, units=not bounds)
            if node.shape[axis] != len(values):
                what = f"variable {path!r} has {len(values)}" if path else f"others have {len(values)}"
                reason = f"has {node.shape[axis]} elements along {first.dims[axis]!r}, {what}"
                raise CombineError(member.label, first.path, reason)
        size = sum(node.shape[axis] for node in nodes)
        shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
        if bounds:
            units = places.attrs["units"]
            attrs = {**first.attrs, "units": units} if "units" in first.attrs else first.attrs
            values = np.concatenate(bounds_of(members, nodes, places, units), axis)
            self._held(first.path, first.dims, values, attrs, first)
            return
        nodes = fitting(nodes, axis)
        wrong = misfit(nodes, axis)
        if wrong is not None:
            self._loaded(members, nodes, axis, how, wrong, shape)
            return
        first = nodes[0]
        chunks = first.chunks
        grid = [-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)]
        before, total, after = math.prod(grid[:axis]), grid[axis], math.prod(grid[axis + 1 :])
        rows, start = [], 0
        for node in nodes:
            mine = self.rows_of(node)
            count = node.grid[axis]
            if before > 1 or after != 1:
                block, rest = np.divmod(mine.ids, count * after)
                mine.ids = block * (total * after) + rest + start * after
            else:
                mine.ids = mine.ids + start
            rows.append(mine)
            start += count
        self.write(first, first.reshaped(shape, chunks, first.dims), first.attrs, rows, shape, chunks)

    def stacked(self, members: list[Member], nodes: list[Node], dim: str) -> None:
        """Add an array that gets a new first dimension."""
        first = nodes[0]
        rows = []
        for k, (member, node) in enumerate(zip(members, nodes, strict=True)):
            check_like(first, node, member.label, along=None)
            if node.chunks != first.chunks:
                raise CombineError(
                    member.label, first.path, f"chunks are {node.chunks}, in the first set {first.chunks}"
                )
            mine = self.rows_of(node)
            mine.ids = mine.ids + k * first.nchunks
            rows.append(mine)
        dims = (dim, *first.dims)
        shape, chunks = (len(nodes), *first.shape), (1, *first.chunks)
        attrs = dict(first.attrs) if first.is_v3 else {**first.attrs, "_ARRAY_DIMENSIONS": list(dims)}
        self.write(first, first.reshaped(shape, chunks, dims), attrs, rows, shape, chunks)

    def coordinate(self, path: str, dim: str, places: Places, member: Member) -> None:
        """Add the coordinate that the sets were joined along, its values in the set."""
        attrs = {name: value for name, value in places.attrs.items() if name != "_ARRAY_DIMENSIONS"}
        old = member.nodes.get(path)
        like = old or next((node for node in member.nodes.values() if node.is_v3), None)
        self._held(path, (dim,), places.joined(path, member.label), attrs, like)

    def _held(
        self,
        path: str,
        dims: tuple[str, ...],
        values: NDArray[Any],
        attrs: Mapping[str, Any],
        like: Node | None,
    ) -> None:
        """Add an array by its values, in the version of another, or as it is where that has the same path."""
        texts = values.dtype.kind in "UOT"
        if texts:
            values = values.astype(object)
        else:
            values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        filters = [{"id": "vlen-utf8"}] if texts else []
        bare = {name: value for name, value in attrs.items() if name != "_ARRAY_DIMENSIONS"}
        draft = Draft(values.shape, values.shape, values.dtype, dims, None, filters, bare)
        old = like if like is not None and like.path == path else None
        if like is not None and like.is_v3 and (old is not None or values.dtype.kind in "iufbcO"):
            node = replace(like, path=path)
            documents = node.documents(_document_3(values, dims, like, old), bare)
            keys = like.keys
        else:
            fill = None if old is None or old.is_v3 else old.document.get("fill_value")
            if isinstance(fill, int | float) or (fill == "NaN" and values.dtype.kind == "f"):
                draft.fill = fill  # which says what is missing, whatever type the values have now
            documents = {
                join_path(path, ".zarray"): draft.document(),
                join_path(path, ".zattrs"): draft.attributes(),
            }
            keys = KeyEncoding("v2", ".")
        self._add(path, documents, values.shape, values.shape, keys, draft.encode(values))

    def _add(
        self,
        path: str,
        documents: Mapping[str, bytes],
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        keys: KeyEncoding,
        data: bytes,
    ) -> None:
        self.contents.metadata.update(documents)
        layout = ChunkLayout(tuple(-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)), keys)
        rows = Chunks.bytes_of({0: data})
        self.contents.layouts[path] = layout
        self.contents.tables[path] = make_table(
            layout.nchunks, Rows(rows.ids, rows.file_id, rows.offset, rows.length), self.files, rows.inline
        )

    def _loaded(
        self,
        members: list[Member],
        nodes: list[Node],
        axis: int,
        how: How,
        wrong: int,
        shape: tuple[int, ...],
    ) -> None:
        """Add a small array by its values, since its chunks do not fit each other."""
        first, node = nodes[0], nodes[wrong]
        dtype = np.dtype(first.document["dtype"]) if isinstance(first.document.get("dtype"), str) else None
        nbytes = math.prod(shape) * (dtype.itemsize if dtype is not None else 1 << 62)
        if dtype is None or dtype.kind not in "iufbcSmM" or nbytes > how.load_threshold:
            raise unfit(members[wrong].label, first, node, axis)
        values = np.concatenate([read_values(m, n) for m, n in zip(members, nodes, strict=True)], axis)
        values = np.ascontiguousarray(values, dtype)
        plain = {"filters": None, "compressor": None, "order": "C"}
        document = {**first.reshaped(shape, shape, first.dims), **plain}
        self._add(
            first.path, first.documents(document, first.attrs), shape, shape, first.keys, values.tobytes()
        )

    # columns

    def rows_of(self, node: Node) -> Chunks:
        """Chunks that an array has, their files numbered as here."""
        ids = node.table.listed()
        found = node.table.locate(ids)
        if found.store is not None:
            raise CombineError("", node.path, "lies in a store; scan it first")
        file_id = found.file_id
        if len(file_id) and int(file_id.max()) >= 0:
            numbers = self._numbers(found.files)
            named = file_id >= 0
            file_id = np.where(named, numbers[np.where(named, file_id, 0)], file_id).astype(np.int32)
        return Chunks(ids, file_id, found.offset, found.length, found.inline)  # type: ignore[arg-type]

    def _numbers(self, files: Sequence[str]) -> NDArray[np.int32]:
        """Ids here of the files of a table."""
        known = self._known.get(id(files))
        if known is None or len(known[1]) < len(files):
            numbers = np.fromiter(
                (self._ids.setdefault(name, len(self._ids)) for name in files), np.int32, len(files)
            )
            known = self._known[id(files)] = (files, numbers)  # held, so that its id is not used again
        return known[1]

    def write(
        self,
        node: Node,
        document: Mapping[str, Any],
        attrs: Mapping[str, Any],
        rows: list[Chunks],
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
    ) -> None:
        """Add an array: its documents, and its chunks as the columns of several sets."""
        self.contents.metadata.update(node.documents(document, attrs))
        layout = ChunkLayout(
            tuple(-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)), node.keys
        )
        self.contents.layouts[node.path] = layout
        self.contents.tables[node.path] = make_table(layout.nchunks, *_gathered(rows, self.files))


def bounds_of(members: list[Member], nodes: list[Node], places: Places, units: Any) -> list[NDArray[Any]]:
    """Bounds of each set, in some units."""
    return [
        places.converted(k, read_values(member, node), node, units, member.label)
        for k, (member, node) in enumerate(zip(members, nodes, strict=True))
    ]


def _document_3(values: NDArray[Any], dims: tuple[str, ...], like: Node, old: Node | None) -> dict[str, Any]:
    """The document, in version 3, of an array of one chunk; with the type of its values."""
    texts = values.dtype.kind == "O"
    made = {
        "zarr_format": 3,
        "node_type": "array",
        "data_type": "string" if texts else values.dtype.name,
        "chunk_key_encoding": like.document["chunk_key_encoding"],
        "fill_value": "" if texts else False if values.dtype.kind == "b" else 0,
    }
    if values.dtype.kind == "c":
        made["fill_value"] = [0, 0]
    odd = values.dtype.kind not in "iufbcO"
    if old is not None and (odd or old.document["data_type"] == made["data_type"]):
        made = dict(old.document)
    codec = {"name": "vlen-utf8"} if texts else {"name": "bytes", "configuration": {"endian": "little"}}
    grid = {"name": "regular", "configuration": {"chunk_shape": [max(size, 1) for size in values.shape]}}
    shape = {"shape": list(values.shape), "chunk_grid": grid, "dimension_names": list(dims)}
    return {**made, **shape, "codecs": [codec]}


def _gathered(rows: list[Chunks], files: FileTable) -> tuple[Rows, FileTable, bytes]:
    """Columns of several sets as one."""
    inline, offsets = [], []
    end = 0
    for one in rows:
        held = one.file_id == INLINE
        if held.any():
            offsets.append(np.where(held, one.offset + end, one.offset))
            inline.append(bytes(one.inline))
            end += len(inline[-1])
        else:
            offsets.append(one.offset)
    columns = Rows(
        np.concatenate([one.ids for one in rows]),
        np.concatenate([one.file_id for one in rows]),
        np.concatenate(offsets),
        np.concatenate([one.length for one in rows]),
    )
    return columns, files, b"".join(inline)


# ---- grids that fit ----------------------------------------------------------------------------


def unfit(label: str, first: Node, node: Node, axis: int) -> CombineError:
    """Why an array cannot stand where it does."""
    size, chunk = node.shape[axis], first.chunks[axis]
    if node.chunks != first.chunks:
        reason = f"chunks are {node.chunks}, in the first set {first.chunks}"
    else:
        reason = (
            f"has {size} elements along {first.dims[axis]!r}, no multiple of its chunks of {chunk}: "
            f"all sets after it would be shifted"
        )
    return CombineError(label, first.path, reason)


def misfit(nodes: list[Node], axis: int) -> int | None:
    """Number of the first set whose chunks are others, or that ends within a chunk and is not the last."""
    chunks = nodes[0].chunks
    for k, node in enumerate(nodes):
        if node.chunks != chunks:
            return k
        if k < len(nodes) - 1 and node.shape[axis] % max(chunks[axis], 1):
            return k
    return None


def fitting(nodes: list[Node], axis: int) -> list[Node]:
    """Cut uncompressed arrays that are one run of bytes each, so that all have the same chunks."""
    if misfit(nodes, axis) is None or axis != 0 or nodes[0].is_v3:
        return nodes
    each = math.gcd(*(node.shape[0] for node in nodes))
    found = [cut(node, each) for node in nodes]
    return nodes if any(node is None for node in found) else [node for node in found if node is not None]


def cut(node: Node, each: int) -> Node | None:
    """Cut an uncompressed array that is one run of bytes into chunks of `each` rows; None if it is not."""
    dtype = node.document.get("dtype")
    if node.shape != node.chunks or not each or not isinstance(dtype, str) or dtype == "|O":
        return None
    if node.document.get("filters") or node.document.get("compressor") or node.document.get("order") == "F":
        return None
    at = node.table.locate(np.zeros(1, np.int64))
    nbytes = each * math.prod(node.shape[1:]) * np.dtype(dtype).itemsize
    n = node.shape[0] // each
    if at.length[0] != n * nbytes:
        return None
    ids: Ids = np.arange(n, dtype=np.int64)
    rows = Rows(
        ids, np.full(n, at.file_id[0], np.int32), at.offset[0] + ids * nbytes, np.full(n, nbytes, np.int64)
    )
    table = make_table(n, rows, at.files, at.inline)  # type: ignore[arg-type]
    document = node.reshaped(node.shape, (each, *node.shape[1:]), node.dims)
    return Node(node.path, document, node.attrs, table, node.keys)
