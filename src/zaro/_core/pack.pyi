from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Column = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]

class Counts(NamedTuple):
    unique: int
    gaps: int
    absent: int
    runs: int

class Lists(NamedTuple):
    start: int
    unique_id: NDArray[np.int64]
    unique_length: NDArray[np.int64]
    gap_id: NDArray[np.int64]
    gap: NDArray[np.int64]
    absent_id: NDArray[np.int64]
    last: NDArray[np.int64]
    file: NDArray[np.int32]

def modal(file: NDArray[np.int32], length: NDArray[np.int64]) -> int: ...
def count(columns: Sequence[Column], varwise: bool, length: NDArray[np.int64]) -> Counts: ...
def fill(columns: Sequence[Column], varwise: bool, length: NDArray[np.int64]) -> Lists: ...
