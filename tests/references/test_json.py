import gzip
import io
import json
import multiprocessing
import os
import pickle
import tracemalloc

import numpy as np
import originals
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.errors import ReferenceSetError
from zaro.references.scanning import scan_document
from zaro.references.set import References
from zaro.references.table import DenseTable, EmptyTable, SparseTable


def documents(refs):
    return st.sampled_from([refs, {"version": 1, "refs": refs}, {"refs": refs, "version": 1}, {"refs": refs}])


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_documents_read_as_the_original_reads_them(data):
    refs = data.draw(originals.reference_sets())
    expected = originals.original(refs)
    assert dict(References.open(refs)) == expected
    document = data.draw(documents(refs))
    assert dict(References.open(document)) == expected
    text = data.draw(originals.spellings(document))
    expected = originals.original(json.loads(text))
    opened = References.open(text)
    assert dict(opened) == dict(opened.items()) == expected
    assert len(opened) == len(expected)
    sizes = data.draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    scanned = scan_document(originals.in_pieces(text, sizes), "")
    assert dict(References(scanned.contents(scanned.files(None, None)))) == expected


# ---- documents that kerchunk wrote -------------------------------------------------------------


@pytest.fixture(scope="module")
def netcdf(tmp_path_factory):
    """Three files of two packed variables, and what kerchunk makes of each."""
    import h5py
    from kerchunk import hdf

    folder = tmp_path_factory.mktemp("netcdf")
    made = []
    for day in range(3):
        path = str(folder / f"day{day}.nc")
        with h5py.File(path, "w") as file:
            for name, values in (("time", [day]), ("lat", np.arange(8.0)), ("lon", np.arange(12.0))):
                file[name] = np.array(values)
                file[name].make_scale(name)
            for name in ("sst", "group/error"):
                values = np.random.default_rng(day).integers(0, 99, (1, 8, 12)).astype("i2")
                chunks = (1, 3, 5)
                array = file.create_dataset(
                    name, data=values, chunks=chunks, compression="gzip", shuffle=True
                )
                for axis, dim in enumerate(("time", "lat", "lon")):
                    array.dims[axis].attach_scale(file[dim])
        made.append(hdf.SingleHdf5ToZarr(path, inline_threshold=0).translate())
    return made


def test_single_files_of_kerchunk_read_alike(netcdf, tmp_path):
    for refs in netcdf:
        expected = originals.original(refs)
        assert sum("sst" in key for key in expected) > 9
        assert dict(References.open(refs)) == expected
        for dump in (json.dumps(refs), json.dumps(refs).replace("/", "\\/"), json.dumps(refs, indent=1)):
            (tmp_path / "refs.json").write_text(dump)
            assert dict(References.open(tmp_path / "refs.json")) == expected


def test_combined_files_of_kerchunk_read_alike(netcdf, tmp_path):
    from kerchunk import combine

    single = [
        {**refs, "refs": {k: v for k, v in refs["refs"].items() if "group" not in k}} for refs in netcdf
    ]
    several = combine.MultiZarrToZarr(
        single,
        concat_dims=["time"],
        identical_dims=["lat", "lon"],
        remote_protocol="file",
        inline_threshold=0,
    )
    several.translate(str(tmp_path / "refs.json"))
    refs = References.open(tmp_path / "refs.json")
    assert dict(refs) == originals.original(json.loads((tmp_path / "refs.json").read_bytes()))
    assert refs.arrays["sst"].layout.grid == (3, 3, 3)
    assert refs.stats()["sst"]["files"] == 3


# ---- the order of things -----------------------------------------------------------------------

ZARRAY = json.dumps(originals.zarray([4, 6], [2, 2]))


def opened(text):
    return dict(References.open(text if isinstance(text, bytes) else text.encode()))


def test_last_of_duplicate_keys_counts():
    quoted = json.dumps(ZARRAY)
    chunk = '"x/0.1": ["a", 1, 2], "x/0.1": ["b", 3, 4]'
    for text in (f'{{"x/.zarray": {quoted}, {chunk}}}', f'{{{chunk}, "x/.zarray": {quoted}}}',
                 f'{{"x/0.1": "z", "x/.zarray": {quoted}, {chunk}}}'):  # fmt: skip
        assert opened(text)["x/0.1"] == ["b", 3, 4]
    deleted = opened(
        f'{{"x/.zarray": {quoted}, "x/0.1": ["a"], "x/0.1": null, "k": "v", "k": null, ".zgroup": "", '
        '".zgroup": null}'
    )
    assert deleted.keys() == {"x/.zarray"}


