"""The service convention `ref`: from a reference in an attribute to the node or value that it means.

A `Fragment` is a piece of a convention's JSON that knows where it stands, so that references in it
are resolved from there, and errors name the place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from zaro.conventions.base import ConventionHandler, declared, identifier
from zaro.conventions.nodes import ArrayNode, GroupNode, Index, Node, join
from zaro.conventions.pointer import PointerError, check, point
from zaro.errors import XGroupError, XGroupPathError, XGroupReferenceError, XGroupStoreError, ZaroError
from zaro.stores.trust import local_path_of

__all__ = ["Fragment", "RefHandler", "Unfit", "is_reference"]

T = TypeVar("T")

_DEEPEST = 16  # references that may follow one another
_STORE_ENDINGS = (".zarr", ".zip", ".json", ".json.gz", ".json.zst", ".parquet", ".parq")


class RefHandler(ConventionHandler):
    """References by themselves give no coordinates; other conventions resolve them."""

    tier, name, uuid = "service", "ref", identifier("ref")

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the array declares the convention."""
        return "ref" in declared(array)


class Unfit(Exception):
    """A node is there, and cannot be what the reference is for; never leaves the conventions."""


@dataclass(frozen=True, slots=True)
class _Target:
    """A reference, parsed."""

    node: str
    uri: str | None
    attribute: str | None

    def __str__(self) -> str:
        pointer = "" if self.attribute is None else f", attribute {self.attribute!r}"
        store = "" if self.uri is None else f" of store {self.uri!r}"
        return f"{self.node!r}{store}{pointer}"


@dataclass(frozen=True, slots=True)
class _Base:
    """A path from which relative references count, in which store."""

    index: Index
    path: str


@dataclass(frozen=True, slots=True)
class _Step:
    """A reference that was followed: to which part of which node."""

    index: Index
    path: str
    pointer: str

    def __str__(self) -> str:
        return f"/{self.path}#{self.pointer}"


def is_reference(value: object) -> bool:
    """Whether a value is a reference in one of its spellings: `{"ref": {...}}`, or bare with `node`."""
    return isinstance(value, Mapping) and ("ref" in value or "node" in value)


