"""The xarray engine `xgroup`: groups with the coordinates that GeoZarr conventions name, wherever those lie.

```python
xr.open_dataset("s.zarr", engine="xgroup", group="/ocean")
```
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xarray import Coordinates, Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendEntrypoint
from xarray.conventions import decode_cf_variables
from xarray.core.utils import FrozenDict

from zaro.callers import translated
from zaro.collector import still
from zaro.conventions.assemble import Assembled, assemble
from zaro.conventions.base import tell
from zaro.conventions.nodes import GroupNode, Stores
from zaro.errors import (
    MetadataError,
    NodeNotFoundError,
    ReferenceSetError,
    StoreError,
    XGroupError,
    XGroupReferenceError,
    XGroupStoreError,
)
from zaro.hierarchy import Array, Group, open_node
from zaro.xarray import variable

__all__ = ["ResolvedZarrStore", "XGroupBackendEntrypoint"]

_DECODING = (
    "mask_and_scale",
    "decode_times",
    "concat_characters",
    "decode_coords",
    "drop_variables",
    "use_cftime",
    "decode_timedelta",
)
_OPTIONS = ("remote_protocol", "remote_options", "allow_targets", "missing", "timeout")


class ResolvedZarrStore(AbstractDataStore):
    """Variables and attributes of one group, as xarray asks for them."""

    def __init__(self, variables: Mapping[str, Variable], attrs: Mapping[str, Any] | None = None) -> None:
        self._variables, self._attrs = dict(variables), dict(attrs or {})

    def get_variables(self) -> Mapping[str, Variable]:
        """Arrays of the group, and the coordinates that belong to them."""
        return FrozenDict(self._variables)

    def get_attrs(self) -> dict[str, Any]:
        """Attributes of the group."""
        return {name: value for name, value in self._attrs.items() if not name.lower().startswith("_nc")}

    def get_dimensions(self) -> Mapping[str, int]:
        """Sizes of the dimensions, by name."""
        sizes: dict[str, int] = {}
        for each in self._variables.values():
            sizes.update({str(dim): size for dim, size in each.sizes.items()})
        return FrozenDict(sizes)


class XGroupBackendEntrypoint(BackendEntrypoint):
    """Opens stores and reference sets with the coordinates that conventions name: `engine="xgroup"`.

    References
    ----------
    - OGC GeoZarr, and the conventions `cs`, `spatial`, `ref`, `geolocation`, `proj` and `uom`:
      https://github.com/zarr-conventions and https://github.com/R-CF

    See Also
    --------
    xarray.backends.BackendEntrypoint : the interface.
    zaro.conventions.ConventionHandler : adds a convention.
    """

    description = (
        "Open Zarr stores and reference sets with coordinates across groups and stores (GeoZarr conventions)"
    )
    url = "https://pypi.org/project/zaro/"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        *_DECODING,
        "group",
        "consolidated",
        "zarr_format",
        "storage_options",
        "cross_store_storage_options",
        *_OPTIONS,
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Guess never: the engine is for those who ask for it.

        Parameters
        ----------
        filename_or_obj
            What the caller gave to xarray.

        Returns
        -------
        bool
            False.
        """
        return False

    def open_dataset(self, filename_or_obj: Any, *, group: str | None = None, **arguments: Any) -> Dataset:
        """Open one group as a Dataset: metadata only, every variable lazy.

        Parameters
        ----------
        filename_or_obj
            Whatever `zaro.open` takes.
        group : str, optional
            Path of the group; the root by default.
        **arguments
            xarray's arguments for decoding; `storage_options` and the other options of `zaro.open`;
            `consolidated=False`, which does without consolidated metadata, and `zarr_format`, which changes
            nothing; and `cross_store_storage_options`, a dict from URL prefix to fsspec's options for
            the stores that references name, of which the longest prefix counts.

        Returns
        -------
        xarray.Dataset
            Arrays of the group, and the coordinates that their conventions name, by name.

        Raises
        ------
        XGroupStoreError
            The store cannot be opened.
        XGroupReferenceError
            There is no such group.

        Warns
        -----
        XGroupNoPrincipalWarning
            An array declares no principal convention, or something of its conventions is broken. It is
            opened all the same, without the coordinate in question.
        """
        decoding, options, cross = _sorted_out(arguments)
        return _dataset(_open(filename_or_obj, group, options, cross), decoding)

    def open_groups_as_dict(
        self, filename_or_obj: Any, *, group: str | None = None, **arguments: Any
    ) -> dict[str, Dataset]:
        """Open every group below `group`, by path; each metadata document is read once for all of them.

        Parameters
        ----------
        filename_or_obj, group, **arguments
            As for `open_dataset`.

        Returns
        -------
        dict of str to xarray.Dataset
            By path below `group`, which itself is `/`.

        Raises
        ------
        XGroupStoreError, XGroupReferenceError
            As `open_dataset`.
        """
        decoding, options, cross = _sorted_out(arguments)
        with still():
            start = _open(filename_or_obj, group, options, cross)
            with _main_store(start.index.label):
                nodes = list(_walk(start))
            return {
                "/" + node.path.removeprefix(start.path).strip("/"): _dataset(node, decoding)
                for node in nodes
            }

    def open_datatree(self, filename_or_obj: Any, **arguments: Any) -> DataTree:
        """Open every group below `group` as a DataTree.

        Parameters
        ----------
        filename_or_obj, **arguments
            As for `open_dataset`.

        Returns
        -------
        xarray.DataTree

        Raises
        ------
        XGroupStoreError, XGroupReferenceError
            As `open_dataset`.
        XGroupError
            A group and one above it disagree on a dimension that they share, or a coordinate has the
            name of a group.
        """
        groups = self.open_groups_as_dict(filename_or_obj, **arguments)
        with _telling_what_to_do(), still():
            return _OpenedTree.from_dict(groups)


