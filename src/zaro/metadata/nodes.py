"""From a path and a way to get documents to the node that lies there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from zaro.errors import MetadataError
from zaro.metadata.documents import Document, DocumentSource, spell
from zaro.metadata.model import NodeMetadata
from zaro.metadata.v2 import array_v2, group_v2
from zaro.metadata.v3 import node_v3

__all__ = ["DOCUMENT_NAMES", "consolidated_v2", "read_node"]

DOCUMENT_NAMES = ("zarr.json", ".zarray", ".zgroup", ".zattrs")
"""What `read_node` may ask for below a path."""

Get = Callable[[str], DocumentSource | None]
Node = TypeVar("Node", bound=NodeMetadata)


def read_node(get: Get, path: str = "") -> NodeMetadata | None:
    """Read the array or group at `path`; None where no document says that there is one.

    Parameters
    ----------
    get
        Gives the document of a key as `sst/zarr.json`: JSON text or the parsed object; None where absent.
    path
        Path of the node, without slashes at its ends; empty for the root.

    Raises
    ------
    MetadataError
        A document is broken; names it and the member.
    UnsupportedError
        A document asks for an extension that zaro lacks.

    Notes
    -----
    Looks for `zarr.json`, then `.zarray`, then `.zgroup` (with `.zattrs`), in this order.
    """
    below = f"{path}/" if path else ""
    if document := _document(get, f"{below}zarr.json"):
        return _bounded(document, node_v3)
    if document := _document(get, f"{below}.zarray"):
        attributes = _document(get, f"{below}.zattrs")
        return _bounded(document, lambda found: array_v2(found, attributes))
    if document := _document(get, f"{below}.zgroup"):
        return group_v2(document, _document(get, f"{below}.zattrs"))
    return None


def consolidated_v2(source: DocumentSource, name: str = ".zmetadata") -> dict[str, DocumentSource]:
    """Read `.zmetadata`: the documents below its group, by key below it (`sst/.zarray`)."""
    document = Document.parse(name, source)
    documents = document.need("metadata", "an object")
    if not isinstance(documents, Mapping):
        raise document.bad("metadata", documents, "an object")
    for key, found in documents.items():
        if not isinstance(found, Mapping | str | bytes):
            raise document.bad(f"metadata[{spell(key)}]", found, "an object")
    return dict(documents)


def _document(get: Get, key: str) -> Document | None:
    source = get(key)
    return None if source is None else Document.parse(key, source)


def _bounded(document: Document, read: Callable[[Document], Node]) -> Node:
    """Turn types and values that nest without end into an error of their document."""
    try:
        return read(document)
    except RecursionError:
        raise MetadataError(document.name, "", "nests too deeply to be read") from None
