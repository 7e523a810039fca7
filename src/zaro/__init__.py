"""Reads Zarr and kerchunk reference sets at the speed of the machine.

>>> import zaro
>>> zaro.open("refs.json")["sst"][0, 500:600, :]  # doctest: +SKIP
"""

from zaro import errors
from zaro.errors import ZaroError
from zaro.hierarchy import Array, Group
from zaro.hierarchy import list_nodes as list  # noqa: A004 - the contract's name
from zaro.hierarchy import metadata_of as meta
from zaro.hierarchy import open_node as open  # noqa: A004
from zaro.hierarchy import read_node as read
from zaro.references.set import References

__all__ = [
    "Array",
    "Group",
    "References",
    "ZaroError",
    "errors",
    "list",
    "meta",
    "open",
    "read",
]
