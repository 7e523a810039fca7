"""A codec pipeline of zarr-python that decodes with zaro's chains."""

from __future__ import annotations

import asyncio
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.abc.codec import Codec
from zarr.abc.store import ByteGetter
from zarr.codecs._v2 import V2Codec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer, BufferPrototype, NDBuffer, cpu
from zarr.core.codec_pipeline import BatchedCodecPipeline, fill_value_or_default
from zarr.core.config import config as zarr_config
from zarr.registry import register_pipeline
from zarr.storage import LocalStore, MemoryStore, StorePath

from zaro import config
from zaro._core.codec import Decoder
from zaro.codecs.chain import Chain, compile_chain
from zaro.errors import MetadataError
from zaro.metadata.model import Codec as Entry
from zaro.stores.base import Bytes
from zaro.zarr.store import ZaroStore

__all__ = ["CodecPipeline"]

Task = tuple[ByteGetter, ArraySpec, Any, Any, bool]
"""What is asked for: the bytes of a chunk, its spec, where in it, where in the output, whether all of it."""

# decoding less than this is done before another thread has woken
_WORTH_A_THREAD = 1 << 19
# chunks that one thread takes at a time, in bytes once they are decoded
_BATCH_BYTES = 4 << 20
_MOST_CHUNKS = 64
# their codecs mean what the specification says; those of others may be anything
_KNOWN_PACKAGES = frozenset({"zarr", "numcodecs"})


