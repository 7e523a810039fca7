"""fsspec's reference file system over zaro: the same classes, with references in columns.

After `install()`, code that asks fsspec for the protocol `reference` gets zaro's file system.
"""

from zaro.fsspec.errors import ReferenceNotReachable
from zaro.fsspec.filesystem import ReferenceFileSystem, install
from zaro.fsspec.lazy import LazyReferenceMapper

__all__ = ["LazyReferenceMapper", "ReferenceFileSystem", "ReferenceNotReachable", "install"]
