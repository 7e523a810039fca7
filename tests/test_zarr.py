"""The doors to zarr-python: the store under zarr's own tests, and reads held against zarr's own stores."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from zarr.abc.store import OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, cpu, default_buffer_prototype
from zarr.storage import LocalStore
from zarr.testing.store import StoreTests

import zaro
from zaro.errors import ChunkError, MissingChunkError
from zaro.zarr import ZaroStore

READ_ONLY = "store was opened in read-only mode and does not support writing"


def in_a_loop(method):
    @functools.wraps(method)
    def call(self, *args, **kwargs):
        return asyncio.run(method(self, *args, **kwargs))

    return call


class InALoop(StoreTests):
    """zarr's tests of a store, each run in an event loop of its own."""


for name, method in inspect.getmembers(StoreTests, inspect.iscoroutinefunction):
    if name.startswith("test_"):
        setattr(InALoop, name, in_a_loop(method))


class Filled(ZaroStore):
    """A store that a test can fill, behind the back of the class that is tested."""

    def put(self, key: str, value: Buffer) -> None:
        if isinstance(self.target, dict):
            self.target[key] = value.to_bytes()
        else:
            path = Path(self.target) / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(value.to_bytes())

    async def _set_many(self, values):
        for key, value in values:
            self.put(key, value)


class ReadOnlyStoreTests(InALoop):
    store_cls = Filled
    buffer_cls = cpu.Buffer

    @pytest.fixture
    def store(self, open_kwargs):
        return asyncio.run(Filled.open(**open_kwargs))

    @pytest.fixture
    def store_not_open(self, store_kwargs):
        return Filled(**store_kwargs)

    async def set(self, store, key, value):
        store.put(key, value)

    async def get(self, store, key):
        raise NotImplementedError  # only tests of writing ask

    def test_store_repr(self, store):
        assert repr(store) == f"ZaroStore({str(store)!r})"

    def test_store_supports_writes(self, store):
        assert not store.supports_writes
        assert not store.supports_deletes

    def test_store_supports_listing(self, store):
        assert store.supports_listing

    # what a read-only store has to answer instead

    def test_serializable_store(self, store):
        again = pickle.loads(pickle.dumps(store))
        assert again == store
        assert again.read_only
        again.put("foo", cpu.Buffer.from_bytes(b"\x01\x02"))
        assert asyncio.run(again.get("foo", default_buffer_prototype())).to_bytes() == b"\x01\x02"

    def test_store_read_only(self, store):
        assert store.read_only
        with pytest.raises(AttributeError):
            store.read_only = False

    @pytest.mark.parametrize("read_only", [True, False])
    def test_store_open_read_only(self, open_kwargs, read_only):
        if read_only:
            store = asyncio.run(Filled.open(**open_kwargs, read_only=True))
            assert store._is_open
            assert store.read_only
        else:
            with pytest.raises(ValueError, match="read-only"):
                asyncio.run(Filled.open(**open_kwargs, read_only=False))

    def refuses(self, coroutine):
        with pytest.raises(ValueError, match=READ_ONLY):
            asyncio.run(coroutine)

    @pytest.mark.parametrize("key", ["zarr.json", "c/0", "foo/c/0.0", "foo/0/0"])
    @pytest.mark.parametrize("data", [b"\x01\x02\x03\x04", b""])
    def test_set(self, store, key, data):
        self.refuses(store.set(key, cpu.Buffer.from_bytes(data)))

    def test_set_not_open(self, store_not_open):
        self.refuses(store_not_open.set("c/0", cpu.Buffer.from_bytes(b"1")))

    def test_set_many(self, store):
        self.refuses(ZaroStore._set_many(store, [("c/0", cpu.Buffer.from_bytes(b"1"))]))

    def test_set_if_not_exists(self, store):
        self.refuses(store.set_if_not_exists("k", cpu.Buffer.from_bytes(b"1")))

    def test_clear(self, store):
        self.refuses(store.clear())

    def test_delete(self, store):
        self.refuses(store.delete("foo/zarr.json"))

    def test_delete_dir(self, store):
        self.refuses(store.delete_dir("foo"))

    def test_delete_nonexistent_key_does_not_raise(self, store):
        self.refuses(store.delete("nonexistent"))

    def test_exists(self, store):
        assert not asyncio.run(store.exists("foo"))
        store.put("foo/zarr.json", cpu.Buffer.from_bytes(b"bar"))
        assert asyncio.run(store.exists("foo/zarr.json"))

    def test_set_sync(self, store):
        assert not hasattr(store, "set_sync")

    def test_delete_sync(self, store):
        assert not hasattr(store, "delete_sync")

    def test_delete_sync_missing(self, store):
        assert not hasattr(store, "delete_sync")


class TestStoreOfAMapping(ReadOnlyStoreTests):
    @pytest.fixture
    def store_kwargs(self):
        return {"target": {}}


class TestStoreOfAFolder(ReadOnlyStoreTests):
    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"target": str(tmp_path)}
