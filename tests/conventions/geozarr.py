"""Stores that follow GeoZarr conventions, or nearly, written with zarr-python; and how to open them."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from zaro.errors import XGroupNoPrincipalWarning

UUIDS = {
    "cs": "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
    "spatial": "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    "ref": "d89b30cf-ed8c-43d5-9a16-b492f0cd8786",
    "proj": "f17cb550-5864-4468-aeb7-f3180cfb622f",
    "uom": "3bbe438d-df37-49fe-8e2b-739296d46dfb",
    "geolocation": "bb9ee930-8c60-4c47-ad6b-8daa558987ed",
}
FORMS = ("v3", "v2", "v3 consolidated", "v2 consolidated", "v3 references", "v2 references")
NO_PRINCIPAL = "declares no principal convention"


@dataclass
class Leaf:
    """An array: its values, the names of its dimensions, its attributes."""

    data: Any
    dims: tuple[str | None, ...] | None = None
    attrs: Mapping[str, Any] = field(default_factory=dict)
    chunks: tuple[int, ...] | None = None

    @property
    def values(self) -> np.ndarray:
        return np.asarray(self.data)


Tree = Mapping[str, "Leaf | Mapping[str, Any]"]  # path to an array, or to the attributes of a group


def declare(*names: str) -> dict[str, Any]:
    """The attribute that declares conventions."""
    return {"zarr_conventions": [{"uuid": UUIDS[name], "name": name} for name in names]}


def ref(node: str, **more: str) -> dict[str, Any]:
    """A reference."""
    return {"ref": {"node": node, **more}}


def external(node: str, **more: str) -> dict[str, Any]:
    """Values that lie in another array."""
    return {"external": ref(node, **more)}


def cs(axes: Any, **crs: Any) -> dict[str, Any]:
    """Attributes of an array of convention `cs` with one system of these axes."""
    return {**declare("cs", "ref"), "cs": {"crs": [{"axes": axes, **crs}]}}


def axis(values: Any, **more: Any) -> dict[str, Any]:
    """An axis of one coordinate."""
    return {"coordinates": [{"values": values, **more}]}


def spatial(transform: Any, dims: Any = ("y", "x"), **more: Any) -> dict[str, Any]:
    """Attributes of convention `spatial`."""
    settings = {"dimensions": list(dims), "transform": transform, **more}
    found = {f"spatial:{name}": value for name, value in settings.items() if value is not None}
    return {**declare("spatial"), **found}


def write(folder: Path, tree: Tree, form: str = "v3") -> Any:
    """Write a store in one of `FORMS`; returns what to open."""
    zarr_format = 2 if form.startswith("v2") else 3
    root = zarr.open_group(folder, mode="w", zarr_format=zarr_format, attributes=dict(tree.get("/", {})))
    for path, node in sorted(tree.items()):
        if path != "/" and not isinstance(node, Leaf):
            root.require_group(path.strip("/")).attrs.update(node)
    for path, node in tree.items():
        if isinstance(node, Leaf):
            _write_array(root, path.strip("/"), node, zarr_format)
    if form.endswith("consolidated"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            zarr.consolidate_metadata(folder)
    return references(folder) if form.endswith("references") else str(folder)


def _write_array(root: zarr.Group, path: str, leaf: Leaf, zarr_format: int) -> None:
    attrs, names = dict(leaf.attrs), {"dimension_names": leaf.dims}
    if zarr_format == 2:
        names = {"fill_value": None}  # else a stored zero would be taken for a value that is missing
        if leaf.dims is not None:
            attrs["_ARRAY_DIMENSIONS"] = list(leaf.dims)
    above, _, name = path.rpartition("/")
    group = root.require_group(above) if above else root
    values = leaf.values
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts have no settled spelling in v3
        array = group.create_array(
            name,
            shape=values.shape,
            dtype=values.dtype,
            chunks=leaf.chunks or tuple(max(size, 1) for size in values.shape),
            attributes=attrs,
            **names,
        )
        array[...] = values


def references(folder: Path) -> dict[str, Any]:
    """A store as a kerchunk document: metadata inline, chunks where they are, or inline too."""
    refs: dict[str, Any] = {}
    for file in sorted(folder.rglob("*")):
        key = str(file.relative_to(folder))
        if file.is_file():
            is_metadata = file.name.startswith(".z") or file.name == "zarr.json"
            refs[key] = file.read_text() if is_metadata else [str(file)]
    return {"version": 1, "refs": refs}


def opened(target: Any, group: str = "/", **options: Any) -> xr.Dataset:
    """Open a group; a warning is an error."""
    return xr.open_dataset(target, engine="xgroup", group=group, **options)


def warned(
    target: Any, group: str = "/", **options: Any
) -> tuple[xr.Dataset, list[XGroupNoPrincipalWarning]]:
    """Open a group, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = opened(target, group, **options)
    found = [each.message for each in caught]
    assert all(isinstance(each, XGroupNoPrincipalWarning) for each in found), found
    return dataset, found


class Counting(Mapping[str, bytes]):
    """The files of a store as a mapping that counts which keys are read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.keys_read = folder, []

    def __getitem__(self, key: str) -> bytes:
        try:
            found = (self.folder / key).read_bytes()
        except OSError:
            raise KeyError(key) from None
        self.keys_read.append(key)
        return found

    def __iter__(self):
        return (str(file.relative_to(self.folder)) for file in self.folder.rglob("*") if file.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def chunks_read(self) -> list[str]:
        """Keys that were read and are no metadata."""
        names = (".zarray", ".zattrs", ".zgroup", ".zmetadata", "zarr.json")
        return [key for key in self.keys_read if not key.endswith(names)]


def inline(folder: Path) -> dict[str, Any]:
    """A store as a kerchunk document that holds the chunks too."""
    document = references(folder)
    for key, found in document["refs"].items():
        if isinstance(found, list):
            document["refs"][key] = "base64:" + base64.b64encode(Path(found[0]).read_bytes()).decode()
    return json.loads(json.dumps(document))
