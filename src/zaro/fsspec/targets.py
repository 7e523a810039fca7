"""The file systems that references point into, by protocol and by URL prefix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import fsspec  # type: ignore[import-untyped]
from fsspec.core import split_protocol, url_to_fs  # type: ignore[import-untyped]
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper  # type: ignore[import-untyped]
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from zaro.options import Options
from zaro.references.files import folder_of, is_relative, places
from zaro.stores.trust import check_target, protocol_of

__all__ = ["FileSystems", "make_filesystems", "unwrapped"]

_HERE = ("file", "local", "memory")
"""Protocols of documents that this machine wrote."""


class FileSystems(dict[str | None, Any]):
    """File systems by protocol, None for URLs that spell none; further ones are made when first asked for.

    Attributes
    ----------
    asynchronous : bool
        For those that are made here.
    prefixes : dict
        Options by URL prefix, the longest that fits counts.
    origin : str or None
        Address of the document: relative paths mean files beside it, and one from afar may not
        reach this machine.
    named : set of str
        Protocols that the caller named, and so allows.
    """

    def __init__(self, *, asynchronous: bool = False, origin: str | None = None) -> None:
        super().__init__()
        self.asynchronous, self.origin = asynchronous, origin
        self.prefixes: dict[str, Any] = {}
        self.named: set[str | None] = set()
        self._folder = None if origin is None or "::" in origin else folder_of(origin)
        self._by_prefix: dict[str, Any] = {}

    def __missing__(self, protocol: str | None) -> Any:
        found = self[protocol] = self._make(protocol, self._options(f"{protocol}://"))
        return found

    def _make(self, protocol: str | None, options: Mapping[str, Any]) -> Any:
        given = dict(options)
        if fsspec.get_filesystem_class(protocol).async_impl:
            given.setdefault("asynchronous", self.asynchronous)
        return wrapped(fsspec.filesystem(protocol, **given), self.asynchronous)

    def _options(self, url: str) -> dict[str, Any]:
        return Options(remote_options=self.prefixes).for_url(url) if self.prefixes else {}

    def of(self, url: str) -> tuple[Any, str]:
        """File system of a URL, and the path by which that file system knows it.

        Raises
        ------
        StoreError
            A set from afar names a file of this machine.
        """
        if self._folder is not None and is_relative(url) and isinstance(self._inner(None), LocalFileSystem):
            url = self._resolved(url)
        self._check(url)
        if "::" in url:
            fs, path = url_to_fs(url)
            return wrapped(fs, self.asynchronous), path
        return self._by_url(url), url

    def _by_url(self, url: str) -> Any:
        protocol = split_protocol(url)[0]
        prefix = max((one for one in self.prefixes if url.startswith(one)), key=len, default=None)
        if prefix is None:
            return self[protocol]
        if prefix not in self._by_prefix:
            given = self.prefixes[prefix]
            is_options = isinstance(given, Mapping)
            self._by_prefix[prefix] = self._make(protocol, given) if is_options else given
        return self._by_prefix[prefix]

    def _inner(self, protocol: str | None) -> Any:
        fs = self.get(protocol)
        return unwrapped(fs)

    def _resolved(self, url: str) -> str:
        """A relative path as a file beside the document or, failing that, below the working directory."""
        candidates = places(url, self._folder)
        return next(filter(os.path.exists, candidates), candidates[0]) if candidates[1:] else candidates[0]

    def _check(self, url: str) -> None:
        origin = self.origin
        if origin is None or protocol_of(origin.split("::")[-1]) in _HERE:
            return
        last = url.rsplit("::", 1)[-1]
        if protocol_of(last) in self.named or ("://" not in last and None in self.named):
            return
        if "://" not in url and not isinstance(self._inner(None), LocalFileSystem):
            return
        check_target(url, origin, None)


def wrapped(fs: Any, asynchronous: bool) -> Any:
    """Return a file system that can be awaited.

    Raises
    ------
    ValueError
        It can, but only in the other way of the two.
    """
    if not fs.async_impl:
        return AsyncFileSystemWrapper(fs, asynchronous=asynchronous)
    if bool(asynchronous) != bool(fs.asynchronous):
        raise ValueError("Reference-FS's target filesystem must have same value of asynchronous")
    return fs


def unwrapped(fs: Any) -> Any:
    """Return the file system that blocks, if another one makes it look as if it could be awaited."""
    return fs.sync_fs if isinstance(fs, AsyncFileSystemWrapper) else fs


def make_filesystems(
    fs: Any,
    remote_protocol: str | None,
    remote_options: Mapping[str, Any] | None,
    *,
    templates: Iterable[Any],
    first_url: str | None,
    asynchronous: bool,
    origin: str | None,
) -> FileSystems:
    """Make the file systems that the arguments of a reference file system name.

    Parameters
    ----------
    fs
        A file system, or a dict of protocol (or URL prefix) to file system or to options for one.
    remote_protocol, remote_options
        For URLs without protocol, and for the first protocol that is met; options may be a dict of
        URL prefix to options instead.
    origin : str or None
        Address of the document.
    templates, first_url
        Where the protocol is looked for if nobody names one.
    """
    found = FileSystems(asynchronous=asynchronous, origin=origin)
    if remote_protocol:
        found.named = {remote_protocol, None}
    if isinstance(fs, Mapping):
        found.named |= set(fs)
        _take_all(found, fs)
    else:
        options: Mapping[str, Any] = remote_options or {}
        if isinstance(options, Mapping) and any("://" in key for key in options):
            found.prefixes, options = dict(options), {}
        if fs is not None:
            remote_protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
            found.named = {remote_protocol, None}
            found[remote_protocol] = fs
        protocols = [remote_protocol] if remote_protocol else _protocols(templates, first_url)
        for protocol in protocols:
            if protocol not in found:
                fs = found[protocol] = fsspec.filesystem(
                    protocol, **(found._options(f"{protocol}://") or options)
                )
        found[None] = fs or fsspec.filesystem("file")
        for key, one in found.items():
            found[key] = wrapped(one, asynchronous)
    return found


def _take_all(found: FileSystems, given: Mapping[Any, Any]) -> None:
    for key, one in given.items():
        if key is not None and "://" in key:
            found.prefixes[key] = one
        elif isinstance(one, Mapping):
            found[key] = fsspec.filesystem((key or "file").split(":", 1)[0], **one)
        else:
            found[key] = one
    if None not in found:
        found[None] = fsspec.filesystem("file")


def _protocols(templates: Iterable[Any], first_url: str | None) -> list[str | None]:
    """Protocols of templates; that of the first reference if they have none."""
    texts = [one() if callable(one) else one for one in templates]
    found = [split_protocol(text)[0] for text in texts if isinstance(text, str)]
    known: list[str | None] = [protocol for protocol in dict.fromkeys(found) if protocol]
    if not known and first_url is not None and "::" not in first_url:
        known = [split_protocol(first_url)[0]]
    return known
