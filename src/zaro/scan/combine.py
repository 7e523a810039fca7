"""From many sets to one: along dimensions (`concat`), or side by side (`merge`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.errors import CombineError
from zaro.references.layout import join_path
from zaro.references.set import References
from zaro.references.table import INLINE
from zaro.scan.coordinates import CoordinateSource, Places, places_along
from zaro.scan.joined import How, Output
from zaro.scan.members import Member, Node, check_like, group_of, members_of, read_values

__all__ = ["check_same", "check_variables", "concat", "merge", "ordered", "path_of"]


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
        Where no variable has it, every variable of data gets it as a new first dimension; so do coordinates
        that others name, but where all sets hold the same.
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

    Returns
    -------
    refs : References
        A new set; the others stay as they are.

    Raises
    ------
    CombineError
        The sets do not fit: names the set, the variable, and both values.
    ReferenceSetError, StoreError
        One of them cannot be opened.
    ValueError
        No set, or no dimension, was named.

    Notes
    -----
    Columnar: a second for a million references. Takes memory for the columns of the result.

    References
    ----------
    - Times and their units: CF Conventions 1.11, section 4.4, decoded by cftime.
    - kerchunk's `MultiZarrToZarr`, which does the same key by key.

    See Also
    --------
    zaro.append : puts sets behind one that is stored.
    zaro.merge : puts variables side by side.
    """
    members = members_of(sets, labels)
    dims = [dim] if isinstance(dim, str) else list(dim)
    if not dims:
        raise ValueError("name a dimension to join along")
    how = How(dict(coords or {}), sort, check, load_threshold)
    return _concat(members, dims, how).refs


def merge(sets: Sequence[Any], *, check: bool = True, labels: Sequence[str] | None = None) -> References:
    """Put the variables of several sets side by side; those that occur in several must be the same.

    Parameters
    ----------
    sets : sequence
        References, or what `References.open` takes.
    check : bool
        Compare the values of variables that occur in several sets.
    labels : sequence of str, optional
        Names of the sets for messages.

    Returns
    -------
    refs : References
        A new set; the others stay as they are.

    Raises
    ------
    CombineError
        A variable or the size of a dimension differs: names the set, the variable, and both values.
    ReferenceSetError, StoreError
        One of them cannot be opened.
    ValueError
        There is no set.

    See Also
    --------
    zaro.concat : joins sets along a dimension.
    """
    members = members_of(sets, labels)
    out = Output()
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
                    check_same(first[path], member, path)
            else:
                first[path] = member
                out.take(member, node)
        out.groups(member)
    out.fingerprints(members)
    return out.finish()


def _concat(members: list[Member], dims: list[str], how: How) -> Member:
    """Join along the last dimension those that agree in the others, then along those."""
    if len(dims) == 1:
        return _along(members, dims[0], how)
    outer = dims[0]
    groups: dict[str, list[Member]] = {}
    for member, values in zip(members, _places(members, outer, how)[1].values, strict=True):
        groups.setdefault(repr(values.tolist()), []).append(member)
    inner = [_concat(group, dims[1:], how) for group in groups.values()]
    return _along(inner, outer, how)


def path_of(members: Sequence[Member], dim: str) -> str:
    """Path of the coordinate of a dimension: in the group of the first variable that has it."""
    for node in members[0].nodes.values():
        if dim in node.dims:
            return join_path(group_of(node.path), dim)
    return dim


def _places(members: list[Member], dim: str, how: How) -> tuple[str, Places]:
    path = path_of(members, dim)
    sizes = [
        next((n.shape[n.dims.index(dim)] for n in m.nodes.values() if dim in n.dims and n.path != path), None)
        for m in members
    ]
    found = places_along(members, dim, path, how.coords.get(dim), sizes)
    if found is None:  # no coordinate: in the order given
        found = Places([np.arange(s if s is not None else 1) for s in sizes], {})
        return "", found
    return path, found


def _along(members: list[Member], dim: str, how: How) -> Member:
    path, places = _places(members, dim, how)
    if path:
        members, places = ordered(members, places, path, how)
    as_stored = how.coords.get(dim) in (None, "value", "time")
    if as_stored and len(members) == 1 and path in members[0].nodes and members[0].nodes[path].shape:
        return members[0]
    out = Output()
    new = not any(dim in node.dims for member in members for node in member.nodes.values())
    check_variables(members, path)
    beside = _auxiliary(members[0])
    for variable, node in members[0].nodes.items():
        if variable == path:
            continue
        nodes = [member.nodes[variable] for member in members]
        axis = node.dims.index(dim) if dim in node.dims else None
        if axis is None and new and not (_is_coordinate(node) or _are_beside(nodes, beside)):
            out.stacked(members, nodes, dim)
        elif axis is None:
            for member in members[1:]:
                if how.check:
                    check_same(members[0], member, variable)
            out.take(members[0], node)
        else:
            out.joined(members, nodes, axis, how, places, path)
    if path:
        out.coordinate(path, dim, places, members[0])
    out.groups(members[0])
    out.fingerprints(members)
    refs = out.finish()
    return members_of([refs], [members[0].label])[0]


