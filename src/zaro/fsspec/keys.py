"""The keys of a reference file system: columns until somebody wants to change them, then a mapping."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any

from zaro.errors import TemplateError
from zaro.fsspec.documents import Document, as_bytes, spelled
from zaro.fsspec.spans import Span, narrow
from zaro.references.listing import Listing
from zaro.references.set import References

__all__ = ["Keys", "entry_of", "size_of"]

_DIVISION_BY_ZERO = re.compile(r"/\s*0\s*[})]")


class Keys:
    """References by key, however they came.

    Attributes
    ----------
    document : Document
        What was opened.
    target : str or None
        The file of references that name none.
    """

    def __init__(self, document: Document, target: str | None) -> None:
        self.document, self.target = document, target
        self._mapping = document.mapping
        self._columns: References | None = None
        self._listing: Listing | None = None

    @property
    def columns(self) -> References | None:
        """The references in columns; None where they are a mapping."""
        if self._mapping is None and self._columns is None:
            assert self.document.columns is not None
            self._columns = self.document.columns()
        return self._columns if self._mapping is None else None

    @property
    def lazy(self) -> Any | None:
        """The mapping, if it lists its own keys, as those of Parquet sets do: fsspec's own, or ours."""
        mapping = self._mapping
        return mapping if hasattr(mapping, "ls") and hasattr(mapping, "listdir") else None

    @property
    def mapping(self) -> MutableMapping[str, Any]:
        """The references as a mapping, and from now on no longer in columns."""
        if self._mapping is None:
            assert self.columns is not None
            self._mapping = dict(spelled(self.columns))
        return self._mapping

    @mapping.setter
    def mapping(self, value: MutableMapping[str, Any]) -> None:
        self._mapping = value

    def expand(self) -> None:
        """Expand all generators now; as fsspec does, let a division by zero in one be just that."""
        try:
            len(self.columns or ())
        except TemplateError as err:
            if err.reason == "division by zero" or _DIVISION_BY_ZERO.search(err.place):
                raise ZeroDivisionError(str(err)) from err
            raise

    def items(self) -> Iterable[tuple[str, Any]]:
        """All references, as a document has them."""
        columns = self.columns
        return spelled(columns) if columns is not None else self.mapping.items()

    def starting(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix, sorted."""
        known: Iterable[str] = self.columns if self._mapping is None else self._mapping  # type: ignore[assignment]
        return sorted(key for key in known if key.startswith(prefix))

    def reference(self, key: str) -> Any:
        """The reference of a key, or None."""
        columns = self.columns
        known: Mapping[str, Any] = self.mapping if columns is None else columns
        try:
            return known[key]
        except KeyError:
            return self.reference(key.lstrip("/")) if key.startswith("/") else None

    def part(self, key: str, start: int | None = None, end: int | None = None) -> bytes | Span:
        """A slice of the value of a key: its bytes, or where they lie.

        Raises
        ------
        FileNotFoundError
            The set has no such key.
        ReferenceSetError
            Its value is no reference.
        """
        reference = self.reference(key)
        if reference is None:
            raise FileNotFoundError(key)
        if self._mapping is None and isinstance(reference, bytes):
            return reference[start:end]
        raw = as_bytes(reference)
        if raw is not None:
            return raw[start:end]
        span = narrow(reference, start, end, document=self.document.origin or "", key=key)
        if isinstance(span.url, str):
            return span
        if self.target is None:
            raise FileNotFoundError(key)
        return span._replace(url=self.target)

    def size(self, reference: Any) -> int | None:
        """Bytes that a reference names; None where it is a whole file."""
        if self._mapping is None and isinstance(reference, bytes):
            return len(reference)
        return size_of(reference)

    def first_url(self) -> str | None:
        """The first file that is referred to, if that is to be had without much reading."""
        if self._mapping is None:
            return None if self._columns is None and self.document.deferred else self._first_file()
        if self.lazy is not None:
            return None
        for value in self._mapping.values():
            url = value[0] if isinstance(value, list | tuple) and value else None
            if isinstance(url, str) and url:
                return url
        return None

    def _first_file(self) -> str | None:
        assert self.columns is not None
        contents = self.columns.contents
        for table in contents.tables.values():
            files: Sequence[str] = getattr(table, "files", ())
            if len(files):
                return files[0]
        others = (value for value in contents.other.values() if isinstance(value, list))
        return next((str(value[0]) for value in others), None)

    # ---- folders of references that are no dict ------------------------------------------------

    def below(self, path: str) -> list[dict[str, Any]] | None:
        """What lies directly below a path; None where there is no such path."""
        found = [entry_of(e.key, e.size, folder=e.folder) for e in self._folders().below(path)]
        if found or not path:
            return found
        reference = self.reference(path)
        return None if reference is None else [entry_of(path, self.size(reference))]

    def is_folder(self, path: str) -> bool:
        """Whether keys lie below a path."""
        if (lazy := self.lazy) is not None:
            return any(one == path or one.startswith(f"{path}/") for one in lazy.listdir())
        if self._mapping is not None:
            return any(key.startswith(f"{path}/") for key in self._mapping)
        return self._folders().is_folder(path)

    def _folders(self) -> Listing:
        if self._listing is None:
            assert self.columns is not None
            self._listing = Listing(self.columns.contents)
        return self._listing


def size_of(reference: Any) -> int | None:
    """Bytes that a reference of a mapping names; None where it is a whole file."""
    raw = as_bytes(reference)
    if raw is not None:
        return len(raw)
    return int(reference[2]) if isinstance(reference, list | tuple) and len(reference) == 3 else None


def entry_of(name: str, size: int | None, *, folder: bool = False) -> dict[str, Any]:
    """What fsspec says of a key or folder."""
    return {"name": name, "size": size, "type": "directory" if folder else "file"}
