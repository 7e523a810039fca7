"""One set of reading tests for every kind of address."""

import json
import pickle

import numpy as np
import pytest
from material import KINDS, STORES, Address, published, references, values, write

import zaro
from zaro.errors import ChunkError, NodeNotFoundError


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("material")
    write(made)
    return made


@pytest.fixture(scope="session", params=KINDS)
def address(request, folder, tmp_path_factory):
    with published(request.param, folder, tmp_path_factory.mktemp("spare")) as found:
        yield found


def opened(address: Address, name: str):
    return zaro.open(address.spelled(name), storage_options=address.options)


@pytest.fixture(params=STORES)
def group(request, address):
    return opened(address, request.param)


@pytest.fixture
def referring(address, folder):
    refs = references(folder / "data.h5", address.spelled("data.h5"))
    return refs, {"remote_options": address.options}


@pytest.mark.parametrize("path", list(values()))
def test_a_store_holds_what_was_written(group, path):
    expected = values()[path]
    found = group[path]
    assert found.attrs["of"] == path
    np.testing.assert_array_equal(found[...], expected)
    assert found[...].dtype == expected.dtype


@pytest.mark.parametrize("selection", [np.s_[17, 3:60], np.s_[::-3, 69], np.s_[40:, :5], np.s_[5:5]])
def test_a_part_is_read_as_of_an_array_in_memory(group, selection):
    np.testing.assert_array_equal(group["x"][selection], values()["x"][selection])


def test_points_are_picked_one_by_one(group):
    rows, columns = [49, 0, 17, 17], [1, 69, 33, 33]
    np.testing.assert_array_equal(group["x"].vindex[rows, columns], values()["x"][rows, columns])


def test_names_are_listed(group):
    assert set(group) == {"x", "deep", "scalar", "holes", "words"}
    assert list(group["deep"]) == ["y"]


def test_absent_chunks_are_filled(group):
    expected = np.full(40, -9, "i4")
    expected[10:20] = np.arange(10)
    np.testing.assert_array_equal(group["holes"][...], expected)


def test_absent_chunks_can_be_an_error(address):
    found = zaro.open(address.spelled("v3"), "holes", storage_options=address.options, missing="raise")
    with pytest.raises(zaro.errors.MissingChunkError, match=r"holes/c/\d"):
        found[...]


def test_strings_are_read(group):
    assert group["words"][...].tolist() == [f"word {k}" for k in range(9)]


def test_a_node_that_is_not_there_is_an_error(group):
    with pytest.raises(NodeNotFoundError, match="none"):
        group["none"]


def test_shards_are_read_by_their_inner_chunks(address):
    found = opened(address, "sharded")["x"]
    assert found.chunks == (8, 25)
    np.testing.assert_array_equal(found[...], values()["x"])
    np.testing.assert_array_equal(found[9:12, 30:], values()["x"][9:12, 30:])


def test_a_node_is_reopened_where_it_is_sent(group):
    again = pickle.loads(pickle.dumps(group["x"]))
    np.testing.assert_array_equal(again[3], values()["x"][3])


@pytest.mark.parametrize("path", list(values()))
def test_references_lead_to_the_same_values(referring, path):
    refs, options = referring
    np.testing.assert_array_equal(zaro.read(refs, path, **options), values()[path])


def test_references_in_a_file_beside_the_data(address, folder, tmp_path):
    refs = references(folder / "data.h5", address.spelled("data.h5"))
    document = tmp_path / "refs.json"
    document.write_text(json.dumps(refs))
    found = zaro.open(document, remote_options=address.options)
    np.testing.assert_array_equal(found["deep/y"][:, 3:9], values()["deep/y"][:, 3:9])


def test_a_referenced_file_that_is_missing_is_an_error(address, folder):
    refs = references(folder / "data.h5", address.spelled("none.h5"))
    with pytest.raises(ChunkError, match=r"none\.h5.*does not exist"):
        zaro.read(refs, "x", remote_options=address.options)


def test_a_span_past_the_end_of_its_file_is_an_error(address, folder):
    refs = references(folder / "data.h5", address.spelled("data.h5"))
    key = next(key for key, value in refs["refs"].items() if key.startswith("x/") and isinstance(value, list))
    refs["refs"][key][1] = 10**7
    with pytest.raises(ChunkError, match=r"data\.h5"):
        zaro.read(refs, "x", remote_options=address.options)
