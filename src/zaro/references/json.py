"""kerchunk's JSON documents: version 0 (flat) and version 1 (`templates`, `gen`, `refs`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from zaro._core.scan import Scanner
from zaro.errors import ReferenceSetError
from zaro.options import Options
from zaro.references import generator
from zaro.references.contents import Contents
from zaro.references.fingerprint import MEMBER, written
from zaro.references.formula import expand
from zaro.references.generator import parse
from zaro.references.layout import METADATA_NAMES, split_key
from zaro.references.overlay import overlay
from zaro.references.scanning import Scanned, Source, scan_document
from zaro.references.sources import is_packed, open_document
from zaro.references.standard import read_generators
from zaro.references.template import Templates

__all__ = ["read", "read_bytes", "read_mapping"]


def read(address: str, *, options: Options, folder: str | None) -> Contents:
    """Read the document at a path or URL."""
    return _read(partial(open_document, address, options.storage_options, options.timeout), address, folder)


def read_bytes(raw: bytes, *, name: str = "", folder: str | None = None) -> Contents:
    """Read a document from memory; gzip and zstd are recognised."""
    return _read(partial(open_document, raw) if is_packed(raw) else raw, name, folder)


def _read(source: Source, name: str, folder: str | None) -> Contents:
    scanned = scan_document(source, name)
    if not scanned.scanner.version[0]:
        return scanned.contents(scanned.files(None, folder))
    fields: dict[str, Any] = dict(scanned.scanner.fields())
    for field in fields.keys() - {"gen"}:  # which may be long, and has a reader of its own
        fields[field] = _field(bytes(fields[field]), field, name)
    return _nested(scanned, fields, folder)


def _nested(scanned: Scanned, fields: Mapping[str, Any], folder: str | None) -> Contents:
    """Make the contents of a document of version 1."""
    name = scanned.scanner.name
    _check_version(fields.get("version"), name)
    templates = Templates(fields.get("templates"), name)
    contents = scanned.contents(scanned.files(templates.expand if templates else None, folder))
    members = parse(fields.get("gen"), name)
    made = expand(read_generators(members, templates), contents.layouts, folder)
    custom = generator.read(
        members, contents.metadata, name, layouts=contents.layouts, folder=folder, expand=templates.expand
    )
    for path, table in [*custom.items(), *made.tables.items()]:  # what stands under refs counts
        contents.tables[path] = overlay(table, contents.tables[path])
    contents.other = {**made.other, **contents.other}
    contents.fingerprints = written(fields.get(MEMBER), name, folder)
    return contents


def _field(raw: bytes, field: str, name: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as err:
        raise ReferenceSetError(name, field, f"is no JSON: {err}") from None


def _check_version(version: object, name: str) -> None:
    if version is not None and version != 1:
        raise ReferenceSetError(name, "version", f"is {version!r}, expected 1")


# ---- documents that are parsed already ---------------------------------------------------------


def read_mapping(document: Mapping[str, Any], *, name: str = "", folder: str | None = None) -> Contents:
    """Read a parsed document."""
    version, refs = document.get("version"), document.get("refs")
    _check_version(version, name)
    nested = version is not None or isinstance(refs, Mapping)
    refs = document if not nested else {} if refs is None else refs
    if not isinstance(refs, Mapping):
        raise ReferenceSetError(name, "refs", f"is {type(refs).__name__}, expected an object")
    scanned = Scanned(Scanner(name))
    for documents in (True, False):  # arrays first, so that no key must wait for its array
        for key, value in refs.items():
            if not isinstance(key, str):
                raise ReferenceSetError(name, repr(key), "is no text, expected a key")
            if (split_key(key)[1] in METADATA_NAMES) == documents:
                _put(scanned.scanner, key, value)
        for path, layout in scanned.gather().items() if documents else ():
            scanned.declare(path, layout)
    scanned.close()
    return _nested(scanned, document, folder) if nested else scanned.contents(scanned.files(None, folder))


def _put(scanner: Scanner, key: str, value: Any) -> None:
    if isinstance(value, list | tuple):
        _put_list(scanner, key, value)
    elif isinstance(value, str):
        scanner.put_text(key, value)
    elif value is None:
        scanner.put_absent(key)
    elif isinstance(value, bytes | bytearray | memoryview):
        scanner.put_inline(key, value)
    elif isinstance(value, Mapping):
        scanner.put_text(key, json.dumps(value))
    elif hasattr(value, "to_bytes") and not isinstance(value, int):  # a buffer of zarr-python
        scanner.put_inline(key, value.to_bytes())
    else:
        raise _bad(scanner, key, value)


def _put_list(scanner: Scanner, key: str, value: list[Any] | tuple[Any, ...]) -> None:
    if len(value) not in (1, 3) or not isinstance(value[0], str):
        raise _bad(scanner, key, value)
    try:
        numbers = [_number(number) for number in value[1:]]
    except (TypeError, ValueError):
        raise _bad(scanner, key, value) from None
    scanner.put(key, value[0], *numbers)


def _number(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError
    if not 0 <= value < 2**63:
        raise ValueError
    return int(value)


def _bad(scanner: Scanner, key: str, value: object) -> ReferenceSetError:
    text = repr(value)
    found = text if len(text) < 80 else f"{text[:80]}..."
    expected = "expected [url], [url, offset, length], text, an object or null"
    return ReferenceSetError(scanner.name, repr(key), f"is {found}, {expected}")
