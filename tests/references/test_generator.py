import json
import math
import pickle
import threading

import numpy as np
import pytest
from generators import generators, metadata_of, slow_references
from hypothesis import given, settings
from hypothesis import strategies as st

from zaro.errors import GeneratorError, ReferenceSetError
from zaro.references import generator as gen
from zaro.references import lists
from zaro.references.table import ABSENT


def read(*members, document="refs.json", **options):
    whole = members[0] if len(members) == 1 else list(members)
    return gen.read(json.dumps(whole).encode(), metadata_of(members), document, **options)


def references(tables):
    """(variable, id) -> [url, offset, length], from whole columns."""
    found = {}
    for name, table in tables.items():
        at = table.locate(np.arange(table.nchunks))
        for chunk, (file, offset, length) in enumerate(
            zip(at.file_id.tolist(), at.offset.tolist(), at.length.tolist(), strict=True)
        ):
            if file != ABSENT:
                found[name, chunk] = [at.files[file], offset, length]
    return found


def plain(**changes):
    """Two variables on a 2 x 5 grid, regular but for what a test changes."""
    document = {
        "files": [[9, "a.nc"], [20, "b.nc"]],
        "variables": ["u", "v"],
        "varwise": True,
        "dims": [2, 5],
        "dimensions": {"i": {"stop": "20"}},
        "start": "100",
        "lengths": [10, 20],
        "unique": {"ids": [], "lengths": []},
        "gaps": {"ids": [], "lengths": []},
        "skipchunks": {},
    }
    document.update(changes)
    return {name: value for name, value in document.items() if value is not None}


@settings(max_examples=300, deadline=None)
@given(generators())
def test_tables_agree_with_the_recurrence(document):
    expected = slow_references(document)
    if any(offset < 0 for _, offset, _ in expected.values()):
        with pytest.raises(GeneratorError, match="before byte 0"):
            read(document)
        return
    assert references(read(document)) == expected


@settings(max_examples=200, deadline=None)
@given(generators(), st.randoms(use_true_random=False))
def test_chosen_chunks_listed_ids_and_unpack_agree_with_the_recurrence(document, random):
    expected = slow_references(document)
    if any(offset < 0 for _, offset, _ in expected.values()):
        return
    tables = read(document)
    shared = tables["lst"].generator
    spans = shared.unpack()
    for name, table in tables.items():
        ids = [random.randrange(table.nchunks) for _ in range(12)]
        at = table.locate(np.array(ids))
        flat = [shared.flat(table.variable, chunk) for chunk in ids]
        assert at.file_id.tolist() == spans.file_id[flat].tolist()
        assert at.offset.tolist() == spans.offset[flat].tolist()
        assert at.length.tolist() == spans.length[flat].tolist()
        assert [chunk in [c for n, c in expected if n == name] for chunk in ids] == (at.file_id >= 0).tolist()
        assert table.listed().tolist() == sorted(chunk for n, chunk in expected if n == name)
        assert [table.reference(chunk) for chunk in ids] == [expected.get((name, chunk)) for chunk in ids]


@settings(max_examples=100, deadline=None)
@given(generators())
def test_compact_lists_and_parsed_objects_read_the_same(document):
    expected = slow_references(document)
    if any(offset < 0 for _, offset, _ in expected.values()):
        return
    packed = json.loads(json.dumps(document))
    for part in ("unique", "gaps"):
        packed[part] = {name: lists.compact(np.array(v, np.int64)) for name, v in document[part].items()}
    table = read(document)["lst"]
    absent = table.generator.index.id[table.generator.index.size < 0]
    packed["skipchunks"] = {"ids": lists.compact(absent)}
    packed["lengths"] = lists.compact(np.array(document["lengths"]))
    assert references(read(packed)) == expected
    assert references(gen.read(document, metadata_of([document]), "")) == expected


def test_the_example_of_the_specification():
    document = {
        "files": [[3887, "a.nc"], [7776, "b.nc"]],
        "variables": ["lst", "unc", "n"],
        "varwise": True,
        "dims": [2, 36, 36],
        "dimensions": {"i": {"stop": "7776"}},
        "start": "20480",
        "lengths": [4000, 4000, 2000],
        "unique": {"ids": [4, 9], "lengths": [3120, 77]},
        "gaps": {"ids": [2592], "lengths": [-901120]},
        "skipchunks": {"0.0.5": [1, 0, 0]},
        "gfactor": "0.41",
    }
    tables = read(document)
    assert references(tables) == slow_references(document)
    assert tables["lst"].generator.gfactor == pytest.approx(1 - 4 / 7776)
    assert tables["lst"].explain(864) == "from generator 0, gap before it -901120"
    assert tables["unc"].explain(1) == "from generator 0, a length of its own"
    assert tables["lst"].explain(5) == "skipped by generator 0"
    assert tables["lst"].explain(6) == "from generator 0"


