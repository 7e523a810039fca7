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


def zaro_by_references(path, threads):
    os.environ["ZARO_THREADS"] = str(threads)
    array = need("zaro").open(f"{path}.json")["x"]
    return lambda selection: array[selection]


def kerchunk(path, threads):
    zarr, fsspec = need("zarr", "fsspec")
    need("fsspec.implementations.reference")
    zarr.config.set({"threading.max_workers": threads})
    files = fsspec.filesystem("reference", fo=f"{path}.json", asynchronous=True, skip_instance_cache=True)
    array = zarr.open_group(zarr.storage.FsspecStore(files), mode="r", zarr_format=2)["x"]
    return lambda selection: array[selection]


def h5py(path, threads):  # which reads on one thread, whatever it is given
    array = need("h5py").File(path, rdcc_nbytes=0)["x"]  # no engine keeps blocks from read to read
    return lambda selection: array[selection]


def hidefix(path, threads):  # takes its number of threads from RAYON_NUM_THREADS
    array = need("hidefix").Index(str(path)).dataset("x", None)
    shape = need("h5py").File(path)["x"].shape
    return lambda selection: array[tuple(map(slice, shape)) if selection is ... else selection]


ZARR = {"zarr-python": zarr_python, "zarrs": zarrs, "tensorstore": tensorstore, "zaro": zaro}
HDF5 = {"h5py": h5py, "hidefix": hidefix, "kerchunk": kerchunk, "zaro": zaro_by_references}
PACKAGES = {"zarr-python": "zarr"}
"""Names of packages that differ from the engine's."""
