"""The custom generator syntax: chunks by a common length and the exceptions to it.

Source: D. Westwood, "Experiments with Kerchunk" (2023), "Custom Generator Syntax".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zaro import config
from zaro._core.generator import Index
from zaro._core.grid import MAX_RANK, ravel
from zaro.ending import LastingPool
from zaro.errors import GeneratorError, ReferenceSetError
from zaro.references import lists
from zaro.references.files import FileTable
from zaro.references.layout import ChunkLayout, array_layouts
from zaro.references.lists import Field, Flags
from zaro.references.table import Ids, Located, OneByOne, Reference

__all__ = ["Generator", "GeneratorTable", "is_custom", "parse", "read"]

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Generator:
    """One generator of a document, its exceptions indexed; memory follows the exceptions, not the chunks.

    Attributes
    ----------
    number : int
        Its place in the document, from 0.
    variables : tuple of str
        Paths of the arrays whose chunks it describes.
    dims : tuple of int
        The chunk grid that they share.
    varwise : bool
        Order of the flat index: every variable in turn at each chunk position, or one after the other.
    index : Index
        The kernel's view of lengths, exceptions and files.
    files : FileTable
    skipped, unique, gapped : int
        Number of exceptions of each kind.
    """

    number: int
    variables: tuple[str, ...]
    dims: tuple[int, ...]
    varwise: bool
    index: Index
    files: FileTable
    skipped: int = 0
    unique: int = 0
    gapped: int = 0

    @property
    def nchunks(self) -> int:
        """Chunks of each variable."""
        return math.prod(self.dims)

    @property
    def total(self) -> int:
        """Chunks of all variables."""
        return self.nchunks * len(self.variables)

    @property
    def gfactor(self) -> float:
        """Share of regular chunks; negative where many chunks are exceptions twice over."""
        return 1 - (self.skipped + self.unique + self.gapped) / self.total if self.total else 1.0

    def flat(self, variable: int, chunk: int) -> int:
        """Flat index of a chunk of a variable."""
        return chunk * len(self.variables) + variable if self.varwise else variable * self.nchunks + chunk

    def unpack(self) -> Located:
        """Every chunk of every variable, in the order of the flat index.

        One pass, linear in `total`; frees the GIL.
        """
        return Located(*self.index.expand(0, self.total), self.files)

    def tables(self) -> dict[str, GeneratorTable]:
        """Give each variable a table; all share this generator."""
        return {path: GeneratorTable(self, v) for v, path in enumerate(self.variables)}


@dataclass(frozen=True, slots=True, eq=False)
class GeneratorTable(OneByOne):
    """The chunks of one variable of a generator: minimal unpack."""

    generator: Generator
    variable: int

    @property
    def nchunks(self) -> int:
        """Number of ids: the product of the chunk grid."""
        return self.generator.nchunks

    def locate(self, ids: NDArray[np.int64]) -> Located:
        """Find many chunks at once: logarithmic in the exceptions each, constant where ids ascend."""
        wanted = np.ascontiguousarray(ids, np.int64)
        return Located(*self.generator.index.locate(self.variable, wanted), self.generator.files)

    def reference(self, chunk: int) -> Reference | None:
        """Find one chunk: `[url, offset, length]`; None where it is absent."""
        file_id, offset, length = self.generator.index.find(self.variable, chunk)
        return None if file_id < 0 else [self.generator.files[file_id], offset, length]

    def listed(self) -> NDArray[np.int64]:
        """Ids of the chunks that exist, ascending; linear in their number."""
        index, generator = self.generator.index, self.generator
        absent = index.id[index.size < 0]
        if generator.varwise:
            chunk, variable = np.divmod(absent, len(generator.variables))
        else:
            variable, chunk = np.divmod(absent, max(self.nchunks, 1))
        exists = np.ones(self.nchunks, bool)
        exists[chunk[variable == self.variable]] = False
        return np.flatnonzero(exists).astype(np.int64, copy=False)

    @property
    def gfactor(self) -> float:
        """Share of regular chunks in the generator that this variable shares."""
        return self.generator.gfactor

    def explain(self, chunk: int) -> str:
        """Say from which generator a chunk comes, and which exceptions make it."""
        generator = self.generator
        gap, unique, absent = generator.index.describe(generator.flat(self.variable, chunk))
        if absent:
            return f"skipped by generator {generator.number}"
        before = f", gap before it {gap}" if gap else ""
        return f"from generator {generator.number}{before}{', a length of its own' if unique else ''}"


# ---- from the document -------------------------------------------------------------------------


def is_custom(member: object) -> bool:
    """Whether a generator is of this syntax; kerchunk's standard ones have a `key` and a `url`."""
    return isinstance(member, Mapping) and "variables" in member


