"""A bar for long work, where somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(doing: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar with rate and time to go, where somebody watches and `rich` is there to draw it."""
    try:
        from rich import progress
    except ImportError:
        yield lambda done, total: None
        return
    from rich.console import Console

    columns = (
        progress.TextColumn(doing),
        progress.BarColumn(),
        progress.TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with progress.Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task(doing, total=0, rate="")

        def show(done: int, total: int) -> None:
            speed = bar.tasks[0].speed
            bar.update(task, completed=done, total=total, rate=f"{speed:,.1f} {unit}/s" if speed else "")

        yield show
