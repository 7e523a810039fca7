"""The generator syntax: unpacked, asked for chunks, packed; the share of exceptions is what hurts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from .data import axis, need

CHUNKS = axis(10_000, 1_000_000, 10_000_000)
SHARES = axis(0.0, 0.1, 0.6)
FILES = 1000


def columns(chunks, share, seed=0):
    """File, offset and length of every chunk: in files, chunks of one length but for a share of them."""
    rng = np.random.default_rng(seed)
    length = np.full(chunks, 4000)
    odd = rng.random(chunks) < share
    length[odd] = rng.integers(100, 8000, int(odd.sum()))
    file = np.arange(chunks) * FILES // chunks
    offset = np.cumsum(length) - length
    offset -= offset[np.searchsorted(file, file)] - 20480
    file[rng.random(chunks) < share / 10] = -1
    return file.astype(np.int32), offset, length


def contents(chunks, share, variables=("lst",)):
    """A reference set of those columns, for each variable."""
    from zaro.references.contents import Contents
    from zaro.references.table import DenseTable

    zarray = {"zarr_format": 2, "shape": [chunks], "chunks": [1], "dtype": "<i2", "compressor": None}
    zarray |= {"filters": None, "fill_value": 0, "order": "C"}
    names = [f"/archive/daily/product-{k:06d}.nc" for k in range(FILES)]
    return Contents(
        metadata={f"{name}/.zarray": json.dumps(zarray).encode() for name in variables},
        tables={name: DenseTable(*columns(chunks, share, k), names) for k, name in enumerate(variables)},
    ).complete()


class Unpack:
    """Nothing but the kernel's work: the index, all spans, and chosen ones."""

    params = (CHUNKS, SHARES)
    param_names = ("chunks", "share of exceptions")
    timeout = 300

    def setup(self, chunks, share):
        pack, generator = need("zaro.references.pack", "zaro.references.generator")
        whole = contents(chunks, share)
        gen = json.loads(b"".join(pack.pieces(whole)))["gen"]
        self.arguments = gen, whole.metadata
        self.read = generator.read
        self.table = self.read(*self.arguments)["lst"]
        self.all = np.arange(chunks)
        self.some = np.sort(np.random.default_rng(1).integers(0, chunks, 1000))

    def time_index(self, chunks, share):
        self.read(*self.arguments)

    def time_unpack(self, chunks, share):
        self.table.generator.unpack()

    def time_locate_all(self, chunks, share):
        self.table.locate(self.all)

    def time_locate_1000(self, chunks, share):
        self.table.locate(self.some)

    def time_look_up_1000(self, chunks, share):
        for chunk in self.some.tolist():
            self.table.reference(chunk)

    def track_index_nbytes(self, chunks, share):
        return self.table.generator.index.nbytes

    track_index_nbytes.unit = "bytes"


class Documents:
    """Written and opened, plain and compact; `json.load` of the same document beside it."""

    params = (["plain", "compact"], axis(10_000, 600_000), SHARES)
    param_names = ("spelling", "chunks of each of 3 variables", "share of exceptions")
    timeout = 300

    def setup(self, spelling, chunks, share):
        self.pack, self.references = need("zaro.references.pack"), need("zaro").References
        self.whole = contents(chunks, share, ("lst", "unc", "n"))
        self.path, self.key = Path("packed.json"), f"n/{chunks // 2}"
        self.time_pack(spelling, chunks, share)

    def time_pack(self, spelling, chunks, share):
        self.pack.write(self.whole, self.path, compact=spelling == "compact")

    def time_open_and_one_chunk(self, spelling, chunks, share):
        self.references.open(self.path).get(self.key)

    def time_json_load(self, spelling, chunks, share):
        with self.path.open() as file:
            json.load(file)

    def peakmem_open(self, spelling, chunks, share):
        self.kept = self.references.open(self.path)

    def track_nbytes(self, spelling, chunks, share):
        return self.path.stat().st_size

    track_nbytes.unit = "bytes"
