import io
import json
import os
import pickle
import threading

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fsspec.implementations.reference import LazyReferenceMapper
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sets import as_read, names_of, old_engine, reference_sets, zarray

from zaro.errors import ReferenceSetError, StoreError
from zaro.references import parquet, parquet_set, parquet_writer
from zaro.references.set import References
from zaro.references.table import ABSENT, INLINE, WHOLE

LOOSE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def header(arrays, record_size, **members):
    metadata = {".zgroup": {"zarr_format": 2}}
    metadata |= {f"{name}/.zarray": json.loads(zarray(grid)) for name, (grid, _) in arrays.items()}
    return json.dumps({"metadata": metadata, "record_size": record_size, **members}).encode()


def columns(references, first, rows):
    """Columns of one partition as lists: what kerchunk's writer has before it calls anyone."""
    path, offset, size, raw = [None] * rows, [0] * rows, [0] * rows, [None] * rows
    for chunk, value in references.items():
        if not first <= chunk < first + rows:
            continue
        if isinstance(value, bytes):
            raw[chunk - first] = value
        else:
            path[chunk - first], *span = value
            offset[chunk - first], size[chunk - first] = span or (0, 0)
    return {"path": path, "offset": offset, "size": size, "raw": raw}


TEXT = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string()), pa.binary()]
NUMBERS = [pa.int64(), pa.uint64(), pa.float64()]
RAW = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary()), None]


@st.composite
def flavours(draw):
    """How some writer may have written a partition."""
    return {
        "path": draw(st.sampled_from(TEXT)),
        "number": draw(st.sampled_from(NUMBERS)),
        "raw": draw(st.sampled_from(RAW)),
        "null": draw(st.sampled_from(["null", "text"])),
        "empty": draw(st.sampled_from(["typed", "null", "float", "left out"])),
        "compression": draw(st.sampled_from(["zstd", "snappy", "none", "gzip", "lz4"])),
        "group": draw(st.sampled_from([1, 2, 1000])),
        "version": draw(st.sampled_from(["1.0", "2.6"])),
        "extra": draw(st.booleans()),
    }


def partition(lists, flavour):
    """Bytes of a partition in a flavour."""
    rows, found = len(lists["path"]), {}
    for name, kind in (("path", flavour["path"]), ("raw", flavour["raw"] or pa.binary())):
        values = lists[name]
        if all(value is None for value in values) and (
            flavour["empty"] != "typed" or (name == "raw" and flavour["raw"] is None)
        ):
            if flavour["empty"] == "float":
                found[name] = pa.array([float("nan")] * rows)
            elif flavour["empty"] == "null":
                found[name] = pa.nulls(rows)
            continue
        if flavour["null"] == "text" and name == "path":
            values = ["" if value is None else value for value in values]
        if flavour["null"] == "text" and name == "raw":
            spelled = "path" in found and found["path"].type in TEXT  # then every row has a path, or ""
            values = [b"" if value is None and spelled else value for value in values]
        if pa.types.is_binary(kind) and name == "path":
            values = [value.encode() if isinstance(value, str) else value for value in values]
        found[name] = pa.array(values, pa.binary() if name == "raw" else None).cast(kind)
    for name in ("offset", "size"):
        found[name] = pa.array(lists[name], pa.int64()).cast(flavour["number"])
    if not {"path", "raw"} & set(found):
        found["path"] = pa.nulls(rows, pa.string())
    if flavour["extra"]:
        found["__index_level_0__"] = pa.array(range(rows))
    out = io.BytesIO()
    pq.write_table(
        pa.table(found), out, compression=flavour["compression"], row_group_size=flavour["group"],
        version=flavour["version"],
    )  # fmt: skip
    return out.getvalue()


def folder_of(arrays, record_size, flavour, trim=False):
    """Keys of a folder as some writer leaves them, by key."""
    files = {".zmetadata": header(arrays, record_size)}
    for name, (grid, references) in arrays.items():
        total = len(names_of(grid))
        for first in range(0, total, record_size):
            rows = min(record_size, total - first) if trim else record_size
            lists = columns(references, first, rows)
            if any(value is not None for value in lists["path"] + lists["raw"]):
                files[f"{name}/refs.{first // record_size}.parq"] = partition(lists, flavour)
    return files


