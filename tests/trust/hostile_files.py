"""Files of data that are damaged, for `zaro.scan`; names that would do something to a terminal or a page."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases import GOOD, Case, damaged, either, write_json
from hostile_stores import ARRAY

import zaro

CASES: list[Case] = []

# ---- scans -------------------------------------------------------------------------------------


def _hdf5(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        x = file.create_dataset("x", data=np.arange(400).reshape(20, 20), chunks=(5, 5), compression="gzip")
        x.attrs["units"] = "K"
        file.create_dataset("words", data=["abc", "de"], dtype=h5py.string_dtype())
        file.create_dataset("pairs", data=np.zeros(3, [("a", "i4"), ("b", "f8")]))
        file.create_group("g").create_dataset("y", data=np.arange(5.0))
        file["g"].attrs["x"] = x.ref
        file["soft"], file["hard"] = h5py.SoftLink("/x"), x


def _netcdf3(path: Path) -> None:
    from scipy.io import netcdf_file

    with netcdf_file(path, "w") as file:
        file.createDimension("t", None)
        file.createDimension("x", 5)
        file.createVariable("v", "f4", ("t", "x"))[0:3] = np.ones((3, 5))
        file.createVariable("w", "i2", ("x",))[:] = 1
        file.title = "a title"


def _tiff(path: Path) -> None:
    import tifffile

    tifffile.imwrite(path, np.arange(4096, dtype="u2").reshape(64, 64), tile=(16, 16), compression="zlib")


def _grib(path: Path) -> None:
    import eccodes

    handle = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    path.write_bytes(eccodes.codes_get_message(handle))


def _quiet() -> None:
    """Libraries of C say on standard error what they find, many times over."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def _scans(name: str, times: int) -> Callable[[Path, str], None]:
    """Scan a file again and again, its end missing or other bytes of it wrong: a set, or errors of zaro."""

    def read(folder: Path, address: str) -> None:
        _quiet()
        good = (folder / name).read_bytes()
        for seed in range(times):
            cut = good[: seed * 7919 % len(good)]
            (folder / name).write_bytes(cut if seed % 5 == 0 or name in OF_LIBRARIES else damaged(good, seed))
            with contextlib.suppress(zaro.ZaroError):
                zaro.scan(folder / name)

    return read


def _scan_is_good(name: str) -> Callable[[Path, str], None]:
    def read(folder: Path, address: str) -> None:
        assert len(zaro.scan(folder / name).arrays) > 0

    return read


MAKERS = {"a.h5": _hdf5, "a.nc": _netcdf3, "a.tif": _tiff, "a.grib2": _grib}
OF_LIBRARIES = {"a.h5", "a.grib2"}
"""Read by libraries of C, which hang or take gigabytes where some bytes are wrong: these are cut only."""
for name, maker in MAKERS.items():
    make = functools.partial(lambda folder, maker, name: maker(folder / name), maker=maker, name=name)
    CASES.append(Case(f"scan of {name}, good", make, _scan_is_good(name), GOOD, seconds=30))
    CASES.append(Case(f"scan of {name}, damaged", make, _scans(name, 150), GOOD, seconds=60))
for start in (
    b"\x89HDF\r\n\x1a\n",
    b"CDF\x01",
    b"CDF\x05",
    b"II*\0",
    b"MM\0+",
    b"GRIB",
    b"PK\x03\x04",
    b"nothing",
):
    CASES.append(  # noqa: PERF401
        Case(
            f"scan of a file that is {start!r} and zeros",
            lambda folder, start=start: (folder / "a.bin").write_bytes(start + bytes(3000)),
            lambda folder, address: zaro.scan(folder / "a.bin"),
            # of NetCDF classic and TIFF this is a whole file, of nothing
            either("ScanError", "a.bin"),
        )
    )

# ---- names, shown ------------------------------------------------------------------------------

ESCAPES = "\x1b]0;renamed\x07\x1b[31mred\x1b[2J\r\nline\u202e\x9b1m"
MARKUP = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


def _named(name: str) -> Callable[[Path], None]:
    """A set and a store in which everything that can be named has this name."""

    def make(folder: Path) -> None:
        attributes = {"_ARRAY_DIMENSIONS": [name], "title": name, name: name}
        below = name.replace("/", "")
        documents: dict[str, Any] = {
            ".zgroup": {"zarr_format": 2},
            ".zattrs": {name: name},
            f"{below}/.zarray": ARRAY,
            f"{below}/.zattrs": attributes,
        }
        write_json(folder / "store" / ".zmetadata", {"zarr_consolidated_format": 1, "metadata": documents})
        refs: dict[str, Any] = {key: json.dumps(document) for key, document in documents.items()}
        write_json(folder / "refs.json", {**refs, f"{below}/0": [name, 0, 16], name: [name]})
        write_json(folder / "broken.json", {f"{below}/0": [1, 2]})

    return make


def _says(*arguments: str) -> Callable[[Path, str], None]:
    """Run the command; whatever it prints moves no cursor and turns no writing."""
    from zaro.cli import main

    def read(folder: Path, address: str) -> None:
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            main([argument.format(folder) for argument in arguments])
        assert said.getvalue()
        assert all(line.isprintable() for line in said.getvalue().split("\n")), said.getvalue()
        assert "\nline" not in said.getvalue()

    return read


def _shows(folder: Path, address: str) -> None:
    """What people see of objects and errors at a prompt."""
    for target in ("store", "refs.json"):
        group = zaro.open(folder / target)
        texts = [repr(group), group.tree(), *(repr(node) for node in group.values())]
        for path in ("nothing", ESCAPES):
            try:
                next(iter(group.values()))[...]
                zaro.open(folder / target, path)
            except zaro.ZaroError as err:
                texts.append(str(err))
        assert len(texts) > 3
        assert all(line.isprintable() for text in texts for line in text.split("\n")), texts


for command in (
    ("ls", "{}/store"),
    ("info", "{}/store"),
    ("info", "{}/refs.json", ESCAPES),
    ("info", "{}/refs.json", "nothing"),
    ("ls", "{}/refs.json"),
    ("read", "{}/refs.json"),
    ("read", "{}/refs.json", ESCAPES),
    ("stats", "{}/refs.json"),
    ("verify", "{}/refs.json"),
    ("explain", "{}/refs.json", ESCAPES + "/0", ESCAPES, ESCAPES + "/9"),
    ("ls", "{}/broken.json"),
):
    label = " ".join(part.replace(ESCAPES, "ESCAPES") for part in command)
    CASES.append(Case(f"terminal, zaro {label}", _named(ESCAPES), _says(*command), GOOD))
CASES.append(Case("terminal, objects and errors", _named(ESCAPES), _shows, GOOD))


def _pages(folder: Path, address: str) -> None:
    for target in ("store", "refs.json"):
        group = zaro.open(folder / target)
        pages = [group._repr_html_(), *(node._repr_html_() for node in group.values())]
        assert MARKUP.replace("/", "")[:8] not in "".join(pages)
        assert "<img" not in "".join(pages)
        assert "&lt;script" in "".join(pages)


CASES.append(Case("notebook, HTML in names", _named(MARKUP), _pages, GOOD))
