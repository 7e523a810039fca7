"""The one table from a kernel's answer (status.h) to a sentence."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["REASON", "Status"]


class Status(IntEnum):
    """The answers of status.h, in its order."""

    OK = 0
    OVERFLOW = 1
    RANGE = 2
    ORDER = 3
    MEMORY = 4
    SHORT = 5
    LONG = 6
    HEADER = 7
    CORRUPT = 8
    CHECKSUM = 9
    MISSING = 10
    IO = 11
    ABSENT_CHUNK = 12
    UNSUPPORTED = 13
    STOPPED = 14


REASON: tuple[str, ...] = (
    "it is fine",
    "a number leaves the range of 64 bits",
    "a value lies outside what its place allows",
    "values that must ascend do not",
    "there is not enough memory",
    "fewer bytes than promised",
    "more bytes than promised",
    "a header promises what the metadata or the stored bytes cannot hold",
    "the decoder refuses the bytes",
    "the checksum does not match",
    "the file does not exist",
    "the system refuses to read",
    "the chunk is absent",
    "a decoder that is not built in is needed",
    "the read was stopped",
)
"""A sentence for each Status, by its number."""