def check(contents, arrays):
    for name, (grid, references) in arrays.items():
        table = contents.tables[name]
        total = len(names_of(grid))
        assert table.nchunks == total
        at = table.locate(np.arange(total))
        for chunk in range(total):
            file, offset, length = int(at.file_id[chunk]), int(at.offset[chunk]), int(at.length[chunk])
            value = references.get(chunk)
            assert table.reference(chunk) == value
            if value is None:
                assert file == ABSENT
            elif isinstance(value, bytes):
                assert file == INLINE
                assert bytes(at.inline[offset : offset + length]) == value
            else:
                assert at.files[file] == value[0]
                assert [offset, length] == (value[1:] or [0, WHOLE])
        assert table.listed().tolist() == sorted(references)


def whole_numbers(arrays):
    """Floats hold no large offsets: draw those apart."""
    spans = [value[1:] for _, found in arrays.values() for value in found.values() if isinstance(value, list)]
    return all(number < 2**53 for span in spans for number in span)


@LOOSE
@given(reference_sets(), flavours(), st.integers(1, 7), st.booleans())
def test_every_writers_flavour_reads_the_same(document, flavour, record_size, trim):
    _, arrays = document
    files = folder_of(arrays, record_size, flavour, trim)
    check(parquet.read_folder(files.get), arrays)
    check(parquet.read_folder(files.get, budget=0), arrays)


@LOOSE
@given(reference_sets(), flavours(), st.integers(1, 7), st.randoms(use_true_random=False))
def test_chosen_chunks_in_any_order(document, flavour, record_size, random):
    _, arrays = document
    contents = parquet.read_folder(folder_of(arrays, record_size, flavour).get)
    for name, (grid, references) in arrays.items():
        total = len(names_of(grid))
        ids = [random.randrange(total) for _ in range(2 * total)]
        at = contents.tables[name].locate(np.array(ids))
        for k, chunk in enumerate(ids):
            value = references.get(chunk)
            file, offset, length = int(at.file_id[k]), int(at.offset[k]), int(at.length[k])
            if isinstance(value, bytes):
                assert bytes(at.inline[offset : offset + length]) == value
            elif value is None:
                assert file == ABSENT
            else:
                assert [at.files[file], *([offset, length] if length >= 0 else [])] == value


# ---- other writers -----------------------------------------------------------------------------


def same_as_json(root, refs):
    found = dict(References.open(root))
    expected = as_read(refs)
    assert set(found) == set(expected)
    for key, value in expected.items():
        if key.rpartition("/")[2].startswith(".z"):
            assert json.loads(found[key]) == json.loads(value)
        else:
            assert found[key] == value


@old_engine
@pytest.mark.parametrize("engine", ["pyarrow", "fastparquet"])
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=reference_sets(), record_size=st.integers(1, 7), threshold=st.sampled_from([0, 10]))
def test_folders_of_fsspecs_mapper_read_as_their_json(
    tmp_path_factory, engine, document, record_size, threshold
):
    pytest.importorskip(engine)
    root = str(tmp_path_factory.mktemp("set") / "refs.parquet")
    refs, _ = document
    out = LazyReferenceMapper.create(
        root, fs=fsspec.filesystem("file"), record_size=record_size, engine=engine,
        categorical_threshold=threshold,
    )  # fmt: skip
    for key in sorted(refs):
        out[key] = refs[key]
    out.flush()
    same_as_json(root, refs)


@old_engine
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(document=reference_sets(), record_size=st.integers(1, 7))
def test_folders_of_kerchunk_read_as_their_json(tmp_path_factory, document, record_size):
    pytest.importorskip("fastparquet")
    from kerchunk.df import refs_to_dataframe

    root = str(tmp_path_factory.mktemp("set") / "refs.parquet")
    refs, _ = document
    refs_to_dataframe(refs, root, record_size=record_size)
    same_as_json(root, refs)


