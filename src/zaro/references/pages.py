"""What the pages of a Parquet partition unpack to, as their own headers say: the decoder believes these.

Source: Parquet's `parquet.thrift` (PageHeader), in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import Any

__all__ = ["unpacked_nbytes"]

_DEEPEST = 8  # structures in structures; a header has three
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12
_UNPACKED, _PACKED = 2, 3  # fields of a header


class _Reader:
    """Fields of the compact protocol, one after the other."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at

    def varint(self) -> int:
        found = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                return found
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")

    def skip(self, kind: int, depth: int) -> None:
        if depth > _DEEPEST:
            raise ValueError("a page's header nests too deeply")
        if kind == _BYTE:
            self.at += 1
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            nbytes = self.varint()
            self.at += nbytes
        elif kind in (_LIST, _SET):
            head = self.data[self.at]
            self.at += 1
            n = head >> 4 if head >> 4 < 15 else self.varint()
            for _ in range(min(n, len(self.data))):
                self.element(head & 0x0F, depth)
        elif kind == _MAP:
            raise ValueError("a page's header holds a map")
        elif kind == _STRUCT:
            self.fields(depth + 1)
        elif kind not in (_TRUE, _FALSE):
            self.varint()

    def element(self, kind: int, depth: int) -> None:
        if kind in (_TRUE, _FALSE):  # in a list they take a byte
            self.at += 1
        else:
            self.skip(kind, depth + 1)
        if self.at > len(self.data):
            raise IndexError

    def fields(self, depth: int = 0) -> dict[int, int]:
        """The numbers among the fields of a structure."""
        found, number = {}, 0
        while (head := self.data[self.at]) != _STOP:
            self.at += 1
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self._zigzag()
            if kind in (4, 5, 6):
                found[number] = self._zigzag()
            else:
                self.skip(kind, depth)
        self.at += 1
        return found

    def _zigzag(self) -> int:
        found = self.varint()
        return found >> 1 ^ -(found & 1)


def unpacked_nbytes(data: memoryview, group: Any) -> int:
    """Bytes that the pages of a row group unpack to.

    Raises
    ------
    ValueError
        A header is broken, or pages lie outside of the file.
    """
    total = 0
    for k in range(group.num_columns):
        column = group.column(k)
        starts = [column.data_page_offset, column.dictionary_page_offset or 0]
        at = min(start for start in starts if start > 0) if max(starts) > 0 else 0
        end = at + column.total_compressed_size
        if not 0 <= at <= end <= len(data):
            raise ValueError("its pages lie outside of the file")
        while at < end:
            reader = _Reader(data, at)
            try:
                header = reader.fields()
            except IndexError:
                raise ValueError("a page's header breaks off") from None
            unpacked, packed = header.get(_UNPACKED, -1), header.get(_PACKED, -1)
            if unpacked < 0 or packed < 0:
                raise ValueError("a page's header has no sizes, or sizes below 0")
            total += unpacked
            at = reader.at + packed
    return total
