"""Servers that fail, lie or dawdle. The path of a request says what goes wrong with it: `/fault/file`."""

from __future__ import annotations

import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import http_server
from cases import (
    ARRAY,
    GOOD,
    REFS,
    VALUES,
    Case,
    Promise,
    bomb,
    either,
    error,
    nothing,
    same,
    write_chunks,
    write_json,
)
from material import s3_options

import zaro
import zaro.config

CASES: list[Case] = []
TIMEOUT = 1.5
PATIENCE = 20.0
"""Seconds for a request that shall be answered in the end, however busy the machine is."""
WAITS = 20.0
"""Seconds of the clock in which a read of a few requests of TIMEOUT must end."""

FILL = [-1] * 8
FAULTS: dict[str, tuple[Callable[[str], bool], http_server.Fault, int]] = {}
"""By name: which paths fail, how, and how many requests for each of them (0: all)."""


# ---- the server --------------------------------------------------------------------------------


@functools.cache
class Handler(http_server.Handler):
    """More ways to misbehave."""

    def send_bomb(self, path: str, nbytes: int, body: bool) -> None:
        """A body that says it is compressed, and unpacks to very much."""
        packed = bomb(nbytes >> 20)
        self.head(200, len(packed), Content_Encoding="gzip")
        self.wfile.write(packed)

    def send_endless(self, path: str, piece: bytes, body: bool) -> None:
        """A body without a length and without an end."""
        self.send_response(200)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while True:
            self.wfile.write(piece)

    def send_promise(self, path: str, nbytes: int, body: bool) -> None:
        """A length that nobody could send."""
        start, stop, whole = self.part(path)
        headers = {"Content_Range": f"bytes {start}-{stop - 1}/{nbytes}"} if "Range" in self.headers else {}
        self.head(206 if headers else 200, nbytes, **headers)
        self.wfile.write(whole[start:stop])
        self.wfile.flush()
        self.server.gate.wait(10)

    def send_garbage(self, path: str, text: bytes, body: bool) -> None:
        """No HTTP at all."""
        self.wfile.write(text)
        self.close_connection = True

    def send_unranged(self, path: str, header: str | None, body: bool) -> None:
        """A part, and nothing or nonsense about which."""
        start, stop, whole = self.part(path)
        self.head(206, stop - start, **({} if header is None else {"Content_Range": header}))
        self.wfile.write(whole[start:stop])

    def send_multipart(self, path: str, _: Any, body: bool) -> None:
        start, stop, whole = self.part(path)
        text = b"--x\r\nContent-Range: bytes 0-1/2\r\n\r\n" + whole[start:stop] + b"\r\n--x--\r\n"
        self.head(206, len(text), Content_Type="multipart/byteranges; boundary=x")
        self.wfile.write(text)

    def send_headers(self, path: str, n: int, body: bool) -> None:
        """Headers without end."""
        self.send_response(200)
        for k in range(n):
            self.send_header(f"X-{k}", "x" * 1000)
        self.send_header("Content-Length", "0")
        self.end_headers()


@contextlib.contextmanager
def published(folder: Path) -> Iterator[str]:
    """Publish good material; below the name of each fault, with that fault."""
    root = folder / "good"
    write_json(
        root / "store" / ".zmetadata",
        {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}, "x/.zarray": ARRAY}},
    )
    (root / "store" / "x").mkdir()
    write_chunks(root / "store" / "x")
    VALUES.tofile(root / "data.bin")
    write_json(root / "refs.json", REFS)
    write_json(root / "local.json", {**REFS, "x/0": ["file:///etc/passwd", 0, 16]})
    write_json(root / "climbs.json", {**REFS, "x/0": ["../../../../../etc/passwd", 0, 16]})
    write_json(root / "plain.json", {**REFS, "x/0": ["/etc/passwd", 0, 16]})
    write_json(root / "chain.json", {**REFS, "x/0": ["simplecache::file:///etc/passwd", 0, 16]})
    write_json(root / "reference.json", {**REFS, "x/0": ["reference://x::file:///etc/passwd", 0, 16]})
    write_json(root / "environment.json", {**REFS, "x/0": ["{{u}}$HOME${HOME}~", 0, 16]})
    write_json(root / "zip.json", {**REFS, "x/0": ["zip://x::/etc/passwd", 0, 16]})
    write_json(root / "memory.json", {**REFS, "x/0": ["memory://x", 0, 16]})
    write_json(root / "metadata.json", {**REFS, "x/.zarray": ["/etc/passwd"]})
    for name in FAULTS:
        (folder / name).symlink_to("good")
    seen: Counter[tuple[str, str]] = Counter()

    def decide(path: str, n: int) -> http_server.Fault | None:
        name, _, rest = path.partition("/")
        if name not in FAULTS:
            return None
        fails, fault, times = FAULTS[name]
        if not fails(rest):
            return None
        seen[name, rest] += 1
        return None if times and seen[name, rest] > times else fault

    with http_server.serving(folder) as server:
        server.RequestHandlerClass = Handler
        server.fault = decide
        yield server.url


