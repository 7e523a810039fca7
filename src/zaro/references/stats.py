"""How much does a table hold? Counts for people and for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypedDict

import numpy as np

from zaro.errors import ReferenceSetError
from zaro.references.contents import Contents
from zaro.references.generator import GeneratorTable
from zaro.references.pack import pack
from zaro.references.table import ABSENT, INLINE, WHOLE, Table, batches
from zaro.references.writing import Progress

__all__ = ["ArrayStats", "stats"]

BATCH = 1 << 20  # chunks located at a time
PACKED = 1 << 25  # chunks that are worth packing to see how regular they are


class ArrayStats(TypedDict):
    """Counts of one array.

    `bytes` leaves out whole files, whose size no set knows. `gfactor` is the share of regular chunks
    in the generator that holds the array, or would hold it; None where none would.
    """

    chunks: int
    present: int
    absent: int
    inline: int
    bytes: int
    files: int
    gfactor: float | None


def stats(contents: Contents, progress: Progress | None = None) -> dict[str, ArrayStats]:
    """Count what the tables of a set hold, by path; linear in their chunks, in bounded memory."""
    regular = _gfactors(contents)
    total = sum(table.nchunks for table in contents.tables.values())
    done, found = 0, {}
    for path, table in contents.tables.items():

        def counted(chunks: int, before: int = done) -> None:
            if progress is not None:
                progress(before + chunks, total)

        found[path] = _count(table, regular.get(path), counted)
        done += table.nchunks
    return found


def _count(table: Table, gfactor: float | None, counted: Callable[[int], None]) -> ArrayStats:
    present = inline = nbytes = 0
    files: set[int] = set()
    for ids in batches(table, BATCH):
        found = table.locate(ids)
        present += int(np.count_nonzero(found.file_id != ABSENT))
        inline += int(np.count_nonzero(found.file_id == INLINE))
        nbytes += int(found.length[(found.file_id != ABSENT) & (found.length != WHOLE)].sum())
        files.update(np.unique(found.file_id[found.file_id >= 0]).tolist())
        counted(int(ids[-1]) + 1)
    absent = table.nchunks - present
    return ArrayStats(
        chunks=table.nchunks,
        present=present,
        absent=absent,
        inline=inline,
        bytes=nbytes,
        files=len(files),
        gfactor=gfactor,
    )


def _gfactors(contents: Contents) -> dict[str, float]:
    """How regular the chunks of each array are, by path."""
    tables = contents.tables
    known = {path: table for path, table in tables.items() if isinstance(table, GeneratorTable)}
    found = {path: table.generator.gfactor for path, table in known.items()}
    others = {path: table for path, table in tables.items() if path not in known}
    if sum(table.nchunks for table in others.values()) > PACKED:
        return found
    try:
        packed = pack(Contents(tables=others, layouts=contents.layouts))
    except ReferenceSetError:  # spans that no generator can say
        return found
    return found | {path: one.gfactor for one in packed for path in one.variables}