def test_array_that_is_described_twice_is_what_it_was_called_last():
    other = json.dumps(originals.zarray([12], [1]))
    text = json.dumps({"x/3": ["a"], "x/0.1": ["b"]})[1:-1]
    both = f'{{"x/.zarray": {json.dumps(ZARRAY)}, {text}, "x/.zarray": {json.dumps(other)}}}'.encode()
    refs = References.open(both)
    assert refs.arrays["x"].layout.grid == (12,)
    assert dict(refs) == {"x/.zarray": other.encode(), "x/3": ["a"], "x/0.1": ["b"]}
    assert refs.contents.other == {"x/0.1": ["b"]}
    gone = References.open(f'{{"x/.zarray": {json.dumps(ZARRAY)}, {text}, "x/.zarray": null}}'.encode())
    assert not gone.arrays
    assert dict(gone) == {"x/3": ["a"], "x/0.1": ["b"]}


def test_newer_metadata_wins_over_older():
    v3 = json.dumps(originals.zarr_json([12], [1]))
    for refs in ({"x/.zarray": ZARRAY, "x/zarr.json": v3}, {"x/zarr.json": v3, "x/.zarray": ZARRAY}):
        opened = References.open({**refs, "x/c/3": ["a"], "x/0.1": ["b"]})
        assert opened.arrays["x"].layout.grid == (12,)
        assert opened["x/c/3"] == ["a"]
        assert opened["x/0.1"] == ["b"]


def test_consolidated_metadata_describes_arrays_too():
    old = {".zmetadata": json.dumps({"metadata": {"x/.zarray": json.loads(ZARRAY)}}), "x/0.1": ["a"]}
    root = {"node_type": "group", "zarr_format": 3}
    inline = {"metadata": {"x": originals.zarr_json([12], [1])}}
    new = {"x/c/1": ["a"], "zarr.json": json.dumps({**root, "consolidated_metadata": inline})}
    for refs in (old, new):
        for target in (refs, json.dumps(refs).encode()):
            assert References.open(target).stats()["x"]["present"] == 1


def test_members_around_the_references_may_stand_anywhere():
    refs = json.dumps({"x/.zarray": ZARRAY, "x/0.0": ["{{u}}/a"]})
    parts = [
        f'"refs": {refs}',
        '"version": 1',
        '"templates": {"u": "s3://b"}',
        '"other/0": ["z"]',
        '"gen": []',
    ]
    for k in range(5):
        text = "{" + ", ".join(parts[k:] + parts[:k]) + "}"
        assert opened(text) == {"x/.zarray": ZARRAY.encode(), "x/0.0": ["s3://b/a"]}
    assert opened('{"version": 1, "refs": {"a": ["x"]}, "refs": {"b": ["y"]}}') == {"b": ["y"]}
    assert opened('{"version": null, "b": ["y"]}') == {"b": ["y"]}
    assert opened('{"version": 1}') == opened("{}") == {}


def test_templates_give_one_file_one_number():
    refs = {"x/.zarray": ZARRAY, "x/0.0": ["{{u}}/a", 0, 1], "x/0.1": ["s3://b/a", 1, 1], "k": ["{{ u }}/a"]}
    for target in ({"version": 1, "templates": {"u": "s3://b"}, "refs": refs},):
        for form in (target, json.dumps(target).encode()):
            opened = References.open(form)
            assert opened["x/0.0"] == ["s3://b/a", 0, 1]
            assert opened["k"] == ["s3://b/a"]
            assert opened.stats()["x"]["files"] == 1


# ---- forms of tables, and what they cost -------------------------------------------------------


