"""Arrays and groups: `info`, `ls`, `read`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import zaro
from zaro import report
from zaro.cli.arguments import (
    Command,
    Options,
    Parser,
    UsageError,
    as_json,
    library_options,
    parse_selection,
    reads_target,
)
from zaro.shown import shown

__all__ = ["COMMANDS"]


def _path(parser: Parser) -> None:
    parser.add_argument("path", nargs="?", default="", help="array or group within the target (its root)")


def _info_arguments(parser: Parser) -> None:
    reads_target(parser)
    _path(parser)
    as_json(parser)


def _info(options: Options) -> None:
    node = zaro.open(options.target, options.path, **library_options(options))
    print(json.dumps(report.describe(node), indent=2) if options.json else report.text(node))


def _ls_arguments(parser: Parser) -> None:
    reads_target(parser)
    as_json(parser)


def _ls(options: Options) -> None:
    nodes = zaro.list(options.target, **library_options(options))
    if options.json:
        print(json.dumps(nodes, indent=2))
        return
    for path, kind in nodes.items():
        print(f"{kind}  {shown(path)}")


def _read_arguments(parser: Parser) -> None:
    reads_target(parser)
    _path(parser)
    parser.add_argument(
        "--select", default="", metavar="SELECTION", help="as NumPy: '0, 500:600, ::2' (everything)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write a .npy file instead of printing"
    )
    as_json(parser)


def _read(options: Options) -> None:
    selection = parse_selection(options.select)
    block = zaro.read(options.target, options.path, selection, **library_options(options))
    if options.output:
        _save(options.output, block)
        print(f"{options.output}: {block.dtype} {block.shape}")
    elif options.json:
        print(json.dumps(report.plain(block.tolist())))
    else:
        print("\n".join(map(shown, str(block).splitlines())))


def _save(file: Path, block: np.ndarray[Any, Any]) -> None:
    """Write beside the file and rename: a reader never sees half of it."""
    if block.dtype.hasobject:
        raise UsageError("values of no fixed size are not written as .npy; --json prints them")
    if not file.parent.is_dir():
        raise UsageError(f"{file}: there is no such folder")
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with aside.open("wb") as handle:
            np.save(handle, block, allow_pickle=False)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


COMMANDS = (
    Command("info", "what an array or a group is", _info_arguments, _info),
    Command("ls", "every array and group of a target", _ls_arguments, _ls),
    Command("read", "values of an array, printed or written to a .npy file", _read_arguments, _read),
)
