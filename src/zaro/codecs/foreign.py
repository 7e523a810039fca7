"""Steps that run in Python: packages that decode what the kernel does not."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.members import Members
from zaro.codecs.parts import Bytes, as_bytes
from zaro.errors import CorruptChunkError, MetadataError

__all__ = ["BloscStep", "Lz4Step", "NumcodecsStep", "StreamStep", "ZstdStep", "numcodecs_step", "stream_step"]

# Packages that bring codecs which numcodecs knows by name only.
PACKAGES = {
    "pcodec": "pcodec",
    "zfpy": "zfpy",
    "msgpack2": "msgpack",
    "crc32c": "google-crc32c",
    "grib": "kerchunk",
    "FITSAscii": "kerchunk",
    "FITSVarBintable": "kerchunk",
    "fill_hdf_strings": "kerchunk",
    "record_member": "kerchunk",
}


@dataclass(frozen=True)
class StreamStep:
    """A stream format of the standard library, never decoded past the size that is expected.

    Attributes
    ----------
    start : callable
        Makes a decompressor for one stream.
    many : bool
        Whether several streams may follow each other.
    """

    name: str
    start: Callable[[], Any]
    many: bool

    def decode(self, data: Bytes, nbytes: int | None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        rest, parts, room = as_bytes(data, self.name, None).data, list[bytes](), nbytes
        while True:
            part, rest = self._one(rest, room)
            parts.append(part)
            room = None if room is None else room - len(part)
            if not self.many:
                break
            rest = rest[len(rest) - len(bytes(rest).lstrip(b"\0")) :]  # zeros between and after are padding
            if not len(rest):
                break
        return as_bytes(parts[0] if len(parts) == 1 else b"".join(parts), self.name, nbytes)

    def _one(self, data: memoryview, room: int | None) -> tuple[bytes, memoryview]:
        stream = self.start()
        limit = -1 if room is None else room + 1
        try:
            part = stream.decompress(data) if limit < 0 else stream.decompress(data, limit)
        except (zlib.error, lzma.LZMAError, OSError, EOFError) as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err
        if room is not None and len(part) > room:
            raise CorruptChunkError(f"{self.name}: decodes to more bytes than expected")
        if not stream.eof:
            raise CorruptChunkError(f"{self.name}: the stream ends before its end")
        return part, data[len(data) - len(stream.unused_data) :]


def stream_step(codec: str, members: Members) -> StreamStep:
    """Make the step for `zlib`, `gzip`, `bz2` or `lzma`."""
    if codec == "zlib":
        return StreamStep(members.name, zlib.decompressobj, many=False)
    if codec == "gzip":
        return StreamStep(members.name, lambda: zlib.decompressobj(wbits=31), many=True)
    if codec == "bz2":
        return StreamStep(members.name, bz2.BZ2Decompressor, many=True)
    # numcodecs writes FORMAT_XZ unless told; a raw stream is one, and its filters say how it was made
    form, filters = members.configuration.get("format", lzma.FORMAT_XZ), members.configuration.get("filters")
    if form != lzma.FORMAT_RAW:
        return StreamStep(members.name, lambda: lzma.LZMADecompressor(form), many=True)
    return StreamStep(members.name, lambda: lzma.LZMADecompressor(form, filters=filters), many=False)


@dataclass(frozen=True)
class ZstdStep:
    """Zstandard through the `zstandard` package."""

    name: str

    def decode(self, data: Bytes, nbytes: int | None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        import zstandard

        reader = zstandard.ZstdDecompressor().stream_reader(bytes(data), read_across_frames=True)
        try:
            if nbytes is None:
                return as_bytes(reader.readall(), self.name, None)
            return self._fill(reader, nbytes)
        except zstandard.ZstdError as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err

    def _fill(self, reader: Any, nbytes: int) -> NDArray[np.uint8]:
        out = np.empty(nbytes + 1, np.uint8)  # one more, to see that the stream ends
        view, done = out.data, 0
        while done <= nbytes and (got := reader.readinto(view[done:])):
            done += got
        return as_bytes(out[:done], self.name, nbytes)


@dataclass(frozen=True)
class Lz4Step:
    """The layout of numcodecs (size, then one raw block) through the `lz4` package."""

    name: str

    def decode(self, data: Bytes, nbytes: int | None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        import lz4.block

        source = as_bytes(data, self.name, None)
        promised = int.from_bytes(source[:4].tobytes(), "little")
        # an LZ4 sequence of n bytes never decodes to more than 255 n
        if source.size < 4 or promised > 255 * source.size or (nbytes is not None and promised != nbytes):
            raise CorruptChunkError(
                f"{self.name}: {source.size} stored bytes promise {promised}, expected {nbytes}"
            )
        if promised == 0:
            return np.empty(0, np.uint8)
        try:
            found = lz4.block.decompress(source[4:], uncompressed_size=promised)
        except lz4.block.LZ4BlockError as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err
        return as_bytes(found, self.name, promised)


@dataclass(frozen=True)
class BloscStep:
    """Blosc through numcodecs, whose decoder trusts the header: its sizes are compared first."""

    name: str

    def decode(self, data: Bytes, nbytes: int | None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        from numcodecs.blosc import Blosc

        source = as_bytes(data, self.name, None)
        promised, stored = (int.from_bytes(source[at : at + 4].tobytes(), "little") for at in (4, 12))
        if source.size < 16 or stored != source.size or (nbytes is not None and promised != nbytes):
            found = f"{source.size} stored bytes promise {promised} of {stored}"
            raise CorruptChunkError(f"{self.name}: {found}, expected {nbytes}")
        return NumcodecsStep(self.name, Blosc()).decode(source, nbytes)


@dataclass(frozen=True)
class NumcodecsStep:
    """Any codec of the numcodecs registry.

    Attributes
    ----------
    dtype : numpy.dtype or None
        Type of the array that it must return; None where only the bytes count.
    """

    name: str
    codec: Any = field(repr=False)
    dtype: np.dtype[Any] | None = None

    def decode(self, data: Bytes, nbytes: int | None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        value = self.value(data)
        if self.dtype is not None and isinstance(value, np.ndarray) and value.dtype != self.dtype:
            raise CorruptChunkError(f"{self.name}: decodes to type {value.dtype}, expected {self.dtype}")
        return as_bytes(value, self.name, nbytes)

    def value(self, data: Bytes) -> Any:
        """Decode to what the codec returns, an array of objects perhaps."""
        source = as_bytes(data, self.name, None)
        try:
            return self.codec.decode(source)
        except Exception as err:  # a third party's decoder may raise anything
            raise CorruptChunkError(f"{self.name}: {err}") from err


def numcodecs_step(codec: str, members: Members, known: Mapping[str, Any] | None = None) -> NumcodecsStep:
    """Make the step for any codec of the numcodecs registry, or say why there is none.

    `known` are members that the document left to be known from elsewhere.
    """
    from numcodecs import registry

    package = PACKAGES.get(codec) or ("imagecodecs" if codec.startswith("imagecodecs_") else None)
    there = codec in registry.codec_registry or codec in registry.entries
    if not there and package is None:
        members.refuse(f"names {members.name!r}, a codec that neither zaro nor an installed package knows")
    if not there:
        members.lacks(str(package))
    try:
        made = registry.get_codec({"id": codec, **members.configuration, **(known or {})})
    except ImportError as err:
        members.lacks(package or codec, err)
    except (TypeError, ValueError) as err:
        raise MetadataError(
            members.document, f"{members.place}.configuration", f"of {members.name}: {err}"
        ) from err
    members.rest()
    return NumcodecsStep(members.name, made)
