import itertools
import json
import os
import stat

import numpy as np
import pytest
from generators import metadata_of, slow_references
from hypothesis import given, settings
from hypothesis import strategies as st
from sets import as_read, names_of, reference_sets, zarray

from zaro.errors import GeneratorError, ReferenceSetError, StoreError
from zaro.references import generator as gen
from zaro.references import lists, pack
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.set import References
from zaro.references.table import ABSENT, DenseTable, EmptyTable


def spelled(refs, **how):
    return json.loads(b"".join(pack.pieces(refs, **how)))


def unpacked(document):
    """Every key of a document, its generators unpacked by the slow twin, and again by the tables."""
    plain = dict(References.open({"version": 1, "refs": document["refs"]}))
    generators = gen.parse(document.get("gen"))
    slow, fast = dict(plain), dict(plain)
    for one in generators:
        names = names_of(one["dims"])
        slow.update({f"{path}/{names[c]}": v for (path, c), v in slow_references(expanded(one)).items()})
    tables = gen.read(document.get("gen"), {k: v for k, v in plain.items() if k.endswith(".zarray")}, "")
    for path, table in tables.items():
        names = names_of(table.generator.dims)
        at = table.locate(np.arange(table.nchunks))
        for c in np.flatnonzero(at.file_id != ABSENT).tolist():
            fast[f"{path}/{names[c]}"] = [at.files[at.file_id[c]], int(at.offset[c]), int(at.length[c])]
    assert slow == fast
    return slow


