"""Which files may references reach? A document from elsewhere is written by a stranger."""

from __future__ import annotations

import os
from collections.abc import Sequence
from urllib.parse import unquote

from zaro.errors import StoreError

__all__ = ["check_target", "comes_from_afar", "local_path_of", "protocol_of"]

_LOCAL = ("file://", "local://")
# what reaches another machine: all that a document from afar may use
_NETWORK = frozenset({
    "abfs", "abfss", "adl", "az", "box", "dropbox", "ftp", "gcs", "gdrive", "gist", "github", "gs", "hdfs",
    "hf", "http", "https", "lakefs", "obs", "oci", "oss", "osdf", "pelican", "r2", "root", "s3", "s3a",
    "sftp", "ssh", "swift", "wasb", "webdav", "webhdfs",
})  # fmt: skip
# what only unpacks or keeps what the next link of a chain brings
_WRAPPERS = frozenset({"blockcache", "cached", "filecache", "simplecache", "tar", "zip"})


def local_path_of(url: str) -> str | None:
    """Path of a file of this machine; None for a URL that lies elsewhere."""
    if "::" in url or url.startswith("data:"):
        return None
    for start in _LOCAL:
        if url.startswith(start):
            return url[len(start) :]
    return None if "://" in url else url


def protocol_of(link: str) -> str:
    """Protocol of one link of a chain; `file` where none is spelled."""
    if link.startswith("data:"):
        return "data"
    if "://" in link:
        return link.partition("://")[0]
    return link if link in _WRAPPERS or link in _NETWORK else "file"


def _last(url: str) -> str:
    return url.rpartition("::")[2]


def comes_from_afar(origin: str) -> bool:
    """Whether a document lies on another machine."""
    return protocol_of(_last(origin)) not in ("file", "local")


def check_target(
    url: str,
    origin: str,
    allowed: Sequence[str] | None,
    *,
    remedy: str = "allow it with allow_targets=[prefix] if you trust it",
) -> None:
    """Refuse a file that the document or file at `origin` names, and may not reach.

    Parameters
    ----------
    url : str
        With its protocol, chained ones included.
    allowed : sequence of str or None
        Prefixes that may be reached; None for the rule that a document from afar reaches network
        addresses and nothing of this machine.
    remedy : str
        What to do about a file of this machine that is refused.

    Raises
    ------
    StoreError
    """
    links = url.split("::")
    if allowed is not None:
        if not any(_is_below(url, links, prefix) for prefix in allowed):
            raise StoreError(url, f"is not below any of allow_targets={list(allowed)}")
        return
    if not comes_from_afar(origin):
        return
    last = protocol_of(links[-1])
    if any(protocol_of(link) not in _WRAPPERS for link in links[:-1]) or not (
        last in _NETWORK or last == "data" or (last == protocol_of(_last(origin)) and last != "memory")
    ):
        raise StoreError(
            url,
            f"{origin} came from afar and may reach network addresses only, not this machine's files; "
            f"{remedy}",
        )


def _is_below(url: str, links: list[str], prefix: str) -> bool:
    """Whether a URL lies below a prefix: what a chain reaches is its last link."""
    if "::" in prefix:
        return url.startswith(prefix)
    if any(protocol_of(link) not in _WRAPPERS for link in links[:-1]):
        return False
    found = links[-1]
    path, below = local_path_of(found), local_path_of(prefix)
    if path is not None:
        return below is not None and _normal(path).startswith(_normal(below))
    if ".." in unquote(found).replace("\\", "/").split("/"):
        return False  # climbs out of the prefix that it spells
    scheme, separator, rest = prefix.partition("://")
    if separator and rest and "/" not in rest:
        prefix = f"{scheme}://{rest}/"  # the host as a whole, not the first letters of another
    return found.startswith(prefix)


def _normal(path: str) -> str:
    ending = "/" if path.endswith("/") and path.strip("/") else ""
    return os.path.normpath(os.path.abspath(path)) + ending
