"""Messages of GRIB files, and the fields in them.

Source: WMO Manual on Codes, volume I.2, FM 92 GRIB; ecCodes' keys.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BrokenMessageError",
    "field_values",
    "fields_of",
    "get",
    "handle",
    "messages",
    "shape_of",
    "straighten",
]

_END = b"7777"
_LOCK = threading.Lock()  # ecCodes is built without threads on some machines
_MISSING = -1.0e300
"""No packing holds this value, so that it may stand for what is missing."""


class BrokenMessageError(ValueError):
    """The bytes are no GRIB message."""


def messages(read: Any, size: int) -> Iterator[tuple[int, int]]:
    """Offset and length of each message of a file; bytes between them are skipped.

    Raises
    ------
    BrokenMessageError
        A message ends behind the file, or not as messages do.
    """
    at, step = 0, 1 << 16
    while at < size:
        head = read(at, min(step, size - at))
        found = head.find(b"GRIB")
        if found < 0:
            at += max(len(head) - 3, 1) if at + len(head) < size else len(head)
            continue
        at += found
        head = read(at, min(16, size - at))
        if len(head) < 16:
            raise BrokenMessageError(f"byte {at}: the file ends within the start of a message")
        if head[7] not in (1, 2):
            raise BrokenMessageError(f"byte {at}: edition {head[7]} of GRIB, 1 and 2 are known")
        length = int.from_bytes(head[8:16], "big") if head[7] == 2 else _length_1(read, at, size)
        if length < 20 or length > size - at or read(at + length - 4, 4) != _END:
            raise BrokenMessageError(f"byte {at}: a message of {length} bytes does not end with 7777 there")
        yield at, length
        at += length


def _length_1(read: Any, at: int, size: int) -> int:
    """Length of a message of edition 1 at a byte.

    It is written in 24 bits. Of longer messages that is a number of 120 bytes, the highest bit is set, and
    where the length of section 4 should be stands by how much less than that there is (ECMWF's way).
    """

    def number(where: int) -> int:
        return int.from_bytes(read(where, 3), "big") if where <= size - 3 else size

    written = number(at + 4)
    if written < 1 << 23:
        return written
    section = at + 8
    present = read(section + 7, 1)[0] if section < size - 7 else 0
    section += number(section)
    for bit in (0x80, 0x40):  # sections 2 and 3
        section += number(section) if present & bit else 0
    less = number(section)
    return (written - (1 << 23)) * 120 - less + 4 if less < 120 else written


def fields_of(message: bytes) -> list[bytes]:
    """Each field of a message as a message of its own.

    In edition 2 sections 2 to 7 may come again, and those that do not are as they were before.
    """
    if message[7] != 2:
        return [message]
    sections: dict[int, bytes] = {}
    found, at, end, bitmap = [], 16, len(message) - 4, b""
    while at < end:
        length, number = int.from_bytes(message[at : at + 4], "big"), message[at + 4]
        if length < 5 or at + length > end or not 1 <= number <= 7:
            raise BrokenMessageError(f"section {number} of {length} bytes at byte {at} of the message")
        sections[number] = message[at : at + length]
        at += length
        if number == 6 and length > 5:
            if sections[6][5] == 254:  # the bitmap of a field before
                sections[6] = bitmap
            elif sections[6][5] != 255:
                bitmap = sections[6]
        if number == 7:
            body = b"".join(sections[k] for k in sorted(sections))
            start = message[:8] + (16 + len(body) + 4).to_bytes(8, "big")
            found.append(start + body + _END)
    return found


@contextmanager
def handle(field: bytes) -> Iterator[Any]:
    """A handle of ecCodes on a message of one field, for one thread at a time."""
    import eccodes

    with _LOCK:
        made = eccodes.codes_new_from_message(field)
        try:
            yield made
        finally:
            eccodes.codes_release(made)


def get(made: Any, key: str, default: Any, kind: Any = None) -> Any:
    """Value of a key of a field, or the default where the field has no such key."""
    import eccodes

    try:
        return eccodes.codes_get(made, key, kind) if kind else eccodes.codes_get(made, key)
    except eccodes.KeyValueNotFoundError:
        return default


def shape_of(made: Any) -> tuple[int, ...]:
    """Rows and points of a row as a field stores them, or how many points there are that make no rectangle.

    Where the points of a column follow each other, the columns are the rows.
    """
    import eccodes

    n = int(get(made, "numberOfPoints", 0) or eccodes.codes_get_size(made, "values"))
    columns, rows = (int(get(made, a, 0) or get(made, b, 0) or 0) for a, b in (("Ni", "Nx"), ("Nj", "Ny")))
    if rows * columns != n or rows <= 0:
        return (n,)
    return (columns, rows) if get(made, "jPointsAreConsecutive", 0) else (rows, columns)


def straighten(made: Any, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with every row in the direction of the first: ecCodes gives them as they are stored.

    Raises
    ------
    ValueError
        Every second row is reversed, and the rows are not all of one length.

    Notes
    -----
    Source: WMO Manual on Codes, volume I.2, flag table 3.4, bit 4.
    """
    if not get(made, "alternativeRowScanning", 0):
        return values
    shape = shape_of(made)
    if len(shape) != 2:
        raise ValueError("alternativeRowScanning=1 is not supported where rows differ in length")
    rows = values.reshape(shape).copy()
    rows[1::2] = rows[1::2, ::-1]
    return rows.reshape(-1)


def field_values(message: bytes, number: int) -> NDArray[np.float64]:
    """Values of one field in the order of its positions, NaN where they are missing."""
    import eccodes

    if message[:4] != b"GRIB" or len(message) < 20:
        raise BrokenMessageError("the bytes are no GRIB message")
    fields = fields_of(message)
    if number >= len(fields):
        raise BrokenMessageError(f"field {number} of a message of {len(fields)}")
    with handle(fields[number]) as made:
        eccodes.codes_set(made, "missingValue", _MISSING)
        values = straighten(made, np.asarray(eccodes.codes_get_values(made), np.float64))
    values[values == _MISSING] = np.nan
    return values
