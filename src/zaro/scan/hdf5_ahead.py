"""Fetch what a walk through a remote HDF5 file will read: a latency for each level, not for each variable."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from zaro.references.layout import join_path
from zaro.scan.hdf5_chunks import chunk_index
from zaro.scan.hdf5_nodes import NodeFinder
from zaro.scan.settings import Settings
from zaro.scan.source import RemoteFile

__all__ = ["address_of", "fetch_ahead"]

ROUNDS = 12
"""Times that a file is looked over at most; what is still unknown then is fetched when it is read."""


def fetch_ahead(file: RemoteFile, settings: Settings) -> None:
    """Look over all groups and datasets, and fetch what that would have read, until nothing is lacking.

    A look goes as far as what is there: where a node is not, it goes on with the next dataset, so that the
    nodes which all datasets lack come in one round.
    """
    file.below = NodeFinder(file.nbytes).below
    paths = [""]
    for _ in range(ROUNDS):
        with file.noting():
            paths = _look(file, paths, settings)
        if not paths:
            return


def _look(file: RemoteFile, paths: list[str], settings: Settings) -> list[str]:
    """Look at some nodes and all below them; those of which something was not there."""
    import h5py

    try:
        h5 = h5py.File(file, "r", rdcc_nbytes=0)
    except OSError:
        return paths if file.lacking else []
    lacking, seen = [], set[Any]()
    with h5:
        while paths:
            path = paths.pop()
            before, below = file.lacking, list[str]()
            with contextlib.suppress(Exception):  # zeros are no nodes; the walk tells what is wrong
                below = _visit(file, h5[path or "/"], settings.inline_threshold, seen)
            if file.lacking > before:
                lacking.append(path)
            else:
                members = (join_path(path, name) for name in below)
                paths += [member for member in members if not settings.skips(member)]
    return lacking


def _visit(file: RemoteFile, node: Any, small: int, seen: set[Any]) -> list[str]:
    """Read what describes a node, unless that was seen, and small chunks; the names of its members."""
    import h5py

    address = address_of(node)
    if address in seen:
        return []
    seen.add(address)
    if isinstance(node, h5py.Group):
        hard = h5py.h5l.TYPE_HARD
        return [name for name in node if node.id.links.get_info(name.encode()).type == hard]
    if node.chunks is not None:
        grid = tuple(-(-size // chunk) for size, chunk in zip(node.shape, node.chunks, strict=True))
        _, offset, length, _ = chunk_index(node, grid)
        for k in np.flatnonzero(length < small).tolist():
            file.want(int(offset[k]), int(length[k]))
    elif node.nbytes < small and node.id.get_offset() is not None:
        file.want(node.id.get_offset(), node.nbytes)
    return []


def address_of(node: Any) -> Any:
    """What tells one object of a file from another."""
    import h5py

    info = h5py.h5o.get_info(node.id)
    return getattr(info, "addr", None) or bytes(info.token)
