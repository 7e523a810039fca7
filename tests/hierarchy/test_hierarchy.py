"""Opening, listing and describing nodes."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest
import zarr

import zaro


@pytest.fixture(params=[2, 3])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    root = zarr.create_group(tmp_path / "s.zarr", zarr_format=request.param, attributes={"title": "ocean"})
    sst = root.create_array("sst", shape=(4, 6), chunks=(2, 3), dtype="f4", attributes={"units": "K"})
    sst[...] = np.arange(24).reshape(4, 6)
    deep = root.create_group("ocean/deep")
    deep.create_array("salt", shape=(3,), chunks=(2,), dtype="i2")[...] = [1, 2, 3]
    return tmp_path / "s.zarr"


TREE = {"/": "group", "ocean": "group", "ocean/deep": "group", "ocean/deep/salt": "array", "sst": "array"}


def test_every_node_is_listed(store: Path) -> None:
    assert zaro.list(store) == TREE


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_consolidated_store_is_read_from_one_document(store: Path) -> None:
    zarr.consolidate_metadata(store)
    kept = {"zarr.json", ".zmetadata"}
    for path in store.rglob("*"):
        if path.name in {"zarr.json", ".zarray", ".zattrs", ".zgroup"} and not (
            path.parent == store and path.name in kept
        ):
            path.unlink()
    assert zaro.list(store) == TREE
    assert zaro.open(store).attrs == {"title": "ocean"}
    assert zaro.open(store, "sst").attrs == {"units": "K"}
    assert zaro.read(store, "ocean/deep/salt").tolist() == [1, 2, 3]


def test_nodes_are_opened_by_path_from_either_end(store: Path) -> None:
    root = zaro.open(store)
    assert isinstance(root, zaro.Group)
    assert list(root) == ["ocean", "sst"]
    assert len(root) == 2
    assert "ocean/deep" in root
    assert "nowhere" not in root
    assert root["ocean"]["deep"]["salt"][1] == 2
    assert root["ocean/deep/salt"].path == zaro.open(store, "/ocean/deep/salt/").path == "ocean/deep/salt"
    assert root.tree().splitlines() == [
        "/",
        "├── ocean",
        "│   └── deep",
        "│       └── salt (3,) int16",
        "└── sst (4, 6) float32",
    ]


def test_a_node_that_is_not_there_is_named_with_what_is(store: Path) -> None:
    with pytest.raises(
        zaro.errors.NodeNotFoundError, match=r"no array or group at 'ocean/sst' in .*; there are 'deep'"
    ):
        zaro.open(store, "ocean/sst")
    with pytest.raises(KeyError):
        zaro.open(store)["salt"]


def test_a_store_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere: No such file or directory"):
        zaro.open(tmp_path / "nowhere")
    with pytest.raises(zaro.errors.NodeNotFoundError, match="no array or group at '/'"):
        zaro.open(tmp_path)


@pytest.mark.parametrize(
    ("head", "what"),
    [(b"\x89HDF\r\n\x1a\n", "hdf5"), (b"CDF\x01", "netcdf3"), (b"II*\0", "tiff"), (b"GRIB", "grib")],
)
def test_a_file_of_data_says_how_to_make_references_of_it(tmp_path: Path, head: bytes, what: str) -> None:
    file = tmp_path / "data.bin"
    file.write_bytes(head + bytes(64))
    fsspec.filesystem("memory").pipe("/data.bin", file.read_bytes())
    for address in (str(file), "memory://data.bin"):
        with pytest.raises(
            zaro.errors.ReferenceSetError, match=rf"{address}: is a file of data \({what}\).*zaro scan"
        ):
            zaro.open(address)
    file.write_bytes(b"no such thing")
    with pytest.raises(zaro.errors.ReferenceSetError, match="byte 0: no JSON object begins here"):
        zaro.open(file)


def test_an_array_describes_itself(store: Path) -> None:
    sst = zaro.open(store, "sst")
    assert (sst.shape, sst.chunks, sst.dtype, sst.ndim, sst.size, sst.nbytes) == (
        (4, 6),
        (2, 3),
        np.dtype("f4"),
        2,
        24,
        96,
    )
    assert len(sst) == 4
    assert sst.fill_value == 0
    assert sst.dims is None
    assert sst.shards is None
    assert sst.codecs[0].name == "bytes"
    assert np.array_equal(np.asarray(sst), np.arange(24).reshape(4, 6))
    assert zaro.meta(store, "sst").shape == (4, 6)
    assert "sst: 4 x 6 float32, chunks 2 x 3" in repr(sst)
    assert [row.tolist() for row in sst][3] == [18, 19, 20, 21, 22, 23]


def test_reading_a_group_is_an_error_that_names_its_arrays(store: Path) -> None:
    with pytest.raises(zaro.errors.MetadataError, match="is a group; name an array in it: ocean, sst"):
        zaro.read(store)


def test_every_node_pickles_as_its_address(store: Path) -> None:
    for node in (zaro.open(store), zaro.open(store, "sst")):
        again = pickle.loads(pickle.dumps(node))
        assert (type(again), again.path, again.attrs) == (type(node), node.path, node.attrs)


def test_unknown_options_and_values_are_refused(store: Path) -> None:
    with pytest.raises(TypeError, match="unknown option 'mising'; there are storage_options"):
        zaro.open(store, mising="fill")
    with pytest.raises(ValueError, match="'fill', 'warn' or 'raise'"):
        zaro.open(store, missing="ignore")
    with pytest.raises(TypeError, match="cannot open int"):
        zaro.open(5)


def references(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "data.bin").write_bytes(bytes(range(16)))
    document = {
        "zarr_format": 2, "shape": [12], "chunks": [4], "dtype": "|u1", "fill_value": 0,
        "order": "C", "compressor": None, "filters": None,
    }  # fmt: skip
    return {
        "version": 1,
        "templates": {"u": str(tmp_path / "data.bin")},
        "refs": {
            ".zgroup": json.dumps({"zarr_format": 2}),
            "a/.zarray": document,
            "a/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
            "a/0": ["{{u}}", 8, 4],
            "a/1": "base64:AQIDBA==",
        },
    }


def test_chunks_are_located_and_explained(tmp_path: Path) -> None:
    array = zaro.open(references(tmp_path))["a"]
    assert array[...].tolist() == [8, 9, 10, 11, 1, 2, 3, 4, 0, 0, 0, 0]
    assert array.dims == ("x",)
    found = array.locate([0, 1, 2])
    assert found.file_id.tolist() == [0, -2, -1]
    assert (found.offset[0], found.length[0]) == (8, 4)
    assert list(found.files) == [str(tmp_path / "data.bin")]
    assert array.explain("0") == f"chunk 0 of a: bytes 8+4 of {tmp_path / 'data.bin'}"
    assert array.explain((1,)) == "chunk 1 of a: 4 bytes inline in the reference set"
    assert array.explain("a/2") == "chunk 2 of a: absent, reads as np.uint8(0)"
    with pytest.raises(zaro.errors.SelectionError, match="'00' is no chunk of 'a', whose grid is"):
        array.explain("00")
    with pytest.raises(zaro.errors.SelectionError, match="chunk 3 of an array of 3 chunks"):
        array.locate([3])


def test_a_reference_document_opens_from_every_kind_of_target(tmp_path: Path) -> None:
    document = references(tmp_path)
    path = tmp_path / "refs.json"
    path.write_text(json.dumps(document))
    for target in (document, document["refs"] | {"a/0": [str(tmp_path / "data.bin"), 8, 4]}, path, str(path), f"file://{path}",
                   zaro.References.open(path)):  # fmt: skip
        assert zaro.read(target, "a")[:5].tolist() == [8, 9, 10, 11, 1]


def test_relative_references_lie_beside_the_document_or_under_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = references(tmp_path)
    document["templates"]["u"] = "data.bin"
    (tmp_path / "sets").mkdir()
    beside, elsewhere = tmp_path / "refs.json", tmp_path / "sets" / "refs.json"
    for path in (beside, elsewhere):
        path.write_text(json.dumps(document))
    assert zaro.read(beside, "a")[0] == 8
    with pytest.raises(
        zaro.errors.ChunkError, match=r"sets/data\.bin or .*/data\.bin: the file does not exist"
    ):
        zaro.read(elsewhere, "a")
    monkeypatch.chdir(tmp_path)
    assert zaro.read(elsewhere, "a")[0] == 8


PLAIN = {
    "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i2", "order": "C",
    "fill_value": 0, "compressor": None, "filters": None,
}  # fmt: skip
RECORDS = np.array(
    [(k, k / 2, (k, -k)) for k in range(24)], [("n", "<i2"), ("x", ">f8"), ("pair", "<f4", (2,))]
).reshape(4, 6)


@pytest.fixture
def records():
    descr = [["n", "<i2"], ["x", ">f8"], ["pair", "<f4", [2]]]
    padded = np.zeros((6, 8), RECORDS.dtype)
    padded[:4, :6] = RECORDS
    chunks = {f"{i}.{j}": padded[3 * i : 3 * i + 3, 4 * j : 4 * j + 4] for i in range(2) for j in range(2)}
    document = {**PLAIN, "shape": [4, 6], "chunks": [3, 4], "dtype": descr, "fill_value": None}
    return zaro.open(
        {".zarray": json.dumps(document)} | {key: block.tobytes() for key, block in chunks.items()}
    )


def test_a_field_of_records_is_selected_by_its_name(records):
    for name in RECORDS.dtype.names:
        np.testing.assert_array_equal(records[name], RECORDS[name])
        np.testing.assert_array_equal(records[name, 1:, ::2], RECORDS[name][1:, ::2])
        np.testing.assert_array_equal(records.oindex[name, [2, 0], :], RECORDS[name][[2, 0]])
        np.testing.assert_array_equal(records.vindex[name, [2, 0], [5, 1]], RECORDS[name][[2, 0], [5, 1]])
    assert records["x", 3, 5] == 11.5
    assert records["x"].flags.c_contiguous


def test_several_fields_make_smaller_records(records):
    for selection in (["x", "n"], ("x", "n")):
        found = records[selection]
        assert found.dtype == np.dtype([("x", ">f8"), ("n", "<i2")])
        np.testing.assert_array_equal(found["x"], RECORDS["x"])
    assert records[["n"]].dtype.names == ("n",)
    out = np.empty((4, 6), "<i2")
    assert records.read("n", out=out) is out
    np.testing.assert_array_equal(out, RECORDS["n"])


def test_a_field_that_is_not_there_is_named(records):
    with pytest.raises(zaro.errors.SelectionError, match=r"field 'z' .* has the fields n, x, pair"):
        records["z"]
    with pytest.raises(zaro.errors.SelectionError, match="without fields"):
        zaro.open({".zarray": json.dumps(PLAIN)})["z"]
    with pytest.raises(zaro.errors.SelectionError, match="out has shape"):
        records.read("n", out=np.empty((4, 6), "<i4"))


def test_tables_that_join_their_files_anew_are_read_right_and_leave_nothing_behind(tmp_path):
    for k in range(6):
        np.array([k], "<i4").tofile(tmp_path / str(k))
    document = {**PLAIN, "shape": [6], "chunks": [1], "dtype": "<i4", "fill_value": -1}
    generator = {
        "key": "x/{{i}}",
        "url": f"{tmp_path}/{{{{i}}}}",
        "dimensions": {"i": {"start": 1, "stop": 3}},
    }
    references = {".zgroup": '{"zarr_format":2}', "x/.zarray": json.dumps(document)}
    references |= {f"x/{k}": [f"{tmp_path}/{k}"] for k in (0, 4)}
    array = zaro.open({"version": 1, "gen": [generator], "refs": references})["x"]
    for _ in range(20):
        assert [int(array[k]) for k in (1, 4, 0, 2, 5, 3)] == [1, 4, 0, 2, -1, -1]
    assert len(array._source.paths) <= 4
