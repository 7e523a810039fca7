"""The limit program: built once, and run on a store as the engines are."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np

from benchmarks.data import CHUNKS

SOURCE = Path(__file__).with_suffix(".c")
LIBRARIES = {"-DWITH_ZSTD": "-lzstd", "-DWITH_DEFLATE": "-ldeflate"}


def build(folder):
    """Path of the program, with the decoder libraries that this system has; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    program, has = folder / "limit", []
    base = [compiler, "-O3", "-pthread", str(SOURCE), "-o", str(program)]
    for define, library in LIBRARIES.items():
        if subprocess.run([*base, define, "-ldl", library], capture_output=True, check=False).returncode == 0:
            has += [define, library]
    subprocess.run([*base, "-ldl", *has], check=True)
    return program


def run(program, store, case, shape, *, threads, repeat):
    """Seconds of the best read, or why there is none."""
    if case.kind.endswith("sharded"):
        return "the limit program reads no shards"
    prefix, separator = {"v3": ("c/", "/"), "v2": ("", "."), "HDF5": (_spans(store), "spans")}[case.kind]
    codec = "shuffle-zlib" if case.kind == "HDF5" else case.codec
    sizes = [*shape, *CHUNKS[case.chunk]]
    command = [program, store, prefix, separator, codec, threads, repeat, _libblosc2(), *sizes]
    child = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    return float(child.stdout) / 1e3 if child.returncode == 0 else child.stderr.strip()


def _spans(store):
    """A file of the offset and length of every chunk, from the references beside an HDF5 file."""
    references = Path(f"{store}.json")
    if not references.exists():
        return ""
    refs = json.loads(references.read_text())["refs"]
    chunks = {tuple(map(int, key[2:].split("."))): span for key, span in refs.items() if key[2:3].isdigit()}
    spans = references.with_suffix(".spans")
    np.array([chunks[index][1:] for index in sorted(chunks)], np.int64).tofile(spans)
    return spans


def _libblosc2():
    found = importlib.util.find_spec("blosc2")
    folder = Path(found.origin).parent / "lib" if found and found.origin else Path()
    return next(folder.glob("libblosc2.so*"), "")
