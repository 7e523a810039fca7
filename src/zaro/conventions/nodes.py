"""The nodes that handlers see, each read once in a call, and the stores in which they lie."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from zaro.errors import StoreError, XGroupStoreError, ZaroError
from zaro.hierarchy import Array, Group
from zaro.stores.trust import check_target, local_path_of, protocol_of

if TYPE_CHECKING:
    from xarray import Variable

__all__ = ["ArrayNode", "GroupNode", "Index", "Node", "Stores", "address_of", "join"]


_SMALL = 1 << 20  # bytes of an array that is read at once where many groups share it


def join(base: str, path: str) -> str:
    """Path of what `path` means below `base`: `..` climbs and stops at the root, `.` and `//` are nothing."""
    parts: list[str] = []
    for part in f"{base}/{path}".split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


class _Node:
    """What arrays and groups have in common.

    Attributes
    ----------
    path : str
        From the root of its store, without slashes at its ends; empty for the root.
    attrs : dict
        As the document has them.
    index : Index
        The other nodes of the store.
    memo : dict
        Whatever a handler wants to work out once for this node.
    """

    def __init__(self, index: Index, node: Array | Group, path: str) -> None:
        self.index, self.path, self.attrs = index, path, node.attrs
        self.memo: dict[str, Any] = {}
        self._node = node

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition("/")[2]

    @property
    def where(self) -> str:
        """Absolute path, for messages."""
        return f"/{self.path}"

    @property
    def parent(self) -> GroupNode | None:
        """The group that holds this node; None for the root."""
        above = self.index.node(self.path.rpartition("/")[0]) if self.path else None
        return above if isinstance(above, GroupNode) else None

    def document(self) -> Mapping[str, Any]:
        """The whole metadata document."""
        return self._node.document()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.where}>"


class ArrayNode(_Node):
    """An array, as handlers see it.

    Attributes
    ----------
    array : zaro.Array
    shape : tuple of int
    dims : tuple of str
        Names of the dimensions; `dim_0`, `dim_1` where the document has none.
    has_names : bool
        Whether the document names every dimension.
    """

    def __init__(self, index: Index, array: Array, path: str) -> None:
        super().__init__(index, array, path)
        self.array, self.shape = array, array.shape
        names = array.dims if array.dims is not None else (None,) * array.ndim
        self.has_names = None not in names
        self.dims = tuple(f"dim_{k}" if name is None else name for k, name in enumerate(names))
        self._parts: tuple[Any, dict[Any, Any], dict[Any, Any]] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of an element."""
        return self.array.dtype

    @property
    def sizes(self) -> dict[str, int]:
        """Elements along each dimension, by name."""
        return dict(zip(self.dims, self.shape, strict=True))

    def variable(self, dims: tuple[str, ...] | None = None, *, shared: bool = False) -> Variable:
        """Give the array as a variable, lazy, with attributes and encoding as stored.

        Parameters
        ----------
        dims : tuple of str, optional
            Other names for the dimensions.
        shared : bool
            Whether many groups may ask for it: a small array is then read at once, and once in a call.
        """
        from xarray import Variable

        if self._parts is None:
            made = self.index.stores.to_variable(self.array, self.dims)
            self._parts = made._data, made.attrs, made.encoding
            self.index.stores.remember(made, self.key, self)
        data, attrs, encoding = self._parts
        names = self.dims if dims is None else dims
        encoding = dict(encoding)
        if names != self.dims and "chunks" in encoding:
            encoding["preferred_chunks"] = dict(zip(names, encoding["chunks"], strict=True))
        return Variable(names, self._shared(data) if shared else data, dict(attrs), encoding, fastpath=True)

    def _shared(self, data: Any) -> Any:
        if self.array.nbytes > _SMALL or self.dtype.hasobject:
            return data
        if "shared" not in self.memo:
            from zaro.conventions.lazy import read_once

            self.memo["shared"] = read_once(data)
            self.index.stores.remember(self.memo["shared"], self.key, self)
        return self.memo["shared"]

    @property
    def key(self) -> tuple[Hashable, ...]:
        """What makes this node the same as another: its store and path."""
        address = self.index.address
        return (f"{address}/{self.path}",) if address is not None else (id(self.index), self.path)


class GroupNode(_Node):
    """A group, as handlers see it: gives the nodes below it by path, as `group["coords/lat"]`."""

    def __init__(self, index: Index, group: Group, path: str) -> None:
        super().__init__(index, group, path)
        self._children: dict[str, Node] | None = None
        self.group = group

    def get(self, path: str) -> Node | None:
        """Node at a path below this group, from the root after a slash; None where there is none."""
        return self.index.node(join("" if path.startswith("/") else self.path, path))

    def __getitem__(self, path: str) -> Node:
        found = self.get(path)
        if found is None:
            raise KeyError(path)
        return found

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.get(path) is not None

    def children(self) -> dict[str, Node]:
        """The nodes directly below, by name."""
        if self._children is None:
            self._children = {node.name: node for node in self.index.below(self)}
        return self._children

    def __iter__(self) -> Iterator[str]:
        return iter(self.children())

    def arrays(self) -> dict[str, ArrayNode]:
        """The arrays directly below, by name."""
        return {name: node for name, node in self.children().items() if isinstance(node, ArrayNode)}

    def groups(self) -> dict[str, GroupNode]:
        """The groups directly below, by name."""
        return {name: node for name, node in self.children().items() if isinstance(node, GroupNode)}


