"""From files to reference sets: `scan`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from itertools import count

from zaro.cli.arguments import Command, Options, Parser, UsageError, json_object
from zaro.cli.progress import progress_bar
from zaro.shown import shown

__all__ = ["COMMANDS"]


def _scan_arguments(parser: Parser) -> None:
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
        "--inline", type=_natural, default=500, metavar="BYTES", help="hold smaller chunks in the set (500)"
    )
    parser.add_argument("--relative", action="store_true", help="name local files relative to the output")
    parser.add_argument(
        "--fingerprint",
        action="store_true",
        help="write down what the files are like, to tell if they change",
    )
    parser.add_argument("--jobs", type=_positive, metavar="N", help="processes (one for each core)")
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a dask cluster that scans instead")
    parser.add_argument("--allow-failures", action="store_true", help="write what could be scanned")
    parser.add_argument(
        "--storage-options", type=json_object, metavar="JSON", help="fsspec's options for the files"
    )


def _natural(words: str) -> int:
    """Read a whole number."""
    if not words.isdecimal():
        raise argparse.ArgumentTypeError(f"{words!r} is no whole number")
    return int(words)


def _positive(words: str) -> int:
    """Read a whole number above 0."""
    if _natural(words) == 0:
        raise argparse.ArgumentTypeError("0 are too few")
    return int(words)


def _coordinate(words: str) -> tuple[str, str]:
    name, equals, how = words.partition("=")
    if not (name and equals and how):
        raise argparse.ArgumentTypeError(f"{words!r} is not DIM=HOW")
    try:
        re.compile(how)
    except re.error as err:
        raise argparse.ArgumentTypeError(f"{words!r}: {err}") from None
    return name, how


def _scan(options: Options) -> int:
    from zaro.scan.many import expand, scan_many

    urls = expand(options.files, options.storage_options)
    if len(urls) > 1 and not (options.concat or options.merge or options.append):
        raise UsageError(f"{len(urls)} files: say how to join them, with --concat DIM or --merge")
    if options.append and len(options.concat or ()) != 1:
        raise UsageError("--append needs --concat DIM, one dimension of the set to join the files along")
    target = options.append or options.output
    folder = os.path.dirname(os.path.abspath(target))
    scanned = count(1)
    with progress_bar("scanning", "files") as progress:
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
        named = url in reason or os.path.abspath(url) in reason
        print(f"zaro: {shown(reason if named else f'{url}: {reason}')}", file=sys.stderr)
    if failures:
        print(f"zaro: {len(failures)} of {len(urls)} files failed", file=sys.stderr)
    return 1 if failures else 0


COMMANDS = (Command("scan", "make the reference set of existing files", _scan_arguments, _scan),)
