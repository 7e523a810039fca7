"""zarr-python's byte requests as spans."""

from __future__ import annotations

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest

__all__ = ["Span", "cut", "span_of"]

Span = tuple[int, int | None] | None
"""First byte (below 0: from the end) and number of bytes (None: to the end); None for a whole value."""


def span_of(request: ByteRequest | None) -> Span:
    """Turn a byte request into a span.

    Raises
    ------
    ValueError
        It is none of the kinds that zarr-python knows.
    """
    if request is None:
        return None
    if isinstance(request, RangeByteRequest):
        return request.start, max(request.end - request.start, 0)
    if isinstance(request, OffsetByteRequest):
        return request.offset, None
    if isinstance(request, SuffixByteRequest):
        return -request.suffix, request.suffix
    raise ValueError(f"Unexpected byte_range, got {request}.")


def cut(size: int, span: Span) -> tuple[int, int]:
    """First byte and number of bytes of a span within a value of `size` bytes, as slicing has it."""
    if span is None:
        return 0, size
    start, length = span
    start = max(size + start, 0) if start < 0 else min(start, size)
    return start, size - start if length is None else min(length, size - start)