def test_numbers_may_be_decimal_text_and_one_length_serves_all():
    document = plain(start=100, lengths="12", dims=["2", "5"], files=[["9", "a.nc"], ["19", "b.nc"]])
    assert references(read(document)) == slow_references(plain(lengths=[12, 12]))
    assert references(read(plain(lengths=[7]))) == slow_references(plain(lengths=[7, 7]))


def test_members_that_may_be_left_out():
    document = plain(varwise=None, dimensions=None, unique=None, gaps=None, skipchunks=None)
    assert references(read(document)) == slow_references(plain())


def test_skipchunks_may_be_a_bare_list_of_keys():
    assert references(read(plain(skipchunks=["0.3", "1.4"]))) == slow_references(
        plain(skipchunks={"0.3": [1, 1], "1.4": [1, 1]})
    )


def test_a_scalar_has_one_chunk():
    document = plain(dims=[], dimensions=None, files=[[1, "a.nc"]], skipchunks={"0": [1, 0]})
    assert references(read(document)) == {("v", 0): ["a.nc", 100, 20]}
    as_one = plain(dims=[1], dimensions=None, files=[[1, "a.nc"]])
    metadata = metadata_of([document])
    assert references(gen.read(as_one, metadata, ""))["u", 0] == ["a.nc", 100, 10]


def test_generators_of_a_list_are_told_apart_and_standard_ones_left_out():
    first, second = plain(variables=["u", "v"]), plain(variables=["w", "x"], start=7, lengths=[1, 2])
    standard = {"key": "t/{{i}}", "url": "t.nc", "dimensions": {"i": {"stop": 3}}}
    tables = read(first, second)
    assert references(tables) == {**slow_references(first), **slow_references(second)}
    assert tables["w"].explain(0).startswith("from generator 1")
    mixed = gen.read([standard, second], metadata_of([second]), "")
    assert list(mixed) == ["w", "x"]
    assert mixed["w"].explain(0).startswith("from generator 1")


def test_nested_arrays_and_v3_metadata():
    document = plain(variables=["a/b/u", "v"])
    v3 = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 10],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    }
    metadata = {"a/b/u/zarr.json": json.dumps(v3).encode(), **metadata_of([plain()])}
    assert references(gen.read(document, metadata, "")) == slow_references(document)


def test_a_grid_without_chunks_reads_as_empty():
    document = plain(dims=[0, 5], dimensions=None, files=[])
    tables = read(document)
    assert references(tables) == {}
    assert tables["u"].listed().tolist() == []


def test_nothing_is_proportional_to_the_number_of_chunks():
    side = 2**30
    document = plain(
        dims=[side, side], dimensions={"i": {"stop": 2 * side * side}}, files=[[2 * side * side, "a.nc"]],
        lengths=[1, 1], gaps={"ids": [2 * side * side - 1], "lengths": [-5]},
    )  # fmt: skip
    table = read(document)["v"]
    assert table.generator.index.nbytes < 1000
    assert table.locate(np.array([side * side - 1])).offset.tolist() == [100 + 2 * side * side - 1 - 5]


