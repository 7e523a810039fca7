"""More files behind those of a set that is there: only what changes of it is written."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError, UnsupportedError
from zaro.hierarchy import Array, open_node
from zaro.references.contents import Contents
from zaro.references.layout import ChunkLayout
from zaro.references.overlay import OverlayTable
from zaro.references.parquet_table import ParquetTable
from zaro.references.parquet_writer import RECORD_SIZE, extend
from zaro.references.set import References, format_of
from zaro.references.table import DenseTable, EmptyTable, Located, OneByOne, SparseTable, Table
from zaro.scan.combine import check_same, check_variables, ordered, path_of
from zaro.scan.coordinates import CoordinateSource, Places, is_exact, places_along
from zaro.scan.draft import Chunks, encode
from zaro.scan.joined import How, Output, bounds_of, cut, misfit, unfit
from zaro.scan.members import Member, Node, check_like, document_alone, members_of, read_values
from zaro.scan.settings import Settings, spell_files

__all__ = ["append"]

INSTEAD = "join the sets with zaro.concat, and save the result"


def append(
    target: str | os.PathLike[str],
    sets: Sequence[Any],
    dim: str,
    *,
    coords: Mapping[str, CoordinateSource] | None = None,
    sort: bool = False,
    check: bool = True,
    load_threshold: int = 1 << 20,
    labels: Sequence[str] | None = None,
    relative_to: str | os.PathLike[str] | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> None:
    """Join sets behind one that is there, along a dimension, in its place.

    Of a Parquet set the last partitions and the header are written, and nothing else is read or changed, so
    that the work follows what is added. A JSON document is written anew, and takes the place of the old one
    when it is complete. Generators say a set as a whole: a document of them is refused.

    Parameters
    ----------
    target : path or URL
        The set that is there.
    sets : sequence
        References, or what `References.open` takes; each follows the one before.
    dim : str
        A dimension that the set has. A variable that lacks it must be the same in all sets.
    coords, check, load_threshold, labels
        As `zaro.concat`; `labels` are those of the new sets.
    sort : bool
        Put the new sets in the order of their coordinates.
    relative_to : path, optional
        Name local files of the new sets relative to this folder.
    storage_options : mapping, optional
        fsspec's, for the target.

    Raises
    ------
    CombineError
        The sets do not fit: names the set, the variable, and both values, as `zaro.concat` does. Nothing was
        written.
    UnsupportedError
        The set cannot grow where it lies.
    StoreError
        The target cannot be read or written.

    Notes
    -----
    Who reads the set meanwhile sees the old one or the new one: every file is replaced at once, partitions
    before the header, and chunks that were there mean the same in both. For this the coordinate keeps its
    chunks, and gets new ones behind them. Two that append at a time must take turns.

    See Also
    --------
    zaro.concat : makes a new set of all.
    """
    if not sets:
        raise ValueError("there are no sets to join")
    address = os.fspath(target)
    refs = References.open(address, storage_options=storage_options, changed="ignore")
    _check_form(refs, address)
    names = None if labels is None else [address, *labels]
    old, *new = members_of([refs, *sets], names)
    how = How(dict(coords or {}), sort, check, load_threshold)
    grown = _Growth(old, dim).joined(new, how)
    settings = Settings(relative_to=None if relative_to is None else os.fspath(relative_to))
    spell_files(grown.files, settings)
    contents = _laid_over(refs.contents, grown.contents)
    if contents.fingerprints is not None:
        spell_files(contents.fingerprints.files, settings)
    if format_of(address) == "json":
        References(contents).save(address, storage_options=storage_options)
        return
    size = next(
        (t.shared.record_size for t in refs.contents.tables.values() if isinstance(t, ParquetTable)), None
    )
    size = size or RECORD_SIZE  # no array of it had a chunk
    partitions = {path: np.unique(t.listed() // size).tolist() for path, t in grown.contents.tables.items()}
    extend(contents, address, partitions, record_size=size, storage_options=storage_options)


def _check_form(refs: References, address: str) -> None:
    known = (DenseTable, SparseTable, EmptyTable, ParquetTable)
    if not all(isinstance(table, known) for table in refs.contents.tables.values()):
        reason = f"holds generators, which say a set as a whole; {INSTEAD}"
        raise UnsupportedError(address, "gen", reason)


# ---- what is added -----------------------------------------------------------------------------


class _Growth:
    """The arrays that grow: their documents, and tables of the chunks that are added."""

    def __init__(self, old: Member, dim: str) -> None:
        self.old, self.dim, self.out = old, dim, Output()
        if not any(dim in node.dims for node in old.nodes.values()):
            raise CombineError(old.label, "", f"has no variable with the dimension {dim!r} to append along")
        self.path = path_of([old], dim)

    def joined(self, new: list[Member], how: How) -> Output:
        """Add sets."""
        new = [_lifted(member, self.old, self.dim) for member in new]
        places = self._places(new, how)
        if how.sort and places is not None:
            starts = [values[0] for values in places.values[1:]]
            order = sorted(range(len(new)), key=starts.__getitem__)
            new = [new[k] for k in order]
            places = places.reordered([0, *(k + 1 for k in order)])
        members = [self.old, *new]
        if places is not None:
            ordered(members, places, self.path, replace(how, sort=False))
        check_variables(members, self.path if places is not None else "")
        for variable, node in self.old.nodes.items():
            if places is not None and variable == self.path:
                added = Places(places.values[1:], {}).joined(variable, new[0].label)
                self._by_values(node, node.dims.index(self.dim), added, new[0].label)
            elif self.dim in node.dims:
                self._grow(members, variable, how, places)
            elif how.check:
                for member in new:
                    check_same(self.old, member, variable)
        self.out.fingerprints(members)
        self.out.finish()
        return self.out

    def _places(self, new: list[Member], how: How) -> Places | None:
        """Coordinates of the set and of those behind it; None where it has none."""
        if self.path not in self.old.nodes:
            return None
        source, members = how.coords.get(self.dim), [self.old, *new]
        if source in (None, "value", "time"):
            return places_along(members, self.dim, self.path, source, [None] * len(members))
        sizes = [
            next((n.shape[n.dims.index(self.dim)] for n in m.nodes.values() if self.dim in n.dims), None)
            for m in new
        ]
        mine = places_along([self.old], self.dim, self.path, None, [None])
        found = places_along(new, self.dim, self.path, source, sizes)
        assert mine is not None
        assert found is not None
        for name, value in found.attrs.items():  # of times that were made
            if mine.attrs.get(name) != value:
                reason = f"{name} is {value!r}, in the first set {mine.attrs.get(name)!r}"
                raise CombineError(new[0].label, self.path, reason)
        return Places(mine.values + found.values, mine.attrs)

    def _grow(self, members: list[Member], variable: str, how: How, places: Places | None) -> None:
        first, *nodes = [member.nodes[variable] for member in members]
        axis = first.dims.index(self.dim)
        bounds = places is not None and places.are_bounded_by(variable, self.path)
        for k, (member, node) in enumerate(zip(members[1:], nodes, strict=True), 1):
            check_like(first, node, member.label, along=axis, units=not bounds)
            if places is not None and node.shape[axis] != len(places.values[k]):
                reason = (
                    f"has {node.shape[axis]} elements along {self.dim!r}, "
                    f"variable {self.path!r} has {len(places.values[k])}"
                )
                raise CombineError(member.label, variable, reason)
            if node.chunks != first.chunks and not axis and not node.shape[0] % max(first.chunks[0], 1):
                nodes[k - 1] = cut(node, first.chunks[0]) or node
        if bounds:
            assert places is not None
            units = first.attrs.get("units", places.attrs["units"])
            found = bounds_of(members, [first, *nodes], places, units)[1:]
            self._by_values(first, axis, np.concatenate(found, axis), members[1].label)
            return
        wrong = misfit([first, *nodes], axis)
        if wrong is None:
            self._by_spans(first, nodes, axis)
            return
        shape = _longer(first.shape, axis, sum(node.shape[axis] for node in nodes))
        dtype = first.document.get("dtype")
        simple = isinstance(dtype, str) and np.dtype(dtype).kind in "iufbcSmM"
        if not simple or math.prod(shape) * np.dtype(dtype).itemsize > how.load_threshold:
            raise unfit(members[wrong].label, first, [first, *nodes][wrong], axis)
        values = [
            read_values(member, node).reshape(node.shape)  # which may have a dimension more than its file's
            for member, node in zip(members[1:], nodes, strict=True)
        ]
        self._by_values(first, axis, np.concatenate(values, axis), members[1].label)

    def _by_spans(self, first: Node, nodes: list[Node], axis: int) -> None:
        """Add the chunks of the files."""
        self._check_outermost(first, axis)
        after = math.prod(first.grid[axis + 1 :])
        rows, start = [], first.grid[axis]
        for node in nodes:
            mine = self.out.rows_of(node)
            mine.ids = mine.ids + start * after
            rows.append(mine)
            start += node.grid[axis]
        shape = _longer(first.shape, axis, sum(node.shape[axis] for node in nodes))
        self._write(first, shape, first.chunks, rows)

    def _by_values(self, first: Node, axis: int, values: NDArray[Any], label: str) -> None:
        """Add chunks that hold the values; the last one of the set is made anew where it is not full."""
        self._check_outermost(first, axis)
        chunks = tuple(c or s for c, s in zip(first.chunks, values.shape, strict=True))
        full = first.shape[axis] // chunks[axis] if chunks[axis] else 0
        values = self._as_stored(first, values, label)
        dtype = values.dtype  # which joining them would turn to the byte order of this machine
        if first.shape[axis] > full * chunks[axis]:
            array = open_node(self.old.refs, first.path)
            assert isinstance(array, Array)
            behind = (*[slice(None)] * axis, slice(full * chunks[axis], None))
            values = np.concatenate([np.asarray(array[behind]).astype(values.dtype), values], axis)
        shape = (*first.shape[:axis], full * chunks[axis] + values.shape[axis], *first.shape[axis + 1 :])
        grid = [-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)]
        blocks = {}
        for index in product(*(range(full if k == axis else 0, n) for k, n in enumerate(grid))):
            corner = [(i - full * (k == axis)) * chunks[k] for k, i in enumerate(index)]
            part = values[tuple(slice(a, a + c) for a, c in zip(corner, chunks, strict=True))]
            block = np.full(chunks, "" if dtype.kind == "O" else 0, dtype)
            block[tuple(map(slice, part.shape))] = part
            blocks[int(np.ravel_multi_index(index, grid))] = self._encoded(first, block)
        self._write(first, shape, chunks, [Chunks.bytes_of(blocks)])

    def _write(
        self, first: Node, shape: tuple[int, ...], chunks: tuple[int, ...], rows: list[Chunks]
    ) -> None:
        self.out.write(first, first.reshaped(shape, chunks, first.dims), first.attrs, rows, shape, chunks)

    def _check_outermost(self, first: Node, axis: int) -> None:
        if math.prod(first.grid[:axis]) > 1:
            reason = (
                f"grows along {self.dim!r}, its dimension {axis}, and has several chunks along those before "
                f"it, so that all its chunks would change their places; {INSTEAD}"
            )
            raise UnsupportedError(self.old.label, first.path, reason)

    def _as_stored(self, first: Node, values: NDArray[Any], label: str) -> NDArray[Any]:
        array = open_node(self.old.refs, first.path)
        assert isinstance(array, Array)
        dtype = array.dtype
        if dtype.kind in "OT" and values.dtype.kind in "OTUS":
            return values.astype(object)
        found = values.astype(dtype)
        if not is_exact(found, values):
            reason = f"has values of type {values.dtype}, which {dtype.str!r} of the first set cannot hold"
            raise CombineError(label, first.path, reason)
        return found

    def _encoded(self, first: Node, block: NDArray[Any]) -> bytes:
        document = first.document
        if first.is_v3:
            codecs = document["codecs"]
            names = [codec["name"] if isinstance(codec, Mapping) else codec for codec in codecs]
            if names != ["bytes"]:
                reason = f"cannot be encoded by {', '.join(names)}; {INSTEAD}"
                raise UnsupportedError(self.old.label, first.path, reason)
            endian = (codecs[0].get("configuration") or {}).get("endian", "little")
            return block.astype(block.dtype.newbyteorder(">" if endian == "big" else "<")).tobytes()
        compressor = document.get("compressor")
        filters = [*(document.get("filters") or ()), *([compressor] if compressor else ())]
        return encode(block.T if document.get("order") == "F" else block, filters)


def _longer(shape: tuple[int, ...], axis: int, more: int) -> tuple[int, ...]:
    return (*shape[:axis], shape[axis] + more, *shape[axis + 1 :])


def _lifted(member: Member, old: Member, dim: str) -> Member:
    """A set whose variables lack a dimension that was made when the sets were first joined."""
    nodes = {}
    for path, node in member.nodes.items():
        first = old.nodes.get(path)
        if first is not None and first.dims == (dim, *node.dims) and dim not in node.dims:
            dims = (dim, *node.dims)
            attrs = node.attrs if node.is_v3 else {**node.attrs, "_ARRAY_DIMENSIONS": list(dims)}
            lifted = node.reshaped((1, *node.shape), (1, *node.chunks), dims)
            nodes[path] = Node(path, lifted, attrs, node.table, node.keys)
        else:
            nodes[path] = node
    return replace(member, nodes=nodes)


# ---- the set as it shall be --------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Longer(OneByOne):
    """A table with room behind it."""

    table: Table
    nchunks: int

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find chunks; those behind the table are absent."""
        inside = ids < self.table.nchunks
        if inside.all():
            return self.table.locate(ids)
        found = EmptyTable(self.nchunks).locate(ids)
        if not inside.any():
            return found
        at = self.table.locate(ids[inside])
        found.file_id[inside], found.offset[inside], found.length[inside] = at.file_id, at.offset, at.length
        return Located(found.file_id, found.offset, found.length, at.files, at.inline)

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending."""
        return self.table.listed()

    def candidates(self) -> NDArray[np.int64] | None:
        """Give those of the table."""
        return self.table.candidates()

    def explain(self, chunk: int) -> str:
        """Say what the table knows of a chunk."""
        return self.table.explain(chunk) if chunk < self.table.nchunks else ""


def _laid_over(old: Contents, new: Contents) -> Contents:
    metadata = {key: document_alone(key, raw, "") for key, raw in old.metadata.items() if key != ".zmetadata"}
    found = Contents({**metadata, **new.metadata}, dict(old.tables), old.other, dict(old.layouts))
    found.fingerprints = new.fingerprints
    for path, table in new.tables.items():
        layout: ChunkLayout = new.layouts[path]
        found.layouts[path] = layout
        found.tables[path] = OverlayTable(_Longer(old.tables[path], layout.nchunks), table)
    return found
