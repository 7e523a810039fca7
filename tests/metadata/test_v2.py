"""Documents of format 2, as kerchunk and others write them."""

import json

import h5py
import numpy as np
import pytest
from kerchunk.hdf import SingleHdf5ToZarr

from zaro.errors import MetadataError
from zaro.metadata import Codec, KeyEncoding, read_node
from zaro.metadata.dtype import TEXT

SST = {
    "zarr_format": 2,
    "shape": [4, 6],
    "chunks": [2, 3],
    "dtype": "<i2",
    "fill_value": -32767,
    "order": "C",
    "filters": [{"id": "shuffle", "elementsize": 2}],
    "compressor": {"id": "zlib", "level": 4},
}


def read(attributes=None, **members):
    documents = {"sst/.zarray": json.dumps({**SST, **members})}
    if attributes is not None:
        documents["sst/.zattrs"] = json.dumps(attributes)
    return read_node(documents.get, "sst")


def without(member):
    documents = {"sst/.zarray": {key: value for key, value in SST.items() if key != member}}
    return read_node(documents.get, "sst")


def test_a_typical_array():
    found = read({"_ARRAY_DIMENSIONS": ["lat", "lon"], "units": "K"})
    assert found.shape == (4, 6)
    assert found.grid == (2, 2)
    assert found.dtype == np.dtype("<i2")
    assert found.fill_value == np.int16(-32767)
    assert found.dimension_names == ("lat", "lon")
    assert found.attributes == {"_ARRAY_DIMENSIONS": ["lat", "lon"], "units": "K"}
    assert found.key_encoding == KeyEncoding("v2", ".")
    assert found.codecs == (
        Codec("bytes", {"endian": "little"}),
        Codec("numcodecs.shuffle", {"elementsize": 2}),
        Codec("numcodecs.zlib", {"level": 4}),
    )


def test_members_that_may_be_left_out():
    for member in ("fill_value", "order", "filters", "compressor"):
        assert without(member).shape == (4, 6)
    assert without("fill_value").fill_value is None
    assert read(dimension_separator=None).key_encoding == KeyEncoding("v2", ".")
    assert read(dimension_separator="/").key_encoding == KeyEncoding("v2", "/")
    assert read(filters=[], compressor=None).codecs == (Codec("bytes", {"endian": "little"}),)
    assert read(somebody_elses=1).shape == (4, 6)


def test_nothing_is_transposed_where_order_means_nothing():
    assert read(order="F").codecs[0] == Codec("transpose", {"order": [1, 0]})
    assert read(order="F", shape=[4], chunks=[2]).codecs[0].name == "bytes"
    assert read(order="F", shape=[], chunks=[]).codecs[0].name == "bytes"


def test_types_without_byte_order_have_none_in_their_codec():
    assert read(dtype="|u1", fill_value=0).codecs[0] == Codec("bytes")
    assert read(dtype="|S2", fill_value="").codecs[0] == Codec("bytes")
    assert read(dtype=[["a", ">i4"], ["b", "<i4"]], fill_value=None).codecs[0] == Codec("bytes")
    assert read(dtype=">U2", fill_value="").codecs[0] == Codec("bytes", {"endian": "big"})


def test_objects_are_told_apart_by_their_filter():
    text = read(dtype="|O", fill_value="", filters=[{"id": "vlen-utf8"}], order="F")
    assert text.dtype == TEXT
    assert [codec.name for codec in text.codecs] == ["transpose", "numcodecs.vlen-utf8", "numcodecs.zlib"]
    other = read(dtype="|O", fill_value=None, filters=[{"id": "json2", "encoding": "utf-8"}])
    assert other.dtype == np.dtype(object)
    assert other.blank is None
    with pytest.raises(
        MetadataError, match=r"sst/\.zarray: filters is null, expected a filter that turns objects into bytes"
    ):
        read(dtype="|O", fill_value=None, filters=None, compressor=None)


@pytest.mark.parametrize("names", [["lat"], ["lat", 5], "lat", {"lat": 1}, None])
def test_an_attribute_that_is_not_dimension_names_is_left_to_the_user(names):
    found = read({"_ARRAY_DIMENSIONS": names})
    assert found.dimension_names is None
    assert found.attributes == {"_ARRAY_DIMENSIONS": names}


def test_dimension_names_of_nczarr():
    assert read(_NCZARR_ARRAY={"dimrefs": ["/lat", "/deep/lon"]}).dimension_names == ("lat", "lon")
    assert read(
        {"_ARRAY_DIMENSIONS": ["a", "b"]}, _NCZARR_ARRAY={"dimrefs": ["/c", "/d"]}
    ).dimension_names == ("a", "b")
    assert read(_NCZARR_ARRAY={"dimrefs": 5}).dimension_names is None


