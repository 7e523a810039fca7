from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core.codec import Chain

class PathTable:
    n: int
    def __init__(self, n: int) -> None: ...
    def set(self, k: int, path: bytes) -> None: ...
    def unset(self, file_id: NDArray[np.int32]) -> list[int]: ...

class Worker:
    nbytes: int
    def __init__(self) -> None: ...

class Read:
    n_task: int
    def __init__(
        self,
        axes: list[tuple[Any, ...]],
        order: tuple[int, ...],
        itemsize: int,
        out: NDArray[Any],
        fill: bytes,
        chain: Chain,
        absent_is_error: bool = False,
        points: tuple[Any, ...] | None = None,
    ) -> None: ...
    def from_keys(self, root: int, prefix: bytes, separator: str) -> None: ...
    def from_files(
        self,
        file_id: NDArray[np.int32],
        offset: NDArray[np.int64],
        length: NDArray[np.int64],
        paths: PathTable,
        inlined: NDArray[np.uint8] | None = None,
        tasks: NDArray[np.int64] | None = None,
    ) -> None: ...
    def from_memory(
        self, buffers: Sequence[bytes | bytearray | memoryview | None], tasks: NDArray[np.int64] | None = None
    ) -> None: ...
    def run(self, worker: Worker) -> None: ...
    def stop(self) -> None: ...
    @property
    def stored_most(self) -> int: ...
    @property
    def absent(self) -> int: ...
    @property
    def error(self) -> tuple[int, int, int, int, int] | None: ...
