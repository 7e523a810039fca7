import numpy as np
from numpy.typing import NDArray

class ShardGrid:
    def __init__(
        self,
        chunks: tuple[int, ...],
        shards: tuple[int, ...],
        runs: list[tuple[tuple[int, ...], tuple[int, ...]]],
    ) -> None: ...
    def place(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...

def group(shard: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]: ...
def locate(
    row: NDArray[np.int64],
    within: NDArray[np.int64],
    first: int,
    entries: NDArray[np.uint64],
    outer_file: NDArray[np.int32],
    outer_offset: NDArray[np.int64],
    outer_length: NDArray[np.int64],
    absent: int,
    file_id: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
) -> int | None: ...