def _names_a_node(value: object) -> bool:
    """Whether an object is a reference where members may have any name: an axis may be called `node`."""
    if not isinstance(value, Mapping):
        return False
    inner = value.get("ref")
    return isinstance(value.get("node"), str) or (isinstance(inner, Mapping) and "node" in inner)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of JSON of a convention.

    Attributes
    ----------
    value
        The JSON value.
    array : ArrayNode
        The array whose convention it belongs to, wherever the fragment itself was found.
    place : str
        Where in the attributes of the array, as `cs/crs/0/axes/time`.
    holders : tuple
        Paths from which its relative references count before those of the array: of the node that holds it.
    trail : tuple
        References that led here.
    """

    value: Any
    array: ArrayNode
    place: str
    holders: tuple[_Base, ...] = ()
    trail: tuple[_Step, ...] = ()

    def __getitem__(self, key: str | int) -> Fragment:
        return Fragment(self.value[key], self.array, f"{self.place}/{key}", self.holders, self.trail)

    def get(self, key: str) -> Fragment | None:
        """A member of an object; None where it is absent or null, or where this is no object."""
        value = self.value.get(key) if isinstance(self.value, Mapping) else None
        return None if value is None else self[key]

    def at(self, suffix: str) -> Fragment:
        """The same value, with more said of its place."""
        return replace(self, place=f"{self.place}/{suffix}")

    def error(self, reason: str, kind: type[XGroupError] = XGroupError) -> XGroupError:
        """Error about this fragment."""
        found = f" (in {self.trail[-1]})" if self.trail else ""
        return kind(self.array.where, self.place, reason + found)

    def object(self, what: str) -> Fragment:
        """Give this fragment, or what it refers to, which must be an object.

        Raises
        ------
        XGroupError
        """
        found = self.follow()
        if not isinstance(found.value, Mapping):
            raise found.error(f"{what} is an object, not {_kind(found.value)}")
        return found

    def follow(self) -> Fragment:
        """What this fragment refers to, where it is a reference; itself where it is none.

        Raises
        ------
        XGroupError
        """
        if not _names_a_node(self.value):
            return self

        def accept(node: Node, found: Fragment | None) -> Fragment:
            if found is None:
                raise Unfit(f"is {_noun(node)}, and no 'attribute' says which part of it is meant")
            return found

        return self.resolve(accept)

    def node(self, fits: Callable[[ArrayNode], T], *, need: str = "an array") -> T:
        """The array that this fragment refers to, as `fits` takes it, or raises `Unfit`."""

        def accept(node: Node, found: Fragment | None) -> T:
            if found is not None:
                raise Unfit(f"{need} required, not {_kind(found.value)} in its document")
            if not isinstance(node, ArrayNode):
                raise Unfit(f"is a group: {need} required")
            return fits(node)

        return self.resolve(accept)

    def resolve(self, accept: Callable[[Node, Fragment | None], T]) -> T:
        """Resolve a reference: the first node it may mean that `accept` takes.

        Parameters
        ----------
        accept
            Is given the node and, where the reference points into its document, the fragment there;
            raises `Unfit` or an `XGroupError` to have the next one tried.

        Raises
        ------
        XGroupPathError
            It is malformed, or its pointer leads nowhere.
        XGroupStoreError
            Its store cannot be opened.
        XGroupReferenceError
            No node is there, or none fits; or references follow one another without end.
        """
        return self._resolve(accept, set())

    def _resolve(self, accept: Callable[[Node, Fragment | None], T], tried: set[_Step]) -> T:
        here, value = _unwrapped(self)
        target = _parse(here, value)
        failures: list[tuple[str, str, type[XGroupError]]] = []
        for base in _candidates(here, target):
            place = (
                f"/{base.path}" if base.index is self.array.index else f"/{base.path} of {base.index.label}"
            )
            try:
                return _take(self, target, base, accept, tried)
            except Unfit as err:
                failures.append((place, str(err), XGroupReferenceError))
            except PointerError as err:
                failures.append((place, str(err), XGroupPathError))
            except XGroupError as err:
                failures.append((place, f"{err.place}: {err.reason}", type(err)))
            except (ZaroError, ValueError) as err:  # metadata that is broken, a name no file system takes
                failures.append((place, str(err), XGroupReferenceError))
        places = "; ".join(f"tried {place}: {reason}" for place, reason, _ in failures)
        raise here.error(f"{target}: {places}", failures[0][2])


def _unwrapped(fragment: Fragment) -> tuple[Fragment, Mapping[str, Any]]:
    """The reference object: `{"node"}`, `{"ref": {"node"}}`, or by a slip `{"ref": {"external"}}`."""
    here = fragment
    for name in ("ref", "external", "ref"):
        if isinstance(here.value, Mapping) and "node" not in here.value and name in here.value:
            here = here[name]
    if not isinstance(here.value, Mapping):
        raise here.error(f"a reference is an object with 'node', not {_kind(here.value)}", XGroupPathError)
    return here, here.value


def _parse(here: Fragment, value: Mapping[str, Any]) -> _Target:
    if "node" not in value:
        raise here.error("malformed reference: 'node' missing", XGroupPathError)
    for name in ("node", "uri", "attribute"):
        found = value.get(name)
        absent = found is None and name != "node"
        if not absent and (
            not isinstance(found, str) or (not found and name != "attribute") or "\0" in found
        ):
            reason = f"malformed reference: {name!r} is {_kind(found)}, expected text"
            raise here.error(reason, XGroupPathError)
    target = _Target(value["node"], value.get("uri"), value.get("attribute"))
    if target.attribute is not None:
        try:
            check(target.attribute)
        except PointerError as err:
            raise here.error(f"{target}: {err}", XGroupPathError) from None
    return target


def _take(
    here: Fragment,
    target: _Target,
    base: _Base,
    accept: Callable[[Node, Fragment | None], T],
    tried: set[_Step],
) -> T:
    """What `accept` makes of a node, or of where a reference there leads, unless that was `tried` in vain."""
    node = base.index.node(base.path)
    if node is None:
        raise Unfit("not found")
    if target.attribute is None:
        return accept(node, None)
    value = _pointed(node, target.attribute)
    step = _Step(base.index, base.path, target.attribute)
    if step in here.trail:
        raise Unfit("references go round in a circle")
    if len(here.trail) >= _DEEPEST:
        raise Unfit(f"more than {_DEEPEST} references follow one another")
    if step in tried:  # several nodes for each of several references are many ways to the same few places
        raise Unfit("leads where another way led in vain")
    tried.add(step)
    holder = base.path if isinstance(node, GroupNode) else base.path.rpartition("/")[0]
    found = Fragment(value, here.array, here.place, (_Base(base.index, holder),), (*here.trail, step))
    return found._resolve(accept, tried) if _names_a_node(value) else accept(node, found)


def _pointed(node: Node, pointer: str) -> Any:
    """The value in the metadata document of a node; attributes are at hand, the rest may need reading."""
    if pointer == "/attributes" or pointer.startswith("/attributes/"):
        return point({"attributes": node.attrs}, pointer)
    return point(node.document(), pointer)


# ---- where a reference may lead ----------------------------------------------------------------


def _candidates(here: Fragment, target: _Target) -> list[_Base]:
    """Every node that a reference may mean, the likeliest first; there is at least one."""
    if target.uri is not None:
        return [_Base(_open(here, target, target.uri), join("", target.node))]
    if "://" in target.node:
        return [_by_address(here, target)]
    source = here.array
    bases = [
        *here.holders,
        _Base(source.index, source.path.rpartition("/")[0]),
        _Base(source.index, source.path),
    ]
    absolute = target.node.startswith("/")
    found = [_Base(base.index, join("" if absolute else base.path, target.node)) for base in bases]
    return list(dict.fromkeys(found))


def _open(here: Fragment, target: _Target, uri: str) -> Index:
    """The store at a URI, which may be relative to the one that names it.

    Raises
    ------
    XGroupPathError, XGroupStoreError
    """
    index = here.holders[0].index if here.holders else here.array.index
    address = _address(here, target, uri, index)
    try:
        return index.stores.open(address, index)
    except XGroupStoreError as err:
        raise here.error(f"{target}: {err.reason}", XGroupStoreError) from err


def _address(here: Fragment, target: _Target, uri: str, index: Index) -> str:
    """Path or URL of the store at a URI."""
    path = local_path_of(uri)
    if path is None or "://" in uri:
        return uri if path is None else path
    if index.address is None and os.path.isabs(path):
        return path
    if index.address is None or local_path_of(index.address) is None:
        reason = f"{target}: the relative uri needs a store in a local directory, this one is {index.label}"
        raise here.error(reason, XGroupPathError)
    # `../b.zarr` and `b.zarr` both mean the neighbour of `a.zarr`
    folder = index.address if uri.startswith("../") else os.path.dirname(index.address)
    return os.path.normpath(os.path.join(folder, uri))


def _by_address(here: Fragment, target: _Target) -> _Base:
    """A node that is named by an address of its own, or by that of its store and a path."""
    try:
        return _Base(_open(here, target, target.node), "")
    except XGroupStoreError:
        head, tail = _split(target.node)
        if not tail:
            raise
        return _Base(_open(here, target, head), join("", tail))


def _split(address: str) -> tuple[str, str]:
    """Store and path of an address, cut after the last part that looks like a store."""
    parts = address.split("/")
    ends = [k for k, part in enumerate(parts) if part.endswith(_STORE_ENDINGS)]
    return ("/".join(parts[: ends[-1] + 1]), "/".join(parts[ends[-1] + 1 :])) if ends else (address, "")


def _noun(node: Node) -> str:
    return "an array" if isinstance(node, ArrayNode) else "a group"


def _kind(value: object) -> str:
    """What a JSON value is, for messages."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if value is None:
        return "null"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