def expanded(one):
    """A generator with its compact lists spelled out."""
    plain = dict(one)
    for part in ("unique", "gaps"):
        plain[part] = {
            name: lists.integers(value, lists.Field("", name), 10**9).tolist()
            for name, value in one[part].items()
        }
    if "ids" in one["skipchunks"]:
        width, keys = len(one["variables"]), names_of(one["dims"])
        plain["skipchunks"] = {key: [0] * width for key in keys}
        for flat in lists.integers(one["skipchunks"]["ids"], lists.Field("", ""), 10**9).tolist():
            plain["skipchunks"][keys[flat // width]][flat % width] = 1
    return plain


@settings(max_examples=200, deadline=None)
@given(reference_sets(), st.booleans())
def test_unpacking_what_was_packed_gives_every_reference_back(document, compact):
    refs, _ = document
    refs = {**refs, "odd/key": "text", "x.bin": ["/d/x.bin", 3, 4], "raw": "base64:/w=="}
    assert unpacked(spelled(References.open(refs), compact=compact)) == as_read(refs)


@st.composite
def regular_sets(draw):
    """Sets that have something to pack: variables interleaved or apart, in files, with exceptions."""
    variables = ["u", "v", "w"][: draw(st.integers(1, 3))]
    grid = draw(st.sampled_from([[6], [3, 4], [2, 2, 3], []]))
    interleaved, per_file = draw(st.booleans()), draw(st.integers(1, 9))
    names = names_of(grid)
    order = list(itertools.product(range(len(names)), variables))
    if not interleaved:
        order.sort(key=lambda cv: (cv[1], cv[0]))
    refs = {f"{v}/.zarray": zarray(grid) for v in variables}
    here = draw(st.integers(0, 99))
    for i, (c, v) in enumerate(order):
        kind = draw(
            st.sampled_from(["regular"] * 6 + ["unique", "gap", "back", "absent", "inline", "whole", "file"])
        )
        if i % per_file == 0:
            here = 20
        here += {"gap": 7, "back": -min(here, 11)}.get(kind, 0)
        size = 100 + 10 * len(v) if kind != "unique" else draw(st.integers(0, 300))
        file = f"/d/f{i // per_file if kind != 'file' else 99}.nc"
        if kind == "absent":
            continue
        key = f"{v}/{names[c]}"
        refs[key] = {"inline": "base64:AAEC", "whole": [file]}.get(kind, [file, here, size])
        here += size if isinstance(refs[key], list) and len(refs[key]) == 3 else 0
    return refs


@settings(max_examples=300, deadline=None)
@given(regular_sets(), st.booleans())
def test_gaps_absent_inline_whole_and_several_files_come_back(refs, compact):
    assert unpacked(spelled(References.open(refs), compact=compact)) == as_read(refs)


def contents(grid, **columns):
    """Contents of dense tables: name -> (file ids, offsets, lengths)."""
    metadata = {f"{name}/.zarray": zarray(grid).encode() for name in columns}
    tables = {
        name: DenseTable(
            np.array(file, np.int32), np.array(offset), np.array(length), ["a.nc", "b.nc", "c.nc"]
        )
        for name, (file, offset, length) in columns.items()
    }
    return Contents(metadata=metadata, tables=tables).complete()


def interleaved(n=60, size=10):
    c = np.arange(n)
    zeros = np.zeros(n, np.int32)
    return {"u": (zeros, 3 * size * c, c * 0 + size), "v": (zeros, 3 * size * c + size, c * 0 + 2 * size)}


def test_variables_that_take_turns_share_a_generator():
    (one,) = pack.pack(contents([60], **interleaved()))
    assert one.variables == ("u", "v")
    assert one.exceptions == 0
    assert one.gfactor == 1


def test_variables_that_lie_apart_have_one_each():
    c = np.arange(60)
    columns = {"u": (c * 0, 10 * c, c * 0 + 10), "v": (c * 0, 5000 + 7 * c, c * 0 + 7)}
    found = pack.pack(contents([60], **columns))
    assert [one.variables for one in found] == [("u",), ("v",)]
    assert pack.gfactor(found) == 1
    document = spelled(contents([60], **columns))
    assert [one["variables"] for one in document["gen"]] == [["u"], ["v"]]


def test_arrays_of_different_grids_never_share():
    both = contents([60], **interleaved())
    both.metadata["t/.zarray"] = zarray([2]).encode()
    both.tables["t"] = DenseTable(np.zeros(2, np.int32), np.array([0, 8]), np.array([8, 8]), ["t.nc"])
    both.complete()
    assert [one.variables for one in pack.pack(both)] == [("u", "v"), ("t",)]


def test_the_document_has_the_members_of_the_syntax():
    one = spelled(contents([60], **interleaved()))["gen"]
    assert one == {
        "files": [[119, "a.nc"]],
        "variables": ["u", "v"],
        "varwise": True,
        "dims": [60],
        "dimensions": {"i": {"stop": "120"}},
        "start": "0",
        "lengths": [10, 20],
        "gfactor": "1.0000",
        "unique": {"ids": [], "lengths": []},
        "gaps": {"ids": [], "lengths": []},
        "skipchunks": {},
    }


def test_files_that_change_with_every_chunk_are_runs_of_one():
    c = np.arange(12)
    refs = contents([12], u=(c % 3, 10 * (c // 3), c * 0 + 10))
    document = spelled(refs)
    assert [name for _, name in document["gen"]["files"]] == ["a.nc", "b.nc", "c.nc"] * 4
    assert unpacked(document) == dict(References(refs))


def test_inline_and_whole_files_stay_under_refs_and_are_skipped():
    refs = {
        "u/.zarray": zarray([4]),
        "u/0": ["/a.nc", 0, 10],
        "u/1": "hi",
        "u/2": ["/b.nc"],
        "u/3": ["/a.nc", 10, 10],
    }
    document = spelled(References.open(refs))
    assert set(document["refs"]) == {"u/.zarray", "u/1", "u/2"}
    assert document["gen"]["skipchunks"] == {"1": [1], "2": [1]}
    assert document["gen"]["gaps"] == {"ids": [], "lengths": []}
    assert unpacked(document) == as_read(refs)


def test_a_set_with_nothing_to_pack_has_no_generator():
    refs = {".zgroup": '{"zarr_format": 2}', "u/.zarray": zarray([3]), "u/1": "hi"}
    document = spelled(References.open(refs))
    assert "gen" not in document
    assert unpacked(document) == as_read(refs)


def test_an_array_that_is_mostly_absent_is_listed_not_skipped():
    rows = Rows(np.array([10**11]), np.zeros(1, np.int32), np.array([5]), np.array([6]))
    table = make_table(10**12, rows, ["/a.nc"])
    refs = Contents(metadata={"u/.zarray": zarray([10**6, 10**6]).encode()}, tables={"u": table}).complete()
    document = spelled(refs)
    assert "gen" not in document
    assert document["refs"]["u/100000.0"] == ["/a.nc", 5, 6]


def test_a_span_that_is_no_place_in_a_file_is_an_error():
    for offset, length in ((-1, 5), (2**63 - 1, 5)):
        bad = contents([3], u=([0, 0, 0], [0, offset, 9], [5, length, 5]))
        with pytest.raises(ReferenceSetError, match="u: flat index 1"):
            pack.pack(bad)


def test_generators_may_be_packed_again():
    document = {
        "files": [[59, "/a.nc"], [120, "/b.nc"]], "variables": ["u", "v"], "varwise": False, "dims": [60],
        "start": 7, "lengths": [10, 20], "unique": {"ids": [3, 70], "lengths": [5, 6]},
        "gaps": {"ids": [60], "lengths": [-400]}, "skipchunks": {"5": [1, 0], "6": [1, 1]},
    }  # fmt: skip
    metadata = metadata_of([document])
    tables = gen.read(document, metadata, "")
    again = spelled(Contents(metadata=metadata, tables=tables).complete())
    expected = {f"{path}/{c}": value for (path, c), value in slow_references(document).items()}
    found = unpacked(again)
    assert {key: value for key, value in found.items() if not key.endswith(".zarray")} == expected


def test_compact_lists_are_shorter_and_read_the_same():
    rng = np.random.default_rng(0)
    size = rng.integers(10, 3000, 5000)
    offset = np.cumsum(size) - size
    file = np.where(rng.random(5000) < 0.1, -1, 0)
    refs = contents([50, 100], u=(file, offset, size))
    plain, compact = (b"".join(pack.pieces(refs, compact=compact)) for compact in (False, True))
    assert len(compact) < len(plain) / 2
    assert unpacked(json.loads(plain)) == unpacked(json.loads(compact)) == dict(References(refs))


@pytest.mark.parametrize(
    "values",
    [
        [],
        [5],
        [1, 2, 3],
        [-1, 5, 2**40],
        [2**63 - 1, -(2**63), 0],
        list(range(0, 10**6, 7)),
        [2**15, 0, 2**15],
    ],
)
def test_compact_lists_come_back(values):
    found = lists.compact(np.array(values, np.int64))
    assert found["n"] == len(values)
    assert lists.integers(found, lists.Field("", ""), 10**9).tolist() == values


def test_writing_replaces_a_document_at_once(tmp_path):
    target = tmp_path / "refs.json"
    target.write_text("old")
    refs = contents([60], **interleaved())
    pack.write(refs, target)
    assert unpacked(json.loads(target.read_bytes())) == dict(References(refs))
    assert os.listdir(tmp_path) == ["refs.json"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o400

    bad = contents([3], u=([0, 0, 0], [0, -1, 9], [5, 5, 5]))
    before = target.read_bytes()
    with pytest.raises(ReferenceSetError):
        pack.write(bad, target)
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["refs.json"]
    with pytest.raises(StoreError, match="cannot be written"):
        pack.write(refs, tmp_path / "refs.json" / "below.json")


def test_relative_files_mean_the_same_in_another_folder(tmp_path):
    (tmp_path / "sub").mkdir()
    source = {"u/.zarray": zarray([2]), "u/0": ["a.nc", 0, 5], "u/1": ["s3://b/c.nc", 5, 5]}
    (tmp_path / "refs.json").write_text(json.dumps(source))
    refs = References.open(tmp_path / "refs.json")
    pack.write(refs, tmp_path / "packed.json")
    pack.write(refs, tmp_path / "sub" / "packed.json")
    names = [
        json.loads((tmp_path / name).read_bytes())["gen"]["files"]
        for name in ("packed.json", "sub/packed.json")
    ]
    assert names == [[[0, "a.nc"], [1, "s3://b/c.nc"]], [[0, str(tmp_path / "a.nc")], [1, "s3://b/c.nc"]]]


def test_metadata_that_is_no_text_comes_back():
    refs = Contents(metadata={"a/.zattrs": b"\xff\xfe", ".zattrs": b"base64:x"}, tables={"x": EmptyTable(0)})
    del refs.tables["x"]
    assert unpacked(spelled(refs)) == {"a/.zattrs": b"\xff\xfe", ".zattrs": b"base64:x"}


def test_a_packed_document_that_was_damaged_is_an_error_not_a_wrong_answer():
    document = spelled(contents([60], **interleaved()))
    document["gen"]["dims"] = [59]
    with pytest.raises(GeneratorError, match="disagree"):
        unpacked(document)


def test_a_document_may_be_written_through_fsspec():
    fsspec = pytest.importorskip("fsspec")
    refs = contents([60], **interleaved())
    refs_of = References(refs)
    refs_of.save("memory://zaro-pack.json", format="generator", compact=True)
    raw = fsspec.filesystem("memory").cat_file("/zaro-pack.json")
    assert unpacked(json.loads(raw)) == dict(refs_of)
    fsspec.filesystem("memory").rm("/zaro-pack.json")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("p.json", {"format": "generator"}),
        ("c.json.zst", {"format": "generator", "compact": True}),
        ("q.parquet", {}),
    ],
)
def test_values_read_the_same_through_every_form(tmp_path, name, how):
    import zaro

    data = np.arange(6 * 8, dtype="<i2").reshape(6, 8)
    refs, at = {".zgroup": '{"zarr_format": 2}', "v/.zarray": zarray([3, 4])}, 16
    with (tmp_path / "a.bin").open("wb") as file:
        file.write(bytes(16))
        for i, j in itertools.product(range(3), range(4)):
            block = data[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].tobytes()
            if (i, j) == (1, 2):
                data[2:4, 4:6] = 0  # absent: the fill value
                continue
            refs[f"v/{i}.{j}"] = ["a.bin", at, len(block)]
            at += file.write(block) + file.write(b"gap"[: (i * j) % 3])
    (tmp_path / "refs.json").write_text(json.dumps(refs))
    zaro.References.open(tmp_path / "refs.json").save(tmp_path / name, **how)
    assert zaro.open(tmp_path / name)["v"][:].tolist() == data.tolist()
    assert dict(zaro.References.open(tmp_path / name)) == dict(zaro.References.open(tmp_path / "refs.json"))
