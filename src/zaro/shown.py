"""Text from files, for a terminal: names can hold what moves its cursor or hides what stands on it."""

from __future__ import annotations

import numpy as np

__all__ = ["shown", "spelled_fact"]


def shown(text: str) -> str:
    r"""Spell out what does not print (`\x1b`, line ends, marks that turn the direction of writing)."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def spelled_fact(what: str, value: object) -> str:
    """What a file is like, as a message spells it: times of change are dates."""
    if what == "mtime" and isinstance(value, int):
        return f"{np.datetime64(value, 'ns')} UTC"
    return repr(value)