def test_numbers_as_floats_with_nan_for_nothing():
    table = pa.table(
        {
            "path": ["a.nc", None, "b.nc"],
            "offset": [5.0, float("nan"), 0.0],
            "size": pa.array([7.0, None, 0.0]),
            "raw": pa.array([None, None, None], pa.float64()),
        }
    )
    files = {".zmetadata": header({"x": ([3], {})}, 3), "x/refs.0.parq": to_bytes(table)}
    at = parquet.read_folder(files.get).tables["x"].locate(np.arange(3))
    assert at.file_id.tolist() == [0, ABSENT, 1]
    assert at.offset.tolist() == [5, 0, 0]
    assert at.length.tolist() == [7, 0, WHOLE]


def to_bytes(table, **how):
    out = io.BytesIO()
    pq.write_table(table, out, **how)
    return out.getvalue()


def test_a_path_with_neither_offset_nor_size_is_a_whole_file():
    for nothing in (None, float("nan")):
        table = broken({"offset": pa.array([nothing, 0.0]), "size": pa.array([nothing, 0.0])})
        assert table.reference(0) == ["a.nc"]


def test_own_bytes_win_over_a_path_whatever_its_span():
    table = broken({"path": ["a.nc", ""], "offset": [-5, 0], "raw": [b"own", b""]})
    assert [table.reference(0), table.reference(1)] == [b"own", None]


def test_raw_may_hold_text_and_base64():
    table = pa.table({"path": pa.nulls(3), "raw": ["hello", "base64:AAEC", None]})
    files = {".zmetadata": header({"x": ([3], {})}, 3), "x/refs.0.parq": to_bytes(table)}
    contents = parquet.read_folder(files.get)
    refs = References(contents)
    assert (refs["x/0"], refs["x/1"]) == (b"hello", b"\0\1\2")
    assert "x/2" not in refs


def test_metadata_may_be_text_and_a_scalar_has_one_row():
    table = pa.table({"path": ["a.nc"], "offset": [1], "size": [2]})
    document = {"metadata": {"x/.zarray": zarray([])}, "record_size": 10}
    files = {".zmetadata": json.dumps(document).encode(), "x/refs.0.parq": to_bytes(table)}
    refs = References(parquet.read_folder(files.get))
    assert refs["x/.zarray"] == zarray([]).encode()
    assert refs["x/0"] == ["a.nc", 1, 2]


def test_relative_files_lie_beside_the_folder(tmp_path):
    root = tmp_path / "refs.parquet"
    (root / "x").mkdir(parents=True)
    (root / ".zmetadata").write_bytes(header({"x": ([1], {})}, 1))
    (root / "x" / "refs.0.parq").write_bytes(
        to_bytes(pa.table({"path": ["a.nc"], "offset": [1], "size": [2]}))
    )
    assert References.open(root)["x/0"] == [str(tmp_path / "a.nc"), 1, 2]
    assert References.open(f"{root}/")["x/0"] == [str(tmp_path / "a.nc"), 1, 2]
    assert len(pickle.dumps(References.open(root))) < 2000


@old_engine
@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_folders_of_virtualizarr_read_as_its_json(tmp_path):
    pytest.importorskip("fastparquet")
    pytest.importorskip("virtualizarr")
    import xarray as xr
    from virtualizarr.manifests import ChunkManifest, ManifestArray
    from virtualizarr.manifests.utils import create_v3_array_metadata

    entries = {
        f"{i}.{j}": {"path": f"/d/{i}.nc", "offset": 100 * j + 8, "length": 50}
        for i in range(3)
        for j in range(4)
    }
    del entries["1.2"]
    metadata = create_v3_array_metadata(
        shape=(6, 8), data_type=np.dtype("<f4"), chunk_shape=(2, 2), fill_value=np.nan,
        codecs=[{"name": "bytes", "configuration": {"endian": "little"}}],
    )  # fmt: skip
    array = ManifestArray(metadata=metadata, chunkmanifest=ChunkManifest(entries, shape=(3, 4)))
    data = xr.Dataset({"v": (("y", "x"), array)}, coords={"x": ("x", np.arange(8.0))})
    data.vz.to_kerchunk(str(tmp_path / "v.parquet"), format="parquet", record_size=5)
    expected = dict(References.open(data.vz.to_kerchunk(format="dict")))
    found = dict(References.open(tmp_path / "v.parquet"))
    assert set(found) == set(expected)
    assert {k: v for k, v in found.items() if "/.z" not in k and k[0] != "."} == {
        k: v for k, v in expected.items() if "/.z" not in k and k[0] != "."
    }
    assert len(expected) == 11 + 1 + 2 + 4


