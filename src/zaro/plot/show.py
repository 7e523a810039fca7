"""`References.plot` and `zaro plot`: a picture, or a page, of a reference set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from zaro.errors import PlotError
from zaro.plot.measure import look
from zaro.plot.theme import THEMES, Mode, drawing
from zaro.references.set import References
from zaro.references.writing import atomic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot"]

_PICTURES = ("png", "svg")


def plot(
    refs: References,
    output: str | os.PathLike[str] | None = None,
    *,
    arrays: str | Sequence[str] | None = None,
    theme: Mode = "light",
) -> Figure:
    """Draw a reference set.

    For every array: which chunks are there, inline or absent and in which file, the sizes that they are
    stored in, the shares of uniform, unique and skipped ones, and the requests that a read of all of them
    makes; for the set: the size of its document in every form, as files are added.

    Parameters
    ----------
    refs : References
        The set; as a method, `refs.plot()`.
    output : path, optional
        Where to write it besides: `.png`, `.svg`, or `.html` for a page that holds all its pictures, light
        and dark, and their numbers, and that reaches for nothing on a network.
    arrays : str or sequence of str, optional
        Paths of the arrays to draw; all by default.
    theme : {"light", "dark"}
        Of the picture; a page has both.

    Returns
    -------
    matplotlib.figure.Figure
        No window shows it; a notebook does.

    Raises
    ------
    PlotError
        matplotlib is missing, the name of the output ends otherwise, or there is no such array.

    Notes
    -----
    Linear in the chunks that exist, and binned: a map has at most 480 x 96 cells.
    """
    _check(output, theme)
    wanted = [arrays] if isinstance(arrays, str) else arrays
    for path in wanted or ():
        if path.strip("/") not in refs.contents.layouts:
            raise PlotError(
                f"no array at {path!r}; there are {', '.join(map(repr, sorted(refs.arrays)[:8]))}"
            )
    from zaro.plot.draw import save, sheet

    colours = THEMES[theme]
    found = look(refs, wanted)
    with drawing(colours):
        figure = sheet(found, colours)
        if output is not None:
            name = os.fspath(output)
            with atomic(name) as file:
                if name.lower().endswith(".html"):
                    from zaro.plot.page import page

                    file.write(page(found).encode())
                else:
                    save(figure, file, _ending(name))
    return cast("Figure", figure)


def _ending(name: str) -> str:
    return os.path.splitext(name)[1].lower().removeprefix(".")


def _check(output: str | os.PathLike[str] | None, theme: str) -> None:
    if theme not in THEMES:
        raise PlotError(f"theme={theme!r}; there are {', '.join(THEMES)}")
    if output is not None and _ending(os.fspath(output)) not in (*_PICTURES, "html"):
        raise PlotError(f"{os.fspath(output)!r} ends in none of .png, .svg, .html")
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError as err:
        raise PlotError(f"a picture needs matplotlib: pip install 'zaro[plot]' ({err})") from err