# ---- the cases ---------------------------------------------------------------------------------


def of_data(path: str) -> bool:
    return path.endswith((".bin", "x/0", "x/1"))


def of_documents(path: str) -> bool:
    return not of_data(path)


def read_at(
    name: str,
    expected: Any = VALUES,
    limit: int | None = None,
    timeout: float = PATIENCE,
    **options: Any,
) -> Callable[[Path, str], None]:
    def read(folder: Path, address: str) -> None:
        if limit is not None:
            zaro.config.DOCUMENT = limit
        same(zaro.open(f"{address}/{name}", "x", timeout=timeout, **options)[...], expected)

    return read


def case(
    label: str,
    fault: http_server.Fault,
    by_key: Promise,
    by_reference: Promise,
    *,
    times: int = 0,
    fails: Callable[[str], bool] = of_data,
    expected: Any = VALUES,
    zeros: bool = False,
    limit: int | None = None,
    **more: Any,
) -> None:
    """Two cases of one fault: the chunks of a store, and a file that references point at."""
    name = f"f{len(FAULTS)}"
    FAULTS[name] = fails, fault, times
    for what, target, values, promise in (
        ("keys", "store", expected, by_key),
        ("references", "refs.json", [0] * 8 if zeros else VALUES, by_reference),
    ):
        timeout = _timeout(promise)
        read = read_at(f"{name}/{target}", values, limit, timeout)
        CASES.append(Case(f"http, {label}, {what}", nothing, read, promise, waits=_waits(timeout), **more))


def _timeout(promise: Promise) -> float:
    """Seconds for a request: few where it is in vain."""
    return PATIENCE if promise is GOOD else TIMEOUT


def _waits(timeout: float) -> float:
    return WAITS if timeout == TIMEOUT else Case.waits


KEY = error("ChunkError", "chunk 'x/", "127.0.0.1")  # whichever of the chunks is the first to fail
FILE = error("ChunkError", "chunk 'x/", "data.bin", "127.0.0.1")
CASES.append(Case("http, as it should be, keys", nothing, read_at("good/store"), GOOD))
CASES.append(Case("http, as it should be, references", nothing, read_at("good/refs.json"), GOOD))
for status in (400, 401, 403, 405, 409, 416, 418, 429, 451, 500, 501, 502, 503, 504, 520, 599, 299):
    words = (str(status),)
    case(
        f"status {status}",
        ("status", status),
        error("ChunkError", "x/", *words),
        error("ChunkError", "x/", "data.bin", *words),
    )
for status in (404, 410):
    case(f"status {status}", ("status", status), GOOD, FILE, expected=FILL)
for status in (408, 425, 429, 500, 502, 503, 504):
    case(f"status {status} twice", ("status", status), GOOD, GOOD, times=2)
for status in (403, 500, 503, 429):
    broken = error("ZaroError", "127.0.0.1", str(status))
    case(f"status {status} of documents", ("status", status), broken, broken, fails=of_documents)
case("a range that is ignored", "ignored", GOOD, GOOD)
for by in (1, 4):
    case(f"a range shifted by {by}", ("shifted", by), KEY, FILE)
