"""Fill values, bit for bit."""

import base64
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zaro.errors import MetadataError
from zaro.metadata.documents import Document
from zaro.metadata.fill import fill_value


def read(value, dtype, **how):
    return fill_value(Document("a/zarr.json", {}), value, np.dtype(dtype), **how)


def base64_of(raw):
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, "?", np.True_),
        (0, "?", np.False_),
        (-128, "i1", np.int8(-128)),
        (255.0, "u1", np.uint8(255)),
        (True, "i2", np.int16(1)),
        ("nan", "f4", np.float32("nan")),
        ("7", ">i4", np.int32(7)),
        (2**64 - 1, "u8", np.uint64(2**64 - 1)),
        (1, "f4", np.float32(1)),
        (0.1, ">f4", np.float32(0.1)),
        ("-Infinity", "f2", np.float16("-inf")),
        ("1.5e3", "f8", np.float64(1500)),
        (1e300, "f4", np.float32("inf")),
        (-0.0, "f8", np.float64(-0.0)),
        (9.969209968386869e36, "f4", np.float32(9.969209968386869e36)),
        ([1, "Infinity"], "c8", np.complex64(complex(1, float("inf")))),
        (3, "c16", np.complex128(3)),
        (5, "M8[ns]", np.datetime64(5, "ns")),
        ("NaT", "<m8[3s]", np.timedelta64("NaT", "3s")),
        (-(2**63), "M8[s]", np.datetime64("NaT", "s")),
        (4, "M8", np.int64(4).view("M8")),
        ("né", "U3", np.str_("né")),
        (0, "U3", np.str_("")),
        ("YWI=", "S3", np.bytes_(b"ab")),
        (0, "S3", np.bytes_(b"")),
        ("YWJj", "V3", np.void(b"abc")),
        ([97, 98, 99], "V3", np.void(b"abc")),
    ],
)
def test_a_value_becomes_its_scalar(value, dtype, expected):
    found = read(value, dtype)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


@given(st.sampled_from(["f2", "f4", "f8"]), st.binary(min_size=8, max_size=8))
def test_a_hexadecimal_float_keeps_every_bit(dtype, raw):
    raw = raw[: np.dtype(dtype).itemsize]
    found = read(f"0x{raw.hex()}", dtype)
    assert found.dtype == np.dtype(dtype)
    assert int.from_bytes(found.tobytes(), sys.byteorder) == int.from_bytes(raw, "big")


def test_not_a_number_is_the_one_of_the_specification():
    assert read("NaN", "f4").tobytes() == read("0x7fc00000", "f4").tobytes()
    assert read("NaN", "f2").tobytes() == read("0x7e00", "f2").tobytes()
    assert read("NaN", "f8").tobytes() == read("0x7ff8000000000000", "f8").tobytes()
    assert read(float("nan"), "f4").tobytes() == read("NaN", "f4").tobytes()


def test_a_signalling_nan_inside_a_complex_stays_as_it_is():
    found = read(["0x7f800001", "0xffc12345"], "c8")
    assert np.frombuffer(found.tobytes(), "u4").tolist() == [0x7F800001, 0xFFC12345]


@pytest.mark.parametrize("order", ["<", ">"])
def test_a_packed_structure_is_read_in_the_order_of_its_bytes(order):
    native = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S2")])
    item = np.array([(1, 2.5, b"x")], native)
    raw = item.astype(native.newbyteorder(order)).tobytes()
    found = read(base64_of(raw), native, order=order)
    assert found.dtype == native
    assert found == item[0]


def test_a_packed_structure_of_format_2_keeps_its_own_order():
    mixed = np.dtype([("a", ">i4"), ("b", "<f8")])
    item = np.array([(1, 2.5)], mixed)
    assert read(base64_of(item.tobytes()), mixed) == item[0]
    assert read(0, mixed) == np.zeros(1, mixed)[0]


def test_a_structure_may_be_given_field_by_field():
    dtype = np.dtype([("p", [("x", "f4"), ("t", "M8[s]")]), ("v", "u1")])
    found = read({"p": {"x": "0x7f800001", "t": "NaT"}, "v": 7}, dtype)
    assert np.array(found["p"]["x"]).view("u4") == 0x7F800001
    assert np.isnat(found["p"]["t"])
    assert found["v"] == 7


