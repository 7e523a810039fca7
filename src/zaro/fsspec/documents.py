"""What `fo` may be, and the references in it: columns where it is a document, a mapping where it is one."""

from __future__ import annotations

import base64
import json as standard_json
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

import fsspec  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from zaro.options import Options
from zaro.references import json
from zaro.references.layout import is_metadata
from zaro.references.set import References
from zaro.references.table import Reference

try:
    from ujson import dumps as _dumps  # what fsspec spells objects with, where it is installed
except ImportError:
    from json import dumps as _dumps  # type: ignore[assignment]

__all__ = ["Document", "as_bytes", "dumps", "open_document", "spelled", "text_of"]

_PARQUET_ENDINGS = ("parq", "parquet", "/")


@dataclass(slots=True)
class Document:
    """References that were opened.

    Attributes
    ----------
    columns : callable or None
        Opens them in columns, where they came as a document.
    mapping : mutable mapping or None
        The references themselves, where they came as a mapping.
    templates : dict
        Templates of a mapping, with what overrides them.
    origin : str or None
        Address of the document; None where it came from none.
    deferred : bool
        Whether opening the columns may be refused, so that it waits for the first use.
    """

    columns: Callable[[], References] | None = None
    mapping: MutableMapping[str, Any] | None = None
    templates: dict[str, Any] = field(default_factory=dict)
    origin: str | None = None
    deferred: bool = False


def open_document(
    fo: Any,
    *,
    options: Mapping[str, Any],
    target: str | None,
    template_overrides: Mapping[str, Any] | None,
    lazy: Callable[[str, Any], MutableMapping[str, Any]],
) -> Document:
    """Open whatever `fo` is: a mapping, References, a JSON document or a folder of Parquet files.

    Parameters
    ----------
    options : mapping
        For the file system of the document; `protocol` is among them.
    lazy : callable
        Opens a folder of Parquet files, given its path and file system.
    """
    if isinstance(fo, References):
        return Document(columns=lambda: fo)
    if not isinstance(fo, str | os.PathLike):
        return _of_mapping(fo, template_overrides)
    fo = os.fspath(fo)
    fs, path = fsspec.core.url_to_fs(fo, **options)
    if ".json" not in path and (fo.endswith(_PARQUET_ENDINGS) or fs.isdir(path)):
        return Document(mapping=lazy(path, fs), origin=f"{fs.unstrip_protocol(path)}/")
    origin = fo if "::" in fo else fs.unstrip_protocol(path)
    if template_overrides or target is not None:
        with fsspec.open(fo, "rb", **options) as file:
            found = _of_mapping(standard_json.load(file), template_overrides)
        found.origin = origin
        return found
    return Document(columns=_once(lambda: _read(fo, fs, path, options)), origin=origin)


def _once(opener: Callable[[], References]) -> Callable[[], References]:
    opened = opener()
    return lambda: opened


def _read(fo: str, fs: Any, path: str, options: Mapping[str, Any]) -> References:
    """Read a document into columns; its relative paths stay as written."""
    if type(fs) is LocalFileSystem and not options.get("compression"):
        os.stat(path)  # fsspec's error, where there is no such file
        return References(json.read(path, options=Options(), folder=None))
    with fsspec.open(fo, "rb", **options) as file:
        return References(json.read_bytes(file.read(), name=fo))


def _of_mapping(fo: Any, template_overrides: Mapping[str, Any] | None) -> Document:
    version = fo.get("version", None)
    if version is None and not isinstance(fo.get("refs"), Mapping):
        return Document(mapping=_plain(fo) if isinstance(fo, dict) else fo)
    if version not in (None, 1):
        raise ValueError(f"Unknown reference spec version: {version}")
    templates = {**(fo.get("templates") or {}), **(template_overrides or {})}
    if not templates and not fo.get("gen"):
        return Document(mapping=_plain(fo.get("refs") or {}))
    document = {**fo, "version": 1, "templates": templates, "refs": _plain(fo.get("refs") or {})}
    return Document(
        columns=lambda: References.open(document), templates=templates, deferred=bool(fo.get("gen"))
    )


def dumps(value: Any) -> str:
    """Spell a JSON value as fsspec does."""
    return _dumps(value)


def _plain(refs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: dumps(value) if isinstance(value, dict) else value for key, value in refs.items()}


# ---- references as fsspec shows them -----------------------------------------------------------


def as_bytes(value: Any) -> bytes | None:
    """Bytes that stand in a set itself; None for a reference to a file."""
    if isinstance(value, str):
        value = value.encode()
    elif hasattr(value, "to_bytes") and not isinstance(value, int):  # a buffer of zarr-python's
        value = value.to_bytes()
    if not isinstance(value, bytes | bytearray | memoryview):
        return None
    raw = bytes(value)
    return base64.b64decode(raw[7:]) if raw.startswith(b"base64:") else raw


def spelled(references: Mapping[str, Reference]) -> Iterator[tuple[str, Any]]:
    """References as a document has them: bytes as text, or as base64 where they are none."""
    for key, value in references.items():
        yield key, text_of(value, is_text=is_metadata(key)) if isinstance(value, bytes) else value


def text_of(raw: bytes, *, is_text: bool = False) -> str:
    """Spell bytes as kerchunk does: ASCII as it is, the rest in base64 unless it is known to be text."""
    if not raw.startswith(b"base64:") and (is_text or raw.isascii()):
        try:
            return raw.decode()
        except UnicodeDecodeError:
            pass
    return "base64:" + base64.b64encode(raw).decode()
