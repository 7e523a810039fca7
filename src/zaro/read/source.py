"""What reading one array needs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from zaro._core.read import PathTable
from zaro.codecs.chain import Chain
from zaro.metadata.model import ArrayMetadata
from zaro.plan.chunks import Plan, PointsPlan
from zaro.references.plain import KeyTable
from zaro.references.shard import ShardTable
from zaro.references.table import Table
from zaro.stores.local import LocalStore
from zaro.stores.targets import Targets

__all__ = ["Source"]

_FILE_TABLES = 4  # whose paths are kept


@dataclass(frozen=True, eq=False)
class Source:
    """All that reading one array needs: what it is, where its chunks lie, how they decode.

    `chain_for` makes the chain for chunks of a shape, where they have not all the same; the steps in C
    are those of `chain` for all.
    """

    node: str
    metadata: ArrayMetadata
    chain: Chain
    table: Table
    targets: Targets
    missing: Literal["fill", "warn", "raise"] = "fill"
    chain_for: Callable[[tuple[int, ...]], Chain] | None = None
    paths: deque[tuple[Sequence[str], PathTable]] = field(
        default_factory=partial(deque, maxlen=_FILE_TABLES), repr=False
    )

    def check_present(self) -> None:
        """See that the folder of a local array is there: else its chunks are lost, not absent.

        Raises
        ------
        StoreNotFoundError
        """
        table = self.table.shards if isinstance(self.table, ShardTable) else self.table
        if isinstance(table, KeyTable) and isinstance(table.store, LocalStore):
            table.store.check_present(table.prefix)

    def key(self, chunk: int) -> str:
        """Key of one chunk below the array, for messages; an inner chunk stands behind its shard's."""
        encoding = self.metadata.key_encoding
        if isinstance(self.table, ShardTable):
            shard, _ = self.table.place(np.array([chunk]))
            key = encoding.key(_index(int(shard[0]), self.table.shard_grid))
            return f"{key}, inner chunk {_index(chunk, self.metadata.grid)}"
        return encoding.key(_index(chunk, self.metadata.grid))

    def path_table(self, files: Sequence[str]) -> PathTable:
        """Paths of a table's files, kept from read to read for the last few file tables.

        A file table is known by itself, not by its address: one that a table makes for each look-up may
        come to lie where another one lay.
        """
        for of, known in self.paths.copy():  # tuple() would see another thread's append
            if of is files and known.n == len(files):
                return known
        made = PathTable(len(files))
        self.paths.append((files, made))
        return made

    def chain_of(self, plan: Plan | PointsPlan, task: int) -> Chain:
        """The chain that decodes the chunk of one task."""
        if self.chain_for is None or isinstance(plan, PointsPlan):
            return self.chain
        return self.chain_for(self.metadata.chunk_shape(plan.index(task)))


def _index(chunk: int, grid: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(chunk, grid)) if grid else ()
