"""Writing a set: at once or not at all, whatever happens meanwhile."""

import contextlib
import errno
import os
import random
import signal
import time

import numpy as np
import pytest
import scripts

import zaro
from zaro.errors import ReferenceSetError, StoreError

FORMATS = ["set.json", "set.json.gz", "set.json.zst", "set.parquet", "generator"]
N = 6_000


def made(mark, n=N):
    """A set of n chunks, whose every span begins at a multiple of `mark`."""
    import json

    array = {
        "zarr_format": 2,
        "shape": [n],
        "chunks": [1],
        "dtype": "|u1",
        "compressor": None,
        "filters": None,
        "order": "C",
        "fill_value": 0,
    }
    rng = np.random.default_rng(mark)
    refs = {f"x/{k}": ["/data/a.bin", mark * int(at), 1] for k, at in enumerate(rng.integers(0, 2**40, n))}
    return zaro.References.open(
        {"x/.zarray": json.dumps(array), "x/.zattrs": json.dumps({"mark": mark}), **refs}
    )


def save(refs, folder, kind):
    name = "set.json" if kind == "generator" else kind
    how = {"record_size": 500} if kind.endswith("parquet") else {}
    refs.save(folder / name, format="generator" if kind == "generator" else None, **how)
    return folder / name


def check(path):
    """The mark of a set all of whose chunks have it."""
    refs = zaro.References.open(path)
    mark = int(refs.metadata["x/.zattrs"].decode().split(":")[1].strip(" }"))
    located = refs.locate("x", np.arange(N))
    assert (located.file_id >= 0).all()
    assert (located.offset % mark == 0).all()
    return mark


SAVES = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, {here!r})
import test_writers
from zaro.errors import StoreError
"""


def script(body):
    return SAVES.format(here=str(scripts.HERE)) + body


@pytest.mark.parametrize("kind", FORMATS)
def test_a_disk_that_is_full_leaves_the_old_set(tmp_path, kind):
    path = save(made(7), tmp_path, kind)
    before = sorted(os.listdir(tmp_path))
    body = """
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
refs = test_writers.made(11)
resource.setrlimit(resource.RLIMIT_FSIZE, (1200, 1200))  # less than any of the files has
try:
    test_writers.save(refs, Path(sys.argv[1]), sys.argv[2])
except StoreError as err:
    print(err)
"""
    said = scripts.finished(script(body), tmp_path, kind)
    assert path.name in said
    assert "cannot be written: File too large" in said
    assert check(path) == 7
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("kind", FORMATS)
def test_a_disk_that_is_full_at_the_last_moment_leaves_the_old_set(tmp_path, kind, monkeypatch):
    path = save(made(7), tmp_path, kind)
    before = sorted(os.listdir(tmp_path))

    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=rf"{path.name}.*No space left"):
        save(made(11), tmp_path, kind)
    monkeypatch.undo()
    assert check(path) == 7
    assert sorted(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_that_may_not_be_written_is_an_error(tmp_path, kind):
    path = save(made(7), tmp_path, kind)
    body = """
import os, tempfile
refs = test_writers.made(11)
with tempfile.TemporaryDirectory() as elsewhere:  # all modules are loaded before they may be out of reach
    test_writers.save(refs, Path(elsewhere), sys.argv[2])
if os.geteuid() == 0:  # whom nothing is forbidden
    os.seteuid(65534)
try:
    test_writers.save(refs, Path(sys.argv[1]), sys.argv[2])
except StoreError as err:
    print(err)
"""
    tmp_path.chmod(0o555)
    for above in list(tmp_path.parents)[:3]:
        with contextlib.suppress(OSError):
            above.chmod(0o755)
    try:
        said = scripts.finished(script(body), tmp_path, kind)
    finally:
        tmp_path.chmod(0o755)
    assert path.name in said
    assert "ermission denied" in said
    assert check(path) == 7


@pytest.mark.parametrize("kind", FORMATS)
def test_a_writer_that_is_killed_leaves_the_old_set_or_the_new(tmp_path, kind):
    path = save(made(7), tmp_path, kind)
    body = """
sets = [test_writers.made(7), test_writers.made(11)]
print("begin", flush=True)
while True:
    for refs in sets:
        test_writers.save(refs, Path(sys.argv[1]), sys.argv[2])
"""
    chance, seen = random.Random(0), set()
    for _ in range(3):
        writer = scripts.started(script(body), tmp_path, kind)
        assert writer.stdout.readline() == "begin\n"
        time.sleep(chance.uniform(0.02, 0.3))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        seen.add(check(path))
    assert seen <= {7, 11}
    assert check(save(made(7), tmp_path, kind)) == 7  # what was left lying about is in nobody's way


@pytest.mark.parametrize("kind", FORMATS)
def test_who_reads_meanwhile_sees_the_old_set_or_the_new(tmp_path, kind):
    path = save(made(7), tmp_path, kind)
    body = """
sets = [test_writers.made(11), test_writers.made(7)]
print("begin", flush=True)
for _ in range(6):
    for refs in sets:
        test_writers.save(refs, Path(sys.argv[1]), sys.argv[2])
print("end", flush=True)
"""
    writer = scripts.started(script(body), tmp_path, kind)
    assert writer.stdout.readline() == "begin\n"
    seen, told = set(), 0
    while writer.poll() is None:
        try:
            seen.add(check(path))
        except ReferenceSetError as err:  # the folder that was opened is gone
            assert kind == "set.parquet"
            assert "open it again" in str(err)  # noqa: PT017
            told += 1
    said, complaints = writer.communicate()
    assert (writer.returncode, said, complaints) == (0, "end\n", "")
    assert seen <= {7, 11}
    assert seen
    assert check(path) == 7
    assert sorted(os.listdir(tmp_path)) == [path.name]


def test_a_set_that_cannot_be_read_is_no_failure_of_the_disk(tmp_path):
    refs = zaro.References.open(save(made(7), tmp_path, "set.parquet"))
    (tmp_path / "set.parquet" / "x" / "refs.3.parq").write_bytes(b"nothing")
    for kind in ("copy.json", "copy.parquet"):
        with pytest.raises(ReferenceSetError, match=r"refs\.3\.parq"):
            refs.save(tmp_path / kind)
    assert sorted(os.listdir(tmp_path)) == ["set.parquet"]
