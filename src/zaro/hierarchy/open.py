"""Open, list, describe and read nodes: the functions that most callers begin with."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from zaro.detect import detect
from zaro.errors import MetadataError
from zaro.hierarchy.nodes import Array, Group, node_at
from zaro.metadata import NodeMetadata
from zaro.options import Options

__all__ = ["list_nodes", "metadata_of", "open_node", "read_node"]


def open_node(target: Any, path: str = "", **options: Any) -> Array | Group:
    """Open an array or group.

    Parameters
    ----------
    target : path, URL, dict of references, mapping of keys to bytes, or References
        A Zarr store (v2 or v3), or a kerchunk reference set in any of its forms.
    path : str
        Node below the root, as `ocean/sst`.
    **options
        `storage_options`, `remote_protocol`, `remote_options`, `allow_targets`, `missing`, `timeout`,
        `consolidated`; see `zaro.options.Options`.

    Returns
    -------
    Array or Group

    Raises
    ------
    NodeNotFoundError
        Nothing lies at `path`.
    StoreError
        The target cannot be reached, or is nothing that zaro reads.
    ReferenceSetError
        It is a reference set, and broken; `ChangedError` where a file of it has changed since the scan.
    MetadataError
        A metadata document is broken.
    TypeError, ValueError
        The target is of no kind that zaro reads, or an option is none of the above.

    Notes
    -----
    Reads metadata only, one document where the store is consolidated.

    Examples
    --------
    >>> zaro.open("refs.json")["sst"][0, 500:600, :]  # doctest: +SKIP

    References
    ----------
    - Zarr storage specification, version 2: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
    - Zarr core specification, version 3: https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html
    - kerchunk, "References specification": https://fsspec.github.io/kerchunk/spec.html

    See Also
    --------
    zaro.list : names what there is to open.
    zaro.References.open : opens a reference set for its references.
    """
    checked = Options.of(**options)
    opened = detect(target, checked)
    return node_at(target, path.strip("/"), checked, opened)


def list_nodes(target: Any, **options: Any) -> dict[str, str]:
    """List every node of a target.

    Parameters
    ----------
    target, **options
        As for `zaro.open`.

    Returns
    -------
    dict of str to str
        From path (`/` for the root) to `"array"` or `"group"`, depth first.

    Raises
    ------
    StoreError
        The target cannot be reached, or cannot list what it holds.
    MetadataError
        A metadata document is broken.
    ReferenceSetError, TypeError, ValueError
        As `zaro.open`.

    See Also
    --------
    zaro.Group.tree : draws them.
    """
    root = open_node(target, **options)
    if isinstance(root, Array):
        return {"/": "array"}
    return {"/": "group"} | {
        node.path: "array" if isinstance(node, Array) else "group" for node in root.nodes()
    }


def metadata_of(target: Any, path: str = "", **options: Any) -> NodeMetadata:
    """Read the typed metadata of one node.

    Parameters
    ----------
    target, path, **options
        As for `zaro.open`.

    Returns
    -------
    ArrayMetadata or GroupMetadata
        The same classes for Zarr 2 and 3.

    Raises
    ------
    NodeNotFoundError, StoreError, MetadataError, ReferenceSetError, TypeError, ValueError
        As `zaro.open`.

    See Also
    --------
    zaro.Array.explain : says where a chunk lies.
    """
    return open_node(target, path, **options).metadata


def read_node(
    target: Any, path: str = "", selection: Any = ..., *, out: NDArray[Any] | None = None, **options: Any
) -> NDArray[Any]:
    """Read a selection of one array.

    Parameters
    ----------
    target, path, **options
        As for `zaro.open`.
    selection
        Integers, slices, an ellipsis, lists and masks, as in `array[selection]`.
    out : ndarray, optional
        Receives the result: of its shape and the array's dtype, any strides.

    Returns
    -------
    ndarray
        Values as they are stored; `out` itself where given.

    Raises
    ------
    MetadataError
        The node is a group, or its document is broken.
    NodeNotFoundError, StoreError, ReferenceSetError, TypeError, ValueError
        As `zaro.open`.
    SelectionError, ChunkError
        As `Array.read`.

    See Also
    --------
    zaro.open : opens once, to read often.
    """
    node = open_node(target, path, **options)
    if isinstance(node, Group):
        raise MetadataError(node.path or "/", "", f"is a group; name an array in it: {', '.join(node)}")
    return node.read(selection, out)
