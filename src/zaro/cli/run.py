"""The table of commands, and how one is run."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import zaro
from zaro.cli import making, nodes, sets, trying
from zaro.cli.arguments import Parser
from zaro.shown import shown

__all__ = ["main"]


_COMMANDS = (*nodes.COMMANDS, *making.COMMANDS, *sets.COMMANDS, *trying.COMMANDS)


def _parser() -> Parser:
    parser = Parser(prog="zaro", description="Reads Zarr stores and reference sets.")
    parser.set_defaults(run=None)
    parser.add_argument("--version", action="version", version=f"zaro {zaro.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in _COMMANDS:
        sub = commands.add_parser(
            command.name, help=command.help, description=command.help.capitalize() + "."
        )
        command.arguments(sub)
        sub.add_argument("--debug", action="store_true", help="show where in the code an error arose")
        sub.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; `sys.argv` where no `arguments` are given.

    Returns
    -------
    int
        0 where all went well, 1 after an error (one line on standard error), 130 after Ctrl-C.
        A command line that makes no sense ends the process with 2, as argparse does.
    """
    parser = _parser()
    options = parser.parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    if options.run is None:
        parser.print_help()
        return 0
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = options.run(options) or 0
        sys.stdout.flush()  # here, where it may fail: at exit Python would tell of it
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `zaro ls ... | head`: the reader has gone, and so do we
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # whatever it is, a shell wants one line of it
        if options.debug:
            raise
        print(f"zaro: {_one_line(error)}", file=sys.stderr)
        return 1


def _joined(arguments: Sequence[str]) -> list[str]:
    """Join `--select` and its selection, which argparse takes for an option if it begins with a minus."""
    found = list(arguments)
    if "--select" in found[:-1]:
        at = found.index("--select")
        found[at : at + 2] = [f"--select={found[at + 1]}"]
    return found


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"zaro: {shown(' '.join(str(message).split()))}", file=sys.stderr)


def _one_line(error: Exception) -> str:
    told = shown(" ".join(str(error).split()))
    expected = isinstance(error, zaro.ZaroError | OSError | ImportError | ValueError)
    return told if expected and told else f"{type(error).__name__}: {told} (--debug shows where)"
