from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

class Index:
    def __init__(
        self,
        chunks: int,
        start: int,
        varwise: bool,
        length: NDArray[np.int64],
        last: NDArray[np.int64],
        file: NDArray[np.int32],
        files: int,
        *,
        unique_id: NDArray[np.int64],
        unique_length: NDArray[np.int64],
        gap_id: NDArray[np.int64],
        gap: NDArray[np.int64],
        absent_id: NDArray[np.int64],
    ) -> None: ...
    @property
    def id(self) -> NDArray[np.int64]: ...
    @property
    def size(self) -> NDArray[np.int64]: ...
    @property
    def nbytes(self) -> int: ...
    def expand(self, first: int, count: int) -> Columns: ...
    def locate(self, variable: int, ids: NDArray[np.int64]) -> Columns: ...
    def find(self, variable: int, chunk: int) -> tuple[int, int, int]: ...
    def describe(self, flat: int) -> tuple[int, bool, bool]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
