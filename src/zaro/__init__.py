"""Reads Zarr and kerchunk reference sets at the speed of the machine.

>>> import zaro
>>> zaro.open("refs.json")["sst"][0, 500:600, :]  # doctest: +SKIP
"""

from typing import TYPE_CHECKING

from zaro import config, errors
from zaro.errors import ZaroError
from zaro.hierarchy import Array, Group
from zaro.hierarchy import list_nodes as list  # noqa: A004 - the contract's name
from zaro.hierarchy import metadata_of as meta
from zaro.hierarchy import open_node as open  # noqa: A004
from zaro.hierarchy import read_node as read
from zaro.plot import plot as _plot
from zaro.references.set import References
from zaro.report import html as _html
from zaro.scan import append, concat, merge, scan
from zaro.scan.verify import verify as _verify
from zaro.versions import show_versions

__all__ = [
    "Array",
    "Group",
    "References",
    "ZaroError",
    "append",
    "concat",
    "config",
    "errors",
    "list",
    "merge",
    "meta",
    "open",
    "read",
    "scan",
    "show_versions",
]

# What a notebook shows of a node lies above the room that nodes live in: only here do they meet.
for _kind in (Array, Group, References):
    setattr(_kind, "_repr_html_", _html)  # noqa: B010 - and no room below declares it
del _kind
setattr(References, "verify", _verify)  # noqa: B010 - likewise
setattr(References, "plot", _plot)  # noqa: B010 - likewise

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version  # it reads files: only for who asks

        return version("zaro")
