"""Steps that run in Python: packages that decode what the kernel does not."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zaro.codecs.members import Members
from zaro.codecs.parts import Bytes, as_bytes
from zaro.errors import CorruptChunkError, MetadataError

__all__ = [
    "BloscStep",
    "Lz4Step",
    "NumcodecsStep",
    "StreamStep",
    "ZstdStep",
    "numcodecs_step",
    "stream_step",
    "with_imagecodecs",
]

# Bytes that a decoder is asked for at a time, where nobody knows how many there are
_PIECE = 1 << 20

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
    rest : {"ignored", "members", "streams"}
        What may follow the first stream: anything; more of them and zeros; or more of them, then anything.
        Each as the standard library's own `decompress` has it.
    """

    name: str
    start: Callable[[], Any]
    rest: Literal["ignored", "members", "streams"]

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        rest = as_bytes(data, self.name, None)
        room = most if nbytes is None else nbytes
        try:
            part, rest = self._one(rest, room)
        except _NoStream as err:
            raise CorruptChunkError(str(err)) from err
        parts, done = [part], len(part)
        while rest.size and self.rest != "ignored":
            try:
                part, rest = self._one(rest, None if room is None else room - done)
            except _NoStream as err:
                if self.rest == "members":
                    raise CorruptChunkError(str(err)) from err
                break
            parts.append(part)
            done += len(part)
        return as_bytes(b"".join(parts), self.name, nbytes)

    def _one(self, data: NDArray[np.uint8], room: int | None) -> tuple[bytes, NDArray[np.uint8]]:
        stream = self.start()
        limit = () if room is None else (room + 1,)
        try:
            part = stream.decompress(data.data, *limit)
        except Exception as err:  # each library has an error of its own
            raise _NoStream(f"{self.name}: {err}") from err
        if room is not None and len(part) > room:
            raise CorruptChunkError(f"{self.name}: decodes to more bytes than expected")
        if not stream.eof:
            raise CorruptChunkError(f"{self.name}: the stream ends before its end")
        rest = data[data.size - len(stream.unused_data) :]
        return part, rest[_zeros(rest) :] if self.rest == "members" else rest


class _NoStream(Exception):
    """The bytes are no stream of the format."""


def _zeros(data: NDArray[np.uint8]) -> int:
    """How many zeros stand at the start."""
    others = np.flatnonzero(data)
    return int(others[0]) if others.size else data.size


def stream_step(codec: str, members: Members) -> StreamStep:
    """Make the step for `zlib`, `gzip`, `bz2` or `lzma`."""
    if codec == "zlib":
        return StreamStep(members.name, zlib.decompressobj, "ignored")
    if codec == "gzip":
        return StreamStep(members.name, partial(zlib.decompressobj, wbits=31), "members")
    if codec == "bz2":
        import bz2

        return StreamStep(members.name, bz2.BZ2Decompressor, "streams")
    return StreamStep(members.name, _lzma_start(members), "streams")


def _lzma_start(members: Members) -> Callable[[], Any]:
    import lzma

    form = members.integer("format", 0, 3, lzma.FORMAT_XZ)
    # only a raw stream does not say itself how it was made
    options = {"filters": members.configuration.get("filters")} if form == lzma.FORMAT_RAW else {}
    start = partial(lzma.LZMADecompressor, form, **options)
    try:
        start()
    except (TypeError, ValueError, MemoryError, lzma.LZMAError) as err:
        members.fail("filters", members.configuration.get("filters"), f"filters of LZMA ({err})")
    return start


# of zstd: a magic number, most bytes of a header, a kind of block
_SKIPPABLE, _FRAME_HEADER, _REPEATED = 0x184D2A50, 18, 1


