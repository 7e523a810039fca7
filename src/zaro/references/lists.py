"""Integers and long lists of integers in generator documents: plain, decimal text, and compact.

The long lists of a document never become Python objects: a kernel reads them from the text, and only
what is left goes to the JSON parser.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro._core import intlist
from zaro._core.base64 import decode
from zaro.errors import GeneratorError

__all__ = ["Field", "Flags", "ascends", "compact", "integer", "integers", "load"]

LONG = 512  # bytes of a list from which on cutting it out is worth while
CODEC = "delta-zstd"
BASE64 = b"base64:"
DTYPES = ("<i8", "<i4", "<i2", "<i1", "|i1")
_DECIMAL = re.compile(r"-?[0-9]{1,20}", re.ASCII)

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Flags:
    """`skipchunks` as read from the text: an index (n, rank) and flags (n, variables) for each entry."""

    index: Ints
    flags: NDArray[np.uint8]


# ---- reading -----------------------------------------------------------------------------------


def load(raw: bytes | bytearray | memoryview) -> Any:
    """Parse JSON text; long lists of integers become int64 arrays, a long `skipchunks` becomes Flags.

    Long text of a member `data` that begins with `base64:` stays where it is: a memoryview of its characters.

    Raises ValueError for what is not JSON.
    """
    text = memoryview(raw).cast("B")
    mark, done = os.urandom(16).hex(), 0
    pieces: list[bytes | memoryview] = []
    found: dict[str, Ints | Flags | memoryview] = {}
    for begin, end, count, rank, flags in intlist.cuts(text, LONG):
        value: Ints | Flags | memoryview | None
        if not count:
            value = text[begin + 1 : end - 1]
        elif rank:
            value = Flags(*intlist.parse_flags(text, begin, end, count, rank, flags))
        else:
            value = intlist.parse(text, begin, end, count)
        if value is None:
            continue  # floats, or no list after all: the parser's business
        name = f"{mark}{len(found)}"
        found[name] = value
        pieces += [text[done:begin], f'"{name}"'.encode()]
        done = end
    rest = b"".join([*pieces, text[done:]]).decode()

    def restore(members: dict[str, Any]) -> dict[str, Any]:
        for key, value in members.items():
            if isinstance(value, str) and value in found:
                whole = found[value]
                if isinstance(whole, memoryview) and key != "data":
                    members[key] = str(whole, "utf-8")
                else:
                    members[key] = whole
        return members

    return json.loads(rest, object_hook=restore if found else None)


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a generator, for the messages about it."""

    document: str
    name: str

    def error(self, reason: str, index: int | None = None) -> GeneratorError:
        """Error that names the document, the member and the index in it."""
        return GeneratorError(self.document, self.name, index, reason)


def integer(value: object, field: Field, index: int | None = None) -> int:
    """Read one number: a JSON number or decimal text."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise field.error(f"expected an integer, found {_quote(value)}", index)
    if not -(2**63) <= value < 2**63:
        raise field.error(f"{value} leaves the range of 64 bits", index)
    return int(value)


def integers(value: object, field: Field, limit: int) -> Ints:
    """Read a list of integers, plain or compact, of at most `limit` of them."""
    if isinstance(value, Mapping):
        return _expand(value, field, limit)
    if not isinstance(value, np.ndarray | list | tuple):
        raise field.error(f"expected a list of integers, found {_quote(value)}")
    if len(value) > limit:
        raise field.error(f"holds {len(value)} numbers, expected at most {limit}")
    if isinstance(value, np.ndarray):
        return value
    if set(map(type, value)) <= {int} and _fits(value):
        return np.array(value, np.int64)
    return np.array([integer(item, field, k) for k, item in enumerate(value)], np.int64)


def ascends(values: Ints) -> bool:
    """Whether each value lies above the one before."""
    return len(values) < 2 or bool((values[1:] > values[:-1]).all())


def _fits(values: Iterable[int]) -> bool:
    return all(-(2**63) <= value < 2**63 for value in values)


def _expand(value: Mapping[str, Any], field: Field, limit: int) -> Ints:
    """Read a compact list; nothing is allocated before its sizes are known to fit."""
    codec, dtype, data = value.get("codec"), value.get("dtype"), value.get("data")
    if codec != CODEC:
        raise field.error(f"codec is {_quote(codec)}, expected {CODEC!r}")
    if dtype not in DTYPES:
        raise field.error(f"dtype is {_quote(dtype)}, expected one of {', '.join(DTYPES)}")
    count = integer(value.get("n"), Field(field.document, f"{field.name}.n"))
    if not 0 <= count <= limit:
        raise field.error(f"n is {count}, expected 0 to {limit}")
    text = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    if not isinstance(text, bytes | memoryview) or text[: len(BASE64)] != BASE64:
        raise field.error(f"data is {_quote(data)}, expected text that begins with base64:")
    width = int(dtype[2:])
    return intlist.sums(_decompress(text[len(BASE64) :], count * width, field), width)


def _decompress(text: bytes | memoryview, size: int, field: Field) -> bytes:
    import zstandard

    try:
        packed = decode(text)
        promised = zstandard.get_frame_parameters(packed).content_size
        if promised != size:
            raise field.error(f"its frame promises {promised} bytes, expected {size}")
        raw = zstandard.ZstdDecompressor().decompress(packed, allow_extra_data=False) if size else b""
    except (ValueError, zstandard.ZstdError) as err:
        if isinstance(err, GeneratorError):
            raise
        raise field.error(f"its data cannot be decoded: {err}") from None
    if len(raw) != size:
        raise field.error(f"its data holds {len(raw)} bytes, expected {size}")
    return raw


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# ---- writing -----------------------------------------------------------------------------------


def compact(values: Ints, *, level: int = 9) -> dict[str, Any]:
    """Spell a list of integers the compact way: first differences, zstd, base64."""
    import zstandard

    differences = np.diff(values, prepend=np.int64(0)) if len(values) else values
    dtype = "<i8"
    for narrow in ("<i2", "<i4"):
        reach = np.iinfo(narrow)
        if len(values) and reach.min <= differences.min() and differences.max() <= reach.max:
            dtype = narrow
            break
    packed = zstandard.ZstdCompressor(level=level).compress(differences.astype(dtype).tobytes())
    data = (BASE64 + base64.b64encode(packed)).decode()
    return {"codec": CODEC, "dtype": dtype, "n": len(values), "data": data}
