"""The table of a plain Zarr store: every chunk is a key of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from zaro._core.key import ArrayKeys
from zaro.metadata.keys import KeyEncoding
from zaro.references.table import WHOLE, Located, OneByOne
from zaro.stores.base import Store

__all__ = ["KeyTable"]


class _Keys(Sequence[str]):
    """The keys of some chunks, spelled when they are asked for."""

    def __init__(self, table: KeyTable, ids: NDArray[np.int64]) -> None:
        self._table, self._ids = table, ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> Sequence[str]: ...
    def __getitem__(self, k: int | slice) -> str | Sequence[str]:
        if isinstance(k, slice):
            return self._table.keys(self._ids[k])
        k = range(len(self._ids))[k]
        return self._table.keys(self._ids[k : k + 1])[0]


@dataclass(slots=True, eq=False)
class KeyTable(OneByOne):
    """Chunks by key below `prefix` of a store. Which exist is known only to the store."""

    store: Store
    prefix: str
    encoding: KeyEncoding
    grid: tuple[int, ...]
    _names: ArrayKeys = field(init=False, repr=False)

    def __post_init__(self) -> None:
        prefixed, separator = self.encoding.name == "default", self.encoding.separator
        self._names = ArrayKeys("", np.array(self.grid, np.int64), prefixed=prefixed, separator=separator)

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        return math.prod(self.grid)

    def keys(self, ids: NDArray[np.int64]) -> list[str]:
        """Keys of some chunks in the store."""
        return [self.prefix + name for name in self._names.keys(np.ascontiguousarray(ids))]

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Every chunk is the whole of a file named by its key, if there is one."""
        n = len(ids)
        whole = np.full(n, WHOLE, np.int64)
        return Located(
            np.arange(n, dtype=np.int32), np.zeros(n, np.int64), whole, _Keys(self, ids), store=self.store
        )

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that the store holds, ascending; lists the store."""
        found = [self.encoding.index(key, self.grid) for key in self._keys_below("")]
        strides = [math.prod(self.grid[d + 1 :]) for d in range(len(self.grid))]
        ids = [
            sum(i * s for i, s in zip(index, strides, strict=True)) for index in found if index is not None
        ]
        return np.array(sorted(ids), np.int64)

    def _keys_below(self, folder: str) -> Iterator[str]:
        """Keys that may be chunks, by walking only as deep as the encoding goes."""
        depth = 1
        if self.encoding.separator == "/":
            depth = max(len(self.grid), 1) + (1 if self.encoding.name == "default" and self.grid else 0)
        level = [folder]
        for _ in range(depth):
            below = []
            for prefix in level:
                names = self.store.names((self.prefix + prefix).rstrip("/"))
                below += [
                    f"{prefix}{name}/"
                    for name in names
                    if name == "c" or name[:1] == "c" or name[:1].isdigit()
                ]
            level = below
        return (name.rstrip("/") for name in level)
