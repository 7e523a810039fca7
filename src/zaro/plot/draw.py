"""The pictures, one function for each: from the numbers of a look to axes of matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from zaro.plot.measure import ArrayLook, Look, spans
from zaro.plot.theme import Theme, words
from zaro.plot.weigh import FORMS, Documents
from zaro.report import count_of, size_of

__all__ = [
    "MOST",
    "bar_height",
    "chosen",
    "documents",
    "lengths",
    "map_height",
    "map_of",
    "maps_of",
    "new_figure",
    "parts_of",
    "ratios",
    "requests",
    "save",
    "shares",
    "sheet",
]

MOST = 12
"""Arrays that are drawn; the rest are counted."""
SEEN = 0.4
"""Least share of the colour of a cell that its chunks have, however few they are."""
Axes = Any
Figure = Any


def chosen(arrays: Sequence[ArrayLook]) -> list[ArrayLook]:
    """Arrays that are worth a map: those of several chunks, the largest where there are too many."""
    several = [one for one in arrays if one.chunks > 1] or list(arrays)
    kept = sorted(several, key=lambda one: -one.chunks)[:MOST]
    return [one for one in several if one in kept]


def new_figure(width: float, height: float) -> Figure:
    """An empty picture of so many inches, which no window holds."""
    from matplotlib.figure import Figure as Made

    return Made(figsize=(width, height), layout="constrained")


def map_height(arrays: Sequence[ArrayLook]) -> float:
    """Inches that the maps need."""
    return 1.15 * max(len(chosen(arrays)), 1) + 0.45


def bar_height(arrays: Sequence[ArrayLook]) -> float:
    """Inches that a picture with a bar for each array needs."""
    return 0.3 * max(len(chosen(arrays)), 2) + 0.9


def sheet(look: Look, theme: Theme) -> Figure:
    """Everything on one page."""
    maps, bars = map_height(look.arrays), bar_height(look.arrays)
    lines = max(bars, 2.6)
    figure = new_figure(11, 0.5 + maps + bars + lines)
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06, hspace=0.02)
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[maps, bars, lines])
    figure.suptitle(
        words(look.name, 100), x=0.01, ha="left", fontsize=11, fontweight="bold", color=theme.text
    )
    maps_of(top, look.arrays, theme)
    shares(middle.subplots(), look.arrays, theme)
    axes = bottom.subplots(1, 3)
    documents(axes[0], look, theme)
    ratios(axes[1], look, theme)
    requests(axes[2], look.arrays, theme)
    return figure


def maps_of(figure: Figure, arrays: Sequence[ArrayLook], theme: Theme) -> None:
    """A map and the lengths of every array that is worth one, below each other."""
    shown = chosen(arrays)
    if not shown:
        axes = figure.subplots()
        axes.axis("off")
        axes.text(0.5, 0.5, "no arrays", color=theme.quiet, ha="center")
        return
    axes = figure.subplots(len(shown), 2, width_ratios=[3, 1], squeeze=False)
    for row, one in zip(axes, shown, strict=True):
        map_of(row[0], one, theme)
        lengths(row[1], one, theme)
    _map_legend(figure, shown, theme)
    left = len(arrays) - len(shown)
    if left:
        note = f"and {count_of(left, 'more array')}, smaller"
        axes[-1][0].annotate(
            note, (0, 0), (0, -24), "axes fraction", textcoords="offset points", color=theme.quiet
        )


# ---- one array ---------------------------------------------------------------------------------


def map_of(axes: Axes, one: ArrayLook, theme: Theme) -> None:
    """The chunk map: absent, inline, or in which file; a cell of several chunks mixes their colours."""
    cells = one.cells
    title = f"{words(one.path or '/', 40)}   {' x '.join(map(str, one.grid)) or 'scalar'}"
    title += f"{' = ' if one.grid else ', '}{count_of(one.chunks, 'chunk')}"
    axes.set_title(f"{title}, {count_of(one.files, 'file')}" if one.files else title)
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    if not cells.total.size:
        axes.set_xticks([])
        axes.text(0.5, 0.5, "no chunks", transform=axes.transAxes, ha="center", color=theme.quiet)
        return
    high, wide = (a * b for a, b in zip(cells.total.shape, cells.step, strict=True))
    axes.imshow(_colours(one, theme), aspect="auto", interpolation="nearest", extent=(0, wide, high, 0))
    axes.set_xlim(0, one.grid[cells.axis] if one.grid else 1)
    axes.set_ylim(one.chunks // max(one.grid[cells.axis] if one.grid else 1, 1), 0)
    axes.locator_params(axis="x", nbins=8, integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.tick_params(axis="x", pad=1)


def _colours(one: ArrayLook, theme: Theme) -> NDArray[np.float64]:
    cells = one.cells
    absent, inline, first, last = (
        _rgb(c) for c in (theme.absent, theme.inline, theme.first_file, theme.last_file)
    )
    share = np.nan_to_num(cells.file)[..., None]
    named = (
        first + (last - first) * share
        if one.files > 1
        else np.broadcast_to(_rgb(theme.uniform), (*share.shape[:2], 3))
    )
    # what is there is seen in a cell of ever so many absent chunks
    seen = np.maximum(cells.present, np.where(cells.present > 0, cells.total * SEEN, 0)) / np.maximum(
        cells.present, 1
    )
    weights = cells.total - cells.present * seen, cells.inline * seen, (cells.present - cells.inline) * seen
    mixed = sum(
        weight[..., None] * colour for weight, colour in zip(weights, (absent, inline, named), strict=True)
    )
    return np.clip(np.asarray(mixed) / np.maximum(cells.total, 1)[..., None], 0, 1)


def _rgb(colour: str) -> NDArray[np.float64]:
    return np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])


def _map_legend(figure: Figure, arrays: Sequence[ArrayLook], theme: Theme) -> None:
    from matplotlib.patches import Patch

    several = any(one.files > 1 for one in arrays)
    entries = [
        (any(one.files == 1 for one in arrays), theme.uniform, "in its file"),
        (several, theme.first_file, "in the first file"),
        (several, theme.last_file, "in the last file"),
        (any(one.inline for one in arrays), theme.inline, "inline"),
        (any(one.absent for one in arrays), theme.absent, "absent"),
    ]
    patches = [Patch(color=colour, label=label) for there, colour, label in entries if there]
    if patches:
        figure.legend(
            handles=patches,
            loc="outside lower left",
            ncols=5,
            handlelength=1,
            handleheight=1,
            labelcolor=theme.quiet,
        )


def lengths(axes: Axes, one: ArrayLook, theme: Theme) -> None:
    """How many chunks have which stored size."""
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    bins = list(spans(one.lengths))
    if not bins:
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        told = "whole files: no set knows their sizes" if one.whole else "nothing is stored"
        axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", va="center", color=theme.quiet)
        return
    begins = np.array([begin for begin, _, _ in bins])
    ends = np.array([end for _, end, _ in bins])
    counts = [count for _, _, count in bins]
    axes.set_xscale("log", base=2)
    axes.bar(begins, counts, width=(ends - begins) * 0.92, align="edge", color=theme.uniform)
    _size_ticks(axes, begins[0], ends[-1])
    axes.set_title(_spread(one), color=theme.quiet)


def _spread(one: ArrayLook) -> str:
    if one.common is not None and one.uniform > 1:
        return f"{size_of(one.nbytes)}; mostly {size_of(one.common)}"
    return f"{size_of(one.nbytes)} stored"


def _size_ticks(axes: Axes, least: float, most: float) -> None:
    """Three sizes below a histogram, whose axis is logarithmic."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    middle = (least * most) ** 0.5
    if most / least < 1.3:  # all but equal: one label is enough, several would lie over each other
        least, most = least / 1.3, most * 1.3
        axes.set_xlim(least, most)
        ticks = [middle]
    else:
        ticks = [least, middle, most]
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: size_of(round(x))))


