"""Documents of format 2: `.zarray` or `.zgroup`, each with its `.zattrs`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from zaro.metadata.documents import Document
from zaro.metadata.dtype import TEXT, dtype_v2
from zaro.metadata.fill import Objects, fill_value
from zaro.metadata.grid import check_sizes, even_chunks, extents
from zaro.metadata.keys import key_encoding
from zaro.metadata.model import ArrayMetadata, Codec, GroupMetadata

__all__ = ["array_v2", "group_v2"]

_OBJECTS: dict[str, Objects] = {"vlen-utf8": "text", "vlen-bytes": "bytes"}


def array_v2(array: Document, attributes: Document | None) -> ArrayMetadata:
    """Read `.zarray` and its `.zattrs`. Members that format 2 does not name are ignored, as it allows."""
    _format(array)
    shape = extents(array, "shape", array.need("shape", "a list of integers"))
    chunks = even_chunks(array, "chunks", array.need("chunks", "a list of integers"), shape)
    stages = _stages(array)
    dtype = dtype_v2(array, "dtype", array.need("dtype", "a NumPy type string"))
    objects: Objects = "any"
    if dtype.hasobject:
        objects = next((_OBJECTS[stage.name[10:]] for stage in stages if stage.name[10:] in _OBJECTS), "any")
        dtype = TEXT if objects == "text" else dtype
    check_sizes(array, shape, chunks, "chunks", dtype.itemsize)
    separator = array.members.get("dimension_separator")
    encoding = key_encoding("v2", "." if separator is None else separator)
    if encoding is None:
        raise array.bad("dimension_separator", separator, '"." or "/"')
    fill = array.members.get("fill_value")
    attrs = dict(attributes.members) if attributes else {}
    return ArrayMetadata(
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        fill_value=None if fill is None else fill_value(array, fill, dtype, objects=objects),
        codecs=_codecs(array, dtype, len(shape), stages),
        key_encoding=encoding,
        dimension_names=_dimension_names(array, attrs, len(shape)),
        attributes=attrs,
        zarr_format=2,
        has_compressor=array.members.get("compressor") is not None,
    )


def group_v2(group: Document, attributes: Document | None) -> GroupMetadata:
    """Read `.zgroup` and its `.zattrs`."""
    _format(group)
    return GroupMetadata(attributes=dict(attributes.members) if attributes else {}, zarr_format=2)


def _format(document: Document) -> None:
    found = document.need("zarr_format", "2")
    if type(found) is not int or found != 2:
        raise document.bad("zarr_format", found, "2")


def _stages(array: Document) -> list[Codec]:
    """Read the filters, then the compressor."""
    filters = array.members.get("filters")
    if filters is not None and not isinstance(filters, list | tuple):
        raise array.bad("filters", filters, "a list of codecs, or null")
    stages = [_stage(array, f"filters[{k}]", found) for k, found in enumerate(filters or ())]
    compressor = array.members.get("compressor")
    if compressor is not None:
        stages.append(_stage(array, "compressor", compressor))
    return stages


def _stage(array: Document, member: str, found: object) -> Codec:
    if not isinstance(found, Mapping):
        raise array.bad(member, found, "an object with the id of a codec")
    if not isinstance(found.get("id"), str):
        raise array.bad(f"{member}.id", found.get("id"), "the id of a codec")
    return Codec(f"numcodecs.{found['id']}", {key: value for key, value in found.items() if key != "id"})


def _codecs(array: Document, dtype: np.dtype[Any], ndim: int, stages: list[Codec]) -> tuple[Codec, ...]:
    order = array.members.get("order", "C")
    if order not in ("C", "F"):
        raise array.bad("order", order, '"C" or "F"')
    first: list[Codec] = []
    if order == "F" and ndim > 1:
        first.append(Codec("transpose", {"order": list(range(ndim))[::-1]}))
    if not dtype.hasobject:  # objects have no bytes until a filter makes some
        first.append(_BYTES[dtype.byteorder])
    elif not stages:
        raise array.bad("filters", None, "a filter that turns objects into bytes, as vlen-utf8")
    return (*first, *stages)


def _endian(byteorder: str) -> Literal["little", "big"]:
    return "big" if byteorder == ">" or (byteorder == "=" and sys.byteorder == "big") else "little"


_BYTES = {order: Codec("bytes", {"endian": _endian(order)}) for order in "<>="} | {"|": Codec("bytes")}


def _dimension_names(array: Document, attributes: dict[str, Any], ndim: int) -> tuple[str, ...] | None:
    """Read the names as xarray writes them, or NCZarr; None unless there is one for each dimension.

    Anything else is no error: attributes are the user's.
    """
    names = attributes.get("_ARRAY_DIMENSIONS")
    nczarr = array.members.get("_NCZARR_ARRAY")
    if names is None and isinstance(nczarr, Mapping):
        names = nczarr.get("dimrefs")
    if not isinstance(names, list | tuple) or len(names) != ndim:
        return None
    if not all(isinstance(name, str) for name in names):
        return None
    return (
        tuple(names)
        if "_ARRAY_DIMENSIONS" in attributes
        else tuple(name.rpartition("/")[2] for name in names)
    )
