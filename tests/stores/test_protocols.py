"""Each URL by its own protocol and options."""

import json
import os
import zipfile

import fsspec
import numpy as np
import pytest
import zarr
from fsspec.asyn import AsyncFileSystem

import zaro
from zaro.errors import ChunkError, StoreError
from zaro.options import Options
from zaro.stores.filesystems import place_of
from zaro.stores.remote import FsspecStore, read_url
from zaro.stores.targets import Targets

ZARRAY = json.dumps(
    {
        "shape": [10],
        "chunks": [5],
        "dtype": "<i4",
        "compressor": None,
        "filters": None,
        "fill_value": 0,
        "order": "C",
        "zarr_format": 2,
    }
)
DATA = np.arange(10, dtype="<i4")


@pytest.fixture
def memory():
    fs = fsspec.filesystem("memory")
    fs.pipe("/bucket/a.bin", DATA.tobytes())
    yield fs
    fs.rm("/bucket", recursive=True)


def refs(url):
    return {".zgroup": '{"zarr_format": 2}', "x/.zarray": ZARRAY, "x/0": [url, 0, 20], "x/1": [url, 20, 20]}


@pytest.mark.parametrize("url", ["bucket/a.bin", "memory://bucket/a.bin"])
@pytest.mark.parametrize("how", ["dict", "file"])
def test_remote_protocol_is_that_of_references_without_one(memory, tmp_path, url, how):
    target = refs(url)
    if how == "file":
        target = tmp_path / "refs.json"
        target.write_text(json.dumps(refs(url)))
    np.testing.assert_array_equal(zaro.read(target, "x", remote_protocol="memory"), DATA)


def test_one_set_reaches_local_and_remote_files(memory, tmp_path):
    (tmp_path / "b.bin").write_bytes(DATA.tobytes())
    both = refs("memory://bucket/a.bin") | {"x/1": [str(tmp_path / "b.bin"), 20, 20]}
    np.testing.assert_array_equal(zaro.read(both, "x"), DATA)
    inline = both | {"x/0": "base64:AAAAAAEAAAACAAAAAwAAAAQAAAA="}
    np.testing.assert_array_equal(zaro.read(inline, "x"), DATA)


def test_members_of_an_archive_are_targets(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.bin", DATA.tobytes())
    found = zaro.read(refs(f"zip://a.bin::{tmp_path}/a.zip"), "x")
    np.testing.assert_array_equal(found, DATA)
    with pytest.raises(ChunkError, match=r"none\.bin"):
        zaro.read(refs(f"zip://none.bin::{tmp_path}/a.zip"), "x")


def test_a_cache_of_files_is_a_link_of_the_chain(memory, tmp_path):
    found = zaro.read(
        refs("simplecache::memory://bucket/a.bin"),
        "x",
        remote_options={"simplecache": {"cache_storage": str(tmp_path)}},
    )
    np.testing.assert_array_equal(found, DATA)
    assert len(list(tmp_path.iterdir())) == 1


def test_data_urls_are_read():
    import base64

    found = zaro.read(refs("data:;base64," + base64.b64encode(DATA.tobytes()).decode()), "x")
    np.testing.assert_array_equal(found, DATA)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("made-up://x", "not known"),
        ("http-proxy://x", "not known"),
        ("zip://a.bin::memory://none.zip", "none.zip"),
    ],
)
def test_what_nothing_reaches_is_an_error(url, reason):
    with pytest.raises((ChunkError, StoreError), match=reason):
        zaro.read(refs(url), "x")


def test_options_that_do_not_fit_are_an_error():
    with pytest.raises(ChunkError, match="made_up"):
        zaro.read(refs("s3://bucket/x"), "x", remote_options={"made_up": {}, "client_kwargs": {"made_up": 1}})


def test_one_file_system_serves_all_urls_with_the_same_options():
    one = place_of("http://127.0.0.1:1/a", {"headers": {"a": "b"}})
    two = place_of("http://127.0.0.1:2/b", {"headers": {"a": "b"}})
    three = place_of("http://127.0.0.1:2/b", {})
    assert one.fs is two.fs
    assert three.fs is not two.fs


def test_options_are_those_of_the_longest_prefix():
    by_prefix = {"s3://": {"anon": True}, "s3://mine/": {"key": "k", "secret": "s"}}
    targets = Targets("", Options.of(remote_options=by_prefix))
    assert targets.place("s3://other/a").fs.anon
    assert targets.place("s3://mine/a").fs.key == "k"
    chained = targets._options("zip://a::s3://other/a.zip")
    assert chained == {"zip": {}, "s3": {"anon": True}}


def test_keys_do_not_climb_out():
    store = FsspecStore("memory://bucket")
    for key in ("../x", "a/../../x", "/x"):
        with pytest.raises(StoreError, match="climbs"):
            store.get(key)


@pytest.mark.parametrize(
    ("url", "key", "path"),
    [
        ("http://h/s.zarr", "a/0.0", "http://h/s.zarr/a/0.0"),
        ("http://h/s.zarr/?token=x", "a b/#1?", "http://h/s.zarr/a%20b/%231%3F?token=x"),
        ("http://h", "100%", "http://h/100%25"),
        ("memory://bucket/s", "a/0", "/bucket/s/a/0"),
    ],
)
def test_keys_become_urls(url, key, path):
    assert FsspecStore(url).place(key).path == path


def test_a_document_is_read_whole(memory):
    assert bytes(read_url("memory://bucket/a.bin", {})) == DATA.tobytes()
    with pytest.raises(FileNotFoundError, match="none"):
        read_url("memory://bucket/none", {})


class FromTheStart(AsyncFileSystem):
    """A file system over a folder that cannot count from the end, as Azure's."""

    protocol = "from-the-start"

    async def _info(self, path, **kwargs):
        if not os.path.exists(path):
            raise FileNotFoundError(path)
        return {"name": path, "size": os.path.getsize(path), "type": "file"}

    async def _cat_file(self, path, start=None, end=None, **kwargs):
        if (start or 0) < 0:
            raise ValueError("no such range")
        await self._info(path)
        with open(path, "rb") as file:
            return file.read()[start:end]


def test_an_index_at_the_end_is_found_where_only_the_start_counts(tmp_path):
    fsspec.register_implementation("from-the-start", FromTheStart, clobber=True)
    data = np.arange(400, dtype="f4").reshape(20, 20)
    how = {"chunks": (2, 5), "shards": (10, 10)}
    zarr.create_array(tmp_path / "a.zarr", shape=data.shape, dtype="f4", **how)[:] = data
    np.testing.assert_array_equal(zaro.open(f"from-the-start://{tmp_path}/a.zarr")[...], data)
