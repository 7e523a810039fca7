"""What a hostile case is: material, a read of it, and the promise that zaro makes for it."""

from __future__ import annotations

import contextlib
import json
import random
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import zaro

__all__ = [
    "ALLOWANCE",
    "ARRAY",
    "GOOD",
    "REFS",
    "VALUES",
    "Case",
    "Error",
    "Promise",
    "bomb",
    "damaged",
    "either",
    "error",
    "nothing",
    "reads",
    "reads_damaged",
    "same",
    "write_chunks",
    "write_json",
]

ALLOWANCE = 64 << 20
"""Bytes that any case may allocate beyond the output that it declares."""

ARRAY: dict[str, Any] = {
    "zarr_format": 2,
    "shape": [8],
    "chunks": [4],
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": -1,
}
"""The array of good cases: two chunks of four numbers."""
VALUES = np.arange(8, dtype="<i4") * 1001
"""What the arrays of good cases hold."""
REFS: dict[str, Any] = {
    ".zgroup": '{"zarr_format":2}',
    "x/.zarray": json.dumps(ARRAY),
    "x/0": ["data.bin", 0, 16],
    "x/1": ["data.bin", 16, 16],
}
"""References to such an array `x`, whose chunks lie one behind the other in `data.bin`."""


@dataclass(frozen=True)
class Error:
    """The read is an error of this class, and its text holds all of these words."""

    kind: str
    words: tuple[str, ...] = ()
    or_value: bool = False


GOOD = None
"""The read gives the right values."""

Promise = Error | None
Make = Callable[[Path], object]
Read = Callable[[Path, str], object]


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes
    ----------
    make : callable
        Writes the material into a folder; in a process of its own.
    read : callable
        Reads it: takes the folder, and the address at which a server publishes it. Checks what it gets.
    declared : int
        Bytes of output that the caller asks for, or that the material itself has.
    seconds : float
        Time of the processor that the read may take.
    waits : float
        Time of the clock; only who waits for something else than the processor comes near it.
    """

    name: str
    make: Make
    read: Read
    promise: Promise
    declared: int = 0
    seconds: float = 10.0
    waits: float = 120.0


def error(kind: str, *words: str) -> Error:
    return Error(kind, words)


def either(kind: str, *words: str) -> Error:
    """Right values, or this error: damage that no checksum covers, and that need not change what is read."""
    return Error(kind, words, or_value=True)


def nothing(folder: Path) -> None:
    """Make nothing."""


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def write_chunks(folder: Path, *prefixes: str) -> None:
    """Write the two chunks of a good array into its folder, under keys with these prefixes."""
    for prefix in prefixes or ("",):
        for k in (0, 1):
            VALUES[4 * k : 4 * k + 4].tofile(folder / f"{prefix}{k}")


def bomb(mbytes: int, fill: bytes = b"\0", start: bytes = b"", *, wbits: int = 31) -> bytes:
    """So many MiB of one byte, deflated, behind something else: gzip, or with 15 bits zlib."""
    packer = zlib.compressobj(1, zlib.DEFLATED, wbits)
    parts = [packer.compress(start), *(packer.compress(fill * (1 << 20)) for _ in range(mbytes))]
    return b"".join([*parts, packer.flush()])


def damaged(good: bytes, seed: int, last: int | None = None) -> bytes:
    """The bytes with a few of them wrong; of the last ones only, if asked."""
    chance, found = random.Random(seed), bytearray(good)
    first = 0 if last is None else max(0, len(found) - last)
    for _ in range(chance.choice([1, 1, 2, 4])):
        k = chance.randrange(first, len(found))
        found[k] = chance.choice([chance.randrange(256), found[k] ^ 1 << chance.randrange(8), 255, 0])
    return bytes(found)


def reads_damaged(name: str, target: str, times: int = 250, last: int | None = None) -> Read:
    """Read an array again and again, other bytes of one file wrong each time: values, or errors of zaro."""

    def read(folder: Path, address: str) -> None:
        good = (folder / name).read_bytes()
        for seed in range(times):
            (folder / name).write_bytes(damaged(good, seed, last))
            with contextlib.suppress(zaro.ZaroError):
                zaro.open(str(folder / target), "x")[...]

    return read


def same(found: Any, expected: Any) -> None:
    """Insist on values."""
    found, expected = np.asarray(found), np.asarray(expected)
    if found.shape != expected.shape or not np.array_equal(found, expected):
        raise AssertionError(f"wrong values: {found!r:.200}, expected {expected!r:.200}")


def reads(name: str, path: str = "x", expected: Any = VALUES, **options: Any) -> Read:
    """Read one array of a target in the folder, and insist on its values; None for any values."""

    def read(folder: Path, address: str) -> None:
        found = zaro.open(str(folder / name) if name else str(folder), path, **options)[...]
        if expected is not None:
            same(found, expected)

    return read
