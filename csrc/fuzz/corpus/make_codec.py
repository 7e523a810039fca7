"""Make the first inputs of fuzz_codec: one chunk per decoder, as numcodecs writes it.

Input: number of steps; per step kind, width, two types; 2 bytes of block size; the stored bytes.
"""

from pathlib import Path

import numcodecs
import numpy as np

BLOCK = np.arange(96, dtype="<i4") // 7
KINDS = {
    "blosc": (
        0,
        [
            numcodecs.Blosc(cname, 5, shuffle)
            for cname in ("blosclz", "lz4", "zlib", "zstd")
            for shuffle in (0, 1, 2)
        ],
    ),
    "zstd": (1, [numcodecs.Zstd(3), numcodecs.Zstd(3, checksum=True)]),
    "lz4": (2, [numcodecs.LZ4()]),
    "zlib": (3, [numcodecs.Zlib(6), numcodecs.Zlib(0)]),
    "gzip": (4, [numcodecs.GZip(6)]),
    "shuffle": (12, [numcodecs.Shuffle(4)]),
}


def main() -> None:
    folder = Path(__file__).parent / "codec"
    folder.mkdir(exist_ok=True)
    for name, (kind, encoders) in KINDS.items():
        for k, encoder in enumerate(encoders):
            head = bytes([1, kind, 4, 3, 3]) + BLOCK.nbytes.to_bytes(2, "big")
            (folder / f"{name}_{k}").write_bytes(head + bytes(encoder.encode(BLOCK)))
    hdf5 = numcodecs.Fletcher32().encode(numcodecs.Zlib(4).encode(numcodecs.Shuffle(4).encode(BLOCK)))
    head = bytes([4, 11, 1, 0, 0, 3, 1, 0, 0, 12, 4, 0, 0, 14, 0, 3, 3]) + BLOCK.nbytes.to_bytes(2, "big")
    (folder / "hdf5").write_bytes(head + bytes(hdf5))


if __name__ == "__main__":
    main()
