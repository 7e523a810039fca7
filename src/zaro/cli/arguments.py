"""What a command is; and what is typed: selections, JSON, and how to reach a target."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zaro

__all__ = [
    "Command",
    "Options",
    "Parser",
    "UsageError",
    "as_json",
    "json_object",
    "library_options",
    "parse_selection",
    "reads_target",
]


Parser = argparse.ArgumentParser


Options = argparse.Namespace


class UsageError(zaro.ZaroError, ValueError):
    """What was typed cannot be meant."""


def parse_selection(words: str) -> tuple[Any, ...]:
    """Read a NumPy selection: integers, slices and one ellipsis, as `0, 500:600, ::-1` or `[..., 3]`.

    Nothing is evaluated.

    Raises
    ------
    ZaroError
        For anything else; the message quotes it.
    """
    inner = words.strip()
    if inner.startswith("[") and inner.endswith("]"):
        inner = inner[1:-1].strip()
    if not inner:
        return (...,)
    parts = inner.split(",")
    if len(parts) > 1 and not parts[-1].strip():  # a trailing comma, as Python allows
        parts.pop()
    return tuple(_parse_part(part.strip(), words) for part in parts)


def _parse_part(part: str, words: str) -> Any:
    if part == "...":
        return ...
    try:
        numbers = [int(number) if number.strip() else None for number in part.split(":")]
    except ValueError:
        raise UsageError(f"--select {words!r}: {part!r} is not an integer, a slice or '...'") from None
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    if len(numbers) not in (2, 3):
        raise UsageError(f"--select {words!r}: {part!r} is not an integer, a slice or '...'")
    return slice(*numbers)


def json_object(words: str) -> dict[str, Any]:
    """Read an option that is a JSON object."""
    try:
        value = json.loads(words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{words!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{words!r} is not a JSON object")
    return value


def reads_target(parser: Parser, what: str = "a Zarr store or a reference set") -> None:
    """Give a command the target that it reads, and the options to reach it."""
    parser.add_argument("target", help=f"path or URL of {what}")
    how = parser.add_argument_group("how to reach it")
    how.add_argument(
        "--storage-options", type=json_object, metavar="JSON", help="fsspec's options for the target"
    )
    how.add_argument("--remote-protocol", metavar="NAME", help="protocol of references that spell none")
    how.add_argument(
        "--remote-options",
        type=json_object,
        metavar="JSON",
        help="fsspec's options for the files behind references: one object, or an object per URL prefix",
    )
    how.add_argument(
        "--allow-target",
        action="append",
        dest="allow_targets",
        metavar="PREFIX",
        help="references may reach URLs that begin so, and no others; may be given again",
    )
    how.add_argument(
        "--missing", choices=("fill", "warn", "raise"), help="what to do with an absent chunk (fill)"
    )
    how.add_argument("--timeout", type=float, metavar="SECONDS", help="longest time for one request (60)")


_LIBRARY_OPTIONS = (
    "storage_options",
    "remote_protocol",
    "remote_options",
    "allow_targets",
    "missing",
    "timeout",
)


def library_options(options: Options) -> dict[str, Any]:
    """The options of the library that were typed."""
    given = {name: getattr(options, name) for name in _LIBRARY_OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def as_json(parser: Parser) -> None:
    """Give a command `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON, for a program to read")


@dataclass(frozen=True)
class Command:
    """One command: its name, a line of help, what is typed, and what is done (which gives the exit code)."""

    name: str
    help: str
    arguments: Callable[[Parser], None]
    run: Callable[[Options], int | None]
