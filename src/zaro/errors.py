"""Every error that zaro raises on purpose, in one tree.

```text
ZaroError
├── NodeNotFoundError (KeyError, FileNotFoundError)   no array or group at that path
├── MetadataError (ValueError)           a metadata document is not what its format asks for
│   ├── UnsupportedError                 it is, but asks for a codec, type or extension that zaro lacks
│   └── DimensionNamesError (KeyError)   it is, but names no dimensions, and xarray needs names
├── ReferenceSetError (ValueError)       a reference set contradicts itself or its format
│   ├── TemplateError                    a template or expression outside the grammar
│   └── GeneratorError                   a generator contradicts itself
├── ScanError (ValueError)               a file holds what no reference set can say
├── CombineError (ValueError)            reference sets that cannot be joined
├── PlotError (ValueError)               a picture that cannot be drawn
├── SelectionError (IndexError)          a selection that does not fit the array
├── StoreError (OSError)                 a store, file or server did not give what was asked for
│   ├── StoreForbiddenError (PermissionError)    it is there, perhaps, and not for us
│   ├── StoreNotFoundError (FileNotFoundError)   there is no such store
│   └── ChangedError                     a file is not the one that was scanned
├── ChunkError (OSError)                 one chunk could not be read
│   ├── MissingChunkError (KeyError)     absent, and the caller asked to be told
│   └── CorruptChunkError (ValueError)   its bytes do not decode to the chunk that metadata promises
└── XGroupError (ValueError)             a convention of an array is not what it should be
    ├── XGroupReferenceError (KeyError, FileNotFoundError)   it refers to a node that is missing, or unfit
    ├── XGroupStoreError (FileNotFoundError)                 it refers to a store that cannot be opened
    └── XGroupPathError                                      its reference is malformed
```

`XGroupNoPrincipalWarning` is no error: with it the engine `xgroup` tells of one of the last four, or of an
array that declares no convention, and goes on.

Each leaf is also the builtin that its caller already catches. Facts are attributes, and errors
pickle, since they cross process borders.
"""

from __future__ import annotations

from typing import Any

from zaro.shown import shown, spelled_fact

__all__ = [
    "ChangedError",
    "ChunkError",
    "CombineError",
    "CorruptChunkError",
    "DimensionNamesError",
    "GeneratorError",
    "MetadataError",
    "MissingChunkError",
    "NodeNotFoundError",
    "PlotError",
    "ReferenceSetError",
    "ScanError",
    "SelectionError",
    "StoreError",
    "StoreForbiddenError",
    "StoreNotFoundError",
    "TemplateError",
    "UnsupportedError",
    "XGroupError",
    "XGroupNoPrincipalWarning",
    "XGroupPathError",
    "XGroupReferenceError",
    "XGroupStoreError",
    "ZaroError",
]


_LONGEST = 400  # characters of one part of a message: names come from files, and may be of any length


def _cut(text: str, times: int = 1) -> str:
    """Shorten what a hostile name has made long; both ends tell."""
    longest = times * _LONGEST
    return text if len(text) <= longest else f"{text[: longest // 2]}...{text[-longest // 4 :]}"


def _told(text: str, times: int = 1) -> str:
    """The same, as a terminal may show it."""
    return shown(_cut(text, times))


def _rebuild(kind: type[ZaroError], args: tuple[Any, ...], facts: dict[str, Any]) -> ZaroError:
    # of several builtin bases the OSError is the one that can make the object
    error: ZaroError = OSError.__new__(kind) if issubclass(kind, OSError) else kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class ZaroError(Exception):
    """Base of every error that zaro raises on purpose; its text says where, and what was found."""

    def __str__(self) -> str:
        # KeyError and OSError have ideas of their own about text
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError rewrites args by their number, so the default would not come back the same
        return _rebuild, (type(self), self.args, self.__dict__.copy())


class NodeNotFoundError(ZaroError, KeyError, FileNotFoundError):
    """No array or group lies at a path of a target.

    Attributes
    ----------
    path : str
        What was asked for.
    target : str
        Where; empty where that is not known.
    known : tuple of str
        A few names that are there.
    """

    def __init__(self, path: str, target: str = "", known: tuple[str, ...] = ()) -> None:
        super().__init__(path)
        self.path, self.target, self.known = path, target, known

    def __str__(self) -> str:
        where = f" in {_told(self.target)}" if self.target else ""
        known = f"; there are {_told(', '.join(map(repr, self.known)))}" if self.known else ""
        return f"no array or group at {_told(repr(self.path))}{where}{known}"


