"""Elements without a fixed size: text, bytes and other objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.members import Members

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["OBJECTS"]

OBJECTS: dict[str, Callable[[Members, np.dtype[Any], int], Callable[[Buffer], NDArray[Any]]]] = {}
