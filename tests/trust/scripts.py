"""Python programs that tests run in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def started(script: str, *arguments: object, **how: Any) -> subprocess.Popen[str]:
    """Start a script, which finds the tests' modules and takes warnings for errors."""
    paths = [str(HERE), str(HERE.parent / "stores"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script), *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # stderr is buffered, as users have it
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": ""},
        **how,
    )


def finished(script: str, *arguments: object, seconds: float = 120) -> str:
    """Run a script to its end; what it printed. That it failed, complained or hung is an error."""
    process = started(script, *arguments)
    try:
        said, complaints = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        said, complaints = process.communicate()
        raise AssertionError(f"hangs; it said {said!r} and {complaints!r}") from None
    assert (process.returncode, complaints) == (0, ""), (said, complaints)
    return said