def test_form_of_a_table_follows_what_exists():
    big = json.dumps(originals.zarray([2**40, 2**20], [1, 1]))
    refs = References.open(
        {
            "x/.zarray": ZARRAY,
            "x/0.0": ["a"],
            "x/0.1": ["a"],
            "s/.zarray": big,
            "s/5.7": ["a", 1, 2],
            "e/.zarray": big,
        }
    )
    kinds = {path: type(array.table) for path, array in refs.arrays.items()}
    assert kinds == {"x": DenseTable, "s": SparseTable, "e": EmptyTable}
    assert refs["s/5.7"] == ["a", 1, 2]
    assert refs.locate("s", [5 * 2**20 + 7, 0]).file_id.tolist() == [0, -1]
    assert refs.stats()["e"] == {
        "chunks": 2**60, "present": 0, "absent": 2**60, "inline": 0, "bytes": 0, "files": 0, "gfactor": None
    }  # fmt: skip


def test_grid_that_is_promised_costs_nothing():
    grid = json.dumps(originals.zarray([2**62], [1]))
    text = json.dumps(
        {f"a{k}/.zarray": grid for k in range(2000)} | {f"a{k}/{k}": ["u"] for k in range(2000)}
    )
    tracemalloc.start()
    refs = References.open(text.encode())
    assert tracemalloc.get_traced_memory()[1] < 30e6
    tracemalloc.stop()
    assert refs["a7/7"] == ["u"]


@pytest.mark.parametrize(
    "shape",
    [[2**63], [-1], [1.5], [True], "12", None, [2**62, 4], [2**62, 4, 0], [0] * 33, [10**400], {"a": 1}],
)
def test_arrays_without_a_readable_grid_keep_their_keys(shape):
    document = {**originals.zarray([1], [1]), "shape": shape}
    if isinstance(shape, list):
        document["chunks"] = [1] * len(shape)
    refs = {"x/.zarray": json.dumps(document), "x/0": ["u"]}
    for target in (refs, json.dumps(refs).encode()):
        opened = References.open(target)
        assert opened["x/0"] == ["u"]
        assert not opened.arrays


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({"version": 2, "refs": {}}, "version: is 2, expected 1"),
        ({"version": "1", "refs": {}}, "version: is '1', expected 1"),
        ({"version": 1, "refs": []}, "refs"),
        ({"a": 5}, "'a': is 5, expected .url"),
        ({"a": ["u", 1]}, "'a': is ..u., 1., expected"),
        ({"a": ["u", -1, 2]}, "expected .url"),
        ({"a": ["u", 2**63, 2]}, "expected .url"),
        ({"a": ["u", 1.5, 2]}, "expected .url"),
        ({"a": ["u", True, 2]}, "expected .url"),
        ({"a": [3]}, "expected .url"),
        ({"a": [None, 1, 2]}, "expected .url"),
        ({"a": "base64:!"}, "base64"),
        ({"a": "\ud800"}, "surrogate"),
        ({"\ud800": "a"}, "surrogate"),
        ({"a": ["\ud800"]}, "surrogate"),
        ({3: "a"}, "expected a key"),
        ({"version": 1, "templates": [], "refs": {}}, "templates: is list, expected an object"),
        ({"version": 1, "gen": 5, "refs": {}}, "gen"),
    ],
)
def test_broken_sets_are_refused(target, message):
    with pytest.raises(ReferenceSetError, match=message):
        References.open(target)
    if 3 not in target:
        with pytest.raises(ReferenceSetError):
            References.open(json.dumps(target).encode())


@pytest.mark.parametrize(
    "raw", [b"", b"[]", b"nonsense", b"\x1f\x8b\x08", b"(\xb5/\xfd\x00", b'{"a"', b"\xff\xfe{"]
)
def test_what_is_no_document_is_refused(raw, tmp_path):
    (tmp_path / "refs.json").write_bytes(raw)
    for target in (raw, tmp_path / "refs.json"):
        with pytest.raises(ReferenceSetError):
            References.open(target)


def test_every_prefix_of_a_document_is_refused():
    text = json.dumps(
        {"version": 1, "refs": {"x/.zarray": ZARRAY, "x/0.0": ["é", 1, 2], "o": {"a": [1]}}}
    ).encode()
    for n in range(len(text)):
        with pytest.raises(ReferenceSetError):
            References.open(text[:n])


