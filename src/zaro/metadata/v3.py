"""Documents of format 3: `zarr.json` of an array or a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from zaro.metadata.documents import Document, spell
from zaro.metadata.dtype import dtype_v3
from zaro.metadata.fill import fill_value
from zaro.metadata.grid import Runs, check_sizes, chunk_edges, even_chunks, extents
from zaro.metadata.keys import KeyEncoding, key_encoding
from zaro.metadata.model import ArrayMetadata, Codec, GroupMetadata, NodeMetadata

__all__ = ["codec_list", "node_v3"]

_COMMON = {"zarr_format", "node_type", "attributes"}
_OF_GROUP = _COMMON | {"consolidated_metadata"}
_OF_ARRAY = _COMMON | {
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "storage_transformers",
    "dimension_names",
}
_SEPARATOR = {"default": "/", "v2": "."}


def node_v3(document: Document) -> NodeMetadata:
    """Read one `zarr.json`."""
    found = document.need("zarr_format", "3")
    if type(found) is not int or found != 3:
        raise document.bad("zarr_format", found, "3")
    kind = document.need("node_type", '"array" or "group"')
    if kind == "array":
        return _array(document)
    if kind == "group":
        return _group(document)
    raise document.bad("node_type", kind, '"array" or "group"')


def _group(document: Document) -> GroupMetadata:
    _understand(document, _OF_GROUP)
    return GroupMetadata(
        attributes=_attributes(document),
        zarr_format=3,
        consolidated=_consolidated(document, document.members.get("consolidated_metadata")),
    )


def _array(document: Document) -> ArrayMetadata:
    _understand(document, _OF_ARRAY)
    shape = extents(document, "shape", document.need("shape", "a list of integers"))
    data_type = document.need("data_type", "a data type")
    dtype = dtype_v3(document, "data_type", data_type)
    chunks, edges, member = _grid(document, shape)
    check_sizes(document, shape, chunks, member, dtype.itemsize)
    codecs = codec_list(document)
    _no_transformers(document)
    fill = document.need("fill_value", "a value of the data type")
    return ArrayMetadata(
        shape=shape,
        chunks=chunks,
        dtype=dtype,
        fill_value=fill_value(
            document, fill, dtype, objects=_objects(data_type), order=_packed_order(codecs)
        ),
        codecs=codecs,
        key_encoding=_key_encoding(document),
        dimension_names=_dimension_names(document, len(shape)),
        attributes=_attributes(document),
        zarr_format=3,
        edges=edges,
    )


def _understand(document: Document, known: set[str]) -> None:
    """Refuse members that nobody told us about, unless they may be ignored."""
    for member, found in document.members.items():
        if member not in known and not (isinstance(found, Mapping) and found.get("must_understand") is False):
            raise document.unsupported(member, found, "an extension that zaro does not have")


def _objects(data_type: str | Mapping[str, Any]) -> Literal["text", "bytes"]:
    """Tell what an array of objects holds; its dtype alone does not, where NumPy has no type for text."""
    name = data_type if isinstance(data_type, str) else data_type["name"]
    return "text" if name == "string" else "bytes"


def _attributes(document: Document) -> dict[str, Any]:
    attributes = document.members.get("attributes")
    if attributes is None:
        return {}
    if not isinstance(attributes, Mapping):
        raise document.bad("attributes", attributes, "an object")
    return dict(attributes)


def _named(document: Document, member: str, value: object) -> tuple[str, Mapping[str, Any]]:
    """Read an extension: its name, or an object of name and configuration."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, Mapping):
        raise document.bad(member, value, "an object with name and configuration")
    name = value.get("name")
    if not isinstance(name, str):
        raise document.bad(f"{member}.name", name, "the name of an extension")
    configuration = value.get("configuration")
    if configuration is None:
        return name, {}
    if not isinstance(configuration, Mapping):
        raise document.bad(f"{member}.configuration", configuration, "an object")
    return name, configuration