# ---- laziness and memory -----------------------------------------------------------------------


class Folder:
    """Counts what is asked for."""

    def __init__(self, files):
        self.files, self.asked = files, []

    def __call__(self, key):
        self.asked.append(key)
        return self.files.get(key)


PLAIN = {
    "path": pa.string(), "number": pa.int64(), "raw": None, "null": "null", "empty": "typed",
    "compression": "zstd", "group": 1000, "version": "2.6", "extra": False,
}  # fmt: skip


def big(chunks=40, record_size=10):
    arrays = {"x": ([chunks], {k: ["/a.nc", 10 * k + 1, 10] for k in range(chunks)})}
    return arrays, Folder(folder_of(arrays, record_size, PLAIN))


def test_opening_reads_the_header_alone_and_a_look_up_one_partition():
    arrays, folder = big()
    contents = parquet.read_folder(folder)
    assert folder.asked == [".zmetadata"]
    contents.tables["x"].locate(np.array([25]))
    contents.tables["x"].locate(np.array([21, 29]))
    assert folder.asked[1:] == ["x/refs.2.parq"]
    check(contents, arrays)
    assert sorted(folder.asked[1:]) == [f"x/refs.{k}.parq" for k in range(4)]


def test_only_the_row_groups_that_are_wanted_are_read(monkeypatch):
    arrays = {"x": ([40], {k: ["/a.nc", k + 1, 10] for k in range(40)})}
    folder = Folder(folder_of(arrays, 40, {**PLAIN, "group": 10}))
    read, groups = parquet_set.read_rows, []

    def spy(file, group, *rest):
        groups.append(group)
        return read(file, group, *rest)

    monkeypatch.setattr(parquet_set, "read_rows", spy)
    contents = parquet.read_folder(folder)
    assert contents.tables["x"].locate(np.array([15, 25])).offset.tolist() == [16, 26]
    assert groups == [1, 2]
    check(contents, arrays)
    assert sorted(groups) == [0, 1, 2, 3]


def test_partitions_leave_memory_under_the_budget():
    arrays, folder = big()
    contents = parquet.read_folder(folder, budget=500)  # two of them
    for _ in range(2):
        check(contents, arrays)
    cache = contents.tables["x"].shared.cache
    assert cache.held <= 500
    assert len(cache.near["x"]) <= 2
    assert len(folder.asked) > 5


def test_a_partition_that_is_absent_lists_no_chunks_and_is_asked_for_once():
    _arrays, folder = big()
    del folder.files["x/refs.1.parq"]
    table = parquet.read_folder(folder).tables["x"]
    for _ in range(3):
        assert table.locate(np.array([15])).file_id.tolist() == [ABSENT]
    assert folder.asked.count("x/refs.1.parq") == 1
    assert table.listed().tolist() == [k for k in range(40) if not 10 <= k < 20]
    table.shared.forget("x", 1)
    folder.files["x/refs.1.parq"] = folder.files["x/refs.0.parq"]
    assert table.locate(np.array([15])).offset.tolist() == [51]
    assert table.reference(15) == ["/a.nc", 51, 10]
    table.shared.forget("x", 1)
    folder.files["x/refs.1.parq"] = folder.files["x/refs.2.parq"]
    assert table.reference(15) == ["/a.nc", 251, 10]


def test_many_threads_load_a_partition_once():
    arrays, folder = big(400, 10)
    contents = parquet.read_folder(folder)
    failed = []

    def ask():
        try:
            check(contents, arrays)
        except BaseException as err:
            failed.append(err)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert sorted(folder.asked) == sorted([".zmetadata", *(f"x/refs.{k}.parq" for k in range(40))])


