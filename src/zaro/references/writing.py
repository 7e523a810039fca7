"""Reference sets to JSON: version 1, one entry a line, in bounded memory, at once or not at all."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from zaro._core import spell
from zaro.errors import StoreError, StoreForbiddenError, ZaroError
from zaro.references.aside import aside_of, hold, sweep
from zaro.references.columns import contents_of, name_of, target_folder
from zaro.references.contents import Contents
from zaro.references.files import is_local, local_path
from zaro.references.fingerprint import MEMBER
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.lookup import array_keys
from zaro.references.sources import open_document
from zaro.references.table import INLINE, Ids, Located, Reference, batches

if TYPE_CHECKING:
    from zaro.references.set import References

__all__ = ["Progress", "atomic", "check_replaceable", "new_document", "spelled", "write"]

ROOM = 1 << 20  # bytes of text made at a time
BATCH = 1 << 16  # chunks located at a time
_HEAD = 4096
_DATA = "is a file of data, which is left alone"
_BINARY = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")

Progress = Callable[[int, int], None]
"""Called with the chunks that are written, and those that there are."""


def spelled(data: bytes) -> str:
    """Spell bytes as a document holds them: text as it is, anything else in base64."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\x00"
    if _BINARY.search(text) or text.startswith("base64:"):
        return "base64:" + base64.b64encode(data).decode()
    return text


@contextmanager
def atomic(target: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its place when all is written, and leaves no trace otherwise."""
    if not is_local(target):
        import fsspec  # type: ignore[import-untyped]

        fs, path = fsspec.core.url_to_fs(target, **(storage_options or {}))
        with fs.transaction, fs.open(path, "wb") as remote:
            yield cast("IO[bytes]", remote)
        return
    path = os.path.abspath(local_path(target))
    sweep(path, "partial")
    aside = aside_of(path, "partial")
    try:
        with open(aside, "xb") as file:
            hold(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException as err:
        with suppress(OSError):
            os.unlink(aside)
        if isinstance(err, OSError) and not isinstance(err, ZaroError):
            raise StoreError(target, f"cannot be written: {err.strerror or err}") from err
        raise
    _sync_folder(os.path.dirname(path))


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_replaceable(target: str, storage_options: Mapping[str, Any] | None = None) -> None:
    """Refuse to write a document over a file of data, which no text is.

    Raises
    ------
    StoreError
        There is such a file.
    """
    if is_local(target) and not os.path.isfile(local_path(target)):
        return
    try:
        with open_document(target, storage_options) as there:
            start = there.read(_HEAD)
    except (FileNotFoundError, StoreForbiddenError):  # writing tells whether it is forbidden
        return
    except StoreError:  # a server that does not answer, say
        raise
    except Exception as err:  # each decompressor has errors of its own
        raise StoreError(target, _DATA) from err
    if b"\0" in start:
        raise StoreError(target, _DATA)


@contextmanager
def new_document(target: str, storage_options: Mapping[str, Any] | None = None) -> Iterator[IO[bytes]]:
    """Open a document for writing as `atomic` does, compressed if its name says so: `.gz` or `.zst`."""
    check_replaceable(target, storage_options)
    with atomic(target, storage_options) as raw, _compressed(raw, target) as file:
        yield file


@contextmanager
def _compressed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    if name.endswith((".gz", ".gzip")):
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
            yield cast("IO[bytes]", packed)
    elif name.endswith((".zst", ".zstd")):
        import zstandard

        with zstandard.ZstdCompressor(level=6).stream_writer(file, closefd=False) as writer:
            yield cast("IO[bytes]", writer)
    else:
        yield file


def write(
    refs: Contents | References,
    target: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a set to one JSON document; compressed where its name ends in `.gz` or `.zst`.

    Parameters
    ----------
    refs : References
    target : path or URL
    storage_options : mapping, optional
        fsspec's, for a URL.
    progress : callable, optional
        Called now and then with the chunks that are written, and those that there are.

    Notes
    -----
    Relative files keep their names where these mean the same in the new place, else they are resolved.
    """
    name = os.fspath(target)
    with new_document(name, storage_options) as file:
        for text in _document(contents_of(refs), target_folder(name), progress):
            file.write(text)


def _document(contents: Contents, folder: str, progress: Progress | None) -> Iterator[bytes | memoryview]:
    """Give the text piece by piece."""
    yield b'{"version":1,"refs":{\n'
    first = True
    for piece in _entries(contents, folder, progress):
        # every entry ends in a comma and a line end; those of the last one are taken back
        if not first:
            yield b",\n"
        first = False
        yield memoryview(piece)[:-2]
    if contents.fingerprints is None:
        yield b"\n}}\n"
    else:
        member = json.dumps(contents.fingerprints.spelled(folder)).encode()
        yield b'\n},"%s":%s}\n' % (MEMBER.encode(), member)


def _entries(
    contents: Contents, folder: str, progress: Progress | None
) -> Iterator[bytes | bytearray | memoryview]:
    total = sum(table.nchunks for table in contents.tables.values())
    done = 0
    yield from _members([*contents.metadata.items(), *contents.other.items()])
    for path, layout in contents.layouts.items():
        table = contents.tables[path]
        for ids in batches(table, BATCH):
            yield from _rows(path, layout, table.locate(ids), ids, folder)
            if progress is not None:
                progress(min(done + int(ids[-1]) + 1, total), total)
        done += table.nchunks


def _members(entries: list[tuple[str, Reference]]) -> Iterator[bytes]:
    for start in range(0, len(entries), 1024):
        text = io.StringIO()
        for key, value in entries[start : start + 1024]:
            text.write(
                f"{json.dumps(key)}:{json.dumps(spelled(value) if isinstance(value, bytes) else value)},\n"
            )
        yield text.getvalue().encode()


def _rows(
    path: str, layout: ChunkLayout, located: Located, ids: Ids, folder: str
) -> Iterator[bytes | memoryview]:
    inline = np.flatnonzero(located.file_id == INLINE)
    if len(inline):
        keys = array_keys(path, layout).keys(np.ascontiguousarray(ids[inline]))
        spans = zip(located.offset[inline].tolist(), located.length[inline].tolist(), strict=True)
        data = [bytes(located.inline[offset : offset + length]) for offset, length in spans]
        yield from _members(list(zip(keys, data, strict=True)))
    kept = np.flatnonzero(located.file_id >= 0)
    if not len(kept):
        return
    used, file = np.unique(located.file_id[kept], return_inverse=True)
    names = [json.dumps(name_of(located.files, k, folder)).encode() for k in used.tolist()]
    lead = json.dumps(join_path(path, "")).encode()[1:-1]
    start, room = 0, bytearray(ROOM + max(map(len, names)) + len(lead))
    while start < len(kept):
        done, nbytes = spell.rows(
            room,
            lead,
            np.array(layout.grid, np.int64),
            b"".join(names),
            np.cumsum([len(name) for name in names], dtype=np.int64),
            np.ascontiguousarray(ids[kept], np.int64),
            file.astype(np.int32).reshape(-1),
            np.ascontiguousarray(located.offset[kept]),
            np.ascontiguousarray(located.length[kept]),
            prefixed=layout.encoding.name == "default",
            separator=layout.encoding.separator,
            start=start,
        )
        start += done
        yield memoryview(room)[:nbytes]
