"""From many sets to one: along dimensions (`concat`), or side by side (`merge`)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError
from zaro.metadata import KeyEncoding
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.set import References
from zaro.references.table import INLINE, Ids
from zaro.scan.coordinates import CoordinateSource, Places, places_along
from zaro.scan.draft import Chunks, Draft
from zaro.scan.members import Member, Node, check_like, group_of, members_of, read_values

__all__ = ["concat", "merge"]


def concat(
    sets: Sequence[Any],
    dim: str | Sequence[str],
    *,
    coords: Mapping[str, CoordinateSource] | None = None,
    sort: bool = False,
    check: bool = True,
    load_threshold: int = 1 << 20,
    labels: Sequence[str] | None = None,
) -> References:
    """Join sets along a dimension, or several.

    Parameters
    ----------
    sets : sequence
        References, or what `References.open` takes.
    dim : str or sequence of str
        Dimensions to join along. A variable that has one grows; the others must be the same in all sets.
        Where no variable has it, every variable of data gets it as a new first dimension.
    coords : mapping
        By dimension, how its coordinate is found where the values of the variable of that name will not do:
        `"time"` (units of sets differ), a regular expression or a function of the name of the file.
    sort : bool
        Put the sets in the order of their coordinates. Without it, another order is an error.
    check : bool
        Compare the values of variables that are the same in all sets.
    load_threshold : int
        Variables whose chunks do not fit each other are held in the set, if they have at most so many bytes.
    labels : sequence of str, optional
        Names of the sets for messages.

    Raises
    ------
    CombineError
        The sets do not fit: names the set, the variable, and both values.

    Notes
    -----
    Columnar: a second for a million references. Takes memory for the columns of the result.
    """
    members = members_of(sets, labels)
    dims = [dim] if isinstance(dim, str) else list(dim)
    if not dims:
        raise ValueError("name a dimension to join along")
    how = _How(dict(coords or {}), sort, check, load_threshold)
    return _concat(members, dims, how).refs


def merge(sets: Sequence[Any], *, check: bool = True, labels: Sequence[str] | None = None) -> References:
    """Put the variables of several sets side by side; those that occur in several must be the same.

    Raises
    ------
    CombineError
        A variable or the size of a dimension differs: names the set, the variable, and both values.
    """
    members = members_of(sets, labels)
    out = _Output()
    first: dict[str, Member] = {}
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for member in members:
        for path, node in member.nodes.items():
            for name, size in zip(node.dims, node.shape, strict=False):
                known, where = sizes.setdefault((group_of(path), name), (size, member.label))
                if known != size:
                    reason = f"dimension {name!r} has {size} elements, in {where} {known}"
                    raise CombineError(member.label, path, reason)
            if path in first:
                if check:
                    _check_same(first[path], member, path)
            else:
                first[path] = member
                out.take(member, node)
        out.groups(member)
    return out.finish()


@dataclass(frozen=True, slots=True)
class _How:
    coords: dict[str, CoordinateSource]
    sort: bool
    check: bool
    load_threshold: int


def _concat(members: list[Member], dims: list[str], how: _How) -> Member:
    """Join along the last dimension those that agree in the others, then along those."""
    if len(dims) == 1:
        return _along(members, dims[0], how)
    outer = dims[0]
    groups: dict[bytes, list[Member]] = {}
    for member, values in zip(members, _places(members, outer, how)[1].values, strict=True):
        groups.setdefault(values.tobytes(), []).append(member)
    inner = [_concat(group, dims[1:], how) for group in groups.values()]
    return _along(inner, outer, how)


def _path_of(members: Sequence[Member], dim: str) -> str:
    """Path of the coordinate of a dimension: in the group of the first variable that has it."""
    for node in members[0].nodes.values():
        if dim in node.dims:
            return join_path(group_of(node.path), dim)
    return dim


def _places(members: list[Member], dim: str, how: _How) -> tuple[str, Places]:
    path = _path_of(members, dim)
    sizes = [
        next((n.shape[n.dims.index(dim)] for n in m.nodes.values() if dim in n.dims and n.path != path), None)
        for m in members
    ]
    found = places_along(members, dim, path, how.coords.get(dim), sizes)
    if found is None:  # no coordinate: in the order given
        found = Places([np.arange(s if s is not None else 1) for s in sizes], {})
        return "", found
    return path, found


def _along(members: list[Member], dim: str, how: _How) -> Member:
    path, places = _places(members, dim, how)
    if path:
        members, places = _ordered(members, places, path, how)
    if len(members) == 1 and path in members[0].nodes and members[0].nodes[path].shape:
        return members[0]
    out = _Output()
    new = not any(dim in node.dims for member in members for node in member.nodes.values())
    _check_variables(members, path)
    for variable, node in members[0].nodes.items():
        if variable == path:
            continue
        nodes = [member.nodes[variable] for member in members]
        axis = node.dims.index(dim) if dim in node.dims else None
        if axis is None and new and not _is_coordinate(node):
            out.stacked(members, nodes, dim)
        elif axis is None:
            for member in members[1:]:
                if how.check:
                    _check_same(members[0], member, variable)
            out.take(members[0], node)
        else:
            out.joined(members, nodes, axis, how, places, path)
    if path:
        out.coordinate(path, dim, places, members[0])
    out.groups(members[0])
    refs = out.finish()
    return members_of([refs], [members[0].label])[0]


def _is_coordinate(node: Node) -> bool:
    """Whether an array is the coordinate of a dimension of its own, or has none."""
    return node.dims == (node.path.rpartition("/")[2],) or not node.shape


def _ordered(members: list[Member], places: Places, path: str, how: _How) -> tuple[list[Member], Places]:
    """Check that each set follows the one before, or put them so."""
    if any(values.dtype.kind not in "iuf" for values in places.values) or not all(map(len, places.values)):
        return members, places
    if how.sort:
        order = sorted(range(len(members)), key=lambda k: places.values[k][0])
        members = [members[k] for k in order]
        places = Places([places.values[k] for k in order], places.attrs, places.units_differ)
    ends = [(values[0], values[-1]) for values in places.values]
    falls = ends[0][0] > ends[0][1] or (
        ends[0][0] == ends[0][1] and len(ends) > 1 and ends[1][0] < ends[0][1]
    )
    for k in range(1, len(ends)):
        last, next_ = ends[k - 1][1], ends[k][0]
        if not (next_ < last if falls else next_ > last):
            what = "overlap" if _between(next_, ends[k - 1]) else "are not in order"
            reason = (
                f"begins at {next_}, {members[k - 1].label} ends at {last}: they {what}"
                f"{'' if what == 'overlap' else '; sort=True puts them in order'}"
            )
            raise CombineError(members[k].label, path, reason)
    return members, places


def _between(value: Any, ends: tuple[Any, Any]) -> bool:
    return bool(min(ends) <= value <= max(ends))


def _check_variables(members: list[Member], path: str) -> None:
    expected = set(members[0].nodes) - {path}
    for member in members[1:]:
        found = set(member.nodes) - {path}
        if missing := sorted(expected - found):
            raise CombineError(member.label, missing[0], f"is missing, {members[0].label} has it")
        if extra := sorted(found - expected):
            raise CombineError(member.label, extra[0], f"is there, but missing in {members[0].label}")


def _check_same(first: Member, other: Member, path: str) -> None:
    """Refuse a variable that is not the same in two sets."""
    a, b = first.nodes[path], other.nodes[path]
    check_like(a, b, other.label, along=None)
    if a.table is b.table or _same_inline(a, b):
        return
    if a.nchunks == b.nchunks and _same_places(a, b):
        return
    found, expected = read_values(other, b), first.values(path)
    same = found == expected
    if found.dtype.kind in "fc":
        same |= np.isnan(found) & np.isnan(expected)
    if not np.all(same):
        where = tuple(int(i) for i in np.argwhere(~np.asarray(same).reshape(found.shape))[0])
        shown = f"at {list(where)}" if where else "as its value"
        reason = f"has {found[where]!r} {shown}, {first.label} has {expected[where]!r}; only one can stay"
        raise CombineError(other.label, path, reason)


def _same_inline(a: Node, b: Node) -> bool:
    if a.nchunks != 1 or b.nchunks != 1:
        return False
    one, two = (n.table.locate(np.zeros(1, np.int64)) for n in (a, b))
    if one.file_id[0] != INLINE or two.file_id[0] != INLINE or a.chunks != b.chunks:
        return False
    x, y = (
        bytes(memoryview(f.inline)[int(f.offset[0]) : int(f.offset[0] + f.length[0])]) for f in (one, two)
    )
    return x == y


def _same_places(a: Node, b: Node) -> bool:
    ids = a.table.listed()
    if not np.array_equal(ids, b.table.listed()) or not len(ids):
        return False
    one, two = a.table.locate(ids), b.table.locate(ids)
    if (one.file_id < 0).any() or (two.file_id < 0).any():
        return False
    used_a, used_b = np.unique(one.file_id), np.unique(two.file_id)
    names = len(used_a) == len(used_b) == 1 and one.files[int(used_a[0])] == two.files[int(used_b[0])]
    return names and np.array_equal(one.offset, two.offset) and np.array_equal(one.length, two.length)


class _Output:
    """The joined set while it is made."""

    def __init__(self) -> None:
        self.contents = Contents()
        self._ids: dict[str, int] = {}
        self._known: dict[int, tuple[Any, NDArray[np.int32]]] = {}
        self._files = FileTable([], None)

    def finish(self) -> References:
        """The set."""
        self._files.written.extend(self._ids)
        self._files.resolved.extend(self._ids)
        return References(self.contents)

    def groups(self, member: Member) -> None:
        """Documents of groups that are not there yet."""
        arrays = set(member.nodes)
        for key, raw in member.refs.contents.metadata.items():
            path, _, name = key.rpartition("/")
            if path not in arrays and name != ".zmetadata" and key not in self.contents.metadata:
                self.contents.metadata[key] = raw
        for key, reference in member.refs.contents.other.items():
            self.contents.other.setdefault(key, reference)

    def take(self, member: Member, node: Node) -> None:
        """Add an array as it is."""
        self._write(node, node.document, node.attrs, [self._rows(node)], node.shape, node.chunks)

    def joined(
        self, members: list[Member], nodes: list[Node], axis: int, how: _How, places: Places, path: str
    ) -> None:
        """Add an array that grows along one of its dimensions."""
        first = nodes[0]
        for member, node, values in zip(members, nodes, places.values, strict=True):
            check_like(first, node, member.label, along=axis)
            if node.shape[axis] != len(values):
                what = f"variable {path!r} has {len(values)}" if path else f"others have {len(values)}"
                reason = f"has {node.shape[axis]} elements along {first.dims[axis]!r}, {what}"
                raise CombineError(member.label, first.path, reason)
        size = sum(node.shape[axis] for node in nodes)
        shape = (*first.shape[:axis], size, *first.shape[axis + 1 :])
        nodes = _fitting(nodes, axis)
        wrong = _misfit(nodes, axis)
        if wrong is not None:
            self._loaded(members, nodes, axis, how, wrong, shape)
            return
        first = nodes[0]
        chunks = first.chunks
        grid = [-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)]
        before, total, after = math.prod(grid[:axis]), grid[axis], math.prod(grid[axis + 1 :])
        rows, start = [], 0
        for node in nodes:
            mine = self._rows(node)
            count = node.grid[axis]
            if before > 1 or after != 1:
                block, rest = np.divmod(mine.ids, count * after)
                mine.ids = block * (total * after) + rest + start * after
            else:
                mine.ids = mine.ids + start
            rows.append(mine)
            start += count
        self._write(first, first.reshaped(shape, chunks, first.dims), first.attrs, rows, shape, chunks)

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
            mine = self._rows(node)
            mine.ids = mine.ids + k * first.nchunks
            rows.append(mine)
        dims = (dim, *first.dims)
        shape, chunks = (len(nodes), *first.shape), (1, *first.chunks)
        attrs = dict(first.attrs) if first.is_v3 else {**first.attrs, "_ARRAY_DIMENSIONS": list(dims)}
        self._write(first, first.reshaped(shape, chunks, dims), attrs, rows, shape, chunks)

    def coordinate(self, path: str, dim: str, places: Places, member: Member) -> None:
        """Add the coordinate that the sets were joined along, its values in the set."""
        values = places.joined
        if values.dtype.kind in "UO":
            self._texts(path, dim, values, places)
            return
        values = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
        attrs = {name: value for name, value in places.attrs.items() if name != "_ARRAY_DIMENSIONS"}
        draft = Draft(values.shape, values.shape, values.dtype, (dim,), attrs=attrs)
        old = member.nodes.get(path)
        if old is not None and not old.is_v3 and old.document.get("dtype") == values.dtype.str:
            draft.fill = old.document.get("fill_value")
        if old is not None and old.is_v3:
            document = old.reshaped(values.shape, values.shape, (dim,))
            document["codecs"] = [{"name": "bytes", "configuration": {"endian": "little"}}]
            self._add(
                path, old.documents(document, attrs), values.shape, values.shape, _keys(old), values.tobytes()
            )
            return
        documents = {
            join_path(path, ".zarray"): draft.document(),
            join_path(path, ".zattrs"): draft.attributes(),
        }
        self._add(path, documents, values.shape, values.shape, KeyEncoding("v2", "."), values.tobytes())

    def _texts(self, path: str, dim: str, values: NDArray[Any], places: Places) -> None:
        draft = Draft(
            values.shape, values.shape, np.dtype(object), (dim,), None, [{"id": "vlen-utf8"}], places.attrs
        )
        data = draft.encode(values.astype(object))
        documents = {
            join_path(path, ".zarray"): draft.document(),
            join_path(path, ".zattrs"): draft.attributes(),
        }
        self._add(path, documents, values.shape, values.shape, KeyEncoding("v2", "."), data)

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
            layout.nchunks, Rows(rows.ids, rows.file_id, rows.offset, rows.length), self._files, rows.inline
        )

    def _loaded(
        self,
        members: list[Member],
        nodes: list[Node],
        axis: int,
        how: _How,
        wrong: int,
        shape: tuple[int, ...],
    ) -> None:
        """Add a small array by its values, since its chunks do not fit each other."""
        first, node = nodes[0], nodes[wrong]
        dtype = np.dtype(first.document["dtype"]) if isinstance(first.document.get("dtype"), str) else None
        nbytes = math.prod(shape) * (dtype.itemsize if dtype is not None else 1 << 62)
        if dtype is None or dtype.kind not in "iufbcSmM" or nbytes > how.load_threshold:
            size, chunk = node.shape[axis], first.chunks[axis]
            if node.chunks != first.chunks:
                reason = f"chunks are {node.chunks}, in the first set {first.chunks}"
            else:
                reason = (
                    f"has {size} elements along {first.dims[axis]!r}, no multiple of its chunks of {chunk}: "
                    f"all sets after it would be shifted"
                )
            raise CombineError(members[wrong].label, first.path, reason)
        values = np.concatenate([read_values(m, n) for m, n in zip(members, nodes, strict=True)], axis)
        values = np.ascontiguousarray(values, dtype)
        document = {**first.reshaped(shape, shape, first.dims), "filters": None, "compressor": None}
        self._add(
            first.path, first.documents(document, first.attrs), shape, shape, _keys(first), values.tobytes()
        )

    # columns

    def _rows(self, node: Node) -> Chunks:
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

    def _write(
        self,
        node: Node,
        document: Mapping[str, Any],
        attrs: Mapping[str, Any],
        rows: list[Chunks],
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
    ) -> None:
        self.contents.metadata.update(node.documents(document, attrs))
        layout = ChunkLayout(
            tuple(-(-s // c) if c else 0 for s, c in zip(shape, chunks, strict=True)), _keys(node)
        )
        self.contents.layouts[node.path] = layout
        self.contents.tables[node.path] = make_table(layout.nchunks, *_gathered(rows, self._files))


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


def _keys(node: Node) -> KeyEncoding:
    if not node.is_v3:
        return KeyEncoding("v2", node.document.get("dimension_separator") or ".")
    found = node.document.get("chunk_key_encoding") or {"name": "default"}
    name = found["name"]
    separator = (found.get("configuration") or {}).get("separator", "/" if name == "default" else ".")
    return KeyEncoding(name, separator)


# ---- grids that fit ----------------------------------------------------------------------------


def _misfit(nodes: list[Node], axis: int) -> int | None:
    """Number of the first set whose chunks are others, or that ends within a chunk and is not the last."""
    chunks = nodes[0].chunks
    for k, node in enumerate(nodes):
        if node.chunks != chunks:
            return k
        if k < len(nodes) - 1 and node.shape[axis] % max(chunks[axis], 1):
            return k
    return None


def _fitting(nodes: list[Node], axis: int) -> list[Node]:
    """Cut uncompressed arrays that are one run of bytes each, so that all have the same chunks."""
    if _misfit(nodes, axis) is None or axis != 0 or nodes[0].is_v3:
        return nodes
    each = math.gcd(*(node.shape[0] for node in nodes))
    found = [_cut(node, each) for node in nodes]
    return nodes if any(node is None for node in found) else [node for node in found if node is not None]


def _cut(node: Node, each: int) -> Node | None:
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
    return Node(node.path, node.reshaped(node.shape, (each, *node.shape[1:]), node.dims), node.attrs, table)