def test_an_array_of_any_size_opens_at_once():
    arrays = {"x": ([10**6, 10**6, 10**5], {})}
    folder = Folder({".zmetadata": header(arrays, 100_000)})
    table = parquet.read_folder(folder).tables["x"]
    assert table.locate(np.array([10**17 - 1, 5])).file_id.tolist() == [ABSENT, ABSENT]
    assert len(folder.asked) == 3


def test_a_child_of_a_fork_reads_on():
    _arrays, folder = big()
    contents = parquet.read_folder(folder)
    table = contents.tables["x"]
    table.locate(np.array([5]))
    shared = table.shared
    with shared.cache.lock, shared.files.lock:
        child = os.fork()
        if child == 0:
            good = table.locate(np.array([5, 35])).offset.tolist() == [51, 351]
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_one_partition_may_be_written_anew():
    _arrays, folder = big()
    contents = parquet.read_folder(folder)
    table = contents.tables["x"]
    other = parquet.read_folder(Folder(folder_of({"x": ([40], {3: ["/z.nc", 1, 2]})}, 10, PLAIN))).tables["x"]
    assert table.locate(np.array([3])).offset.tolist() == [31]
    folder.files["x/refs.0.parq"] = bytes(parquet_writer.encode_partition(other.locate(np.arange(10)), 10))
    table.shared.forget("x", 0)
    at = table.locate(np.array([3, 4]))
    assert [at.files[at.file_id[0]], at.offset[0], at.length[0], at.file_id[1]] == ["/z.nc", 1, 2, ABSENT]


# ---- broken sets -------------------------------------------------------------------------------

GOOD = {"path": ["a.nc", None], "offset": [5, 0], "size": [7, 0], "raw": pa.nulls(2, pa.binary())}


def broken(changes, rows=2, record_size=2):
    table = {**GOOD, **changes}
    folder = {
        ".zmetadata": header({"g/x": ([rows], {})}, record_size),
        "g/x/refs.0.parq": to_bytes(pa.table({k: v for k, v in table.items() if v is not None})),
    }
    return parquet.read_folder(folder.get, document="s.parquet").tables["g/x"]


BROKEN = [
    ({"offset": [-5, 0]}, "row 0: offset is -5"),
    ({"size": [-1, 0]}, "row 0: size is -1"),
    ({"size": pa.array([None, 0], pa.int64())}, "row 0: size is None"),
    ({"offset": pa.array([None, 0], pa.int64())}, "row 0: offset is None"),
    ({"offset": [float("nan"), 0]}, "row 0: offset is nan"),
    ({"offset": [1.5, 0]}, "row 0: offset is 1.5"),
    ({"offset": [1e300, 0]}, "row 0: offset is 1e"),
    ({"offset": pa.array([2**63, 0], pa.uint64())}, "row 0: offset is 9223372036854775808"),
    ({"offset": [2**63 - 1, 0]}, "64 bits"),
    ({"offset": ["5", "0"]}, "offset is string, expected integers"),
    ({"offset": None}, "offset is missing"),
    ({"size": None}, "size is missing"),
    ({"path": [1, 2]}, "path is int64, expected text"),
    ({"path": [["a"], ["b"]]}, "expected text"),
    ({"path": [b"\xff\xfe", None]}, "no text"),
    ({"raw": [1, 2]}, "raw is int64, expected text"),
    ({"raw": [None, b"base64:!"]}, "row 1: raw cannot be decoded"),
    ({"path": None, "raw": None}, "has columns"),
]


@pytest.mark.parametrize(("changes", "words"), BROKEN)
def test_a_row_that_contradicts_itself_is_an_error_that_names_it(changes, words):
    table = broken(changes)
    with pytest.raises(ReferenceSetError) as caught:
        table.locate(np.array([0]))
    assert words in str(caught.value)
    assert "s.parquet: g/x/refs.0.parq" in str(caught.value)


def test_what_stands_beside_an_absent_path_does_not_matter():
    table = broken({"offset": [5, -3], "size": pa.array([7, None], pa.int64())})
    assert table.locate(np.arange(2)).file_id.tolist() == [0, ABSENT]


