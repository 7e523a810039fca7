from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEPS: tuple[str, ...]

def load(path: str | PathLike[str]) -> bool: ...
def providers() -> dict[str, str | None]: ...

class Chain:
    steps: tuple[tuple[str, dict[str, Any]], ...]
    def __init__(self, steps: Sequence[tuple[str, Mapping[str, Any]]] = ()) -> None: ...
    def __len__(self) -> int: ...
    def sizes(self, nbytes: int) -> tuple[int, int, bool]: ...
    def decode(
        self,
        data: bytes | bytearray | memoryview | NDArray[np.uint8],
        nbytes: int,
        decoder: Decoder | None = None,
    ) -> NDArray[np.uint8]: ...

class Decoder:
    def __init__(self) -> None: ...
