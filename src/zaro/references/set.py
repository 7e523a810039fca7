"""A reference set in columns, and the read-only mapping that others know it by."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zaro.references.contents import Contents, Reference, reference_at
from zaro.references.files import FileTable, folder_of, is_local, local_path
from zaro.references.layout import ChunkLayout, join_path
from zaro.references.options import Missing, Options
from zaro.references.table import Located, Table

__all__ = ["ArrayReferences", "References"]

FORMATS: Mapping[str, str] = {
    "json": "zaro.references.json",
    "parquet": "zaro.references.parquet",
    "generator": "zaro.references.generator",
}
"""Module of each format: `read(address, *, options, folder) -> Contents` and `write(refs, target, **how)`."""


@dataclass(frozen=True, slots=True)
class ArrayReferences:
    """The references of one array: its table, and the grid and key spelling that give its ids a meaning."""

    path: str
    layout: ChunkLayout
    table: Table


def _format_of(address: str) -> str:
    """Format of an existing set, as fsspec tells them apart: a folder is Parquet."""
    name = address.rstrip("/").lower()
    if ".json" in os.path.basename(name):
        return "json"
    if address.endswith("/") or name.endswith((".parq", ".parquet")):
        return "parquet"
    return "parquet" if is_local(address) and os.path.isdir(local_path(address)) else "json"


class References(Mapping[str, "Reference"]):
    """A reference set: where the bytes of every chunk of every array lie, in columns.

    Also a read-only mapping of keys to references, as `fsspec` shows them: `refs["sst/0.5.3"]` is
    `[url, offset, length]`, `[url]` for a whole file, or the bytes themselves; `KeyError` where
    the set has no such key. A key that spells a chunk in another way than its array does
    (`sst/00.5.3`) is no key. Metadata documents are `bytes`. Relative paths are resolved, see
    `zaro.references.files`.

    Pickles as its address and options where it was opened from an address, else with its contents.
    """

    def __init__(
        self, contents: Contents, *, options: Options | None = None, address: str | None = None
    ) -> None:
        self.contents = contents
        self.options = options or Options()
        self.address = address
        self._length: int | None = None

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | bytes | Mapping[str, Any] | References,
        *,
        storage_options: Mapping[str, Any] | None = None,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, Any] | None = None,
        allow_targets: list[str] | None = None,
        missing: Missing = "fill",
        timeout: float | None = None,
    ) -> References:
        """Open a reference set: a path or URL of a document, its bytes, or a `dict` of references."""
        options = Options(
            storage_options=storage_options,
            remote_protocol=remote_protocol,
            remote_options=remote_options,
            allow_targets=allow_targets,
            missing=missing,
            timeout=timeout,
        )
        if isinstance(target, References):
            return cls(target.contents, options=options, address=target.address)
        if isinstance(target, str | os.PathLike):
            return cls._open_address(os.fspath(target), options)
        from zaro.references import json as spelling

        if isinstance(target, bytes | bytearray | memoryview):
            return cls(spelling.read_bytes(bytes(target)), options=options)
        if not isinstance(target, Mapping):
            raise TypeError(f"a reference set is a path, URL, bytes or mapping, not {type(target).__name__}")
        return cls(spelling.read_mapping(target), options=options)

    @classmethod
    def _open_address(cls, address: str, options: Options) -> References:
        if is_local(address):
            ending = "/" if address.endswith("/") else ""
            address = os.path.abspath(local_path(address)) + ending
        module = import_module(FORMATS[_format_of(address)])
        contents = module.read(address, options=options, folder=folder_of(address))
        return cls(contents, options=options, address=address)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.address or self.contents, self.options)

    def __repr__(self) -> str:
        where = f" of {self.address}" if self.address else ""
        return f"<zaro.References{where}: {len(self.contents.layouts)} arrays>"

    # the columns

    @property
    def arrays(self) -> Mapping[str, ArrayReferences]:
        """Every array by path; "" is the root."""
        tables, layouts = self.contents.tables, self.contents.layouts
        return MappingProxyType(
            {path: ArrayReferences(path, layouts[path], tables[path]) for path in layouts}
        )

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """The metadata documents by key."""
        return MappingProxyType(self.contents.metadata)

    def locate(self, path: str, ids: ArrayLike) -> Located:
        """Where chunks `ids` of the array at `path` lie."""
        table = self.contents.tables[path]
        wanted = np.asarray(ids, np.int64).reshape(-1)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < table.nchunks:
            raise IndexError(
                f"ids of {path!r} lie in [0, {table.nchunks}), found {wanted.min()} to {wanted.max()}"
            )
        return table.locate(wanted)

    # the mapping

    def __getitem__(self, key: str) -> Reference:
        contents = self.contents
        if (document := contents.metadata.get(key)) is not None:
            return document
        place = contents.chunk(key)
        if place is not None and (found := reference_at(contents.tables[place[0]], place[1])) is not None:
            return found
        return self._resolved(contents.other[key])

    def _resolved(self, reference: Reference) -> Reference:
        if isinstance(reference, bytes) or self.address is None:
            return reference
        return [FileTable([str(reference[0])], folder_of(self.address))[0], *reference[1:]]

    def __iter__(self) -> Iterator[str]:
        contents = self.contents
        yield from contents.metadata
        for path, layout in contents.layouts.items():
            for chunk in contents.tables[path].listed().tolist():
                yield join_path(path, layout.name(chunk))
        yield from contents.other

    def __len__(self) -> int:
        if self._length is None:
            contents = self.contents
            chunks = sum(len(table.listed()) for table in contents.tables.values())
            self._length = len(contents.metadata) + len(contents.other) + chunks
        return self._length


def _rebuild(what: str | Contents, options: Options) -> References:
    if isinstance(what, Contents):
        return References(what, options=options)
    return References._open_address(what, options)
