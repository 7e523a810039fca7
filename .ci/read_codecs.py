"""Read an array of each codec that C decodes, with an installed zaro and nothing but what it needs."""

from __future__ import annotations

import json
import platform
import tempfile
import zlib
from pathlib import Path

import numcodecs
import numpy as np

import zaro
from zaro.versions import versions

CODECS = {
    "blosc": numcodecs.Blosc(),
    "lz4": numcodecs.LZ4(),
    "zlib": numcodecs.Zlib(),
    "zstd": numcodecs.Zstd(),
}


def main() -> None:
    """One chunk of each, behind bytes that are none of it."""
    values = np.arange(24, dtype="<i4").reshape(4, 6)
    refs: dict[str, object] = {".zgroup": '{"zarr_format":2}'}
    with tempfile.TemporaryDirectory() as folder:
        for name, codec in CODECS.items():
            stored = bytes(codec.encode(values))
            file = Path(folder) / f"{name}.bin"
            file.write_bytes(b"before" + stored + zlib.compress(b"behind"))
            zarray = {"zarr_format": 2, "shape": [4, 6], "chunks": [4, 6], "dtype": "<i4", "order": "C"}
            zarray |= {"compressor": codec.get_config(), "filters": None, "fill_value": 0}
            refs |= {f"{name}/.zarray": json.dumps(zarray), f"{name}/0.0": [str(file), 6, len(stored)]}
        group = zaro.open(refs)
        for name in CODECS:
            np.testing.assert_array_equal(group[name][...], values, err_msg=name)
    decoders = {name: versions()["decoders"][name] for name in CODECS}
    assert all(decoder.endswith("(C)") for decoder in decoders.values()), decoders
    print(f"python {platform.python_version()}, {Path(zaro.__file__).parent}: {decoders}")


if __name__ == "__main__":
    main()
