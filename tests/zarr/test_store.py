"""The store under zarr-python's own tests, and reads held against its own stores."""

from __future__ import annotations

import asyncio
import base64
import functools
import inspect
import json
import pickle
import warnings
from pathlib import Path

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

    @pytest.mark.parametrize(
        "byte_range",
        [None, RangeByteRequest(1, 4), OffsetByteRequest(1), SuffixByteRequest(1), RangeByteRequest(10, 20)],
    )
    def test_get_sync_byte_range_parity(self, store, byte_range):  # zarr-python has it since 3.4
        store.put("parity", cpu.Buffer.from_bytes(b"\x01\x02\x03\x04"))
        found = store.get_sync("parity", byte_range=byte_range)
        awaited = asyncio.run(store.get("parity", default_buffer_prototype(), byte_range))
        assert found.to_bytes() == awaited.to_bytes()


class TestStoreOfAMapping(ReadOnlyStoreTests):
    @pytest.fixture
    def store_kwargs(self):
        return {"target": {}}


class TestStoreOfAFolder(ReadOnlyStoreTests):
    @pytest.fixture
    def store_kwargs(self, tmp_path):
        return {"target": str(tmp_path)}


# ---- reading -----------------------------------------------------------------------------------


@pytest.fixture(params=["v2", "v3", "v3 shards"])
def folder(request, tmp_path):
    """A hierarchy in a folder, as zarr-python writes it."""
    version = 2 if request.param == "v2" else 3
    root = zarr.open_group(str(tmp_path / "store"), mode="w", zarr_format=version)
    root.attrs["title"] = "test"
    rng = np.random.default_rng(0)
    group = root.create_group("group")
    shards = {"shards": (12, 8)} if request.param == "v3 shards" else {}
    a = root.create_array("a", shape=(24, 16), chunks=(6, 4), dtype="f4", fill_value=7, **shards)
    a[:13, :9] = rng.normal(size=(13, 9))
    group.create_array("b", data=rng.integers(0, 99, (5, 3)), chunks=(2, 3))
    group.create_array("scalar", shape=(), chunks=(), dtype="i8")[...] = 42
    group.create_array("empty", shape=(0, 3), chunks=(1, 3), dtype="i2")
    return tmp_path / "store"


def as_references(folder: Path, *, inline: int = 0) -> dict:
    """The same as references: documents inline, chunks where they are (inline below a size)."""
    refs = {}
    for path in sorted(folder.rglob("*")):
        key, raw = path.relative_to(folder).as_posix(), path.read_bytes() if path.is_file() else b""
        if path.name.startswith(".z") or path.name == "zarr.json":
            refs[key] = raw.decode()
        elif path.is_file() and len(raw) < inline:
            refs[key] = "base64:" + base64.b64encode(raw).decode()
        elif path.is_file():
            refs[key] = [str(path), 0, len(raw)] if len(refs) % 2 else [str(path)]
    return refs


