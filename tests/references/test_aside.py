"""What killed writers leave is removed by the next one; what living writers hold is not."""

import fcntl
import os
import time

import pytest

import zaro
from zaro.references import aside

REFS = {".zgroup": '{"zarr_format": 2}', "note": "hello"}


def made_at(path, seconds, folder):
    """Something that a writer would leave, as if it had last been written to so long ago."""
    if folder:
        path.mkdir()
        (path / "refs.0.parq").write_bytes(b"half")
    else:
        path.write_bytes(b"half")
    os.utime(path, (time.time() - seconds,) * 2)
    return path


@pytest.mark.parametrize(("target", "ending"), [("set.json", "partial"), ("set.parquet", "new")])
def test_the_next_writer_removes_what_a_killed_one_left(tmp_path, target, ending):
    folder = ending == "new"
    old = made_at(tmp_path / f".{target}.0123456789ab.{ending}", 1000, folder)
    fresh = made_at(tmp_path / f".{target}.ba9876543210.{ending}", 1, folder)
    other = made_at(tmp_path / f".other{target}.0123456789ab.{ending}", 1000, folder)
    users = made_at(tmp_path / f".{target}.mine.{ending}", 1000, folder)
    held = made_at(tmp_path / f".{target}.ffffffffffff.{ending}", 1000, folder)
    handle = os.open(held, os.O_RDONLY)
    try:
        aside.hold(handle)
        zaro.References.open(REFS).save(tmp_path / target)
        assert not old.exists()
        assert all(one.exists() for one in (fresh, other, users, held))
    finally:
        os.close(handle)
    zaro.References.open(REFS).save(tmp_path / target)
    assert not held.exists()
    assert zaro.References.open(tmp_path / target)["note"] == b"hello"


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "kept").write_bytes(b"kept")
    os.utime(tmp_path / "kept", (0, 0))
    link = tmp_path / ".set.json.0123456789ab.partial"
    link.symlink_to("kept")
    aside.sweep(str(tmp_path / "set.json"), "partial")
    assert (tmp_path / "kept").read_bytes() == b"kept"


@pytest.mark.parametrize("target", ["set.json", "set.parquet"])
def test_who_writes_holds_what_it_writes(tmp_path, target, monkeypatch):
    seen = []

    def look(handle):
        names = [name for name in os.listdir(tmp_path) if name.startswith(".set")]
        for name in names:
            other = os.open(tmp_path / name, os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(other)
        seen.extend(names)

    monkeypatch.setattr(os, "fsync", look)
    zaro.References.open(REFS).save(tmp_path / target)
    assert seen
    assert os.listdir(tmp_path) == [target]
