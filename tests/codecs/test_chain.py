"""What a codec list compiles to, and what is said of one that cannot be."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys

import numpy as np
import pytest
from chains import Codec, block, decode, make, same

from zaro._core.codec import Chain as Kernel
from zaro.codecs import providers, registry
from zaro.errors import CorruptChunkError, MetadataError, UnsupportedError

BYTES = ("bytes", {"endian": "little"})


def refused(codecs, dtype="<i2", shape=(4, 6), kind=MetadataError):
    with pytest.raises(kind) as raised:
        make(codecs, dtype, shape)
    assert raised.value.document == "a/zarr.json"
    return str(raised.value)


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        (
            {"level": "9"},
            'a/zarr.json: codecs[1].configuration.level is "9", expected an integer from 0 to 9',
        ),
        ({"level": 10}, "a/zarr.json: codecs[1].configuration.level is 10, expected an integer from 0 to 9"),
        (
            {"level": True},
            "a/zarr.json: codecs[1].configuration.level is true, expected an integer from 0 to 9",
        ),
        (
            {"level": None},
            "a/zarr.json: codecs[1].configuration.level is null, expected an integer from 0 to 9",
        ),
        (
            {"level": 1, "speed": 2},
            "a/zarr.json: codecs[1].configuration.speed is no member that gzip is known to have",
        ),
    ],
)
def test_a_wrong_member_is_named_with_what_was_expected(configuration, said):
    assert refused([BYTES, ("gzip", configuration)]) == said


@pytest.mark.parametrize(
    ("codec", "member"),
    [
        (("blosc", {"cname": "lzo"}), "cname"),
        (("blosc", {"shuffle": "yes"}), "shuffle"),
        (("blosc", {"typesize": -1}), "typesize"),
        (("zstd", {"checksum": 1}), "checksum"),
        (("zstd", {"level": 3.5}), "level"),
        (("numcodecs.lz4", {"acceleration": "x"}), "acceleration"),
        (("numcodecs.shuffle", {"elementsize": -2}), "elementsize"),
        (("numcodecs.crc32", {"location": "middle"}), "location"),
        (("numcodecs.lzma", {"format": 9}), "format"),
        (("numcodecs.lzma", {"format": 3, "filters": [{"id": "x"}]}), "filters"),
        (("numcodecs.delta", {"dtype": "no"}), "dtype"),
        (("numcodecs.delta", {"dtype": "|O"}), "dtype"),
        (("numcodecs.delta", {"dtype": "<i8", "astype": 5}), "astype"),
        (("numcodecs.fixedscaleoffset", {"dtype": "<f8", "offset": "0", "scale": 1}), "offset"),
        (("numcodecs.fixedscaleoffset", {"dtype": "<f8", "offset": 0, "scale": float("nan")}), "scale"),
        (("numcodecs.bitround", {"keepbits": -1}), "keepbits"),
    ],
)
def test_members_are_checked(codec, member):
    assert f"codecs[1].configuration.{member} is " in refused([BYTES, codec])


def test_a_member_that_lacks_is_named():
    said = "codecs[1].configuration lacks 'scale' of numcodecs.fixedscaleoffset, expected a number"
    assert said in refused([BYTES, ("numcodecs.fixedscaleoffset", {"dtype": "<i2"})])
    assert "lacks 'order'" in refused([("transpose", {}), BYTES])


@pytest.mark.parametrize("order", [[0], [0, 0], [0, 2], [1, -1], ["0", "1"], [0, True], "K", 3, None])
def test_an_order_that_is_no_permutation_is_refused(order):
    assert "expected a permutation of the axes 0 to 1" in refused([("transpose", {"order": order}), BYTES])


@pytest.mark.parametrize(
    ("codecs", "said"),
    [
        ([], "holds no codec that turns an array into bytes"),
        ([("transpose", {"order": [1, 0]})], "holds no codec that turns an array into bytes"),
        ([("gzip", {"level": 1})], "codecs[0] is gzip, but no codec before it turned the array into bytes"),
        ([BYTES, BYTES], "codecs[1] is bytes, but the array was turned into bytes before"),
        ([BYTES, ("transpose", {"order": [1, 0]})], "codecs[1] is transpose, but the array was turned"),
        ([("numcodecs.packbits", {}), BYTES], "packs booleans, but the elements are of type int16"),
        ([("numcodecs.delta", {"dtype": "<i4"}), BYTES], "expected <i2, the type of the elements"),
        ([BYTES, ("numcodecs.delta", {"dtype": "<i8"})], None),
    ],
)
def test_codecs_have_their_places(codecs, said):
    if said is None:
        assert make(codecs, "<i2", (4, 6))
        assert "hold a whole number" in refused(codecs, shape=(5, 5))
    else:
        assert said in refused(codecs)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nosuch", "names 'nosuch', a codec that neither zaro nor an installed package knows"),
        (
            "numcodecs.imagecodecs_nosuch",
            "which needs a package that is not installed: pip install imagecodecs",
        ),
        ("numcodecs.pickle", "runs code"),
    ],
)
def test_a_codec_that_cannot_be_decoded_is_named_and_its_package(name, said):
    assert said in refused([BYTES, (name, {})], kind=UnsupportedError)
    assert said in refused([(name, {})], kind=UnsupportedError)


def test_a_package_that_is_not_installed_is_named(monkeypatch):
    from numcodecs import registry

    monkeypatch.setattr(registry, "codec_registry", {})
    monkeypatch.setattr(registry, "entries", {})
    assert "pip install zfpy" in refused([BYTES, ("numcodecs.zfpy", {})], kind=UnsupportedError)
    assert "pip install pcodec" in refused([("numcodecs.pcodec", {})], kind=UnsupportedError)


def test_an_unknown_codec_that_need_not_be_understood_is_left_out():
    chain = make([Codec(*BYTES), Codec("nosuch", {}, must_understand=False)], "<i2", (3,))
    assert chain.kernel.steps == ()


def test_transposes_are_composed_and_move_no_bytes():
    values = block("<i4", (2, 3, 4))
    chain = make(
        [("transpose", {"order": [1, 2, 0]}), ("transpose", {"order": [2, 0, 1]}), BYTES], "<i4", (2, 3, 4)
    )
    assert chain.kernel.steps == ()
    stored = values.transpose(1, 2, 0).transpose(2, 0, 1)
    assert same(decode(chain, stored.tobytes(), "<i4", (2, 3, 4)), values)
    assert make([("transpose", {"order": [0, 1, 2]}), BYTES], "<i4", (2, 3, 4)).order is None
    assert make([("transpose", {"order": "F"}), BYTES], "<i4", (2, 3, 4)).order == (2, 1, 0)


@pytest.mark.parametrize(
    ("dtype", "width"),
    [
        ("<i2", 2),
        ("<f8", 8),
        ("<c8", 4),
        ("<c16", 8),
        ("<M8[s]", 8),
        ("<U5", 4),
        ("|S5", 0),
        ("|u1", 0),
        ("|V4", 0),
    ],
)
def test_bytes_are_swapped_by_the_part_that_has_an_order(dtype, width):
    expected = (("swap", {"width": width}),) if width else ()
    assert make([("bytes", {"endian": "big"})], dtype, (4,)).kernel.steps == expected
    assert make([("bytes", {"endian": "little"})], dtype, (4,)).kernel.steps == ()
    other = np.dtype(dtype).newbyteorder(">")
    assert make([("bytes", {"endian": "big"})], other, (4,)).kernel.steps == ()
    assert make([("bytes", {})], other, (4,)).kernel.steps == ()


def test_shards_are_handed_on():
    configuration = {"chunk_shape": [2, 2], "codecs": [], "index_codecs": []}
    chain = make([("sharding_indexed", configuration)], "<i2", (4, 4))
    assert chain.sharding == configuration
    assert chain.foreign == ()


def test_steps_up_to_the_last_that_c_lacks_run_in_python():
    codecs = [
        BYTES,
        ("numcodecs.shuffle", {"elementsize": 2}),
        ("numcodecs.bz2", {"level": 1}),
        ("gzip", {"level": 1}),
    ]
    chain = make(codecs, "<i2", (4, 6))
    assert [step.name for step in chain.foreign] == ["gzip", "numcodecs.bz2"]
    assert chain.kernel.steps == (("shuffle", {"width": 2}),)


def test_chains_pickle():
    chain = make([("transpose", {"order": [1, 0]}), BYTES, ("zstd", {"level": 3})], "<i2", (4, 6))
    again = pickle.loads(pickle.dumps(chain))
    assert again.kernel.steps == chain.kernel.steps
    assert again.order == chain.order


def test_the_failing_codec_is_named():
    chain = make([BYTES, ("numcodecs.bz2", {"level": 1})], "<i2", (4,))
    with pytest.raises(CorruptChunkError, match=r"numcodecs\.bz2: "):
        decode(chain, b"BZh9 no", "<i2", (4,))
    with pytest.raises(CorruptChunkError, match="crc32c: the checksum does not match"):
        decode(make([BYTES, ("crc32c", {})], "<i2", (4,)), b"x" * 12, "<i2", (4,))


def test_every_codec_has_a_provider():
    table = providers()
    assert table["blosc"].startswith("libblosc2 ")
    assert table["bytes"] == "zaro"
    assert table["pickle"].startswith("refused")
    assert all(isinstance(text, str) and text for text in table.values())


def test_an_environment_of_conda_has_the_library_beside_the_package(tmp_path, monkeypatch):
    library = tmp_path / "lib" / "libblosc2.so.7"
    library.parent.mkdir()
    library.touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert library not in set(registry._blosc_libraries())
    (tmp_path / "conda-meta").mkdir()
    assert list(registry._blosc_libraries())[-1] == library


@pytest.mark.parametrize(
    ("package", "functions"),
    [
        (
            "blosc",
            ["blosc2_decompress_ctx", "ZSTD_decompressDCtx", "ZSTD_getErrorCode", "LZ4_decompress_safe"],
        ),
        ("deflate", ["libdeflate_zlib_decompress_ex", "libdeflate_gzip_decompress_ex"]),
    ],
)
def test_packages_export_what_a_build_without_libraries_calls(package, functions):
    """Where this fails all is decoded in Python on machines without headers: right, and many times slower."""
    libraries = [ctypes.PyDLL(str(path)) for path in getattr(registry, f"_{package}_libraries")()]
    assert any(all(hasattr(library, name) for name in functions) for library in libraries)


def test_compiling_imports_neither_blosc2_nor_numcodecs():
    code = (
        "import sys, numpy as np\n"
        "from types import SimpleNamespace as C\n"
        "from zaro.codecs import compile_chain, providers\n"
        "codecs = [C(name='bytes', configuration={}), C(name='blosc', configuration={'cname': 'lz4'})]\n"
        "compile_chain(codecs, dtype=np.dtype('f4'), chunk_shape=(8,), document='zarr.json'); providers()\n"
        "print(sorted({'blosc2', 'numcodecs', 'zstandard', 'lz4'} & set(sys.modules)))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[]"


def test_kernel_chains_refuse_what_is_no_step():
    with pytest.raises(ValueError, match="no step is called"):
        Kernel([("nosuch", {})])
    with pytest.raises(ValueError, match="no parameter 'size'"):
        Kernel([("shuffle", {"size": 4})])
    with pytest.raises(ValueError, match="at most 32"):
        Kernel([("crc32c", {})] * 33)
    with pytest.raises(ValueError, match="a number of 1 to 8 bytes"):
        Kernel([("astype", {"source": "<c8", "target": "<f4"})])
