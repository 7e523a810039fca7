"""The xarray engine `zaro`: translates between zaro's arrays and xarray's variables, nothing else.

```python
xr.open_dataset("refs.json", engine="zaro", chunks={})
```
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import json
import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import xarray
from xarray import Dataset, DataTree, Variable
from xarray.backends import AbstractDataStore, BackendArray, BackendEntrypoint
from xarray.backends.store import StoreBackendEntrypoint
from xarray.backends.zarr import FillValueCoder, ZarrArrayWrapper
from xarray.core import indexing
from xarray.core.utils import FrozenDict

from zaro.callers import translated
from zaro.errors import DimensionNamesError, MetadataError
from zaro.hierarchy import Array, Group, open_node
from zaro.metadata import Codec
from zaro.warned import warn

__all__ = [
    "ZaroBackendArray",
    "ZaroBackendEntrypoint",
    "ZaroDataStore",
    "dimension_names",
    "open_group",
    "open_target",
    "variable",
]

_DIMENSIONS = "_ARRAY_DIMENSIONS"
_REFERENCE_ENDINGS = (".json", ".json.gz", ".json.zst", ".json.zstd", ".parq", ".parquet")
# whether this xarray leaves NumPy's own strings as they are
_KEEPS_STRINGS = hasattr(ZarrArrayWrapper, "_preserve_string_dtype")
_NOT_CONSOLIDATED = (
    "Failed to open Zarr store with consolidated metadata, but successfully read with non-consolidated "
    "metadata: each node costs a request of its own. Consolidate the metadata with "
    "zarr.consolidate_metadata(), or pass consolidated=False to silence this warning."
)


class ZaroBackendArray(BackendArray):
    """An array that xarray reads when it needs the values."""

    __slots__ = ("_array", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        # not `array`: xarray looks for that name, to unwrap what is in memory already
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        method: Callable[[Any], Any] = self._array.read
        if isinstance(key, indexing.VectorizedIndexer):
            method = self._points
        elif isinstance(key, indexing.OuterIndexer):
            method = self._orthogonal
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.VECTORIZED, method
        )

    async def async_getitem(self, key: indexing.ExplicitIndexer) -> Any:
        """Read on another thread while this one awaits."""
        return await asyncio.to_thread(self.__getitem__, key)

    def _orthogonal(self, key: tuple[Any, ...]) -> Any:
        return self._array.read(key, mode="orthogonal")

    def _points(self, key: tuple[Any, ...]) -> Any:
        return self._array.read(key, mode="points")


class ZaroDataStore(AbstractDataStore):
    """The arrays and attributes of one group, as xarray asks for them."""

    def __init__(self, group: Group, *, prefer_shards: bool = False) -> None:
        self.group, self.prefer_shards = group, prefer_shards

    def get_variables(self) -> Mapping[str, Variable]:
        """Every array of the group, lazy."""
        nodes = [node for node in self.group.children() if isinstance(node, Array)]
        return FrozenDict((node.name, variable(node, prefer_shards=self.prefer_shards)) for node in nodes)

    def get_attrs(self) -> dict[str, Any]:
        """Attributes of the group."""
        return {name: value for name, value in self.group.attrs.items() if not name.lower().startswith("_nc")}

    def get_dimensions(self) -> Any:
        """Sizes of the dimensions, by name."""
        found: dict[Any, int] = {}
        for each in self.get_variables().values():
            found.update(each.sizes)
        return FrozenDict(found)


def variable(array: Array, dims: tuple[str, ...] | None = None, *, prefer_shards: bool = False) -> Variable:
    """Translate one array: dimensions, attributes and encoding as xarray's own Zarr engine gives them.

    `dims` stands for the names of the dimensions where the array's own will not do; `prefer_shards`
    makes `chunks={}` mean shards where there are any.
    """
    dims = dimension_names(array) if dims is None else dims
    hidden = {_DIMENSIONS} | {name for name in array.attrs if name.lower().startswith("_nc")}
    attrs = {
        name: value
        for name, value in array.attrs.items()
        if array.metadata.zarr_format == 3 or name not in hidden
    }
    preferred = (array.shards if prefer_shards else None) or array.chunks
    encoding: dict[str, Any] = {
        "chunks": array.chunks,
        "preferred_chunks": dict(zip(dims, preferred, strict=True)),
        **_codec_encoding(array),
    }
    if array.dtype.kind == "T" and _KEEPS_STRINGS:
        encoding["dtype"] = array.dtype
    if array.metadata.zarr_format == 2:
        if array.fill_value is not None:
            attrs["_FillValue"] = array.fill_value
    else:
        encoding["fill_value"] = array.fill_value
        if "_FillValue" in attrs:
            attrs["_FillValue"] = FillValueCoder.decode(attrs["_FillValue"], array.dtype)
    return Variable(dims, indexing.LazilyIndexedArray(ZaroBackendArray(array)), attrs, encoding)


def dimension_names(array: Array) -> tuple[str, ...]:
    """Names of an array's dimensions, which xarray cannot do without."""
    dims = array.dims if array.dims is not None else ()
    names = tuple(name for name in dims if name is not None)
    if len(names) != array.ndim:
        where = "zarr.json" if array.metadata.zarr_format == 3 else ".zattrs"
        member = "dimension_names" if array.metadata.zarr_format == 3 else _DIMENSIONS
        found = f"has {len(names)} names for {array.ndim} dimensions"
        reason = f"{found}, not enough for xarray to determine variable dimensions"
        raise DimensionNamesError(f"{array.path}/{where}", member, reason)
    return names