# ---- all of them -------------------------------------------------------------------------------


def parts_of(one: ArrayLook, theme: Theme) -> list[tuple[str, int, str]]:
    """Name, count and colour of each kind of chunk."""
    return [
        ("uniform", one.uniform, theme.uniform),
        ("unique", one.unique, theme.unique),
        ("whole file", one.whole, theme.whole),
        ("inline", one.inline, theme.inline),
        ("skipped", one.absent, theme.absent),
    ]


def shares(axes: Axes, arrays: Sequence[ArrayLook], theme: Theme) -> None:
    """Shares of chunks of the commonest size, of another, and of those that are not there."""
    shown = [one for one in chosen(arrays) if one.chunks]
    if not shown:
        axes.axis("off")
        return
    axes.set_title("chunks that are uniform (of the commonest size), unique (of another) or skipped (absent)")
    place = np.arange(len(shown))
    left = np.zeros(len(shown))
    for kind in range(5):
        label, _, colour = parts_of(shown[0], theme)[kind]
        part = np.array([parts_of(one, theme)[kind][1] / one.chunks for one in shown])
        if not part.any():
            continue
        axes.barh(
            place,
            part,
            left=left,
            height=0.62,
            color=colour,
            label=label,
            edgecolor=theme.surface,
            linewidth=1,
        )
        for y, (start, share) in enumerate(zip(left, part, strict=True)):
            if share >= 0.06:
                ink = _ink(colour)
                axes.text(
                    start + share / 2, y, f"{share:.0%}", ha="center", va="center", color=ink, fontsize=7.5
                )
        left += part
    axes.set_yticks(place, [words(one.path or "/", 30) for one in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    _share_axis(axes)
    axes.legend(
        loc="upper left", bbox_to_anchor=(1, 1), handlelength=1, handleheight=1, labelcolor=theme.quiet
    )


def _share_axis(axes: Axes) -> None:
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _ink(colour: str) -> str:
    """Letters that can be read on a colour."""
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in _rgb(colour)]
    luminance = float(np.dot(linear, (0.2126, 0.7152, 0.0722)))
    return "#ffffff" if 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.055 else "#111110"


def documents(axes: Axes, look: Look, theme: Theme) -> None:
    """Size of the document in every form, as files are added."""
    found = look.documents
    axes.set_title("size of the document")
    x = _growth(found)
    for form, colour in zip(FORMS, theme.forms, strict=True):
        nbytes = found.nbytes[form]
        if (nbytes < 0).any():
            continue
        known = found.measured
        axes.plot(x[:known], nbytes[:known], color=colour, marker="o", markersize=4, label=form)
        if known < len(x):
            axes.plot(x[known - 1 :], nbytes[known - 1 :], color=colour, linestyle=(0, (2, 2)))
    _growth_axis(axes, look)
    _bytes_axis(axes)
    _end_labels(axes, look, theme, {form: nbytes[-1] for form, nbytes in found.nbytes.items()}, size_of)


def ratios(axes: Axes, look: Look, theme: Theme) -> None:
    """How many times smaller than JSON the other forms are."""
    found = look.documents
    axes.set_title("times smaller than JSON")
    x, last = _growth(found), {}
    for form, colour in zip(FORMS, theme.forms, strict=True):
        nbytes, json = found.nbytes[form], found.nbytes["JSON"]
        if form == "JSON" or (nbytes < 0).any() or (json < 0).any():
            continue
        times = json / np.maximum(nbytes, 1)
        known = found.measured
        axes.plot(x[:known], times[:known], color=colour, marker="o", markersize=4)
        if known < len(x):
            axes.plot(x[known - 1 :], times[known - 1 :], color=colour, linestyle=(0, (2, 2)))
        last[form] = float(times[-1])
    _growth_axis(axes, look)
    axes.set_ylim(0, max([*last.values(), *axes.get_ylim()]) * 1.05)
    axes.grid(visible=True, axis="y")
    _end_labels(axes, look, theme, last, lambda value: f"{value:.1f} x")


def _growth(found: Documents) -> NDArray[np.int64]:
    return found.files if _by_file(found) else found.chunks


def _by_file(found: Documents) -> bool:
    return len(found.files) > 1 and bool((np.diff(found.files) > 0).all())


def _growth_axis(axes: Axes, look: Look) -> None:
    found = look.documents
    name = "files" if _by_file(found) else "chunks"
    axes.set_xlabel(f"{name} (dotted: estimated)" if found.measured < len(found.chunks) else name)
    axes.set_xlim(0, max(_growth(found)[-1], 1) * 1.02)
    axes.locator_params(axis="x", nbins=5, integer=True)
    axes.grid(visible=True, axis="y")


def _bytes_axis(axes: Axes) -> None:
    axes.set_ylim(0, None)
    most = max(axes.get_ylim()[1], 1)
    step = 2 ** math.ceil(math.log2(most / 5)) if most > 5 else 1
    ticks = [step * k for k in range(int(most / step) + 1)]
    axes.set_yticks(ticks, [size_of(tick).replace(".0 ", " ") for tick in ticks])


def _end_labels(axes: Axes, look: Look, theme: Theme, ends: dict[str, Any], told: Any) -> None:
    """A name at the end of every line, moved apart where two would touch."""
    least, most = axes.get_ylim()
    apart = (most - least) * 0.085
    shown = sorted(((form, value) for form, value in ends.items() if value >= 0), key=lambda item: item[1])
    places: list[float] = []
    for _, value in shown:
        places.append(max(float(value), places[-1] + apart if places else least))
    for k in reversed(range(len(places))):
        places[k] = min(places[k], most - apart * (len(places) - 1 - k))
    for (form, value), place in zip(shown, places, strict=True):
        colour = theme.forms[list(FORMS).index(form)]
        axes.annotate(
            f"{form} {told(value if isinstance(value, float) else int(value))}",
            (1, place), (5, 0), ("axes fraction", "data"), textcoords="offset points",
            va="center", color=colour, fontsize=7.5, annotation_clip=False,
        )  # fmt: skip


def requests(axes: Axes, arrays: Sequence[ArrayLook], theme: Theme) -> None:
    """Chunks that lie in files, and the requests that a read of all of them makes."""
    shown = [one for one in chosen(arrays) if one.requests]
    axes.set_title("chunks → requests")
    if not shown:
        axes.axis("off")
        axes.text(
            0.5, 0.5, "no chunk lies in a file", transform=axes.transAxes, ha="center", color=theme.quiet
        )
        return
    axes.set_xscale("log")
    for y, one in enumerate(shown):
        chunks = one.uniform + one.unique + one.whole
        axes.plot([one.requests, chunks], [y, y], color=theme.line, linewidth=3, zorder=1)
        axes.plot([chunks], [y], "o", color=theme.quiet, markersize=7, label="chunks" if not y else None)
        axes.plot(
            [one.requests], [y], "o", color=theme.uniform, markersize=7, label="requests" if not y else None
        )
        axes.annotate(
            f"{chunks:,} → {one.requests:,}", (max(chunks, one.requests), y), (7, 0),
            textcoords="offset points", va="center", fontsize=7.5, color=theme.text, annotation_clip=False,
        )  # fmt: skip
    axes.set_yticks(range(len(shown)), [words(one.path or "/", 24) for one in shown])
    axes.set_ylim(len(shown) - 0.4, -0.6)
    most = max(one.uniform + one.unique + one.whole for one in shown)
    axes.set_xlim(0.7, most * 8)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    _count_ticks(axes)
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, labelcolor=theme.quiet, handletextpad=0
    )


def _count_ticks(axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axes.xaxis.set_major_locator(LogLocator(numticks=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    axes.minorticks_off()


def save(figure: Any, file: IO[bytes], form: str) -> None:
    """Write a picture; the same bytes for the same numbers."""
    from matplotlib import __version__ as version  # told in every picture, so that none asks for the time

    dated = {"svg": {"Date": None, "Creator": f"zaro, matplotlib {version}"}, "png": {}}[form]
    figure.savefig(file, format=form, dpi=150, metadata=dated)
