"""What several rooms' tests read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("zaro", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("zaro")


@dataclass(frozen=True)
class Archive:
    """NetCDF4 files as the demo makes them, and the kerchunk document that joins them."""

    files: list[Path]
    references: Path


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """Two months on a coarse globe: `tas` (packed int16) and `pr` (float32), some chunks absent."""
    return make_archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture
def own_archive(tmp_path: Path) -> Callable[[], Archive]:
    """The same, for a test that harms it."""
    return lambda: make_archive(tmp_path)


def make_archive(folder: Path) -> Archive:
    from zaro.demo import make_dataset, make_references

    files = make_dataset(folder, months=2, grid=(48, 96), chunk=(24, 32))
    return Archive(files, make_references(files, folder / "refs.json"))
