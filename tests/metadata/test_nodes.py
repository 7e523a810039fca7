"""Finding a node's documents, and documents that are not what they should be."""

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro.errors import MetadataError
from zaro.metadata import ArrayMetadata, GroupMetadata, consolidated_v2, read_node

V2 = {
    "zarr_format": 2,
    "shape": [4],
    "chunks": [2],
    "dtype": "<f4",
    "fill_value": 0,
    "order": "C",
    "filters": None,
}
V3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": {"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "int8"}]}},
    "chunk_grid": {
        "name": "rectilinear",
        "configuration": {"kind": "inline", "chunk_shapes": [[1, [3, 1]], 2]},
    },
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": {"a": 1},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    "attributes": {},
    "dimension_names": ["a", None],
}
GROUP = {
    "zarr_format": 3,
    "node_type": "group",
    "consolidated_metadata": {"kind": "inline", "metadata": {"a": V3}},
}


def asked(documents):
    keys = []

    def get(key):
        keys.append(key)
        return documents.get(key)

    return get, keys


def test_nothing_there_is_none():
    get, keys = asked({})
    assert read_node(get, "a/b") is None
    assert keys == ["a/b/zarr.json", "a/b/.zarray", "a/b/.zgroup"]


def test_the_newer_document_wins_and_nothing_more_is_asked_for():
    get, keys = asked({"zarr.json": V3, ".zarray": V2})
    assert read_node(get).zarr_format == 3
    assert keys == ["zarr.json"]


def test_an_array_wins_over_a_group():
    get, keys = asked({"a/.zarray": V2, "a/.zgroup": {"zarr_format": 2}})
    assert isinstance(read_node(get, "a"), ArrayMetadata)
    assert keys == ["a/zarr.json", "a/.zarray", "a/.zattrs"]


def test_a_group_of_format_2():
    get, _ = asked({".zgroup": b'{"zarr_format": 2}', ".zattrs": '{"x": NaN}'})
    found = read_node(get)
    assert isinstance(found, GroupMetadata)
    assert list(found.attributes) == ["x"]
    with pytest.raises(MetadataError, match=r"^\.zgroup: zarr_format is missing, expected 2$"):
        read_node({".zgroup": {}}.get)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda raw: raw.decode()])
def test_text_comes_in_any_shape(kind):
    assert read_node({".zarray": kind(json.dumps(V2).encode())}.get).shape == (4,)


def test_text_may_begin_with_a_byte_order_mark():
    assert read_node({".zarray": b"\xef\xbb\xbf" + json.dumps(V2).encode()}.get).shape == (4,)


def test_of_a_member_that_occurs_twice_the_last_counts():
    assert read_node({".zarray": json.dumps(V2)[:-1] + ', "shape": [7]}'}.get).shape == (7,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "a/zarr.json: is not JSON: Expecting value (line 1 column 1)"),
        (
            b"{",
            "a/zarr.json: is not JSON: Expecting property name enclosed in double quotes (line 1 column 2)",
        ),
        (b'{"a": 1}{', "a/zarr.json: is not JSON: Extra data (line 1 column 9)"),
        (b'{"a": "\xff"}', "a/zarr.json: byte 7 is not UTF-8, expected JSON text"),
        (b"[" * 100_000, "a/zarr.json: nests too deeply to be read"),
        (b'{"a": ' * 100_000, "a/zarr.json: nests too deeply to be read"),
        (b'{"a": ' + b"1" * 5000 + b"}", "a/zarr.json: holds a number that is too long to be read"),
        (b"5", "a/zarr.json: the document is 5, expected an object"),
        (b"null", "a/zarr.json: the document is null, expected an object"),
        (b'"' + b"x" * 1000 + b'"', 'x" and 940 more characters, expected an object'),
        (b"{}", "a/zarr.json: zarr_format is missing, expected 3"),
    ],
)
def test_text_that_is_no_document_is_an_error_that_names_it(text, words):
    with pytest.raises(MetadataError) as caught:
        read_node({"a/zarr.json": text}.get, "a")
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def nested(depth, wrap, core):
    for _ in range(depth):
        core = wrap(core)
    return core


@pytest.mark.parametrize(
    ("key", "members"),
    [
        (".zarray", {**V2, "dtype": nested(5000, lambda inner: [["a", inner]], "<i4")}),
        (
            "zarr.json",
            {
                **V3,
                "data_type": nested(
                    5000,
                    lambda inner: {
                        "name": "struct",
                        "configuration": {"fields": [{"name": "a", "data_type": inner}]},
                    },
                    "int8",
                ),
            },
        ),
    ],
)
def test_types_that_nest_without_end_are_an_error_that_names_the_document(key, members):
    with pytest.raises(MetadataError, match=r"^a/.*: nests too deeply to be read$"):
        read_node({f"a/{key}": members}.get, "a")


def test_a_name_without_end_is_cut_in_the_message():
    kind = {"name": "struct", "configuration": {"fields": [{"name": "n" * 10**6, "data_type": "int8"}]}}
    with pytest.raises(MetadataError) as caught:
        read_node({"zarr.json": {**V3, "data_type": kind}}.get)
    assert len(str(caught.value)) < 1000
    with pytest.raises(MetadataError) as caught:
        read_node({"zarr.json": {**V3, "n" * 10**6: 1}}.get)
    assert len(str(caught.value)) < 1000


def test_consolidated_metadata_of_format_2():
    found = consolidated_v2(
        json.dumps({"zarr_consolidated_format": 1, "metadata": {"a/.zarray": V2, ".zgroup": {}}})
    )
    assert read_node(found.get, "a").shape == (4,)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({}, ".zmetadata: metadata is missing, expected an object"),
        ({"metadata": []}, ".zmetadata: metadata is an empty list, expected an object"),
        ({"metadata": {"a/.zarray": 5}}, '.zmetadata: metadata["a/.zarray"] is 5, expected an object'),
        ("[]", ".zmetadata: the document is an empty list, expected an object"),
    ],
)
def test_consolidated_metadata_that_is_broken(source, words):
    with pytest.raises(MetadataError) as caught:
        consolidated_v2(source)
    assert str(caught.value) == words


odd = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([[], {}, [[]], 2**64, "<i4", "int8", "regular", {"name": "x"}])
)


def places(value, at=()):
    """Every place inside a document."""
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def changed(document, place, value):
    document = copy.deepcopy(document)
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return document


@pytest.mark.parametrize("document", [V2, V3, GROUP], ids=["v2", "v3", "group"])
@given(data=st.data())
def test_a_document_changed_anywhere_is_read_or_an_error_that_names_it(document, data):
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from([place for place in places(document) if place]))
        document = changed(document, place, data.draw(odd))
    key = ".zarray" if "dtype" in document or "chunks" in document else "zarr.json"
    try:
        found = read_node({f"a/{key}": document}.get, "a")
        assert isinstance(found, ArrayMetadata | GroupMetadata)
    except MetadataError as err:
        named = err.document
    else:
        named = f"a/{key}"
    assert named == f"a/{key}"