@pytest.fixture(scope="module")
def kerchunked(tmp_path_factory):
    path = tmp_path_factory.mktemp("kerchunk") / "a.nc"
    with h5py.File(path, "w") as file:
        file.attrs["title"] = "demo"
        file.create_dataset(
            "packed",
            data=np.arange(24, dtype="i2").reshape(4, 6),
            chunks=(2, 3),
            shuffle=True,
            compression=4,
            fillvalue=-1,
        )
        file.create_dataset("nan", data=np.zeros((3, 3), ">f8"), fillvalue=np.nan)
        file.create_dataset("scalar", data=np.int64(5))
        file.create_dataset("flags", data=np.array([True, False]))
        file.create_dataset("text", data=np.array([b"ab", b"c"]))
        file.create_dataset("objects", data=["x", "yy"], dtype=h5py.string_dtype())
        group = file.create_group("deep")
        group.create_dataset("z", data=np.ones(2, "f4"))
    return SingleHdf5ToZarr(str(path), vlen_encode="embed").translate()["refs"]


@pytest.mark.parametrize("parsed", [False, True], ids=["text", "objects"])
def test_what_kerchunk_writes(kerchunked, parsed):
    refs = {
        key: json.loads(value) if parsed else value
        for key, value in kerchunked.items()
        if key.rpartition("/")[2] in (".zarray", ".zattrs", ".zgroup")
    }
    nodes = {path: read_node(refs.get, path) for path in sorted({key.rpartition("/")[0] for key in refs})}
    assert nodes[""].attributes["title"] == "demo"
    assert nodes["packed"].dtype == np.dtype("<i2")
    assert nodes["packed"].fill_value == -1
    assert [codec.name for codec in nodes["packed"].codecs] == [
        "bytes",
        "numcodecs.shuffle",
        "numcodecs.zlib",
    ]
    assert nodes["nan"].dtype == np.dtype(">f8")
    assert np.isnan(nodes["nan"].fill_value)
    assert nodes["scalar"].shape == ()
    assert nodes["scalar"].dimension_names == ()
    assert nodes["flags"].dtype.kind in "bi"
    assert nodes["objects"].dtype in (TEXT, np.dtype(object))
    assert nodes["deep/z"].shape == (2,)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"zarr_format": 3}, "zarr_format is 3, expected 2"),
        ({"zarr_format": "2"}, 'zarr_format is "2", expected 2'),
        ({"shape": 4}, "shape is 4, expected a list of integers"),
        ({"shape": [4, -6]}, "shape[1] is -6, expected an integer from 0 to 2^63-1"),
        ({"shape": [4, 6.0]}, "shape[1] is 6.0, expected an integer from 0 to 2^63-1"),
        ({"shape": [True, 6]}, "shape[0] is true, expected an integer from 0 to 2^63-1"),
        ({"shape": [4, 2**63]}, "shape[1] is 9223372036854775808, expected an integer from 0 to 2^63-1"),
        (
            {"shape": [2**32, 2**31]},
            "expected at most 2^63-1 bytes, got 4294967296 x 2147483648 elements of 2 bytes",
        ),
        ({"shape": [1] * 33}, "shape is a list of 33, expected at most 32 dimensions"),
        ({"chunks": [2]}, "chunks is a list of 1, expected 2 extents, one for each dimension of shape"),
        ({"chunks": [2, 0]}, "chunks[1] is 0, expected an integer from 1 to 2^63-1"),
        ({"chunks": [2**40, 2**40]}, "chunks is a list of 2, expected at most 2^63-1 bytes"),
        ({"chunks": None}, "chunks is null, expected a list of integers"),
        ({"dtype": "<q4"}, 'dtype is "<q4", expected a NumPy type string'),
        ({"order": "A"}, 'order is "A", expected "C" or "F"'),
        ({"filters": {"id": "x"}}, "filters is an object of 1 members, expected a list of codecs, or null"),
        (
            {"filters": [{"id": "shuffle"}, "delta"]},
            'filters[1] is "delta", expected an object with the id of a codec',
        ),
        ({"compressor": {"level": 1}}, "compressor.id is null, expected the id of a codec"),
        ({"compressor": "zlib"}, 'compressor is "zlib", expected an object with the id of a codec'),
        ({"dimension_separator": "-"}, 'dimension_separator is "-", expected "." or "/"'),
        ({"dimension_separator": []}, 'dimension_separator is an empty list, expected "." or "/"'),
        ({"fill_value": "x"}, 'fill_value is "x", expected an integer from -32768 to 32767 for int16'),
    ],
)
def test_a_broken_document_is_an_error_that_names_it_and_the_member(members, words):
    with pytest.raises(MetadataError) as caught:
        read(**members)
    assert str(caught.value).startswith("sst/.zarray: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("member", ["zarr_format", "shape", "chunks", "dtype"])
def test_a_member_that_must_be_there(member):
    with pytest.raises(MetadataError, match=f"sst/.zarray: {member} is missing, expected"):
        without(member)


def test_attributes_that_are_no_object():
    with pytest.raises(MetadataError, match=r"sst/\.zattrs: the document is a list of 1, expected an object"):
        read([1])
