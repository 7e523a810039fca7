"""kerchunk's JSON documents: version 0 (flat) and version 1 (`templates`, `gen`, `refs`)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from zaro.errors import ReferenceSetError
from zaro.references.contents import Contents, Reference, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import METADATA_NAMES, array_layouts, split_key
from zaro.references.options import Options
from zaro.references.sources import open_document
from zaro.references.table import INLINE, WHOLE

__all__ = ["read", "read_bytes", "read_mapping"]


def _inline(value: str | bytes, document: str, key: str) -> bytes:
    try:
        raw = value.encode() if isinstance(value, str) else bytes(value)
        return base64.b64decode(raw[7:], validate=True) if raw.startswith(b"base64:") else raw
    except (UnicodeEncodeError, binascii.Error) as err:
        raise ReferenceSetError(document, repr(key), f"its text cannot be decoded: {err}") from err


def _number(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value < 2**63:
        raise ValueError(f"{value!r} is no number of bytes")
    return int(value)


def _reference(value: Any, document: str, key: str) -> Reference | None:
    """Read one value of a reference mapping; None for a chunk that is absent."""
    if value is None:
        return None
    if isinstance(value, str | bytes | bytearray | memoryview):
        return _inline(bytes(value) if not isinstance(value, str) else value, document, key)
    if isinstance(value, Mapping):
        return json.dumps(value).encode()
    if hasattr(value, "to_bytes") and not isinstance(value, int):  # a buffer of zarr-python
        return _inline(value.to_bytes(), document, key)
    if not isinstance(value, list | tuple) or len(value) not in (1, 3):
        raise ReferenceSetError(
            document, repr(key), f"expected [url], [url, offset, length] or text, found {value!r}"
        )
    if value[0] is None:
        return None
    if not isinstance(value[0], str):
        raise ReferenceSetError(document, repr(key), f"expected a URL, found {value[0]!r}")
    try:
        return [value[0], *map(_number, value[1:])]
    except ValueError as err:
        raise ReferenceSetError(document, repr(key), str(err)) from None


def _rows(found: dict[int, Reference], file_ids: dict[str, int], inline: bytearray) -> Rows:
    ids, file_id, offset, length = [], [], [], []
    for chunk, reference in found.items():
        ids.append(chunk)
        if isinstance(reference, bytes):
            file_id.append(INLINE)
            offset.append(len(inline))
            length.append(len(reference))
            inline += reference
            continue
        file_id.append(file_ids.setdefault(str(reference[0]), len(file_ids)))
        offset.append(int(reference[1]) if len(reference) == 3 else 0)
        length.append(int(reference[2]) if len(reference) == 3 else WHOLE)
    return Rows(
        np.array(ids, np.int64),
        np.array(file_id, np.int32),
        np.array(offset, np.int64),
        np.array(length, np.int64),
    )


def read_mapping(document: Mapping[str, Any], *, name: str = "", folder: str | None = None) -> Contents:
    """Read a parsed document: version 0 or 1."""
    version = document.get("version")
    if version is not None and version != 1:
        raise ReferenceSetError(name, "version", f"is {version!r}, expected 1")
    refs = (
        document
        if version is None and not isinstance(document.get("refs"), Mapping)
        else document.get("refs", {})
    )
    contents, chunks = Contents(), {}
    for key, value in refs.items():
        reference = _reference(value, name, key)
        if reference is None:
            continue
        if split_key(key)[1] in METADATA_NAMES and isinstance(reference, bytes):
            contents.metadata[key] = reference
        else:
            chunks[key] = reference
    contents.layouts = array_layouts(contents.metadata)
    return _sort(contents, chunks, folder)


def _sort(contents: Contents, references: dict[str, Reference], folder: str | None) -> Contents:
    found: dict[str, dict[int, Reference]] = {}
    for key, reference in references.items():
        place = contents.chunk(key)
        if place is None:
            contents.other[key] = reference
        else:
            found.setdefault(place[0], {})[place[1]] = reference
    file_ids: dict[str, int] = {}
    inline = bytearray()
    rows = {path: _rows(chunks, file_ids, inline) for path, chunks in found.items()}
    files = FileTable(list(file_ids), folder)
    for path in contents.layouts:
        if path in rows:
            contents.tables[path] = make_table(
                contents.layouts[path].nchunks, rows[path], files, bytes(inline)
            )
    return contents.complete()


def _parse(raw: bytes, name: str) -> Mapping[str, Any]:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as err:
        raise ReferenceSetError(name, "", f"is no JSON document: {err}") from err
    if not isinstance(document, dict):
        raise ReferenceSetError(
            name, "", f"holds a {type(document).__name__}, expected an object of references"
        )
    return document


def read_bytes(raw: bytes, *, name: str = "", folder: str | None = None) -> Contents:
    """Read a document from memory; gzip and zstd are recognised."""
    with open_document(raw) as file:
        return read_mapping(_parse(file.read(), name), name=name, folder=folder)


def read(address: str, *, options: Options, folder: str | None) -> Contents:
    """Read the document at a path or URL."""
    with open_document(address, options.storage_options) as file:
        return read_mapping(_parse(file.read(), address), name=address, folder=folder)
