"""Existing Zarr stores: every chunk is the whole of a file, or a stored member of a zip file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from zaro import config
from zaro.detect import Opened, detect
from zaro.errors import ScanError
from zaro.options import Options
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import FileTable
from zaro.references.layout import METADATA_NAMES, array_layouts, join_path, split_key
from zaro.references.plain import KeyTable
from zaro.references.table import INLINE, WHOLE
from zaro.scan.members import document_alone
from zaro.scan.settings import Settings
from zaro.scan.source import Source
from zaro.stores.base import packed_document_most

__all__ = ["scan_zarr", "scan_zip"]

_ENCRYPTED = 0x1
_NODES = (".zarray", ".zgroup", ".zattrs", "zarr.json")


def scan_zarr(url: str, options: Options, settings: Settings) -> Contents:
    """Reference every chunk that a store holds; lists the store.

    Documents stay as they are, but for consolidated copies of others. A shard is one whole file.
    """
    opened = detect(url, options)
    if opened.store is None:
        raise ScanError(url, "", "is a reference set already; open it with zaro.References.open")
    contents = Contents()
    for path in _paths(opened, settings):
        for key in (join_path(path, name) for name in _NODES):
            document = opened.document(key)
            if document is not None:
                contents.metadata[key] = document_alone(key, document, url)
    if not contents.metadata:
        hint = "the files of a folder are named one by one, or as 'folder/*.nc'"
        raise ScanError(url, "", f"holds no Zarr; {hint}")
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


def _paths(opened: Opened, settings: Settings) -> Iterator[str]:
    """Paths of all nodes, each before those below it."""
    left = [""]
    while left:
        path = left.pop()
        yield path
        if not opened.document(join_path(path, ".zarray")):
            below = [join_path(path, name) for name in opened.names(path)]
            left += [one for one in reversed(below) if _is_node(opened, one) and not settings.skips(one)]


def _is_node(opened: Opened, path: str) -> bool:
    return any(opened.document(join_path(path, name)) for name in ("zarr.json", ".zarray", ".zgroup"))


# ---- zip files ---------------------------------------------------------------------------------


def scan_zip(source: Source, settings: Settings) -> Contents:
    """Reference every chunk of a Zarr store in a zip file.

    Raises
    ------
    ScanError
        The file is no zip file of a Zarr store, is damaged, or a chunk in it is compressed once more.
    MetadataError
        A document in it is no JSON.
    """
    try:
        archive = zipfile.ZipFile(source.file)
    except (ValueError, NotImplementedError, zipfile.BadZipFile) as err:
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
                contents.metadata[key] = document_alone(key, _document(source, archive, info), source.url)
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
    stored = info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & _ENCRYPTED
    if info.file_size < (settings.inline_threshold if stored else settings.unsupported_inline_threshold + 1):
        return _unpacked(source, archive, info)
    if not stored:
        raise _error(source, info, "is compressed or encrypted by zip; only stored ones can be referenced")
    if info.compress_size != info.file_size:
        reason = f"is stored as it is, and has {info.compress_size} bytes where {info.file_size} are promised"
        raise _error(source, info, reason)
    header = source.read(info.header_offset, 30)
    if header[:4] != b"PK\x03\x04":
        raise _error(source, info, "does not lie where the directory of the archive says")
    names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
    return [settings.spell(source.url), info.header_offset + 30 + names, info.file_size]


def _document(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """A metadata document, which is no longer than any may be."""
    most = min(config.METADATA, packed_document_most(info.compress_size))
    if info.file_size > most:
        raise _error(source, info, f"unpacks to {info.file_size} bytes, expected {most} at most of metadata")
    return _unpacked(source, archive, info)


def _unpacked(source: Source, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """The bytes of a member, never more than it promises."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # what zipfile unpacks in pieces
        raise _error(source, info, f"is compressed by method {info.compress_type} of zip, not by deflate")
    try:
        return archive.read(info)
    except (OSError, EOFError, ValueError, RuntimeError, zlib.error, zipfile.BadZipFile) as err:
        raise _error(source, info, f"cannot be unpacked: {err}") from err


def _error(source: Source, info: zipfile.ZipInfo, reason: str) -> ScanError:
    return ScanError(source.url, split_key(info.filename)[0], f"member {info.filename!r} {reason}")


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
