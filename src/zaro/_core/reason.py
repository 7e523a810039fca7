"""The one table from a kernel's answer (status.h) to a sentence."""

from __future__ import annotations

__all__ = ["REASON"]

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
    "no decoder is built in for it",
    "the read was stopped",
)
