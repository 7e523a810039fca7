"""One object in many threads and processes; the ends of processes; what is left behind."""

import json
import multiprocessing
import os
import pickle
import re
import signal
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import fsspec
import hostile_servers
import http_server
import numpy as np
import pytest
import scripts
from cases import write_json

import zaro
import zaro.fsspec

X = np.arange(60 * 80, dtype="<i4").reshape(60, 80)
ARRAY = {
    "zarr_format": 2,
    "shape": [60, 80],
    "chunks": [10, 16],
    "dtype": "<i4",
    "compressor": {"id": "zlib", "level": 1},
    "filters": None,
    "order": "C",
    "fill_value": -1,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One array as a store, a JSON document and a Parquet set."""
    import zlib

    root = tmp_path_factory.mktemp("shared")
    refs = {
        ".zgroup": '{"zarr_format":2}',
        "g/.zgroup": '{"zarr_format":2}',
        "g/x/.zarray": json.dumps(ARRAY),
    }
    for key, text in refs.items():
        write_json(root / "store" / key, json.loads(text))
    with open(root / "data.bin", "wb") as file:
        for i in range(6):
            for j in range(5):
                chunk = zlib.compress(X[i * 10 : i * 10 + 10, j * 16 : j * 16 + 16].tobytes(), 1)
                (root / "store" / "g" / "x" / f"{i}.{j}").write_bytes(chunk)
                refs[f"g/x/{i}.{j}"] = ["data.bin", file.tell(), len(chunk)]
                file.write(chunk)
    write_json(root / "refs.json", refs)
    zaro.References.open(root / "refs.json").save(root / "refs.parquet", record_size=7)
    return root


@pytest.fixture(scope="module")
def server(folder):
    with http_server.serving(folder) as found:
        found.RequestHandlerClass = hostile_servers.Handler
        yield found


TARGETS = ["store", "refs.json", "refs.parquet"]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("afar", [False, True])
def test_sixteen_threads_share_an_array_and_a_group(folder, server, name, afar):
    target = f"{server.url}/{name}" if afar else str(folder / name)
    group = zaro.open(target)
    array = group["g/x"]
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 50, (160, 2)).tolist()

    def read(corner):
        i, j = corner
        here = slice(i, i + 10), slice(j, j + 20)
        one = group["g"]["x"] if (i + j) % 2 else array
        return np.array_equal(one[here], X[here]) and sorted(one.attrs) == []

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(read, corners))


def test_sixteen_threads_share_a_file_system(folder):
    fs = zaro.fsspec.ReferenceFileSystem(fo=str(folder / "refs.json"), target=None)
    keys = [f"g/x/{i}.{j}" for i in range(6) for j in range(5)]
    expected = {key: (folder / "store" / key).read_bytes() for key in keys}
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda k: fs.cat(keys[k % 30]) == expected[keys[k % 30]], range(300)))
        assert all(found)
        assert all(one == expected for one in pool.map(lambda _: fs.cat(keys), range(16)))
    assert isinstance(fs, fsspec.AbstractFileSystem)


def _sum(pickled):
    return int(pickle.loads(pickled)[...].sum())


@pytest.mark.parametrize("name", TARGETS)
def test_a_spawned_process_reads_what_it_is_sent(folder, server, name):
    arrays = [zaro.open(f"{server.url}/{name}", "g/x"), zaro.open(str(folder / name), "g/x")]
    np.testing.assert_array_equal(arrays[0][...], X)
    if name != "store":
        return  # the pickles are alike; one process is enough to see that they open
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert list(pool.map(_sum, map(pickle.dumps, arrays))) == [int(X.sum())] * 2


def test_a_forked_process_reads_and_so_does_its_parent(folder, server):
    script = """
    import os, sys
    import zaro
    names = ("store", "refs.json", "refs.parquet")
    arrays = [zaro.open(f"{where}/{name}", "g/x") for where in sys.argv[1:] for name in names]
    want = int(arrays[0][...].sum())
    for array in arrays:
        assert int(array[...].sum()) == want
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            os._exit(0 if all(int(array[...].sum()) == want for array in arrays) else 1)
        children.append(child)
        assert all(int(array[...].sum()) == want for array in arrays)
    print([os.waitpid(child, 0)[1] for child in children])
    """
    assert scripts.finished(script, server.url, folder) == "[0, 0, 0, 0]\n"


@pytest.mark.parametrize("daemon", [True, False])
@pytest.mark.parametrize("how", ["sys.exit(0)", "pass"])
def test_the_interpreter_ends_while_threads_read(folder, server, daemon, how):
    script = f"""
    import sys, threading, time
    import zaro
    names = ("store", "refs.json", "refs.parquet")
    arrays = [zaro.open(f"{{where}}/{{name}}", "g/x") for where in sys.argv[1:] for name in names]
    until = time.monotonic() + 0.6
    def read(array):
        while {daemon} or time.monotonic() < until:
            array[...]
    for array in arrays:
        threading.Thread(target=read, args=(array,), daemon={daemon}).start()
    time.sleep(0.3)
    {how}
    """
    process = scripts.started(script, server.url, folder)
    said, complaints = process.communicate(
        timeout=50
    )  # less than a request may take, should one be waited for
    # threads that are cut off may say so; they may not crash, nor hang
    assert process.returncode == 0, (said, complaints)
    if not daemon:
        assert complaints == ""


def test_the_interpreter_ends_while_daemon_threads_open_partitions(folder):
    """A thread that is cut off where it drops one of pyarrow's readers aborts the process."""
    script = """
    import os, sys, threading, time
    import zaro
    def read():
        while True:
            zaro.open(sys.argv[1], "g/x")[...]
    zaro.open(sys.argv[1], "g/x")[...]
    ends = set()
    for _ in range(10):
        children = [os.fork(), 0]
        if children[0]:
            children[1] = os.fork()
        if 0 in children:
            for _ in range(6):
                threading.Thread(target=read, daemon=True).start()
            time.sleep(0.1)
            sys.exit(0)
        ends.update(os.waitpid(child, 0)[1] for child in children)
    print(ends)
    """
    assert scripts.finished(script, folder / "refs.parquet") == "{0}\n"


def test_a_thread_goes_on_when_the_main_thread_has_ended(folder, server):
    """Python's own pools take no work any more."""
    array = {**ARRAY, "shape": [2], "chunks": [1], "compressor": None}
    names = ("a", "b")
    refs = {".zgroup": '{"zarr_format":2}', **{f"{name}/.zarray": json.dumps(array) for name in names}}
    one = {"files": [[2, "late.bin"]], "dims": [2], "start": 0, "lengths": [4]}
    gen = [{**one, "variables": [name]} for name in names]
    write_json(folder / "late.json", {"version": 1, "refs": refs, "gen": gen})
    (folder / "late.bin").write_bytes(np.array([5, 6], "<i4").tobytes())
    script = """
    import sys, threading, time
    from concurrent.futures import ThreadPoolExecutor
    import zaro
    from zaro import References, config
    config.set_threads(2)
    refs, parquet, url, late = sys.argv[1:]
    def work():
        threading.main_thread().join()
        try:
            while True:
                ThreadPoolExecutor(1).submit(int)
                time.sleep(0.01)
        except RuntimeError as err:
            print(err)
        References.open(refs).save(parquet, record_size=7)
        print(zaro.open(parquet, "g/x")[3, 4], zaro.open(url, "g/x")[3, 4])
        print(zaro.open(late, "a")[:], zaro.open(late, "b")[:])
    threading.Thread(target=work).start()
    """
    url = f"{server.url}/store".replace("127.0.0.1", "localhost")
    said = scripts.finished(
        script, folder / "refs.json", folder / "late.parquet", url, folder / "late.json"
    ).splitlines()
    assert said == [
        "cannot schedule new futures after interpreter shutdown",
        f"{X[3, 4]} {X[3, 4]}",
        "[5 6] [5 6]",
    ]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("afar", [False, True])
def test_a_daemon_thread_that_is_waited_for_ends(folder, server, name, afar):
    script = """
    import atexit, sys, threading, time
    def wait():
        thread.join(40)
        print(said)
    atexit.register(wait)  # before zaro's own, to be called after it
    import zaro
    from zaro import ending
    ending._PATIENCE = 0.2
    until = time.monotonic() + 2
    said = []
    def read():
        try:
            while time.monotonic() < until:
                zaro.open(sys.argv[1], "g/x")[...]
        except RuntimeError as err:
            said.append(str(err))
    zaro.open(sys.argv[1], "g/x")[...]
    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    """
    said = scripts.finished(script, f"{server.url}/{name}" if afar else folder / name)
    held = afar or name == "refs.parquet"
    assert said == f"{['the interpreter ends: a daemon thread can read no more'] if held else []}\n"


def test_what_is_called_last_may_read_local_files_and_is_told_of_others(folder, server):
    script = """
    import atexit, sys
    def read():
        print(zaro.open(sys.argv[1], "g/x")[3, 4])
        try:
            zaro.open(sys.argv[2], "g/x")
        except RuntimeError as err:
            print(err)
    atexit.register(read)  # before zaro's own, to be called after it
    import zaro
    zaro.open(sys.argv[2], "g/x")
    """
    said = scripts.finished(script, folder / "refs.parquet", f"{server.url}/store").splitlines()
    ends = "the interpreter ends: connections are closed, and nothing can be fetched any more"
    assert said == [str(X[3, 4]), ends]


@pytest.mark.parametrize("name", ["refs.json", "store"])
@pytest.mark.parametrize("fault", [("silence", 30), ("drip", 0.5)])
def test_control_c_stops_a_read_at_once(server, name, fault):
    script = """
    import os, signal, sys, threading, time
    import zaro
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us to ignore it
    array = zaro.open(sys.argv[1], "g/x", timeout=20)
    def answer():
        try:
            array[...]
        except KeyboardInterrupt:
            return "interrupted"
        return "read"
    print("begin", flush=True)
    print(answer(), flush=True)
    import asyncio
    from zaro.stores import loop
    time.sleep(0.1)
    # nothing goes on behind our back
    print(len(asyncio.all_tasks(loop.get_loop())), flush=True)
    """
    server.fault = lambda path, n: fault if re.search(r"(data\.bin|\d\.\d)$", path) else None
    try:
        process = scripts.started(script, f"{server.url}/{name}")
        assert process.stdout.readline() == "begin\n"
        time.sleep(0.3)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        said, complaints = process.communicate(timeout=25)
    finally:
        server.fault = None
    assert (process.returncode, complaints) == (0, ""), (said, complaints)
    assert said == "interrupted\n0\n"
    assert time.monotonic() - begun < 10  # and not the 20 s that the request has


SOAK = """
import gc, os, random, sys, threading, time
import numpy as np
import zaro
from zaro.errors import ZaroError

url, folder, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
chance = random.Random(3)
X = np.arange(60 * 80, dtype="<i4").reshape(60, 80)

def state():
    gc.collect()
    with open("/proc/self/status") as file:
        facts = dict(line.split(":", 1) for line in file)
    return len(os.listdir("/proc/self/fd")), threading.active_count(), int(facts["VmRSS"].split()[0])

def one():
    where, name = chance.choice([url, folder]), chance.choice(["store", "refs.json", "refs.parquet"])
    try:
        group = zaro.open(f"{where}/{name}", timeout=0.5)
        i, j = chance.randrange(50), chance.randrange(60)
        found = group["g/x"][i : i + 10, j : j + 20]
        assert np.array_equal(found, X[i : i + 10, j : j + 20])
        return True
    except ZaroError:
        return False

def some(seconds):
    until, outcomes = time.monotonic() + seconds, []
    while time.monotonic() < until:
        outcomes.append(one())
    return outcomes

def on_threads(seconds):
    found = []
    threads = [threading.Thread(target=lambda: found.extend(some(seconds))) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return found

on_threads(seconds / 3)
before = state()
outcomes = on_threads(seconds * 2 / 3)
after = state()
print(*before, *after, len(outcomes), sum(outcomes))
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts handles as Linux shows them")
def test_a_soak_of_faults_leaves_nothing_behind(folder, server):
    """`ZARO_TRUST_SOAK=600 pytest -s -k soak` lets it run for ten minutes, and shows the figures."""
    import random

    chance = random.Random(5)
    faults = [
        ("status", 503),
        ("status", 403),
        ("reset", 3),
        ("short", 2),
        "login",
        ("silence", 0.7),
        ("shifted", 1),
        ("garbage", b"x"),
    ]
    server.fault = lambda path, n: chance.choice(faults) if chance.random() < 0.1 else None
    seconds = float(os.environ.get("ZARO_TRUST_SOAK", "9"))
    try:
        said = scripts.finished(SOAK, server.url, folder, seconds, seconds=seconds + 120)
    finally:
        server.fault = None
    fds, threads, rss, fds_after, threads_after, rss_after, reads, right = map(int, said.split())
    print(f"{reads} reads, {right} right; before and after: handles {fds} {fds_after}, ", end="")
    print(f"threads {threads} {threads_after}, resident KB {rss} {rss_after}")
    assert reads > 50
    assert right > reads / 2
    assert fds_after <= fds + 8  # connections come and go
    assert threads_after <= threads + 2
    assert rss_after - rss < 6 << 10, f"{rss_after - rss} KB more after {reads} reads"
