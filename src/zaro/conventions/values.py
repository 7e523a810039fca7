"""Numbers and texts from JSON, checked, and the arrays that a few of them stand for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ValuesError", "counted", "is_number", "listed", "numbers", "ordinal", "scaled", "spell"]

_LONGEST = 2**28  # values along one dimension that are computed at once: 2 GiB


class ValuesError(Exception):
    """Why a JSON value cannot be taken; never leaves the conventions."""


def spell(value: object) -> str:
    """A JSON value for a message, briefly."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def is_number(value: object) -> bool:
    """Whether a JSON value is a finite number; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of hundreds of digits
        return False


def numbers(value: object, count: int) -> list[float]:
    """A list of exactly `count` finite numbers."""
    words = {2: "two", 4: "four"}
    if not isinstance(value, list | tuple) or len(value) != count:
        got = str(len(value)) if isinstance(value, list | tuple) else spell(value)
        raise ValuesError(f"needs {words.get(count, count)} numbers, got {got}")
    for each in value:
        if not is_number(each):
            raise ValuesError(f"needs {words.get(count, count)} numbers, got {spell(each)} among them")
    return [float(each) for each in value]


def counted(start: float, step: float, n: int) -> NDArray[np.float64]:
    """`start + i * step` for i from 0 to n - 1."""
    return scaled(start, step, _upto(n).astype(np.float64))


def scaled(start: float, step: float, index: NDArray[np.float64]) -> NDArray[np.float64]:
    """`start + index * step`, which must be numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = start + index * step
    if not np.isfinite(found[-1:]).all():
        raise ValuesError(f"start {start} and increment {step} lead past the largest number")
    return found


def ordinal(n: int) -> NDArray[np.int64]:
    """0 to n - 1."""
    return _upto(n)


def _upto(n: int) -> NDArray[np.int64]:
    if n > _LONGEST:
        raise ValuesError(f"{n} values are too many to be computed, at most {_LONGEST}")
    return np.arange(n, dtype=np.int64)


def listed(value: Sequence[Any]) -> NDArray[Any]:
    """A list of numbers as int64 where all are whole, else float64; or a list of texts."""
    if all(isinstance(each, str) for each in value) and value:
        return np.array(list(value), dtype=np.str_)
    for each in value:
        if not is_number(each):
            raise ValuesError(f"needs all numbers or all texts, found {spell(each)} among {len(value)}")
    whole = all(isinstance(each, int) and -(2**63) <= each < 2**63 for each in value)
    return np.array(list(value), dtype=np.int64 if whole else np.float64)
