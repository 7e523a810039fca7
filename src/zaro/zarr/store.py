"""A read-only store of zarr-python over everything that zaro opens."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Literal

from zarr.abc.store import ByteRequest, Store
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype

from zaro.options import Options
from zaro.references.set import References
from zaro.stores.base import Bytes
from zaro.zarr.objects import Objects, open_objects
from zaro.zarr.ranges import Span, span_of

__all__ = ["ZaroStore"]


class ZaroStore(Store):
    """Everything that `zaro.open` takes, as a store of zarr-python. Read-only.

    Parameters
    ----------
    target : path, URL, dict of references, mapping of keys to bytes, or References
        As for `zaro.open`.
    read_only : bool
        Must stay True.
    **options
        As for `zaro.open`.

    Notes
    -----
    A reference set is served with its metadata consolidated at the root, whether it has a
    consolidated document or not, so that opening it asks for no document twice and for none in
    vain; the document that is made is found by whoever asks for it, and not listed. Other stores
    are served as they are, and say that they support consolidated metadata only if they hold it.

    A chunk that a reference set lists and whose file cannot be read is an error; zarr-python takes
    only what is absent for the fill value.

    Examples
    --------
    >>> zarr.open_group(zaro.zarr.ZaroStore("refs.json"), mode="r")  # doctest: +SKIP

    Raises
    ------
    ValueError
        `read_only` is False; later, where a method would write.
    TypeError
        An option is none of zaro's.
    StoreError, ReferenceSetError
        The target cannot be opened; at the first use.
    ChunkError
        The bytes of a listed chunk cannot be had.

    See Also
    --------
    zarr.abc.store.Store : whose methods, arguments and results these are.
    zaro.open : reads without zarr-python.
    """

    def __init__(self, target: Any, *, read_only: bool = True, **options: Any) -> None:
        if not read_only:
            raise ValueError("a ZaroStore is read-only: zaro writes no array data")
        super().__init__(read_only=True)
        if isinstance(target, os.PathLike):
            target = os.fspath(target)
        self.target = target
        self.options = Options.of(**options)
        self._lock = threading.Lock()
        self._opened: Objects | None = None
        self._size: int | None = None

    # ---- the store itself ----------------------------------------------------------------------

    @property
    def supports_writes(self) -> bool:
        """False."""
        return False

    @property
    def supports_deletes(self) -> bool:
        """False."""
        return False

    @property
    def supports_listing(self) -> bool:
        """True."""
        return True

    @property
    def supports_consolidated_metadata(self) -> bool:
        """Whether the root's metadata are served consolidated."""
        return self._objects().is_consolidated

    def with_read_only(self, read_only: bool = False) -> Store:
        """Return a new store; only a read-only one can be had."""
        return self._again() if read_only else super().with_read_only(read_only)

    def _again(self) -> ZaroStore:
        store = ZaroStore.__new__(type(self))
        store.__setstate__(self.__getstate__())
        return store

    def __getstate__(self) -> dict[str, Any]:
        return {"target": self.target, "options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Store.__init__(self, read_only=True)
        self.__dict__.update(state)
        self._lock, self._opened, self._size = threading.Lock(), None, None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ZaroStore) or type(other) is not type(self) or self.options != other.options:
            return False
        mine, theirs = self.target, other.target
        if isinstance(mine, References) and isinstance(theirs, References):
            return mine is theirs or (mine.address is not None and mine.address == theirs.address)
        return bool(mine is theirs or mine == theirs)

    __hash__ = None  # type: ignore[assignment] # a target may be a dict

    def __str__(self) -> str:
        return self.target if isinstance(self.target, str) else f"{type(self.target).__name__} in memory"

    def __repr__(self) -> str:
        return f"ZaroStore({str(self)!r})"

    async def _open(self) -> None:
        if self._is_open:
            raise ValueError("store is already open")
        await self._ensure_open()

    async def _ensure_open(self) -> None:
        if not self._is_open:
            await asyncio.to_thread(self._objects)
            self._is_open = True

    def close(self) -> None:
        """Forget what was opened; the next read opens it again."""
        self._opened = None
        super().close()

    def _objects(self) -> Objects:
        with self._lock:
            size = _size(self.target)
            if self._opened is None or size != self._size:  # a dict that others fill is opened anew
                self._opened, self._size = open_objects(self.target, self.options), size
            return self._opened

    # ---- reading -------------------------------------------------------------------------------

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Retrieve the value of a key; None where it is absent."""
        return (await self._get([(key, span_of(byte_range))], prototype))[0]

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Do what `get` does, without an event loop.

        Parameters
        ----------
        key : str
            As in the store: `sst/c/0/5`.
        prototype : BufferPrototype, optional
            Kind of buffer to give; zarr-python's default.
        byte_range : ByteRequest, optional
            Part of the value; all of it by default.

        Returns
        -------
        Buffer or None
            None where the key is absent.

        Raises
        ------
        ChunkError
            It is listed, and its bytes cannot be had.
        """
        found = self._objects().get([(key, span_of(byte_range))])[0]
        return None if found is None else (prototype or default_buffer_prototype()).buffer.from_bytes(found)

    def get_now(self, keys: Sequence[str]) -> Sequence[Bytes | None]:
        """Whole values of some keys, as bytes, without an event loop.

        Parameters
        ----------
        keys : sequence of str
            As in the store.

        Returns
        -------
        sequence of bytes or None
            In the order of the keys; None for one that is absent.

        Raises
        ------
        ChunkError
            One is listed, and its bytes cannot be had.
        """
        return self._objects().get([(key, None) for key in keys])

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Retrieve parts of values, all at once."""
        return await self._get([(key, span_of(part)) for key, part in key_ranges], prototype)

    async def _get(
        self, wanted: list[tuple[str, Span]], prototype: BufferPrototype | None
    ) -> list[Buffer | None]:
        await self._ensure_open()
        make = (prototype or default_buffer_prototype()).buffer.from_bytes
        objects = self._objects()
        found = objects.at_hand(wanted)
        if found is None:
            found = await asyncio.to_thread(objects.get, wanted)
        return [None if one is None else make(one) for one in found]

    async def exists(self, key: str) -> bool:
        """Whether there is a value for a key."""
        await self._ensure_open()
        return await asyncio.to_thread(self._objects().exists, key)

    async def getsize(self, key: str) -> int:
        """Size of a value in bytes; of inline data, once it is decoded.

        Raises
        ------
        FileNotFoundError
            There is no such key.
        """
        await self._ensure_open()
        size = await asyncio.to_thread(self._objects().size, key)
        if size is None:
            raise FileNotFoundError(key)
        return size

    async def getsize_prefix(self, prefix: str) -> int:
        """Size of all values below a path, in bytes."""
        await self._ensure_open()
        return await asyncio.to_thread(self._objects().size_below, prefix.strip("/"))

    # ---- listing -------------------------------------------------------------------------------

    async def list(self) -> AsyncIterator[str]:
        """List all keys."""
        async for key in self.list_prefix(""):
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """List all keys that begin with a prefix."""
        await self._ensure_open()
        for key in await asyncio.to_thread(self._objects().keys, prefix):
            yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List the names directly below a path."""
        await self._ensure_open()
        for name in await asyncio.to_thread(self._objects().names, prefix.strip("/")):
            yield name

    # ---- what a read-only store refuses --------------------------------------------------------

    async def set(self, key: str, value: Buffer) -> None:
        """Raise: the store is read-only."""
        self._check_writable()

    @property
    def supports_partial_writes(self) -> Literal[False]:
        """False."""
        return False

    async def set_partial_values(self, key_start_values: Iterable[tuple[str, int, bytes]]) -> None:
        """Raise: the store is read-only. Versions of zarr-python before 3.1.4 ask for this method."""
        self._check_writable()

    async def set_if_not_exists(self, key: str, value: Buffer) -> None:
        """Raise: the store is read-only."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Raise: the store is read-only."""
        self._check_writable()

    async def delete_dir(self, prefix: str) -> None:
        """Raise: the store is read-only."""
        self._check_writable()

    async def clear(self) -> None:
        """Raise: the store is read-only."""
        self._check_writable()


def _size(target: Any) -> int | None:
    """How many keys a dict has, whichever way it is spelled; None for other targets."""
    if not isinstance(target, dict):
        return None
    refs = target.get("refs")
    return len(refs) if isinstance(refs, dict) else len(target)
