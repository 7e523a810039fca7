"""The codec pipeline: what zarr-python reads and writes with it is what it does without."""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore

from zaro.zarr import CodecPipeline, ZaroStore

PIPELINE = {"codec_pipeline.path": "zaro.zarr.CodecPipeline"}
COMPRESSORS = [
    None,
    zarr.codecs.ZstdCodec(level=3),
    zarr.codecs.GzipCodec(),
    *[zarr.codecs.BloscCodec(cname=name, shuffle="shuffle") for name in ("lz4", "zstd", "zlib", "blosclz")],
    (zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()),
]
DTYPES = ["?", "i1", "<u2", ">i4", "i8", "f2", ">f4", "f8", "c8", "M8[s]", "m8[ms]", "S5", "U3"]
SELECTIONS = [
    ...,
    (slice(3, 20, 4), slice(None)),
    (5, slice(1, 9)),
    (slice(None), 7),
    (2, 3),
    (slice(-5, None), slice(0, 3)),
]


@pytest.fixture(params=["memory", "local", "other", "ZaroStore"])
def kept(request, tmp_path):
    """A store to write to, and the store to read it from."""
    if request.param == "memory":
        store = zarr.storage.MemoryStore()
        return store, store
    if request.param == "other":
        store = zarr.storage.WrapperStore(zarr.storage.MemoryStore())
        return store, store
    store = LocalStore(tmp_path / "kept")
    return store, ZaroStore(tmp_path / "kept") if request.param == "ZaroStore" else store


def values(dtype, shape=(23, 11)):
    rng = np.random.default_rng(1)
    if np.dtype(dtype).kind in "SU":
        return rng.integers(0, 10**5, shape).astype(dtype)
    if np.dtype(dtype).kind in "mM":
        return rng.integers(0, 10**9, shape).astype("i8").view(dtype)
    return (rng.normal(size=shape) * 100).astype(dtype)


def read_both(store, path, read):
    with zarr.config.set(PIPELINE):
        mine = read(zarr.open_array(store, path=path, mode="r"))
    return mine, read(zarr.open_array(store, path=path, mode="r"))


@pytest.mark.filterwarnings("ignore:The data type")
@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_pipeline_reads_every_type(version, dtype, kept):
    written, store = kept
    data = values(dtype)
    zarr.create_array(written, name="a", data=data, chunks=(5, 4), zarr_format=version)
    for selection in SELECTIONS:
        mine, theirs = read_both(store, "a", lambda array, s=selection: array[s])
        np.testing.assert_array_equal(mine, theirs)
        assert mine.dtype == theirs.dtype
    mine, theirs = read_both(store, "a", lambda array: array.oindex[[1, 20, 3], [True, False] * 5 + [True]])
    np.testing.assert_array_equal(mine, theirs)
    mine, theirs = read_both(store, "a", lambda array: array.vindex[[1, 20, 3], [0, 10, 3]])
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("compressors", COMPRESSORS, ids=str)
@pytest.mark.parametrize("shards", [None, (12, 12)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_pipeline_decodes_every_codec(compressors, shards, order, kept):
    written, store = kept
    data = values("f4")
    filters = [zarr.codecs.TransposeCodec(order=(1, 0))] if order == "F" else None
    zarr.create_array(
        written, name="a", data=data, chunks=(4, 4), shards=shards, compressors=compressors, filters=filters
    )
    mine, theirs = read_both(store, "a", lambda array: array[:])
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(mine, data)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("filters", [[], ["delta"], ["fixedscaleoffset", "shuffle"]])
def test_the_pipeline_decodes_filters_of_format_2(order, filters, kept):
    import numcodecs

    made = {
        "delta": numcodecs.Delta("i4"),
        "fixedscaleoffset": numcodecs.FixedScaleOffset(0, 1, "i4"),
        "shuffle": numcodecs.Shuffle(4),
    }
    written, store = kept
    data = values("i4")
    zarr.create_array(
        written, name="a", data=data, chunks=(5, 4), zarr_format=2, order=order,
        filters=[made[name] for name in filters] or None, compressors=numcodecs.LZ4(),
    )  # fmt: skip
    mine, theirs = read_both(store, "a", lambda array: array[:])
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(mine, data)
    assert mine.flags.f_contiguous == theirs.flags.f_contiguous


@pytest.mark.parametrize("version", [2, 3])
def test_the_pipeline_leaves_to_zarr_what_it_cannot_decode(version, kept):
    written, store = kept
    data = np.array(["a", "bcd", ""] * 5, dtype=np.dtypes.StringDType())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = zarr.create_array(written, name="a", shape=(15,), chunks=(4,), dtype=str, zarr_format=version)
        array[:] = data
        mine, theirs = read_both(store, "a", lambda array: array[:])
    np.testing.assert_array_equal(mine, theirs)


def test_the_pipeline_fills_what_is_absent(kept):
    written, store = kept
    array = zarr.create_array(written, name="a", shape=(20, 10), chunks=(4, 4), dtype="f4", fill_value=np.nan)
    array[5:9] = 1
    mine, theirs = read_both(store, "a", lambda array: array[:])
    np.testing.assert_array_equal(mine, theirs)


def test_the_pipeline_tells_which_chunks_are_absent(kept, monkeypatch):
    written, store = kept
    array = zarr.create_array(written, name="a", shape=(12,), chunks=(4,), dtype="f4", fill_value=1)
    array[4:8] = 2
    read, told = CodecPipeline.read, []

    async def listen(*args, **kwargs):
        told.append(await read(*args, **kwargs))
        return told[-1]

    monkeypatch.setattr(CodecPipeline, "read", listen)
    with zarr.config.set(PIPELINE):
        zarr.open_array(store, path="a", mode="r")[:]
    assert [[one["status"] for one in read] for read in told] == [["missing", "present", "missing"]]


def test_the_pipeline_writes_as_zarr_does(tmp_path):
    data = values("f4")
    stored = []
    for name, how in (("theirs", {}), ("mine", PIPELINE)):
        with zarr.config.set(how):
            array = zarr.create_array(str(tmp_path / name), shape=data.shape, chunks=(4, 4), dtype="f4")
            array[:] = data
            array[3:7, 2:9] = 5  # reads what is there
            array.append(data)
        root = tmp_path / name
        stored.append({p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()})
    assert stored[0] == stored[1]


def test_the_pipeline_names_what_is_corrupt(tmp_path):
    zarr.create_array(str(tmp_path / "a"), data=values("f4"), chunks=(8, 8))
    (tmp_path / "a" / "c" / "1" / "1").write_bytes(b"rubbish")
    with zarr.config.set(PIPELINE), pytest.raises(ValueError, match="zstd"):
        zarr.open_array(str(tmp_path / "a"), mode="r")[:]


def test_the_pipeline_is_found_by_name_alone(tmp_path):
    zarr.create_array(str(tmp_path / "a"), data=np.arange(10), chunks=(3,))
    code = f"""
import sys, zarr
zarr.config.set({PIPELINE!r})
array = zarr.open_array({str(tmp_path / "a")!r}, mode="r")
assert array[:].tolist() == list(range(10))
assert type(array._async_array.codec_pipeline) is sys.modules["zaro.zarr"].CodecPipeline
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_an_array_with_the_pipeline_pickles(tmp_path):
    zarr.create_array(str(tmp_path / "a"), data=np.arange(10), chunks=(3,))
    with zarr.config.set(PIPELINE):
        array = zarr.open_array(str(tmp_path / "a"), mode="r")
        array[:]
        assert pickle.loads(pickle.dumps(array))[:].tolist() == list(range(10))
