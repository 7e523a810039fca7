"""A server that misbehaves gives right values or an error that names it, never wrong ones."""

import json
import random
import threading
import time

import numpy as np
import pytest
from http_server import serving
from material import references, values, write

import zaro
from zaro.errors import ChunkError, StoreError

X = values()["x"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("material")
    write(made)
    return made


@pytest.fixture
def server(folder):
    with serving(folder) as found:
        yield found


@pytest.fixture
def by_reference(server, folder):
    """The array `x` behind references, opened with some options."""

    def opened(**options):
        return zaro.open(references(folder / "data.h5", f"{server.url}/data.h5"), "x", **options)

    return opened


@pytest.fixture
def by_key(server):
    """The array `x` of a plain store, opened with some options."""
    return lambda **options: zaro.open(f"{server.url}/v3", "x", **options)


def only_data(fault):
    """The fault, for chunks only."""
    return lambda path, n: fault if path.endswith(".h5") or "/c/" in path else None


def first(times, fault):
    """The fault, for the first few requests of chunks."""
    seen = []

    def decide(path, n):
        if not (path.endswith(".h5") or "/c/" in path) or len(seen) >= times:
            return None
        seen.append(path)
        return fault

    return decide


PASSING = [
    ("status", 503),
    ("status", 429),
    ("status", 500),
    ("status", 502),
    ("status", 504),
    ("reset", 100),
]


@pytest.mark.parametrize("fault", [*PASSING, ("reset", 0), ("short", 1), ("long", 3), ("silence", 0.2)])
def test_a_failure_that_passes_is_tried_again(server, by_reference, fault):
    array = by_reference(timeout=20)
    server.fault = first(2, fault)
    np.testing.assert_array_equal(array[...], X)


@pytest.mark.parametrize("fault", PASSING)
def test_a_key_is_tried_again_as_well(server, by_key, fault):
    array = by_key(timeout=20)
    server.fault = first(3, fault)
    np.testing.assert_array_equal(array[...], X)


def test_a_failure_that_stays_is_an_error_with_its_attempts(server, by_reference):
    array = by_reference(timeout=1.0)
    server.fault = only_data(("status", 503))
    with pytest.raises(
        ChunkError, match=r"chunk 'x/0\.0': bytes \d+\+\d+ of http.*data\.h5: HTTP 503.*attempts"
    ):
        array[...]


@pytest.mark.parametrize("status", [400, 401, 403, 405, 501])
def test_a_refusal_is_an_error_at_once(server, by_reference, by_key, status):
    for array in (by_reference(), by_key()):
        server.fault = only_data(("status", status))
        begun = len(server.requests)
        with pytest.raises(ChunkError, match=str(status)):
            array[:3, :3]
        assert len(server.requests) == begun + 1
        server.fault = None


def test_a_target_that_is_not_there_is_no_fill_value(server, by_reference):
    array = by_reference()
    server.fault = only_data(("status", 404))
    with pytest.raises(ChunkError, match="does not exist"):
        array[...]


def test_a_key_that_is_not_there_is_the_fill_value(server, by_key):
    array = by_key()
    server.fault = only_data(("status", 404))
    np.testing.assert_array_equal(array[...], np.zeros_like(X))


def test_a_server_that_ignores_ranges_is_understood(server, by_reference):
    array = by_reference()
    server.fault = only_data("ignored")
    np.testing.assert_array_equal(array[...], X)
    np.testing.assert_array_equal(array[20, 60:], X[20, 60:])


def test_an_answer_without_a_length_is_read_to_its_end(server, by_reference, by_key):
    for array in (by_reference(), by_key()):
        server.fault = only_data(("chunked", 100))
        np.testing.assert_array_equal(array[...], X)
        server.fault = None


@pytest.mark.parametrize("by", [-1, 1, 4])
def test_a_shifted_range_is_an_error(server, by_reference, by):
    array = by_reference()
    server.fault = only_data(("shifted", by))
    with pytest.raises(ChunkError, match="were asked for"):
        array[...]


@pytest.mark.parametrize("fault", [("short", 1), ("short", 500), ("long", 1)])
def test_a_body_of_another_length_is_an_error(server, by_reference, fault):
    array = by_reference(timeout=2.0)
    server.fault = only_data(fault)
    with pytest.raises(ChunkError, match=r"data\.h5"):
        array[...]


def test_a_connection_that_always_breaks_is_an_error(server, by_reference):
    array = by_reference(timeout=2.0)
    server.fault = only_data(("reset", 10))
    with pytest.raises(ChunkError, match=r"attempts|within"):
        array[...]


@pytest.mark.parametrize(("fault", "again_from"), [(("reset", 300), 300), (("replaced", 300), 0)])
def test_a_body_that_broke_off_is_continued_if_the_file_is_the_same(server, by_reference, fault, again_from):
    array = by_reference()
    server.fault = first(1, fault)
    begun = len(server.requests)
    np.testing.assert_array_equal(array[...], X)
    asked = [int(span.removeprefix("bytes=").split("-")[0]) for _, span in server.requests[begun:]]
    assert asked[1] == asked[0] + 300
    assert asked[-1] == asked[0] + again_from


@pytest.mark.parametrize("fault", [("silence", 60), ("drip", 0.2)])
def test_a_server_that_is_too_slow_is_an_error_in_time(server, by_reference, by_key, fault):
    for array in (by_reference(timeout=1.0), by_key(timeout=1.0)):
        server.fault = only_data(fault)
        begun = time.monotonic()
        with pytest.raises(ChunkError, match=r"within 1 s|attempts|Timeout"):
            array[...]
        assert time.monotonic() - begun < 10
        server.fault = None


def test_a_login_page_in_place_of_a_chunk_is_an_error(server, by_reference, by_key):
    for array in (by_reference(), by_key()):
        server.fault = only_data("login")
        with pytest.raises(ChunkError, match="HTML page"):
            array[...]
        server.fault = None


def test_a_login_page_in_place_of_metadata_is_an_error(server):
    server.fault = lambda path, n: "login"
    with pytest.raises(StoreError, match=r"HTML page.*login"):
        zaro.open(f"{server.url}/v3")
    with pytest.raises(StoreError, match=r"HTML page.*login"):
        zaro.open(f"{server.url}/v3", "x")


def test_forbidden_documents_beside_others_count_as_absent(server, folder):
    server.fault = lambda path, n: None if (folder / path).exists() else ("status", 403)
    np.testing.assert_array_equal(zaro.open(f"{server.url}/v2", "x")[...], X)
    np.testing.assert_array_equal(zaro.open(f"{server.url}/v3", "x")[...], X)


def test_a_store_that_is_forbidden_is_an_error(server):
    server.fault = lambda path, n: ("status", 403)
    with pytest.raises(PermissionError, match="403"):
        zaro.open(f"{server.url}/v3", "x")


def test_metadata_that_cannot_be_read_now_is_an_error(server):
    server.fault = lambda path, n: ("status", 503) if path.endswith(".zattrs") else None
    with pytest.raises(StoreError, match=r"\.zattrs.*503"):
        zaro.open(f"{server.url}/v2", "x", timeout=0.5)


def test_nobody_listening_is_an_error_soon(folder):
    with serving(folder) as server:
        url = server.url
        refs = references(folder / "data.h5", f"{url}/data.h5")
    begun = time.monotonic()
    with pytest.raises(StoreError, match=r"127.0.0.1"):
        zaro.open(f"{url}/v3")
    with pytest.raises(ChunkError, match=r"127.0.0.1"):
        zaro.read(refs, "x")
    assert time.monotonic() - begun < 10


def test_redirects_are_followed(server, by_reference):
    array = by_reference()
    server.fault = first(1, ("redirect", f"{server.url}/data.h5"))
    np.testing.assert_array_equal(array[...], X)


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,hello"])
def test_a_redirect_to_what_is_no_web_address_is_an_error(server, by_reference, to):
    array = by_reference()
    server.fault = only_data(("redirect", to))
    with pytest.raises(ChunkError, match=r"data\.h5"):
        array[...]


def test_endless_redirects_are_an_error(server, by_reference):
    array = by_reference()
    server.fault = only_data(("redirect", "/data.h5"))
    with pytest.raises(ChunkError, match=r"TooManyRedirects"):
        array[...]


def test_a_redirect_does_not_leave_what_is_allowed(server, folder, tmp_path):
    (tmp_path / "secret.h5").write_bytes((folder / "data.h5").read_bytes())
    with serving(tmp_path) as other:
        refs = references(folder / "data.h5", f"{server.url}/data.h5")
        array = zaro.open(refs, "x", allow_targets=[f"{server.url}/"])
        server.fault = only_data(("redirect", f"{other.url}/secret.h5"))
        with pytest.raises(ChunkError, match="allow_targets"):
            array[...]
        assert other.requests == []
        free = zaro.open(refs, "x")
        np.testing.assert_array_equal(free[...], X)


def test_many_reads_with_faults_at_random_are_right_or_say_why(server, by_reference, by_key):
    chance = random.Random(0)
    faults = ["ignored", ("shifted", 1), ("short", 7), ("long", 7), ("reset", 5), "login"]
    faults += [("status", status) for status in (403, 404, 416, 429, 500, 503)]

    def decide(path, n):
        data = path.endswith(".h5") or "/c/" in path
        if not data or chance.random() > 0.1:
            return None
        fault = chance.choice(faults)
        return None if fault == ("status", 404) and "/c/" in path else fault

    arrays = [by_reference(timeout=5), by_key(timeout=5)]
    server.fault = decide
    wrong = []
    right = 0

    def read(seed):
        nonlocal right
        where = random.Random(seed)
        for k in range(15):
            i, j = where.randrange(45), where.randrange(60)
            try:
                found = arrays[k % 2][i : i + 5, j : j + 10]
            except ChunkError as err:
                assert "127.0.0.1" in str(err)  # noqa: PT017 - most reads raise nothing
            else:
                right += 1
                if not np.array_equal(found, X[i : i + 5, j : j + 10]):
                    wrong.append((i, j))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert right > 60


def test_documents_are_fetched_with_the_same_care(server, folder):
    refs = json.dumps(references(folder / "data.h5", f"{server.url}/data.h5"))
    (folder / "refs.json").write_text(refs)
    np.testing.assert_array_equal(zaro.open(f"{server.url}/refs.json", "x")[...], X)
    begun = len(server.requests)
    server.fault = lambda path, n: ("status", 503) if n < begun + 3 else None
    np.testing.assert_array_equal(zaro.open(f"{server.url}/refs.json", "x")[...], X)
    server.fault = lambda path, n: "login"
    with pytest.raises(StoreError, match="HTML page"):
        zaro.open(f"{server.url}/refs.json", "x")


def test_a_server_that_lists_nothing_says_so(server):
    server.lists = False
    group = zaro.open(f"{server.url}/v3")
    np.testing.assert_array_equal(group["x"][...], X)
    assert "found by name" in repr(group)
    with pytest.raises(StoreError, match="no listing"):
        list(group)
    with pytest.raises(zaro.errors.NodeNotFoundError, match="none"):
        group["none"]
    assert set(zaro.open(f"{server.url}/v3-consolidated")) >= {"x", "deep"}


def test_a_long_span_is_read_in_pieces(server, folder, monkeypatch):
    from zaro.stores import fetch

    monkeypatch.setattr(fetch, "PIECE", 1000)
    refs = references(folder / "data.h5", f"{server.url}/data.h5")
    begun = len(server.requests)
    np.testing.assert_array_equal(zaro.read(refs, "x"), X)
    spans = [span.removeprefix("bytes=").split("-") for _, span in server.requests[begun:]]
    assert len(spans) > 5
    assert max(int(last) - int(first) for first, last in spans) < 1000
    server.fault = first(3, ("reset", 10))
    np.testing.assert_array_equal(zaro.read(refs, "x"), X)
    server.fault = only_data(("status", 403))
    with pytest.raises(ChunkError, match="403"):
        zaro.read(refs, "x")


def test_a_consolidated_store_is_opened_in_one_round_trip(server):
    server.latency = 0.05
    begun = len(server.requests)
    zaro.open(f"{server.url}/v2-consolidated")["deep/y"]
    assert len(server.requests) - begun == 5
    assert server.most_under_way == 5
