"""What users hold: arrays and groups, places in a hierarchy that read when they are asked."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zaro.detect import Opened, detect_again, note
from zaro.errors import MetadataError, NodeNotFoundError, StoreError
from zaro.hierarchy import places
from zaro.hierarchy.reading import Indexer, Mode, read_selection, scalar
from zaro.hierarchy.source import is_sharded, source_of
from zaro.metadata import ArrayMetadata, Codec, GroupMetadata, NodeMetadata, read_node
from zaro.metadata.documents import Document
from zaro.options import Options
from zaro.read import Source
from zaro.references.files import is_local, local_path
from zaro.references.set import References
from zaro.references.table import Located
from zaro.shown import shown

__all__ = ["Array", "Group", "node_at"]


class _Node:
    """A place in a hierarchy. Pickles as its target, path and options: a receiver reopens it."""

    def __init__(
        self, target: Any, path: str, options: Options, opened: Opened, metadata: NodeMetadata
    ) -> None:
        self._target, self._path, self._options = target, path, options
        self._opened, self._metadata = opened, metadata

    @property
    def path(self) -> str:
        """Path from the root of the target, without slashes at its ends; empty for the root."""
        return self._path

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self._path.rpartition("/")[2]

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes, as the document has them."""
        return self._metadata.attributes

    @property
    def is_consolidated(self) -> bool:
        """Whether the documents of all nodes came together: of references, and of a consolidated store."""
        return self._opened.is_consolidated

    @property
    def references(self) -> References | None:
        """The reference set that it lies in, where it lies in one."""
        return self._opened.references

    def find(self, path: str) -> Array | Group | None:
        """Find a node of the same target.

        Parameters
        ----------
        path : str
            From the root of the target, wherever this node lies.

        Returns
        -------
        Array, Group or None
            None where nothing lies there.

        Raises
        ------
        MetadataError
            Its document is broken.
        """
        metadata = _metadata_at(self._opened, path)
        return None if metadata is None else _made(self._target, path, self._options, self._opened, metadata)

    def document(self) -> dict[str, Any]:
        """Give the metadata document as it is stored; of v2 what v3 would say: kind, attributes and shape.

        Returns
        -------
        dict
            Members of the document; the caller's own.
        """
        if self._metadata.zarr_format == 3:
            key = f"{self._path}/zarr.json".lstrip("/")
            source = self._opened.document(key)
            return {} if source is None else dict(Document.parse(key, source).members)
        found: dict[str, Any] = {"zarr_format": 2, "node_type": "group", "attributes": self.attrs}
        if isinstance(self._metadata, ArrayMetadata):
            found |= {"node_type": "array", "shape": list(self._metadata.shape)}
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        target = self._portable()
        note(target, self._options, self._opened)
        return _reopen, (target, self._path, self._options, self._opened.state)

    def _portable(self) -> Any:
        """The target for another process, which may work in another folder; of a dict its columns."""
        target = self._target
        if isinstance(target, Mapping) and self._opened.references is not None:
            return self._opened.references
        if isinstance(target, (str, os.PathLike)):
            target = os.fspath(target)
            return os.path.abspath(os.path.expanduser(local_path(target))) if is_local(target) else target
        return target

    def __dask_tokenize__(self) -> Any:
        # a path and a state rather than contents: the same for all who open the same
        state, metadata = self._opened.state, repr(self._metadata)
        return type(self).__name__, self._portable(), self._path, self._options, state, metadata


