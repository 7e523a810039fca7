# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""From keys to chunks and back (key.h), for one array and for a whole set."""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import numpy as np

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *n) except NULL

cdef extern from "zaro/key.h" nogil:
    enum: ZARO_KEY_NAME
    enum: ZARO_MAX_RANK
    bint zaro_key_id(const uint8_t *name, size_t n, bint prefixed, uint8_t separator, size_t rank,
                     const int64_t *grid, int64_t *id)
    size_t zaro_key_name(int64_t id, bint prefixed, uint8_t separator, size_t rank, const int64_t *grid, uint8_t *name)

cdef enum:
    ABSENT = -1
    INLINE = -2
    WHOLE = -1
    MAX_SLASHES = ZARO_MAX_RANK + 2


cdef class ArrayKeys:
    """Keys of the chunks of the array at `path`."""

    cdef readonly str path
    cdef bytes start  # the path and its slash
    cdef bint prefixed
    cdef uint8_t separator
    cdef Py_ssize_t rank
    cdef int64_t grid[ZARO_MAX_RANK]
    cdef readonly int64_t nchunks

    def __init__(self, str path not None, const int64_t[::1] grid not None, *, bint prefixed, str separator not None):
        total = 1
        for size in grid:
            if size < 0:
                raise ValueError(f"a grid of {np.asarray(grid).tolist()} chunks")
            total *= size or 1
        if grid.shape[0] > ZARO_MAX_RANK or total >= 1 << 63:
            raise ValueError(f"a grid of {np.asarray(grid).tolist()} chunks")
        self.path, self.start = path, f"{path}/".encode() if path else b""
        self.prefixed, self.separator, self.rank = prefixed, ord(separator), grid.shape[0]
        self.nchunks = 0 if any(size == 0 for size in grid) else total
        for d in range(self.rank):
            self.grid[d] = grid[d]

    cdef bint find(self, const char *name, Py_ssize_t n, int64_t *chunk) noexcept nogil:
        return zaro_key_id(<const uint8_t *>name, n, self.prefixed, self.separator, self.rank, self.grid, chunk)

    def id(self, str name not None):
        """Id of the chunk of this name below the array; None where it is not the one name of a chunk."""
        cdef Py_ssize_t n = 0
        cdef int64_t chunk = 0
        cdef const char *text = utf8(name, &n)
        return chunk if text != NULL and self.find(text, n, &chunk) else None

    def keys(self, const int64_t[::1] ids not None):
        """Full keys of chunks, as a list of str."""
        cdef Py_ssize_t k, n = len(self.start)
        cdef bytearray room = bytearray(n + ZARO_KEY_NAME)
        cdef char *text = room
        cdef size_t length
        cdef list found = [None] * ids.shape[0]
        memcpy(text, <const char *>self.start, n)
        for k in range(ids.shape[0]):
            if not 0 <= ids[k] < self.nchunks:
                raise IndexError(f"chunk {ids[k]} of {self.nchunks}")
            length = zaro_key_name(ids[k], self.prefixed, self.separator, self.rank, self.grid, <uint8_t *>text + n)
            found[k] = PyUnicode_DecodeUTF8(text, n + length, NULL)
        return found


cdef const char *utf8(str text, Py_ssize_t *n) except? NULL:
    """UTF-8 of a text, NULL where it has none (a lone surrogate)."""
    try:
        return PyUnicode_AsUTF8AndSize(text, n)
    except UnicodeEncodeError:
        return NULL


cdef class Source:
    """References of one array by chunk."""

    cdef reference(self, int64_t chunk):
        raise NotImplementedError


