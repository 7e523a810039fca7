"""Very many reads from a server of which one answer in ten is wrong: right values or a named error, in time.

`ZARO_TRUST_READS=10000 pytest tests/trust/test_faults_at_random.py` reads that often; else it is 3000 times.
"""

import json
import os
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import hostile_servers
import http_server
import numpy as np
import pytest
from cases import write_json

import zaro
from zaro.errors import ChunkError

READS = int(os.environ.get("ZARO_TRUST_READS", "3000"))
READERS = 16
TIMEOUT = 1.0
X = np.random.default_rng(7).integers(0, 2**31, (60, 80)).astype("<i4")
CHUNKS = (10, 16)
ARRAY = {
    "zarr_format": 2,
    "shape": list(X.shape),
    "chunks": list(CHUNKS),
    "dtype": "<i4",
    "compressor": None,
    "filters": None,
    "order": "C",
    "fill_value": -1,
}

FAULTS = [
    "ignored",
    ("shifted", 1),
    ("shifted", 64),
    ("short", 4),
    ("short", 640),
    ("long", 4),
    ("reset", 0),
    ("reset", 300),
    "login",
    ("chunked", 100),
    ("silence", 0.05),
    ("silence", 3.0),
    ("drip", 0.3),
    ("garbage", b"SSH-2.0-x\r\n"),
    "multipart",
    ("unranged", None),
    ("unranged", "bytes 0-0/1"),
    ("redirect", "file:///etc/passwd"),
    ("promise", 2**50),
    ("headers", 200),
    *[("status", status) for status in (400, 401, 403, 404, 416, 429, 500, 502, 503, 504)],
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    root = tmp_path_factory.mktemp("faults")
    refs = {"x/.zarray": json.dumps(ARRAY)}
    write_json(root / "store" / "x" / ".zarray", ARRAY)
    at = 0
    with open(root / "data.bin", "wb") as file:
        for i in range(X.shape[0] // CHUNKS[0]):
            for j in range(X.shape[1] // CHUNKS[1]):
                chunk = X[i * 10 : i * 10 + 10, j * 16 : j * 16 + 16].tobytes()
                (root / "store" / "x" / f"{i}.{j}").write_bytes(chunk)
                refs[f"x/{i}.{j}"] = ["data.bin", at, len(chunk)]
                at += file.write(chunk)
    write_json(root / "refs.json", refs)
    with http_server.serving(root) as found:
        found.RequestHandlerClass = hostile_servers.Handler
        yield found


def test_one_wrong_answer_in_ten_gives_no_wrong_value(server):
    chance = random.Random(11)
    choosing = threading.Lock()

    def decide(path, n):
        if path.rpartition("/")[2] in (".zarray", "refs.json"):
            return None
        with choosing:
            fault = chance.choice(FAULTS) if chance.random() < 0.1 else None
        absent = (
            fault in (("status", 404), "multipart") and "store/" in path
        )  # not there, or there otherwise: no lie
        return None if absent else fault

    arrays = [
        zaro.open(f"{server.url}/{name}", "x", timeout=TIMEOUT, missing="raise")
        for name in ("store", "refs.json")
    ]
    server.fault = decide
    outcomes: Counter[str] = Counter()
    slowest = []

    def read(seed):
        where = random.Random(seed)
        i, j = where.randrange(55), where.randrange(70)
        begun = time.monotonic()
        try:
            found = arrays[seed % 2][i : i + 5, j : j + 10]
        except ChunkError as err:
            named = "127.0.0.1" in str(err) and str(err).startswith("chunk 'x/") and err.reason
            outcomes["named" if named else f"unnamed: {err}"] += 1
        else:
            outcomes["right" if np.array_equal(found, X[i : i + 5, j : j + 10]) else "wrong"] += 1
        slowest.append(time.monotonic() - begun)

    with ThreadPoolExecutor(READERS) as readers:
        list(readers.map(read, range(READS)))
    server.fault = None
    assert set(outcomes) <= {"right", "named"}, outcomes
    assert outcomes["right"] > 0.85 * READS, outcomes
    assert outcomes["named"] > 0, outcomes
    # each request has TIMEOUT; a read waits for a few of them, and for a processor that others use too
    assert max(slowest) < 20 * TIMEOUT
    np.testing.assert_array_equal(arrays[0][...], X)
