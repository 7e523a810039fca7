"""Threads, processes and signals around the one loop."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from http_server import serving
from material import references, values, write

import zaro
from zaro import config
from zaro.stores import loop

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
def array(server, folder):
    return zaro.open(references(folder / "data.h5", f"{server.url}/data.h5"), "x")


def handles():
    return len(os.listdir("/proc/self/fd"))


def test_everything_remote_happens_in_one_thread(array, server):
    array[...]
    zaro.open(f"{server.url}/v3")["x"][...]
    assert [thread.name for thread in threading.enumerate()].count("zaro-io") == 1


def test_one_array_is_read_from_many_threads(array):
    with ThreadPoolExecutor(16) as pool:
        for found in pool.map(lambda k: array[k % 50], range(200)):
            assert found.shape == (70,)
        for k, found in enumerate(pool.map(lambda k: array[k], range(50))):
            np.testing.assert_array_equal(found, X[k])


def test_repeated_reads_leave_nothing_behind(server, folder):
    def once():
        zaro.open(references(folder / "data.h5", f"{server.url}/data.h5"), "x")[...]
        zaro.open(f"{server.url}/v3", "x")[...]
        with pytest.raises(zaro.errors.ChunkError):
            zaro.open(references(folder / "data.h5", f"{server.url}/none.h5"), "x")[...]

    once()
    before, threads = handles(), threading.active_count()
    for _ in range(10):
        once()
    assert threading.active_count() <= threads + config.REQUESTS_UNDER_WAY  # the server's, one per connection
    assert handles() <= before + 2 * config.REQUESTS_UNDER_WAY


def test_a_failed_read_gives_its_room_back(array, server):
    from zaro.stores.fetch import _rooms

    for fault in [("status", 403), None]:
        server.fault = lambda path, n, fault=fault: fault
        for _ in range(20):
            try:
                array[...]
            except zaro.errors.ChunkError:
                assert fault
    time.sleep(0.1)
    assert [room._free for room in _rooms.values()] == [config.STORED_IN_MEMORY]


def test_requests_under_way_are_bounded(server):
    server.latency = 0.01
    array = zaro.open(f"{server.url}/v3", "x")
    array[...]
    assert 2 <= server.most_under_way <= config.REQUESTS_UNDER_WAY


def test_stored_bytes_in_memory_are_bounded(server, tmp_path, monkeypatch):
    from zaro.stores import fetch

    monkeypatch.setattr(fetch, "_rooms", {})
    monkeypatch.setattr(config, "STORED_IN_MEMORY", 300)
    server.latency = 0.005
    array = zaro.open(f"{server.url}/v3", "deep/y")  # chunks of 560 bytes: one at a time
    server.most_under_way = 0
    np.testing.assert_array_equal(array[...], values()["deep/y"])
    assert server.most_under_way <= 2  # the server may still be at the end of one when the next comes


@pytest.fixture
def interruptible():
    """A process that a shell starts in the background ignores SIGINT, and Python with it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_a_read_at_once(array, server):
    server.fault = lambda path, n: ("silence", 30)
    main = threading.main_thread().ident
    timer = threading.Timer(0.3, lambda: signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        array[...]
    assert time.monotonic() - begun < 5
    server.fault = None
    np.testing.assert_array_equal(array[...], X)
    time.sleep(0.05)
    assert loop.run(tasks()) == 1


async def tasks():
    import asyncio

    return len(asyncio.all_tasks())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_reads_and_leaves_its_parent_alone(array, server):
    np.testing.assert_array_equal(array[...], X)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            good = bool(np.array_equal(array[...], X)) and np.array_equal(
                zaro.open(f"{server.url}/v3", "x")[...], X
            )
            sys.stdout.flush()
            os._exit(0 if good else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        np.testing.assert_array_equal(array[...], X)
        np.testing.assert_array_equal(zaro.open(f"{server.url}/v3", "x")[...], X)


SCRIPT = """
import os, sys, warnings, zaro
warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # since Python 3.12, for any fork
array = zaro.open(sys.argv[1], "x")
array[...]
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        array[...]
        sys.exit(0)  # finalises what it inherited
    assert os.waitpid(child, 0)[1] == 0
assert array[...].shape == (50, 70)
"""


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_the_interpreter_ends_in_peace(server, how):
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", SCRIPT, f"{server.url}/v3", how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_blocking_read_inside_the_loop_is_refused(server):
    async def inside():
        return zaro.open(f"{server.url}/v3")

    with pytest.raises(RuntimeError, match="event loop"):
        loop.run(inside())


CLOSES_ITSELF = """
import weakref
import fsspec
from fsspec.asyn import AsyncFileSystem, sync
import zaro

async def close():
    print("closed")

class Azure(AsyncFileSystem):
    protocol = "az"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        weakref.finalize(self, sync, self.loop, close)

    async def _cat_file(self, path, start=None, end=None, **kwargs):
        raise FileNotFoundError(path)

    async def _info(self, path, **kwargs):
        raise FileNotFoundError(path)

fsspec.register_implementation("az", Azure, clobber=True)
try:
    zaro.open("az://bucket/a.zarr")
except zaro.ZaroError as err:
    print(type(err).__name__)
"""


def test_file_systems_that_close_themselves_still_have_their_loop_at_the_end():
    child = subprocess.run(
        [sys.executable, "-c", CLOSES_ITSELF], capture_output=True, text=True, timeout=60, check=True
    )
    assert child.stdout.split() == ["NodeNotFoundError", "closed"]
    assert child.stderr == ""
