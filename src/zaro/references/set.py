"""A reference set in columns, and the read-only mapping that others know it by."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Hashable, ItemsView, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from zaro._core.key import KeyIndex
from zaro.openings import Openings, state_of
from zaro.options import Options
from zaro.references.contents import Contents, digest
from zaro.references.files import folder_of, is_local, local_path
from zaro.references.layout import ChunkLayout
from zaro.references.lookup import explain, key_index, listed_keys, references_of
from zaro.references.table import Located, Reference, Table

if TYPE_CHECKING:
    from zaro.references.stats import ArrayStats
    from zaro.references.writing import Progress

__all__ = ["ArrayReferences", "References", "format_of"]

Format = Literal["json", "parquet", "generator"]

FORMATS: Mapping[str, str] = {
    "json": "zaro.references.json",
    "parquet": "zaro.references.parquet",
    "generator": "zaro.references.generator",
}
"""Module that reads each format: `read(address, *, options, folder) -> Contents`."""
WRITERS: Mapping[str, str] = {
    "json": "zaro.references.writing",
    "parquet": "zaro.references.parquet_writer",
    "generator": "zaro.references.pack",
}
"""Module that writes each format: `write(refs, target, **how)`."""


@dataclass(frozen=True, slots=True)
class ArrayReferences:
    """The references of one array: its table, and the grid and key spelling that give its ids a meaning."""

    path: str
    layout: ChunkLayout
    table: Table


def format_of(address: str) -> str:
    """Format of an existing set, as fsspec tells them apart: a folder is Parquet."""
    name = address.rstrip("/").lower()
    if ".json" in os.path.basename(name):
        return "json"
    if address.endswith("/") or name.endswith((".parq", ".parquet")):
        return "parquet"
    return "parquet" if is_local(address) and os.path.isdir(local_path(address)) else "json"


_ENDING = re.compile(r"\.json|\.parq(uet)?/?$", re.IGNORECASE)  # by which `format_of` tells


class References(Mapping[str, "Reference"]):
    """A reference set: where the bytes of every chunk of every array lie, in columns.

    Also a read-only mapping of keys to references, as `fsspec` shows them: `refs["sst/0.5.3"]` is
    `[url, offset, length]`, `[url]` for a whole file, or the bytes themselves; `KeyError` where
    the set has no such key. A key that spells a chunk in another way than its array does
    (`sst/00.5.3`) is no key. Metadata documents are `bytes`. Relative paths are resolved, see
    `zaro.references.files`.

    Pickles as its address and options where it was opened from an address, else with its contents.

    References
    ----------
    - kerchunk, "References specification": https://fsspec.github.io/kerchunk/spec.html
    - fsspec's `LazyReferenceMapper`, for the Parquet layout.
    - D. Westwood, "Experiments with Kerchunk" (2023), for generators.

    See Also
    --------
    zaro.scan : makes the set of a file.
    zaro.concat, zaro.merge : make one set of many.
    """

    def __init__(
        self,
        contents: Contents,
        *,
        options: Options | None = None,
        address: str | None = None,
        state: str | None = None,
    ) -> None:
        self.contents = contents
        self.options = options or Options()
        self.address = address
        self._state = state

    @classmethod
    def open(
        cls,
        target: str | os.PathLike[str] | bytes | Mapping[str, Any] | References,
        *,
        storage_options: Mapping[str, Any] | None = None,
        remote_protocol: str | None = None,
        remote_options: Mapping[str, Any] | None = None,
        allow_targets: Sequence[str] | None = None,
        missing: Literal["fill", "warn", "raise"] = "fill",
        timeout: float = 60.0,
        changed: Literal["raise", "ignore"] = "raise",
    ) -> References:
        """Open a reference set.

        Parameters
        ----------
        target : path, URL, bytes, mapping or References
            Address of a JSON document (`.json`, `.json.gz`, `.json.zst`) or of a Parquet folder; the
            bytes of a document; or a document that is parsed already.
        storage_options, remote_protocol, remote_options, allow_targets, missing, timeout
            As everywhere, see `zaro.options.Options`. All but the first are for whoever reads the files.
        changed : {"raise", "ignore"}
            What to do where the set says what its files were like, and one of them is another now.

        Returns
        -------
        refs : References
            JSON is read whole; of Parquet only the metadata, partitions when they are asked for; of
            generators the exceptions.

        Raises
        ------
        ChangedError
            A file has changed since it was scanned.
        ReferenceSetError
            The document is broken; says at which byte and key.
        StoreError
            There is no document.
        """
        options = Options.of(
            storage_options=storage_options,
            remote_protocol=remote_protocol,
            remote_options=remote_options,
            allow_targets=allow_targets,
            missing=missing,
            timeout=timeout,
        )
        if isinstance(target, References):
            return cls(target.contents, options=options, address=target.address, state=target._state)
        if isinstance(target, str | os.PathLike):
            found = cls._open_address(os.fspath(target), options)
            if found.contents.fingerprints is not None and changed == "raise":
                from zaro.references.fingerprint import check_unchanged

                check_unchanged(found)
            return found
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
            address = os.path.abspath(os.path.expanduser(local_path(address))) + ending
        state = state_of(local_path(address)) if is_local(address) else None
        module = import_module(FORMATS[format_of(address)])
        # with a protocol of their own, references without one are no paths beside the document
        elsewhere = options.remote_protocol not in (None, "file", "local")
        contents = module.read(address, options=options, folder=None if elsewhere else folder_of(address))
        return cls(contents, options=options, address=address, state=state)

    @cached_property
    def state(self) -> str:
        """Differs where the set has changed: of a local one size and time, else a sum over its columns."""
        return digest(self.contents) if self._state is None else self._state

    def __reduce__(self) -> tuple[Any, ...]:
        if self.address is None:
            return _rebuild, (self.contents, self.options)
        _OPENINGS.note(_key(self.address, self.options, self.state), self)
        return _reopen, (self.address, self.options, self.state)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.address, self.options, self.state

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
        """Find where chunks of one array lie.

        Parameters
        ----------
        path : str
            The array; "" is the root.
        ids : (n,) integers
            Chunks, counted from 0 in C order of the chunk grid.

        Returns
        -------
        Located
            As `Array.locate`.

        Raises
        ------
        KeyError
            There is no such array.
        IndexError
            An id is none of its grid's.
        """
        table = self.contents.tables[path]
        wanted = np.asarray(ids, np.int64).reshape(-1)
        if len(wanted) and not 0 <= wanted.min() <= wanted.max() < table.nchunks:
            raise IndexError(
                f"ids of {path!r} lie in [0, {table.nchunks}), found {wanted.min()} to {wanted.max()}"
            )
        return table.locate(wanted)

    def stats(self, *, progress: Progress | None = None) -> dict[str, ArrayStats]:
        """Count, per array: chunks, present, absent, inline, bytes, files, gfactor.

        Parameters
        ----------
        progress : callable, optional
            Called now and then with the chunks that are counted, and those that there are.

        Returns
        -------
        dict of str to ArrayStats
            By path of the array. `bytes` leaves out whole files, whose size no set knows; `gfactor` is the
            share of regular chunks in the generator that holds the array, or would hold it.

        Raises
        ------
        ReferenceSetError
            A Parquet partition that is there cannot be read.

        Notes
        -----
        Linear in the chunks.
        """
        from zaro.references.stats import stats

        return stats(self.contents, progress)

    def explain(self, key: str) -> str:
        """Say in a sentence where a key leads, whether it exists or not.

        Parameters
        ----------
        key : str
            Any key: of a chunk, of a metadata document, or one that is not in the set.

        Returns
        -------
        str
            File and bytes; or what is missing: the array, or the place in its grid.

        Raises
        ------
        ReferenceSetError
            The Parquet partition of the chunk is there and cannot be read.
        """
        return explain(self.contents, key)

    def save(
        self,
        target: str | os.PathLike[str],
        format: Format | None = None,  # noqa: A002 - the name that the contract gives it
        **how: Any,
    ) -> None:
        """Write the set to an address, at once or not at all.

        Parameters
        ----------
        target : path
            Ending in `.json`, `.json.gz` or `.json.zst` for JSON, `.parquet` or `.parq` for Parquet.
        format : {"json", "parquet", "generator"}, optional
            By default what the name says. A generator document is JSON too, so it must be asked for.
        **how
            `storage_options` (fsspec's, for a URL) and `progress` (called now and then with the chunks
            that are written and those that there are), for all formats; `record_size` (rows of a
            partition) and `compression` for Parquet; `compact` for generators.

        Raises
        ------
        ReferenceSetError
            The format cannot hold what the set holds.
        StoreError
            The target cannot be written, or is something else than references.
        ValueError
            There is no such format or option, or the name says another format.
        """
        name = os.fspath(target)
        chosen = format or format_of(name)
        if chosen not in FORMATS:
            raise ValueError(f"format={format!r}; there are {', '.join(FORMATS)}")
        if (chosen == "parquet") != (format_of(name) == "parquet") and _ENDING.search(name):
            raise ValueError(
                f"format={format!r} does not go with the name {name!r}, by which it will be read"
            )
        write = import_module(WRITERS[chosen]).write
        unknown = how.keys() - signature(write).parameters.keys()
        if unknown:
            raise ValueError(f"format {chosen!r} has no option {', '.join(sorted(unknown))}")
        write(self, name, **how)

    # the mapping

    @cached_property
    def _index(self) -> KeyIndex:
        return key_index(self.contents)

    def __getitem__(self, key: str) -> Reference:
        found = self._index.reference(key)
        if found is not None:
            return found
        document = self.contents.metadata.get(key)
        return document if document is not None else self.contents.other[key]

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        contents = self.contents
        return key in contents.metadata or key in contents.other or self._index.reference(key) is not None

    def __iter__(self) -> Iterator[str]:
        contents = self.contents
        yield from contents.metadata
        for path, layout in contents.layouts.items():
            yield from listed_keys(path, layout, contents.tables[path])
        yield from contents.other

    def items(self) -> ItemsView[str, Reference]:
        """Keys and references; a chunk's are made when they are asked for, and not kept.

        Returns
        -------
        view of (str, reference)
            Every key that exists, metadata documents first; a reference as `refs[key]` gives it.

        Raises
        ------
        ReferenceSetError
            A Parquet partition that is there cannot be read; raised while the view is walked.
        """
        return _Items(self)

    def __len__(self) -> int:
        return self._length

    @cached_property
    def _length(self) -> int:
        contents = self.contents
        chunks = sum(len(table.listed()) for table in contents.tables.values())
        return len(contents.metadata) + len(contents.other) + chunks


class _Items(ItemsView[str, Reference]):
    def __init__(self, refs: References) -> None:
        super().__init__(refs)
        self._contents = refs.contents

    def __iter__(self) -> Iterator[tuple[str, Reference]]:
        contents = self._contents
        yield from contents.metadata.items()
        for path, layout in contents.layouts.items():
            yield from references_of(path, layout, contents.tables[path])
        yield from contents.other.items()


_OPENINGS: Openings[References] = Openings(kept=16)


def _key(address: str, options: Options, state: str) -> Hashable:
    return address, state, pickle.dumps(options)


def _reopen(address: str, options: Options, state: str) -> References:
    """Open an address in another process, once."""
    make = partial(References._open_address, address, options)
    return _OPENINGS.again(_key(address, options, state), make)


def _rebuild(contents: Contents, options: Options) -> References:
    return References(contents, options=options)
