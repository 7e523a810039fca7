"""From a chunk's key to its file and span: zaro beside fsspec, on which kerchunk stands."""

from __future__ import annotations

import numpy as np

from .data import Documents, need


class LookUp(Documents):
    """A kerchunk document (JSON), opened and asked for keys."""

    params = (["zaro", "fsspec"], Documents.references)
    param_names = ("engine", "references")

    def open(self, folder, engine, references):
        document = str(folder / f"{references}.json")
        if engine == "zaro":
            return need("zaro").References.open(document)
        return need("fsspec").filesystem("reference", fo=document, skip_instance_cache=True).references

    def setup(self, folder, engine, references):
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


class Locate(Documents):
    """Where all chunks of one array lie, as columns."""

    params = Documents.references
    param_names = ("references",)

    def setup(self, folder, references):
        self.array = need("zaro").open(str(folder / f"{references}.json"))["var0"]
        self.ids = np.arange(
            np.prod([-(-s // c) for s, c in zip(self.array.shape, self.array.chunks, strict=True)])
        )

    def time_locate_all(self, folder, references):
        self.array.locate(self.ids)