class Array(_Node):
    """One array: reads what is asked of it, and nothing else.

    Takes NumPy's selections: `a[0, 500:600, ::-2]`; lists and masks, each axis on its own, with
    `a.oindex[...]`; lists of points with `a.vindex[...]`. Any number of threads may read at once.

    References
    ----------
    - Array metadata and chunk grids: the Zarr specifications that `zaro.open` names.
    - Selections: NumPy's "Indexing on ndarrays", and NEP 21 for `oindex` and `vindex`.

    See Also
    --------
    zaro.open : makes it.
    """

    _metadata: ArrayMetadata

    @property
    def metadata(self) -> ArrayMetadata:
        """The typed metadata."""
        return self._metadata

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self._metadata.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element: in stored byte order for v2, native for v3."""
        return self._metadata.dtype

    @property
    def chunks(self) -> tuple[int, ...]:
        """Elements of a whole chunk along each dimension; of a sharded array, of its inner chunks."""
        return self._inner.chunks

    @property
    def shards(self) -> tuple[int, ...] | None:
        """Elements of a whole shard along each dimension; None where chunks are not gathered in shards."""
        return self._metadata.chunks if self._inner is not self._metadata else None

    @property
    def dims(self) -> tuple[str | None, ...] | None:
        """Names of the dimensions, where the document gives them."""
        return self._metadata.dimension_names

    @property
    def fill_value(self) -> Any:
        """What an absent chunk holds; None where a v2 document leaves it undefined (read as zero)."""
        return self._metadata.fill_value

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """The codec chain, in the order of encoding."""
        return self._metadata.codecs

    @property
    def chunk_codecs(self) -> tuple[Codec, ...]:
        """The codec chain of one chunk: of a sharded array that of its inner chunks, else `codecs`."""
        return self._inner.codecs

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole array in memory."""
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("an array in a store cannot be had without a copy")
        found = self.read()
        return found if dtype is None else found.astype(dtype)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, selection: Any) -> Any:
        return scalar(self.read(selection))

    @property
    def oindex(self) -> Indexer:
        """Select on each axis on its own: integers, slices, lists of integers, masks."""
        return Indexer(self, "orthogonal")

    @property
    def vindex(self) -> Indexer:
        """Select elements one by one: lists of integers that broadcast together, or one mask."""
        return Indexer(self, "points")

    def read(
        self,
        selection: Any = ...,
        out: NDArray[Any] | None = None,
        *,
        mode: Mode = "basic",
    ) -> NDArray[Any]:
        """Read a selection.

        Parameters
        ----------
        selection
            Integers, slices and an ellipsis; with `mode` also lists and masks; of records also the
            names of fields, as `"u"`, `["u", "v"]` or `("u", 0)`.
        out : ndarray, optional
            Receives the result: of its shape and this array's dtype, any strides.
        mode : {"basic", "orthogonal", "points"}
            How lists are meant: as in NumPy where that is the same for all, each axis on its own
            (`oindex`), together (`vindex`).

        Returns
        -------
        ndarray
            An axis that is picked by an integer is dropped. Rank 0 stays an array.

        Raises
        ------
        SelectionError
            The selection does not fit the array.
        ChunkError
            A chunk is listed but missing, short or corrupt, or is absent while `missing="raise"`.
        """
        return read_selection(self._source, selection, out, mode)

    def locate(self, ids: ArrayLike) -> Located:
        """Find where chunks lie.

        Parameters
        ----------
        ids : (n,) integers
            Chunks, counted from 0 in C order of the chunk grid.

        Returns
        -------
        Located
            Columns of n rows: `file_id` (int32; -1 absent, -2 inline), `offset` and `length` (int64, bytes;
            length -1 for a whole file), and `files`, the table that `file_id` counts in.

        Raises
        ------
        SelectionError
            An id is none of the chunk grid's.

        Notes
        -----
        Constant time for each id in columns, a binary search in generators. Parquet partitions that the ids
        lie in are read.
        """
        return places.locate(self._source, ids)

    def explain(self, key_or_index: str | tuple[int, ...]) -> str:
        """Say in one line where a chunk lies: `chunk 0.5.3 of sst: bytes 20480+4000 of a.nc`.

        Parameters
        ----------
        key_or_index : str or tuple of int
            Key, with or without the array's path, or position in the chunk grid.

        Returns
        -------
        str
            File, first byte and length in bytes; or that the chunk is absent, and what it reads as.

        Raises
        ------
        SelectionError
            It is no chunk of this array.
        """
        return places.explain(self._source, key_or_index)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.shape)) or "scalar"
        chunks = " x ".join(map(str, self.chunks))
        names = ", ".join(codec.name for codec in self.codecs)
        return shown(
            f"<zaro.Array {self._path or '/'}: {shape} {self.dtype}, chunks {chunks or '-'}, {names}>"
        )

    @property
    def _inner(self) -> ArrayMetadata:
        """Metadata of what is read: of a sharded array its inner chunks; else no codec is asked."""
        return self._source.metadata if is_sharded(self._metadata) else self._metadata

    @cached_property
    def _source(self) -> Source:
        """What reading needs; of a sharded array, its inner chunks."""
        return source_of(self._path, self._metadata, self._opened, self._options.missing)