# ---- addresses ---------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda raw: zstandard.ZstdCompressor().compress(raw)])
def test_compressed_documents_are_known_by_their_first_bytes(pack, tmp_path):
    refs = {"x/.zarray": ZARRAY, **{f"x/{i}.{j}": ["/a", i, j] for i in range(2) for j in range(3)}}
    raw = pack(json.dumps(refs).encode())
    (tmp_path / "refs.json").write_bytes(raw)
    for target in (raw, tmp_path / "refs.json", f"file://{tmp_path}/refs.json"):
        assert dict(References.open(target)) == originals.original(refs)


def test_entries_larger_than_a_block_are_read(tmp_path):
    refs = {
        "x/.zarray": ZARRAY,
        "x/0.0": "y" * 5_000_000,
        "o": {"a": ["z" * 3_000_000]},
        "x/0.1": ["/a" * 900_000],
    }
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    assert dict(References.open(tmp_path / "refs.json")) == originals.original(refs)


def test_documents_from_afar_resolve_relative_files_there():
    import fsspec

    refs = {
        "x/.zarray": ZARRAY,
        "x/0.0": ["a.nc", 0, 1],
        "x/0.1": ["../b.nc"],
        "x/0.2": ["/etc/passwd"],
        "k": ["a.nc"],
    }
    with fsspec.open("memory://deep/er/refs.json", "w") as file:
        json.dump(refs, file)
    opened = References.open("memory://deep/er/refs.json")
    assert opened["x/0.0"] == ["memory://deep/er/a.nc", 0, 1]
    assert opened["x/0.1"] == ["memory://deep/b.nc"]
    assert opened["x/0.2"] == ["/etc/passwd"]
    assert opened["k"] == ["memory://deep/er/a.nc"]


def lengths(data):
    refs = pickle.loads(data)
    return len(refs), refs["x/0.0"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_set_opens_in_other_processes(method, tmp_path):
    (tmp_path / "refs.json").write_text(json.dumps({"x/.zarray": ZARRAY, "x/0.0": ["a.nc", 0, 1]}))
    refs = References.open(tmp_path / "refs.json")
    data = pickle.dumps(refs)
    assert len(data) < 2000
    with multiprocessing.get_context(method).Pool(4) as pool:
        found = pool.map(lengths, [data] * 4)
    assert found == [(2, [str(tmp_path / "a.nc"), 0, 1])] * 4


def test_file_handles_are_closed(tmp_path):
    (tmp_path / "refs.json").write_text("{")
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(ReferenceSetError):
        References.open(tmp_path / "refs.json")
    assert len(os.listdir("/proc/self/fd")) == before


def test_explain_says_where_a_key_leads():
    refs = References.open(
        {"x/.zarray": ZARRAY, "x/0.0": ["a.nc", 5, 7], "x/0.1": ["a.nc"], "x/0.2": "text", "r": ["b", 1, 2]}
    )
    assert refs.explain("x/0.0") == "chunk 0.0 of x: bytes 5+7 of a.nc"
    assert refs.explain("x/0.1") == "chunk 0.1 of x: the whole of a.nc"
    assert refs.explain("x/0.2") == "chunk 0.2 of x: 4 bytes in the set itself"
    assert refs.explain("x/1.2") == "chunk 1.2 of x: absent, it reads as the fill value"
    assert refs.explain("x/.zarray").startswith("x/.zarray: metadata, ")
    assert refs.explain("r") == "r: bytes 1+2 of b"
    assert refs.explain("x/00.0") == "x/00.0: not in the set; x has 2 x 3 chunks, the first is '0.0'"
    assert refs.explain("q") == "q: not in the set"


def test_locate_checks_its_ids():
    refs = References.open({"x/.zarray": ZARRAY})
    for ids in ([-1], [6], [0, 7]):
        with pytest.raises(IndexError, match="found"):
            refs.locate("x", ids)
    assert len(refs.locate("x", []).file_id) == 0
    with pytest.raises(KeyError):
        refs.locate("y", [0])


def test_unknown_options_and_formats_are_refused(tmp_path):
    refs = References.open({})
    with pytest.raises(ValueError, match="missing='zero'"):
        References.open({}, missing="zero")
    with pytest.raises(ValueError, match="there are json, parquet, generator"):
        refs.save(tmp_path / "x", format="csv")
    with pytest.raises(TypeError, match="not StringIO"):
        References.open(io.StringIO("{}"))
