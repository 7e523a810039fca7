"""Keys and bytes of what was opened: a reference set, or a store of another kind."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from zaro.detect import Opened, detect
from zaro.errors import ChunkError, MetadataError, MissingChunkError, StoreError
from zaro.metadata import ArrayMetadata, read_node
from zaro.metadata.documents import DocumentSource
from zaro.options import Options
from zaro.references.layout import is_metadata, split_key
from zaro.references.listing import Listing, size_of
from zaro.references.set import References
from zaro.references.table import WHOLE
from zaro.stores.base import Bytes, Store
from zaro.stores.local import LocalStore
from zaro.stores.memory import MemoryStore
from zaro.zarr.ranges import Span, cut

__all__ = ["Objects", "open_objects"]

Wanted = Sequence[tuple[str, Span]]


class Objects(Protocol):
    """Values by key, for one store of zarr-python."""

    @property
    def is_consolidated(self) -> bool:
        """Whether the root's metadata are at hand consolidated."""
        ...

    def at_hand(self, wanted: Wanted) -> list[Bytes | None] | None:
        """Give parts of values if that takes no reading from anywhere, else None."""
        ...

    def get(self, wanted: Wanted) -> list[Bytes | None]:
        """Give parts of values; None for a key that is absent."""
        ...

    def exists(self, key: str) -> bool:
        """Whether there is a value for a key."""
        ...

    def size(self, key: str) -> int | None:
        """Size of a value in bytes; None where it is absent."""
        ...

    def size_below(self, path: str) -> int:
        """Size of everything at or below a path, in bytes."""
        ...

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix."""
        ...

    def names(self, path: str) -> list[str]:
        """Names directly below a path."""
        ...


def open_objects(target: Any, options: Options) -> Objects:
    """Open a target, whatever it is."""
    try:
        opened = detect(target, options)
    except MetadataError:
        # a broken document is a value like any other; whoever opens the node hears of it
        if isinstance(target, Mapping):
            return StoreObjects(None, MemoryStore(target), options)
        if isinstance(target, str) and os.path.isdir(target):
            return StoreObjects(None, LocalStore(target), options)
        raise
    if opened.references is not None:
        return ReferenceObjects(opened, opened.references, options)
    assert opened.store is not None
    return StoreObjects(opened, opened.store, options)


def _spelled(document: DocumentSource) -> Bytes:
    if isinstance(document, Mapping):
        return json.dumps(document).encode()
    return document.encode() if isinstance(document, str) else document


def _part(whole: Bytes, span: Span) -> Bytes:
    if span is None:
        return whole
    start, length = cut(len(whole), span)
    return memoryview(whole)[start : start + length]


class _Absent:
    """What `missing` says of a chunk that is absent."""

    def __init__(self, opened: Opened | None, options: Options) -> None:
        self._opened, self._missing = opened, options.missing

    def check(self, key: str) -> None:
        """Raise if the caller asked to be told of absent chunks, and the key is one."""
        if self._missing != "raise" or self._opened is None:
            return
        if found := self._chunk(self._opened, key):
            raise MissingChunkError("is absent", node=found[0], key=found[1], file=self._opened.label)

    def _chunk(self, opened: Opened, key: str) -> tuple[str, str] | None:
        path = split_key(key)[0]
        while True:
            node = None if is_metadata(key) else read_node(opened.document, path)
            if isinstance(node, ArrayMetadata):
                name = key[len(path) + 1 :] if path else key
                return (path, name) if node.key_encoding.index(name, node.grid) is not None else None
            if not path:
                return None
            path = split_key(path)[0]


# ---- reference sets ----------------------------------------------------------------------------


class ReferenceObjects:
    """The keys of a reference set."""

    is_consolidated = True

    def __init__(self, opened: Opened, references: References, options: Options) -> None:
        self._opened, self._references = opened, references
        self._absent = _Absent(opened, options)
        self._listing: Listing | None = None
        self._made = dict(_consolidated(opened, references))

    def at_hand(self, wanted: Wanted) -> list[Bytes | None] | None:
        """See `Objects.at_hand`."""
        if any(not is_metadata(key) for key, _ in wanted):
            return None
        return self.get(wanted)

    def get(self, wanted: Wanted) -> list[Bytes | None]:
        """See `Objects.get`."""
        found: list[Bytes | None] = []
        away: list[_Away] = []
        for key, span in wanted:
            reference = self._find(key)
            if reference is None:
                self._absent.check(key)
                found.append(None)
            elif isinstance(reference, list):
                away.append(_Away(len(found), key, reference, span))
                found.append(b"")
            else:
                found.append(_part(reference, span))
        for one, part in zip(away, self._fetch(away), strict=True):
            found[one.place] = part
        return found

    def _find(self, key: str) -> list[str | int] | Bytes | None:
        if (made := self._made.get(key)) is not None:
            return made
        try:
            return self._references[key]
        except KeyError:
            document = self._opened.document(key) if is_metadata(key) else None
            return None if document is None else _spelled(document)

    def _fetch(self, away: Sequence[_Away]) -> Sequence[Bytes]:
        try:
            return self._opened.targets.read([one.part() for one in away])
        except OSError as err:
            if len(away) == 1:
                return [self._fetch_again(away[0], err)]
        return [self._fetch([one])[0] for one in away]  # one by one, to see which it is

    def _fetch_again(self, one: _Away, err: OSError) -> Bytes:
        """Slice the whole file, where it may only end before the span does; else say what is wrong."""
        if len(one.reference) == 1 and one.span is not None:
            return _part(self._fetch([one._replace(span=None)])[0], one.span)
        url, offset, length = (*one.reference, None, None)[:3]
        place = self._references.contents.chunk(one.key)
        node = place[0] if place else ""
        reason = err.reason if isinstance(err, StoreError) else err.strerror or str(err)
        raise ChunkError(
            reason,
            node=node,
            key=one.key[len(node) + 1 :] if node else one.key,
            file=str(url),
            offset=None if offset is None else int(offset),
            length=None if length is None else int(length),
        ) from err

    def exists(self, key: str) -> bool:
        """See `Objects.exists`."""
        return self._find(key) is not None

    def size(self, key: str) -> int | None:
        """See `Objects.size`."""
        reference = self._find(key)
        if reference is None:
            return None
        size = size_of(reference) if isinstance(reference, list) else len(reference)
        if size is None:
            size = len(self.get([(key, None)])[0] or b"")
        return size

    def size_below(self, path: str) -> int:
        """See `Objects.size_below`."""
        contents = self._references.contents
        total = self.size(path) or 0
        for array, table in contents.tables.items():
            if not path or array == path or array.startswith(f"{path}/"):
                length = table.locate(table.listed()).length
                total += int(length[length != WHOLE].sum())
                if (length == WHOLE).any():
                    start = f"{array}/" if array else ""
                    layout, ids = contents.layouts[array], table.listed()[length == WHOLE]
                    total += sum(self.size(start + layout.name(chunk)) or 0 for chunk in ids.tolist())
        rest = (
            key for key in (*contents.metadata, *contents.other) if not path or key.startswith(f"{path}/")
        )
        return total + sum(self.size(key) or 0 for key in rest)

    def keys(self, prefix: str) -> list[str]:
        """See `Objects.keys`."""
        return [key for key in self._references if key.startswith(prefix)]

    def names(self, path: str) -> list[str]:
        """See `Objects.names`."""
        if self._listing is None:
            self._listing = Listing(self._references.contents)
        return [split_key(entry.key)[1] for entry in self._listing.below(path)]


class _Away(NamedTuple):
    """Part of a value that lies in a file, and its place among what was wanted."""

    place: int
    key: str
    reference: list[str | int]
    span: Span

    def part(self) -> tuple[str, int, int | None]:
        """Span of the file."""
        url = str(self.reference[0])
        if len(self.reference) == 1:
            return (url, 0, None) if self.span is None else (url, *self.span)
        start, length = cut(int(self.reference[2]), self.span)
        return url, int(self.reference[1]) + start, length


def _consolidated(opened: Opened, references: References) -> Iterator[tuple[str, bytes]]:
    """The root's documents with everything below consolidated, where the set lacks them."""
    contents = references.contents
    documents = {*contents.metadata, *filter(is_metadata, contents.other)}
    if ".zgroup" in documents and ".zmetadata" not in documents:
        old = [key for key in documents if split_key(key)[1] in (".zgroup", ".zarray", ".zattrs")]
        members = {key: _members(opened, key) for key in sorted(old)}
        yield ".zmetadata", json.dumps({"metadata": members, "zarr_consolidated_format": 1}).encode()
    root = _members(opened, "zarr.json") if "zarr.json" in documents else {}
    if root.get("node_type") == "group" and root.get("consolidated_metadata") is None:
        nodes = sorted(split_key(key)[0] for key in documents if key.endswith("/zarr.json"))
        metadata = {node: _members(opened, f"{node}/zarr.json") for node in nodes}
        inline = {"kind": "inline", "must_understand": False, "metadata": metadata}
        yield "zarr.json", json.dumps({**root, "consolidated_metadata": inline}).encode()


