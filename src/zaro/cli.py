"""The command `zaro`: what a shell needs of the library, and nothing but translation.

Each command is one function and one row of `_COMMANDS`; a command that reads a target takes the
options of the library (`--storage-options` and its kin) by `_reads_target`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import zaro
from zaro import report
from zaro.versions import versions

__all__ = ["main", "parse_selection"]

_Parser = argparse.ArgumentParser
_Options = argparse.Namespace


class _UsageError(zaro.ZaroError, ValueError):
    """What was typed cannot be meant."""


# ---- what is typed ----------------------------------------------------------------------------


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
        raise _UsageError(f"--select {words!r}: {part!r} is not an integer, a slice or '...'") from None
    if len(numbers) == 1 and numbers[0] is not None:
        return numbers[0]
    if len(numbers) not in (2, 3):
        raise _UsageError(f"--select {words!r}: {part!r} is not an integer, a slice or '...'")
    return slice(*numbers)


def _json_object(words: str) -> dict[str, Any]:
    try:
        value = json.loads(words)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{words!r} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{words!r} is not a JSON object")
    return value


def _reads_target(parser: _Parser) -> None:
    parser.add_argument("target", help="path or URL of a Zarr store or a reference set")
    how = parser.add_argument_group("how to reach it")
    how.add_argument(
        "--storage-options", type=_json_object, metavar="JSON", help="fsspec's options for the target"
    )
    how.add_argument("--remote-protocol", metavar="NAME", help="protocol of references that spell none")
    how.add_argument(
        "--remote-options",
        type=_json_object,
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


def _library_options(options: _Options) -> dict[str, Any]:
    """The options of the library that were typed."""
    given = {name: getattr(options, name) for name in _LIBRARY_OPTIONS}
    return {name: value for name, value in given.items() if value is not None}


def _path(parser: _Parser) -> None:
    parser.add_argument("path", nargs="?", default="", help="array or group within the target (its root)")


def _as_json(parser: _Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for a program to read")


# ---- the commands -----------------------------------------------------------------------------


def _info_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    _path(parser)
    _as_json(parser)


def _info(options: _Options) -> None:
    node = zaro.open(options.target, options.path, **_library_options(options))
    print(json.dumps(report.describe(node), indent=2) if options.json else report.text(node))


def _ls_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    _as_json(parser)


def _ls(options: _Options) -> None:
    nodes = zaro.list(options.target, **_library_options(options))
    if options.json:
        print(json.dumps(nodes, indent=2))
        return
    for path, kind in nodes.items():
        print(f"{kind}  {path}")


def _read_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    _path(parser)
    parser.add_argument(
        "--select", default="", metavar="SELECTION", help="as NumPy: '0, 500:600, ::2' (everything)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write a .npy file instead of printing"
    )
    _as_json(parser)


def _read(options: _Options) -> None:
    selection = parse_selection(options.select)
    block = zaro.read(options.target, options.path, selection, **_library_options(options))
    if options.output:
        _save(options.output, block)
        print(f"{options.output}: {block.dtype} {block.shape}")
    elif options.json:
        print(json.dumps(report.plain(block.tolist())))
    else:
        print(block)


def _save(file: Path, block: np.ndarray[Any, Any]) -> None:
    """Write beside the file and rename: a reader never sees half of it."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with aside.open("wb") as handle:
            np.save(handle, block, allow_pickle=False)
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


def _demo_arguments(parser: _Parser) -> None:
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the files here and leave them")
    parser.add_argument(
        "--months", type=int, default=12, choices=range(1, 13), metavar="N", help="files, 1 to 12 (12)"
    )


def _demo(options: _Options) -> int:
    from zaro import demo

    missing = demo.missing_packages()
    if missing:
        raise _UsageError(f"the demo needs {', '.join(missing)}: pip install 'zaro[demo]'")
    return 0 if demo.run(options.keep, months=options.months) else 1


def _versions_arguments(parser: _Parser) -> None:
    _as_json(parser)


