"""ZIP archives of stores, opened as files and through chains of file systems."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cases import GOOD, VALUES, Case, Promise, Read, either, error, reads, write_json
from hostile_stores import ARRAY, write

import zaro

CASES: list[Case] = []


def archive(
    name: str,
    promise: Promise,
    damage: Callable[[bytes], bytes] = bytes,
    *,
    packed: bool = False,
    read: Read | None = None,
    more: Callable[[zipfile.ZipFile], object] | None = None,
    **rest: Any,
) -> None:
    def make(folder: Path) -> None:
        write(folder)
        how = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with zipfile.ZipFile(folder / "store.zip", "w", how) as target:
            for path in sorted((folder / "store").rglob("*")):
                if path.is_file():
                    target.write(path, path.relative_to(folder / "store"))
            if more is not None:
                more(target)
        raw = (folder / "store.zip").read_bytes()
        (folder / "store.zip").write_bytes(damage(raw))

    CASES.append(Case(f"archive {name}", make, read or reads("store.zip"), promise, **rest))


def _everywhere(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda raw: raw.replace(old, new)


ZIP = "store.zip"
archive("as it should be", GOOD)
archive("that is packed", GOOD, packed=True)
archive("that breaks off", error("StoreError", ZIP), lambda raw: raw[: len(raw) // 2])
archive("without a directory", error("StoreError", ZIP), lambda raw: raw[: raw.index(b"PK\x01\x02")])
archive("whose chunk is damaged", error("ZaroError", "x/0"), _everywhere(VALUES[:4].tobytes(), b"\xff" * 16))
archive("whose members begin elsewhere", either("ZaroError", ZIP), lambda raw: raw[:20] + b"xxxx" + raw[20:])
archive(
    "whose local headers are gone",
    error("ZaroError", ZIP),
    lambda raw: b"PK\x03\x04" + raw[4:].replace(b"PK\x03\x04", b"XXXX"),
)
archive("of members that climb", GOOD, more=lambda target: target.writestr("../../evil/.zarray", "{}"))
archive(
    "of ten thousand members", GOOD, more=lambda target: [target.writestr(f"m{k}", b"") for k in range(10**4)]
)


def _promises(size: int) -> Callable[[bytes], bytes]:
    """Let the directory promise another size for the last member."""

    def damage(raw: bytes) -> bytes:
        at = raw.rindex(b"PK\x01\x02")
        return raw[: at + 24] + struct.pack("<I", size) + raw[at + 28 :]

    return damage


archive("whose member promises 3 GB", error("ZaroError", ZIP), _promises(3 << 30), packed=True)
archive("whose member promises a byte more", error("ZaroError", ZIP), _promises(17), packed=True)


def _zeros(target: zipfile.ZipFile) -> None:
    target.writestr("y/.zarray", json.dumps({**ARRAY, "shape": [4], "chunks": [4]}))
    with target.open("y/0", "w", force_zip64=True) as member:
        for _ in range(192):
            member.write(bytes(1 << 20))


archive(
    "whose chunk unpacks to very much",
    error("ZaroError", "y/0"),
    packed=True,
    more=_zeros,
    read=reads(ZIP, "y"),
    seconds=20,
)


# ---- what unpacks to much more than it is ------------------------------------------------------

ZEROS = 192 << 20


def _bomb(method: int, name: str = "y/0", fill: bytes = b"\0") -> Callable[[zipfile.ZipFile], object]:
    """Add an array `y` of four elements, or its document, as a member of very much of one byte."""

    def more(target: zipfile.ZipFile) -> None:
        if not name.endswith(".zarray"):
            target.writestr("y/.zarray", json.dumps({**ARRAY, "shape": [4], "chunks": [4]}))
        info = zipfile.ZipInfo(name)
        info.compress_type = method
        with target.open(info, "w", force_zip64=True) as member:
            for _ in range(ZEROS >> 20):
                member.write(fill * (1 << 20))

    return more


def _y(spelled: str) -> Read:
    return lambda folder, address: zaro.open(spelled.format(folder / ZIP), "y")[...]


METHODS = {"deflate": zipfile.ZIP_DEFLATED, "bzip2": zipfile.ZIP_BZIP2, "LZMA": zipfile.ZIP_LZMA}
BOMB, LIE = error("ChunkError", "y/0", ZIP), _promises(16)
for label, method in METHODS.items():
    archive(
        f"whose chunk of {label} unpacks to very much", BOMB, more=_bomb(method), read=_y("{}"), seconds=30
    )
    archive(
        f"whose chunk of {label} unpacks to very much, and lies about it",
        BOMB,
        LIE,
        more=_bomb(method),
        read=_y("{}"),
        seconds=30,
    )
    archive(
        f"in a chain, whose chunk of {label} unpacks to very much",
        BOMB,
        more=_bomb(method),
        read=_y("zip://::file://{}"),
        seconds=30,
    )
    archive(
        f"whose document of {label} unpacks to very much",
        error("StoreError", "y/.zarray"),
        more=_bomb(method, "y/.zarray", b" "),
        read=_y("{}"),
        seconds=30,
    )
    archive(
        f"in a chain, whose document of {label} unpacks to very much",
        error("StoreError", "y/.zarray"),
        more=_bomb(method, "y/.zarray", b" "),
        read=_y("zip://::file://{}"),
        seconds=30,
    )


def _pointed_at(method: int) -> Callable[[Path], object]:
    """A set whose chunk is a span far inside of a member that unpacks to very much."""

    def make(folder: Path) -> None:
        with zipfile.ZipFile(folder / ZIP, "w") as target:
            _bomb(method)(target)
        array = json.dumps({**ARRAY, "shape": [4], "chunks": [4]})
        write_json(
            folder / "refs.json", {"y/.zarray": array, "y/0": [f"zip://y/0::{folder / ZIP}", 160 << 20, 16]}
        )

    return make


for label, method in METHODS.items():
    promise = GOOD if label == "deflate" else error("ChunkError", "y/0", ZIP)
    CASES.append(
        Case(
            f"archive with a reference far into a member of {label}",
            _pointed_at(method),
            reads("refs.json", "y", expected=[0] * 4),
            promise,
            seconds=30,
        )
    )

for label, method in METHODS.items():
    archive(
        f"whose documents and chunks are packed with {label}",
        GOOD,
        lambda raw, m=method: _packed_again(raw, m),
    )


def _packed_again(raw: bytes, method: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(packed, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return packed.getvalue()


# ---- names ------------------------------------------------------------------------------------


def _deep(target: zipfile.ZipFile) -> None:
    """Names of thousands of folders each, all different: 10 GB of paths, were they spelled out."""
    for k in range(800):
        target.writestr("/".join(f"{k:x}{j:x}" for j in range(3000)), b"")


def _listed(folder: Path, address: str) -> None:
    assert zaro.list(str(folder / ZIP)) == {"/": "group", "x": "array"}


archive("of very deep names", GOOD, more=_deep, seconds=20)
archive("of very deep names, listed", GOOD, more=_deep, read=_listed, seconds=20)
ODD = ("../y/.zarray", "/y/.zarray", "x//y/.zarray", "./y/.zarray", "x/../../y/.zarray", "//y/.zarray")
archive(
    "of names that climb, listed",
    GOOD,
    more=lambda target: [target.writestr(name, json.dumps(ARRAY)) for name in ODD],
    read=_listed,
)
for name in ODD:
    archive(
        f"asked for {name.removesuffix('/.zarray')}",
        error("ZaroError", ZIP),
        more=lambda target, name=name: target.writestr(name.replace("y/", "z/"), json.dumps(ARRAY)),
        read=reads(ZIP, name.removesuffix("/.zarray")),
    )
