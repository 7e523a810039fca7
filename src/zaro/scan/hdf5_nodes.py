"""Where the nodes below a node of an HDF5 index lie, so that they can be fetched side by side.

HDF5 reads an index node by node. A wrong guess here costs needless requests, no more: HDF5 reads the nodes
by itself.

Source: HDF5 File Format Specification 3.0, III.A and VII (appendix C).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["NodeFinder"]

Span = tuple[int, int]
USUAL = 64
"""Places of a node of a B-tree of version 1, unless somebody chose otherwise."""
DEEPEST = 8
"""Levels of a B-tree of version 2 at most: a node has dozens of records."""
_CHECKED = 10
"""Bytes of a node of a B-tree of version 2 beside its records: signature, version, type and checksum."""


@dataclass(frozen=True, slots=True)
class _Tree:
    """A node of a B-tree of version 2: of the node, of a record, levels below it, records in it."""

    nbytes: int
    record: int
    depth: int
    used: int


@dataclass(frozen=True, slots=True)
class _Array:
    """An extensible array: bytes of an element, and what its header says of its blocks."""

    element: int
    bits: int
    first: int
    least: int
    pointers: int
    page: int

    @property
    def prefix(self) -> int:
        """Bytes before what a block of data holds."""
        return 14 + -(-self.bits // 8)

    @property
    def direct(self) -> int:
        """Levels whose blocks of data the index block itself names."""
        return 2 * (self.pointers.bit_length() - 1)

    @property
    def levels(self) -> int:
        """Levels of blocks, each of half as many again or twice as large ones."""
        return 1 + self.bits - (self.least.bit_length() - 1)

    @property
    def index_nbytes(self) -> int:
        """Bytes of the index block."""
        places = 2 * (self.pointers - 1) + self.levels - self.direct
        return 14 + self.first * self.element + 8 * places + 4

    def shape(self, level: int) -> tuple[int, int]:
        """Blocks of data of a secondary block, and elements of each."""
        return 1 << level // 2, self.least << (level + 1) // 2

    def data_nbytes(self, elements: int) -> int:
        """Bytes of a block of data."""
        pages = elements >> self.page if elements > 1 << self.page else 0
        return self.prefix + elements * self.element + 4 * (pages + 1)


class NodeFinder:
    """Finds the nodes below those that are read, one file.

    Parameters
    ----------
    nbytes : int
        Size of the file: nothing is looked for behind it.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._trees: dict[int, _Tree] = {}
        self._arrays: dict[int, _Array] = {}

    def below(self, at: int, node: memoryview) -> list[Span]:
        """Offset and length of the nodes below the one at `at`; none below what is no node."""
        find = _FINDERS.get(bytes(node[:4]))
        if find is None or len(node) < 24:
            return []
        found = []
        for offset, length in find(self, at, bytes(node)):
            if 0 < offset < self.nbytes:
                found.append((offset, min(length, self.nbytes - offset)))
        return found

    def _old_tree(self, at: int, node: bytes) -> Iterator[Span]:
        for child in children(node, self.nbytes):
            yield child, len(node)

    def _new_tree(self, at: int, node: bytes) -> Iterator[Span]:
        """The root: told by the header, and by nobody else how many records it has."""
        if len(node) >= 34:
            nbytes, record, depth = _number(node, 6, 4), _number(node, 10, 2), _number(node, 12, 2)
            root, used = _number(node, 16, 8), _number(node, 24, 2)
            if record and nbytes > _CHECKED + record and depth <= DEEPEST:
                self._trees[root] = _Tree(nbytes, record, depth, used)
                yield root, nbytes

    def _inner(self, at: int, node: bytes) -> Iterator[Span]:
        tree = self._trees.get(at)
        if tree is None or not tree.depth:
            return
        counts, total = _widths(tree)
        start, width = 6 + tree.used * tree.record, 8 + counts + total
        for place in range(start, min(start + (tree.used + 1) * width, len(node) - width + 1), width):
            child = _number(node, place, 8)
            used = _number(node, place + 8, counts)
            self._trees[child] = _Tree(tree.nbytes, tree.record, tree.depth - 1, used)
            yield child, tree.nbytes

    def _fixed(self, at: int, node: bytes) -> Iterator[Span]:
        """The block of data of a fixed array, which is read page by page."""
        elements, page = _number(node, 8, 8), node[7]
        pages = elements >> page if elements > 1 << page else 0
        yield _number(node, 16, 8), 14 + elements * node[6] + 5 * (pages + 2)

    def _extensible(self, at: int, node: bytes) -> Iterator[Span]:
        if len(node) >= 68 and node[9] and node[10]:
            array = _Array(node[6], node[7], node[8], node[9], node[10], node[11])
            self._arrays[at] = array
            yield _number(node, 60, 8), array.index_nbytes

    def _index(self, at: int, node: bytes) -> Iterator[Span]:
        """Blocks of data and secondary blocks of an index block."""
        array = self._arrays.get(_number(node, 6, 8))
        if array is None:
            return
        place = 14 + array.first * array.element
        for level in range(array.levels):
            blocks, elements = array.shape(level)
            if level >= array.direct:  # a secondary block lies between
                yield _number(node, place, 8), array.prefix + 8 * blocks + 4
                place += 8
                continue
            for _ in range(blocks):
                yield _number(node, place, 8), array.data_nbytes(elements)
                place += 8

    def _secondary(self, at: int, node: bytes) -> Iterator[Span]:
        array = self._arrays.get(_number(node, 6, 8))
        if array is None:
            return
        first, level = _number(node, 14, array.prefix - 14), 0
        while first > 0 and level < array.levels:
            blocks, elements = array.shape(level)
            first, level = first - blocks * elements, level + 1
        blocks, elements = array.shape(level)
        start = len(node) - 4 - 8 * blocks  # before them lie bits that say which pages are there
        for place in range(start, len(node) - 4, 8) if start > 0 else ():
            yield _number(node, place, 8), array.data_nbytes(elements)


