"""From stored bytes to values: whole arrays, and small parts of them."""

from __future__ import annotations

from pathlib import Path

from .data import Case, axis, field, write_store
from .engines import ZARR

CODECS = axis("none", "zstd", "blosc")
CHUNKS = axis("16KiB", "1MiB")
MBYTES = axis(4, 256)[-1]
THREADS = 2


class Read:
    """One array of float32. The size of a chunk is the axis that hurts: it says how many there are."""

    params = (list(ZARR), CODECS, CHUNKS)
    param_names = ("engine", "codec", "chunk")
    timeout = 300

    def setup_cache(self):
        folder = Path.cwd()
        data = field(MBYTES)
        for codec in CODECS:
            for chunk in CHUNKS:
                try:
                    write_store(folder / f"{codec}-{chunk}.zarr", Case(codec, chunk), data)
                except NotImplementedError:  # no zarr-python to write with: setup skips what is not there
                    return folder
        return folder

    setup_cache.timeout = 900

    def setup(self, folder, engine, codec, chunk):
        store = folder / f"{codec}-{chunk}.zarr"
        if not store.exists():
            raise NotImplementedError(f"{store.name} was not written")
        self.read = ZARR[engine](store, THREADS)
        self.read((0, 0, 0))

    def time_whole(self, folder, engine, codec, chunk):
        self.read(...)

    def peakmem_whole(self, folder, engine, codec, chunk):
        self.read(...)

    def time_profile(self, folder, engine, codec, chunk):
        self.read((slice(None), slice(100, 110), slice(200, 210)))
