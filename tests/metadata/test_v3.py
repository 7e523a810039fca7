"""Documents of format 3."""

import copy
import json

import numpy as np
import pytest

from zaro.errors import MetadataError, UnsupportedError
from zaro.metadata import Codec, GroupMetadata, KeyEncoding, read_node

SST = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 6],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": "NaN",
    "codecs": [
        {"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 0}},
    ],
    "attributes": {"units": "K"},
    "dimension_names": ["lat", None],
    "storage_transformers": [],
}


def read(**members):
    return read_node({"sst/zarr.json": json.dumps({**SST, **members})}.get, "sst")


def without(member):
    return read_node(
        {"sst/zarr.json": {key: value for key, value in SST.items() if key != member}}.get, "sst"
    )


def test_a_typical_array():
    found = read()
    assert found.shape == (4, 6)
    assert found.chunks == (2, 3)
    assert found.edges is None
    assert found.dtype == np.dtype("float32")
    assert np.isnan(found.fill_value)
    assert found.dimension_names == ("lat", None)
    assert found.attributes == {"units": "K"}
    assert found.key_encoding == KeyEncoding("default", "/")
    assert found.codecs == (Codec("bytes", {"endian": "little"}), Codec("zstd", {"level": 0}))


def test_reading_leaves_the_document_as_it_was():
    document = copy.deepcopy(SST)
    read_node({"zarr.json": document}.get).attributes["more"] = 1
    assert document == SST


def test_members_that_may_be_left_out():
    assert without("dimension_names").dimension_names is None
    assert without("attributes").attributes == {}
    assert without("storage_transformers").shape == (4, 6)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ("default", KeyEncoding("default", "/")),
        ({"name": "default"}, KeyEncoding("default", "/")),
        ({"name": "default", "configuration": {"separator": "."}}, KeyEncoding("default", ".")),
        ({"name": "v2"}, KeyEncoding("v2", ".")),
        ({"name": "v2", "configuration": {"separator": "/"}}, KeyEncoding("v2", "/")),
    ],
)
def test_key_encodings(found, expected):
    assert read(chunk_key_encoding=found).key_encoding == expected


def test_codecs_may_be_names_alone_or_optional():
    found = read(codecs=["bytes", {"name": "crc32c"}, {"name": "new", "must_understand": False}])
    assert found.codecs == (Codec("bytes"), Codec("crc32c"), Codec("new", must_understand=False))


def test_a_rectilinear_grid_carries_its_edges():
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": [[1, 3], 4]}}
    found = read(chunk_grid=grid)
    assert found.chunks == (3, 4)
    assert found.grid == (2, 2)
    assert found.nchunks == 4
    assert [list(run) for run in found.edges] == [[1, 3], [4, 4]]


def test_a_packed_structure_follows_the_byte_order_of_the_codec():
    kind = {"name": "structured", "configuration": {"fields": [["a", "int16"]]}}
    for endian, fill in (("little", "AQA="), ("big", "AAE=")):
        codecs = [{"name": "bytes", "configuration": {"endian": endian}}]
        assert read(data_type=kind, fill_value=fill, codecs=codecs).fill_value["a"] == 1


