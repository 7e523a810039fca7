"""Reference sets: `convert`, `stats`, `explain`, `verify`, `plot`."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import zaro
from zaro.cli.arguments import Command, Options, Parser, as_json, json_object, library_options, reads_target
from zaro.cli.progress import progress_bar
from zaro.report import count_of
from zaro.shown import shown

__all__ = ["COMMANDS"]


def _convert_arguments(parser: Parser) -> None:
    reads_target(parser, "a reference set")
    parser.add_argument(
        "output",
        help="refs.json, refs.json.gz, refs.json.zst or refs.parquet",
    )
    parser.add_argument(
        "--format",
        choices=("json", "parquet", "generator"),
        help="spelling of the output (what its name says; generators are JSON, so they must be asked for)",
    )
    parser.add_argument(
        "--compact", action="store_true", help="generators with compact lists, which only zaro reads"
    )
    parser.add_argument("--record-size", type=int, metavar="ROWS", help="rows of a Parquet file (100000)")
    parser.add_argument(
        "--output-options", type=json_object, metavar="JSON", help="fsspec's options for the output"
    )


def _convert(options: Options) -> None:
    refs = zaro.References.open(options.target, **library_options(options))
    how = {"storage_options": options.output_options, "record_size": options.record_size}
    if options.compact:
        options.format = options.format or "generator"
        how["compact"] = True
    with progress_bar("writing", "chunks") as progress:
        given = {name: value for name, value in how.items() if value is not None}
        refs.save(options.output, options.format, progress=progress, **given)
    print(f"{options.output}: {count_of(len(refs.arrays), 'array')}, {_nbytes_of(options.output)}")


def _nbytes_of(written: str) -> str:
    if not os.path.exists(written):
        return "written"
    files = [os.path.join(at, name) for at, _, names in os.walk(written) for name in names] or [written]
    return f"{sum(map(os.path.getsize, files)):,} bytes"


def _stats_arguments(parser: Parser) -> None:
    reads_target(parser, "a reference set")
    as_json(parser)


def _stats(options: Options) -> None:
    refs = zaro.References.open(options.target, **library_options(options))
    with progress_bar("counting", "chunks") as progress:
        found = refs.stats(progress=progress)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    names = ("chunks", "present", "absent", "inline", "bytes", "files", "gfactor")
    rows: list[Sequence[str]] = [("array", *names)]
    rows += [
        (shown(path) or "/", *(_number(counts.get(name)) for name in names)) for path, counts in found.items()
    ]
    print(_aligned(rows))


def _number(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns: the first to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def _explain_arguments(parser: Parser) -> None:
    reads_target(parser, "a reference set")
    parser.add_argument("keys", nargs="+", metavar="KEY", help="as the set spells it: sst/0.5.3")


def _explain(options: Options) -> int:
    refs = zaro.References.open(options.target, **library_options(options))
    for key in options.keys:
        print(shown(refs.explain(key)))
    return 0 if all(key in refs for key in options.keys) else 1


def _verify_arguments(parser: Parser) -> None:
    reads_target(parser, "a reference set")
    parser.add_argument("--read", action="store_true", help="decode every chunk as well")
    as_json(parser)


def _verify(options: Options) -> int:
    from zaro.scan.verify import verify

    refs = zaro.References.open(options.target, changed="ignore", **library_options(options))
    found = verify(refs, read=options.read)
    if options.json:
        print(json.dumps([{"array": f.array, "file": f.file, "problem": f.problem} for f in found], indent=2))
    else:
        for finding in found:
            print(shown(str(finding)))
        print(f"{count_of(len(found), 'problem')} in {count_of(len(refs.arrays), 'array')}")
    return 1 if found else 0


def _plot_arguments(parser: Parser) -> None:
    reads_target(parser, "a reference set")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="FILE",
        help="a .png or .svg picture, or a .html page",
    )
    parser.add_argument(
        "--array",
        action="append",
        dest="arrays",
        metavar="PATH",
        help="draw this one; may be given again (all)",
    )
    parser.add_argument("--theme", choices=("light", "dark"), default="light", help="of a picture (light)")


def _plot(options: Options) -> None:
    from zaro.plot import plot

    refs = zaro.References.open(options.target, **library_options(options))
    plot(refs, options.output, arrays=options.arrays, theme=options.theme)
    print(options.output)


COMMANDS = (
    Command("convert", "write a reference set in another form", _convert_arguments, _convert),
    Command("stats", "what the arrays of a reference set hold, counted", _stats_arguments, _stats),
    Command("explain", "where keys of a reference set lead", _explain_arguments, _explain),
    Command("verify", "whether the files of a reference set are as it says", _verify_arguments, _verify),
    Command("plot", "a picture or a page of what a reference set holds", _plot_arguments, _plot),
)