def _codec_encoding(array: Array) -> dict[str, Any]:
    """Codecs as zarr-python would show them, so that a data set is written back as it was."""
    codecs = array.chunk_codecs
    if array.metadata.zarr_format == 2:
        steps = [_numcodecs(codec) for codec in codecs if codec.name.startswith("numcodecs.")]
        has_compressor = array.metadata.has_compressor
        return {
            "compressors": tuple(steps[-1:]) if has_compressor else (),
            "filters": tuple(steps[:-1] if has_compressor else steps),
            "shards": None,
        }
    written = [{"name": codec.name, "configuration": dict(codec.configuration)} for codec in codecs]
    return {"shards": array.shards, **_zarr_codecs(json.dumps(written), array.dtype.byteorder == "|")}


@functools.lru_cache(maxsize=256)
def _zarr_codecs(written: str, has_no_order: bool) -> Mapping[str, Any]:
    """zarr-python's codecs of a v3 chain; arrays of one store mostly have the same."""
    if importlib.util.find_spec("zarr") is None:
        return MappingProxyType({})
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
    from zarr.codecs import BytesCodec
    from zarr.core.metadata.v3 import parse_codecs

    found = parse_codecs(json.loads(written))
    if has_no_order:  # bytes have no order, and zarr-python then shows none
        found = tuple(BytesCodec(endian=None) if isinstance(codec, BytesCodec) else codec for codec in found)
    return MappingProxyType(
        {
            "compressors": tuple(codec for codec in found if isinstance(codec, BytesBytesCodec)),
            "filters": tuple(codec for codec in found if isinstance(codec, ArrayArrayCodec)),
            "serializer": next((codec for codec in found if isinstance(codec, ArrayBytesCodec)), None),
        }
    )


def _numcodecs(codec: Codec) -> Any:
    import numcodecs

    return numcodecs.get_codec({"id": codec.name.removeprefix("numcodecs."), **codec.configuration})