def test_what_may_be_ignored_is_ignored():
    assert read(extra={"must_understand": False, "name": "x"}).shape == (4, 6)
    assert read(storage_transformers=[{"name": "x", "must_understand": False}]).shape == (4, 6)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"extra": {"name": "x"}}, "extra is an object of 1 members, an extension that zaro does not have"),
        ({"extra": 5}, "extra is 5, an extension that zaro does not have"),
        ({"extra": {"must_understand": True}}, "extra is an object"),
        ({"storage_transformers": [{"name": "x"}]}, "storage_transformers[0] is an object"),
        (
            {"chunk_grid": {"name": "hexagonal"}},
            'chunk_grid.name is "hexagonal", expected "regular" or "rectilinear"',
        ),
        (
            {"chunk_key_encoding": {"name": "fanout"}},
            'chunk_key_encoding.name is "fanout", expected "default" or "v2"',
        ),
        ({"data_type": "bfloat16"}, 'data_type is "bfloat16", a data type that zaro does not have'),
    ],
)
def test_what_must_be_understood_and_is_not_is_unsupported(members, words):
    with pytest.raises(UnsupportedError) as caught:
        read(**members)
    assert str(caught.value).startswith("sst/zarr.json: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"zarr_format": 2}, "zarr_format is 2, expected 3"),
        ({"zarr_format": 3.0}, "zarr_format is 3.0, expected 3"),
        ({"node_type": "table"}, 'node_type is "table", expected "array" or "group"'),
        ({"node_type": ["array"]}, "node_type is a list of 1, expected"),
        ({"shape": [4, "6"]}, 'shape[1] is "6", expected an integer from 0 to 2^63-1'),
        ({"chunk_grid": 5}, "chunk_grid is 5, expected an object with name and configuration"),
        ({"chunk_grid": {"configuration": {}}}, "chunk_grid.name is null, expected the name of an extension"),
        (
            {"chunk_grid": {"name": "regular"}},
            "chunk_grid.configuration.chunk_shape is missing, expected a list of integers",
        ),
        (
            {"chunk_grid": {"name": "regular", "configuration": 5}},
            "chunk_grid.configuration is 5, expected an object",
        ),
        (
            {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}},
            "chunk_grid.configuration.chunk_shape is a list of 1, expected 2 extents",
        ),
        (
            {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 0]}}},
            "chunk_grid.configuration.chunk_shape[1] is 0, expected an integer from 1 to 2^63-1",
        ),
        (
            {
                "chunk_grid": {
                    "name": "rectilinear",
                    "configuration": {"kind": "inline", "chunk_shapes": [1, [5]]},
                }
            },
            "chunk_shapes[1] is a list of 1, expected extents that sum to 6 or more, got 5",
        ),
        (
            {
                "chunk_grid": {
                    "name": "rectilinear",
                    "configuration": {"kind": "inline", "chunk_shapes": [2**62, 2**62]},
                }
            },
            "chunk_grid.configuration.chunk_shapes is a list of 2, expected at most 2^63-1 bytes",
        ),
        (
            {"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "-"}}},
            'chunk_key_encoding.configuration.separator is "-", expected "." or "/"',
        ),
        (
            {"chunk_key_encoding": {"name": ["v2"]}},
            "chunk_key_encoding.name is a list of 1, expected the name",
        ),
        ({"codecs": []}, "codecs is an empty list, expected a list of codecs"),
        ({"codecs": "bytes"}, 'codecs is "bytes", expected a list of codecs'),
        (
            {"codecs": [{"name": "bytes"}, 7]},
            "codecs[1] is 7, expected an object with name and configuration",
        ),
        (
            {"codecs": [{"name": "zstd", "configuration": [3]}]},
            "codecs[0].configuration is a list of 1, expected an object",
        ),
        ({"fill_value": None}, "fill_value is null, expected a number"),
        ({"attributes": [1]}, "attributes is a list of 1, expected an object"),
        ({"dimension_names": ["lat"]}, "dimension_names is a list of 1, expected a list of 2"),
        ({"dimension_names": ["lat", 5]}, "dimension_names[1] is 5, expected a name or null"),
        ({"storage_transformers": 5}, "storage_transformers is 5, expected a list"),
    ],
)
def test_a_broken_document_is_an_error_that_names_it_and_the_member(members, words):
    with pytest.raises(MetadataError) as caught:
        read(**members)
    assert str(caught.value).startswith("sst/zarr.json: ")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "member",
    [
        "zarr_format",
        "node_type",
        "shape",
        "data_type",
        "chunk_grid",
        "chunk_key_encoding",
        "codecs",
        "fill_value",
    ],
)
def test_a_member_that_must_be_there(member):
    with pytest.raises(MetadataError, match=f"sst/zarr.json: {member} is missing, expected"):
        without(member)


def group(**members):
    return read_node({"zarr.json": {"zarr_format": 3, "node_type": "group", **members}}.get)


def test_a_group_gives_the_documents_consolidated_in_it():
    inline = {"kind": "inline", "must_understand": False, "metadata": {"sst": SST, "/odd/": SST}}
    found = group(consolidated_metadata=inline)
    assert found.consolidated == {"sst/zarr.json": SST, "odd/zarr.json": SST}
    assert read_node(found.consolidated.get, "sst").shape == (4, 6)


def test_a_group_without_consolidated_metadata():
    assert group() == GroupMetadata()
    assert group(consolidated_metadata=None) == GroupMetadata()
    assert group(consolidated_metadata={"kind": "new", "must_understand": False}) == GroupMetadata()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"shape": [1]}, "shape is a list of 1, an extension that zaro does not have"),
        ({"attributes": 5}, "attributes is 5, expected an object"),
        ({"consolidated_metadata": []}, "consolidated_metadata is an empty list, expected an object"),
        (
            {"consolidated_metadata": {"kind": "new"}},
            'consolidated_metadata.kind is "new", expected "inline"',
        ),
        (
            {"consolidated_metadata": {"kind": "inline"}},
            "consolidated_metadata.metadata is null, expected an object",
        ),
        (
            {"consolidated_metadata": {"kind": "inline", "metadata": {"a": 5}}},
            'consolidated_metadata.metadata["a"] is 5, expected a zarr.json document',
        ),
    ],
)
def test_a_broken_group_is_an_error_that_names_the_member(members, words):
    with pytest.raises(MetadataError) as caught:
        group(**members)
    assert str(caught.value).startswith("zarr.json: ")
    assert words in str(caught.value)