_FINDERS = {
    b"TREE": NodeFinder._old_tree,
    b"BTHD": NodeFinder._new_tree,
    b"BTIN": NodeFinder._inner,
    b"FAHD": NodeFinder._fixed,
    b"EAHD": NodeFinder._extensible,
    b"EAIB": NodeFinder._index,
    b"EASB": NodeFinder._secondary,
}


def _number(data: bytes, at: int, nbytes: int) -> int:
    return int.from_bytes(data[at : at + nbytes], "little")


def _widths(tree: _Tree) -> tuple[int, int]:
    """Bytes of the two counts beside the address of a child: of its records, and of all below it."""
    most = total = (tree.nbytes - _CHECKED) // tree.record
    counts, sums = _nbytes_of(most), 0
    for _ in range(tree.depth - 1):
        pointer = 8 + counts + sums
        here = (tree.nbytes - _CHECKED - pointer) // (tree.record + pointer)
        total = (here + 1) * total + here
        sums = _nbytes_of(total)
    return counts, sums


def _nbytes_of(number: int) -> int:
    return (max(number, 1).bit_length() + 7) // 8


def children(node: bytes, nbytes: int) -> list[int]:
    """Addresses of the nodes below a node of a B-tree of version 1, in a file of so many bytes.

    None of a leaf. The node does not say how long its keys are, but its own length does, where it has the
    usual number of places, and leaves few answers else.
    """
    if len(node) < 24 or node[5] == 0 or node[4] not in (0, 1):
        return []
    used = _number(node, 6, 2)
    fitting = []
    for key in [8] if node[4] == 0 else range(24, 8 * 35, 8):
        places, rest = divmod(len(node) - 24 - key, 8 + key)
        if not rest and not places % 2 and 0 < used <= places:
            fitting.append((places != USUAL, key))
    for _, key in sorted(fitting):
        starts = range(24 + key, 24 + key + used * (8 + key), 8 + key)
        found = [_number(node, at, 8) for at in starts]
        if len(set(found)) == used and min(found) > 0 and max(found) < nbytes:
            return found
    return []
