"""Where the chunks of a plan lie, and which of them only fsspec reaches."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from zaro.errors import ChunkError
from zaro.plan.chunks import Plan, PointsPlan
from zaro.read.source import Source
from zaro.references.table import Located
from zaro.stores.remote import FsspecStore

__all__ = ["away_from_here", "locate", "rows_of"]


def locate(source: Source, plan: Plan | PointsPlan) -> Located:
    """Find the chunks of all tasks."""
    try:
        return source.table.locate(plan.ids())
    except ChunkError as err:
        err.node = err.node or source.node
        raise


def away_from_here(source: Source, located: Located) -> NDArray[np.bool_]:
    """Which chunks lie where only fsspec reaches."""
    if located.store is not None:
        return (located.file_id >= 0) & isinstance(located.store, FsspecStore)
    known = source.path_table(located.files)
    unset = known.unset(located.file_id)
    elsewhere = [k for k in unset if source.targets.local_path(located.files[k]) is None]
    return np.isin(located.file_id, elsewhere) if elsewhere else np.zeros(len(located.file_id), np.bool_)


def rows_of(located: Located, mask: NDArray[np.bool_] | NDArray[np.int64]) -> Located:
    """Pick some rows of located chunks."""
    return Located(
        located.file_id[mask],
        located.offset[mask],
        located.length[mask],
        located.files,
        located.inline,
        located.store,
    )