case("a body that is short", ("short", 1), KEY, FILE)
case("a body that is empty", ("short", 16), KEY, FILE)
case("a body that is long", ("long", 1), KEY, FILE)
case("a body that is very long", ("long", 10**6), KEY, FILE)
case("a body that breaks off, once", ("reset", 5), GOOD, GOOD, times=1)
case("a body that breaks off at once, once", ("reset", 0), GOOD, GOOD, times=1)
case("a body that always breaks off", ("reset", 5), KEY, FILE)
case("silence", ("silence", 30), KEY, FILE)
case("silence, once", ("silence", 0.1), GOOD, GOOD, times=1)
case("a drip", ("drip", 0.5), KEY, FILE)
case("a body in pieces", ("chunked", 3), GOOD, GOOD)
case(
    "a login page", "login", error("ChunkError", "x/", "HTML"), error("ChunkError", "x/", "data.bin", "HTML")
)
case(
    "a login page for documents",
    "login",
    error("ZaroError", "127.0.0.1", "HTML"),
    error("ZaroError", "127.0.0.1", "HTML"),
    fails=of_documents,
)
case("redirects without end", ("redirect", "data.bin"), KEY, FILE)
for to in (
    "file:///etc/passwd",
    "data:,hello",
    "ftp://127.0.0.1/x",
    "//",
    "http://",
    "http://127.0.0.1:1/x",
    "http://[::1",
    "gopher://x",
):
    case(f"a redirect to {to}", ("redirect", to), KEY, FILE)
case(
    "a part of which nothing is said",
    ("unranged", None),
    KEY,
    error("ChunkError", "x/", "data.bin", "Content-Range"),
)
for header in (
    "bytes */32",
    "bytes 0-0/32",
    "bytes 16-15/32",
    "bytes -1-5/32",
    "bytes 0-99999999999999999999/*",
    "x",
):
    case(f"a part {header!r}", ("unranged", header), KEY, FILE)