@dataclass(frozen=True)
class ZstdStep:
    """Zstandard through the `zstandard` package."""

    name: str

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        import zstandard

        stored = bytes(data)
        reader = zstandard.ZstdDecompressor().stream_reader(stored, read_across_frames=True)
        try:
            self._check_whole(stored)
            if nbytes is None:
                return self._all(reader, most)
            return self._fill(reader, nbytes)
        except zstandard.ZstdError as err:
            raise CorruptChunkError(f"{self.name}: {err}") from err

    def _check_whole(self, stored: bytes) -> None:
        """Refuse a stream that is cut off, which the reader takes for ended: walk its blocks (RFC 8878)."""
        import zstandard

        view, at = memoryview(stored), 0
        while at < len(view):
            if int.from_bytes(view[at : at + 4], "little") & ~0xF == _SKIPPABLE:
                at += 8 + int.from_bytes(view[at + 4 : at + 8], "little")
                continue
            frame = view[at : at + _FRAME_HEADER]
            checksum = 4 * zstandard.get_frame_parameters(frame).has_checksum
            at, last = at + zstandard.frame_header_size(frame), False
            while not last and at < len(view):
                block = int.from_bytes(view[at : at + 3], "little")
                last = bool(block & 1)
                at += 3 + (1 if block >> 1 & 3 == _REPEATED else block >> 3)
            at += checksum if last else 1
        if at > len(view):
            raise CorruptChunkError(f"{self.name}: the stream ends before its end")

    def _all(self, reader: Any, most: int | None) -> NDArray[np.uint8]:
        """Read to the end, a piece at a time: nobody knows how far that is."""
        found = bytearray()
        while piece := reader.read(_PIECE):
            found += piece
            if most is not None and len(found) > most:
                raise CorruptChunkError(f"{self.name}: decodes to more than {most} bytes")
        return as_bytes(found, self.name, None)

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

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        import lz4.block

        source = as_bytes(data, self.name, None)
        promised = int.from_bytes(source[:4].tobytes(), "little")
        # an LZ4 sequence of n bytes never decodes to more than 255 n
        wrong = promised > (most or promised) if nbytes is None else promised != nbytes
        if source.size < 4 or promised > 255 * source.size or wrong:
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

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        from numcodecs.blosc import Blosc

        source = as_bytes(data, self.name, None)
        promised, stored = (int.from_bytes(source[at : at + 4].tobytes(), "little") for at in (4, 12))
        wrong = promised > (most or promised) if nbytes is None else promised != nbytes
        if source.size < 16 or stored != source.size or wrong:
            found = f"{source.size} stored bytes promise {promised} of {stored}"
            raise CorruptChunkError(f"{self.name}: {found}, expected {nbytes}")
        if promised == 0:  # which numcodecs encodes but does not decode
            return np.empty(0, np.uint8)
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

    def decode(self, data: Bytes, nbytes: int | None, most: int | None = None) -> NDArray[np.uint8]:
        """See `BytesStep.decode`."""
        value = self.value(data, most if nbytes is None else nbytes)
        if self.dtype is not None and isinstance(value, np.ndarray) and value.dtype != self.dtype:
            raise CorruptChunkError(f"{self.name}: decodes to type {value.dtype}, expected {self.dtype}")
        return as_bytes(value, self.name, nbytes)

    def value(self, data: Bytes, most: int | None = None) -> Any:
        """Decode to what the codec returns, an array of objects perhaps; codecs of zaro's own heed `most`."""
        source = as_bytes(data, self.name, None)
        within = getattr(self.codec, "decode_within", None)
        try:
            return self.codec.decode(source) if within is None or most is None else within(source, most)
        except Exception as err:  # a third party's decoder may raise anything
            raise CorruptChunkError(f"{self.name}: {err}") from err


def with_imagecodecs(codec: str) -> bool:
    """Have the package imagecodecs register a codec, which it does only when asked; whether it has it."""
    from numcodecs import registry

    try:
        from imagecodecs.numcodecs import register_codecs
    except ImportError:
        return False
    if codec not in registry.codec_registry:
        register_codecs(codec, verbose=False)
    return codec in registry.codec_registry


def numcodecs_step(codec: str, members: Members, known: Mapping[str, Any] | None = None) -> NumcodecsStep:
    """Make the step for any codec of the numcodecs registry, or say why there is none.

    `known` are members that the document left to be known from elsewhere.
    """
    from numcodecs import registry

    named = members.configuration.get("id", codec)
    if named != codec:  # numcodecs would make that one, which nobody checked
        members.fail("id", named, f"none, or {codec!r}")
    package = PACKAGES.get(codec) or ("imagecodecs" if codec.startswith("imagecodecs_") else None)
    there = codec in registry.codec_registry or codec in registry.entries
    if not there and package == "imagecodecs":
        there = with_imagecodecs(codec)
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
