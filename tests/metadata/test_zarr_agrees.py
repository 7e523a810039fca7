"""What zarr-python writes, zaro describes as zarr-python does."""

import json
import warnings

import numpy as np
import pytest
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from packaging.version import Version
from zarr.core.dtype import VariableLengthBytes

from zaro.metadata import ArrayMetadata, GroupMetadata, KeyEncoding, consolidated_v2, read_node

numbers = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
    hnp.complex_number_dtypes(endianness="?", sizes=(64, 128)),
)
units = st.sampled_from(["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"])
times = st.builds(
    lambda order, kind, scale, unit: np.dtype(f"{order}{kind}8[{scale}{unit}]"),
    st.sampled_from("<>"),
    st.sampled_from("mM"),
    st.integers(1, 1000),
    units,
)
sized = st.builds(
    lambda kind, n: np.dtype(f"{kind}{n}"), st.sampled_from(["S", "<U", ">U", "V"]), st.integers(1, 9)
)
plain = st.one_of(numbers, times, sized)
names = st.lists(
    st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5), min_size=1, max_size=4, unique=True
)
structured = names.flatmap(
    lambda fields: st.tuples(*[plain for _ in fields]).map(
        lambda kinds: np.dtype(list(zip(fields, kinds, strict=True)))
    )
)


@st.composite
def arrays(draw, zarr_format):
    """Arguments of `zarr.create_array`, with a fill value from the bytes of the type."""
    dtype = draw(st.one_of(plain, structured))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=9))
    chunks = tuple(draw(st.integers(1, 12)) for _ in shape)
    fill = draw(scalars(dtype))
    arguments = {"shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill}
    separator = draw(st.sampled_from("./"))
    name = draw(st.sampled_from(["default", "v2"])) if zarr_format == 3 else "v2"
    arguments["chunk_key_encoding"] = {"name": name, "separator": separator}
    if zarr_format == 2:
        arguments["order"] = draw(st.sampled_from("CF"))
    else:
        arguments["dimension_names"] = draw(
            st.none() | st.tuples(*[st.none() | st.text(max_size=4) for _ in shape])
        )
    arguments["attributes"] = draw(
        st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4), max_size=3)
    )
    return arguments


def scalars(dtype):
    """Any scalar of a type, from any of its bytes where all mean something."""
    if dtype.kind == "b":
        return st.booleans().map(np.bool_)
    if dtype.kind == "U":
        return st.text(max_size=dtype.itemsize // 4).map(np.str_)
    raw = st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize)
    found = raw.map(lambda item: with_valid_fields(np.frombuffer(item, dtype).copy())[0])
    return found | hnp.from_dtype(dtype) if dtype.kind in "iufc" else found


def with_valid_fields(items):
    for name in items.dtype.names or ():
        if items.dtype[name].kind in "bU":
            items[name] = True
    return items


def write(zarr_format, **arguments):
    """Let zarr-python write an array; give its documents and how it reads them back."""
    store = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        zarr.create_array(store, name="a", zarr_format=zarr_format, **arguments)
        array = zarr.open_array(store, path="a", mode="r", zarr_format=zarr_format)
    return {key: value.to_bytes() for key, value in store.items()}, array


def bits(value, dtype):
    native = dtype.newbyteorder("=")
    return np.array(value, dtype=native).tobytes()


def assert_same(found, array):
    assert isinstance(found, ArrayMetadata)
    assert found.shape == array.shape
    assert found.chunks == (array.shards or array.chunks)
    assert found.dtype == array.dtype
    assert bits(found.fill_value, found.dtype) == bits(array.fill_value, found.dtype)
    assert found.attributes == dict(array.attrs)
    assert found.zarr_format == array.metadata.zarr_format
    if array.metadata.zarr_format == 3:
        assert found.dimension_names == array.metadata.dimension_names
    for index in [(0,) * array.ndim, tuple(range(array.ndim))]:
        assert found.key_encoding.key(index) == array.metadata.encode_chunk_key(index)


@pytest.mark.parametrize("parsed", [False, True], ids=["text", "objects"])
@pytest.mark.parametrize("zarr_format", [2, 3])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_array_is_what_zarr_python_says(zarr_format, parsed, data):
    documents, array = write(zarr_format, **data.draw(arrays(zarr_format)))
    if parsed:
        documents = {key: json.loads(text) for key, text in documents.items()}
    assert_same(read_node(documents.get, "a"), array)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("dtype", "fill"), [(str, "né"), (str, ""), (VariableLengthBytes(), b"\0x")])
def test_objects_of_variable_length_are_what_zarr_python_says(zarr_format, dtype, fill):
    documents, array = write(zarr_format, shape=(3, 4), chunks=(2, 2), dtype=dtype, fill_value=fill)
    found = read_node(documents.get, "a")
    assert found.dtype == array.dtype
    assert found.fill_value == array.fill_value == fill
    assert type(found.fill_value) is type(fill)


def has_answer(dtype):
    """Whether zarr-python gives fields their own zero: before 3.4 text had "0", and raw bytes nothing."""
    fields = {dtype[name].kind for name in dtype.names or ()}
    return Version(zarr.__version__) >= Version("3.4") or not fields & set("SUV")


@settings(max_examples=60, deadline=None)
@given(dtype=st.one_of(plain, structured.filter(has_answer)))
def test_an_absent_chunk_without_a_fill_value_is_what_zarr_python_says(dtype):
    documents, array = write(2, shape=(2,), chunks=(2,), dtype=dtype, fill_value=None)
    found = read_node(documents.get, "a")
    assert found.fill_value is None
    assert bits(found.blank, found.dtype) == bits(array[0], found.dtype)


