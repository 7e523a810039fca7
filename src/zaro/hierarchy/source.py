"""What reading one array needs: its codecs and its table; of a sharded array, those of its inner chunks."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal

from zaro.codecs.chain import Chain, compile_chain
from zaro.detect import Opened
from zaro.errors import MetadataError, UnsupportedError
from zaro.metadata import ArrayMetadata
from zaro.read import Source
from zaro.references.shard import open_shards

__all__ = ["is_sharded", "source_of"]

_SHARDING = "sharding_indexed"
_DEEPEST = 8  # shards in shards


def is_sharded(metadata: ArrayMetadata) -> bool:
    """Whether chunks are gathered in shards."""
    return any(codec.name == _SHARDING for codec in metadata.codecs)


def source_of(
    path: str, metadata: ArrayMetadata, opened: Opened, missing: Literal["fill", "warn", "raise"]
) -> Source:
    """Work out what reading an array needs; of a sharded one, what reading its inner chunks needs.

    Raises
    ------
    MetadataError
        Its codecs, or what its references say of it, contradict themselves.
    UnsupportedError
        A codec is none that zaro reads.
    """
    try:
        return _source(path, metadata, opened, missing)
    except MetadataError as err:
        raise err.of(opened.label) from err.__cause__


def _source(
    path: str, metadata: ArrayMetadata, opened: Opened, missing: Literal["fill", "warn", "raise"]
) -> Source:
    version = "zarr.json" if metadata.zarr_format == 3 else ".zarray"
    document = f"{path}/{version}" if path else version
    table, chain = opened.table(path, metadata), _compile(metadata, document)
    for _ in range(_DEEPEST + 1):
        if chain.sharding is None:
            break
        metadata, table = open_shards(metadata, chain.sharding, table, opened.read_spans, document)
        chain = _compile(metadata, document)
    else:
        raise UnsupportedError(document, "codecs", f"nests shards in shards more than {_DEEPEST} deep")
    return Source(
        node=path,
        metadata=metadata,
        chain=chain,
        table=table,
        targets=opened.targets,
        missing=missing,
        chain_for=None if metadata.edges is None else lru_cache(64)(partial(_compile, metadata, document)),
    )


def _compile(metadata: ArrayMetadata, document: str, chunk_shape: tuple[int, ...] | None = None) -> Chain:
    """Compile the chain for chunks of one shape; the largest where none is given."""
    return compile_chain(
        metadata.codecs,
        dtype=metadata.dtype,
        chunk_shape=metadata.chunks if chunk_shape is None else chunk_shape,
        document=document,
        fill=metadata.blank,
    )
