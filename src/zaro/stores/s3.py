"""Bytes from S3, through the client of s3fs.

s3fs's own `_cat_file` asks for the size of a whole file first, and keeps what the server says of a
span to itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from zaro.stores.answer import Answer
from zaro.stores.base import Place

__all__ = ["ask"]

_PART = 1 << 18  # bytes that are read at a time


@asynccontextmanager
async def ask(place: Place, span: str | None) -> AsyncIterator[Answer]:
    """Ask for an object or a span of it."""
    bucket, key, version = place.fs.split_path(place.path)
    how = {"Range": span} if span is not None else {}
    if version:
        how["VersionId"] = version
    found = await place.fs._call_s3("get_object", Bucket=bucket, Key=key, **how)
    body = found["Body"]
    try:
        facts = found["ResponseMetadata"]
        told = {name.lower(): value for name, value in facts["HTTPHeaders"].items()}
        yield Answer(place.url, facts["HTTPStatusCode"] == 206, told, _parts(body))
    finally:
        body.close()


async def _parts(body: Any) -> AsyncIterator[bytes]:
    while part := await body.read(_PART):
        yield part