class Group(_Node, Mapping[str, "Array | Group"]):
    """A group: a mapping of names, or of paths as `ocean/sst`, to the nodes below it.

    `group["sst"]` raises `NodeNotFoundError`, a `KeyError`, where there is none.

    See Also
    --------
    zaro.open : makes it.
    """

    _metadata: GroupMetadata

    @property
    def metadata(self) -> GroupMetadata:
        """The typed metadata."""
        return self._metadata

    def __getitem__(self, name: str) -> Array | Group:
        return node_at(self._target, f"{self._path}/{name}".strip("/"), self._options, self._opened)

    def __iter__(self) -> Iterator[str]:
        for name in self._opened.names(self._path):
            path = f"{self._path}/{name}".strip("/")
            if _metadata_at(self._opened, path) is not None:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __contains__(self, name: object) -> bool:
        path = f"{self._path}/{name}".strip("/")
        return isinstance(name, str) and _metadata_at(self._opened, path) is not None

    # a node is the same node only if it is the same object; comparing contents would read them
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def names(self) -> Iterable[str]:
        """List names directly below, of nodes and perhaps of other things; reads no metadata.

        Returns
        -------
        iterable of str
            Last parts of paths, each once.

        Raises
        ------
        StoreError
            The store cannot list, as a plain web server.
        """
        return self._opened.names(self._path)

    def children(self) -> Iterator[Array | Group]:
        """Walk the nodes directly below, by name; reads the metadata of each once.

        Yields
        ------
        Array or Group

        Raises
        ------
        StoreError
            The store cannot list.
        MetadataError
            A document is broken.
        """
        for name in self.names():
            node = self.find(f"{self._path}/{name}".strip("/"))
            if node is not None:
                yield node

    def nodes(self) -> Iterator[Array | Group]:
        """Walk every node below this group, depth first, by name.

        Yields
        ------
        Array or Group

        Raises
        ------
        StoreError, MetadataError
            As `children`.
        """
        levels = [self.children()]  # no recursion: a document may nest deeper than Python does
        while levels:
            node = next(levels[-1], None)
            if node is None:
                levels.pop()
                continue
            yield node
            if isinstance(node, Group):
                levels.append(node.children())

    def tree(self) -> str:
        """Draw everything below this group, a line for each node.

        Returns
        -------
        str
            Arrays are shown with shape and type.

        Raises
        ------
        StoreError, MetadataError
            As `children`.
        """
        return "\n".join([shown(self.path) or "/", *_branches(self)])

    def __repr__(self) -> str:
        start = shown(f"<zaro.Group {self._path or '/'} of {self._opened.label}")
        try:
            names = list(self)
        except StoreError:  # a server that lists nothing
            return f"{start}: members are found by name>"
        first = shown(", ".join(names[:8])) + (", ..." if len(names) > 8 else "")
        return f"{start}: {len(names)} members ({first})>"


def _branches(group: Group) -> Iterator[str]:
    levels = [(iter(_marked(group)), "")]
    while levels:
        members, margin = levels[-1]
        node, last = next(members, (None, True))
        if node is None:
            levels.pop()
            continue
        label = f" {node.shape} {node.dtype}" if isinstance(node, Array) else ""
        yield f"{margin}{'└── ' if last else '├── '}{shown(node.name)}{label}"
        if isinstance(node, Group):
            levels.append((iter(_marked(node)), margin + ("    " if last else "│   ")))


def _marked(group: Group) -> list[tuple[Array | Group, bool]]:
    """The members of a group, and which of them is the last."""
    nodes = list(group.values())
    return [(node, k == len(nodes) - 1) for k, node in enumerate(nodes)]


def node_at(target: Any, path: str, options: Options, opened: Opened) -> Array | Group:
    """Give the node that lies at a path of what is open; NodeNotFoundError where none does."""
    metadata = _metadata_at(opened, path)
    if metadata is None:
        if not path:
            raise NodeNotFoundError("/", opened.label)
        known: tuple[str, ...] = ()
        with contextlib.suppress(StoreError):  # a server that lists nothing
            known = tuple(sorted(opened.names(path.rpartition("/")[0])))[:8]
        raise NodeNotFoundError(path, opened.label, known)
    return _made(target, path, options, opened, metadata)


def _made(target: Any, path: str, options: Options, opened: Opened, metadata: NodeMetadata) -> Array | Group:
    kind = Array if isinstance(metadata, ArrayMetadata) else Group
    return kind(target, path, options, opened, metadata)


def _reopen(target: Any, path: str, options: Options, state: str) -> Array | Group:
    return node_at(target, path, options, detect_again(target, options, state))


def _metadata_at(opened: Opened, path: str) -> NodeMetadata | None:
    try:
        return read_node(opened.document, path)
    except MetadataError as err:
        raise err.of(opened.label) from err.__cause__