class _OpenedTree(DataTree):  # type: ignore[no-untyped-call]
    """A tree that says what to do where groups do not align: xarray finds that when it makes the indexes."""

    def map_over_datasets(self, *args: Any, **kwargs: Any) -> Any:
        with _telling_what_to_do(), still():
            return super().map_over_datasets(*args, **kwargs)


@contextmanager
def _telling_what_to_do() -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError) as err:
        text = str(err.args[0]) if err.args else ""
        if "not aligned" not in text and "already contains a variable" not in text:
            raise
        reason = f"{text}\nOpen the groups one by one: xr.open_groups(..., engine='xgroup')"
        raise XGroupError("", "", reason) from err


def _sorted_out(arguments: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What is for xarray's decoding, for opening the store, and for opening others."""
    left = dict(arguments)
    decoding = {name: left.pop(name) for name in _DECODING if name in left}
    cross = dict(left.pop("cross_store_storage_options", None) or {})
    left.pop("zarr_format", None)
    if left.pop("consolidated", None) is False:
        left["consolidated"] = False
    return decoding, left, cross


def _open(target: Any, group: str | None, given: dict[str, Any], cross: dict[str, Any]) -> GroupNode:
    """The group to be opened, in an index of its store."""
    target, above, options = translated(target, given.pop("storage_options", None), given)
    shared = {
        name: value for name, value in options.items() if name not in ("storage_options", "consolidated")
    }

    def open_other(address: str) -> Array | Group:
        spellings = (address, f"file://{address}")  # the second fits only for a path of this machine
        fitting = [prefix for prefix in cross if any(each.startswith(prefix) for each in spellings)]
        chosen = cross[max(fitting, key=len)] if fitting else None
        return open_node(address, **shared, storage_options=chosen)

    path = f"{above}/{(group or '').strip('/')}".strip("/")
    stores = Stores(open_other, variable, options.get("allow_targets"))
    with _main_store(_label(target)):
        index = stores.start(_root(target, path, options), target, _label(target))
        found, above_it = index.node(path), index.node(path.rpartition("/")[0])
    if found is None:
        names = sorted(above_it.group.names())[:8] if isinstance(above_it, GroupNode) else ()
        known = f"; there are {', '.join(map(repr, names))}" if names else ""
        raise XGroupReferenceError(f"/{path}", "", f"there is no such group in {_label(target)}{known}")
    if not isinstance(found, GroupNode):
        raise XGroupReferenceError(f"/{path}", "", "is an array; xarray opens groups, zaro.open opens arrays")
    return found


def _root(target: Any, path: str, options: dict[str, Any]) -> Array | Group:
    """The root of a store, or the group at `path` where no document describes the root."""
    try:
        return open_node(target, **options)
    except NodeNotFoundError:
        if not path:
            raise
        return open_node(target, path, **options)


@contextmanager
def _main_store(label: str) -> Iterator[None]:
    """Turn what is wrong with the store that was asked for into the one error of this engine."""
    try:
        yield
    except (StoreError, NodeNotFoundError, MetadataError, ReferenceSetError) as err:
        raise XGroupStoreError(label, "", f"cannot be opened: {err}") from err


def _label(target: Any) -> str:
    target = getattr(target, "address", target)
    return (
        os.fspath(target) if isinstance(target, str | os.PathLike) else f"{type(target).__name__} in memory"
    )


def _walk(group: GroupNode) -> Iterable[GroupNode]:
    yield group
    for below in group.groups().values():
        yield from _walk(below)


# ---- one group ---------------------------------------------------------------------------------


def _dataset(group: GroupNode, decoding: Mapping[str, Any]) -> Dataset:
    """One group as a Dataset, decoded by xarray; what the conventions gave are coordinates."""
    dropped = decoding.get("drop_variables") or ()
    with _main_store(group.index.label):
        found = assemble(group, without=[dropped] if isinstance(dropped, str) else list(dropped))
    try:
        return _decoded(found, decoding)
    except Exception as err:
        if not _drop_undecodable(found, decoding):
            raise
        try:
            return _decoded(found, decoding)
        except Exception as again:
            raise again from err


def _decoded(found: Assembled, decoding: Mapping[str, Any]) -> Dataset:
    """As xarray opens a store, with more coordinates: also where it is told to look for none."""
    store = ResolvedZarrStore(found.variables, found.group.attrs)
    variables, attrs, names = decode_cf_variables(store.get_variables(), store.get_attrs(), **decoding)
    names = names | found.sources.keys()
    coords = {name: each for name, each in variables.items() if name in names or each.dims == (name,)}
    data = {name: each for name, each in variables.items() if name not in coords}
    return Dataset(data, coords=Coordinates(coords, indexes={}), attrs=attrs)


def _drop_undecodable(found: Assembled, decoding: Mapping[str, Any]) -> bool:
    """Take out coordinates of conventions that xarray cannot decode; whether there were any."""
    before = len(found.sources)
    for name, source in list(found.sources.items()):
        if name not in found.sources:  # it hung on one that is gone
            continue
        try:
            decode_cf_variables({name: found.variables[name].copy(deep=False)}, {}, **decoding)
        except Exception as err:  # whatever a decoder makes of attributes from a file
            tell(XGroupError(source, name, f"this coordinate is dropped: xarray cannot decode it: {err}"))
            found.take_out(name)
    return len(found.sources) < before