def _versions(options: _Options) -> None:
    if options.json:
        print(json.dumps(versions(), indent=2))
    else:
        zaro.show_versions()


def _scan_arguments(parser: _Parser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="paths, URLs or patterns in quotes: 'data/*.nc'"
    )
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", "--output", metavar="TARGET", help="refs.json or refs.parquet")
    where.add_argument(
        "--append", metavar="TARGET", help="a set that is there, which grows along --concat DIM"
    )
    joining = parser.add_mutually_exclusive_group()
    joining.add_argument("--concat", action="append", metavar="DIM", help="join along it; may be given again")
    joining.add_argument("--merge", action="store_true", help="put the variables of the files side by side")
    parser.add_argument(
        "--coord",
        type=_coordinate,
        action="append",
        default=[],
        metavar="DIM=HOW",
        help="'time' decodes units that differ; else a regular expression of the file's name",
    )
    parser.add_argument("--sort", action="store_true", help="put the files in the order of their coordinates")
    parser.add_argument(
        "--skip", action="append", default=[], metavar="NAME", help="leave out a variable or group"
    )
    parser.add_argument(
        "--inline", type=int, default=500, metavar="BYTES", help="hold smaller chunks in the set (500)"
    )
    parser.add_argument("--relative", action="store_true", help="name local files relative to the output")
    parser.add_argument(
        "--fingerprint",
        action="store_true",
        help="write down what the files are like, to tell if they change",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (one for each core)")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a dask cluster that scans instead")
    parser.add_argument("--allow-failures", action="store_true", help="write what could be scanned")
    parser.add_argument(
        "--storage-options", type=_json_object, metavar="JSON", help="fsspec's options for the files"
    )


def _coordinate(words: str) -> tuple[str, str]:
    name, equals, how = words.partition("=")
    if not (name and equals and how):
        raise argparse.ArgumentTypeError(f"{words!r} is not DIM=HOW")
    return name, how


def _scan(options: _Options) -> int:
    from zaro.scan.many import expand, scan_many

    urls = expand(options.files, options.storage_options)
    if len(urls) > 1 and not (options.concat or options.merge or options.append):
        raise _UsageError(f"{len(urls)} files: say how to join them, with --concat DIM or --merge")
    if options.append and len(options.concat or ()) != 1:
        raise _UsageError("--append needs --concat DIM, one dimension of the set to join the files along")
    target = options.append or options.output
    folder = os.path.dirname(os.path.abspath(target))
    scanned = count(1)
    with _progress("scanning", "files") as progress:
        failures = scan_many(
            urls,
            target,
            dims=options.concat,
            behind=bool(options.append),
            coords=dict(options.coord),
            sort=options.sort,
            jobs=options.jobs,
            dask=options.dask,
            allow_failures=options.allow_failures,
            done=lambda: progress(next(scanned), len(urls)),
            skip=options.skip,
            fingerprint=options.fingerprint,
            inline_threshold=options.inline,
            relative_to=folder if options.relative else None,
            storage_options=options.storage_options,
        )
    for url, reason in failures.items():
        print(f"zaro: {reason if url in reason else f'{url}: {reason}'}", file=sys.stderr)
    if failures:
        print(f"zaro: {len(failures)} of {len(urls)} files failed", file=sys.stderr)
    return 1 if failures else 0


def _convert_arguments(parser: _Parser) -> None:
    _reads_target(parser)
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
        "--output-options", type=_json_object, metavar="JSON", help="fsspec's options for the output"
    )


def _convert(options: _Options) -> None:
    refs = zaro.References.open(options.target, **_library_options(options))
    how = {"storage_options": options.output_options, "record_size": options.record_size}
    if options.compact:
        options.format = options.format or "generator"
        how["compact"] = True
    with _progress("writing", "chunks") as progress:
        given = {name: value for name, value in how.items() if value is not None}
        refs.save(options.output, options.format, progress=progress, **given)
    print(f"{options.output}: {len(refs.arrays)} arrays, {_nbytes_of(options.output)}")


