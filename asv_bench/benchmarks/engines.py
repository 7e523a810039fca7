"""Who reads: each engine opens a store and gives back a function from selection to NumPy array.

Every engine gets the same number of threads, by the means that its documentation names.
"""

from __future__ import annotations

import os

import numpy as np

from .data import need


def zaro(path, threads):
    os.environ["ZARO_THREADS"] = str(threads)
    array = need("zaro").open(str(path))
    return lambda selection: array[selection]


def zarr_python(path, threads, pipeline="zarr.core.codec_pipeline.BatchedCodecPipeline"):
    zarr, blosc = need("zarr", "numcodecs.blosc")
    blosc.set_nthreads(threads)
    zarr.config.set({"threading.max_workers": threads, "codec_pipeline.path": pipeline})
    array = zarr.open_array(str(path), mode="r")
    return lambda selection: array[selection]


def zarrs(path, threads):
    need("zarrs")
    return zarr_python(path, threads, pipeline="zarrs.ZarrsCodecPipeline")


def tensorstore(path, threads):
    library = need("tensorstore")
    context = {
        "data_copy_concurrency": {"limit": threads},
        "file_io_concurrency": {"limit": threads},
        "cache_pool": {"total_bytes_limit": 0},
    }
    driver = "zarr3" if os.path.exists(os.path.join(path, "zarr.json")) else "zarr"
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": str(path)}}
    array = library.open(spec, read=True, context=library.Context(context)).result()
    return lambda selection: np.asarray(array[selection].read().result())


ENGINES = {"zarr-python": zarr_python, "zarrs": zarrs, "tensorstore": tensorstore, "zaro": zaro}
PACKAGES = {"zarr-python": "zarr", "zarrs": "zarrs", "tensorstore": "tensorstore", "zaro": "zaro"}
