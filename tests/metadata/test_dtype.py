"""Type strings of v2 and data types of v3."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro.errors import MetadataError, UnsupportedError
from zaro.metadata.documents import Document
from zaro.metadata.dtype import TEXT, dtype_v2, dtype_v3


def v2(value):
    return dtype_v2(Document("a/.zarray", {}), "dtype", value)


def v3(value):
    return dtype_v3(Document("a/zarr.json", {}), "data_type", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("|b1", "?"),
        ("|i1", "i1"),
        ("<i1", "i1"),
        ("|u1", "u1"),
        (">u2", ">u2"),
        ("<f2", "<f2"),
        (">c16", ">c16"),
        ("<M8[25us]", "<M8[25us]"),
        (">m8[ns]", ">m8[ns]"),
        ("<M8", "<M8"),
        ("<m8[generic]", "<m8"),
        ("<M8[μs]", "<M8[us]"),
        ("|S7", "S7"),
        ("<U3", "<U3"),
        (">U3", ">U3"),
        ("|V5", "V5"),
        ("|O", object),
        ([["a", "<i4"], ["b", "|S2"]], [("a", "<i4"), ("b", "S2")]),
        ([["a", ">f4", [2, 3]], ["b", "<i2", 4]], [("a", ">f4", (2, 3)), ("b", "<i2", (4,))]),
        ([["p", [["x", "<f8"], ["y", ">f8"]]]], [("p", [("x", "<f8"), ("y", ">f8")])]),
    ],
)
def test_a_type_string_is_numpys(value, expected):
    assert v2(value) == np.dtype(expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bool", "?"),
        *((name, name) for name in ("int8", "uint16", "int32", "uint64", "float16", "float64", "complex64")),
        ("complex_float64", "complex128"),
        ({"name": "float32"}, "float32"),
        ({"name": "float32", "configuration": {}}, "float32"),
        ("r24", "V3"),
        ({"name": "raw_bytes", "configuration": {"length_bytes": 3}}, "V3"),
        ({"name": "null_terminated_bytes", "configuration": {"length_bytes": 3}}, "S3"),
        ({"name": "fixed_length_utf32", "configuration": {"length_bytes": 12}}, "U3"),
        ({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 5}}, "M8[5ns]"),
        ({"name": "numpy.timedelta64", "configuration": {"unit": "generic", "scale_factor": 1}}, "m8"),
        ("string", TEXT),
        ("bytes", object),
        ("variable_length_bytes", object),
        (
            {"name": "structured", "configuration": {"fields": [["a", "int32"], ["b", {"name": "int8"}]]}},
            [("a", "i4"), ("b", "i1")],
        ),
        (
            {
                "name": "struct",
                "configuration": {
                    "fields": [
                        {
                            "name": "t",
                            "data_type": {"name": "numpy.datetime64", "configuration": {"unit": "s"}},
                        },
                        {
                            "name": "p",
                            "data_type": {
                                "name": "struct",
                                "configuration": {"fields": [{"name": "x", "data_type": "float32"}]},
                            },
                        },
                    ]
                },
            },
            [("t", "M8[s]"), ("p", [("x", "f4")])],
        ),
    ],
)
def test_a_data_type_is_native(value, expected):
    found = v3(value)
    assert found == (expected if isinstance(expected, np.dtype) else np.dtype(expected))
    assert found.isnative


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4, "dtype is 4, expected a NumPy type string as <f4, or a list of fields"),
        (None, "dtype is null"),
        ("|i4", 'dtype is "|i4", expected a byte order, < or >, before a type of several bytes'),
        ("f4", 'dtype is "f4", expected a byte order'),
        ("<U1000000000", "expected elements of 1 to 2147483647 bytes"),
        ("|S0", "expected elements of 1 to 2147483647 bytes"),
        ("|V99999999999999999999", "dtype is"),
        ("<M8[0s]", "expected a time unit counted from 1 to 2147483647"),
        ([], "dtype is an empty list, expected at least one field"),
        ([["a"]], "dtype[0] is a list of 1, expected a list of a field's name, its type"),
        ([[1, "<i4"]], "dtype[0] is a list of 2, expected a list of a field's name"),
        ([["a", "<i4"], ["b", 5]], "dtype[1][1] is 5, expected a NumPy type string"),
        ([["a", "<i4"], ["a", "<i2"]], "expected fields that make a type: field 'a' occurs more than once"),
        ([["a", "<i4", [0]]], "dtype[0][2] is 0, expected integers from 1 to 2147483647"),
        ([["a", "<i4", [1 << 20, 1 << 20]]], "expected elements of 1 to 2147483647 bytes"),
        ([["a", "<i4", ["x"]]], 'dtype[0][2] is "x"'),
    ],
)
def test_a_broken_type_string_is_an_error_that_says_where(value, words):
    with pytest.raises(MetadataError) as caught:
        v2(value)
    assert str(caught.value).startswith("a/.zarray: dtype")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "value", ["<f16", "<c32", "float32x", "object", "<i4,<i4", "O", "<q8", "<i3", "<M8[x]", "", "λ"]
)
def test_a_type_string_that_zarr_does_not_store_is_unsupported(value):
    with pytest.raises(UnsupportedError, match="expected a NumPy type string that zarr stores"):
        v2(value)


def test_objects_inside_a_structure_are_unsupported():
    with pytest.raises(UnsupportedError, match="not objects"):
        v2([["a", "|O"]])
    with pytest.raises(UnsupportedError, match="not objects"):
        v3({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": "string"}]}})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (4, "data_type is 4, expected the name of a data type"),
        ({"configuration": {}}, "data_type is an object of 1 members, expected the name of a data type"),
        ("r12", 'data_type is "r12", expected a number of bits that is a multiple of 8'),
        ("r88888888888", "expected elements of 1 to 2147483647 bytes"),
        ("fixed_length_utf32", "data_type.configuration is null, expected an object that configures"),
        (
            {"name": "fixed_length_utf32", "configuration": {"length_bytes": 13}},
            "data_type.configuration.length_bytes is 13, expected a multiple of 4",
        ),
        (
            {"name": "raw_bytes", "configuration": {"length_bytes": True}},
            "data_type.configuration.length_bytes is true, expected an integer from 1",
        ),
        (
            {"name": "numpy.datetime64", "configuration": {"unit": "ks", "scale_factor": 1}},
            'data_type.configuration.unit is "ks", expected one of Y, M, W',
        ),
        (
            {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 2**31}},
            "data_type.configuration.scale_factor is 2147483648, expected an integer from 1",
        ),
        (
            {"name": "struct", "configuration": {"fields": 3}},
            "configuration.fields is 3, expected a list of fields",
        ),
        ({"name": "struct", "configuration": {"fields": []}}, "expected at least one field"),
        (
            {"name": "struct", "configuration": {"fields": [{"name": "", "data_type": "int8"}]}},
            'fields[0].name is "", expected the name of a field',
        ),
        ({"name": "struct", "configuration": {"fields": [{"name": "a"}]}}, "fields[0].data_type is null"),
    ],
)
def test_a_broken_data_type_is_an_error_that_says_where(value, words):
    with pytest.raises(MetadataError) as caught:
        v3(value)
    assert str(caught.value).startswith("a/zarr.json: data_type")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "value", ["bfloat16", "int4", "r0", "r", "r024", {"name": "float32", "configuration": {"x": 1}}]
)
def test_a_data_type_that_zaro_lacks_is_unsupported(value):
    with pytest.raises(UnsupportedError, match="data_type"):
        v3(value)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["<i4", "|O", "int8"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(json_values | st.text("<>|=iufcbmMSUVO[]0123456789ns", max_size=12))
def test_whatever_stands_there_is_a_type_or_an_error(value):
    for read in (v2, v3):
        try:
            assert isinstance(read(value), np.dtype)
        except MetadataError as err:
            json.dumps(str(err))
