"""zfp through the `zfpy` package, whose decoder trusts the header and reads on where the stream ends.

Source: the layout of the header is that of zfp 1.0, codec version 5 (`zfp_write_header`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.foreign import NumcodecsStep
from zaro.codecs.parts import Bytes, as_bytes
from zaro.errors import CorruptChunkError

__all__ = ["ZfpStep"]

_MAGIC = b"zfp\x05"
_LONG_MODE = 0xFFF
_TYPES = ("<i4", "<i8", "<f4", "<f8")


@dataclass(frozen=True)
class ZfpStep:
    """The decoder behind a header that promises what is expected, and before as many zeros as it may read."""

    step: NumcodecsStep

    @property
    def name(self) -> str:
        """The codec, as the document spells it."""
        return self.step.name

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        source = as_bytes(data, self.name, None)
        if source.size < 20 or source[:4].tobytes() != _MAGIC:
            raise CorruptChunkError(f"{self.name}: {source.size} stored bytes are no zfp stream of version 5")
        head = int.from_bytes(source[4:20].tobytes(), "little")
        dtype, ndim = np.dtype(_TYPES[head & 3]), (head >> 2 & 3) + 1
        width = 48 // ndim
        shape = [(head >> 4 + width * axis & (1 << width) - 1) + 1 for axis in range(ndim)]
        promised = math.prod(shape) * dtype.itemsize
        bound = nbytes if nbytes is not None else most
        if bound is not None and (promised > bound or (nbytes is not None and promised != nbytes)):
            raise CorruptChunkError(f"{self.name}: promises {promised} bytes, expected {bound}")
        beyond = math.prod(-(-n // 4) for n in shape) * self._block_nbytes(head >> 52, ndim, dtype.itemsize)
        padded = np.zeros(source.size + beyond, np.uint8)
        padded[: source.size] = source
        return self.step.decode(padded, nbytes, most)

    def _block_nbytes(self, mode: int, ndim: int, itemsize: int) -> int:
        """Bytes that the decoder may take for one block of 4^ndim values."""
        # a bit of each value and of each test for one, in every plane; or what a fixed rate says
        usual: int = max(2 * 4**ndim * 8 * itemsize + 128, 2048) // 8 + 1
        if mode & 0xFFF == _LONG_MODE and (mode >> 12 & 0x7FFF) // 8 >= usual:
            raise CorruptChunkError(f"{self.name}: its header asks for more bits than a block can have")
        return usual
