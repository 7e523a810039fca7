"""The files that a reference set points at: which of them are local, and the bytes of the others."""

from __future__ import annotations

import os
from collections.abc import Sequence

from zaro.errors import StoreError
from zaro.options import Options
from zaro.stores.base import Bytes
from zaro.stores.local import read_span

__all__ = ["Targets"]

_LOCAL = ("file://", "local://")


class Targets:
    """Files by URL, as a reference set spells them.

    Parameters
    ----------
    base : str
        Folder or address of the set's document; relative references lie beside it, failing that
        under the working directory.
    options : Options
        `remote_protocol` for references that spell none, `remote_options` and `allow_targets`.
    """

    def __init__(self, base: str, options: Options) -> None:
        self.base, self.options = base, options

    def local_path(self, url: str) -> str | None:
        """Path of a local file; None for one that lies elsewhere.

        Raises
        ------
        StoreError
            The set came from afar, or `allow_targets` does not name this place.
        """
        for start in _LOCAL:
            if url.startswith(start):
                self._check(url)
                return url[len(start) :]
        if "://" in url or "::" in url or self.options.remote_protocol not in (None, "file", "local"):
            self._check(self.full(url))
            return None
        if not os.path.isabs(url) and "://" in self.base:
            return None
        self._check(url)
        return self._places(url)[0] if os.path.isabs(url) else self._first(url)

    def full(self, url: str) -> str:
        """The URL with its protocol, where it is not local."""
        if "://" in url or "::" in url:
            return url
        protocol = self.options.remote_protocol
        if protocol is None or (not os.path.isabs(url) and "://" in self.base):
            return f"{self.base.rstrip('/')}/{url}"
        return f"{protocol}://{url}"

    def describe(self, url: str) -> str:
        """The file for a message: all the places where it was looked for."""
        local = self.local_path(url)
        if local is None:
            return self.full(url)
        places = self._places(url.removeprefix("file://").removeprefix("local://"))
        return local if os.path.exists(local) or len(places) == 1 else " or ".join(places)

    def _places(self, path: str) -> list[str]:
        places = [os.path.join(self.base, path), os.path.abspath(path)]
        return [places[1]] if os.path.isabs(path) or places[0] == places[1] or not self.base else places

    def _first(self, path: str) -> str:
        places = self._places(path)
        return next((place for place in places if os.path.exists(place)), places[0])

    def _check(self, url: str) -> None:
        allowed = self.options.allow_targets
        if allowed is not None:
            if not any(url.startswith(prefix) for prefix in allowed):
                raise StoreError(url, f"is not below any of allow_targets={list(allowed)}")
        elif "://" in self.base and ("://" not in url or url.startswith(_LOCAL)):
            raise StoreError(
                url,
                f"a reference set from {self.base} may not read this machine's files; "
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
