"""Local stores, archives and files that are not what they should be."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import (
    ARRAY,
    GOOD,
    REFS,
    VALUES,
    Case,
    Make,
    Promise,
    Read,
    error,
    reads,
    same,
    write_chunks,
    write_json,
)

import zaro
import zaro.config

CASES: list[Case] = []

FILL = [-1] * 4 + VALUES[4:].tolist()
CHUNK = "ChunkError"


def write(folder: Path, **changes: Any) -> Path:
    """Write a store with the array `x`; gives the folder of the array."""
    root = folder / "store"
    write_json(root / ".zgroup", {"zarr_format": 2})
    write_json(root / "x" / ".zarray", {**ARRAY, **changes})
    write_chunks(root / "x")
    return root / "x"


def case(name: str, make: Make, promise: Promise, read: Read | None = None, **more: Any) -> None:
    CASES.append(Case(f"local, {name}", make, read or reads("store"), promise, **more))


def replaced(name: str, by: Callable[[Path], object]) -> Make:
    """The store, with something else in the place of one of its files."""

    def make(folder: Path) -> None:
        target = write(folder) / name
        target.unlink()
        by(target)

    return make


PIPE, FOLDER = os.mkfifo, Path.mkdir


def nowhere(target: Path) -> None:
    target.symlink_to("nowhere")


def itself(target: Path) -> None:
    target.symlink_to(target.name)


def empty(target: Path) -> None:
    target.write_bytes(b"")


def absent(target: Path) -> None:
    pass


def device(target: Path) -> None:
    target.symlink_to("/dev/zero")


def no_end(target: Path) -> None:
    target.symlink_to("/dev/urandom")


def good_link(target: Path) -> None:
    VALUES[:4].tofile(target.parent / "other")
    target.symlink_to("other")


def sparse(target: Path) -> None:
    with open(target, "wb") as file:
        file.truncate(1 << 40)


case("as it should be", write, GOOD)
case("a chunk that is absent", replaced("0", absent), GOOD, reads("store", expected=FILL))
case("a chunk behind a link", replaced("0", good_link), GOOD)
for label, by in {
    "a folder": FOLDER,
    "a pipe": PIPE,
    "a link to nowhere": nowhere,
    "a link to itself": itself,
    "no bytes": empty,
    "a device without end": device,
    "another device without end": no_end,
    "a sparse file of 2^40 bytes": sparse,
}.items():
    case(f"a chunk that is {label}", replaced("0", by), error(CHUNK, "x/0", "store"))
    if label != "no bytes":
        case(f"metadata that is {label}", replaced(".zarray", by), error("ZaroError", ".zarray"))
case("metadata that is no bytes", replaced(".zarray", empty), error("MetadataError", "x/.zarray"))
case("metadata that is absent", replaced(".zarray", absent), error("NodeNotFoundError", "x", "store"))


def python_chunks(name: str, by: Callable[[Path], object], promise: Promise) -> None:
    """The same for a codec that runs in Python."""

    def make(folder: Path) -> None:
        import bz2

        x = write(folder, compressor={"id": "bz2", "level": 1})
        for k in (0, 1):
            (x / f"{k}").write_bytes(bz2.compress((x / f"{k}").read_bytes()))
        if by is not absent or promise is not None:
            (x / "0").unlink()
            by(x / "0")

    case(f"a chunk of bz2 that is {name}", make, promise)


python_chunks("good", absent, GOOD)
for label, by in {
    "a folder": FOLDER,
    "a pipe": PIPE,
    "a link to nowhere": nowhere,
    "no bytes": empty,
    "a sparse file of 2^40 bytes": sparse,
    "a device without end": device,
}.items():
    python_chunks(label, by, error(CHUNK, "x/0", "store"))


def _cut_while_open(folder: Path, address: str) -> None:
    array = zaro.open(str(folder / "store"), "x")
    same(array[...], VALUES)
    os.truncate(folder / "store" / "x" / "0", 7)
    array[...]


case("a chunk that is cut while the array is open", write, error(CHUNK, "x/0"), _cut_while_open)


def _removed_while_open(path: str) -> Read:
    def act(folder: Path, address: str) -> None:
        array = zaro.open(str(folder / "store"), "x")
        shutil.rmtree(folder / path)
        array[...]

    return act


for what, path in {"a store": "store", "an array": "store/x"}.items():
    case(
        f"{what} that is removed while the array is open",
        write,
        error("StoreNotFoundError", path),
        _removed_while_open(path),
    )


def _only_consolidated(folder: Path) -> None:
    write(folder)
    root = folder / "store"
    members = {".zgroup": {"zarr_format": 2}, "x/.zarray": ARRAY}
    write_json(root / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": members})
    shutil.rmtree(root / "x")


case(
    "an array of which only the consolidated metadata is there",
    _only_consolidated,
    error("StoreNotFoundError", "store/x"),
)


def _root_is(kind: Callable[[Path], object]) -> Make:
    return lambda folder: kind(folder / "store")


for label, by in {
    "a pipe": PIPE,
    "a link to nowhere": nowhere,
    "a link to itself": itself,
    "a device": device,
    "absent": absent,
}.items():
    case(f"a target that is {label}", _root_is(by), error("StoreError", "store"))
case("a target that is an empty folder", _root_is(FOLDER), error("NodeNotFoundError", "store"))
case("a target that is an empty file", _root_is(empty), error("ZaroError", "store"))


def _loops(folder: Path) -> None:
    """Groups in groups without end, each behind two names."""
    write(folder)
    for name in ("a", "b", "c"):
        (folder / "store" / name).symlink_to(".")


def _lists(folder: Path, address: str) -> None:
    assert zaro.list(str(folder / "store"))["x"] == "array"


case("groups that hold themselves by links, listed", _loops, GOOD, _lists)
case(
    "groups that hold themselves by links, drawn",
    _loops,
    GOOD,
    lambda folder, address: zaro.open(str(folder / "store")).tree(),
)
case("groups that hold themselves by links, read", _loops, GOOD, reads("store", "a/b/c/x"))


def _climbing(folder: Path) -> None:
    """A store whose consolidated metadata names an array outside of it."""
    write(folder)
    secret = folder / "secret"
    secret.mkdir()
    VALUES.tofile(secret / "0")
    wide = {**ARRAY, "chunks": [8]}
    documents = {".zgroup": {"zarr_format": 2}, "../secret/.zarray": wide, "y/../../secret/.zarray": wide}
    write_json(folder / "store" / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents})


for path in ("../secret", "y/../../secret"):
    case(f"consolidated metadata that names {path}", _climbing, error("ZaroError"), reads("store", path))


def _climbing_v3(folder: Path) -> None:
    secret = folder / "secret" / "c"
    secret.mkdir(parents=True)
    VALUES.tofile(secret / "0")
    array = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [8],
        "data_type": "int32",
        "fill_value": 0,
        "attributes": {},
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
        "chunk_key_encoding": {"name": "default"},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
    }
    inline = {"kind": "inline", "must_understand": False, "metadata": {"../secret": array}}
    write_json(
        folder / "store" / "zarr.json",
        {"zarr_format": 3, "node_type": "group", "consolidated_metadata": inline},
    )


case(
    "consolidated metadata of v3 that names ../secret",
    _climbing_v3,
    error("ZaroError"),
    reads("store", "../secret"),
)
case("a path that climbs", write, error("ZaroError"), reads("store", "../store/x"))
case("a path with a NUL", write, error("NodeNotFoundError"), reads("store", "x\0"))
case("a path of a million letters", write, error("ZaroError"), reads("store", "x" * 10**6))


def _dangling_folder(folder: Path) -> None:
    """Chunks that should lie in a folder that is a link to nowhere."""
    x = write(folder, dimension_separator="/", shape=[2, 4], chunks=[1, 4])
    for k in (0, 1):
        (x / f"{k}").unlink()
        (x / f"{k}").symlink_to("nowhere")


case("chunks in a folder that is a link to nowhere", _dangling_folder, error(CHUNK, "x/0/0", "store"))


def _sparse_text(folder: Path) -> None:
    """A document of 2^40 bytes, of which the disk holds few."""
    with open(folder / "refs.json", "wb") as file:
        file.write(b'{"version":1,"refs":{"x/0":"')
        file.truncate(1 << 40)


case("a document of 2^40 bytes", _sparse_text, error("ZaroError", "refs.json"), reads("refs.json"))

# ---- the files of reference sets ---------------------------------------------------------------


def file_case(name: str, by: Callable[[Path], object], promise: Promise, read: Read | None = None) -> None:
    def make(folder: Path) -> None:
        write_json(folder / "refs.json", REFS)
        VALUES.tofile(folder / "data.bin")
        if by is not absent or promise is not None:
            (folder / "data.bin").unlink()
            by(folder / "data.bin")

    case(f"a referenced file that is {name}", make, promise, read or reads("refs.json"))


file_case("good", absent, GOOD)
for label, by in {
    "a folder": FOLDER,
    "a pipe": PIPE,
    "a link to nowhere": nowhere,
    "a link to itself": itself,
    "no bytes": empty,
    "a device without end": device,
}.items():
    file_case(label, by, error(CHUNK, "x/0", "data.bin"))
file_case("gone", lambda target: None, error(CHUNK, "x/0", "data.bin"))


def _fifo_document(folder: Path) -> None:
    os.mkfifo(folder / "refs.json")


case(
    "a document that is a pipe",
    _fifo_document,
    error("StoreError", "refs.json"),
    lambda folder, address: zaro.References.open(str(folder / "refs.json")),
)
case(
    "a document that is a folder",
    lambda folder: (folder / "refs.json").mkdir(),
    error("ZaroError", "refs.json"),
    reads("refs.json"),
)
case(
    "a document that is a link to nowhere",
    lambda folder: (folder / "refs.json").symlink_to("no"),
    error("StoreError", "refs.json"),
    reads("refs.json"),
)


def _linked_out(folder: Path) -> None:
    """A folder that may be reached, a link in it that leads out, and a document that goes back through it."""
    (folder / "open").mkdir()
    (folder / "deep" / "er").mkdir(parents=True)
    VALUES.tofile(folder / "deep" / "secret.bin")
    (folder / "open" / "link").symlink_to(folder / "deep" / "er")
    url = str(folder / "open" / "link" / ".." / "secret.bin")
    write_json(folder / "refs.json", {"x/.zarray": json.dumps({**ARRAY, "chunks": [8]}), "x/0": [url, 0, 32]})


def _allowed(folder: Path, address: str) -> None:
    zaro.open(str(folder / "refs.json"), "x", allow_targets=[f"{folder}/open"])[...]


case("a reference back through a link, out of what is allowed", _linked_out, error("ZaroError"), _allowed)