Node = ArrayNode | GroupNode


class Index:
    """The nodes of one store by path.

    Attributes
    ----------
    label : str
        The store, for messages.
    address : str or None
        Absolute path or URL; None for what lies in memory.
    stores : Stores
        What else this call has open.
    """

    def __init__(self, start: Array | Group, label: str, address: str | None, stores: Stores) -> None:
        self.label, self.address, self.stores = label, address, stores
        self._start = start
        self._nodes: dict[str, Node | None] = {}

    def node(self, path: str) -> Node | None:
        """Node at a path without slashes at its ends; None where there is none.

        Raises
        ------
        ZaroError
            Its metadata cannot be read.
        """
        if path not in self._nodes:
            found = self._start if path == self._start.path else self._start.find(path)
            self._nodes[path] = None if found is None else self._wrapped(found)
        return self._nodes[path]

    @property
    def root(self) -> GroupNode:
        """The root; where no document describes it, the group that was opened."""
        found = self.node("")
        if not isinstance(found, GroupNode):
            found = self.node(self._start.path)
        assert isinstance(found, GroupNode), "a store is indexed from one of its groups"
        return found

    def below(self, group: GroupNode) -> Iterator[Node]:
        """Nodes directly below a group."""
        for name in group.group.names():
            node = self.node(f"{group.path}/{name}".strip("/"))
            if node is not None:
                yield node

    def _wrapped(self, node: Array | Group) -> Node:
        return (
            ArrayNode(self, node, node.path) if isinstance(node, Array) else GroupNode(self, node, node.path)
        )


class Stores:
    """The stores that one call has open, and where its variables come from.

    Parameters
    ----------
    open_store
        Gives the root of the store at an address.
    to_variable
        Makes a lazy variable of an array and the names of its dimensions.
    allow_targets
        Prefixes of the addresses that references may reach; None: any, but none of this machine
        from a store that lies elsewhere.
    """

    def __init__(
        self,
        open_store: Callable[[str], Array | Group],
        to_variable: Callable[[Array, tuple[str, ...]], Variable],
        allow_targets: Sequence[str] | None = None,
    ) -> None:
        self.to_variable = to_variable
        self._allowed = allow_targets
        self._open_store = open_store
        self._opened: dict[str, Index | XGroupStoreError] = {}
        self._origins: dict[int, tuple[Any, Hashable, ArrayNode | None]] = {}

    def start(self, root: Array | Group, target: Any, label: str) -> Index:
        """The store that the call is about, which is open already."""
        index = Index(root, label, address_of(target), self)
        if index.address is not None:
            self._opened[index.address] = index
        return index

    def open(self, address: str, origin: Index) -> Index:
        """The store at an address that a node of `origin` names, opened once.

        Raises
        ------
        XGroupStoreError
            It cannot be opened, or not from there; `array` and `place` are left to the caller.
        """
        self._check(address, origin)
        if address not in self._opened:
            try:
                self._opened[address] = Index(self._open_store(address), address, address, self)
            except (ZaroError, OSError, ValueError, ImportError) as err:
                self._opened[address] = XGroupStoreError("", "", f"{address} cannot be opened: {err}")
        found = self._opened[address]
        if isinstance(found, XGroupStoreError):
            raise found
        return found

    def _check(self, address: str, origin: Index) -> None:
        """Refuse what `allow_targets` leaves out, and files of this machine to a store from afar."""
        known = origin.address or ""
        try:
            check_target(address, "" if protocol_of(known) == "memory" else known, self._allowed)
        except StoreError as err:
            raise XGroupStoreError("", "", str(err)) from err

    def remember(self, lazy: Any, origin: Hashable, node: ArrayNode | None = None) -> None:
        """Keep where a lazy variable or its data come from, so that two of one origin are the same."""
        data = getattr(lazy, "_data", lazy)
        self._origins[id(data)] = (data, origin, node)  # the data stays alive, and its id its own

    def origin(self, variable: Variable) -> Hashable | None:
        """What tells where a variable comes from; None for one in memory, or by another handler."""
        found = self._origins.get(id(variable._data))
        return None if found is None else found[1]

    def node(self, variable: Variable) -> ArrayNode | None:
        """The array that a variable shows; None for one that is computed."""
        found = self._origins.get(id(variable._data))
        return None if found is None else found[2]


def address_of(target: Any) -> str | None:
    """Absolute path or URL of what was opened; None for what lies in memory."""
    target = getattr(target, "address", target)
    if not isinstance(target, str | os.PathLike):
        return None
    text = os.fspath(target)
    path = local_path_of(text)
    return text if path is None else os.path.abspath(os.path.expanduser(path))
