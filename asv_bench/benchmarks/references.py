"""From a chunk's key to its file and span: zaro beside fsspec, on which kerchunk stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .data import axis, need, write_references

CHUNKS = axis(10_000, 100_000, 1_000_000)


class Documents:
    """A kerchunk document (JSON). The number of references is the axis that hurts."""

    params = (["zaro", "fsspec"], CHUNKS)
    param_names = ("engine", "references")
    timeout = 300

    def setup_cache(self):
        for chunks in CHUNKS:
            write_references(Path.cwd() / f"{chunks}.json", chunks)
        return Path.cwd()

    setup_cache.timeout = 900

    def open(self, folder, engine, references):
        document = str(folder / f"{references}.json")
        if engine == "zaro":
            return need("zaro").References.open(document)
        return need("fsspec").filesystem("reference", fo=document, skip_instance_cache=True).references

    def setup(self, folder, engine, references):
        need("zaro" if engine == "zaro" else "fsspec")
        if engine == "zaro" and not hasattr(need("zaro"), "References"):
            raise NotImplementedError("this version has no References")
        self.set = self.open(folder, engine, references)
        steps = references // 3 // 32
        self.keys = [f"var0/{n}.{n % 4}.{n % 8}" for n in np.random.default_rng(2).integers(0, steps, 1000)]

    def time_open(self, folder, engine, references):
        self.open(folder, engine, references)

    def peakmem_open(self, folder, engine, references):
        self.again = self.open(folder, engine, references)

    def time_look_up_1000_keys(self, folder, engine, references):
        for key in self.keys:
            self.set[key]


class Locate:
    """Where all chunks of one array lie, as columns."""

    params = CHUNKS
    param_names = ("references",)

    def setup_cache(self):
        for chunks in CHUNKS:
            write_references(Path.cwd() / f"{chunks}.json", chunks)
        return Path.cwd()

    setup_cache.timeout = 900

    def setup(self, folder, references):
        self.array = need("zaro").open(str(folder / f"{references}.json"))["var0"]
        self.ids = np.arange(
            np.prod([-(-s // c) for s, c in zip(self.array.shape, self.array.chunks, strict=True)])
        )

    def time_locate_all(self, folder, references):
        self.array.locate(self.ids)
