"""From stored bytes to a block, one thread: zaro's chain beside numcodecs. Small chunks are what hurts."""

from __future__ import annotations

import numpy as np

from .data import need

CHAINS = {
    "zlib": (("numcodecs.zlib", {"level": 4}),),
    "hdf5": (("numcodecs.shuffle", {"elementsize": 4}), ("numcodecs.zlib", {"level": 4})),
    "hdf5 checked": (
        ("numcodecs.shuffle", {"elementsize": 4}),
        ("numcodecs.zlib", {"level": 4}),
        ("numcodecs.fletcher32", {}),
    ),
    "zstd": (("numcodecs.zstd", {"level": 3}),),
    "lz4": (("numcodecs.lz4", {}),),
    "blosc lz4": (("numcodecs.blosc", {"cname": "lz4", "clevel": 5, "shuffle": 1}),),
    "blosc zstd": (("numcodecs.blosc", {"cname": "zstd", "clevel": 5, "shuffle": 1}),),
    "shuffle": (("numcodecs.shuffle", {"elementsize": 4}),),
    "packed int16": (
        ("numcodecs.fixedscaleoffset", {"offset": 280, "scale": 100, "dtype": "<f4", "astype": "<i2"}),
        ("numcodecs.zlib", {"level": 4}),
    ),
}


class Decode:
    """One mebibyte of temperatures, in chunks of `nbytes`."""

    params = (["zaro", "numcodecs"], list(CHAINS), [1 << 14, 1 << 20])
    param_names = ("engine", "chain", "nbytes")

    def setup(self, engine, chain, nbytes):
        codecs = CHAINS[chain]
        encoders = [
            need("numcodecs").get_codec({"id": name.removeprefix("numcodecs."), **configuration})
            for name, configuration in codecs
        ]
        rng = np.random.default_rng(0)
        stored = (
            (280 + 10 * np.sin(np.arange(nbytes // 4) / 50) + rng.normal(size=nbytes // 4))
            .astype("f4")
            .round(2)
        )
        for encoder in encoders:
            stored = encoder.encode(stored)
        self.stored = np.asarray(bytearray(stored))
        self.chunks = range((1 << 20) // nbytes)
        self.decode = zaro(codecs, nbytes) if engine == "zaro" else in_turn(encoders[::-1])

    def time_decode(self, engine, chain, nbytes):
        for _ in self.chunks:
            self.decode(self.stored)


def zaro(codecs, nbytes):
    from zaro._core.codec import Decoder
    from zaro.codecs import compile_chain
    from zaro.metadata.model import Codec

    entries = [Codec("bytes", {"endian": "little"}), *(Codec(*one) for one in codecs)]
    chain = compile_chain(entries, dtype=np.dtype("<f4"), chunk_shape=(nbytes // 4,), document=".zarray")
    decoder = Decoder()
    return lambda stored: chain.kernel.decode(chain.run_foreign(stored), nbytes, decoder)


def in_turn(decoders):
    def decode(stored):
        for decoder in decoders:
            stored = decoder.decode(stored)
        return stored

    return decode
