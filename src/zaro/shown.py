"""Text from files, for a terminal: names can hold what moves its cursor or hides what stands on it."""

from __future__ import annotations

__all__ = ["shown"]


def shown(text: str) -> str:
    r"""Spell out what does not print (`\x1b`, line ends, marks that turn the direction of writing)."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )
