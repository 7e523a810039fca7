from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

class ArrayKeys:
    path: str
    nchunks: int
    def __init__(self, path: str, grid: NDArray[np.int64], *, prefixed: bool, separator: str) -> None: ...
    def id(self, name: str) -> int | None: ...
    def keys(self, ids: NDArray[np.int64]) -> list[str]: ...

class Source: ...

class Columns(Source):
    def __init__(
        self,
        keys: ArrayKeys,
        file: NDArray[np.int32],
        offset: NDArray[np.int64],
        length: NDArray[np.int64],
        files: Sequence[str],
        inline: Any,
        ids: NDArray[np.int64] | None = None,
    ) -> None: ...
    def at(self, chunk: int) -> list[str | int] | bytes | None: ...

class Pages(Source):
    def __init__(
        self, size: int, near: dict[int, Columns], far: Callable[[int], list[str | int] | bytes | None]
    ) -> None: ...
    def at(self, chunk: int) -> list[str | int] | bytes | None: ...

class KeyIndex:
    def __init__(
        self,
        arrays: dict[str, ArrayKeys],
        columns: dict[str, Source],
        other: Callable[[str, int], list[str | int] | bytes | None],
    ) -> None: ...
    def chunk(self, key: str) -> tuple[str, int] | None: ...
    def reference(self, key: str) -> list[str | int] | bytes | None: ...
