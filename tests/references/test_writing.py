import gzip
import json
import os

import fsspec
import originals
import pytest
import zstandard
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.errors import StoreError
from zaro.references.set import References
from zaro.references.writing import spelled

ZARRAY = json.dumps(originals.zarray([4, 6], [2, 2]))
REFS = {
    ".zgroup": '{"zarr_format": 2}',
    "sst/.zarray": ZARRAY,
    "sst/0.0": ["/data/a.nc", 100, 20],
    "sst/1.2": ["/data/b.nc"],
    "sst/0.1": "base64:AAEC",
    "readme.txt": "hello",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("saved")


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_what_is_saved_reads_the_same_here_and_in_the_original(folder, data):
    refs = References.open(data.draw(originals.reference_sets()))
    path = folder / "refs.json"
    refs.save(path)
    assert dict(References.open(path)) == dict(refs)
    assert originals.original(json.loads(path.read_bytes())) == dict(refs)


@given(st.binary(max_size=20))
def test_spelled_bytes_read_back(data):
    assert originals.plain(json.loads(json.dumps(spelled(data)))) == data


@pytest.mark.parametrize(
    ("name", "unpack"),
    [("r.json", bytes), ("r.json.gz", gzip.decompress), ("r.json.zst", zstandard.decompress)],
)
def test_name_says_how_the_document_is_compressed(tmp_path, name, unpack):
    def plain(raw):
        return (
            zstandard.ZstdDecompressor().decompressobj().decompress(raw)
            if name.endswith("zst")
            else unpack(raw)
        )

    refs = References.open(REFS)
    refs.save(tmp_path / name)
    refs.save(tmp_path / "again.json")
    assert plain((tmp_path / name).read_bytes()) == (tmp_path / "again.json").read_bytes()
    assert dict(References.open(tmp_path / name)) == dict(refs)


def test_text_stays_text(tmp_path):
    References.open(REFS).save(tmp_path / "r.json")
    refs = json.loads((tmp_path / "r.json").read_text())["refs"]
    assert refs == {**REFS, ".zgroup": '{"zarr_format": 2}'}


def test_many_rows_do_not_need_many_objects(tmp_path):
    n = 300_000
    refs = {"x/.zarray": json.dumps(originals.zarray([n], [1]))}
    refs |= {f"x/{k}": ["/d/é.nc", k * 7, k] for k in range(n)}
    opened = References.open(refs)
    opened.save(tmp_path / "r.json")
    assert dict(References.open(tmp_path / "r.json").items()) == dict(opened.items())


def test_failed_save_leaves_the_old_document_and_nothing_else(tmp_path):
    path = tmp_path / "r.json"
    path.write_text("{}")
    refs = References.open(REFS)

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refs.save(path, progress=stop)
    assert os.listdir(tmp_path) == ["r.json"]
    assert path.read_text() == "{}"


def test_remote_documents_save_and_open():
    refs = References.open(REFS)
    refs.save("memory://saved/refs.json.gz")
    assert dict(References.open("memory://saved/refs.json.gz")) == dict(refs)
    with pytest.raises(StoreError):
        References.open("memory://saved/none.json")


def test_relative_files_are_saved_resolved(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/r.json").write_text(json.dumps({"x": ["f.nc", 0, 1], "y": ["../g.nc"]}))
    refs = References.open(tmp_path / "a/r.json")
    refs.save(tmp_path / "r.json")
    assert dict(References.open(tmp_path / "r.json")) == dict(refs)
    assert refs["y"] == [str(tmp_path / "g.nc")]


class Locked(MemoryFileSystem):
    """A place in memory that asks for a key."""

    protocol = "locked"
    root_marker = "/"

    def __init__(self, key=None, **options):
        super().__init__(**options)
        if key != "open sesame":
            raise PermissionError("which key?")


@pytest.mark.parametrize("form", ["json", "parquet", "generator"])
def test_a_set_is_saved_with_the_options_of_its_place(form):
    fsspec.register_implementation("locked", Locked, clobber=True)
    options, target = (
        {"key": "open sesame"},
        f"locked://sets/{form}.{'parquet' if form == 'parquet' else 'json'}",
    )
    refs = References.open({"sst/.zarray": ZARRAY, "sst/0.0": ["/a.nc", 0, 4], "sst/0.1": ["/a.nc", 4, 4]})
    refs.save(target, format=form, storage_options=options)
    assert dict(References.open(target, storage_options=options)) == dict(refs)


def test_files_of_data_elsewhere_are_left_alone_and_who_does_not_answer_is_told(tmp_path):
    refs = References.open({"version": 1, "refs": {".zgroup": '{"zarr_format":2}'}})
    memory = fsspec.filesystem("memory")
    for name, data in (("d.nc", b"CDF\x01\0\0"), ("d.gz", b"\x1f\x8b\0\0broken")):
        memory.pipe_file(f"/{tmp_path.name}/{name}", data)
        with pytest.raises(StoreError, match="is a file of data, which is left alone"):
            refs.save(f"memory://{tmp_path.name}/{name}", format="json")
        assert memory.cat_file(f"/{tmp_path.name}/{name}") == data
    with pytest.raises(StoreError, match="Connect call failed"):
        refs.save("http://127.0.0.1:9/refs.json")