def _members(opened: Opened, key: str) -> dict[str, Any]:
    found = opened.document(key)
    members = found if isinstance(found, Mapping) else json.loads(bytes(_spelled(found or "null")))
    return dict(members) if isinstance(members, Mapping) else {}


# ---- other stores ------------------------------------------------------------------------------


class StoreObjects:
    """The keys of a store of another kind, as they are."""

    def __init__(self, opened: Opened | None, store: Store, options: Options) -> None:
        self._store = store
        self._absent = _Absent(opened, options)

    @property
    def is_consolidated(self) -> bool:
        """See `Objects.is_consolidated`."""
        if self._store.get(".zmetadata") is not None:
            return True
        try:
            root = json.loads(bytes(self._store.get("zarr.json") or b"null"))
        except ValueError:
            return False
        return isinstance(root, Mapping) and root.get("consolidated_metadata") is not None

    def at_hand(self, wanted: Wanted) -> list[Bytes | None] | None:
        """See `Objects.at_hand`."""
        return None

    def get(self, wanted: Wanted) -> list[Bytes | None]:
        """See `Objects.get`."""
        found = self._whole([key for key, span in wanted if span is None])
        found |= self._parts([(key, *span) for key, span in wanted if span is not None])
        for key, _ in wanted:
            if all(found[one] is None for one in found if one[0] == key):
                self._absent.check(key)
        return [found[key, span] for key, span in wanted]

    def _whole(self, keys: Sequence[str]) -> dict[tuple[str, Span], Bytes | None]:
        values = self._store.get_many(keys) if keys else []
        return {(key, None): value for key, value in zip(keys, values, strict=True)}

    def _parts(self, parts: Sequence[tuple[str, int, int | None]]) -> dict[tuple[str, Span], Bytes | None]:
        try:
            values = self._store.get_parts(parts) if parts else []
        except StoreError:  # one ends before its span does, which is no error here
            wholes = self._store.get_many([key for key, *_ in parts])
            pairs = zip(parts, wholes, strict=True)
            values = [None if whole is None else _part(whole, (at, n)) for (_, at, n), whole in pairs]
        return {(key, (at, n)): value for (key, at, n), value in zip(parts, values, strict=True)}

    def exists(self, key: str) -> bool:
        """See `Objects.exists`."""
        if isinstance(self._store, LocalStore):
            return os.path.isfile(os.path.join(self._store.url, key))
        return self._store.get(key) is not None

    def size(self, key: str) -> int | None:
        """See `Objects.size`."""
        if isinstance(self._store, LocalStore):
            return os.stat(os.path.join(self._store.url, key)).st_size if self.exists(key) else None
        value = self._store.get(key)
        return None if value is None else len(value)

    def size_below(self, path: str) -> int:
        """See `Objects.size_below`."""
        below = self.keys(f"{path}/" if path else "")
        return sum(self.size(key) or 0 for key in (*below, *([path] if path else ())))

    def keys(self, prefix: str) -> list[str]:
        """See `Objects.keys`."""
        folder = split_key(prefix)[0]
        return sorted(key for key in self._walk(folder) if key.startswith(prefix))

    def _walk(self, folder: str) -> Iterator[str]:
        """Keys below a folder: a name without names below it is a key."""
        folders = [folder]
        while folders:
            here = folders.pop()
            for name in self._store.names(here):
                key = f"{here}/{name}" if here else name
                if self._is_folder(key):
                    folders.append(key)
                else:
                    yield key

    def _is_folder(self, key: str) -> bool:
        if isinstance(self._store, LocalStore):
            return os.path.isdir(os.path.join(self._store.url, key))
        return next(iter(self._store.names(key)), None) is not None

    def names(self, path: str) -> list[str]:
        """See `Objects.names`."""
        return list(self._store.names(path))