@dataclass(frozen=True)
class Blocks:
    """How the stored bytes of chunks of one shape become blocks."""

    chain: Chain
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of a block."""
        return math.prod(self.shape) * self.dtype.itemsize

    def decode(self, stored: Bytes | NDArray[np.uint8], decoder: Decoder) -> NDArray[Any]:
        """Decode one chunk."""
        data = self.chain.run_foreign(stored) if self.chain.foreign else stored
        flat: NDArray[Any] = self.chain.kernel.decode(data, self.nbytes, decoder).view(self.dtype)
        order = self.chain.order
        if order is None:
            return flat.reshape(self.shape)
        stored_shape = [self.shape[axis] for axis in order]
        return flat.reshape(*stored_shape).transpose(*np.argsort(order).tolist())


def compile_blocks(codecs: Sequence[Codec], spec: ArraySpec) -> Blocks | None:
    """Compile codecs of zarr-python for chunks of one kind; None where they are for zarr-python to decode."""
    dtype = spec.dtype.to_native_dtype()
    if dtype.hasobject or dtype.kind == "T" or dtype.itemsize == 0:
        return None
    if spec.prototype.nd_buffer is not cpu.NDBuffer or spec.prototype.buffer is not cpu.Buffer:
        return None
    entries = _entries(codecs, dtype, spec)
    if entries is None:
        return None
    try:
        chain = compile_chain(entries, dtype=dtype, chunk_shape=spec.shape, document="codecs")
    except MetadataError:
        return None
    return None if chain.sharding or chain.blocks else Blocks(chain, dtype, spec.shape)


def _entries(codecs: Sequence[Codec], dtype: np.dtype[Any], spec: ArraySpec) -> list[Entry] | None:
    if not all(_is_known(codec) for codec in codecs):
        return None
    if len(codecs) == 1 and isinstance(codecs[0], V2Codec):
        return _entries_v2(codecs[0], dtype, spec)
    found = [codec.to_dict() for codec in codecs]
    return [Entry(str(one["name"]), one.get("configuration") or {}) for one in found]  # type: ignore[arg-type]


def _entries_v2(codec: V2Codec, dtype: np.dtype[Any], spec: ArraySpec) -> list[Entry] | None:
    stages = [*(codec.filters or ()), *([codec.compressor] if codec.compressor else ())]
    if not all(_is_known(stage) for stage in stages):
        return None
    first = []
    if spec.order == "F" and spec.ndim > 1:
        first.append(Entry("transpose", {"order": list(range(spec.ndim))[::-1]}))
    is_big = dtype.byteorder == ">" or (dtype.byteorder == "=" and sys.byteorder == "big")
    first.append(Entry("bytes", {} if dtype.byteorder == "|" else {"endian": "big" if is_big else "little"}))
    for stage in stages:
        members = dict(stage.get_config())
        first.append(Entry(f"numcodecs.{members.pop('id')}", members))
    return first


def _is_known(codec: object) -> bool:
    return type(codec).__module__.partition(".")[0] in _KNOWN_PACKAGES


class CodecPipeline(BatchedCodecPipeline):
    """Decodes what zarr-python reads with zaro's codecs, many chunks at a time, without the GIL.

    Chunks of local and memory stores and of a `ZaroStore` are fetched, decoded and placed by threads;
    those of other stores are decoded while further ones arrive. Where zaro has no decoder for an array
    (elements without a fixed size, codecs or buffers of others) zarr-python's own pipeline reads; it
    writes always.

    Examples
    --------
    >>> zarr.config.set({"codec_pipeline.path": "zaro.zarr.CodecPipeline"})  # doctest: +SKIP

    Raises
    ------
    CorruptChunkError
        The bytes of a chunk do not decode to the chunk that metadata promises.

    See Also
    --------
    zarr.abc.codec.CodecPipeline : the interface; zarr-python makes the objects.
    """

    def _blocks(self, spec: ArraySpec) -> Blocks | None:
        known: dict[Any, Blocks | None] = self.__dict__.setdefault("_compiled", {})
        key = (spec.shape, spec.dtype, spec.order, spec.prototype)
        if key not in known:
            known[key] = compile_blocks(tuple(self), spec)
        return known[key]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_compiled"}

    async def decode_batch(
        self, chunk_bytes_and_specs: Iterable[tuple[Buffer | None, ArraySpec]]
    ) -> Iterable[NDBuffer | None]:
        """Decode some chunks."""
        pairs = list(chunk_bytes_and_specs)
        found = [self._blocks(spec) for _, spec in pairs]
        blocks = [one for one in found if one is not None]
        if len(blocks) < len(found):
            return await super().decode_batch(pairs)

        def decode() -> list[NDBuffer | None]:
            decoder = Decoder()
            return [
                None
                if stored is None
                else spec.prototype.nd_buffer.from_numpy_array(one.decode(stored.as_numpy_array(), decoder))
                for (stored, spec), one in zip(pairs, blocks, strict=True)
            ]

        nbytes = sum(one.nbytes for (stored, _), one in zip(pairs, blocks, strict=True) if stored is not None)
        return decode() if nbytes < _WORTH_A_THREAD else await asyncio.to_thread(decode)

    # zarr-python asks since 3.2 what became of each chunk; before, for nothing
    async def read(  # type: ignore[override]
        self, batch_info: Iterable[Task], out: NDBuffer, drop_axes: tuple[int, ...] = ()
    ) -> tuple[dict[str, str], ...]:
        """Read chunks, decode them, and place what is wanted of them."""
        tasks = list(batch_info)
        blocks = [self._blocks(task[1]) for task in tasks]
        if type(out) is not cpu.NDBuffer or not all(blocks) or self.supports_partial_decode:
            return await super().read(tasks, out, drop_axes)  # type: ignore[func-returns-value, return-value]
        reading = _Reading(tasks, blocks, out.as_ndarray_like(), drop_axes)  # type: ignore[arg-type]
        if (fetch := _at_once(tasks)) is not None:
            await reading.on_threads(fetch)
        else:
            await reading.as_it_arrives()
        return tuple({"status": "missing" if missing else "present"} for missing in reading.missing)


CodecPipeline.__module__ = "zaro.zarr"  # zarr-python finds it by this name
register_pipeline(CodecPipeline)


class _Reading:
    """One read of some chunks into an output."""

    def __init__(
        self, tasks: list[Task], blocks: list[Blocks], out: NDArray[Any], drop_axes: tuple[int, ...]
    ) -> None:
        self._tasks, self._blocks, self._out, self._drop_axes = tasks, blocks, out, drop_axes
        self.missing = [False] * len(tasks)
        self._nbytes = sum(one.nbytes for one in blocks)
        largest = max((one.nbytes for one in blocks), default=1)
        size = min(_MOST_CHUNKS, max(1, _BATCH_BYTES // max(largest, 1)))
        self._batches = deque(range(k, min(k + size, len(tasks))) for k in range(0, len(tasks), size))

    async def on_threads(self, fetch: Callable[[Sequence[Task]], Sequence[Any]]) -> None:
        """Fetch, decode and place on several threads at once."""

        def work() -> None:
            decoder = Decoder()
            while True:
                try:
                    batch = self._batches.popleft()
                except IndexError:
                    return
                try:
                    self._place(batch, fetch([self._tasks[k] for k in batch]), decoder)
                except BaseException:
                    self._batches.clear()
                    raise

        n = min(config.threads(), len(self._batches)) if self._nbytes >= _WORTH_A_THREAD else 1
        await asyncio.gather(*(asyncio.to_thread(work) for _ in range(n)))

    async def as_it_arrives(self) -> None:
        """Fetch in the event loop; decode and place what is there on threads."""
        gate = asyncio.Semaphore(zarr_config.get("async.concurrency") or len(self._tasks) or 1)

        async def get(getter: ByteGetter, prototype: BufferPrototype) -> Any:
            async with gate:
                found = await getter.get(prototype)
            return None if found is None else found.as_numpy_array()

        async def one(batch: range) -> None:
            tasks = [self._tasks[k] for k in batch]
            if _is_in_memory(tasks):
                found = [await get(getter, spec.prototype) for getter, spec, *_ in tasks]
            else:
                found = await asyncio.gather(*(get(getter, spec.prototype) for getter, spec, *_ in tasks))
            if self._nbytes < _WORTH_A_THREAD:
                self._place(batch, found, Decoder())
            else:
                await asyncio.to_thread(self._place, batch, found, Decoder())

        await asyncio.gather(*(one(batch) for batch in self._batches))

    def _place(self, batch: range, stored: Sequence[Any], decoder: Decoder) -> None:
        for k, data in zip(batch, stored, strict=True):
            _, spec, chunk_selection, out_selection, _ = self._tasks[k]
            if data is None:
                self._out[out_selection] = fill_value_or_default(spec)
                self.missing[k] = True
                continue
            part = self._blocks[k].decode(data, decoder)[chunk_selection]
            self._out[out_selection] = part.squeeze(axis=self._drop_axes) if self._drop_axes else part


# ---- where the bytes come from -----------------------------------------------------------------


def _at_once(tasks: Sequence[Task]) -> Callable[[Sequence[Task]], Sequence[Any]] | None:
    """How a thread gets the bytes of some chunks; None where only the event loop can."""
    places = [getter for getter, *_ in tasks if isinstance(getter, StorePath)]
    if len(places) < len(tasks) or not places or any(one.store is not places[0].store for one in places):
        return None
    store = places[0].store
    if type(store) is LocalStore:
        root = os.fspath(store.root)
        return lambda some: [_file(f"{root}/{getter.path}") for getter, *_ in some]  # type: ignore[attr-defined]
    if type(store) is MemoryStore and hasattr(store, "get_sync"):  # zarr-python has it since 3.1.6
        return lambda some: [_array(store.get_sync(getter.path)) for getter, *_ in some]  # type: ignore[attr-defined]
    if type(store) is ZaroStore:
        return lambda some: store.get_now([getter.path for getter, *_ in some])  # type: ignore[attr-defined]
    return None


def _array(found: Buffer | None) -> Any:
    return None if found is None else found.as_numpy_array()


def _file(path: str) -> bytes | None:
    """All bytes of a file; None for what `LocalStore` takes for absent."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _is_in_memory(tasks: Sequence[Task]) -> bool:
    """Whether the bytes are parts of a shard that is there already."""
    return all(not isinstance(getter, StorePath) for getter, *_ in tasks)