BROKEN = [
    ({"start": "-1"}, "start", 0, "before byte 0"),
    ({"start": "1.5"}, "start", None, "integer"),
    ({"start": None}, "start", None, "missing"),
    ({"start": 2**63}, "start", None, "64 bits"),
    ({"start": 2**63 - 1}, "lengths", 19, "64 bits"),
    ({"lengths": [10, -1]}, "lengths", 1, "negative"),
    ({"lengths": [1, 2, 3]}, "lengths", None, "2"),
    ({"lengths": [2**62, 2**62]}, "lengths", 1, "64 bits"),
    ({"lengths": [2**64, 1]}, "lengths", 0, "64 bits"),
    ({"lengths": True}, "lengths", None, "integer"),
    ({"unique": {"ids": [20], "lengths": [1]}}, "unique.ids", 20, "no such chunk"),
    ({"unique": {"ids": [-1], "lengths": [1]}}, "unique.ids", -1, "no such chunk"),
    ({"unique": {"ids": [3, 3], "lengths": [1, 1]}}, "unique.ids", 3, "twice"),
    ({"unique": {"ids": [7, 3, 7], "lengths": [1, 1, 1]}}, "unique.ids", 7, "twice"),
    ({"unique": {"ids": [3], "lengths": [-1]}}, "unique.lengths", 3, "negative"),
    ({"unique": {"ids": [3], "lengths": [2**63 - 1]}}, "unique.lengths", 3, "64 bits"),
    ({"unique": {"ids": [3, 4], "lengths": [1]}}, "unique", None, "2 ids for 1 lengths"),
    ({"unique": {"ids": [3]}}, "unique", None, "lengths"),
    ({"unique": {"ids": "3", "lengths": [1]}}, "unique.ids", None, "list"),
    ({"unique": {"ids": [1.5], "lengths": [1]}}, "unique.ids", 0, "integer"),
    ({"unique": {"ids": [True], "lengths": [1]}}, "unique.ids", 0, "integer"),
    ({"unique": {"ids": [0] * 21, "lengths": [1] * 21}}, "unique.ids", None, "at most 20"),
    ({"gaps": {"ids": [20], "lengths": [1]}}, "gaps.ids", 20, "no such chunk"),
    ({"gaps": {"ids": [4, 4], "lengths": [1, 1]}}, "gaps.ids", 4, "twice"),
    ({"gaps": {"ids": [4], "lengths": [-200]}}, "gaps.lengths", 4, "before byte 0"),
    ({"gaps": {"ids": [4], "lengths": [2**63 - 1]}}, "gaps.lengths", 4, "64 bits"),
    ({"gaps": [1]}, "gaps", None, "ids"),
    ({"gaps": {"ids": [4], "lengths": [-200]}, "skipchunks": {"0.2": [1, 0]}}, "gaps.lengths", 5, "byte 0"),
    ({"skipchunks": {"2.0": [1, 0]}}, "skipchunks", 0, "outside the grid"),
    ({"skipchunks": {"0.0": [1]}}, "skipchunks", 0, "flag"),
    ({"skipchunks": {"0.0": [1, 2]}}, "skipchunks", 0, "flags 0 or 1"),
    ({"skipchunks": {"0": [1, 0]}}, "skipchunks", 0, "2 indices"),
    ({"skipchunks": {"0.0": [1, 0], "00.0": [1, 0]}}, "skipchunks", 1, "leading zero"),
    ({"skipchunks": ["0.0", "0.0"]}, "skipchunks", 0, "twice"),
    ({"skipchunks": {"ids": [4, 4]}}, "skipchunks", 4, "twice"),
    ({"skipchunks": {"ids": [20]}}, "skipchunks", 20, "no such chunk"),
    ({"skipchunks": 7}, "skipchunks", None, "object"),
    ({"dimensions": {"i": {"stop": "19"}}}, "dimensions.i.stop", None, "20"),
    ({"dimensions": {"i": {"start": 1}}}, "dimensions.i.start", None, "0"),
    ({"dimensions": [3]}, "dimensions", None, "object"),
    ({"variables": ["u", "w"]}, "variables", 1, "'w'"),
    ({"variables": ["u", "u"]}, "variables", 1, "twice"),
    ({"variables": []}, "variables", None, "names"),
    ({"variables": [3]}, "variables", 0, "name"),
    ({"dims": [2, 6]}, "dims", None, "disagree"),
    ({"dims": [10]}, "dims", None, "disagree"),
    ({"dims": [-2, 5]}, "dims", 0, "-2"),
    ({"dims": None}, "dims", None, "missing"),
    ({"files": [[9, "a.nc"], [9, "b.nc"], [20, "c.nc"]]}, "files", 1, "ascend"),
    ({"files": [[19, "a.nc"], [9, "b.nc"]]}, "files", 1, "ascend"),
    ({"files": [[18, "a.nc"]]}, "files", 1, "end before"),
    ({"files": [[21, "a.nc"]]}, "files", 0, "beyond"),
    ({"files": [[-1, "a.nc"], [20, "b.nc"]]}, "files", 0, "beyond"),
    ({"files": []}, "files", 0, "end before"),
    ({"files": [["x", "a.nc"]]}, "files", 0, "integer"),
    ({"files": [[19, None]]}, "files", 0, "[last, name]"),
    ({"files": {"a": 1}}, "files", None, "list"),
    ({"varwise": "yes"}, "varwise", None, "true or false"),
]


@pytest.mark.parametrize(("changes", "field", "index", "words"), BROKEN)
def test_a_contradiction_names_the_field_and_the_index(changes, field, index, words):
    document = plain(**changes)
    with pytest.raises(GeneratorError) as caught:
        gen.read(json.dumps(document).encode(), metadata_of([plain()]), "refs.json")
    assert (caught.value.field, caught.value.index) == (field, index)
    assert words in str(caught.value)
    assert "refs.json: gen" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


def compact(**changes):
    return {**lists.compact(np.array([4, 9, 12])), **changes}


