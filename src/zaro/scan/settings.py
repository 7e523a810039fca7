"""What a caller of `zaro.scan` may choose."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from zaro.references.files import FileTable

__all__ = ["Settings", "spell_files"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a file is scanned.

    Attributes
    ----------
    inline_threshold : int
        Chunks of fewer bytes are held in the set itself.
    unsupported_inline_threshold : int
        Where no decoder exists, or one chunk is stored in another way than the others, its values are held
        in the set if they have at most so many bytes.
    skip : tuple of str
        Variables and groups to leave out: paths, or patterns of paths (`*_bnds`).
    split : int or None
        Uncompressed arrays that lie in one run are cut along leading dimensions, to so many bytes at most.
    relative_to : str or None
        Folder that local files are named relative to.
    rename : mapping of str to str
        Beginnings of URLs and what to write instead; the longest that fits counts.
    """

    inline_threshold: int = 500
    unsupported_inline_threshold: int = 1 << 20
    skip: tuple[str, ...] = ()
    split: int | None = None
    relative_to: str | None = None
    rename: Mapping[str, str] = field(default_factory=dict)

    def skips(self, path: str) -> bool:
        """Whether a variable or group is to be left out."""
        return any(path == name.strip("/") or fnmatchcase(path, name.strip("/")) for name in self.skip)

    def spell(self, url: str) -> str:
        """How the set names a file."""
        fitting = [start for start in self.rename if url.startswith(start)]
        if fitting:
            start = max(fitting, key=len)
            return self.rename[start] + url[len(start) :]
        if self.relative_to is not None and url.startswith("/"):
            return os.path.relpath(url, os.path.abspath(self.relative_to))
        return url


def spell_files(files: FileTable, settings: Settings) -> None:
    """Name all files of a table as the settings ask."""
    files.written[:] = map(settings.spell, files.written)
    files.resolved[:] = files.written
