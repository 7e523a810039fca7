"""Filters of HDF5 that no other codec decodes: HDF5 decodes them itself, in a file that lies in memory."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numcodecs.abc import Codec

__all__ = ["Hdf5Filter", "config_of", "filter_lacks"]

KEPT = 256
"""Chunks that one file in memory takes before a new one follows it, so that it stays small."""
BITSHUFFLE = 32008
SCALEOFFSET = 6
_PLUGINS = {32004: "lz4", 32008: "bitshuffle", 32013: "zfp", 32017: "sz", 32024: "sz3", 32026: "blosc2"}


def filter_lacks(code: int) -> str | None:
    """What is missing for HDF5 to decode a filter; None where nothing is.

    Filters that are no part of HDF5 come with the package hdf5plugin.
    """
    import h5py

    if h5py.h5z.filter_avail(code):
        return None
    try:
        import hdf5plugin  # noqa: F401 - registers its filters
    except ImportError:
        return "needs the package hdf5plugin: pip install 'zaro[codecs]'"
    return None if h5py.h5z.filter_avail(code) else "hdf5plugin has none either"


class Hdf5Filter(Codec):  # type: ignore[misc]
    """One filter of HDF5, for chunks of one shape and type.

    Parameters
    ----------
    code : int
        Its number, as the HDF Group registers them.
    values : sequence of int
        Its parameters, as the file has them.
    dtype : str
        Of the elements, as NumPy spells it.
    chunks : sequence of int
        Shape of a chunk.

    optional : bool
        Some chunks are stored without the filter, since it would gain nothing: those that are as long as
        their values are. A filtered one never has this length then.

    Raises
    ------
    TypeError, ValueError
        One of them is none: they come from a document.

    Notes
    -----
    HDF5 does one thing at a time, in whichever thread: it is its speed that counts, not the number of cores.
    """

    codec_id: ClassVar[str] = "zaro_hdf5"

    def __init__(
        self, code: int, values: Sequence[int], dtype: str, chunks: Sequence[int], optional: bool = False
    ) -> None:
        self.optional = optional
        self.code, self.values, self.dtype, self.chunks = code, list(values), dtype, list(chunks)
        if not is_number(np.dtype(dtype)):  # HDF5 would fill an array of objects with addresses from the file
            raise ValueError(f"elements are of type {dtype!r}, expected numbers")
        if any(type(size) is not int or size < 1 for size in self.chunks) or not self.chunks:
            raise ValueError(f"chunks are {self.chunks}, expected sizes")
        self._local = threading.local()

    def get_config(self) -> dict[str, Any]:
        """The configuration, without what belongs to a thread."""
        members = ("code", "values", "dtype", "chunks", "optional")
        return {"id": self.codec_id, **{name: getattr(self, name) for name in members}}

    def __reduce__(self) -> tuple[Any, ...]:
        return Hdf5Filter, (self.code, self.values, self.dtype, self.chunks, self.optional)

    def decode_within(self, buf: Any, most: int) -> Any:
        """Decode one chunk, if it has at most so many bytes.

        Raises
        ------
        ValueError
            It has more, or cannot be decoded.
        """
        nbytes = math.prod(self.chunks) * np.dtype(self.dtype).itemsize
        if nbytes > most:
            raise ValueError(f"decodes to {nbytes} bytes, expected {most} at most")
        return self.decode(buf)

    def decode(self, buf: Any, out: Any = None) -> Any:
        """Decode one chunk.

        Raises
        ------
        ValueError
            HDF5 cannot decode it, or lacks the filter.
        """
        stored, found = bytes(buf), np.zeros(self.chunks, self.dtype)
        if self.optional and len(stored) == found.nbytes:
            found = np.frombuffer(stored, self.dtype).reshape(self.chunks)
        else:
            self._decode(stored, found)
        if out is None:
            return found
        np.copyto(np.frombuffer(out, np.uint8), found.reshape(-1).view(np.uint8))
        return out

    def _decode(self, stored: bytes, found: np.ndarray[Any, Any]) -> None:
        dataset = self._dataset()
        try:
            dataset.write_direct_chunk((0,) * len(self.chunks), stored, 0)
            dataset.read(_everything(), _everything(), found)
        except (OSError, RuntimeError) as err:
            raise ValueError(f"HDF5 filter {self.code} cannot decode {len(stored)} bytes: {err}") from err

    def encode(self, buf: Any) -> bytes:
        """Encode one chunk."""
        dataset = self._dataset()
        block = np.frombuffer(np.ascontiguousarray(buf), self.dtype).reshape(self.chunks)
        dataset.write(_everything(), _everything(), np.ascontiguousarray(block))
        mask, stored = dataset.read_direct_chunk((0,) * len(self.chunks))
        if self.optional:
            return block.tobytes() if mask or len(stored) == block.nbytes else bytes(stored)
        if mask:
            raise ValueError(f"HDF5 left out its filter {self.code}")
        return bytes(stored)

    def _dataset(self) -> Any:
        """A dataset of one chunk, of this thread alone."""
        local = self._local
        if getattr(local, "left", 0) < 1:
            if hasattr(local, "file"):
                local.file.close()
            local.file, local.dataset = self._make()
            local.left = KEPT
        local.left -= 1
        return local.dataset

    def _make(self) -> tuple[Any, Any]:
        import h5py

        lacks = filter_lacks(self.code)
        if lacks is not None:
            name = _PLUGINS.get(self.code, "of nobody that zaro knows")
            raise ValueError(f"no decoder for HDF5 filter {self.code}, {name}: {lacks}")
        file = h5py.File.in_memory() if hasattr(h5py.File, "in_memory") else _in_memory()
        space = h5py.h5s.create_simple(tuple(self.chunks))
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk(tuple(self.chunks))
        # bitshuffle puts its version and the size of the elements before what it is given
        values = self.values[3:] if self.code == BITSHUFFLE else self.values
        if self.code == SCALEOFFSET:  # what equals the fill value is not packed as the rest is
            plist.set_fill_value(_scaleoffset_fill(self.values, np.dtype(self.dtype)))
        plist.set_filter(self.code, h5py.h5z.FLAG_OPTIONAL, tuple(values))
        access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
        access.set_chunk_cache(1, 0, 1.0)
        kind = h5py.h5t.py_create(np.dtype(self.dtype))
        dataset = h5py.h5d.create(file.id, b"chunk", kind, space, plist, dapl=access)
        return file, dataset


def _scaleoffset_fill(values: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The fill value that the parameters of scaleoffset tell: numbers of 32 bits, lowest first."""
    raw = np.array(values[8:], "<u4").tobytes()[: dtype.itemsize].ljust(dtype.itemsize, b"\0")
    return np.frombuffer(raw, dtype.newbyteorder("<")).astype(dtype).reshape(())


def _everything() -> Any:
    import h5py

    return h5py.h5s.ALL


def _in_memory() -> Any:
    import h5py

    return h5py.File("zaro", "w", driver="core", backing_store=False)


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether elements are of a type that NumPy and HDF5 both have."""
    return dtype.kind in "iufb"


def config_of(
    code: int, values: Sequence[int], dtype: np.dtype[Any], chunks: Sequence[int]
) -> dict[str, Any] | None:
    """Configuration of a filter; None where its elements are of a type that has no name of its own."""
    if not is_number(dtype) or not chunks or not math.prod(chunks):
        return None
    found = {
        "code": code,
        "values": list(map(int, values)),
        "dtype": dtype.str,
        "chunks": list(map(int, chunks)),
    }
    return {"id": Hdf5Filter.codec_id, **found}
