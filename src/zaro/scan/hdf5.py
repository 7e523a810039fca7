"""HDF5 and NetCDF4 files: every dataset that a link reaches becomes an array of its own path."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from zaro.errors import ScanError, StoreError
from zaro.references.files import folder_of, is_local
from zaro.references.layout import join_path
from zaro.scan.draft import SetBuilder
from zaro.scan.hdf5_ahead import address_of, fetch_ahead
from zaro.scan.hdf5_attributes import attributes_of
from zaro.scan.hdf5_dataset import Home, draft_dataset
from zaro.scan.hdf5_dimensions import Dimensions, Scales
from zaro.scan.hdf5_phony import PhonyDimensions
from zaro.scan.source import RemoteFile, Source, open_source
from zaro.stores.trust import check_target

__all__ = ["scan_hdf5"]

NOT_A_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
NON_COORD = "_nc4_non_coord_"
"""What netCDF puts before the name of a variable that is named as a dimension but is not its coordinate."""
MOST_LINKS = 64
"""Links that follow one another at most; more are taken for a circle."""
MOST_WAYS = 1 << 15
"""Ways at most to objects that others lead to as well: their number may double with every group."""


def scan_hdf5(
    source: Source, builder: SetBuilder, *, open_other: Callable[[str], Source] = open_source
) -> None:
    """Add everything in an HDF5 or NetCDF4 file.

    Parameters
    ----------
    open_other
        Opens the files that external links name.

    Raises
    ------
    ScanError
        Naming the variable, and why it cannot be represented.
    """
    with ExitStack() as stack:
        files = _Files(source, builder, open_other, stack)
        home = files.home(source)
        # No object of h5py may wait for the garbage collector: that may run in any thread, and frees it under
        # a lock that another thread may hold while it waits for this one.
        stack.callback(files.homes.clear)
        _Walk(files, builder).group(home, home.h5["/"], "", ())


@dataclass(slots=True)
class _Files:
    """The file, and those that links of it name; each is opened once."""

    first: Source
    builder: SetBuilder
    open_other: Callable[[str], Source]
    stack: ExitStack
    homes: dict[str, Home] = field(default_factory=dict)
    others: dict[str, tuple[Source, int]] = field(default_factory=dict)

    def home(self, source: Source) -> Home:
        """Open an HDF5 file."""
        import h5py

        if source.url in self.homes:
            return self.homes[source.url]
        file = source.path if source.path is not None else source.file
        if isinstance(file, RemoteFile):
            fetch_ahead(file, self.builder.settings)
        try:
            try:
                h5 = h5py.File(file, "r", rdcc_nbytes=0)
            except BlockingIOError:  # somebody holds a lock; to look does no harm
                h5 = h5py.File(file, "r", rdcc_nbytes=0, locking=False)
        except OSError as err:
            raise ScanError(source.url, "", f"is no readable HDF5 file: {err}") from err
        self.stack.enter_context(h5)
        file_id = self.builder.add_file(source.url, source.read)
        home = Home(source, h5, file_id, partial(self.other, source))
        self.homes[source.url] = home
        return home

    def other(self, source: Source, name: str) -> tuple[Source, int]:
        """A file that `source` names, and its id."""
        url = name
        if not ("://" in name or name.startswith("/")):
            folder = folder_of(source.url)
            url = posixpath.normpath(f"{folder}/{name}") if is_local(folder) else f"{folder}/{name}"
        check_target(url, source.url, None, remedy="fetch the file if you trust it, and scan it here")
        if url not in self.others:
            other = self.stack.enter_context(self.open_other(url))
            self.others[url] = other, self.builder.add_file(other.url, other.read)
        return self.others[url]


class _Walk:
    """The way through groups and links."""

    def __init__(self, files: _Files, builder: SetBuilder) -> None:
        self.files, self.builder = files, builder
        self.phony: dict[str, PhonyDimensions] = {}
        self.scales = Scales()
        self.seen: set[tuple[str, Any]] = set()
        self.more_ways = 0

    def group(self, home: Home, group: Any, path: str, above: tuple[Any, ...]) -> None:
        """Add a group and everything below it."""
        token = (home.source.url, address_of(group))
        if token in above:
            reason = "is a link to a group that it lies in: its paths have no end"
            raise ScanError(home.source.url, path, reason)
        self.builder.add_group(path, attributes_of(group, home.source.url, path))
        phony = self.phony.setdefault(home.source.url, PhonyDimensions(home.h5))
        dimensions = Dimensions(group, phony, self.scales)
        for name, (there, node) in self._members(home, group, path):
            below = join_path(path, name)
            self._count(there, node, below)
            if _is_group(node):
                self.group(there, node, below, (*above, token))
            elif not _is_dimension_only(node):
                draft = draft_dataset(there, node, below, dimensions, self.builder.settings)
                self.builder.add_array(below, draft)

    def _count(self, home: Home, node: Any, path: str) -> None:
        """Take note that a way leads to an object."""
        token = (home.source.url, address_of(node))
        self.more_ways += token in self.seen
        self.seen.add(token)
        if self.more_ways > MOST_WAYS:
            reason = (
                f"is one of more than {MOST_WAYS} links to what others are links to; leave some out by skip"
            )
            raise ScanError(home.source.url, path, reason)

    def _members(self, home: Home, group: Any, path: str) -> Iterator[tuple[str, tuple[Home, Any]]]:
        import h5py

        for name in group:
            text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
            shown = text.removeprefix(NON_COORD)
            below = join_path(path, shown)
            if self.builder.settings.skips(below):
                continue
            if text is not name:
                raise ScanError(home.source.url, below, f"has the name {name!r}, which is no UTF-8")
            node = self._follow(home, group, name, below)
            if isinstance(node[1], h5py.Dataset | h5py.Group):  # a named type holds no values
                yield shown, node

    def _follow(
        self, home: Home, start: Any, way: str, below: str, left: int = MOST_LINKS
    ) -> tuple[Home, Any]:
        """What lies at the end of a way of names from a group, and the file that this is in.

        Link by link, since HDF5 opens the files that a way leads through by itself, from afar the wrong ones.
        """
        import h5py

        node = home.h5["/"] if way.startswith("/") else start
        names = [name for name in way.split("/") if name not in ("", ".")]
        for k, name in enumerate(names):
            try:
                kind = node.id.links.get_info(name.encode("utf-8", "surrogateescape")).type
                if kind == h5py.h5l.TYPE_HARD:
                    node = node[name]
                    continue
            except (KeyError, OSError, RuntimeError, AttributeError) as err:  # the last: of a dataset
                raise ScanError(home.source.url, below, f"is a link to {way!r} that leads nowhere") from err
            except (TypeError, NotImplementedError) as err:
                raise ScanError(home.source.url, below, f"cannot be opened: {err}") from err
            if not left:
                raise ScanError(
                    home.source.url, below, f"is a link to {way!r} that leads nowhere: in a circle"
                )
            if kind not in (h5py.h5l.TYPE_SOFT, h5py.h5l.TYPE_EXTERNAL):
                raise ScanError(home.source.url, below, "is a link of a kind that only its maker understands")
            link = node.get(name, getlink=True)
            if kind == h5py.h5l.TYPE_EXTERNAL:
                home = self._external(home, link.filename, below)
                node = home.h5["/"]
            return self._follow(home, node, "/".join([link.path, *names[k + 1 :]]), below, left - 1)
        return home, node

    def _external(self, home: Home, name: str, below: str) -> Home:
        try:
            other, _ = self.files.other(home.source, name)
        except StoreError as err:
            reason = f"is an external link to {name!r}, which cannot be opened: {err}"
            raise ScanError(home.source.url, below, reason) from err
        return self.files.home(other)


def _is_group(node: Any) -> bool:
    import h5py

    return isinstance(node, h5py.Group)


def _is_dimension_only(dataset: Any) -> bool:
    """Whether a dataset only stands for a dimension that has no coordinate variable."""
    import h5py

    if not h5py.h5a.exists(dataset.id, b"NAME") or not h5py.h5ds.is_scale(dataset.id):
        return False
    return bytes(h5py.h5ds.get_scale_name(dataset.id)).startswith(NOT_A_VARIABLE)
