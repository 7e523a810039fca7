"""S3 through s3fs, from a server that misbehaves."""

import numpy as np
import pytest
from http_server import serving
from material import references, s3_options, values, write

import zaro
from zaro.errors import ChunkError, StoreError

X = values()["x"]


@pytest.fixture(scope="session")
def bucket(tmp_path_factory):
    made = tmp_path_factory.mktemp("s3") / "bucket"
    made.mkdir()
    write(made)
    return made


@pytest.fixture
def server(bucket):
    with serving(bucket.parent) as found:
        yield found


@pytest.fixture
def arrays(server, bucket):
    """The array `x` behind references and as keys, opened with some options."""

    def opened(**options):
        reach = s3_options(server.url)
        refs = references(bucket / "data.h5", "s3://bucket/data.h5")
        return [
            zaro.open(refs, "x", remote_options=reach, **options),
            zaro.open("s3://bucket/v3", "x", storage_options=reach, **options),
        ]

    return opened


def first(times, fault):
    seen = []

    def decide(path, n):
        if len(seen) >= times:
            return None
        seen.append(path)
        return fault

    return decide


@pytest.mark.parametrize("fault", [("status", 503), ("status", 500), ("reset", 20), ("silence", 0.1)])
def test_a_failure_that_passes_is_tried_again(server, arrays, fault):
    for array in arrays():
        server.fault = first(2, fault)
        np.testing.assert_array_equal(array[...], X)


def test_a_server_that_stays_too_busy_is_an_error_with_its_attempts(server, arrays):
    for array in arrays(timeout=1.5):
        server.fault = lambda path, n: ("status", 503)
        with pytest.raises(ChunkError, match=r"s3://bucket/.*attempts|within"):
            array[...]


def test_what_is_forbidden_is_an_error_and_no_fill_value(server, arrays):
    for array in arrays():
        server.fault = lambda path, n: ("status", 403)
        begun = len(server.requests)
        with pytest.raises(ChunkError, match=r"s3://bucket/"):
            array[:3, :3]
        assert len(server.requests) == begun + 1


def test_only_an_absent_key_is_the_fill_value(server, arrays):
    by_reference, by_key = arrays()
    server.fault = lambda path, n: ("status", 404)
    np.testing.assert_array_equal(by_key[...], np.zeros_like(X))
    with pytest.raises(ChunkError, match="does not exist"):
        by_reference[...]


def test_a_server_that_ignores_ranges_is_understood(server, arrays):
    by_reference = arrays()[0]
    server.fault = lambda path, n: "ignored"
    np.testing.assert_array_equal(by_reference[...], X)


@pytest.mark.parametrize("fault", [("long", 3), ("short", 3)])
def test_a_body_of_another_length_is_an_error(server, arrays, fault):
    by_reference = arrays(timeout=5)[0]
    server.fault = lambda path, n: fault
    with pytest.raises(ChunkError, match=r"were asked for"):
        by_reference[...]


@pytest.mark.parametrize("by", [-1, 4])
def test_a_shifted_range_is_an_error(server, arrays, by):
    by_reference = arrays()[0]
    server.fault = lambda path, n: ("shifted", by)
    with pytest.raises(ChunkError, match="were asked for"):
        by_reference[...]


def test_each_key_is_one_request(server, arrays):
    by_key = arrays()[1]
    begun = len(server.requests)
    by_key[...]
    assert len(server.requests) - begun == by_key.metadata.nchunks


def test_a_bucket_that_is_forbidden_is_an_error(server):
    server.fault = lambda path, n: ("status", 403)
    with pytest.raises(PermissionError, match="s3://bucket/v3"):
        zaro.open("s3://bucket/v3", storage_options=s3_options(server.url))
    with pytest.raises(StoreError):
        zaro.open("s3://bucket/v3", storage_options=s3_options(server.url))
