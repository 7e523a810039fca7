"""The installation itself: `demo`, `versions`."""

from __future__ import annotations

import json
from pathlib import Path

import zaro
from zaro.cli.arguments import Command, Options, Parser, UsageError, as_json
from zaro.versions import versions

__all__ = ["COMMANDS"]


def _demo_arguments(parser: Parser) -> None:
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the files here and leave them")
    parser.add_argument(
        "--months", type=int, default=12, choices=range(1, 13), metavar="N", help="files, 1 to 12 (12)"
    )


def _demo(options: Options) -> int:
    from zaro import demo

    missing = demo.missing_packages()
    if missing:
        raise UsageError(f"the demo needs {', '.join(missing)}: pip install 'zaro[demo]'")
    return 0 if demo.run(options.keep, months=options.months) else 1


def _versions_arguments(parser: Parser) -> None:
    as_json(parser)


def _versions(options: Options) -> None:
    if options.json:
        print(json.dumps(versions(), indent=2))
    else:
        zaro.show_versions()


COMMANDS = (
    Command(
        "demo", "write an archive, read it through references, check every value", _demo_arguments, _demo
    ),
    Command("versions", "versions, and who decodes what", _versions_arguments, _versions),
)
