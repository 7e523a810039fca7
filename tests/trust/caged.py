"""Run cases in processes of their own, under caps of memory and time.

Each is forked from one process that has imported everything, so that hundreds of them cost seconds. The
memory of a case is measured, not guessed: what its process held at most, less what it was born with. Its time
is the processor's, so that a busy machine fails no good case; the clock is for those that only wait.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HARD_CAP = 3 << 30
"""Address space that a case may take beyond what it was born with: whatever needs more fails in itself."""
FIXTURE_SECONDS, FIXTURE_WAITS = 60, 300.0


# ---- in the child ------------------------------------------------------------------------------


def _status() -> dict[str, int]:
    """The sizes of this process in bytes, by the names that the system gives them."""
    with contextlib.suppress(OSError):
        lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
        return {line[0].rstrip(":"): int(line[1]) << 10 for line in lines if line[-1] == "kB"}
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, the other that zaro runs on
    return {"VmHWM": most, "VmRSS": most, "RssFile": 0, "VmSize": 0}


def _measured(work: Any, folder: Path, address: str) -> dict[str, Any]:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # let the high-water mark begin here
    before = _status()
    if before["VmSize"]:
        resource.setrlimit(resource.RLIMIT_AS, (before["VmSize"] + HARD_CAP,) * 2)
    try:
        work(folder, address)
        found: dict[str, Any] = {"what": "value"}
    except BaseException as err:  # whatever it is, it is the outcome
        found = {"what": "error", "kinds": [kind.__name__ for kind in type(err).__mro__], "text": str(err)}
        found["pickles"] = _comes_back(err)
        if os.environ.get("ZARO_TRUST_TRACE"):
            import traceback

            found["trace"] = traceback.format_exc()
    after = _status()
    # pages of libraries that were not touched before are nobody's allocation
    read_along = max(after["RssFile"] - before["RssFile"], 0)
    return {
        **found,
        "seconds": time.process_time(),
        "peak": max(after["VmHWM"] - before["VmRSS"] - read_along, 0),
    }


def _comes_back(err: BaseException) -> bool:
    try:
        again = pickle.loads(pickle.dumps(err))
    except Exception:
        return False
    return type(again) is type(err) and str(again) == str(err)


# ---- the process that forks --------------------------------------------------------------------


def _fork(work: Any, seconds: float, waits: float) -> dict[str, Any]:
    """Let a child work for so many seconds of the processor, and of the clock; say what became of it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
            answer = json.dumps(work()).encode()
            while answer:
                answer = answer[os.write(writer, answer) :]
            code = 0
        except BaseException as err:
            with contextlib.suppress(Exception):
                os.write(2, f"case: {err!r}\n".encode())
        finally:
            os._exit(code)
    os.close(writer)
    said, deadline = b"", time.monotonic() + waits
    with open(reader, "rb", buffering=0) as answers:
        while True:
            ready, _, _ = select.select([answers], [], [], max(deadline - time.monotonic(), 0))
            part = answers.read(1 << 16) if ready else None
            if not part:
                break
            said += part
    if part is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if part is None:
        return {"what": "hang", "text": f"no answer in {waits:g} s"}
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return {"what": "hang", "text": f"more than {seconds:g} s of the processor"}
    if os.WIFSIGNALED(status):
        return {"what": "crash", "text": f"signal {os.WTERMSIG(status)}"}
    return json.loads(said) if said else {"what": "crash", "text": f"exit {os.WEXITSTATUS(status)}"}


def serve() -> None:
    """Answer requests on standard input, a line of JSON each, until it ends."""
    import corpus  # and with it everything that is measured
    from cases import nothing

    corpus.warm()
    cases = {case.name: case for case in corpus.CASES}
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        case, folder, address = cases[asked["name"]], Path(asked["folder"]), asked["address"]
        made = (
            None
            if case.make is nothing
            else _fork(lambda c=case, f=folder: c.make(f) and None, FIXTURE_SECONDS, FIXTURE_WAITS)
        )
        if made is not None:
            found = {"what": "crash", "text": f"its material could not be made: {made}"}
        else:
            found = _fork(
                lambda c=case, f=folder, a=address: _measured(c.read, f, a), case.seconds, case.waits
            )
        print(json.dumps(found), flush=True)


# ---- in the test -------------------------------------------------------------------------------


class Cage:
    """The process that forks, seen from the tests."""

    def __init__(self) -> None:
        here = Path(__file__).parent
        paths = [str(here), str(here.parent / "stores"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            # nothing may be allocated ahead, by as many threads as there happen to be
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "MALLOC_ARENA_MAX": "2",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            [sys.executable, "-c", "import caged; caged.serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def run(self, name: str, folder: Path, address: str) -> dict[str, Any]:
        """Make the material of a case in `folder`, then read it; what came out, how much time and memory."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"name": name, "folder": str(folder), "address": address}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()