cdef class Columns(Source):
    """Rows of one array within reach of a look-up: all of the grid, or those of `ids`, ascending."""

    cdef ArrayKeys keys
    cdef const int64_t[::1] ids
    cdef const int32_t[::1] file
    cdef const int64_t[::1] offset, length
    cdef object files, inline
    cdef dict names
    cdef bint sparse

    def __init__(self, ArrayKeys keys not None, const int32_t[::1] file not None, const int64_t[::1] offset not None,
                 const int64_t[::1] length not None, files, inline, ids=None):
        self.keys, self.file, self.offset, self.length = keys, file, offset, length
        self.files, self.inline, self.names = files, inline, {}
        self.sparse = ids is not None
        if self.sparse:
            self.ids = ids
        cdef Py_ssize_t n = self.ids.shape[0] if self.sparse else keys.nchunks
        if not file.shape[0] == offset.shape[0] == length.shape[0] == n:
            raise ValueError(f"columns of {file.shape[0]}, {offset.shape[0]} and {length.shape[0]} rows, expected {n}")

    cdef Py_ssize_t row(self, int64_t chunk) noexcept:
        cdef Py_ssize_t low = 0, high, middle
        if not self.sparse:
            return chunk
        high = self.ids.shape[0]
        while low < high:
            middle = (low + high) // 2
            if self.ids[middle] < chunk:
                low = middle + 1
            else:
                high = middle
        return low if low < self.ids.shape[0] and self.ids[low] == chunk else -1

    cdef reference(self, int64_t chunk):
        cdef Py_ssize_t row = self.row(chunk)
        cdef int32_t file = self.file[row] if row >= 0 else ABSENT
        if file >= 0:
            name = self.name(file)
            return [name] if self.length[row] == WHOLE else [name, self.offset[row], self.length[row]]
        if file == INLINE:
            return bytes(self.inline[self.offset[row]:self.offset[row] + self.length[row]])
        return None

    def at(self, int64_t chunk):
        """The reference of a chunk: `[url, offset, length]`, `[url]` or bytes; None where it is absent."""
        if not 0 <= chunk < self.keys.nchunks:
            raise IndexError(f"chunk {chunk} of {self.keys.nchunks}")
        return self.reference(chunk)

    cdef name(self, int32_t file):
        name = self.names.get(file)
        if name is None:
            name = self.files[file]
            if len(self.names) >= 65536:
                self.names.clear()
            self.names[file] = name
        return name


cdef class Pages(Source):
    """References of one array that lies in memory page by page.

    Parameters
    ----------
    size : chunks of a page
    near : dict of int to Columns, the pages within reach by number; others may change it at any time
    far : callable, `far(chunk)` gives the reference of a chunk of any other page, None where it is absent
    """

    cdef int64_t size
    cdef dict near
    cdef object far

    def __init__(self, int64_t size, dict near not None, far):
        if size < 1:
            raise ValueError(f"pages of {size} chunks")
        self.size, self.near, self.far = size, near, far

    def at(self, int64_t chunk):
        """The reference of a chunk: `[url, offset, length]`, `[url]` or bytes; None where it is absent."""
        return self.reference(chunk)

    cdef reference(self, int64_t chunk):
        cdef int64_t row = chunk % self.size
        cdef Columns columns = self.near.get(chunk // self.size)
        if columns is None or not 0 <= row < columns.keys.nchunks:
            return self.far(chunk)
        return columns.reference(row)


cdef class KeyIndex:
    """From any key of a set to its array, chunk and reference.

    Parameters
    ----------
    arrays : dict of str to ArrayKeys
    columns : dict of str to Columns or Pages
        Of the arrays whose tables lie in memory, whole or in part.
    other : callable
        `other(path, chunk)` gives the reference of a chunk of any other array, None where it is absent.
    """

    cdef dict arrays, columns
    cdef object other

    def __init__(self, dict arrays not None, dict columns not None, other):
        self.arrays, self.columns, self.other = arrays, columns, other

    cdef ArrayKeys at(self, str key, const char *text, Py_ssize_t *slash, int64_t *chunk, Py_ssize_t n):
        """The deepest array that this key is a chunk of; `slash` is where to go on, n at first, -1 at the end."""
        cdef Py_ssize_t i = slash[0]
        cdef ArrayKeys keys
        while i > 0 and ((c"0" <= text[i - 1] <= c"9") or text[i - 1] in b"./c"):
            i -= 1
            if text[i] != c"/":
                continue
            keys = self.arrays.get(PyUnicode_DecodeUTF8(text, i, NULL))
            if keys is not None and keys.find(text + i + 1, n - i - 1, chunk):
                slash[0] = i
                return keys
            if n - i > ZARO_KEY_NAME:
                break
        slash[0] = -1
        if i > 0:
            return None
        keys = self.arrays.get("")
        return keys if keys is not None and keys.find(text, n, chunk) else None

    def chunk(self, str key not None):
        """Path of the array and id of the chunk that a key spells; None where it spells none."""
        cdef Py_ssize_t n = 0, slash
        cdef int64_t chunk = 0
        cdef const char *text = utf8(key, &n)
        slash = n
        keys = self.at(key, text, &slash, &chunk, n) if text != NULL else None
        return None if keys is None else (keys.path, chunk)

    def reference(self, str key not None):
        """The reference that a key has: `[url, offset, length]`, `[url]` or bytes; None where it has none."""
        cdef Py_ssize_t n = 0, slash
        cdef int64_t chunk = 0
        cdef ArrayKeys keys
        cdef Source source
        cdef const char *text = utf8(key, &n)
        if text == NULL:
            return None
        slash = n
        while slash >= 0:
            keys = self.at(key, text, &slash, &chunk, n)
            if keys is None:
                return None
            source = self.columns.get(keys.path)
            found = source.reference(chunk) if source is not None else self.other(keys.path, chunk)
            if found is not None:
                return found
        return None