def parse(gen: object, document: str = "") -> list[Any]:
    """List the generators of a document's `gen` member: JSON text, or an object or list already parsed.

    Long lists come back as arrays, see `zaro.references.lists`.
    """
    if isinstance(gen, bytes | bytearray | memoryview):
        try:
            gen = lists.load(gen)
        except (ValueError, RecursionError) as err:
            raise ReferenceSetError(document, "gen", f"is no JSON: {err}") from err
    return list(gen) if isinstance(gen, list | tuple) else [] if gen is None else [gen]


def read(
    gen: object,
    metadata: Mapping[str, bytes],
    document: str = "",
    *,
    layouts: Mapping[str, ChunkLayout] | None = None,
    folder: str | None = None,
    expand: Callable[[str], str] | None = None,
) -> dict[str, GeneratorTable]:
    """Read the custom generators of a document to tables of the arrays that they describe, by path.

    Parameters
    ----------
    gen
        The `gen` member: its JSON text (the fast way) or the parsed object or list. Standard
        generators in a list are left to whoever expands them.
    metadata : mapping of str to bytes
        Metadata documents by key; not asked for where `layouts` are given.
    document
        Name of the document, for messages.
    folder
        Folder of the document, that relative files are resolved against.
    expand
        Applied to the names of files: templates.

    Raises
    ------
    GeneratorError
        A generator contradicts itself or the metadata; names the member and the index.
    """
    members = parse(gen, document)
    grids = array_layouts(metadata) if layouts is None else layouts
    tables: dict[str, GeneratorTable] = {}
    readers = []
    for number, member in enumerate(members):
        if is_custom(member):
            name = (
                f"{document}: gen[{number}]"
                if len(members) > 1
                else f"{document}: gen"
                if document
                else "gen"
            )
            readers.append(_Reader(member, name, number, grids))
    for reader, generator in zip(readers, _side_by_side(readers, folder, expand), strict=True):
        for path, table in generator.tables().items():
            if path in tables:
                raise reader.field("variables").error(f"{path!r} comes from an earlier generator already")
            tables[path] = table
    return tables


def _side_by_side(
    readers: list[_Reader], folder: str | None, expand: Callable[[str], str] | None
) -> list[Generator]:
    """Unpack generators on several threads: the kernels that do most of it work without the GIL."""
    if len(readers) < 2 or config.threads() < 2:
        return [reader.generator(folder, expand) for reader in readers]
    with LastingPool(min(len(readers), config.threads())) as pool:
        return list(pool.map(lambda reader: reader.generator(folder, expand), readers))