def _nbytes_of(written: str) -> str:
    if not os.path.exists(written):
        return "written"
    files = [os.path.join(at, name) for at, _, names in os.walk(written) for name in names] or [written]
    return f"{sum(map(os.path.getsize, files)):,} bytes"


def _stats_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    _as_json(parser)


def _stats(options: _Options) -> None:
    refs = zaro.References.open(options.target, **_library_options(options))
    with _progress("counting", "chunks") as progress:
        found = refs.stats(progress=progress)
    if options.json:
        print(json.dumps(found, indent=2))
        return
    names = ("chunks", "present", "absent", "inline", "bytes", "files", "gfactor")
    rows: list[Sequence[str]] = [("array", *names)]
    rows += [(path or "/", *(_number(counts.get(name)) for name in names)) for path, counts in found.items()]
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


def _explain_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    parser.add_argument("keys", nargs="+", metavar="KEY", help="as the set spells it: sst/0.5.3")


def _explain(options: _Options) -> int:
    refs = zaro.References.open(options.target, **_library_options(options))
    for key in options.keys:
        print(refs.explain(key))
    return 0 if all(key in refs for key in options.keys) else 1


def _verify_arguments(parser: _Parser) -> None:
    _reads_target(parser)
    parser.add_argument("--read", action="store_true", help="decode every chunk as well")
    _as_json(parser)


def _verify(options: _Options) -> int:
    from zaro.scan.verify import verify

    refs = zaro.References.open(options.target, changed="ignore", **_library_options(options))
    found = verify(refs, read=options.read)
    if options.json:
        print(json.dumps([{"array": f.array, "file": f.file, "problem": f.problem} for f in found], indent=2))
    else:
        for finding in found:
            print(finding)
        print(f"{len(found)} problems in {len(refs.arrays)} arrays")
    return 1 if found else 0


def _plot_arguments(parser: _Parser) -> None:
    _reads_target(parser)
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


def _plot(options: _Options) -> None:
    from zaro.plot import plot

    refs = zaro.References.open(options.target, **_library_options(options))
    plot(refs, options.output, arrays=options.arrays, theme=options.theme)
    print(options.output)


@contextmanager
def _progress(doing: str, unit: str) -> Iterator[Callable[[int, int], None]]:
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


@dataclass(frozen=True)
class _Command:
    name: str
    help: str
    arguments: Callable[[_Parser], None]
    run: Callable[[_Options], int | None]


_COMMANDS = (
    _Command("info", "what an array or a group is", _info_arguments, _info),
    _Command("ls", "every array and group of a target", _ls_arguments, _ls),
    _Command("read", "values of an array, printed or written to a .npy file", _read_arguments, _read),
    _Command("scan", "make the reference set of existing files", _scan_arguments, _scan),
    _Command("convert", "write a reference set in another form", _convert_arguments, _convert),
    _Command("stats", "what the arrays of a reference set hold, counted", _stats_arguments, _stats),
    _Command("explain", "where keys of a reference set lead", _explain_arguments, _explain),
    _Command("verify", "whether the files of a reference set are as it says", _verify_arguments, _verify),
    _Command("plot", "a picture or a page of what a reference set holds", _plot_arguments, _plot),
    _Command(
        "demo", "write an archive, read it through references, check every value", _demo_arguments, _demo
    ),
    _Command("versions", "versions, and who decodes what", _versions_arguments, _versions),
)


# ---- running ----------------------------------------------------------------------------------


def _parser() -> _Parser:
    parser = _Parser(prog="zaro", description="Reads Zarr stores and reference sets.")
    parser.set_defaults(run=None)
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
    options = parser.parse_args(arguments)
    if options.run is None:
        parser.print_help()
        return 0
    try:
        return options.run(options) or 0
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


def _one_line(error: Exception) -> str:
    told = " ".join(str(error).split())
    expected = isinstance(error, zaro.ZaroError | OSError | ImportError | ValueError)
    return told if expected and told else f"{type(error).__name__}: {told} (--debug shows where)"


def _exit() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    _exit()
