import zipfile

import numpy as np
import pytest

import zaro
from zaro.errors import StoreError
from zaro.stores.zip import ZipStore


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "a.zip"
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("plain", b"0123456789")
        archive.writestr("deep/er/packed", b"abc" * 1000, compress_type=zipfile.ZIP_DEFLATED)
        archive.writestr("deep/lzma", b"xyz" * 50, compress_type=zipfile.ZIP_LZMA)
        archive.mkdir("empty")
    return target


@pytest.fixture
def store(path):
    return ZipStore(path)


def test_members_are_keys(store):
    assert store.get("plain") == b"0123456789"
    assert store.get("deep/er/packed") == b"abc" * 1000
    assert store.get("deep/lzma") == b"xyz" * 50
    assert store.get_many(["none", "plain"]) == [None, b"0123456789"]
    assert store.get("empty/") is None


def test_names_are_listed_level_by_level(store):
    assert list(store.names("")) == ["deep", "plain"]
    assert list(store.names("deep")) == ["er", "lzma"]
    assert list(store.names("none")) == []


def test_parts_of_members_are_read(store):
    parts = [("plain", 2, 3), ("plain", -4, 4), ("deep/er/packed", 3, 4), ("none", 0, 1), ("plain", 8, None)]
    assert [None if one is None else bytes(one) for one in store.get_parts(parts)] == [
        b"234",
        b"6789",
        b"abca",
        None,
        b"89",
    ]


@pytest.mark.parametrize("part", [("plain", 8, 3), ("plain", -11, 11), ("deep/er/packed", 2999, 2)])
def test_a_part_past_the_end_is_an_error(store, part):
    with pytest.raises(StoreError, match="are needed"):
        store.get_parts([part])


def test_a_part_of_a_member_that_is_encrypted_or_of_another_size_is_an_error(path):
    for change, reason in (({"flag_bits": 1}, "is encrypted"), ({"file_size": 14}, "plain: ")):
        store = ZipStore(path)
        for name, value in change.items():
            setattr(store._members["plain"], name, value)
        with pytest.raises(StoreError, match=reason):
            store.get_parts([("plain", 2, 9)])


def test_a_member_before_the_archive_is_an_error(path):
    store = ZipStore(path)
    store._members["plain"].header_offset = -7
    with pytest.raises(StoreError, match=r"plain: the archive has \d+ bytes, not 30 from -7"):
        store.get("plain")


def test_a_damaged_member_is_an_error(path):
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"0123456789", b"0123456780"))
    with pytest.raises(StoreError, match=r"plain: its checksum"):
        ZipStore(path).get("plain")


def test_a_cut_archive_is_an_error(path):
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(StoreError, match="no archive"):
        ZipStore(path).get("plain")


def test_a_member_that_promises_too_much_is_an_error(path):
    store = ZipStore(path)
    store._members["deep/er/packed"].file_size = 10**9
    with pytest.raises(StoreError, match="promises 1000000000"):
        store.get("deep/er/packed")


def test_archives_are_known_by_their_first_bytes(path, tmp_path):
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(".zgroup", '{"zarr_format": 2}')
    path.rename(tmp_path / "unnamed")
    assert list(zaro.open(tmp_path / "unnamed")) == []


def test_a_store_that_zarr_wrote_is_read(tmp_path):
    import zarr

    data = np.arange(60.0).reshape(6, 10)
    with zarr.storage.ZipStore(tmp_path / "store.zip", mode="w") as store:
        zarr.create_array(store, name="x", data=data, chunks=(4, 3))
    np.testing.assert_array_equal(zaro.open(tmp_path / "store.zip")["x"][...], data)