@pytest.fixture(
    params=["folder", "dict of bytes", "dict of references", "document", "inline", "References", "Parquet"]
)
def store(request, folder, tmp_path):
    """A store of the same hierarchy, from everything that zaro opens."""
    if request.param == "folder":
        return ZaroStore(folder)
    if request.param == "dict of bytes":
        files = [path for path in folder.rglob("*") if path.is_file()]
        return ZaroStore({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
    refs = as_references(folder, inline=10_000 if request.param == "inline" else 0)
    if request.param in ("dict of references", "inline"):
        return ZaroStore(refs)
    if request.param == "References":
        return ZaroStore(zaro.References.open(refs))
    if request.param == "Parquet":
        from zaro.references.parquet_writer import write

        write(zaro.References.open(refs), tmp_path / "refs.parquet", record_size=5)
        return ZaroStore(tmp_path / "refs.parquet")
    (tmp_path / "refs.json").write_text(json.dumps({"version": 1, "refs": refs}))
    return ZaroStore(tmp_path / "refs.json")


def nodes(group):
    return dict(group.members(max_depth=None))


def test_every_array_reads_as_zarr_reads_it(folder, store):
    expected = zarr.open_group(LocalStore(folder, read_only=True), mode="r")
    found = zarr.open_group(store, mode="r")
    assert dict(found.attrs) == dict(expected.attrs)
    assert set(nodes(found)) == set(nodes(expected))
    for path, node in nodes(expected).items():
        if isinstance(node, zarr.Array):
            np.testing.assert_array_equal(found[path][...], node[...])
            assert found[path].dtype == node.dtype
            if node.ndim == 2 and node.size:
                np.testing.assert_array_equal(found[path][1:4:2, -2:], node[1:4:2, -2:])
                np.testing.assert_array_equal(found[path].oindex[[1, 3], :], node.oindex[[1, 3], :])


def collected(iterator):
    async def collect():
        return [one async for one in iterator]

    return asyncio.run(collect())


def test_every_value_and_listing_is_that_of_a_local_store(folder, store):
    local = LocalStore(folder, read_only=True)
    keys = set(collected(local.list()))
    assert set(collected(store.list())) - {".zmetadata"} == keys
    for prefix in ("", "a", "group", "group/b", "a/c", "absent"):
        names = set(collected(local.list_dir(prefix)))
        assert set(collected(store.list_dir(prefix))) - {".zmetadata"} == names
    proto = default_buffer_prototype()
    for key in [*keys, "absent", "a/absent", "a/c/99/99", "a/99.99"]:
        expected, found = (asyncio.run(one.get(key, proto)) for one in (local, store))
        if key.endswith((".zgroup", ".zarray", ".zattrs", "zarr.json")):
            assert_same_document(key, expected.to_bytes(), found.to_bytes())
            continue
        assert (None if expected is None else expected.to_bytes()) == (
            None if found is None else found.to_bytes()
        )
        assert asyncio.run(store.exists(key)) == (expected is not None)
        if expected is not None:
            assert asyncio.run(store.getsize(key)) == len(expected)
    for path in ("a", "group/b"):
        wanted = [
            key
            for key in keys
            if key.startswith(f"{path}/") and not key.endswith((".zarray", ".json", ".zattrs"))
        ]
        documents = [key for key in keys if key.startswith(f"{path}/") and key not in wanted]
        stored = sum(asyncio.run(local.getsize(key)) for key in wanted)
        stored += sum(asyncio.run(store.getsize(key)) for key in documents)
        assert asyncio.run(store.getsize_prefix(path)) == stored


def assert_same_document(key, expected, found):
    members = json.loads(found)
    if key == "zarr.json":
        members.pop("consolidated_metadata", None)
    assert {**json.loads(expected), "consolidated_metadata": 0} == {**members, "consolidated_metadata": 0}


REQUESTS = [
    None,
    *[RangeByteRequest(a, b) for a, b in ((0, 3), (2, 5), (3, 3), (4, 10_000))],
    *[OffsetByteRequest(n) for n in (0, 4, 5000)],
    *[SuffixByteRequest(n) for n in (1, 4, 5000)],
]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_every_kind_of_byte_request_slices(request_, store, folder):
    key = next(key for key in sorted(collected(store.list())) if key.startswith("a/") and key[-1].isdigit())
    whole = (folder / key).read_bytes()
    local = LocalStore(folder, read_only=True)
    expected = asyncio.run(local.get(key, default_buffer_prototype(), request_)).to_bytes()
    assert store.get_sync(key, byte_range=request_).to_bytes() == expected
    found = asyncio.run(
        store.get_partial_values(default_buffer_prototype(), [(key, request_), ("x", request_), (key, None)])
    )
    assert [None if one is None else one.to_bytes() for one in found] == [expected, None, whole]


def test_stores_are_equal_by_target_and_options(folder, tmp_path):
    assert ZaroStore(folder) == ZaroStore(str(folder))
    assert ZaroStore(folder) != ZaroStore(tmp_path)
    assert ZaroStore(folder) != ZaroStore(folder, missing="raise")
    assert ZaroStore(folder) != LocalStore(folder)
    refs = as_references(folder)
    assert ZaroStore(refs) == ZaroStore(dict(refs))
    again = pickle.loads(pickle.dumps(ZaroStore(refs, missing="raise")))
    assert again == ZaroStore(refs, missing="raise")
    assert ZaroStore(folder).with_read_only(True) == ZaroStore(folder)


def test_a_store_of_an_address_pickles_small(archive):
    store = ZaroStore(archive.references)
    zarr.open_group(store, mode="r")["tas"][0]
    raw = pickle.dumps(store)
    assert len(raw) < 2000
    assert (
        zarr.open_group(pickle.loads(raw), mode="r")["tas"][0] == zaro.open(archive.references)["tas"][0]
    ).all()


# ---- consolidated metadata ---------------------------------------------------------------------


class Counting(ZaroStore):
    """Remembers what was asked for and not there."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.vain: list[str] = []

    async def _get(self, wanted, prototype):
        found = await super()._get(wanted, prototype)
        self.vain += [key for (key, _), one in zip(wanted, found, strict=True) if one is None]
        return found


def test_opening_warns_of_nothing(store):
    xr = pytest.importorskip("xarray")
    zarr.open_group(store, mode="r")
    zarr.open(store, mode="r")
    version = zarr.open_group(store, mode="r").metadata.zarr_format
    if version == 3:
        return  # xarray asks for names of dimensions, which these arrays have not
    with pytest.raises(KeyError):  # likewise; no warning comes first
        xr.open_zarr(store)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("consolidated", [True, False])
def test_xarray_opens_without_a_warning(version, consolidated, tmp_path):
    xr = pytest.importorskip("xarray")
    ds = xr.Dataset({"t": (("y", "x"), np.arange(24.0).reshape(4, 6))}, coords={"y": np.arange(4)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the writer, on consolidated metadata in format 3
        ds.to_zarr(tmp_path / "s", zarr_format=version, consolidated=consolidated)
    for target in (tmp_path / "s", as_references(tmp_path / "s")):
        store = Counting(target)
        xr.testing.assert_identical(xr.open_zarr(store).load(), ds)
        assert store.supports_consolidated_metadata == (consolidated or isinstance(target, dict))
        if isinstance(target, dict):
            known = {"zarr.json", ".zgroup", ".zattrs", ".zarray", ".zmetadata"}
            assert set(store.vain) <= known  # the root in the other format, and nothing below it


def test_references_are_opened_from_the_root_alone(folder):
    store = Counting(as_references(folder))
    group = zarr.open_group(store, mode="r")
    assert group.metadata.consolidated_metadata is not None
    before = len(store.vain)
    assert nodes(group)["group/scalar"][...] == 42
    assert len(store.vain) == before


def test_consolidated_documents_of_a_set_are_served_as_they_are(folder):
    refs = as_references(folder)
    if "zarr.json" in refs:
        root = json.loads(refs["zarr.json"])
        refs["zarr.json"] = json.dumps({**root, "consolidated_metadata": {"kind": "inline", "metadata": {}}})
        key = "zarr.json"
    else:
        refs[".zmetadata"] = json.dumps({"metadata": {".zgroup": {"zarr_format": 2}}, "own": True})
        key = ".zmetadata"
    assert ZaroStore(refs).get_sync(key).to_bytes() == refs[key].encode()


def test_an_array_at_the_root_is_not_consolidated(tmp_path):
    for version in (2, 3):
        zarr.create_array(str(tmp_path / str(version)), data=np.arange(6), chunks=(2,), zarr_format=version)
        store = ZaroStore(as_references(tmp_path / str(version)))
        assert (zarr.open_array(store, mode="r")[:] == np.arange(6)).all()
        assert store.get_sync(".zmetadata") is None


# ---- what is absent, and what is broken --------------------------------------------------------


def refs_of_one_array(tmp_path):
    zarr.create_array(str(tmp_path / "s"), data=np.arange(6), chunks=(2,), zarr_format=2, compressors=None)
    return as_references(tmp_path / "s")


def test_an_absent_chunk_is_fill_or_an_error(tmp_path):
    refs = refs_of_one_array(tmp_path)
    del refs["1"]
    assert zarr.open_array(ZaroStore(refs), mode="r")[:].tolist() == [0, 1, 0, 0, 4, 5]
    strict = ZaroStore(refs, missing="raise")
    with pytest.raises(MissingChunkError, match="'1'"):
        zarr.open_array(strict, mode="r")[:]
    assert strict.get_sync("9") is None  # no chunk of the array


def test_a_listed_chunk_that_cannot_be_read_is_an_error(tmp_path):
    refs = refs_of_one_array(tmp_path)
    refs["1"] = [str(tmp_path / "absent"), 5, 16]
    with pytest.raises(ChunkError, match="absent") as caught:
        zarr.open_array(ZaroStore(refs), mode="r")[:]
    assert (caught.value.key, caught.value.offset, caught.value.length) == ("1", 5, 16)
    refs["1"] = [refs["0"][0], 8, 16]
    with pytest.raises(ChunkError, match=r"8\+16"):
        zarr.open_array(ZaroStore(refs), mode="r")[:]


def test_a_dict_of_references_that_grows_is_read_as_it_is(tmp_path):
    refs = refs_of_one_array(tmp_path)
    late = {key: refs.pop(key) for key in ("1", "2")}
    document = {"version": 1, "refs": refs}
    store = ZaroStore(document)
    assert zarr.open_array(store, mode="r")[:].tolist() == [0, 1, 0, 0, 0, 0]
    refs.update(late)
    assert zarr.open_array(store, mode="r")[:].tolist() == [0, 1, 2, 3, 4, 5]
    assert set(collected(store.list())) == set(refs)


def test_dask_reads_a_store(archive):
    xr = pytest.importorskip("xarray")
    pytest.importorskip("dask")
    ds = xr.open_zarr(ZaroStore(archive.references), chunks={})
    with xr.open_dataset(archive.references, engine="zaro") as expected:
        xr.testing.assert_equal(ds.compute(), expected.compute())


def test_options_are_checked():
    with pytest.raises(TypeError, match="unknown option"):
        ZaroStore("refs.json", storage_option={})
    with pytest.raises(ValueError, match="read-only"):
        zarr.open_group(ZaroStore({}), mode="w")


def test_a_target_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        zarr.open_group(ZaroStore(tmp_path / "absent.json"), mode="r")