class MetadataError(ZaroError, ValueError):
    """A metadata document is not what its format asks for.

    Attributes
    ----------
    document : str
        Key of the document, as `sst/.zarray`.
    member : str
        Where in it, as `codecs[1].configuration.level`; empty for all of it.
    reason : str
        What was found, and what was expected.
    target : str
        The store or set in which the document stands; empty where that is not known.
    """

    def __init__(self, document: str, member: str, reason: str) -> None:
        super().__init__(reason)
        self.document, self.member, self.reason = document, member, reason
        self.target = ""

    def __str__(self) -> str:
        where = f"{_told(self.document)}: {_told(self.member)}" if self.member else f"{_told(self.document)}:"
        return f"{where} {_told(self.reason)}" + (f" (in {_told(self.target)})" if self.target else "")

    def of(self, target: str) -> MetadataError:
        """Say in which target the document stands, unless that was said.

        Parameters
        ----------
        target : str
            Address of the store or set.

        Returns
        -------
        MetadataError
            This error itself.
        """
        self.target = self.target or target
        return self


class UnsupportedError(MetadataError):
    """A document asks for a codec, data type or extension that zaro does not have."""


class DimensionNamesError(MetadataError, KeyError):
    """An array has no dimension names, and xarray needs them."""


class ReferenceSetError(ZaroError, ValueError):
    """A reference set contradicts itself or its format.

    Attributes
    ----------
    document : str
        Address of the document or partition; empty for one that came as bytes or as a mapping.
    place : str
        Where in it: a key, a member or a byte.
    reason : str
        What was found, and what was expected.
    """

    def __init__(self, document: str, place: str, reason: str) -> None:
        super().__init__(reason)
        self.document, self.place, self.reason = document, place, reason

    def __str__(self) -> str:
        return ": ".join(_told(part) for part in (self.document, self.place, self.reason) if part)


class TemplateError(ReferenceSetError):
    """A template or expression lies outside the grammar that zaro evaluates; the reason quotes it."""


class GeneratorError(ReferenceSetError):
    """A generator contradicts itself.

    Attributes
    ----------
    document, place, reason : str
        As for `ReferenceSetError`.
    field : str
        Member of the generator, as `gaps.ids`.
    index : int or None
        Flat index of the chunk, counted from 0; None where all of the field is meant.
    """

    def __init__(self, document: str, field: str, index: int | None, reason: str) -> None:
        super().__init__(document, field if index is None else f"{field}, index {index}", reason)
        self.field, self.index = field, index


class ScanError(ZaroError, ValueError):
    """Something in a file cannot be said by a reference set, or the file is damaged.

    Attributes
    ----------
    file : str
        Path or URL.
    variable : str
        Path of the variable in it; empty for all of the file.
    reason : str
        What was found.
    """

    def __init__(self, file: str, variable: str, reason: str) -> None:
        super().__init__(reason)
        self.file, self.variable, self.reason = file, variable, reason

    def __str__(self) -> str:
        name = f"variable {_cut(self.variable)!r}: " if self.variable else ""
        return f"{_told(self.file)}: {name}{_told(self.reason)}"


class CombineError(ZaroError, ValueError):
    """Reference sets cannot be joined.

    Attributes
    ----------
    file : str
        The set that does not fit: its address, its first file or its label.
    variable : str
        Path of the variable; empty for all of the set.
    reason : str
        Both values.
    """

    def __init__(self, file: str, variable: str, reason: str) -> None:
        super().__init__(reason)
        self.file, self.variable, self.reason = file, variable, reason

    def __str__(self) -> str:
        name = f"variable {_cut(self.variable)!r}: " if self.variable else ""
        return f"{_told(self.file)}: {name}{_told(self.reason)}"


class PlotError(ZaroError, ValueError):
    """A picture cannot be drawn: the message says why."""

    def __str__(self) -> str:
        return _told(super().__str__())


class SelectionError(ZaroError, IndexError):
    """A selection does not fit the array: the message says which dimension and why."""