def _is_coordinate(node: Node) -> bool:
    """Whether an array is the coordinate of a dimension of its own, or has none."""
    return node.dims == (node.path.rpartition("/")[2],) or not node.shape


def _auxiliary(member: Member) -> set[str]:
    """Paths of arrays that others name as their coordinates."""
    return {
        join_path(group_of(node.path), name)
        for node in member.nodes.values()
        for name in str(node.attrs.get("coordinates", "")).split()
    }


def _are_beside(nodes: list[Node], auxiliary: set[str]) -> bool:
    """Whether an array is a coordinate of others, and plainly the same in all sets."""
    return nodes[0].path in auxiliary and all(_same_inline(nodes[0], node) for node in nodes[1:])


def ordered(members: list[Member], places: Places, path: str, how: How) -> tuple[list[Member], Places]:
    """Check that each set follows the one before, or put them so."""
    there = [k for k, values in enumerate(places.values) if len(values)]
    ordinal = all(values.dtype.kind in "iufmM" for values in places.values)
    if len(there) < 2:
        return members, places
    if how.sort:
        falls = ordinal and any(values[0] > values[-1] for values in places.values if len(values))
        starts = [places.values[k][0] for k in there]
        order = sorted(range(len(there)), key=starts.__getitem__, reverse=falls)
        there = [there[k] for k in order]
        members, places = [members[k] for k in there], places.reordered(there)
        there = list(range(len(there)))
    if not ordinal:  # texts have no order but what they are put in
        return members, places
    ends = [(places.values[k][0], places.values[k][-1]) for k in there]
    falls = ends[0][0] > ends[0][1] or (ends[0][0] == ends[0][1] and ends[1][0] < ends[0][1])
    for k in range(1, len(ends)):
        last, next_ = ends[k - 1][1], ends[k][0]
        if not (next_ < last if falls else next_ > last):
            what = "overlap" if _between(next_, ends[k - 1]) else "are not in order"
            reason = (
                f"begins at {next_}, {members[there[k - 1]].label} ends at {last}: they {what}"
                f"{'' if what == 'overlap' else '; sort=True, or --sort, puts them in order'}"
            )
            raise CombineError(members[there[k]].label, path, reason)
    return members, places


def _between(value: Any, ends: tuple[Any, Any]) -> bool:
    return bool(min(ends) <= value <= max(ends))


def check_variables(members: list[Member], path: str) -> None:
    """Refuse sets that have not all the same variables."""
    expected = set(members[0].nodes) - {path}
    for member in members[1:]:
        found = set(member.nodes) - {path}
        if missing := sorted(expected - found):
            raise CombineError(member.label, missing[0], f"is missing, {members[0].label} has it")
        if extra := sorted(found - expected):
            raise CombineError(member.label, extra[0], f"is there, but missing in {members[0].label}")


def check_same(first: Member, other: Member, path: str) -> None:
    """Refuse a variable that is not the same in two sets."""
    a, b = first.nodes[path], other.nodes[path]
    check_like(a, b, other.label, along=None)
    if a.table is b.table or _same_inline(a, b):
        return
    if a.chunks == b.chunks and _same_places(a, b):
        return
    found, expected = read_values(other, b), first.values(path)
    same = _equal(found, expected)
    if not same.all():
        where = tuple(int(i) for i in np.argwhere(~same)[0])
        shown = f"at {list(where)}" if where else "as its value"
        reason = f"has {found[where]!s} {shown}, {first.label} has {expected[where]!s}; only one can stay"
        raise CombineError(other.label, path, reason)


def _equal(found: NDArray[Any], expected: NDArray[Any]) -> NDArray[np.bool_]:
    """Which elements are the same; what is not a number is the same as another such."""
    if found.dtype.kind in "OV":
        pairs = zip(found.reshape(-1), expected.reshape(-1), strict=True)
        each = [
            np.array_equal(a, b) if found.dtype.kind == "O" else bool(a == b) or a.tobytes() == b.tobytes()
            for a, b in pairs
        ]
        return np.array(each, bool).reshape(found.shape)
    same = np.asarray(found == expected)
    return same | (np.isnan(found) & np.isnan(expected)) if found.dtype.kind in "fcmM" else same


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
