"""A small HTTP server with ranges on loopback, in a process of its own, that answers after a latency.

python serving.py FOLDER MILLISECONDS      # prints its port, and ends with its standard input
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET(body=False)

    def do_GET(self, body=True):
        time.sleep(self.server.latency)
        try:
            file = open(self.server.folder / self.path.lstrip("/"), "rb")  # noqa: SIM115
        except OSError:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with file:
            size = os.fstat(file.fileno()).st_size
            span = re.fullmatch(r"bytes=(\d*)-(\d+)", self.headers.get("Range", ""))
            if span and span[1]:
                start, stop = int(span[1]), min(size, int(span[2]) + 1)
            else:
                start, stop = max(0, size - int(span[2])) if span else 0, size
            self.send_response(206 if span else 200)
            self.send_header("Content-Length", str(stop - start))
            self.send_header("Accept-Ranges", "bytes")
            if span:
                self.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
            self.end_headers()
            while body and start < stop:
                start += os.sendfile(self.connection.fileno(), file.fileno(), start, stop - start)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # with the usual five, a burst of connections waits a second


@contextlib.contextmanager
def serving(folder, latency=0.03):
    """The URL of a server of `folder`, which waits `latency` seconds before each answer."""
    command = [sys.executable, __file__, str(folder), str(latency * 1000)]
    # it ends with us, however that comes: asv waits for all that hold its output
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(child.stdout.readline())}"
    finally:
        child.terminate()
        child.wait()
        child.stdin.close()
        child.stdout.close()


def main():
    server = Server(("127.0.0.1", 0), Handler)
    server.folder, server.latency = Path(sys.argv[1]), float(sys.argv[2]) / 1000
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
