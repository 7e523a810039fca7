"""The same arrays, as stores and as reference sets, at every kind of address."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from http_server import serving

from zaro.collector import still

KINDS = ["local", "http", "s3", "memory", "zip", "zip over http"]
STORES = ["v2", "v3", "v2-consolidated", "v3-consolidated"]


def values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.normal(280, 5, (50, 70)).astype("f4"),
        "deep/y": rng.integers(-100, 100, (4, 30, 20)).astype("<i2"),
        "scalar": np.array(7.5),
    }


def write(folder: Path) -> None:
    """Write the arrays below a folder in every way."""
    import h5py
    import zarr

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [*STORES, "sharded"]:
            group = zarr.open_group(folder / name, mode="w", zarr_format=2 if name.startswith("v2") else 3)
            for path, data in values().items():
                chunks = {0: (), 2: (16, 25), 3: (2, 7, 20)}[data.ndim]
                more = {}
                if name == "sharded" and data.ndim == 2:
                    chunks, more = (8, 25), {"shards": (16, 50)}
                group.create_array(path, data=data, chunks=chunks, attributes={"of": path}, **more)
            holes = group.create_array("holes", shape=(40,), chunks=(10,), dtype="i4", fill_value=-9)
            holes[10:20] = np.arange(10)
            words = group.create_array("words", shape=(9,), chunks=(4,), dtype=np.dtypes.StringDType())
            words[:] = [f"word {k}" for k in range(9)]
            if name.endswith("consolidated"):
                zarr.consolidate_metadata(folder / name)
    with h5py.File(folder / "data.h5", "w") as file:
        for path, data in values().items():
            how = {"chunks": True, "compression": "gzip", "shuffle": True} if data.ndim else {}
            file.create_dataset(path, data=data, **how)


def references(file: Path, url: str) -> dict[str, Any]:
    """A kerchunk document of an HDF5 file, as if the file lay at `url`."""
    from kerchunk.hdf import SingleHdf5ToZarr

    with warnings.catch_warnings(), still():
        warnings.simplefilter("ignore")
        found = SingleHdf5ToZarr(str(file), inline_threshold=0).translate()
    return json.loads(json.dumps(found).replace(json.dumps(str(file)), json.dumps(url)))


@dataclass
class Address:
    """Where the material lies: `spelled(name)` is the address of one store or file of it."""

    kind: str
    before: str
    after: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def spelled(self, name: str) -> str:
        return f"{self.before}{name}{self.after}"


def zipped(folder: Path, target: Path) -> Path:
    """Archive everything below a folder, every other file compressed."""
    with zipfile.ZipFile(target, "w") as archive:
        for k, path in enumerate(sorted(folder.rglob("*"))):
            how = zipfile.ZIP_DEFLATED if k % 2 else zipfile.ZIP_STORED
            archive.write(path, path.relative_to(folder), compress_type=how)
    return target


@contextlib.contextmanager
def s3_server() -> Iterator[str]:
    """The address of a moto server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(10)


def s3_options(endpoint: str) -> dict[str, Any]:
    return {
        "key": "nobody",
        "secret": "nothing",
        "client_kwargs": {"endpoint_url": endpoint, "region_name": "us-east-1"},
    }


def upload(folder: Path, url: str, **options: Any) -> None:
    """Copy everything below a folder to a URL."""
    import fsspec

    fs, root = fsspec.core.url_to_fs(url, **options)
    files = [path for path in folder.rglob("*") if path.is_file()]
    if url.startswith("s3://"):
        fs.call_s3("create_bucket", Bucket=root)
    fs.pipe({f"{root}/{path.relative_to(folder)}": path.read_bytes() for path in files})


@contextlib.contextmanager
def published(kind: str, folder: Path, spare: Path) -> Iterator[Address]:
    """Have a folder lie at an address of some kind."""
    with contextlib.ExitStack() as stack:
        if kind == "local":
            yield Address(kind, f"{folder}/")
        elif kind == "http":
            yield Address(kind, f"{stack.enter_context(serving(folder)).url}/")
        elif kind == "memory":
            upload(folder, "memory://material")
            yield Address(kind, "memory://material/")
        elif kind == "zip":
            yield Address(kind, "zip://", f"::{zipped(folder, spare / 'material.zip')}")
        elif kind == "zip over http":
            zipped(folder, spare / "material.zip")
            yield Address(kind, "zip://", f"::{stack.enter_context(serving(spare)).url}/material.zip")
        else:
            options = s3_options(stack.enter_context(s3_server()))
            upload(folder, "s3://material", **options)
            yield Address(kind, "s3://material/", options=options)


def copy(folder: Path, target: Path) -> Path:
    return Path(shutil.copytree(folder, target))
