"""Colours and letters of pictures, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["DARK", "LIGHT", "THEMES", "Mode", "Theme", "drawing", "words"]

Mode = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they mean; those of files run from the first to the last."""

    surface: str
    text: str
    quiet: str
    line: str
    absent: str
    inline: str
    first_file: str
    last_file: str
    uniform: str
    unique: str
    whole: str
    forms: tuple[str, ...]


LIGHT = Theme(
    surface="#fcfcfb",
    text="#1a1a19",
    quiet="#65645f",
    line="#dddcd6",
    absent="#e4e3dd",
    inline="#eb6834",
    first_file="#8fbaf0",
    last_file="#104281",
    uniform="#2a78d6",
    unique="#1baf7a",
    whole="#4a3aa7",
    forms=("#2a78d6", "#eb6834", "#1b9e70", "#4a3aa7"),
)
DARK = Theme(
    surface="#1a1a19",
    text="#f2f1ec",
    quiet="#a6a59e",
    line="#3b3a37",
    absent="#34332f",
    inline="#e8743f",
    first_file="#1f5fae",
    last_file="#b7d3f6",
    uniform="#3987e5",
    unique="#199e70",
    whole="#9085e9",
    forms=("#5598e7", "#e8743f", "#2fae82", "#9f96ee"),
)
THEMES: dict[str, Theme] = {"light": LIGHT, "dark": DARK}


def _settings(theme: Theme) -> Any:
    """Settings of matplotlib; no name is read as a formula."""
    return {
        "text.parse_math": False,
        "text.color": theme.text,
        "axes.facecolor": theme.surface,
        "axes.edgecolor": theme.line,
        "axes.labelcolor": theme.quiet,
        "axes.titlecolor": theme.text,
        "axes.titlesize": 9,
        "axes.titlelocation": "left",
        "axes.labelsize": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.formatter.use_mathtext": False,
        "axes.unicode_minus": False,
        "figure.facecolor": theme.surface,
        "savefig.facecolor": theme.surface,
        "font.family": ["DejaVu Sans"],
        "font.size": 8,
        "grid.color": theme.line,
        "grid.linewidth": 0.6,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "lines.linewidth": 2,
        "svg.hashsalt": "zaro",
        "xtick.color": theme.quiet,
        "ytick.color": theme.quiet,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
        "xtick.major.size": 3,
        "ytick.major.size": 3,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
    }


@contextmanager
def drawing(theme: Theme) -> Iterator[None]:
    """Settings that hold while a picture is drawn or saved: a set may name its arrays as it likes.

    No name is read as a formula, and one in letters that the font lacks is no reason to warn.
    """
    import logging
    import warnings

    import matplotlib as mpl

    logger = logging.getLogger("matplotlib.font_manager")
    level = logger.level
    with mpl.rc_context(_settings(theme)), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            logger.setLevel(level)


def words(text: str, most: int = 60) -> str:
    """A name as a picture can hold it: one line of letters that print, of a long one the two ends."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    if len(shown) <= most:
        return shown
    kept = (most - 1) // 2
    return f"{shown[:kept]}…{shown[-kept:]}"