@pytest.mark.parametrize("kind", ["S3", "<U2", ">U2", "V4"])
def test_text_and_bytes_in_an_absent_chunk_of_records_without_a_fill_value_are_empty(kind):
    # as for zarr-python 3.4; 3.1 makes the text of the number 0, and knows nothing of raw bytes
    dtype = np.dtype([("name", kind), ("value", "<i4")])
    documents, _ = write(2, shape=(2,), chunks=(2,), dtype=np.dtype("<i4"), fill_value=None)
    document = {**json.loads(documents["a/.zarray"]), "dtype": dtype.descr}
    found = read_node({"a/.zarray": json.dumps(document)}.get, "a")
    assert bits(found.blank, found.dtype) == bytes(dtype.itemsize)


@pytest.mark.parametrize(("dtype", "blank"), [(str, ""), (VariableLengthBytes(), b"")])
def test_an_absent_chunk_of_objects_without_a_fill_value_is_empty(dtype, blank):
    documents, array = write(2, shape=(2,), chunks=(2,), dtype=dtype, fill_value=None)
    assert read_node(documents.get, "a").blank == array[0] == blank


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize(("shape", "chunks"), [((0, 3), "auto"), ((0,), (5,)), ((), ())])
def test_lengths_of_zero_are_taken_as_zarr_python_writes_them(zarr_format, shape, chunks):
    documents, array = write(zarr_format, shape=shape, chunks=chunks, dtype="i4")
    found = read_node(documents.get, "a")
    assert_same(found, array)
    assert found.nchunks == (0 if 0 in shape else 1)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_chunks_of_length_zero_are_taken_as_older_versions_wrote_them(zarr_format):
    documents, _ = write(zarr_format, shape=(0, 3), chunks=(5, 3), dtype="i4")
    key = {2: "a/.zarray", 3: "a/zarr.json"}[zarr_format]
    document = json.loads(documents[key])
    if zarr_format == 2:
        document["chunks"] = [0, 3]
    else:
        document["chunk_grid"]["configuration"]["chunk_shape"] = [0, 3]
    documents[key] = json.dumps(document).encode()
    found = read_node(documents.get, "a")
    assert (found.chunks, found.nchunks) == ((0, 3), 0)


def test_codecs_of_format_2_stand_in_the_order_of_encoding():
    from numcodecs import Blosc, Delta, FixedScaleOffset

    filters = [FixedScaleOffset(offset=1, scale=2, dtype=">f8", astype=">i4"), Delta(dtype=">i4")]
    documents, _ = write(
        2, shape=(4, 4), dtype=">f8", order="F", filters=filters, compressors=Blosc(cname="lz4", clevel=3)
    )
    found = read_node(documents.get, "a")
    assert [(codec.name, dict(codec.configuration)) for codec in found.codecs] == [
        ("transpose", {"order": [1, 0]}),
        ("bytes", {"endian": "big"}),
        ("numcodecs.fixedscaleoffset", {"offset": 1, "scale": 2, "dtype": ">f8", "astype": ">i4"}),
        ("numcodecs.delta", {"dtype": ">i4", "astype": ">i4"}),
        ("numcodecs.blosc", {"cname": "lz4", "clevel": 3, "shuffle": 1, "blocksize": 0}),
    ]


def test_codecs_of_format_3_stand_as_written():
    documents, _ = write(3, shape=(8, 8), chunks=(2, 2), shards=(4, 4), dtype="f4")
    found = read_node(documents.get, "a")
    assert found.chunks == (4, 4)
    (codec,) = found.codecs
    assert codec.name == "sharding_indexed"
    assert codec.configuration["chunk_shape"] == [2, 2]


def test_a_group_of_either_format_has_its_attributes():
    for zarr_format in (2, 3):
        store = {}
        zarr.create_group(store, attributes={"title": "x"}, zarr_format=zarr_format)
        documents = {key: value.to_bytes() for key, value in store.items()}
        found = read_node(documents.get)
        assert found == GroupMetadata(attributes={"title": "x"}, zarr_format=zarr_format)


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_consolidated_metadata_serves_every_node(zarr_format):
    store = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        root = zarr.create_group(store, attributes={"title": "x"}, zarr_format=zarr_format)
        root.create_array("sst", shape=(4,), chunks=(2,), dtype="f4", attributes={"units": "K"})
        root.create_group("deep/er").create_array("b", shape=(), dtype="i2")
        zarr.consolidate_metadata(store, zarr_format=zarr_format)
    documents = {key: value.to_bytes() for key, value in store.items()}
    if zarr_format == 3:
        members = read_node(documents.get).consolidated
    else:
        members = consolidated_v2(documents[".zmetadata"])
    for path in ("sst", "deep", "deep/er", "deep/er/b"):
        alone = read_node(documents.get, path)
        together = read_node(members.get, path)
        assert type(alone) is type(together)
        assert alone.attributes == together.attributes
        if isinstance(alone, ArrayMetadata):
            assert (alone.shape, alone.dtype, alone.codecs) == (
                together.shape,
                together.dtype,
                together.codecs,
            )
    assert read_node(members.get, "absent") is None


def test_the_default_key_encodings_are_those_of_the_formats():
    assert read_node(write(2, shape=(2,), dtype="i4")[0].get, "a").key_encoding == KeyEncoding("v2", ".")
    assert read_node(write(3, shape=(2,), dtype="i4")[0].get, "a").key_encoding == KeyEncoding("default", "/")
