"""What a convention handler is, and whether attributes declare a convention."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from zaro.errors import XGroupError, XGroupNoPrincipalWarning

if TYPE_CHECKING:
    from xarray import Variable

    from zaro.conventions.nodes import ArrayNode, GroupNode

__all__ = ["ConventionHandler", "declares", "tell"]

_KNOWN = (
    "r-cf/zarr_convention_cs",
    "r-cf/zarr_conventions_cs",
    "r-cf/zarr_convention_ref",
    "r-cf/zarr_convention_geolocation",
    "zarr-conventions/spatial",
    "zarr-conventions/proj",
    "zarr-conventions/geo-proj",
    "zarr-experimental/geo-proj",
    "zarr-conventions/multiscales",
    "clbarnes/zarr-convention-uom",
)
"""Repositories, as `owner/name`, by whose URL a declaration is known without a UUID."""


class ConventionHandler:
    """One convention: whether it applies to an array, and which coordinates it gives.

    A package adds one with an entry point of the group `zaro.conventions` that names its class.

    Attributes
    ----------
    tier : {"principal", "service"}
        A principal convention gives an array its coordinates; an array has one. Service conventions
        add to it, and are asked only where there is a principal one.
    name : str
    uuid : str or None
    """

    tier: Literal["principal", "service"] = "service"
    name: str = ""
    uuid: str | None = None

    @staticmethod
    def detect(root: GroupNode, group: GroupNode, array: ArrayNode) -> bool:
        """Whether the convention applies to `array`, which lies in `group`, below `root`."""
        return False

    def get_variables(self, array: ArrayNode, group: GroupNode, root: GroupNode) -> dict[str, Variable]:
        """Coordinates of `array` by the name they shall have in the Dataset, lazy where they lie in a store.

        Raises
        ------
        XGroupError
            It can give none; the array is opened without. Say `tell(error)` for one coordinate of many.
        """
        return {}


def declares(
    attrs: Mapping[str, Any], name: str, uuid: str | None = None, repositories: tuple[str, ...] = ()
) -> bool:
    """Whether attributes declare a convention in their `zarr_conventions`.

    A declaration is told by its `uuid`; without one by a URL of one of the `repositories`
    (`owner/name`, any branch or tag); by its name only where it has neither, or no URL that is known.
    """
    return any(_is(found, name, uuid, repositories) for found in _declarations(attrs))


def _declarations(attrs: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    found = attrs.get("zarr_conventions")
    if isinstance(found, list | tuple):
        yield from (each for each in found if isinstance(each, Mapping))


def _is(found: Mapping[str, Any], name: str, uuid: str | None, repositories: tuple[str, ...]) -> bool:
    own = found.get("uuid")
    if isinstance(own, str) and own:
        return uuid is not None and own.lower() == uuid.lower()
    wanted = {each.lower() for each in repositories}
    for member in ("schema_url", "spec_url"):
        known = [each for each in _repositories(found.get(member)) if each in _KNOWN or each in wanted]
        if known:
            return known[0] in wanted
    label = found.get("name")
    return isinstance(label, str) and label.strip().rstrip(":").lower() == name.lower()


def _repositories(url: object) -> list[str]:
    """Every `owner/name` that a URL may spell, in lower case: each pair of its parts."""
    if not isinstance(url, str):
        return []
    parts = [part.removesuffix(".git").partition("@")[0] for part in re.split("[/?#]+", url.lower())]
    return [f"{owner}/{name}" for owner, name in zip(parts, parts[1:], strict=False)]


def tell(error: XGroupError) -> None:
    """Warn that something of a convention is lost, and go on."""
    warnings.warn(XGroupNoPrincipalWarning(f"{type(error).__name__}: {error}", error), stacklevel=3)