BAD_COMPACT = [
    ({"codec": "lz4"}, "codec"),
    ({"dtype": "<f8"}, "dtype"),
    ({"dtype": ">i8"}, "dtype"),
    ({"n": 2}, "promises"),
    ({"n": 10**15}, "expected 0 to 20"),
    ({"n": -1}, "expected 0 to 20"),
    ({"n": "x"}, "integer"),
    ({"data": "KLUv/"}, "base64:"),
    ({"data": "base64:!!"}, "decoded"),
    ({"data": "base64:AAAA"}, "decoded"),
    ({"data": compact()["data"][:-8]}, "decoded"),
    ({"data": 3}, "base64:"),
]


@pytest.mark.parametrize(("changes", "words"), BAD_COMPACT)
def test_a_broken_compact_list_is_refused(changes, words):
    with pytest.raises(GeneratorError, match=words) as caught:
        read(plain(unique={"ids": compact(**changes), "lengths": [1, 2, 3]}))
    assert caught.value.field.startswith("unique.ids")


def test_a_compact_list_that_promises_more_than_it_may_is_refused_before_it_is_decoded():
    import zstandard

    bomb = zstandard.ZstdCompressor().compress(bytes(80_000_000))
    data = "base64:" + lists.base64.b64encode(bomb).decode()
    with pytest.raises(GeneratorError, match="expected 0 to 20"):
        read(plain(unique={"ids": compact(n=10_000_000, data=data, dtype="<i8"), "lengths": []}))
    with pytest.raises(GeneratorError, match="promises 80000000 bytes"):
        read(plain(unique={"ids": compact(data=data), "lengths": []}))


def test_text_that_is_no_json_is_an_error_of_the_set():
    for text in (b"{", b"[" * 100_000, b'{"a": "\xff"}', b'{"skipchunks": {"0.0": [1'):
        with pytest.raises(ReferenceSetError):
            gen.read(text, {}, "refs.json")


def test_two_generators_may_not_describe_one_variable():
    with pytest.raises(GeneratorError, match="earlier generator") as caught:
        read(plain(), plain())
    assert caught.value.field == "variables"
    assert "gen[1]" in str(caught.value)


def test_relative_files_lie_beside_the_document_and_templates_are_applied():
    table = read(
        plain(files=[[20, "{{u}}a.nc"]]), folder="/data", expand=lambda name: name.replace("{{u}}", "x")
    )
    assert table["u"].locate(np.array([0])).files[0] == "/data/xa.nc"


def test_a_table_pickles_with_its_index():
    table = read(plain(skipchunks={"0.3": [1, 0]}, gaps={"ids": [4], "lengths": [3]}))["u"]
    again = pickle.loads(pickle.dumps(table))
    ids = np.arange(10)
    for name in ("file_id", "offset", "length"):
        assert getattr(again.locate(ids), name).tolist() == getattr(table.locate(ids), name).tolist()
    assert again.locate(ids).files[0] == "a.nc"


def test_many_threads_may_ask_one_table():
    document = plain(
        dims=[2, 5000], dimensions=None, files=[[20_000, "a.nc"]],
        gaps={"ids": list(range(0, 20_000, 3)), "lengths": [1] * 6667},
    )  # fmt: skip
    table = read(document)["u"]
    expected = table.locate(np.arange(10_000)).offset.tolist()
    wrong = []

    def ask():
        found = [table.locate(np.arange(10_000)).offset.tolist() for _ in range(20)]
        wrong.extend(offsets for offsets in found if offsets != expected)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_an_id_outside_the_grid_is_an_index_error():
    table = read(plain())["u"]
    for bad in (-1, 10, 2**62):
        with pytest.raises(IndexError):
            table.locate(np.array([0, bad]))


def test_long_lists_of_a_document_are_read_without_the_json_parser():
    ids = list(range(0, 20_000, 2))
    document = plain(
        dims=[2, 5000], dimensions=None, files=[[20_000, "a.nc"]],
        unique={"ids": ids, "lengths": [k % 7 for k in ids]},
        skipchunks={f"1.{k}": [k % 2, 1 - k % 2] for k in range(1000)},
    )  # fmt: skip
    for text in (
        json.dumps(document),
        json.dumps(document, indent=1),
        json.dumps(document, separators=(",", ":")),
    ):
        parsed = lists.load(text.encode())
        assert isinstance(parsed["unique"]["ids"], np.ndarray)
        assert isinstance(parsed["skipchunks"], lists.Flags)
        assert references(gen.read(text.encode(), metadata_of([document]), "")) == slow_references(document)


def test_what_only_looks_like_a_long_list_stays_what_it_is():
    odd = {"floats": [1.5] * 300, "big": [10**30] * 300, "text": "[1,2,3]" * 300, "nested": [[1] * 300, [2]]}
    assert lists.load(json.dumps(odd).encode()) == odd
    assert math.prod(lists.load(b'{"a": []}')["a"]) == 1