@dataclass(frozen=True, slots=True)
class _Reader:
    """One generator as parsed JSON, on its way to a Generator."""

    member: Mapping[str, Any]
    document: str
    number: int
    layouts: Mapping[str, ChunkLayout]

    def field(self, name: str) -> Field:
        return Field(self.document, name)

    def generator(self, folder: str | None, expand: Callable[[str], str] | None) -> Generator:
        variables, dims = self.variables(), self.dims()
        self.check_grid(variables, dims)
        chunks = math.prod(dims)
        total = chunks * len(variables)
        if total >= 2**63:
            raise self.field("dims").error(f"{total} chunks leave the range of 64 bits")
        self.check_stop(total)
        varwise = self.member.get("varwise", True)
        if not isinstance(varwise, bool):
            raise self.field("varwise").error(f"expected true or false, found {varwise!r}")
        last, file, names = self.files()
        unique_id, unique_length = self.exceptions("unique", total)
        gap_id, gap = self.exceptions("gaps", total)
        absent = self.skipped(variables, dims, varwise, total)
        try:
            index = Index(
                chunks, lists.integer(self.need("start"), self.field("start")), varwise,
                self.lengths(len(variables)), last, file, len(names),
                unique_id=unique_id, unique_length=unique_length, gap_id=gap_id, gap=gap, absent_id=absent,
            )  # fmt: skip
        except GeneratorError as err:
            raise GeneratorError(err.document or self.document, err.field, err.index, err.reason) from None
        files = FileTable(names if expand is None else [expand(name) for name in names], folder)
        counts = len(absent), len(unique_id), len(gap_id)
        return Generator(self.number, variables, dims, varwise, index, files, *counts)

    def need(self, name: str) -> Any:
        if name not in self.member:
            raise self.field(name).error("is missing")
        return self.member[name]

    def variables(self) -> tuple[str, ...]:
        found, field = self.need("variables"), self.field("variables")
        if not isinstance(found, list | tuple) or not found:
            raise field.error(f"expected a list of names, found {found!r}")
        for k, name in enumerate(found):
            if not isinstance(name, str):
                raise field.error(f"expected a name, found {name!r}", k)
            if name in found[:k]:
                raise field.error(f"{name!r} is named twice", k)
        return tuple(found)

    def dims(self) -> tuple[int, ...]:
        field = self.field("dims")
        dims = lists.integers(self.need("dims"), field, MAX_RANK).tolist()
        for k, size in enumerate(dims):
            if size < 0:
                raise field.error(f"{size} chunks along a dimension", k)
        return tuple(dims)

    def check_grid(self, variables: tuple[str, ...], dims: tuple[int, ...]) -> None:
        for k, path in enumerate(variables):
            layout = self.layouts.get(path)
            if layout is None:
                raise self.field("variables").error(f"there is no readable .zarray of {path!r}", k)
            if layout.grid != dims and (layout.grid or dims != (1,)):
                reason = f"{list(dims)} disagree with the chunk grid of {path!r}, {list(layout.grid)}"
                raise self.field("dims").error(reason)

    def check_stop(self, total: int) -> None:
        dimensions = self.member.get("dimensions") or {}
        field = self.field("dimensions")
        if not isinstance(dimensions, Mapping) or not isinstance(dimensions.get("i", {}), Mapping):
            raise field.error(f"expected an object with a member i, found {dimensions!r}")
        for name, wanted in (("start", 0), ("stop", total), ("step", 1)):
            found = dimensions.get("i", {}).get(name)
            if found is not None and lists.integer(found, self.field(f"dimensions.i.{name}")) != wanted:
                raise self.field(f"dimensions.i.{name}").error(f"is {found}, expected {wanted}")

    def lengths(self, variables: int) -> Ids:
        found, field = self.need("lengths"), self.field("lengths")
        if not isinstance(found, list | tuple | Mapping | np.ndarray):
            found = [lists.integer(found, field)]
        lengths = lists.integers(found, field, variables)
        if len(lengths) == 1:
            lengths = np.repeat(lengths, variables)
        if len(lengths) != variables:
            raise field.error(f"holds {len(lengths)} numbers, expected one for each of {variables} variables")
        return lengths

    def files(self) -> tuple[Ids, NDArray[np.int32], list[str]]:
        """Last flat index and file id of each run, and the names of the files."""
        found, field = self.need("files"), self.field("files")
        if not isinstance(found, list | tuple):
            raise field.error(f"expected a list of [last, name], found {found!r}")
        names: dict[str, int] = {}
        last, file = [], []
        for k, pair in enumerate(found):
            if not isinstance(pair, list | tuple) or len(pair) != 2 or not isinstance(pair[1], str):
                raise field.error(f"expected [last, name], found {pair!r}", k)
            last.append(pair[0] if type(pair[0]) is int else lists.integer(pair[0], field, k))
            file.append(names.setdefault(pair[1], len(names)))
        return lists.integers(last, field, len(last)), np.array(file, np.int32), list(names)

    def exceptions(self, name: str, total: int) -> tuple[Ids, Ids]:
        """Flat indices, ascending, and bytes of `unique` or `gaps`."""
        found = self.member.get(name)
        if not found:
            return _NONE, _NONE
        if not isinstance(found, Mapping) or "ids" not in found or "lengths" not in found:
            raise self.field(name).error(f"expected an object with ids and lengths, found {found!r:.60}")
        ids = lists.integers(found["ids"], self.field(f"{name}.ids"), total)
        lengths = lists.integers(found["lengths"], self.field(f"{name}.lengths"), total)
        if len(ids) != len(lengths):
            raise self.field(name).error(f"{len(ids)} ids for {len(lengths)} lengths")
        if not lists.ascends(ids):
            order = np.argsort(ids, kind="stable")
            ids, lengths = ids[order], lengths[order]
        return ids, lengths

    def skipped(self, variables: tuple[str, ...], dims: tuple[int, ...], varwise: bool, total: int) -> Ids:
        """Flat indices of the absent chunks, ascending."""
        found, field = self.member.get("skipchunks"), self.field("skipchunks")
        if found is None or (not isinstance(found, Flags) and not found):
            return _NONE
        if isinstance(found, Mapping) and set(found) == {"ids"}:
            ids = lists.integers(found["ids"], self.field("skipchunks.ids"), total)
            return ids if lists.ascends(ids) else np.sort(ids)
        flags = found if isinstance(found, Flags) else _flags(found, field, len(variables), len(dims))
        if flags.flags.shape[1] != len(variables):
            reason = f"{flags.flags.shape[1]} flags for {len(variables)} variables"
            raise field.error(reason)
        chunk = _ravel(flags.index, dims, field)
        row, variable = np.nonzero(flags.flags)
        chunk = chunk[row]
        flat = chunk * len(variables) + variable if varwise else variable * math.prod(dims) + chunk
        return flat if lists.ascends(flat) else np.sort(flat)


