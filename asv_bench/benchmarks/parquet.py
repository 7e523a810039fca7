"""Reference sets in Parquet: opened, asked, written; zaro beside fsspec, whose format it is."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .data import axis, need
from .generators import contents

CHUNKS = axis(10_000, 1_000_000, 10_000_000)


class Folders:
    """A folder of partitions. Opening must not follow the number of references."""

    params = (["zaro", "fsspec"], CHUNKS)
    param_names = ("engine", "references")
    timeout = 600

    def setup_cache(self):
        need("pyarrow")
        writer = need("zaro.references.parquet_writer")
        for chunks in CHUNKS:
            writer.write(contents(chunks, 0.6), Path.cwd() / f"{chunks}.parquet")
        return Path.cwd()

    setup_cache.timeout = 900

    def open(self, folder, engine, references):
        address = str(folder / f"{references}.parquet")
        if engine == "zaro":
            return need("zaro").References.open(address)
        mapper, fsspec = need("fsspec.implementations.reference", "fsspec")
        found = mapper.LazyReferenceMapper(address, fs=fsspec.filesystem("file"), engine="pyarrow")
        found.setup()
        return found

    def setup(self, folder, engine, references):
        self.set = self.open(folder, engine, references)
        # in 10 partitions, which fsspec keeps too
        rng = np.random.default_rng(2)
        self.keys = [f"lst/{n}" for n in rng.integers(0, min(references, 1_000_000), 1000)]
        self.time_look_up_1000_keys(folder, engine, references)

    def time_open(self, folder, engine, references):
        self.open(folder, engine, references)

    def time_open_and_one_key(self, folder, engine, references):
        self.open(folder, engine, references).get(self.keys[0])

    def time_look_up_1000_keys(self, folder, engine, references):
        for key in self.keys:
            self.set.get(key)


class Columns:
    """Columns out of partitions, and into them."""

    params = axis(10_000, 1_000_000)
    param_names = ("references",)
    timeout = 300

    def setup(self, references):
        need("pyarrow")
        self.writer, self.parquet = need("zaro.references.parquet_writer", "zaro.references.parquet")
        self.whole = contents(references, 0.6)
        self.files = {}
        self.time_write(references)
        self.ids = np.arange(references)
        self.warm = self.parquet.read_folder(self.fetch).tables["lst"]
        self.warm.locate(self.ids)

    def fetch(self, key):
        try:
            return (Path("set.parquet") / key).read_bytes()
        except FileNotFoundError:
            return None

    def time_write(self, references):
        self.writer.write(self.whole, "set.parquet")

    def time_locate_all_cold(self, references):
        self.parquet.read_folder(self.fetch).tables["lst"].locate(self.ids)

    def time_locate_all_warm(self, references):
        self.warm.locate(self.ids)
