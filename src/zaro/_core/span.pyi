import numpy as np
from numpy.typing import NDArray

def merge(
    file_id: NDArray[np.int32],
    offset: NDArray[np.int64],
    length: NDArray[np.int64],
    gap: int,
    cap: int,
    order: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None: ...