@pytest.mark.parametrize(("rows", "record_size"), [(3, 3), (2, 1), (50, 1000), (5, 2)])
def test_a_partition_with_another_number_of_rows_than_the_header_says_is_an_error(rows, record_size):
    table = broken({}, rows, record_size)
    if (rows, record_size) == (5, 2):  # the first partition is right, the others are absent
        assert table.locate(np.array([0, 4])).file_id.tolist() == [0, ABSENT]
        return
    with pytest.raises(ReferenceSetError, match=r"g/x/refs\.0\.parq: has 2 rows, expected"):
        table.locate(np.array([0]))


@pytest.mark.parametrize("cut", [0, 3, 11, 40, 200, -1, -9])
def test_a_partition_that_cannot_be_read_is_an_error_that_names_it(cut):
    _arrays, folder = big()
    key = "x/refs.1.parq"
    folder.files[key] = folder.files[key][:cut]
    table = parquet.read_folder(folder, document="s.parquet").tables["x"]
    assert table.locate(np.array([5])).offset.tolist() == [51]
    with pytest.raises(
        ReferenceSetError, match=r"s\.parquet: x/refs\.1\.parq: (is no readable|cannot be read)"
    ):
        table.locate(np.array([15]))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255))
def test_a_damaged_byte_is_an_error_of_the_set_or_does_no_harm(position, value):
    _arrays, folder = big()
    data = bytearray(folder.files["x/refs.1.parq"])
    data[position % len(data)] = value
    folder.files["x/refs.1.parq"] = bytes(data)
    try:
        at = parquet.read_folder(folder).tables["x"].locate(np.arange(10, 20))
    except ReferenceSetError:
        return
    assert len(at.offset) == 10


HEADERS = [
    (None, "is missing"),
    (b"{", "is no JSON"),
    (b"[" * 100_000, "is no JSON"),
    (b"[]", "expected an object"),
    (b'{"metadata": {}}', "record_size: there is no Parquet reference set here"),
    (b'{"metadata": {}, "record_size": 0}', "record_size: is 0"),
    (b'{"metadata": {}, "record_size": true}', "record_size: is True"),
    (b'{"metadata": {}, "record_size": "10"}', "record_size: is '10'"),
    (b'{"metadata": {}, "record_size": 1e300}', "record_size"),
    (b'{"metadata": [], "record_size": 1}', "metadata: is missing"),
    (b'{"metadata": {"x/.zarray": 3}, "record_size": 1}', "'x/.zarray': is 3"),
]


@pytest.mark.parametrize(("raw", "words"), HEADERS)
def test_a_broken_header_is_an_error(raw, words):
    with pytest.raises(ReferenceSetError) as caught:
        parquet.read_folder({".zmetadata": raw}.get, document="s.parquet")
    assert words in str(caught.value)
    assert ".zmetadata" in str(caught.value)


@pytest.mark.parametrize("path", ["..", "../x", "a/../../x", "/etc", "a//b", "./x"])
def test_an_array_cannot_lie_outside_the_folder(path):
    document = {"metadata": {f"{path}/.zarray": json.loads(zarray([1]))}, "record_size": 1}
    with pytest.raises(ReferenceSetError, match="no path in the set"):
        parquet.read_folder({".zmetadata": json.dumps(document).encode()}.get)


def test_a_file_in_the_place_of_a_partition_is_an_error_of_the_store(tmp_path):
    (tmp_path / "x" / "refs.0.parq").mkdir(parents=True)
    (tmp_path / ".zmetadata").write_bytes(header({"x": ([1], {})}, 1))
    with pytest.raises(StoreError, match=r"refs\.0\.parq"):
        References.open(f"{tmp_path}/")["x/0"]


def test_folders_are_read_through_fsspec():
    _arrays, folder = big()
    memory = fsspec.filesystem("memory")
    for key, data in folder.files.items():
        memory.pipe(f"/zaro-test.parquet/{key}", data)
    refs = References.open("memory://zaro-test.parquet")
    assert refs["x/31"] == ["/a.nc", 311, 10]
    memory.rm("/zaro-test.parquet", recursive=True)