case("a part of a file that is too short", ("unranged", "bytes 0-15/10"), KEY, FILE)
case("parts in parts", "multipart", KEY, FILE)
case("no HTTP", ("garbage", b"\x00" * 100), KEY, FILE)
case("no HTTP but text", ("garbage", b"SSH-2.0-OpenSSH_9.2\r\n"), KEY, FILE)
case("an answer that breaks off in its head", ("garbage", b"HTTP/1.1 206 Partial"), KEY, FILE)
case("a status of nonsense", ("garbage", b"HTTP/1.1 xyz OK\r\n\r\n"), KEY, FILE)
case("a length below zero", ("garbage", b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n"), KEY, FILE)
case(
    "two lengths",
    ("garbage", b"HTTP/1.1 200 OK\r\nContent-Length: 16\r\nContent-Length: 17\r\n\r\n" + b"a" * 20),
    KEY,
    FILE,
)
case("headers without end", ("headers", 10**4), KEY, FILE)
case("a length of 2^60", ("promise", 2**60), KEY, FILE)
# whoever ignores ranges and sends ones sends a file of ones
case("a body without end", ("endless", bytes(4096)), KEY, GOOD, zeros=True)
case(
    "documents without end",
    ("endless", b" " * 4096),
    error("ZaroError", "127.0.0.1"),
    error("ZaroError", "127.0.0.1"),
    fails=of_documents,
    limit=16 << 20,
)
case("a bomb", ("bomb", 192 << 20), KEY, either("ChunkError", "data.bin"), zeros=True, seconds=20)
case(
    "documents that are bombs",
    ("bomb", 128 << 20),
    error("ZaroError", "127.0.0.1"),
    error("ZaroError", "127.0.0.1"),
    fails=of_documents,
    seconds=20,
)

# ---- S3 ----------------------------------------------------------------------------------------


def s3_case(
    label: str,
    fault: http_server.Fault,
    by_key: Promise,
    by_reference: Promise,
    *,
    times: int = 0,
    fails: Callable[[str], bool] = of_data,
    expected: Any = VALUES,
    zeros: bool = False,
) -> None:
    """The two cases of a fault for the same files as objects of a bucket, which is named as the fault."""
    bucket = f"f{len(FAULTS)}"
    FAULTS[bucket] = fails, fault, times

    def read_from(target: str, expected: Any, timeout: float) -> Callable[[Path, str], None]:
        def read(folder: Path, address: str) -> None:
            how = s3_options(address)
            found = zaro.open(
                f"s3://{bucket}/{target}", "x", storage_options=how, remote_options=how, timeout=timeout
            )
            same(found[...], expected)

        return read

    for what, target, values, promise in (
        ("keys", "store", expected, by_key),
        ("references", "refs.json", [0] * 8 if zeros else VALUES, by_reference),
    ):
        timeout = _timeout(promise)
        read = read_from(target, values, timeout)
        CASES.append(Case(f"s3, {label}, {what}", nothing, read, promise, seconds=20, waits=_waits(timeout)))


S3_KEY = error("ChunkError", "chunk 'x/", "s3://")
S3_FILE = error("ChunkError", "chunk 'x/", "s3://", "data.bin")
s3_case("as it should be", "file", GOOD, GOOD)
for status, what in ((503, "SlowDown"), (500, "InternalError")):  # as `send_status` spells them
    s3_case(f"{what} twice", ("status", status), GOOD, GOOD, times=2)
    s3_case(
        f"{what} always",
        ("status", status),
        error("ChunkError", "chunk 'x/", "s3://", what, "attempts"),
        error("ChunkError", "chunk 'x/", "data.bin", what, "attempts"),
    )
s3_case("a chunk that is forbidden", ("status", 403), S3_KEY, S3_FILE)
s3_case("a chunk that is absent", ("status", 404), GOOD, S3_FILE, expected=FILL)
s3_case("a range that is ignored", "ignored", GOOD, GOOD)
s3_case("a range that is shifted", ("shifted", 4), S3_KEY, S3_FILE)
s3_case("a body that is cut", ("short", 3), S3_KEY, S3_FILE)
s3_case("a body that is empty", ("short", 16), S3_KEY, S3_FILE)
s3_case("a body that is long", ("long", 4), S3_KEY, S3_FILE)
s3_case("a body that breaks off twice", ("reset", 5), GOOD, GOOD, times=2)
s3_case("a body that always breaks off", ("reset", 5), S3_KEY, S3_FILE)
s3_case("an object that is replaced between two attempts", ("replaced", 5), GOOD, GOOD, times=1)
s3_case("silence", ("silence", 30), S3_KEY, S3_FILE)
s3_case("a drip", ("drip", 0.5), S3_KEY, S3_FILE)
s3_case("a login page", "login", S3_KEY, S3_FILE)
s3_case("a length of 2^60", ("promise", 2**60), S3_KEY, S3_FILE)
s3_case("a body without end", ("endless", bytes(4096)), S3_KEY, GOOD, zeros=True)
S3_BROKEN = error("ZaroError", "s3://")
s3_case("documents that are forbidden", ("status", 403), S3_BROKEN, S3_BROKEN, fails=of_documents)
s3_case("documents that are cut", ("short", 3), S3_BROKEN, S3_BROKEN, fails=of_documents)

# ---- documents from afar -----------------------------------------------------------------------

AFAR = error("StoreError", "passwd", "allow_targets")
for name in ("local", "plain", "chain", "zip"):
    CASES.append(  # noqa: PERF401
        Case(
            f"from afar, {name}",
            nothing,
            read_at(f"good/{name}.json"),
            error("ZaroError", "passwd") if name == "plain" else AFAR,
        )
    )
CASES.append(
    Case(
        "from afar, a file system of references",
        nothing,
        read_at("good/reference.json"),
        error("ZaroError", "passwd"),
    )
)
CASES.append(
    Case("from afar, climbs", nothing, read_at("good/climbs.json"), error("ChunkError", "x/0", "/etc/passwd"))
)
CASES.append(
    Case(
        "from afar, memory",
        nothing,
        read_at("good/memory.json"),
        error("StoreError", "memory://x", "allow_targets"),
    )
)
CASES.append(
    Case("from afar, metadata", nothing, read_at("good/metadata.json"), error("ZaroError", "passwd"))
)
CASES.append(
    Case(
        "from afar, environment",
        nothing,
        read_at("good/environment.json"),
        error("ChunkError", "x/0", "$HOME${HOME}~"),
    )
)
CASES.append(
    Case(
        "from afar, nothing allowed",
        nothing,
        read_at("good/refs.json", allow_targets=()),
        error("StoreError", "data.bin", "allow_targets"),
    )
)
CASES.append(
    Case(
        "from afar, another host allowed",
        nothing,
        read_at("good/refs.json", allow_targets=("http://127.0.0.1:1",)),
        error("StoreError", "data.bin", "allow_targets"),
    )
)