def _flags(found: object, field: Field, variables: int, rank: int) -> Flags:
    """Entries of `skipchunks` that were parsed to objects: keys with flags, or keys alone."""
    if not isinstance(found, Mapping | list | tuple):
        raise field.error(f"expected an object of chunk keys, found {found!r:.60}")
    keys = list(found)
    index = np.array([_chunk_index(key, field, k, max(rank, 1)) for k, key in enumerate(keys)], np.int64)
    if not isinstance(found, Mapping):
        return Flags(index, np.ones((len(keys), variables), np.uint8))
    for k, (key, flags) in enumerate(found.items()):
        if not isinstance(flags, list | tuple | np.ndarray) or len(flags) != variables:
            raise field.error(
                f"{key!r} has {flags!r:.60}, expected a flag for each of {variables} variables", k
            )
        if not all(isinstance(flag, int | np.integer) and flag in (0, 1) for flag in flags):
            raise field.error(f"{key!r} has {flags!r:.60}, expected flags 0 or 1", k)
    return Flags(index, np.array([list(flags) for flags in found.values()], np.uint8))


def _chunk_index(key: object, field: Field, k: int, rank: int) -> list[int]:
    parts = key.split(".") if isinstance(key, str) else []
    if len(parts) != rank or not all(part.isascii() and part.isdigit() and len(part) < 19 for part in parts):
        raise field.error(f"{key!r} is no key of {rank} indices with dots between", k)
    if any(len(part) > 1 and part[0] == "0" for part in parts):
        raise field.error(f"{key!r} has an index with a leading zero", k)
    return [int(part) for part in parts]


def _ravel(index: Ids, dims: Sequence[int], field: Field) -> Ids:
    grid = np.array(dims if len(dims) else (1,), np.int64)
    if index.shape[1] != len(grid):
        raise field.error(f"keys have {index.shape[1]} indices, expected {len(grid)}")
    outside = (index >= grid).any(axis=1)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        key = ".".join(map(str, index[k].tolist()))
        raise field.error(f"chunk {key!r} lies outside the grid {list(dims)}", k)
    return ravel(np.ascontiguousarray(index), grid)