class ZaroBackendEntrypoint(BackendEntrypoint):
    """Opens Zarr stores and kerchunk reference sets of every form: `engine="zaro"`.

    References
    ----------
    - CF Conventions, which xarray itself decodes: masks, scales, times, coordinates.
    - kerchunk's xarray engine, whose nested `storage_options` mean the same here.

    See Also
    --------
    xarray.backends.BackendEntrypoint : the interface.
    xarray.open_dataset : what calls it, and adds `chunks`.
    """

    description = "Open Zarr stores and kerchunk reference sets with zaro"
    url = "https://pypi.org/project/zaro/"
    supports_groups = True
    open_dataset_parameters = (
        "filename_or_obj",
        "mask_and_scale",
        "decode_times",
        "concat_characters",
        "decode_coords",
        "drop_variables",
        "use_cftime",
        "decode_timedelta",
        "group",
        "consolidated",
        "zarr_format",
        "mode",
        "use_zarr_fill_value_as_mask",
        "cache_members",
        "prefer_shards",
        "storage_options",
        "open_dataset_options",
        "remote_protocol",
        "remote_options",
        "allow_targets",
        "missing",
        "timeout",
    )

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Whether an address is that of a reference set, by the end of its name.

        Parameters
        ----------
        filename_or_obj
            What the caller gave to xarray; anything but a path or URL is not for this engine to guess.

        Returns
        -------
        bool
            True for `.json`, `.parquet` and their kin.
        """
        if not isinstance(filename_or_obj, (str, os.PathLike)):
            return False
        return os.fspath(filename_or_obj).rstrip("/").endswith(_REFERENCE_ENDINGS)

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
        consolidated: bool | Literal["as found"] | None = "as found",
        zarr_format: int | None = None,
        mode: Literal["r"] = "r",
        use_zarr_fill_value_as_mask: bool | None = None,
        cache_members: bool = True,
        prefer_shards: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        open_dataset_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Dataset:
        """Open one group as a Dataset: metadata only, every variable lazy.

        Parameters
        ----------
        filename_or_obj
            Whatever `zaro.open` takes; mappers of fsspec and stores of zarr-python as well.
        mask_and_scale, decode_times, concat_characters, decode_coords, use_cftime, decode_timedelta
            What xarray shall decode; as for `xarray.open_dataset`.
        drop_variables : str or iterable of str, optional
            Arrays to leave out.
        group : str, optional
            Path of the group; the root by default.
        consolidated : bool or None, optional
            By default a store's consolidated metadata are used where there are any. True demands them;
            False reads the documents of the nodes themselves; None asks for the warning that xarray's
            own engine gives where there are none. Means nothing for references, whose metadata are at
            hand.
        zarr_format, mode, use_zarr_fill_value_as_mask, cache_members
            Accepted for code that passed them to other engines, and change nothing: zaro reads, and finds
            out by itself what it reads.
        prefer_shards : bool
            Whether `chunks={}` and `chunks="auto"` go by shards where arrays have them: better for small
            chunks in shards of up to some 100 MB. By default they go by chunks, which can be read alone.
        storage_options : dict, optional
            fsspec's options for the target, or kerchunk's nested form with `remote_protocol`,
            `remote_options` and `target_options`.
        open_dataset_options : dict, optional
            kerchunk's way to pass the standard arguments.
        **options
            As `zaro.open`.

        Returns
        -------
        xarray.Dataset
            Every array of the group itself, not of groups below it. Nothing but metadata is read, and the
            coordinates that become indexes.

        Raises
        ------
        NodeNotFoundError
            There is no such group.
        StoreError, ReferenceSetError
            The target cannot be opened.
        MetadataError
            A metadata document is broken, or consolidated ones are demanded and missing;
            `DimensionNamesError` where an array names no dimensions.
        ValueError
            `mode` is another than `"r"`.
        """
        decoding: dict[str, Any] = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "drop_variables": drop_variables,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        if open_dataset_options:  # xarray itself knows what to do with each of them
            given = {
                **decoding,
                "group": group,
                "storage_options": storage_options,
                "consolidated": consolidated,
                "prefer_shards": prefer_shards,
                **options,
                **open_dataset_options,
            }
            return xarray.open_dataset(filename_or_obj, engine=type(self), **given)
        _check_mode(mode)
        node = open_target(filename_or_obj, group, storage_options, {**options, "consolidated": consolidated})
        _check_consolidated(node, consolidated)
        return open_group(node, decoding, prefer_shards=prefer_shards)

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
        consolidated: bool | Literal["as found"] | None = None,
        zarr_format: int | None = None,
        mode: Literal["r"] = "r",
        prefer_shards: bool = False,
        storage_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> dict[str, Dataset]:
        """Open every group below `group`, by path.

        Of a store whose metadata are not consolidated, every node is asked for: that is warned of, as
        xarray's own engine does, unless `consolidated` says otherwise.

        Parameters
        ----------
        filename_or_obj, group, consolidated, zarr_format, mode, prefer_shards, storage_options, **options
            As for `open_dataset`.
        mask_and_scale, decode_times, concat_characters, decode_coords, use_cftime, decode_timedelta
            What xarray shall decode; as for `xarray.open_dataset`.
        drop_variables : str or iterable of str, optional
            Arrays to leave out.

        Returns
        -------
        dict of str to xarray.Dataset
            By path below `group`, which itself is `/`.

        Raises
        ------
        NodeNotFoundError, StoreError, ReferenceSetError, MetadataError, ValueError
            As `open_dataset`; `StoreError` also where the store cannot list what it holds.
        """
        _check_mode(mode)
        decoding = {
            "mask_and_scale": mask_and_scale,
            "decode_times": decode_times,
            "concat_characters": concat_characters,
            "decode_coords": decode_coords,
            "drop_variables": drop_variables,
            "use_cftime": use_cftime,
            "decode_timedelta": decode_timedelta,
        }
        root = open_target(filename_or_obj, group, storage_options, {**options, "consolidated": consolidated})
        _check_consolidated(root, consolidated)
        found = {"/": open_group(root, decoding, prefer_shards=prefer_shards)}
        assert isinstance(root, Group)
        for node in root.nodes():
            if isinstance(node, Group):
                found["/" + node.path.removeprefix(root.path).strip("/")] = open_group(
                    node, decoding, prefer_shards=prefer_shards
                )
        return found

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
        NodeNotFoundError, StoreError, ReferenceSetError, MetadataError
            As `open_groups_as_dict`.
        ValueError
            Groups do not align with those above them, as xarray asks; `open_groups_as_dict` opens them.
        """
        return DataTree.from_dict(self.open_groups_as_dict(filename_or_obj, **arguments))


