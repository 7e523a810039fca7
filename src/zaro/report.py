"""What a node is, for people to look at: as plain data, as text, and as HTML for notebooks.

Nothing here reads a chunk or lists one. All text that comes from a file is escaped and cut short.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from itertools import islice
from typing import Any

import numpy as np

from zaro.errors import ZaroError
from zaro.hierarchy import Array, Group, open_node
from zaro.references.set import References
from zaro.references.table import ABSENT, INLINE, DenseTable, Table
from zaro.shown import shown

__all__ = ["count_of", "describe", "html", "plain", "size_of", "text"]

_MEMBERS = 100  # shown of one group; the rest are counted
_LETTERS = 200  # shown of one value
_DEPTH = 4  # groups within groups that are opened to be shown

_STYLE = """<style>
.zaro{font:13px/1.5 system-ui,sans-serif;color:inherit}
.zaro table{font:inherit;border-collapse:collapse;margin:.2em 0 .4em}
.zaro th,.zaro td{text-align:left;vertical-align:top;padding:.1em 1.2em .1em 0}
.zaro th,.zaro td,.zaro tr{background:none!important;color:inherit;border:0}
.zaro th{font-weight:normal;opacity:.65}
.zaro code{font:12px ui-monospace,monospace;background:none;color:inherit}
.zaro summary{cursor:pointer}
.zaro details>div{margin-left:.45em;padding-left:1em}
.zaro details>div{border-left:1px solid color-mix(in srgb,currentColor 25%,transparent)}
.zaro .kind{color:#2563a8}.zaro .more{opacity:.65}
@media (prefers-color-scheme:dark){.zaro .kind{color:#7db4f0}}
</style>"""


def describe(node: Array | Group) -> dict[str, Any]:
    """What a node is, as data that JSON can hold."""
    return _describe_array(node) if isinstance(node, Array) else _describe_group(node)


def _describe_array(array: Array) -> dict[str, Any]:
    return {
        "kind": "array",
        "path": array.path,
        "shape": list(array.shape),
        "dims": list(array.dims) if array.dims is not None else None,
        "dtype": _dtype(array.dtype),
        "chunks": list(array.chunks),
        "nchunks": _nchunks(array),
        "nbytes": array.nbytes,
        "fill_value": plain(array.fill_value),
        "codecs": [_codec(codec) for codec in array.codecs],
        "attrs": plain(array.attrs),
    }


def _describe_group(group: Group) -> dict[str, Any]:
    members = {name: "array" if isinstance(node, Array) else "group" for name, node in group.items()}
    return {"kind": "group", "path": group.path, "members": members, "attrs": plain(group.attrs)}


def _nchunks(array: Array) -> int:
    return math.prod(
        -(-size // chunk) if chunk else 0 for size, chunk in zip(array.shape, array.chunks, strict=True)
    )


def _dtype(dtype: np.dtype[Any]) -> str:
    return str(dtype) if dtype.names is None else str(dtype.descr)


def _codec(codec: Any) -> dict[str, Any]:
    return {
        "name": codec.name,
        "configuration": {key: plain(value) for key, value in codec.configuration.items()},
    }


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what JSON cannot hold becomes its text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if (
        value is None
        or isinstance(value, bool | int | str)
        or (isinstance(value, float) and math.isfinite(value))
    ):
        return value
    return str(value)


# ---- text -------------------------------------------------------------------------------------


def text(node: Array | Group) -> str:
    """What a node is, as lines for a terminal."""
    title = f"{'array' if isinstance(node, Array) else 'group'} {shown(node.path) or '/'}"
    rows = list(_rows(node) if isinstance(node, Array) else _members(node))
    rows += [(f"@{name}", _short(value)) for name, value in node.attrs.items()]
    rows = [(shown(name), shown(value)) for name, value in rows]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def _members(group: Group) -> Iterator[tuple[str, str]]:
    for number, (name, node) in enumerate(group.items()):
        if number == _MEMBERS:
            yield "...", "and more"
            return
        yield name, "group" if isinstance(node, Group) else _one_line(node)


def _rows(array: Array) -> Iterator[tuple[str, str]]:
    yield "shape", _shape(array)
    yield "dtype", _dtype(array.dtype)
    yield "size", size_of(array.nbytes)
    yield "chunks", f"{_by(array.chunks)}, {_nchunks(array):,} in all"
    if array.references is not None and array.path in array.references.contents.layouts:
        yield "stored", _stored(array.references, array.path)
    yield "codecs", _codecs(array)
    yield "fill", _short(array.fill_value)


def _codecs(array: Array) -> str:
    return " > ".join(codec.name.removeprefix("numcodecs.") for codec in array.codecs)


def _shape(array: Array) -> str:
    names = array.dims or (None,) * len(array.shape)
    sizes = [f"{name}: {size}" if name else str(size) for name, size in zip(names, array.shape, strict=True)]
    return ", ".join(sizes) if sizes else "scalar"


def _one_line(array: Array) -> str:
    return f"({_shape(array)}) {_dtype(array.dtype)} {size_of(array.nbytes)}"


def _by(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes)) if sizes else "scalar"


def size_of(nbytes: int) -> str:
    """Bytes in the unit that keeps the number short."""
    if nbytes < 1024:
        return f"{nbytes} B"
    power = min((nbytes.bit_length() - 1) // 10, 5)
    if power < 5 and nbytes >= 1023.95 * 1024**power:  # which would be told as 1024.0
        power += 1
    return f"{nbytes / 1024**power:.1f} {'KMGTP'[power - 1]}iB"


def count_of(n: int, name: str) -> str:
    """A number of things: `1 chunk`, `2,000 chunks`."""
    return f"{n:,} {name}{'' if n == 1 else 's'}"


def _short(value: Any) -> str:
    words = value if isinstance(value, str) else str(plain(value))
    return words if len(words) <= _LETTERS else f"{words[:_LETTERS]}..."


# ---- HTML -------------------------------------------------------------------------------------


def html(node: Array | Group | References) -> str:
    """What a node or a reference set is, as one piece of HTML: a table, or a tree that unfolds."""
    if isinstance(node, References):
        body = _references_html(node)
    else:
        body = _array_html(node) if isinstance(node, Array) else _group_html(node, _DEPTH, opened=True)
    return f'{_STYLE}<div class="zaro">{body}</div>'


def _array_html(array: Array) -> str:
    return f"<div>{_title('zaro.Array', array.path or '/')}</div>{_details(array)}"


def _title(kind: str, name: str) -> str:
    return f'<span class="kind">{kind}</span> <code>{escape(name)}</code>'


def _details(array: Array) -> str:
    return _table(_rows(array)) + _attrs_html(array)


def _table(rows: Iterable[tuple[str, str]]) -> str:
    lines = (f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{''.join(lines)}</table>"


def _attrs_html(node: Array | Group) -> str:
    if not node.attrs:
        return ""
    rows = [(name, _short(value)) for name, value in node.attrs.items()]
    return f"<details><summary>attributes ({len(rows)})</summary><div>{_table(rows)}</div></details>"


def _group_html(group: Group, depth: int, *, opened: bool = False) -> str:
    title = _title("zaro.Group", group.path or "/") if opened else _title("group", group.name)
    if not depth:
        return f"<div>{title}</div>"
    members = [_member_html(node, depth - 1) for node in islice(group.values(), _MEMBERS + 1)]
    if len(members) > _MEMBERS:
        members[-1] = '<div class="more">and more</div>'
    state = " open" if opened else ""
    inside = _attrs_html(group) + "".join(members)
    return f"<details{state}><summary>{title}</summary><div>{inside}</div></details>"


def _member_html(node: Array | Group, depth: int) -> str:
    if isinstance(node, Group):
        return _group_html(node, depth)
    line = f"<code>{escape(node.name)}</code> {escape(_one_line(node))}"
    return f"<details><summary>{line}</summary><div>{_details(node)}</div></details>"


def _references_html(refs: References) -> str:
    title = _title("zaro.References", refs.address or "in memory")
    paths = islice(refs.contents.layouts, _MEMBERS + 1)
    rows = [(path or "/", _references_line(refs, path)) for path in paths]
    more = '<div class="more">and more</div>' if len(rows) > _MEMBERS else ""
    return f"<div>{title}</div>{_table(rows[:_MEMBERS])}{more}"


def _stored(refs: References, path: str) -> str:
    return _table_line(refs.contents.layouts[path].grid, refs.contents.tables[path])


def _references_line(refs: References, path: str) -> str:
    line = _stored(refs, path)
    try:
        array = open_node(refs, path)
    except ZaroError:  # whatever is wrong with its document, the references are what they are
        return line
    return f"{line}; {_codecs(array)}" if isinstance(array, Array) else line


def _table_line(grid: tuple[int, ...], table: Table) -> str:
    """How many chunks; where the whole table is at hand, also in how many files, and how many are absent."""
    line = count_of(table.nchunks, "chunk")
    if len(grid) > 1:
        line = f"{_by(grid)} = {line}"
    few = table.candidates()
    if not table.nchunks:
        return line
    if few is not None:
        file_id = table.locate(few).file_id
    elif isinstance(table, DenseTable):
        file_id = table.file_id
    else:
        return line
    files = int(np.count_nonzero(np.bincount(file_id[file_id >= 0])))
    inline, there = np.count_nonzero(file_id == INLINE), np.count_nonzero(file_id != ABSENT)
    line += f" in {count_of(files, 'file')}" if files else ""
    for count, name in ((inline, "inline"), (table.nchunks - there, "absent")):
        line += f", {count / table.nchunks:.1%} {name}" if count else ""
    return line
