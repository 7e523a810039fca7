"""Where and with what figures were measured: what every record of them begins with."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def record(packages):
    """Date, commit, machine, and the version of each package (None where it is missing)."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "machine": f"{_processor()}, {os.cpu_count()} CPUs, {_memory()}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in packages},
    }


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit():
    here = Path(__file__).parent
    found = subprocess.run(
        ["git", "rev-parse", "--short=10", "HEAD"], cwd=here, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or None


def _processor():
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory():
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (ValueError, OSError):
        return "memory unknown"
