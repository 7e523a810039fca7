"""What users hold: arrays and groups, and the four functions that open, list, describe and read them."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zaro import config
from zaro.codecs.chain import Chain, compile_chain
from zaro.detect import Opened, detect, detect_again, note
from zaro.errors import MetadataError, NodeNotFoundError, SelectionError, StoreError, UnsupportedError
from zaro.metadata import ArrayMetadata, Codec, GroupMetadata, NodeMetadata
from zaro.metadata import read_node as read_documents
from zaro.metadata.documents import Document
from zaro.options import Options
from zaro.plan.chunks import halves, longest_axis, plan_axes, plan_points
from zaro.plan.selection import Pick, Points, basic, fields, is_list, orthogonal, points
from zaro.read import Source, check_output, read
from zaro.references.files import is_local, local_path
from zaro.references.set import References
from zaro.references.shard import open_shards
from zaro.references.table import ABSENT, INLINE, Located
from zaro.shown import shown

__all__ = ["Array", "Group", "list_nodes", "metadata_of", "open_node", "read_node"]


_SHARDING = "sharding_indexed"
_DEEPEST = 8  # shards in shards


def _metadata_at(opened: Opened, path: str) -> NodeMetadata | None:
    try:
        return read_documents(opened.document, path)
    except MetadataError as err:
        raise err.of(opened.label) from err.__cause__


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
        return _scalar(self.read(selection))

    @property
    def oindex(self) -> _Indexer:
        """Select on each axis on its own: integers, slices, lists of integers, masks."""
        return _Indexer(self, "orthogonal")

    @property
    def vindex(self) -> _Indexer:
        """Select elements one by one: lists of integers that broadcast together, or one mask."""
        return _Indexer(self, "points")

    def read(
        self,
        selection: Any = ...,
        out: NDArray[Any] | None = None,
        *,
        mode: Literal["basic", "orthogonal", "points"] = "basic",
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
        metadata = self._source.metadata
        selection, names = fields(selection, metadata.dtype)
        if names is not None:
            return _fields_of(self.read(selection, mode=mode), names, out)
        if mode == "basic":
            mode = _meaning(selection, self.ndim)
        if mode == "points":
            chosen = points(selection, self.shape)
            if metadata.edges is not None:
                return self._read_points(chosen, out)
            return read(self._source, plan_points(metadata, chosen, self._source.chain.order), out)
        picks = (orthogonal if mode == "orthogonal" else basic)(selection, self.shape)
        return self._read_picks(picks, out)

    def _read_picks(self, picks: tuple[Pick, ...], out: NDArray[Any] | None) -> NDArray[Any]:
        """Read by axes; in parts where so many chunks are touched that planning them at once costs memory."""
        metadata = self._source.metadata
        shape = tuple(pick.count for pick in picks if not pick.dropped)
        if out is None:
            _refuse_what_is_too_large(shape, metadata.dtype)
        axis = longest_axis(metadata, picks) if 0 not in shape else None
        if axis is None:
            return read(self._source, plan_axes(metadata, picks), out)
        if out is None:
            out = np.empty(shape, metadata.dtype)
        check_output(out, shape, metadata.dtype)
        before = sum(not pick.dropped for pick in picks[:axis])
        at = 0
        for part in halves(picks[axis]):
            here = (slice(None),) * before + (slice(at, at + part.count),)
            self._read_picks((*picks[:axis], part, *picks[axis + 1 :]), out[here])
            at += part.count
        return out

    def _read_points(self, chosen: Points, out: NDArray[Any] | None) -> NDArray[Any]:
        """Points of a rectilinear grid, whose blocks differ: read where rows and columns cross."""
        crossing = [np.unique(chosen.index[:, d], return_inverse=True) for d in range(self.ndim)]
        block = self.read(tuple(positions for positions, _ in crossing), mode="orthogonal")
        found = block[tuple(row for _, row in crossing)].reshape(chosen.shape)
        if out is None:
            return found
        out[...] = found
        return out

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
        wanted = np.ascontiguousarray(ids, dtype=np.int64).reshape(-1)
        nchunks = self._source.metadata.nchunks
        outside = (wanted < 0) | (wanted >= nchunks)
        if outside.any():
            raise SelectionError(f"chunk {wanted[outside][0]} of an array of {nchunks} chunks")
        return self._source.table.locate(wanted)

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
        encoding, grid = self._metadata.key_encoding, self._source.metadata.grid
        if isinstance(key_or_index, str):
            index = encoding.index(key_or_index.removeprefix(f"{self._path}/"), grid)
        else:
            index = tuple(key_or_index)
        fits = (
            index is not None
            and len(index) == len(grid)
            and all(0 <= i < n for i, n in zip(index, grid, strict=True))
        )
        if index is None or not fits:
            raise SelectionError(f"{key_or_index!r} is no chunk of {self._path!r}, whose grid is {grid}")
        chunk = int(np.ravel_multi_index(index, grid)) if grid else 0
        found = self.locate([chunk])
        file_id, offset, length = int(found.file_id[0]), int(found.offset[0]), int(found.length[0])
        start = f"chunk {encoding.key(index)} of {self._path or '/'}: "
        if file_id == ABSENT:
            return f"{start}absent, reads as {self.fill_value!r}"
        if file_id == INLINE:
            return f"{start}{length} bytes inline in the reference set"
        where = f"bytes {offset}+{length} of" if length >= 0 else "the whole file"
        return f"{start}{where} {found.files[file_id]}"

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
        sharded = any(codec.name == _SHARDING for codec in self._metadata.codecs)
        return self._source.metadata if sharded else self._metadata

    @cached_property
    def _source(self) -> Source:
        """What reading needs; of a sharded array, its inner chunks."""
        try:
            return self._made_source()
        except MetadataError as err:
            raise err.of(self._opened.label) from err.__cause__

    def _made_source(self) -> Source:
        version = "zarr.json" if self._metadata.zarr_format == 3 else ".zarray"
        document = f"{self._path}/{version}" if self._path else version
        metadata, table = self._metadata, self._opened.table(self._path, self._metadata)
        chain = _compile(metadata, document)
        for _ in range(_DEEPEST + 1):
            if chain.sharding is None:
                break
            metadata, table = open_shards(metadata, chain.sharding, table, self._opened.read_spans, document)
            chain = _compile(metadata, document)
        else:
            raise UnsupportedError(document, "codecs", f"nests shards in shards more than {_DEEPEST} deep")
        return Source(
            node=self._path,
            metadata=metadata,
            chain=chain,
            table=table,
            targets=self._opened.targets,
            missing=self._options.missing,
            chain_for=None
            if metadata.edges is None
            else lru_cache(64)(partial(_compile, metadata, document)),
        )


def _compile(metadata: ArrayMetadata, document: str, chunk_shape: tuple[int, ...] | None = None) -> Chain:
    """Compile the chain for chunks of one shape; the largest where none is given."""
    return compile_chain(
        metadata.codecs,
        dtype=metadata.dtype,
        chunk_shape=metadata.chunks if chunk_shape is None else chunk_shape,
        document=document,
        fill=metadata.blank,
    )


class _Indexer:
    """`a.oindex` and `a.vindex`."""

    def __init__(self, array: Array, mode: Literal["orthogonal", "points"]) -> None:
        self._array, self._mode = array, mode

    def __getitem__(self, selection: Any) -> Any:
        return _scalar(self._array.read(selection, mode=self._mode))


def _refuse_what_is_too_large(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Say how large a result is, before there is memory for it."""
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > config.memory():
        reason = f"a result of shape {shape} has {nbytes} bytes, and this machine {config.memory()} of memory"
        raise SelectionError(f"{reason}; read it in parts")


