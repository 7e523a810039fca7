"""The files that a reference set points at: which of them are local, and the bytes of the others."""

from __future__ import annotations

from collections.abc import Sequence

from zaro.errors import StoreError
from zaro.options import Options
from zaro.stores.base import Bytes
from zaro.stores.local import read_span

__all__ = ["Targets"]

_LOCAL = ("file://", "local://")


class Targets:
    """Files by URL, as a reference set spells them once relative ones are resolved.

    Parameters
    ----------
    origin : str
        Address of the set's document: one from afar may not read this machine's files. Empty for a
        set that was handed over in memory.
    options : Options
        `remote_protocol` for references that spell none, `remote_options` and `allow_targets`.
    """

    def __init__(self, origin: str, options: Options) -> None:
        self.origin, self.options = origin, options

    def local_path(self, url: str) -> str | None:
        """Path of a local file; None for one that lies elsewhere.

        Raises
        ------
        StoreError
            The set came from afar, or `allow_targets` does not name this place.
        """
        full = self.full(url)
        local = next((full[len(start) :] for start in _LOCAL if full.startswith(start)), None)
        if local is None and "://" not in full and "::" not in full:
            local = full
        self._check(full, is_local=local is not None)
        return local

    def full(self, url: str) -> str:
        """The URL with its protocol: `remote_protocol` where it spells none."""
        protocol = self.options.remote_protocol
        if "://" in url or "::" in url or protocol in (None, "file", "local"):
            return url
        return f"{protocol}://{url}"

    def _check(self, url: str, *, is_local: bool) -> None:
        allowed = self.options.allow_targets
        if allowed is not None:
            if not any(url.startswith(prefix) for prefix in allowed):
                raise StoreError(url, f"is not below any of allow_targets={list(allowed)}")
        elif is_local and "://" in self.origin and not self.origin.startswith(_LOCAL):
            raise StoreError(
                url,
                f"the reference set {self.origin} came from afar and may not read this machine's files; "
                "allow it with allow_targets=[prefix] if you trust it",
            )

    def read(self, spans: Sequence[tuple[str, int, int | None]]) -> list[Bytes]:
        """The bytes of (url, offset, length) spans; length None is to the end of the file."""
        found: list[Bytes] = []
        for url, offset, length in spans:
            path = self.local_path(url)
            if path is None:
                raise StoreError(self.full(url), "remote files are not supported yet")
            found.append(read_span(path, offset, length))
        return found
