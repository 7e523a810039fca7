"""An HTTP server of files on loopback that speaks ranges, and misbehaves on demand."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

Fault = str | tuple[str, Any]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        path = unquote(self.path.partition("?")[0]).lstrip("/")
        with self.server.counting:
            self.server.requests.append((path, self.headers.get("Range")))
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
        try:
            time.sleep(self.server.latency)
            kind, value = self.fault(path)
            getattr(self, f"send_{kind}")(path, value, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with self.server.counting:
                self.server.under_way -= 1

    def fault(self, path: str) -> tuple[str, Any]:
        decide = self.server.fault
        found = decide(path, len(self.server.requests)) if decide else None
        if found is None:
            return "file", None
        return found if isinstance(found, tuple) else (found, None)

    # what is sent

    def span(self, size: int) -> tuple[int, int] | None:
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if not found:
            return None
        if not found[1]:
            return max(0, size - int(found[2])), size
        return int(found[1]), min(size, int(found[2]) + 1 if found[2] else size)

    def head(self, status: int, length: int, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def send_file(self, path: str, _: Any, body: bool) -> None:
        full = self.server.root / path
        if full.is_dir():
            return self.send_listing(full, body)
        try:
            file = open(full, "rb")  # noqa: SIM115
        except OSError:
            return self.send_status(path, 404, body)
        with file:
            size = os.fstat(file.fileno()).st_size
            span = self.span(size)
            if span is None:
                start, stop = 0, size
                self.head(200, size, ETag=f'"{size}"')
            elif span[0] >= size or span[0] >= span[1]:
                return self.head(416, 0, Content_Range=f"bytes */{size}")
            else:
                start, stop = span
                self.head(
                    206, stop - start, Content_Range=f"bytes {start}-{stop - 1}/{size}", ETag=f'"{size}"'
                )
            if body:
                self.wfile.flush()
                while start < stop:
                    start += os.sendfile(self.connection.fileno(), file.fileno(), start, stop - start)
        return None

    def send_listing(self, full: Path, body: bool) -> None:
        if not self.server.lists:
            return self.send_status("", 404, body)
        names = [f"{one.name}/" if one.is_dir() else one.name for one in sorted(full.iterdir())]
        page = "".join(f'<li><a href="{name}">{name}</a></li>' for name in names).encode()
        self.head(200, len(page), Content_Type="text/html")
        if body:
            self.wfile.write(page)
        return None

    def send_status(self, path: str, status: int, body: bool) -> None:
        code = {403: "AccessDenied", 404: "NoSuchKey", 503: "SlowDown"}.get(status, "InternalError")
        text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()
        self.head(status, len(text), Retry_After="0")
        if body:
            self.wfile.write(text)

    # what goes wrong

    def content(self, path: str) -> bytes:
        return (self.server.root / path).read_bytes()

    def part(self, path: str) -> tuple[int, int, bytes]:
        whole = self.content(path)
        start, stop = self.span(len(whole)) or (0, len(whole))
        return start, stop, whole

    def promise(self, start: int, stop: int, size: int, more: int = 0, **headers: str) -> None:
        """The head of an answer as it should be, for a body that will not be."""
        if "Range" in self.headers:
            headers["Content_Range"] = f"bytes {start}-{stop - 1}/{size}"
        self.head(206 if "Range" in self.headers else 200, stop - start + more, **headers)

    def send_ignored(self, path: str, _: Any, body: bool) -> None:
        """The whole file, whatever was asked for."""
        whole = self.content(path)
        self.head(200, len(whole))
        self.wfile.write(whole)

    def send_shifted(self, path: str, by: int, body: bool) -> None:
        """A range that is not the one asked for, and says so."""
        start, stop, whole = self.part(path)
        part = whole[start + by : stop + by]
        self.head(206, len(part), Content_Range=f"bytes {start + by}-{stop + by - 1}/{len(whole)}")
        self.wfile.write(part)

    def send_short(self, path: str, by: int, body: bool) -> None:
        """A body that ends before it should, in an answer that contradicts itself."""
        start, stop, whole = self.part(path)
        self.promise(start, stop, len(whole), -by)
        self.wfile.write(whole[start : stop - by])

    def send_long(self, path: str, by: int, body: bool) -> None:
        start, stop, whole = self.part(path)
        self.promise(start, stop, len(whole), by)
        self.wfile.write(whole[start:stop] + b"x" * by)

    def send_reset(self, path: str, after: int, body: bool, version: str | None = None) -> None:
        """A connection that breaks in the middle of the body."""
        start, stop, whole = self.part(path)
        self.promise(start, stop, len(whole), ETag=version or f'"{len(whole)}"')
        self.wfile.write(whole[start : start + after])
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def send_replaced(self, path: str, after: int, body: bool) -> None:
        """A connection that breaks, to a file that is another afterwards."""
        self.send_reset(path, after, body, version='"before"')

    def send_silence(self, path: str, seconds: float, body: bool) -> None:
        """Nothing, for a while."""
        self.server.gate.wait(seconds)
        self.close_connection = True

    def send_drip(self, path: str, seconds: float, body: bool) -> None:
        """A byte now and then."""
        start, stop, whole = self.part(path)
        self.promise(start, stop, len(whole))
        for k in range(start, stop):
            self.wfile.write(whole[k : k + 1])
            self.wfile.flush()
            if self.server.gate.wait(seconds):
                return

    def send_chunked(self, path: str, nbytes: int, body: bool) -> None:
        """As it should be, in chunks of HTTP's own and without a length."""
        start, stop, whole = self.part(path)
        self.send_response(206 if "Range" in self.headers else 200)
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{len(whole)}")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for k in range(start, stop, nbytes):
            part = whole[k : min(k + nbytes, stop)]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def send_login(self, path: str, _: Any, body: bool) -> None:
        page = b"<!DOCTYPE html><html><body>Please log in</body></html>" + b" " * 4096
        self.head(200, len(page), Content_Type="text/html; charset=utf-8")
        self.wfile.write(page)

    def send_redirect(self, path: str, to: str, body: bool) -> None:
        self.head(302, 0, Location=to)


class Server(ThreadingHTTPServer):
    """Files below `root`; `fault(path, n)` says what goes wrong with the n-th request."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, root: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.root = root
        self.latency = 0.0
        self.lists = True
        self.fault: Callable[[str, int], Fault | None] | None = None
        self.requests: list[tuple[str, str | None]] = []
        self.under_way = self.most_under_way = 0
        self.counting = threading.Lock()
        self.gate = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@contextlib.contextmanager
def serving(root: Path) -> Iterator[Server]:
    server = Server(root)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.gate.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
