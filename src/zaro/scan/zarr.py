"""Existing Zarr stores: every chunk is the whole of a file, or a stored member of a zip file."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from zaro.detect import Opened, detect
from zaro.errors import ScanError
from zaro.metadata.documents import DocumentSource
from zaro.options import Options
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import METADATA_NAMES, array_layouts, join_path, split_key
from zaro.references.plain import KeyTable
from zaro.references.table import INLINE, WHOLE
from zaro.scan.settings import Settings
from zaro.scan.source import Source

__all__ = ["scan_zarr", "scan_zip"]

_NODES = (".zarray", ".zgroup", ".zattrs", "zarr.json")


def scan_zarr(url: str, options: Options, settings: Settings) -> Contents:
    """Reference every chunk that a store holds; lists the store.

    Documents stay as they are, but for consolidated copies of others. A shard is one whole file.
    """
    opened = detect(url, options)
    if opened.store is None:
        raise ScanError(url, "", "is a reference set already; open it with zaro.References.open")
    contents = Contents()
    for path in _paths(opened, "", settings):
        for name in _NODES:
            document = opened.document(join_path(path, name))
            if document is not None:
                contents.metadata[join_path(path, name)] = _raw(document)
    contents.layouts.update(array_layouts(contents.metadata))
    for path, layout in contents.layouts.items():
        table = KeyTable(opened.store, f"{path}/" if path else "", layout.encoding, layout.grid)
        ids = table.listed()
        store = _address(opened.store.url, url)
        names = [settings.spell(f"{store}/{key}") for key in table.keys(ids)]
        n = len(ids)
        rows = Rows(ids, np.arange(n, dtype=np.int32), np.zeros(n, np.int64), np.full(n, WHOLE, np.int64))
        contents.tables[path] = make_table(layout.nchunks, rows, FileTable(names, None))
    return contents


def _address(store: str, url: str) -> str:
    return (store or url).rstrip("/").removeprefix("file://")


def _paths(opened: Opened, path: str, settings: Settings) -> Iterable[str]:
    yield path
    if any(opened.document(join_path(path, name)) for name in (".zarray",)):
        return
    for name in opened.names(path):
        below = join_path(path, name)
        found = any(
            opened.document(join_path(below, document)) for document in ("zarr.json", ".zarray", ".zgroup")
        )
        if found and not settings.skips(below):
            yield from _paths(opened, below, settings)


def _raw(document: DocumentSource) -> bytes:
    """A document as bytes, without the copies of others in it."""
    if isinstance(document, bytes | bytearray | memoryview):
        if b"consolidated_metadata" not in bytes(document):
            return bytes(document)
        document = json.loads(bytes(document))
    assert isinstance(document, Mapping)
    return json.dumps({k: v for k, v in document.items() if k != "consolidated_metadata"}).encode()


# ---- zip files ---------------------------------------------------------------------------------


def scan_zip(source: Source, settings: Settings) -> Contents:
    """Reference every chunk of a Zarr store in a zip file.

    Raises
    ------
    ScanError
        The file is no zip file of a Zarr store, or a chunk in it is compressed once more.
    """
    try:
        archive = zipfile.ZipFile(source.file)
    except zipfile.BadZipFile as err:
        raise ScanError(source.url, "", f"is no readable zip file: {err}") from err
    members = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    start = _root(source, members)
    contents = Contents()
    rows: dict[str, dict[int, Any]] = {}
    chunks = {}
    for name, info in members.items():
        key = name.removeprefix(start)
        if not name.startswith(start) or _skipped(key, settings):
            continue
        if split_key(key)[1] in METADATA_NAMES:
            if split_key(key)[1] != ".zmetadata":
                contents.metadata[key] = _raw(archive.read(info))
        else:
            chunks[key] = info
    contents.layouts.update(array_layouts(contents.metadata))
    for key, info in chunks.items():
        place = contents.chunk(key)
        if place is None:
            contents.other[key] = _reference(source, archive, info, settings)
        else:
            rows.setdefault(place[0], {})[place[1]] = _reference(source, archive, info, settings)
    files = FileTable([settings.spell(source.url)], None)
    for path, layout in contents.layouts.items():
        contents.tables[path] = make_table(layout.nchunks, *_columns(rows.get(path, {}), files))
    return contents


def _skipped(key: str, settings: Settings) -> bool:
    parts = key.split("/")[:-1]
    return any(settings.skips("/".join(parts[:k])) for k in range(1, len(parts) + 1))


def _root(source: Source, members: Mapping[str, Any]) -> str:
    """Folder of the root: the highest that holds a document."""
    found = [
        split_key(name)[0] for name in members if split_key(name)[1] in (".zgroup", ".zarray", "zarr.json")
    ]
    if not found:
        raise ScanError(source.url, "", "is a zip file without a Zarr store in it")
    top = min(found, key=lambda path: (path.count("/") + bool(path), path))
    return f"{top}/" if top else ""


def _reference(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo, settings: Settings) -> Any:
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        if info.file_size < settings.inline_threshold:
            return archive.read(info)
        header = source.read(info.header_offset, 30)
        names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        return [settings.spell(source.url), info.header_offset + 30 + names, info.file_size]
    if info.file_size <= settings.unsupported_inline_threshold and not info.flag_bits & 1:
        return archive.read(info)
    reason = f"member {info.filename!r} is compressed or encrypted by zip; only stored ones can be referenced"
    raise ScanError(source.url, split_key(info.filename)[0], reason)


def _columns(found: Mapping[int, Any], files: FileTable) -> tuple[Rows, FileTable, bytes]:
    n = len(found)
    rows = Rows(
        np.fromiter(found, np.int64, n), np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int64)
    )
    inline = bytearray()
    for row, reference in enumerate(found.values()):
        if isinstance(reference, bytes):
            rows.file_id[row], rows.offset[row], rows.length[row] = INLINE, len(inline), len(reference)
            inline += reference
        else:
            _, rows.offset[row], rows.length[row] = reference
    return rows, files, bytes(inline)
