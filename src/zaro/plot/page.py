"""A page of a look: all pictures, light and dark, and their numbers; one file that needs no network."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable
from html import escape
from typing import Any

from zaro.plot import draw
from zaro.plot.measure import ArrayLook, Look
from zaro.plot.theme import DARK, LIGHT, Theme, drawing, words
from zaro.plot.weigh import FORMS
from zaro.report import count_of, size_of

__all__ = ["page"]

_STYLE = """
:root{color-scheme:light dark;--surface:#fcfcfb;--text:#1a1a19;--quiet:#65645f;--line:#dddcd6}
@media (prefers-color-scheme:dark){:root{--surface:#1a1a19;--text:#f2f1ec;--quiet:#a6a59e;--line:#3b3a37}}
body{margin:0 auto;max-width:70rem;padding:1.5rem;background:var(--surface);color:var(--text);
font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.3rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:2.2rem 0 .6rem}
p,figcaption{color:var(--quiet);max-width:50rem}
figure{margin:0;overflow-x:auto}img{width:100%;min-width:44rem;height:auto;display:block}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.25rem .8rem;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--quiet);font-weight:normal}
th:first-child,td:first-child,td.name{text-align:left}
td.name{max-width:22rem;overflow:hidden;text-overflow:ellipsis}
"""
_MOST_ROWS = 500  # arrays in the table


def page(look: Look) -> str:
    """Spell the page."""
    total = sum(one.chunks for one in look.arrays)
    stored = sum(one.nbytes for one in look.arrays)
    parts = [
        f"<h1>{escape(look.name)}</h1>",
        f"<p>{count_of(len(look.arrays), 'array')}, {count_of(total, 'chunk')}, "
        f"{size_of(stored)} in known spans.</p>",
        *_section("Chunks", _CHUNKS, _picture(look, _maps, draw.map_height(look.arrays), "chunk maps")),
        *_section(
            "Uniform, unique, skipped",
            _SHARES,
            _picture(look, _shares, draw.bar_height(look.arrays), "shares of chunks"),
        ),
        *_section(
            "Size of the document", _SIZES, _picture(look, _sizes, 3.2, "sizes of documents"), _forms(look)
        ),
        *_section("Requests", _REQUESTS, _picture(look, _requests, draw.bar_height(look.arrays), "requests")),
        *_section("All numbers", "", _numbers(look)),
    ]
    title = escape(look.name)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>\n{chr(10).join(parts)}\n</body></html>\n"
    )


_CHUNKS = (
    "Each cell is a chunk, or mixes the colours of several. The first dimension of several chunks runs to "
    "the right, the others run down together. Beside it, how many chunks are stored in how many bytes."
)
_SHARES = (
    "Uniform chunks have the commonest stored size of their array, unique ones another; skipped ones are not "
    "listed and read as the fill value. A generator says uniform chunks once, and all others one by one."
)
_SIZES = (
    "The document of a growing part of the set, cut along the first dimension of several chunks, in every "
    "form."
)
_REQUESTS = (
    "Neighbouring spans are merged: so many requests a read of each whole array makes on a remote file."
)


def _section(title: str, text: str, *parts: str) -> Iterable[str]:
    yield f"<section><h2>{title}</h2>"
    if text:
        yield f"<p>{text}</p>"
    yield from parts
    yield "</section>"


def _picture(look: Look, fill: Callable[[Any, Look, Theme], None], height: float, name: str) -> str:
    """A picture in both themes; the reader's choice decides."""
    light, dark = (_svg(look, fill, height, theme) for theme in (LIGHT, DARK))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{name}; their numbers stand in the table below"></picture></figure>'
    )


def _svg(look: Look, fill: Callable[[Any, Look, Theme], None], height: float, theme: Theme) -> str:
    out = io.BytesIO()
    with drawing(theme):
        figure = draw.new_figure(11, height)
        fill(figure, look, theme)
        draw.save(figure, out, "svg")
    return f"data:image/svg+xml;base64,{base64.b64encode(out.getvalue()).decode()}"


def _maps(figure: Any, look: Look, theme: Theme) -> None:
    draw.maps_of(figure, look.arrays, theme)


def _shares(figure: Any, look: Look, theme: Theme) -> None:
    draw.shares(figure.subplots(), look.arrays, theme)


def _sizes(figure: Any, look: Look, theme: Theme) -> None:
    left, right = figure.subplots(1, 2)
    draw.documents(left, look, theme)
    draw.ratios(right, look, theme)


def _requests(figure: Any, look: Look, theme: Theme) -> None:
    draw.requests(figure.subplots(), look.arrays, theme)


# ---- numbers -----------------------------------------------------------------------------------


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    lines = (
        "<tr>"
        + "".join(f"<td{_NAME if not k else ''}>{escape(cell)}</td>" for k, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )


_NAME = ' class="name"'


def _forms(look: Look) -> str:
    found = look.documents
    head = ["files", "chunks", *FORMS, ""]
    rows = []
    for k, (files, chunks) in enumerate(zip(found.files.tolist(), found.chunks.tolist(), strict=True)):
        sizes = [int(found.nbytes[form][k]) for form in FORMS]
        told = ["-" if size < 0 else size_of(size) for size in sizes]
        rows.append([f"{files:,}", f"{chunks:,}", *told, "" if k < found.measured else "estimated"])
    return _table(head, rows)


def _numbers(look: Look) -> str:
    head = (
        "array", "grid", "chunks", "uniform", "unique", "whole file", "inline", "skipped", "common size",
        "stored", "files", "requests", "requested", "first file", "last file",
    )  # fmt: skip
    shown = look.arrays[:_MOST_ROWS]
    table = _table(head, map(_row, shown))
    left = len(look.arrays) - len(shown)
    return table + (f"<p>and {count_of(left, 'more array')}</p>" if left else "")


def _row(one: ArrayLook) -> Iterable[str]:
    yield one.path or "/"
    yield " x ".join(map(str, one.grid)) or "scalar"
    for count in (one.chunks, one.uniform, one.unique, one.whole, one.inline, one.absent):
        yield f"{count:,}"
    yield size_of(one.common) if one.common is not None else "-"
    yield size_of(one.nbytes)
    yield f"{one.files:,}"
    yield f"{one.requests:,}"
    yield size_of(one.request_bytes)
    yield words(one.first_file)
    yield words(one.last_file)
