"""The table of a sharded array: its chunks are spans of shards, which an index in each shard names.

Source: Zarr codec specification, "Sharding codec" (version 1.0).
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core import shard as _shard
from zaro._core.shard import ShardGrid
from zaro.codecs.chain import Chain, compile_chain
from zaro.errors import ChunkError, CorruptChunkError, MetadataError, StoreError
from zaro.metadata import ArrayMetadata, codec_list
from zaro.metadata.documents import Document
from zaro.metadata.grid import Runs
from zaro.references.table import ABSENT, INLINE, WHOLE, Located, OneByOne, Table
from zaro.stores.base import Bytes, cut

__all__ = ["ShardTable", "SpanReader", "open_shards"]

# bytes of decoded shard indices that a table keeps
_KEPT = 64 << 20
_EMPTY = np.uint64(2**64 - 1)


class SpanReader(Protocol):
    """The bytes of spans of located files: (file, offset, length), None where a key is absent."""

    def __call__(
        self, located: Located, parts: Sequence[tuple[str, int, int | None]]
    ) -> Sequence[Bytes | None]:
        """Read the spans, in their order."""
        ...


@dataclass(eq=False)
class ShardTable(OneByOne):
    """Chunks inside shards. Ids count the inner chunks in C order over the whole array.

    Parameters
    ----------
    shards : Table
        Where the shards lie; their grid is `shard_grid`.
    grid : tuple of int
        Inner chunks of the array along each dimension.
    per_shard : tuple of Runs
        Inner chunks of the shards along each dimension.
    where : {"start", "end"}
        Side of the shard on which its index stands.
    index : callable
        From the number of inner chunks of a shard to what reads its index.
    read : SpanReader
    """

    shards: Table
    shard_grid: tuple[int, ...]
    grid: tuple[int, ...]
    per_shard: tuple[Runs, ...]
    where: Literal["start", "end"]
    index: Callable[[int], _IndexReader]
    read: SpanReader
    _kept: OrderedDict[int, NDArray[np.uint64] | None] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _gathered: ShardGrid = field(init=False, repr=False)

    def __post_init__(self) -> None:
        runs = [(along.sizes, along.counts) for along in self.per_shard]
        self._gathered = ShardGrid(self.grid, self.shard_grid, runs)

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the inner grid."""
        return math.prod(self.grid)

    def place(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Shard of each inner chunk, and position of the chunk within it, both in C order."""
        return self._gathered.place(np.ascontiguousarray(ids))

    def count(self, shard: int) -> int:
        """Number of inner chunks of one shard."""
        if self._even:
            return self._most
        index = np.unravel_index(shard, self.shard_grid)
        return math.prod(runs.extent(int(k)) for runs, k in zip(self.per_shard, index, strict=True))

    @cached_property
    def _even(self) -> bool:
        return all(len(runs.sizes) == 1 for runs in self.per_shard)

    @cached_property
    def _most(self) -> int:
        """Number of inner chunks of the largest shard."""
        return math.prod(max(runs.sizes, default=1) or 1 for runs in self.per_shard)

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once: one index is read for each shard that is not known yet.

        Raises
        ------
        CorruptChunkError
            An index is damaged, or names bytes outside of its shard.
        """
        shard, within = self.place(ids)
        touched, row = _shard.group(shard)
        outer = self.shards.locate(touched)
        columns = outer.file_id, outer.offset, outer.length
        n = len(ids)
        found = np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
        at_once = max(1, config.SHARD_INDEX // (16 * self._most))  # decoded indices take memory
        for first in range(0, len(touched), at_once):
            entries = self._indices(touched, outer, range(first, min(first + at_once, len(touched))))
            wrong = _shard.locate(row, within, first, entries, *columns, ABSENT, *found)
            if wrong is not None:
                offset, nbytes = entries[row[wrong] - first, within[wrong]]
                reason = f"the shard's index says bytes {offset}+{nbytes}, outside of the shard"
                file = self._name(outer, int(row[wrong]))
                raise CorruptChunkError(reason, key=f"inner chunk {ids[wrong]}", file=file)
        return Located(*found, outer.files, outer.inline, outer.store)

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending; reads the index of every shard."""
        step = 1 << 20
        found = []
        for start in range(0, self.nchunks, step):
            ids = np.arange(start, min(start + step, self.nchunks), dtype=np.int64)
            found.append(ids[self.locate(ids).file_id != ABSENT])
        return np.concatenate(found) if found else np.empty(0, np.int64)

    @staticmethod
    def _name(outer: Located, k: int) -> str:
        file_id = int(outer.file_id[k])
        return outer.files[file_id] if file_id >= 0 else ""

    def _indices(self, touched: NDArray[np.int64], outer: Located, rows: range) -> NDArray[np.uint64]:
        """Indices of some touched shards, (n, chunks of the largest, 2); all empty for an absent shard."""
        out = np.full((len(rows), self._most, 2), _EMPTY, np.uint64)
        wanted = []
        with self._lock:
            for index, k in zip(out, rows, strict=True):
                shard = int(touched[k])
                if shard in self._kept:
                    self._kept.move_to_end(shard)
                    known = self._kept[shard]
                    if known is not None:
                        index[: len(known)] = known
                elif outer.file_id[k] != ABSENT:
                    wanted.append(k)
        if wanted:
            for k, stored in zip(wanted, self._stored_indices(touched, outer, wanted), strict=True):
                decoded = (
                    None if stored is None else self._decode(stored, int(touched[k]), self._name(outer, k))
                )
                if decoded is not None:
                    out[k - rows.start, : len(decoded)] = decoded
                self._keep(int(touched[k]), decoded)
        return out

    def _key(self, shard: int) -> str:
        """Say which shard, for messages."""
        return f"shard {tuple(int(i) for i in np.unravel_index(shard, self.shard_grid))}"

    def _stored_indices(
        self, touched: NDArray[np.int64], outer: Located, wanted: list[int]
    ) -> list[Bytes | None]:
        parts = []
        found: dict[int, Bytes | None] = {}
        for k in wanted:
            file_id, begin, length = int(outer.file_id[k]), int(outer.offset[k]), int(outer.length[k])
            nbytes = self.index(self.count(int(touched[k]))).nbytes
            if length != WHOLE and length < nbytes:
                reason = f"the shard has {length} bytes, its index alone has {nbytes}"
                raise CorruptChunkError(reason, key=self._key(int(touched[k])), file=self._name(outer, k))
            at = begin if self.where == "start" else begin + length - nbytes
            if file_id == INLINE:
                found[k] = cut(memoryview(outer.inline), at, nbytes, "inline data")
            else:
                at = -nbytes if length == WHOLE and self.where == "end" else at
                parts.append((k, (outer.files[file_id], at, nbytes)))
        try:
            stored = self.read(outer, [part for _, part in parts])
        except (StoreError, FileNotFoundError) as err:
            url = str(getattr(err, "url", None) or err.filename)
            lost = [int(touched[k]) for k, part in parts if url.endswith(part[0])]
            key = self._key(lost[0]) if lost else ""
            reason = getattr(err, "reason", "the file does not exist")
            raise ChunkError(f"the shard's index: {reason}", key=key, file=url) from err
        found |= {k: one for (k, _), one in zip(parts, stored, strict=True)}
        return [found[k] for k in wanted]

    def _decode(self, stored: Bytes, shard: int, name: str) -> NDArray[np.uint64]:
        try:
            index = self.index(self.count(shard)).decode(stored)
        except (ValueError, OSError) as err:
            reason = f"the shard's index: {getattr(err, 'reason', err)}"
            raise CorruptChunkError(reason, key=self._key(shard), file=name) from err
        return index.reshape(-1, 2)

    def _keep(self, shard: int, index: NDArray[np.uint64] | None) -> None:
        nbytes = 16 * self._most
        with self._lock:
            self._kept[shard] = index
            while len(self._kept) * nbytes > max(_KEPT, nbytes):
                self._kept.popitem(last=False)


def open_shards(
    metadata: ArrayMetadata, configuration: Mapping[str, Any], shards: Table, read: SpanReader, document: str
) -> tuple[ArrayMetadata, ShardTable]:
    """Look into shards: the array as its inner chunks make it up, and where they lie.

    Parameters
    ----------
    metadata : ArrayMetadata
        Whose only codec is `sharding_indexed`.
    configuration : mapping
        Of that codec.
    shards : Table
        Where the shards lie.
    document : str
        Key of the metadata document, for messages.

    Raises
    ------
    MetadataError
        The configuration contradicts the array or itself.
    """
    doc = Document(f"{document}: sharding_indexed", configuration)
    edges = metadata.edges or [
        Runs((size,), (n,)) for size, n in zip(metadata.chunks, metadata.grid, strict=True)
    ]
    inner = _inner_shape(doc, metadata, edges)
    where = configuration.get("index_location", "end")
    if where not in ("start", "end"):
        raise doc.bad("index_location", where, '"start" or "end"')
    per_shard = tuple(
        Runs(tuple(size // n for size in runs.sizes), runs.counts)
        for runs, n in zip(edges, inner, strict=True)
    )
    most = math.prod(max(runs.sizes, default=1) or 1 for runs in per_shard)
    if 16 * most > config.SHARD_INDEX:
        reason = f"makes an index of {16 * most} bytes for each shard"
        expected = f"expected {config.SHARD_INDEX} at most; see zaro.config.SHARD_INDEX"
        raise MetadataError(doc.name, "chunk_shape", f"{reason}, {expected}")
    index = _index_readers(doc)
    index(most)  # says now what is wrong with the codecs
    found = replace(metadata, chunks=inner, edges=None, codecs=codec_list(doc))
    return found, ShardTable(shards, metadata.grid, found.grid, per_shard, where, index, read)


def _inner_shape(doc: Document, metadata: ArrayMetadata, edges: Sequence[Runs]) -> tuple[int, ...]:
    inner = doc.need("chunk_shape", "a list of integers")
    fits = (
        isinstance(inner, list | tuple) and len(inner) == metadata.ndim and all(type(n) is int for n in inner)
    )
    if not fits or any(
        n < 1 or any(size % n for size in runs.sizes) for n, runs in zip(inner, edges, strict=True)
    ):
        shape = "the shard shape" if metadata.edges is None else "the shape of each shard, at most"
        expected = f"{metadata.ndim} integers that divide {shape} {list(metadata.chunks)}"
        raise doc.bad("chunk_shape", inner, expected)
    return tuple(inner)


@dataclass(frozen=True)
class _IndexReader:
    """Reads the indices of shards of so many inner chunks: `nbytes` as stored, 16 for each chunk decoded."""

    chain: Chain
    count: int
    nbytes: int

    def decode(self, data: Bytes) -> NDArray[np.uint64]:
        return self.chain.kernel.decode(data, 16 * self.count).view(np.uint64)


def _index_readers(doc: Document) -> Callable[[int], _IndexReader]:
    """What makes the reader of an index; the order of its entries does not depend on the shape of a shard."""
    codecs = codec_list(
        Document(f"{doc.name}.index_codecs", {"codecs": doc.need("index_codecs", "a list of codecs")})
    )

    @cache
    def reader(count: int) -> _IndexReader:
        chain = compile_chain(codecs, dtype=np.dtype(np.uint64), chunk_shape=(count, 2), document=doc.name)
        nbytes, _, exact = chain.kernel.sizes(16 * count)
        if not exact or chain.foreign or chain.order is not None or chain.sharding is not None:
            raise MetadataError(
                doc.name, "index_codecs", "must give every index the same size, as bytes and crc32c do"
            )
        return _IndexReader(chain, count, nbytes)

    return reader