def _grid(document: Document, shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[Runs, ...] | None, str]:
    name, configuration = _named(document, "chunk_grid", document.need("chunk_grid", "a chunk grid"))
    if name == "regular":
        member = "chunk_grid.configuration.chunk_shape"
        if "chunk_shape" not in configuration:
            raise document.missing(member, "a list of integers")
        return even_chunks(document, member, configuration["chunk_shape"], shape), None, member
    if name == "rectilinear":
        member = "chunk_grid.configuration"
        chunks, edges = chunk_edges(document, member, configuration, shape)
        return chunks, edges, f"{member}.chunk_shapes"
    raise document.unsupported("chunk_grid.name", name, 'expected "regular" or "rectilinear"')


def _key_encoding(document: Document) -> KeyEncoding:
    member = "chunk_key_encoding"
    value = document.need(member, "a chunk key encoding")
    name, configuration = _named(document, member, value)
    if name not in _SEPARATOR:
        raise document.unsupported(f"{member}.name", name, 'expected "default" or "v2"')
    separator = configuration.get("separator", _SEPARATOR[name])
    encoding = key_encoding(name, separator)
    if encoding is None:
        raise document.bad(f"{member}.configuration.separator", separator, '"." or "/"')
    return encoding


def codec_list(document: Document) -> tuple[Codec, ...]:
    """Read the member `codecs` of an array, or of the configuration of a codec that holds others."""
    found = document.need("codecs", "a list of codecs")
    if not isinstance(found, list | tuple) or not found:
        raise document.bad("codecs", found, "a list of codecs")
    return tuple(_codec(document, f"codecs[{k}]", codec) for k, codec in enumerate(found))


def _codec(document: Document, member: str, value: object) -> Codec:
    name, configuration = _named(document, member, value)
    optional = isinstance(value, Mapping) and value.get("must_understand") is False
    return Codec(name, configuration, must_understand=not optional)


def _no_transformers(document: Document) -> None:
    transformers = document.members.get("storage_transformers")
    if transformers is not None and not isinstance(transformers, list | tuple):
        raise document.bad("storage_transformers", transformers, "a list")
    for k, found in enumerate(transformers or ()):
        if not (isinstance(found, Mapping) and found.get("must_understand") is False):
            raise document.unsupported(
                f"storage_transformers[{k}]", found, "and zaro has no storage transformer"
            )


def _packed_order(codecs: tuple[Codec, ...]) -> Literal["<", ">"]:
    """Find the byte order of a packed structured value: that of the codec `bytes`, else little.

    Source: zarr-extensions, data-types/structured.
    """
    for codec in codecs:
        if codec.name == "bytes":
            return ">" if codec.configuration.get("endian") == "big" else "<"
    return "<"


def _dimension_names(document: Document, ndim: int) -> tuple[str | None, ...] | None:
    names = document.members.get("dimension_names")
    if names is None:
        return None
    if not isinstance(names, list | tuple) or len(names) != ndim:
        raise document.bad("dimension_names", names, f"a list of {ndim}, one for each dimension of shape")
    for k, name in enumerate(names):
        if name is not None and not isinstance(name, str):
            raise document.bad(f"dimension_names[{k}]", name, "a name or null")
    return tuple(names)


def _consolidated(document: Document, found: object) -> dict[str, Mapping[str, Any]] | None:
    """Give the documents of all members below this group, by key below it."""
    if found is None:
        return None
    if not isinstance(found, Mapping):
        raise document.bad("consolidated_metadata", found, "an object")
    if found.get("kind") != "inline":
        if found.get("must_understand") is False:
            return None
        raise document.unsupported("consolidated_metadata.kind", found.get("kind"), 'expected "inline"')
    nodes = found.get("metadata")
    if not isinstance(nodes, Mapping):
        raise document.bad("consolidated_metadata.metadata", nodes, "an object")
    for path, node in nodes.items():
        if not isinstance(node, Mapping):
            raise document.bad(f"consolidated_metadata.metadata[{spell(path)}]", node, "a zarr.json document")
    return {f"{path.strip('/')}/zarr.json": node for path, node in nodes.items()}
