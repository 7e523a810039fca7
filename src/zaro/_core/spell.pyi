import numpy as np
from numpy.typing import NDArray

def rows(
    out: bytearray,
    path: bytes,
    grid: NDArray[np.int64],
    files: bytes,
    file_end: NDArray[np.int64],
    ids: NDArray[np.int64],
    file: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
    *,
    prefixed: bool,
    separator: str,
    start: int = 0,
) -> tuple[int, int]: ...
