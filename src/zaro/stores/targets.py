"""The files that a reference set points at: which of them are local, and the bytes of the others."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from zaro.errors import StoreError
from zaro.options import Options
from zaro.stores.base import Bytes, Place
from zaro.stores.local import read_span
from zaro.stores.remote import read_parts
from zaro.stores.trust import check_target, local_path_of, protocol_of

__all__ = ["Targets"]


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
        self._check(full)
        path = local_path_of(full)
        # what was allowed is the path without its steps back, so that is what is opened
        return path if path is None or self.options.allow_targets is None else os.path.abspath(path)

    def full(self, url: str) -> str:
        """The URL with its protocol: `remote_protocol` where it spells none."""
        protocol = self.options.remote_protocol
        if "://" in url or "::" in url or url.startswith("data:") or protocol in (None, "file", "local"):
            return url
        return f"{protocol}://{url}"

    def place(self, url: str) -> Place:
        """The place of a file that lies elsewhere.

        Raises
        ------
        StoreError
            It may not be reached, or nothing reaches it.
        """
        from zaro.stores.filesystems import place_of

        full = self.full(url)
        self._check(full)
        found = place_of(full, self._options(full))
        return found if self.options.allow_targets is None else replace(found, check=self._check)

    def _options(self, url: str) -> dict[str, Any]:
        """Options of a file: of a chain, for each link under its protocol, as fsspec wants them."""
        given = self.options.remote_options or {}
        by_prefix = any(isinstance(value, Mapping) and "://" in key for key, value in given.items())
        if "::" not in url or not by_prefix:
            return self.options.for_url(url)
        return {protocol_of(link): self.options.for_url(link) for link in url.split("::")}

    def _check(self, url: str) -> None:
        if "\0" in url:
            raise StoreError(repr(url), "holds a NUL byte, which no name of a file may")
        if not url.isascii():
            try:
                os.fsencode(url)
            except UnicodeEncodeError:
                raise StoreError(
                    repr(url), "holds half of a character, which no name of a file may"
                ) from None
        check_target(url, self.origin, self.options.allow_targets)

    def read(self, spans: Sequence[tuple[str, int, int | None]]) -> list[Bytes]:
        """The bytes of (url, offset, length) spans, remote ones asked for at the same time.

        An offset below 0 counts from the end; length None is to the end of the file.

        Raises
        ------
        FileNotFoundError
            There is no such file.
        StoreError
        """
        found: list[Bytes | None] = [None] * len(spans)
        away = []
        for k, (url, offset, length) in enumerate(spans):
            path = self.local_path(url)
            if path is None:
                away.append(k)
            else:
                found[k] = read_span(path, offset, length)
        parts = [(self.place(spans[k][0]), *spans[k][1:]) for k in away]
        for k, one in zip(away, read_parts(parts, self.options.timeout) if parts else (), strict=True):
            if isinstance(one, Exception):
                raise one
            found[k] = one
        return [one for one in found if one is not None]