class StoreError(ZaroError, OSError):
    """A store, file or server did not give what was asked for.

    Attributes
    ----------
    url : str
        Path or URL.
    reason : str
        What happened, in words or as the system says it.
    attempts : int
        Requests that were made before giving up.
    """

    def __init__(self, url: str, reason: str, attempts: int = 1) -> None:
        super().__init__(reason)
        self.url, self.reason, self.attempts = url, reason, attempts

    def __str__(self) -> str:
        tries = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{_told(self.url)}: {_told(self.reason)}{tries}"


class StoreForbiddenError(StoreError, PermissionError):
    """The server asks for a login, or for another one. Some answer so in place of "not found"."""


class StoreNotFoundError(StoreError, FileNotFoundError):
    """There is no such file, directory or address."""


class ChangedError(StoreError):
    """A file is not the one that was scanned, by the fingerprint that the set holds of it.

    Attributes
    ----------
    url, reason, attempts
        As for `StoreError`.
    what : str
        What differs: size, time or tag.
    recorded, found : object
        As it was when it was scanned, and as it is; sizes in bytes.
    """

    def __init__(self, url: str, what: str, recorded: object, found: object) -> None:
        was, now = (spelled_fact(what, value) for value in (recorded, found))
        hint = "scan it again, or open the set with changed='ignore'"
        super().__init__(url, f"has changed since it was scanned: its {what} was {was}, is {now}; {hint}")
        self.what, self.recorded, self.found = what, recorded, found


class ChunkError(ZaroError, OSError):
    """One chunk could not be read.

    Attributes
    ----------
    node : str
        Path of the array.
    key : str
        Key of the chunk below the array, as `0.5.3` or `c/0/5/3`.
    file : str
        File, URL or store in which its bytes should lie.
    offset, length : int or None
        Its span in bytes; None where the whole file is the chunk.
    reason : str
        What happened, in words or as the system says it.
    """

    def __init__(
        self,
        reason: str,
        *,
        node: str = "",
        key: str = "",
        file: str = "",
        offset: int | None = None,
        length: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.node, self.key, self.file = reason, node, key, file
        self.offset, self.length = offset, length

    def __str__(self) -> str:
        name = f"{self.node}/{self.key}".strip("/")
        where = _told(self.file)
        if self.offset is not None and self.length is not None:
            where = f"bytes {self.offset}+{self.length} of {where}"
        return ": ".join(part for part in (f"chunk {_cut(name)!r}", where, _told(self.reason)) if part)


class MissingChunkError(ChunkError, KeyError):
    """A chunk is absent, and the caller asked for `missing="raise"`."""


class CorruptChunkError(ChunkError, ValueError):
    """The bytes of a chunk do not decode to the chunk that metadata promises."""


class XGroupError(ZaroError, ValueError):
    """A convention of an array is not what it should be.

    Attributes
    ----------
    array : str
        Absolute path of the array.
    place : str
        Where in its attributes, spelled `cs/crs/0/axes/time`; empty for the whole array.
    reason : str
        What was found, and which places were tried.
    """

    def __init__(self, array: str, place: str, reason: str) -> None:
        super().__init__(reason)
        self.array, self.place, self.reason = array, place, reason

    def __str__(self) -> str:
        # the reason tells of every place that was tried
        return ": ".join(_told(part, 10) for part in (self.array, self.place, self.reason) if part)


class XGroupReferenceError(XGroupError, KeyError, FileNotFoundError):
    """A reference names a node that is not there, or one that does not fit: a group, or of a wrong size."""


class XGroupStoreError(XGroupError, FileNotFoundError):
    """A store cannot be opened: not there, not reachable, or nothing that zaro reads."""


class XGroupPathError(XGroupError):
    """A reference is malformed: no object, no `node`, a JSON pointer that points nowhere."""


class XGroupNoPrincipalWarning(UserWarning):
    """An array of engine `xgroup` lacks coordinates: it declares no principal convention, or a broken one.

    The text begins with the name of the error's class where there is an error.

    Attributes
    ----------
    error : XGroupError or None
        What is broken; None for an array that declares no principal convention.
    """

    def __init__(self, text: str, error: XGroupError | None = None) -> None:
        super().__init__(text)
        self.error = error
