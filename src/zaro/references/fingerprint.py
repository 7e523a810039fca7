"""What a file was like when it was scanned, to tell whether it has changed since: in columns, beside the set.

Other readers of a document pass over the member that holds it: `zaro` at the top of a JSON document, or in
the header of a Parquet folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zaro import config
from zaro.errors import ChangedError, ReferenceSetError, StoreError
from zaro.references.columns import name_of
from zaro.references.files import FileTable
from zaro.stores import loop
from zaro.stores.base import Place
from zaro.stores.filesystems import info
from zaro.stores.targets import Targets

if TYPE_CHECKING:
    from zaro.references.set import References

__all__ = ["MEMBER", "Fingerprint", "Fingerprints", "changes", "check_unchanged", "fingerprint_of", "written"]

MEMBER = "zaro"
"""Member of a document in which zaro keeps what its format has no place for."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file as it was: size in bytes, time of its last change in ns since 1970, tag of its version.

    None where the file system does not tell.
    """

    size: int | None = None
    mtime: int | None = None
    etag: str | None = None

    def difference(self, now: Fingerprint) -> tuple[str, Any, Any] | None:
        """What has changed, how it was, and how it is; a tag that is the same excuses another time."""
        for what in ("size", "etag", "mtime"):
            was, is_ = getattr(self, what), getattr(now, what)
            if was is not None and is_ is not None:
                if was != is_:
                    return what, was, is_
                if what == "etag":
                    return None
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Fingerprints:
    """Fingerprints of the files of a set, which are named as in its tables."""

    files: FileTable
    facts: list[Fingerprint]

    @classmethod
    def of(cls, known: Mapping[str, Fingerprint]) -> Fingerprints:
        """Fingerprints by URL."""
        return cls(FileTable(list(known)), list(known.values()))

    def by_url(self) -> dict[str, Fingerprint]:
        """Fingerprints by URL, relative names resolved."""
        return dict(zip(self.files, self.facts, strict=True))

    def spelled(self, folder: str | None) -> dict[str, Any]:
        """The member of a document in `folder`: columns."""
        columns = {what: [getattr(one, what) for one in self.facts] for what in _COLUMNS}
        names = [name_of(self.files, k, folder) for k in range(len(self.files))]
        return {"fingerprints": {"files": names, **columns}}


def fingerprint_of(targets: Targets, url: str) -> Fingerprint:
    """Fingerprint of a file as it is now.

    Raises
    ------
    StoreError, FileNotFoundError
        It cannot be reached.
    """
    (found,) = _all(targets, [url])
    if isinstance(found, Exception):
        raise found
    return found


def changes(refs: References) -> Iterator[tuple[str, tuple[str, Any, Any] | Exception]]:
    """Give the files that are not as they were scanned: how they differ, or why nobody can tell.

    Local files cost a look at their status; remote ones are asked for side by side.
    """
    known = refs.contents.fingerprints.by_url() if refs.contents.fingerprints else {}
    found = _all(Targets(refs.address or "", refs.options), list(known))
    for (url, was), now in zip(known.items(), found, strict=True):
        differs = now if isinstance(now, Exception) else was.difference(now)
        if differs is not None:
            yield url, differs


def check_unchanged(refs: References) -> None:
    """Refuse a set whose files have changed; one that cannot be reached is an error for who reads it.

    Raises
    ------
    ChangedError
    """
    for url, differs in changes(refs):
        if isinstance(differs, tuple):
            raise ChangedError(url, *differs)


# ---- asking ------------------------------------------------------------------------------------


def _all(targets: Targets, urls: list[str]) -> list[Fingerprint | Exception]:
    found: dict[str, Fingerprint | Exception] = {}
    places: dict[str, Place] = {}
    for url in urls:
        try:
            path = targets.local_path(url)
            if path is None:
                places[url] = targets.place(url)
            else:
                status = os.stat(path)
                found[url] = Fingerprint(status.st_size, status.st_mtime_ns)
        except (StoreError, OSError) as err:
            found[url] = err
    if places:
        answers = loop.run(_ask_all(list(places.values()), targets.options.timeout))
        found.update(zip(places, answers, strict=True))
    return [found[url] for url in urls]


async def _ask_all(places: list[Place], timeout: float) -> list[Fingerprint | Exception]:
    gate = asyncio.Semaphore(config.REQUESTS_UNDER_WAY)

    async def one(place: Place) -> Fingerprint | Exception:
        async with gate:
            try:
                return _told(await asyncio.wait_for(info(place), timeout))
            except Exception as err:  # whatever a file system of others raises
                return err

    return list(await asyncio.gather(*map(one, places)))


def _told(facts: Mapping[str, Any]) -> Fingerprint:
    """Fingerprint in what a file system tells: each names things in its own way."""
    size = facts.get("size")
    tag = next((facts[name] for name in ("ETag", "etag", "md5Hash") if facts.get(name)), None)
    times = ("LastModified", "last_modified", "mtime", "updated")
    changed: Any = next((facts[name] for name in times if facts.get(name)), None)
    if hasattr(changed, "timestamp"):
        changed = int(changed.timestamp()) * 10**9
    elif isinstance(changed, float):
        changed = int(changed * 10**9)
    return Fingerprint(
        size if isinstance(size, int) else None,
        changed if isinstance(changed, int) else None,
        str(tag) if tag is not None else None,
    )


# ---- the document ------------------------------------------------------------------------------

_COLUMNS = {"size": int, "mtime": int, "etag": str}


def written(member: object, document: str, folder: str | None) -> Fingerprints | None:
    """Fingerprints in the member of a document that lies in `folder`; None where it has none.

    Raises
    ------
    ReferenceSetError
        They are no columns of one length.
    """
    found = member.get("fingerprints") if isinstance(member, Mapping) else None
    if found is None:
        return None
    place = f"{MEMBER}, fingerprints"
    if not isinstance(found, Mapping) or not isinstance(found.get("files"), list):
        raise ReferenceSetError(document, place, "is no object with a list of files")
    files = found["files"]
    if not all(isinstance(name, str) for name in files):
        raise ReferenceSetError(document, f"{place}, files", "holds something else than names")
    columns = []
    for what, kind in _COLUMNS.items():
        column = found.get(what, [None] * len(files))
        if not isinstance(column, list) or len(column) != len(files):
            reason = f"is no list of {len(files)} values, one for each file"
            raise ReferenceSetError(document, f"{place}, {what}", reason)
        if not all(value is None or type(value) is kind for value in column):
            reason = f"holds something else than {kind.__name__} and null"
            raise ReferenceSetError(document, f"{place}, {what}", reason)
        columns.append(column)
    return Fingerprints(FileTable(files, folder), [Fingerprint(*row) for row in zip(*columns, strict=True)])
