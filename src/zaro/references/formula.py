"""Standard generators as tables: whole columns at once, or nothing but the chunks that are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from zaro._core.grid import unravel
from zaro._core.key import KeyIndex
from zaro.references import expression as ex
from zaro.references.contents import Contents, Rows, make_table
from zaro.references.files import Files, FileTable
from zaro.references.layout import ChunkLayout
from zaro.references.lookup import array_keys
from zaro.references.overlay import overlay
from zaro.references.standard import Chunks, Dimension, StandardGenerator, size_of
from zaro.references.table import ABSENT, WHOLE, Ids, Located, OneByOne, Reference, Table
from zaro.references.template import Value

__all__ = ["FormulaTable", "expand"]

LOOSE = 1 << 20  # references that are evaluated one by one, at most
EAGER = 1 << 20  # references of one generator that are worth having as columns
MOST = 1 << 26  # references that are made into columns for want of a better way

Column = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Plan:
    """A generator whose columns can be computed: what each is made of.

    `used` are the dimensions that the URL depends on; their product numbers the files.
    """

    generator: StandardGenerator
    chunks: Chunks
    layout: ChunkLayout
    offset: ex.Node | None
    length: ex.Node | None
    used: tuple[str, ...]

    def columns(self, values: Mapping[str, Column]) -> tuple[Column, Column]:
        """Offsets and lengths at these values of the dimensions, all columns of one size n."""
        n = len(next(iter(values.values()), np.empty(1)))
        if self.offset is None or self.length is None:
            return np.zeros(n, np.int64), np.full(n, WHOLE, np.int64)
        return _column(self.offset, values, n), _column(self.length, values, n)

    def files(self, positions: Mapping[str, Column], n: int) -> Column:
        """Numbers of the files at these positions in the dimensions."""
        found = np.zeros(n, np.int64)
        for name in self.used:
            found = found * size_of(self.generator.dimensions[name]) + positions[name]
        return found


def _column(node: ex.Node, values: Mapping[str, Column], n: int) -> Column:
    return np.array(np.broadcast_to(ex.columns(node, values), (n,)), np.int64)


def _plan(generator: StandardGenerator, layouts: Mapping[str, ChunkLayout]) -> Plan | None:
    """See whether the columns of a generator can be computed; None where each reference must be evaluated."""
    chunks, intervals = generator.chunks(layouts), generator.intervals()
    if chunks is None or any(ex.reach(node, intervals) is None for node in chunks.index):
        return None
    numbers: list[ex.Node | None] = []
    for text in (generator.offset, generator.length):
        node = None if text is None else generator.expression(text)
        bounds = None if node is None else ex.reach(node, intervals)
        if text is not None and (bounds is None or bounds[0] < 0):
            return None
        numbers.append(node)
    names = {name for part in generator.templates.parse(generator.url) for name in ex.names_of(part)}
    used = tuple(name for name in generator.dimensions if name in names)
    return Plan(generator, chunks, layouts[chunks.path], numbers[0], numbers[1], used)


# ---- all at once -------------------------------------------------------------------------------


def _positions(dimensions: Mapping[str, Dimension]) -> dict[str, Column]:
    """Position in each dimension of every place of the product, the last fastest."""
    sizes = [size_of(values) for values in dimensions.values()]
    place = np.arange(math.prod(sizes), dtype=np.int64)
    found = {}
    for name, size in reversed(list(zip(dimensions, sizes, strict=True))):
        place, found[name] = np.divmod(place, max(size, 1))
    return found


def _values(values: Dimension, positions: Column) -> Column | None:
    """Values of a dimension at these positions; None where they are no integers."""
    if isinstance(values, range):
        return positions * values.step + values.start
    if all(type(value) is int for value in values):
        return np.array(values, np.int64)[positions]
    return None


def _integers(dimensions: Mapping[str, Dimension], positions: Mapping[str, Column]) -> dict[str, Column]:
    found = {name: _values(values, positions[name]) for name, values in dimensions.items()}
    return {name: column for name, column in found.items() if column is not None}


def _ids(plan: Plan, values: Mapping[str, Column], n: int) -> tuple[Ids, NDArray[np.bool_]]:
    """Ids of the chunks, and whether there is such a chunk."""
    ids, good = np.zeros(n, np.int64), np.ones(n, np.bool_)
    for node, size in zip(plan.chunks.index, plan.layout.grid, strict=True):
        index = _column(node, values, n)
        good &= (index >= 0) & (index < size)
        ids = ids * size + np.where(good, index, 0)
    return ids, good


# ---- on demand ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Inverse:
    """How the index along one axis gives a dimension: `index = factor * value + shift`."""

    name: str
    factor: int
    shift: int

    def positions(self, index: Column, values: Dimension) -> tuple[Column, NDArray[np.bool_]]:
        """Positions in the dimension that give these indices, and whether there are any."""
        value, rest = np.divmod(index - self.shift, self.factor)
        if isinstance(values, range):
            position, left = np.divmod(value - values.start, values.step)
            good = (rest == 0) & (left == 0) & (position >= 0) & (position < size_of(values))
            return np.where(good, position, 0), good
        sought = np.array(values, np.int64)
        order = np.argsort(sought)
        position = order[np.minimum(np.searchsorted(sought, value, sorter=order), len(sought) - 1)]
        return position, (rest == 0) & (sought[position] == value)


def _affine(node: ex.Node) -> tuple[str, int, int] | int | None:
    """Name, factor and shift of an expression that is linear in one name, or its value if it has none."""
    match node:
        case ex.Number(value):
            return value
        case ex.Name(name):
            return name, 1, 0
        case ex.Negative(inner):
            return _affine(ex.Binary("-", ex.Number(0), inner))
        case ex.Binary("+" | "-" | "*" as op, left, right):
            return _joined(op, _affine(left), _affine(right))
        case _:
            return None


def _joined(
    op: str, a: tuple[str, int, int] | int | None, b: tuple[str, int, int] | int | None
) -> tuple[str, int, int] | int | None:
    if a is None or b is None or (isinstance(a, tuple) and isinstance(b, tuple)):
        return None
    if isinstance(a, int) and isinstance(b, int):
        return ex.arithmetic(op, a, b)
    if isinstance(a, tuple) and isinstance(b, int):
        name, factor, shift = a
        return (name, factor * b, shift * b) if op == "*" else (name, factor, ex.arithmetic(op, shift, b))
    assert isinstance(a, int)
    assert isinstance(b, tuple)
    name, factor, shift = b
    if op == "*":
        return name, factor * a, shift * a
    return (name, factor, a + shift) if op == "+" else (name, -factor, a - shift)


def _inverses(plan: Plan) -> tuple[Inverse | int, ...] | None:
    """How indices give dimensions; None where they do not, or not uniquely."""
    try:
        found = _linear(plan)
    except ex.Outside:
        return None
    wide = 2**62
    exact = all(abs(i.factor) < wide and abs(i.shift) < wide for i in found or () if isinstance(i, Inverse))
    return found if exact else None


def _linear(plan: Plan) -> tuple[Inverse | int, ...] | None:
    dimensions, found, names = plan.generator.dimensions, list[Inverse | int](), set[str]()
    for node in plan.chunks.index:
        linear = _affine(node)
        if linear is None:
            return None
        if isinstance(linear, int):
            found.append(linear)
            continue
        name, factor, shift = linear
        values = dimensions[name]
        unique = isinstance(values, range) or len(set(values)) == len(values)
        if name in names or factor == 0 or not unique:
            return None
        names.add(name)
        found.append(Inverse(name, factor, shift))
    rest = [name for name, values in dimensions.items() if name not in names and size_of(values) != 1]
    return None if rest else tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class FormulaTable(OneByOne):
    """The chunks of a standard generator, computed when they are asked for."""

    plan: Plan
    inverses: tuple[Inverse | int, ...]
    files: Sequence[str]

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        return self.plan.layout.nchunks

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once; constant time each."""
        n = len(ids)
        index = unravel(np.ascontiguousarray(ids, np.int64), np.array(self.plan.layout.grid, np.int64))
        dimensions, good = self.plan.generator.dimensions, np.ones(n, np.bool_)
        positions = {name: np.zeros(n, np.int64) for name in dimensions}
        for axis, inverse in enumerate(self.inverses):
            if isinstance(inverse, int):
                good &= index[:, axis] == inverse
                continue
            positions[inverse.name], fits = inverse.positions(index[:, axis], dimensions[inverse.name])
            good &= fits
        offset, length = self.plan.columns({**_integers(dimensions, positions), "": np.empty(n, np.int64)})
        file_id = np.where(good, self.plan.files(positions, n), ABSENT).astype(np.int32)
        return Located(file_id, offset, length, self.files)

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending; linear in their number."""
        dimensions = self.plan.generator.dimensions
        values = _integers(dimensions, _positions(dimensions))
        ids, good = _ids(self.plan, values, self.plan.generator.total)
        return np.sort(ids[good])


class FormulaFiles(Files):
    """The files of a generator, named when they are asked for."""

    __slots__ = ("_generator", "_used", "folder", "size")

    def __init__(self, generator: StandardGenerator, used: tuple[str, ...], folder: str | None) -> None:
        self._generator, self._used, self.folder = generator, used, folder
        self.size = math.prod(size_of(generator.dimensions[name]) for name in used)

    def __len__(self) -> int:
        return self.size

    def name(self, index: int) -> str:
        """Name of a file, as the generator evaluates it."""
        index = range(self.size)[index]
        values: dict[str, Value] = {}
        for name in reversed(self._used):
            index, k = divmod(index, size_of(self._generator.dimensions[name]))
            values[name] = self._generator.dimensions[name][k]
        return self._generator.templates.evaluate(self._generator.url, values)


# ---- a document's generators -------------------------------------------------------------------


@dataclass(slots=True)
class _Layers:
    """What has been made so far: rows and tables of each array, later ones over earlier ones."""

    layouts: Mapping[str, ChunkLayout]
    folder: str | None
    layers: dict[str, list[Rows | Table]] = field(default_factory=dict)
    other: dict[str, Reference] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    index: KeyIndex = field(init=False)

    def __post_init__(self) -> None:
        arrays = {path: array_keys(path, layout) for path, layout in self.layouts.items()}
        self.index = KeyIndex(arrays, {}, lambda path, chunk: None)

    def add(self, generator: StandardGenerator) -> None:
        total, plan = generator.total, _plan(generator, self.layouts)
        if plan is not None and total > plan.layout.nchunks:
            reason = (
                f"makes {total} references of {plan.chunks.path!r}, which has {plan.layout.nchunks} chunks"
            )
            raise generator.refuse(reason)
        if plan is None:
            if total > LOOSE:
                raise generator.refuse(f"makes {total} references one by one, expected at most {LOOSE}")
            self.one_by_one(generator, range(total))
            return
        inverses = _inverses(plan) if total > EAGER else None
        files = FormulaFiles(generator, plan.used, self.folder)
        if inverses is not None and self.inside(plan) and files.size < 2**31:
            self.layers.setdefault(plan.chunks.path, []).append(FormulaTable(plan, inverses, files))
        elif total > MOST:
            raise generator.refuse(f"makes {total} references, too many for what is no formula of the index")
        else:
            self.columns(plan)

    def inside(self, plan: Plan) -> bool:
        """Whether no index leaves the grid."""
        intervals = plan.generator.intervals()
        ends = [ex.reach(node, intervals) for node in plan.chunks.index]
        sizes = plan.layout.grid
        return all(end is not None and 0 <= end[0] <= end[1] < n for end, n in zip(ends, sizes, strict=True))

    def columns(self, plan: Plan) -> None:
        generator, total = plan.generator, plan.generator.total
        positions = _positions(generator.dimensions)
        values = _integers(generator.dimensions, positions)
        ids, good = _ids(plan, values, total)
        offset, length = plan.columns({**values, "": ids})
        found = FormulaFiles(generator, plan.used, None)
        numbers = plan.files(positions, total)
        file_id = np.array([self.file(found.name(k)) for k in range(len(found))], np.int32)[numbers]
        rows = Rows(ids[good], file_id[good], offset[good], length[good])
        self.layers.setdefault(plan.chunks.path, []).append(rows)
        if not good.all():
            self.one_by_one(generator, np.flatnonzero(~good).tolist())

    def one_by_one(self, generator: StandardGenerator, places: Sequence[int]) -> None:
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for place in places:
            key, url, offset, length = generator.reference(generator.at(place))
            chunk = self.index.chunk(key)
            if chunk is not None:
                found.setdefault(chunk[0], []).append((chunk[1], self.file(url), offset, length))
            else:
                url = FileTable([url], self.folder)[0]
                self.other[key] = [url] if length == WHOLE else [url, offset, length]
        for path, rows in found.items():
            ids, file_id, offsets, lengths = (
                np.array(column, np.int64) for column in zip(*rows, strict=True)
            )
            self.layers.setdefault(path, []).append(Rows(ids, file_id.astype(np.int32), offsets, lengths))

    def file(self, url: str) -> int:
        return self.names.setdefault(url, len(self.names))

    def table(self, path: str, files: FileTable) -> Table:
        """Lay the layers of one array over each other."""
        nchunks, found, rows = self.layouts[path].nchunks, list[Table](), list[Rows]()
        for layer in [*self.layers[path], None]:
            if isinstance(layer, Rows):
                rows.append(layer)
                continue
            if rows:
                found.append(make_table(nchunks, _together(rows), files))
                rows = []
            if layer is not None:
                found.append(layer)
        table = found[0]
        for over in found[1:]:
            table = overlay(table, over)
        return table


def _together(rows: list[Rows]) -> Rows:
    if len(rows) == 1:
        return rows[0]
    columns = zip(*((row.ids, row.file_id, row.offset, row.length) for row in rows), strict=True)
    return Rows(*map(np.concatenate, columns))


def expand(
    generators: Sequence[StandardGenerator], layouts: Mapping[str, ChunkLayout], folder: str | None = None
) -> Contents:
    """Make tables, and other references, of the standard generators of a document.

    Raises
    ------
    ReferenceSetError, TemplateError
        A generator is broken, or makes more references than the metadata has chunks.
    """
    made = _Layers(layouts, folder)
    for generator in generators:
        if generator.total:
            made.add(generator)
    files = FileTable(list(made.names), folder)
    return Contents(tables={path: made.table(path, files) for path in made.layers}, other=made.other)