@pytest.mark.parametrize(
    ("value", "objects", "expected"),
    [
        ("x", "text", "x"),
        (0, "text", "0"),
        ("eHg=", "bytes", b"xx"),
        ([1, 2], "bytes", b"\1\2"),
        ([None], "any", [None]),
    ],
)
def test_objects_are_text_bytes_or_whatever_stands_there(value, objects, expected):
    assert read(value, object, objects=objects) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        ("yes", "?", 'is "yes", expected true or false'),
        (2, "?", "is 2, expected true or false"),
        (128, "i1", "is 128, expected an integer from -128 to 127 for int8"),
        (-1, "u8", "is -1, expected an integer from 0 to 18446744073709551615 for uint64"),
        (1.5, "i4", "is 1.5, expected an integer"),
        ("NaN", "i4", 'is "NaN", expected an integer'),
        (float("inf"), "i4", "is Infinity, expected an integer"),
        (10**40, "i4", "is an integer of 133 bits, expected an integer"),
        ("nope", "f4", 'is "nope", expected a number, "NaN", "Infinity" or "-Infinity" for float32'),
        ("1_0", "f4", 'is "1_0", expected a number'),
        (10**400, "f8", "expected a number that float64 can hold"),
        ([], "f4", "is an empty list, expected a number"),
        ("0x7fc0000", "f4", "expected 0x and 8 hexadecimal digits for float32"),
        ("0x7fc0000g", "f4", "expected 0x and 8 hexadecimal digits for float32"),
        ("0x7ff8000000000000", "f4", "expected 0x and 8 hexadecimal digits for float32"),
        ([1], "c8", "is a list of 1, expected a pair of real and imaginary part for complex64"),
        ("NaN", "c8", "expected a pair of real and imaginary part"),
        (2**63, "M8[s]", 'expected a 64-bit integer or "NaT" for datetime64[s]'),
        ("2020-01-01", "M8[s]", 'is "2020-01-01", expected a 64-bit integer or "NaT"'),
        ("abcd", "U3", "expected text of at most 3 characters"),
        (5, "U3", "is 5, expected text"),
        ("YWJjZA==", "S3", "expected at most 3 bytes in base64, got 4"),
        ("%%%", "S3", "expected bytes in base64, or a list of integers from 0 to 255"),
        ([256], "S3", "expected bytes in base64, or a list of integers from 0 to 255"),
        ("YWI=", "V3", "expected 3 bytes, got 2"),
        ("YWI=", [("a", "i4")], "expected 4 bytes, got 2"),
        ([1, 2], [("a", "i4")], "expected 4 bytes, got 2"),
        (7, [("a", "i4")], "is 7, expected bytes in base64"),
    ],
)
def test_a_value_that_does_not_fit_is_an_error_that_says_why(value, dtype, words):
    with pytest.raises(MetadataError) as caught:
        read(value, dtype)
    assert str(caught.value).startswith("a/zarr.json: fill_value")
    assert words in str(caught.value)


def test_an_error_inside_a_structure_names_the_field():
    dtype = np.dtype([("p", [("x", "f4")]), ("v", "u1")])
    with pytest.raises(MetadataError, match=r"fill_value.v is missing, expected a value for every field"):
        read({"p": {"x": 1}}, dtype)
    with pytest.raises(MetadataError, match=r'fill_value.p.x is "no", expected a number'):
        read({"p": {"x": "no"}, "v": 0}, dtype)
    with pytest.raises(MetadataError, match=r"fill_value\[1\] is null, expected a number"):
        read([1, None], "c8")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=6)
    | st.text("0123456789abcdefx+/=", max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
dtypes = st.sampled_from(
    [
        "?",
        "i1",
        ">u8",
        "f2",
        ">f4",
        "f8",
        "c8",
        ">c16",
        "M8[ns]",
        "m8",
        "S3",
        ">U2",
        "V4",
        [("a", "i4"), ("b", "S2")],
    ]
)


@given(json_values, dtypes, st.sampled_from("<>="))
def test_whatever_stands_there_is_a_scalar_of_the_type_or_an_error(value, dtype, order):
    try:
        found = read(value, dtype, order=order)
    except MetadataError:
        return
    assert np.array([found], np.dtype(dtype).newbyteorder("=")).shape == (1,)
