"""What a convention handler is, and whether attributes declare a convention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from zaro.errors import XGroupError, XGroupNoPrincipalWarning
from zaro.warned import warn

if TYPE_CHECKING:
    from xarray import Variable

    from zaro.conventions.nodes import ArrayNode, GroupNode

__all__ = ["ConventionHandler", "declared", "declares", "identifier", "overheard", "tell"]

_OWN: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "cs": (
        "e4dbf0b7-7a00-4ce6-b23e-484292014ab4",
        ("r-cf/zarr_convention_cs", "r-cf/zarr_conventions_cs"),
    ),
    "spatial": ("689b58e2-cf7b-45e0-9fff-9cfc0883d6b4", ("zarr-conventions/spatial",)),
    "ref": ("d89b30cf-ed8c-43d5-9a16-b492f0cd8786", ("r-cf/zarr_convention_ref",)),
    "proj": (
        "f17cb550-5864-4468-aeb7-f3180cfb622f",
        ("zarr-conventions/proj", "zarr-conventions/geo-proj", "zarr-experimental/geo-proj"),
    ),
    "uom": ("3bbe438d-df37-49fe-8e2b-739296d46dfb", ("clbarnes/zarr-convention-uom",)),
    "geolocation": ("bb9ee930-8c60-4c47-ad6b-8daa558987ed", ("r-cf/zarr_convention_geolocation",)),
    "multiscales": ("d35379db-88df-4056-af3a-620245f8e347", ("zarr-conventions/multiscales",)),
}
"""Of each convention that zaro knows: its UUID, and the repositories by whose URL it is known without one."""

_NAME_OF_UUID = {uuid: name for name, (uuid, _) in _OWN.items()}
_NAME_OF_REPOSITORY = {each: name for name, (_, repositories) in _OWN.items() for each in repositories}


def identifier(name: str) -> str:
    """UUID of a convention that zaro knows."""
    return _OWN[name][0]


class ConventionHandler:
    """One convention: whether it applies to an array, and which coordinates it gives.

    A package adds one with an entry point of the group `zaro.conventions` that names its class.
    Its constructor takes no arguments, and one object serves all arrays.

    Attributes
    ----------
    tier : {"principal", "service"}
        A principal convention gives an array its coordinates; an array has one. Service conventions
        add to it, and are asked only where there is a principal one.
    name : str
        As attributes declare it, `"cs"`; in messages.
    uuid : str or None
        Identifier of the convention, by which declarations are told apart.

    References
    ----------
    - Declarations in `zarr_conventions`, and their schema: https://github.com/zarr-conventions

    See Also
    --------
    declares : whether attributes declare a convention.
    """

    tier: Literal["principal", "service"] = "service"
    name: str = ""
    uuid: str | None = None

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Say whether the convention applies to an array; must not read values, and should not raise.

        Parameters
        ----------
        root, group : GroupNode
            The root of the store, and the group that the array lies in.
        array : ArrayNode
            The array: path, attributes, shape and names of dimensions.

        Returns
        -------
        bool
            Whether `get_variables` shall be asked.
        """
        return False

    def get_variables(self, array: ArrayNode, group: GroupNode, root: GroupNode) -> dict[str, Variable]:
        """Give the coordinates of an array; asked where `detect` said yes.

        Parameters
        ----------
        array : ArrayNode
            The array; it may be read for by its `path`, `attrs`, `shape` and `dims`.
        group, root : GroupNode
            The group that the array lies in, and the root of the store.

        Returns
        -------
        dict of str to xarray.Variable
            By the name that each shall have in the Dataset. A dimension of the array has the array's size;
            values that lie in a store stay there until they are asked for. Units are in the attributes, as
            CF spells them.

        Raises
        ------
        XGroupError
            It can give none; the array is opened without, and a warning carries the error.
        """
        return {}

    def inputs(self, array: ArrayNode) -> Any:
        """What the coordinates depend on beside the group, the dimensions and the shape; None if more.

        Arrays of one group that agree in all of it have the same coordinates, which are worked out once.

        Parameters
        ----------
        array : ArrayNode
            An array to which the convention applies.

        Returns
        -------
        object or None
            Whatever compares equal for arrays that share coordinates, as a part of their attributes; None
            keeps them apart.
        """
        return None


def declares(
    attrs: Mapping[str, Any], name: str, uuid: str | None = None, repositories: tuple[str, ...] = ()
) -> bool:
    """Whether attributes declare a convention in their `zarr_conventions`; for handlers of other packages.

    A declaration is told by its `uuid`; without one by a URL of one of the `repositories`; by its name
    only where it has neither, or no URL that is known.

    Parameters
    ----------
    attrs : mapping
        Attributes of an array or group.
    name : str
        Name of the convention; case does not matter.
    uuid : str, optional
        Its identifier.
    repositories : tuple of str
        Repositories that specify it, as `owner/name`, for any branch or tag.

    Returns
    -------
    bool
        False as well where `zarr_conventions` is not what the specification says it is.

    References
    ----------
    - Declarations in `zarr_conventions`, and their schema: https://github.com/zarr-conventions
    """
    known = {**_NAME_OF_REPOSITORY, **{each.lower(): name for each in repositories}}
    uuids = {} if uuid is None else {uuid.lower(): name}
    return any(_name(found, uuids, known) == name.lower() for found in _declarations(attrs))


def declared(node: ArrayNode | GroupNode) -> frozenset[str]:
    """Names of the conventions of zaro's own that a node declares, worked out once."""
    if "declared" not in node.memo:
        found = (_name(each, _NAME_OF_UUID, _NAME_OF_REPOSITORY) for each in _declarations(node.attrs))
        node.memo["declared"] = frozenset(name for name in found if name in _OWN)
    names: frozenset[str] = node.memo["declared"]
    return names


def _declarations(attrs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found = attrs.get("zarr_conventions")
    if isinstance(found, list | tuple):
        yield from (each for each in found if isinstance(each, Mapping))


def _name(found: Mapping[str, Any], uuids: Mapping[str, str], repositories: Mapping[str, str]) -> str | None:
    """Name of the convention that a declaration means: by UUID, by URL, and last by its own word."""
    uuid = found.get("uuid")
    if isinstance(uuid, str) and uuid:
        name = uuids.get(uuid.lower())
        return None if name is None else name.lower()
    for member in ("schema_url", "spec_url"):
        for repository in _repositories(found.get(member)):
            if repository in repositories:
                return repositories[repository].lower()
    label = found.get("name")
    return label.strip().rstrip(":").lower() if isinstance(label, str) else None


def _repositories(url: object) -> list[str]:
    """Every `owner/name` that a URL may spell, in lower case: each pair of its parts."""
    if not isinstance(url, str):
        return []
    parts = [part.removesuffix(".git").partition("@")[0] for part in re.split("[/?#]+", url.lower())]
    return [f"{owner}/{name}" for owner, name in pairwise(parts)]


_TOLD: ContextVar[list[XGroupError] | None] = ContextVar("told", default=None)


@contextmanager
def overheard() -> Iterator[list[XGroupError]]:
    """The errors that are told of inside the block, as they come."""
    told: list[XGroupError] = []
    token = _TOLD.set(told)
    try:
        yield told
    finally:
        _TOLD.reset(token)


def tell(error: XGroupError) -> None:
    """Warn that something of a convention is lost, and go on."""
    told = _TOLD.get()
    if told is not None:
        told.append(error)
    warn(XGroupNoPrincipalWarning(f"{type(error).__name__}: {error}", error))