def open_target(
    target: Any, group: str | None, storage_options: Mapping[str, Any] | None, given: Mapping[str, Any]
) -> Array | Group:
    """A node by what xarray's callers name it."""
    target, path, options = translated(target, storage_options, given)
    options["consolidated"] = options.get("consolidated") is not False
    return open_node(target, f"{path}/{(group or '').strip('/')}", **options)


def _check_mode(mode: str) -> None:
    if mode != "r":
        raise ValueError(f"mode={mode!r}; zaro only reads: open with mode='r', write with engine='zarr'")


def _check_consolidated(node: Array | Group, asked: bool | str | None) -> None:
    """Answer what a caller asked about consolidated metadata."""
    if node.is_consolidated or asked is False or asked == "as found":
        return
    if asked:
        raise MetadataError("the store", "", "has no consolidated metadata, which consolidated=True demands")
    warn(RuntimeWarning(_NOT_CONSOLIDATED))


def open_group(node: Array | Group, decoding: Mapping[str, Any], *, prefer_shards: bool = False) -> Dataset:
    """One group as a Dataset, decoded by xarray."""
    if not isinstance(node, Group):
        raise MetadataError(node.path or "/", "", "is an array; xarray opens groups, zaro.open opens arrays")
    return StoreBackendEntrypoint().open_dataset(ZaroDataStore(node, prefer_shards=prefer_shards), **decoding)
