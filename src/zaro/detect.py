"""What lies at this address? All format sniffing, here only."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from zaro.errors import MetadataError, ReferenceSetError, StoreError, StoreNotFoundError
from zaro.metadata import ArrayMetadata, consolidated_v2
from zaro.metadata.documents import Document, DocumentSource
from zaro.openings import Openings, crc_of, state_of
from zaro.options import Options
from zaro.references.layout import ChunkLayout
from zaro.references.plain import KeyTable
from zaro.references.set import References
from zaro.references.table import Located, Table
from zaro.stores.base import Bytes, Store
from zaro.stores.local import LocalStore, read_span
from zaro.stores.memory import MemoryStore
from zaro.stores.remote import FsspecStore
from zaro.stores.targets import Targets

__all__ = ["SNIFFED", "FileFormat", "Opened", "detect", "detect_again", "note", "sniff"]

_DOCUMENTS = ("zarr.json", ".zgroup", ".zarray", ".zmetadata")
_REFERENCE_ENDINGS = (".json", ".json.gz", ".json.zst", ".parquet", ".parq")


@dataclass(frozen=True, eq=False)
class Opened:
    """A hierarchy of nodes, whichever way it is stored.

    Attributes
    ----------
    label : str
        The target, for messages.
    document : callable
        Metadata document of a key, None where absent.
    names : callable
        Names that may be nodes directly below a path.
    table : callable
        Where the chunks of the array at a path lie.
    targets : Targets
        The files that its references point at.
    references : References or None
        The reference set, where it is one.
    store : Store or None
        The store, where it is one.
    is_consolidated : bool
        Whether all documents are at hand: always so of references, of a store where its root holds them.
    state_of_store : str
        What `state` is where it is no reference set.
    """

    label: str
    document: Callable[[str], DocumentSource | None]
    names: Callable[[str], Iterable[str]]
    table: Callable[[str, ArrayMetadata], Table]
    targets: Targets
    references: References | None = None
    store: Store | None = None
    is_consolidated: bool = True
    state_of_store: str = ""

    @property
    def state(self) -> str:
        """Differs where what was opened has changed; empty where that cannot be told."""
        return self.state_of_store if self.references is None else self.references.state

    def read_spans(
        self, located: Located, parts: Sequence[tuple[str, int, int | None]]
    ) -> Sequence[Bytes | None]:
        """The bytes of spans of located files; None for a key that the store does not hold."""
        return located.store.get_parts(parts) if located.store is not None else self.targets.read(parts)


def detect(target: Any, options: Options) -> Opened:
    """Open whatever a target is: a path, URL, mapping or References.

    Raises
    ------
    StoreError
        There is nothing that zaro reads; says what was found.
    """
    if isinstance(target, References):
        return _references(target, options)
    if isinstance(target, Mapping):
        if _is_reference_mapping(target):
            return _references(_open_references(target, options), options)
        return _plain(MemoryStore(target), options)
    if isinstance(target, (str, os.PathLike)):
        return _address(os.fspath(target), options)
    raise TypeError(f"cannot open {type(target).__name__}: a path, URL, mapping or zaro.References is needed")


_OPENINGS: Openings[Opened] = Openings(kept=16)


def detect_again(target: Any, options: Options, state: str) -> Opened:
    """As `detect`; what this process has opened in the same state already is not opened again."""
    key = _key(target, options, state)
    return detect(target, options) if key is None else _OPENINGS.again(key, lambda: detect(target, options))


def note(target: Any, options: Options, opened: Opened) -> None:
    """Let `detect_again` find what is open as long as somebody holds it."""
    key = _key(target, options, opened.state)
    if key is not None:
        _OPENINGS.note(key, opened)


def _key(target: Any, options: Options, state: str) -> Hashable:
    """What tells openings apart; None for what comes with its contents."""
    address = target.address if isinstance(target, References) else target
    if not isinstance(address, str):
        return None
    own = pickle.dumps(target.options) if isinstance(target, References) else b""
    return address, state, own, pickle.dumps(options)


def _is_reference_mapping(target: Mapping[str, Any]) -> bool:
    """A kerchunk document, or a flat mapping that holds more than plain bytes."""
    if "refs" in target and not isinstance(target["refs"], (bytes, bytearray, memoryview)):
        return True
    if not isinstance(target, dict):
        return False  # a lazy mapping is a store: looking at its values would read them
    return any(not isinstance(value, (bytes, bytearray, memoryview)) for value in target.values())


def _address(address: str, options: Options) -> Opened:
    local = address.removeprefix("file://").removeprefix("local://")
    if "://" in local or "::" in local:
        return _remote(address, options)
    local = os.path.expanduser(local)
    if os.path.isdir(local):
        if _is_parquet_set(local):
            return _references(_open_references(local, options), options)
        return _plain(LocalStore(local), options)
    if os.path.isfile(local) and _is_zip(local):
        from zaro.stores.zip import ZipStore

        return _plain(ZipStore(local), options)
    if os.path.isfile(local):
        try:
            return _references(_open_references(local, options), options)
        except ReferenceSetError:
            _refuse_data(local, read_span(local, 0, min(_HEAD, os.path.getsize(local))))
            raise
    raise StoreNotFoundError(address, "No such file or directory")


def _remote(address: str, options: Options) -> Opened:
    """What lies at a URL: one round trip asks for every document that the root of a store may have."""
    path = address.partition("::")[0].partition("?")[0].rstrip("/")
    if path.endswith(_REFERENCE_ENDINGS):
        return _references(_open_references(address, options), options)
    if path.endswith(".zip") and "::" not in address:
        inner = {address.partition("://")[0]: dict(options.storage_options or {})}
        store = FsspecStore(f"zip://::{address}", inner, options.timeout)
    else:
        store = FsspecStore(address, options.storage_options, options.timeout)
    documents = store.root_documents()
    if b'"record_size"' in bytes(documents.get(".zmetadata", b"")):
        return _references(_open_references(address.rstrip("/") + "/", options), options)
    if not documents:
        start = bytes(store.start_of_root(_HEAD))
        if start.startswith((b"{", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
            return _references(_open_references(address, options), options)
        _refuse_data(address, start)
    return _plain(store, options)


def _refuse_data(address: str, head: bytes) -> None:
    """Say what to do with a file of data: references point into it, it is none of their documents."""
    found = sniff(head)
    if found is not None:
        reason = (
            f"is a file of data ({found}), no reference set: zaro.scan, or `zaro scan` at a shell, makes one"
        )
        raise ReferenceSetError(address, "", reason)


def _is_zip(path: str) -> bool:
    """Whether a file begins as archives do."""
    try:
        return read_span(path, 0, 4) in (b"PK\x03\x04", b"PK\x05\x06")
    except OSError:
        return False


def _is_parquet_set(folder: str) -> bool:
    """Whether `.zmetadata` says how many references a partition holds: only Parquet sets do."""
    try:
        return b'"record_size"' in read_span(os.path.join(folder, ".zmetadata"), 0, None)
    except OSError:  # which is told where the document is needed
        return False


def _open_references(target: Any, options: Options) -> References:
    return References.open(
        target,
        storage_options=options.storage_options,
        remote_protocol=options.remote_protocol,
        remote_options=options.remote_options,
        allow_targets=options.allow_targets,
        missing=options.missing,
        timeout=options.timeout,
    )


# ---- reference sets ----------------------------------------------------------------------------


def _references(refs: References, options: Options) -> Opened:
    contents = refs.contents
    targets = Targets(refs.address or "", options)
    documents: dict[str, DocumentSource] = dict(contents.metadata)
    if ".zmetadata" in documents:
        documents = {**_all_of(documents[".zmetadata"], refs.address or "reference set"), **documents}

    def document(key: str) -> DocumentSource | None:
        found = documents.get(key)
        if found is None and key in contents.other:
            found = _bytes_of(refs[key], targets)
        return found

    below = _names_below(_node_paths(documents) | _node_paths(contents.other))

    def names(path: str) -> Iterable[str]:
        return below.get(path, ())

    def table(path: str, metadata: ArrayMetadata) -> Table:
        return contents.table(path, ChunkLayout(metadata.grid, metadata.key_encoding))

    label = refs.address or "reference set"
    return Opened(label, document, names, table, targets, refs)


def _all_of(source: DocumentSource, target: str) -> dict[str, DocumentSource]:
    try:
        return consolidated_v2(source)
    except MetadataError as err:
        raise err.of(target) from None


def _bytes_of(reference: Any, targets: Targets) -> bytes:
    if isinstance(reference, (bytes, bytearray, memoryview)):
        return bytes(reference)
    url, offset, length = (*reference, 0, None)[:3] if len(reference) == 1 else reference
    try:
        return bytes(targets.read([(url, offset, length)])[0])
    except StoreError:
        raise
    except FileNotFoundError as err:  # listed, so it must be there
        raise StoreNotFoundError(url, "is listed as a document of the set, and does not exist") from err


def _node_paths(keys: Iterable[str]) -> set[str]:
    return {key.rpartition("/")[0] for key in keys if key.rpartition("/")[2] in _DOCUMENTS}


def _names_below(paths: Iterable[str]) -> dict[str, list[str]]:
    """Names directly below each path, in order; worked out once, since a tree asks for all of them."""
    found: dict[str, set[str]] = {}
    for path in paths:
        below = path
        while below:
            above, _, name = below.rpartition("/")
            members = found.setdefault(above, set())
            if name in members:
                break
            members.add(name)
            below = above
    return {path: sorted(members) for path, members in found.items()}


# ---- plain stores ------------------------------------------------------------------------------


def _plain(store: Store, options: Options) -> Opened:
    try:
        consolidated = _consolidated(store) if options.consolidated else None
    except MetadataError as err:
        raise err.of(store.url) from None
    below = {} if consolidated is None else _names_below(_node_paths(consolidated))

    def document(key: str) -> DocumentSource | None:
        if ".." in key.split("/") or key.startswith("/"):
            raise StoreError(store.url, f"key {key!r} climbs out of the store")
        if consolidated is not None:
            return consolidated.get(key)
        return store.document(key) if isinstance(store, FsspecStore) else store.get(key)

    def names(path: str) -> Iterable[str]:
        if consolidated is None and isinstance(store, FsspecStore):
            found = [name for name in store.names(path) if not name.startswith(".") and name != "zarr.json"]
            store.load([f"{path}/{name}".strip("/") for name in found])
            return found
        if consolidated is None:
            return (name for name in store.names(path) if not name.startswith(".") and name != "zarr.json")
        return below.get(path, ())

    def table(path: str, metadata: ArrayMetadata) -> Table:
        return KeyTable(store, f"{path}/" if path else "", metadata.key_encoding, metadata.grid)

    return Opened(
        store.url,
        document,
        names,
        table,
        Targets("", options),
        store=store,
        is_consolidated=consolidated is not None,
        state_of_store=_state(store),
    )


def _state(store: Store) -> str:
    if isinstance(store, FsspecStore):
        return crc_of(
            part for item in sorted(store.root_documents().items()) for part in (item[0].encode(), item[1])
        )
    return "" if isinstance(store, MemoryStore) else state_of(store.url)


def _consolidated(store: Store) -> dict[str, DocumentSource] | None:
    """All documents of a store by key, where its root holds them consolidated."""
    known = store.root_documents() if isinstance(store, FsspecStore) else None
    root = store.get("zarr.json") if known is None else known.get("zarr.json")
    if root is not None:
        document = Document.parse("zarr.json", root)
        inline = document.members.get("consolidated_metadata")
        members = inline.get("metadata") if isinstance(inline, Mapping) else None
        if not isinstance(members, Mapping):
            return None
        return {
            "zarr.json": document.members,
            **{f"{path}/zarr.json": found for path, found in members.items()},
        }
    old = store.get(".zmetadata") if known is None else known.get(".zmetadata")
    return None if old is None else consolidated_v2(old)


# ---- files that are not Zarr -------------------------------------------------------------------

FileFormat = Literal["hdf5", "netcdf3", "tiff", "grib", "zip"]
"""What a file may be that references can point into."""

_HEAD = 8
"""Bytes from the start of most files that tell their format."""
SNIFFED = 1 << 16
"""Bytes from the start of a file that tell its format."""
_HDF5 = b"\x89HDF\r\n\x1a\n"
_MAGIC: dict[bytes, FileFormat] = {
    b"CDF\x01": "netcdf3",
    b"CDF\x02": "netcdf3",
    b"CDF\x05": "netcdf3",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"II+\0": "tiff",
    b"MM\0+": "tiff",
    b"GRIB": "grib",
    b"PK\x03\x04": "zip",
}


def sniff(head: bytes) -> FileFormat | None:
    """Tell the format of a file from its first bytes; None for one that is none of ours.

    An HDF5 file may begin with bytes of its user's, 512 or a power of two times as many; a message of
    GRIB may stand behind the header of the line that brought it.
    """
    found = _MAGIC.get(head[:4])
    if found is not None:
        return found
    at = 0
    while at < len(head):
        if head.startswith(_HDF5, at):
            return "hdf5"
        at = 2 * at or 512
    return "grib" if b"GRIB" in head[:4096] else None