def _scalar(found: NDArray[Any]) -> Any:
    """NumPy gives a scalar where every axis was picked by an integer."""
    return found[()] if found.ndim == 0 else found


def _fields_of(records: NDArray[Any], names: str | list[str], out: NDArray[Any] | None) -> NDArray[Any]:
    """Some fields of records, without the bytes of the others."""
    if isinstance(names, str):
        found = np.ascontiguousarray(records[names]) if records.ndim else records[names].copy()
    else:
        found = np.empty(records.shape, [(name, records.dtype[name]) for name in names])
        for name in names:
            found[name] = records[name]
    if out is None:
        return found
    check_output(out, found.shape, found.dtype)
    out[...] = found
    return out


def _meaning(selection: Any, ndim: int) -> Literal["basic", "orthogonal", "points"]:
    """What lists in `a[...]` mean in NumPy: one of them its axis, one for each axis points."""
    items = selection if isinstance(selection, tuple) else (selection,)
    lists = [item for item in items if is_list(item)]
    if len(lists) == 1 and np.ndim(lists[0]) == 1:
        return "orthogonal"
    whole_mask = len(items) == len(lists) == 1 and np.ndim(lists[0]) == ndim
    return "points" if lists and (len(lists) == ndim or whole_mask) else "basic"


class Group(_Node, Mapping[str, "Array | Group"]):
    """A group: a mapping of names, or of paths as `ocean/sst`, to the nodes below it."""

    _metadata: GroupMetadata

    @property
    def metadata(self) -> GroupMetadata:
        """The typed metadata."""
        return self._metadata

    def __getitem__(self, name: str) -> Array | Group:
        return _node(self._target, f"{self._path}/{name}".strip("/"), self._options, self._opened)

    def __iter__(self) -> Iterator[str]:
        for name in self._opened.names(self._path):
            path = f"{self._path}/{name}".strip("/")
            if _metadata_at(self._opened, path) is not None:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        path = f"{self._path}/{name}".strip("/")
        return isinstance(name, str) and _metadata_at(self._opened, path) is not None

    # a node is the same node only if it is the same object; comparing contents would read them
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def names(self) -> Iterable[str]:
        """List names directly below, of nodes and perhaps of other things; reads no metadata.

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
        """Walk every node below this group, depth first, by name; raises as `children`.

        Yields
        ------
        Array or Group
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
        """Draw everything below this group, a line for each node; raises as `children`.

        Returns
        -------
        str
            Arrays are shown with shape and type.
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


def _node(target: Any, path: str, options: Options, opened: Opened) -> Array | Group:
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
    return _node(target, path, options, detect_again(target, options, state))


def open_node(target: Any, path: str = "", **options: Any) -> Array | Group:
    """Open an array or group.

    Parameters
    ----------
    target : path, URL, dict of references, mapping of keys to bytes, or References
        A Zarr store (v2 or v3), or a kerchunk reference set in any of its forms.
    path : str
        Node below the root, as `ocean/sst`.
    **options
        `storage_options`, `remote_protocol`, `remote_options`, `allow_targets`, `missing`, `timeout`,
        `consolidated`; see `zaro.options.Options`.

    Returns
    -------
    Array or Group

    Raises
    ------
    NodeNotFoundError
        Nothing lies at `path`.
    StoreError
        The target cannot be reached, or is nothing that zaro reads.
    MetadataError
        A metadata document is broken.

    Notes
    -----
    Reads metadata only, one document where the store is consolidated.

    Examples
    --------
    >>> zaro.open("refs.json")["sst"][0, 500:600, :]  # doctest: +SKIP
    """
    checked = Options.of(**options)
    opened = detect(target, checked)
    return _node(target, path.strip("/"), checked, opened)


def list_nodes(target: Any, **options: Any) -> dict[str, str]:
    """List every node of a target.

    Parameters
    ----------
    target, **options
        As for `zaro.open`.

    Returns
    -------
    dict of str to str
        From path (`/` for the root) to `"array"` or `"group"`, depth first.

    Raises
    ------
    StoreError
        The target cannot be reached, or cannot list what it holds.
    MetadataError
        A metadata document is broken.
    """
    root = open_node(target, **options)
    if isinstance(root, Array):
        return {"/": "array"}
    return {"/": "group"} | {
        node.path: "array" if isinstance(node, Array) else "group" for node in root.nodes()
    }


def metadata_of(target: Any, path: str = "", **options: Any) -> NodeMetadata:
    """Read the typed metadata of one node.

    Parameters
    ----------
    target, path, **options
        As for `zaro.open`.

    Returns
    -------
    ArrayMetadata or GroupMetadata
        The same classes for Zarr 2 and 3.

    Raises
    ------
    NodeNotFoundError, StoreError, MetadataError
        As `zaro.open`.
    """
    return open_node(target, path, **options).metadata


def read_node(
    target: Any, path: str = "", selection: Any = ..., *, out: NDArray[Any] | None = None, **options: Any
) -> NDArray[Any]:
    """Read a selection of one array.

    Parameters
    ----------
    target, path, **options
        As for `zaro.open`.
    selection
        Integers, slices, an ellipsis, lists and masks, as in `array[selection]`.
    out : ndarray, optional
        Receives the result: of its shape and the array's dtype, any strides.

    Returns
    -------
    ndarray
        Values as they are stored; `out` itself where given.

    Raises
    ------
    MetadataError
        The node is a group, or its document is broken.
    NodeNotFoundError, StoreError
        As `zaro.open`.
    SelectionError, ChunkError
        As `Array.read`.
    """
    node = open_node(target, path, **options)
    if isinstance(node, Group):
        raise MetadataError(node.path or "/", "", f"is a group; name an array in it: {', '.join(node)}")
    return node.read(selection, out)
