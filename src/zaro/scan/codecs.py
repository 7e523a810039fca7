"""Codecs that formats need and numcodecs lacks; those with an id are registered, for all readers of Zarr."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numcodecs.abc import Codec
from numpy.typing import NDArray

__all__ = ["Grib", "Hdf5Shuffle", "PackBits", "TiffPredictor"]


class TiffPredictor(Codec):  # type: ignore[misc]
    """Differences along the rows of a TIFF segment.

    Parameters
    ----------
    predictor : int
        2 for differences of elements, 3 for those of the bytes of floats.
    dtype : str
        Of the elements, as NumPy spells it.
    width, samples : int
        Pixels of a row, and elements of a pixel.

    Notes
    -----
    libtiff, and GDAL with it, takes differences of a complex64 as of an integer of 64 bits. Only
    little-endian ones are decoded here: in the others, which part is real depends on the machine that wrote.
    Source: TIFF 6.0, section 14; Adobe Photoshop TIFF Technical Note 3; libtiff, `tif_predict.c`.
    """

    codec_id: ClassVar[str] = "zaro_tiff_predictor"

    def __init__(self, predictor: int, dtype: str, width: int, samples: int = 1) -> None:
        self.predictor, self.dtype, self.width, self.samples = predictor, dtype, width, samples
        if predictor not in (2, 3) or width < 1 or samples < 1:
            raise ValueError(f"predictor={predictor}, width={width}, samples={samples}")
        if np.dtype(dtype).kind not in "iuf" and (predictor, np.dtype(dtype)) != (2, np.dtype("<c8")):
            raise ValueError(f"elements are of type {dtype!r}, expected numbers")

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Sum up."""
        raw = np.frombuffer(buf, np.uint8)
        found = self._sum_elements(raw) if self.predictor == 2 else self._sum_bytes(raw)
        if out is None:
            return found
        np.copyto(np.frombuffer(out, np.uint8), found.reshape(-1).view(np.uint8))
        return out

    def encode(self, buf: Any) -> Any:
        """Take differences."""
        values = np.frombuffer(np.ascontiguousarray(buf), np.dtype(self.dtype))
        if self.predictor == 2:
            kind = self._integers()
            rows = values.view(kind).astype(kind.newbyteorder("=")).reshape(-1, self.width, self.samples)
            rows[:, 1:] -= rows[:, :-1].copy()
            return rows.astype(kind).reshape(-1).view(np.uint8)
        size = np.dtype(self.dtype).itemsize
        planes = values.astype(values.dtype.newbyteorder(">")).view(np.uint8)
        planes = planes.reshape(-1, self.width * self.samples, size).transpose(0, 2, 1)
        rows = np.ascontiguousarray(planes).reshape(-1, self.width * size, self.samples)
        rows[:, 1:] -= rows[:, :-1].copy()
        return rows.reshape(-1)

    def _integers(self) -> np.dtype[Any]:
        dtype = np.dtype(self.dtype)
        return np.dtype(f"u{dtype.itemsize}").newbyteorder(dtype.byteorder)

    def _sum_elements(self, raw: Any) -> Any:
        kind = self._integers()
        rows = raw.view(kind).astype(kind.newbyteorder("=")).reshape(-1, self.width, self.samples)
        return np.cumsum(rows, axis=1, dtype=rows.dtype).astype(kind).reshape(-1).view(np.dtype(self.dtype))

    def _sum_bytes(self, raw: Any) -> Any:
        dtype = np.dtype(self.dtype)
        rows = raw.reshape(-1, self.width * dtype.itemsize, self.samples)
        planes = np.cumsum(rows, axis=1, dtype=np.uint8).reshape(
            -1, dtype.itemsize, self.width * self.samples
        )
        big = np.ascontiguousarray(planes.transpose(0, 2, 1)).reshape(-1).view(dtype.newbyteorder(">"))
        return big.astype(dtype)


class Grib(Codec):  # type: ignore[misc]
    """One field of a GRIB message, decoded by ecCodes to doubles; what is missing is NaN.

    Parameters
    ----------
    field : int
        Which of the fields of the message, from 0.
    """

    codec_id: ClassVar[str] = "zaro_grib"

    def __init__(self, field: int = 0) -> None:
        if type(field) is not int or field < 0:
            raise ValueError(f"field={field!r}")
        self.field = field

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Decode the values."""
        from zaro.scan.gribfile import field_values

        found = field_values(bytes(buf), self.field)
        if out is None:
            return found
        np.copyto(np.frombuffer(out, np.float64), found)
        return out

    def encode(self, buf: Any) -> Any:
        """Not possible: a message says much that an array does not."""
        raise NotImplementedError("zaro_grib only decodes")


class PackBits(Codec):  # type: ignore[misc]
    """Apple's run lengths of bytes, as TIFF has them (not numcodecs' `packbits`, which packs booleans)."""

    codec_id: ClassVar[str] = "zaro_packbits"

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Unpack the runs."""
        found = self.decode_within(buf, 128 * len(bytes(buf)))
        if out is None:
            return found
        np.copyto(np.frombuffer(out, np.uint8), np.frombuffer(found, np.uint8))
        return out

    def decode_within(self, buf: Any, most: int) -> bytes:
        """Unpack the runs, to at most so many bytes.

        Raises
        ------
        ValueError
            There are more.
        """
        data, found, at = bytes(buf), bytearray(), 0
        while at < len(data):
            head = data[at]
            at += 1
            if head < 128:
                found += data[at : at + head + 1]
                at += head + 1
            elif head > 128:
                found += data[at : at + 1] * (257 - head)
                at += 1
            if len(found) > most:
                raise ValueError(f"decodes to more than {most} bytes")
        return bytes(found)

    def encode(self, buf: Any) -> Any:
        """Pack nothing: runs of up to 128 bytes as they are."""
        data = np.ascontiguousarray(buf).tobytes()
        return b"".join(
            bytes([len(data[k : k + 128]) - 1]) + data[k : k + 128] for k in range(0, len(data), 128)
        )


class Hdf5Shuffle:
    """The codec `shuffle` as HDF5 has it: bytes behind the last whole element, as of a checksum, stay there.

    numcodecs' own refuses them.
    """

    def __init__(self, elementsize: int) -> None:
        self.elementsize = elementsize

    def encode(self, buf: Any) -> NDArray[np.uint8]:
        """Put the first bytes of all elements first."""
        whole, rest = self._parts(buf)
        return np.append(whole.reshape(-1, self.elementsize).T, rest)

    def decode(self, buf: Any) -> NDArray[np.uint8]:
        """Put the bytes of each element together."""
        whole, rest = self._parts(buf)
        return np.append(whole.reshape(self.elementsize, -1).T, rest)

    def _parts(self, buf: Any) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        raw = np.frombuffer(buf, np.uint8)
        end = len(raw) - len(raw) % self.elementsize
        return raw[:end], raw[end:]
