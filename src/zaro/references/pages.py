"""What a Parquet partition unpacks to, as its footer and its pages' own headers say.

The decoder believes both. They are read here from the bytes: pyarrow tells the sizes of columns too, but ends
the process over some damaged footers.

Source: Parquet's `parquet.thrift` (FileMetaData, PageHeader), in Thrift's compact protocol.
"""

from __future__ import annotations

from typing import Any

__all__ = ["sizes_of_group"]

_DEEPEST = 16  # structures in structures
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
_NUMBERS = (4, 5, 6)


class _Reader:
    """Values of the compact protocol, one after the other; texts are left out."""

    def __init__(self, data: memoryview, at: int) -> None:
        self.data, self.at = data, at

    def number(self) -> int:
        """A number with a sign."""
        found = self._varint()
        return found >> 1 ^ -(found & 1)

    def _varint(self) -> int:
        found = shift = 0
        while (byte := self._byte()) >= 0x80:
            found |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number in it is too long")
        return found | byte << shift

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it nests too deeply")
        if kind in _NUMBERS:
            return self.number()
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind in (_LIST, _SET):
            return self._items(depth)
        if kind not in (_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY):
            raise ValueError(f"it holds something of kind {kind}")
        self.at += {_BYTE: 1, _DOUBLE: 8, _BINARY: 0}.get(kind, 0)
        if kind == _BINARY:
            nbytes = self._varint()
            self.at += nbytes
        return None

    def _items(self, depth: int) -> list[Any]:
        head = self._byte()
        n, kind = head >> 4, head & 0x0F
        n = self._varint() if n == 15 else n
        if n > len(self.data) - self.at:
            raise ValueError("a list in it is longer than the file")
        if kind in (_TRUE, _FALSE):  # which take a byte each in a list
            self.at += n
            return []
        return [self._value(kind, depth + 1) for _ in range(n)]

    def structure(self, depth: int = 0) -> dict[int, Any]:
        """The values of a structure by the numbers of its fields."""
        found: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self.number()
            found[number] = self._value(kind, depth)
        return found


def sizes_of_group(data: memoryview, group: int) -> tuple[int, int]:
    """Bytes that the columns of one row group have in the file, and bytes that they unpack to.

    Raises
    ------
    ValueError
        The footer or the header of a page is broken, or pages lie outside of the file.
    """
    try:
        footer = _Reader(data, len(data) - 8 - int.from_bytes(data[-8:-4], "little")).structure()
        packed = unpacked = 0
        for column in footer[4][group][1]:  # row_groups, columns
            facts = column[3]  # meta_data
            packed += max(facts[7], 0)
            unpacked += max(facts[6], _unpacked(data, facts), 0)
    except (IndexError, KeyError, TypeError):
        raise ValueError("its footer or a page's header is broken") from None
    return packed, unpacked


def _unpacked(data: memoryview, facts: dict[int, Any]) -> int:
    """Bytes that the pages of one column unpack to."""
    at = min(start for start in (facts[9], facts.get(11) or facts[9]) if start >= 0)
    end, total = at + facts[7], 0
    if not 0 <= at <= end <= len(data):
        raise ValueError("its pages lie outside of the file")
    while at < end:
        reader = _Reader(data, at)
        header = reader.structure()
        unpacked, packed = header[2], header[3]
        if unpacked < 0 or packed < 0:
            raise ValueError("a page has a size below 0")
        total += unpacked
        at = reader.at + packed
    return total
