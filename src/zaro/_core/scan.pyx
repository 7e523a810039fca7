# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Reference scanning (scan.h): a document to columns."""

from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_CORRUPT, ZARO_MEMORY, ZARO_OK, ZARO_ORDER, zaro_status
from zaro.errors import ReferenceSetError

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *n) except NULL

cdef extern from "zaro/scan.h" nogil:
    enum: ZARO_SCAN_ABSENT
    enum: ZARO_SCAN_INLINE
    enum: ZARO_SCAN_OBJECT
    enum: ZARO_SCAN_WHOLE
    enum: ZARO_SCAN_FIELDS
    enum: ZARO_SCAN_FAULTS
    ctypedef enum zaro_scan_event:
        ZARO_SCAN_MORE
        ZARO_SCAN_ARRAY
        ZARO_SCAN_DONE
    ctypedef struct zaro_scan:
        pass
    ctypedef struct zaro_scan_loose:
        uint64_t key
        uint32_t key_n
        int32_t file
        int64_t offset
        int64_t length
    ctypedef struct zaro_scan_rows:
        const int64_t *id
        const int32_t *file
        const int64_t *offset
        const int64_t *length
        size_t n
        size_t early
    ctypedef struct zaro_scan_view:
        const uint8_t *keys
        const zaro_scan_loose *loose
        size_t n_loose
        const uint8_t *files
        const uint64_t *file_end
        size_t n_files
        const uint8_t *inlined
        size_t n_inline
        size_t n_arrays
        size_t n_objects
        const uint8_t *field[ZARO_SCAN_FIELDS]
        size_t field_n[ZARO_SCAN_FIELDS]
        uint64_t n_refs
        bint nested
        bint mixed
    ctypedef struct zaro_scan_trouble:
        int fault
        uint64_t position
        const uint8_t *key
        size_t key_n
    zaro_scan *zaro_scan_new(bint nested, uint64_t skip)
    void zaro_scan_free(zaro_scan *scan)
    zaro_status zaro_scan_declare(zaro_scan *scan, const uint8_t *path, size_t n, bint prefixed, uint8_t separator,
                                  size_t rank, const int64_t *grid, size_t *number)
    zaro_status zaro_scan_feed(zaro_scan *scan, const uint8_t *text, size_t n, bint last, size_t *used,
                               zaro_scan_event *event)
    zaro_status zaro_scan_add(zaro_scan *scan, const uint8_t *key, size_t n, int32_t code, const uint8_t *text,
                              size_t text_n, int64_t offset, int64_t length)
    zaro_status zaro_scan_settle(zaro_scan *scan)
    void zaro_scan_look(const zaro_scan *scan, zaro_scan_view *view)
    void zaro_scan_rows_of(const zaro_scan *scan, size_t number, zaro_scan_rows *rows)
    void zaro_scan_where(const zaro_scan *scan, zaro_scan_trouble *trouble)
    zaro_status zaro_scan_dense(const zaro_scan *scan, size_t number, int32_t *file, int64_t *offset,
                                int64_t *length, size_t n)
    void zaro_scan_drop(zaro_scan *scan, size_t number)

MORE, ARRAY, DONE = ZARO_SCAN_MORE, ZARO_SCAN_ARRAY, ZARO_SCAN_DONE
ABSENT, INLINE, OBJECT, WHOLE = ZARO_SCAN_ABSENT, ZARO_SCAN_INLINE, ZARO_SCAN_OBJECT, ZARO_SCAN_WHOLE

FAULT = (
    "it is fine",
    "the document ends too early",
    "no JSON object begins here (of a file of data, zaro.scan makes a reference set)",
    "a character that JSON does not allow here",
    "a control character inside a string",
    "an escape that JSON does not know",
    "half of a surrogate pair",
    "these bytes are no UTF-8",
    "expected a whole number of bytes, from 0 to 2^63 - 1",
    "expected [url], [url, offset, length], text, an object or null",
    "the text after 'base64:' is no base64",
    "nested deeper than any reference document",
    "a text of more than 2^31 bytes",
    "something follows the end of the document",
)
assert len(FAULT) == ZARO_SCAN_FAULTS

cdef tuple FIELDS = ("version", "templates", "gen", "zaro")


cdef inline str decoded(const uint8_t *text, size_t n):
    return PyUnicode_DecodeUTF8(<const char *>text, n, NULL)


cdef inline bytes copied(const uint8_t *data, size_t n):
    return PyBytes_FromStringAndSize(<const char *>data, n)


cdef check(zaro_status status, str where):
    if status == ZARO_MEMORY:
        raise MemoryError(f"{where}: {REASON[status]}")
    if status != ZARO_OK:
        raise ValueError(f"{where}: {REASON[status]}")


cdef inline bint ends_in(const uint8_t *key, size_t n, const char *name, size_t m) noexcept nogil:
    return n >= m and memcmp(key + n - m, name, m) == 0 and (n == m or key[n - m - 1] == c"/")


cdef bint is_document(const uint8_t *key, size_t n) noexcept nogil:
    """Whether a key is that of a metadata document."""
    return (ends_in(key, n, b".zarray", 7) or ends_in(key, n, b".zattrs", 7) or ends_in(key, n, b".zgroup", 7)
            or ends_in(key, n, b"zarr.json", 9) or ends_in(key, n, b".zmetadata", 10))


cdef class Field:
    """Text of a field, as a buffer in the scanner's own memory."""

    cdef Scanner scanner
    cdef const uint8_t *text
    cdef Py_ssize_t n

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.text, self.n, True, flags)
        self.scanner.lent += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.scanner.lent -= 1


cdef class Scanner:
    """One document on its way into columns. `name` is the document's, for messages."""

    cdef zaro_scan *scan
    cdef readonly str name
    cdef Py_ssize_t lent  # buffers that others hold of its memory

    def __cinit__(self, str name="", *, bint nested=False, uint64_t skip=0):
        self.name = name
        self.scan = zaro_scan_new(nested, skip)
        if self.scan == NULL:
            raise MemoryError(REASON[<int>ZARO_MEMORY])

    def __dealloc__(self):
        zaro_scan_free(self.scan)

    def declare(self, str path not None, const int64_t[::1] grid not None, *, bint prefixed, str separator not None):
        """Declare an array: its number, or None where it was declared otherwise before."""
        cdef Py_ssize_t n = 0
        cdef const char *text = PyUnicode_AsUTF8AndSize(path, &n)
        cdef size_t number = 0, rank = grid.shape[0]
        cdef uint8_t mark = ord(separator)
        cdef const int64_t *sizes = &grid[0] if rank else NULL
        cdef zaro_status status
        with nogil:
            status = zaro_scan_declare(self.scan, <const uint8_t *>text, n, prefixed, mark, rank, sizes, &number)
        if status == ZARO_ORDER:
            return None
        check(status, path)
        return number

    def feed(self, uint8_t[::1] block not None, size_t start, size_t stop, bint last):
        """Scan block[start:stop]; writes a 0 behind it. Bytes that are used, and MORE, ARRAY or DONE."""
        if not start <= stop < <size_t>block.shape[0]:
            raise ValueError(f"bytes {start} to {stop} of a block of {block.shape[0]} that ends in a spare byte")
        block[stop] = 0
        return self._feed(&block[start], stop - start, last)

    def feed_bytes(self, bytes document not None, size_t start):
        """Scan the rest of a whole document from byte `start`; bytes that are used, and ARRAY or DONE."""
        if start > <size_t>len(document):
            raise ValueError(f"byte {start} of {len(document)}")
        cdef const char *text = document  # bytes end in a 0 of their own
        return self._feed(<const uint8_t *>text + start, len(document) - start, True)

    cdef tuple _feed(self, const uint8_t *text, size_t n, bint last):
        if self.lent:
            raise BufferError(f"{self.lent} buffers of the scanner are in use")
        cdef size_t used = 0
        cdef zaro_scan_event event = ZARO_SCAN_MORE
        cdef zaro_status status
        with nogil:
            status = zaro_scan_feed(self.scan, text, n, last, &used, &event)
        if status == ZARO_CORRUPT:
            self._refuse()
        check(status, self.name)
        return used, <int>event

    cdef _refuse(self):
        cdef zaro_scan_trouble trouble
        zaro_scan_where(self.scan, &trouble)
        place = f"byte {trouble.position}"
        if trouble.key != NULL:
            place += f", key {decoded(trouble.key, trouble.key_n)!r}"
        raise ReferenceSetError(self.name, place, FAULT[trouble.fault])

    def put_inline(self, str key not None, const uint8_t[::1] data not None):
        """Add a reference that is bytes, decoded where they begin with `base64:`."""
        self._put(key, ZARO_SCAN_INLINE, &data[0] if data.shape[0] else NULL, data.shape[0], 0, 0)

    def put_text(self, str key not None, str text not None):
        """Add a reference that is text: its UTF-8, or what `base64:` stands for."""
        cdef Py_ssize_t n = 0
        cdef const char *data = self._text(key, text, &n)
        self._put(key, ZARO_SCAN_INLINE, <const uint8_t *>data, n, 0, 0)

    def put_absent(self, str key not None):
        """Add a reference that is null."""
        self._put(key, ZARO_SCAN_ABSENT, NULL, 0, 0, 0)

    def put(self, str key not None, str url not None, int64_t offset=0, int64_t length=ZARO_SCAN_WHOLE):
        """Add a span of a file, or a whole file."""
        cdef Py_ssize_t n = 0
        cdef const char *text = self._text(key, url, &n)
        if offset < 0 or length < ZARO_SCAN_WHOLE:
            raise ValueError(FAULT[8])
        self._put(key, 0, <const uint8_t *>text, n, offset, length)

    cdef const char *_text(self, str key, str text, Py_ssize_t *n) except NULL:
        try:
            return PyUnicode_AsUTF8AndSize(text, n)
        except UnicodeEncodeError:
            raise ReferenceSetError(self.name, repr(key), FAULT[6]) from None

    cdef _put(self, str key, int32_t code, const uint8_t *text, size_t text_n, int64_t offset, int64_t length):
        cdef Py_ssize_t n = 0
        cdef const char *name = self._text(key, key, &n)
        cdef zaro_status status = zaro_scan_add(
            self.scan, <const uint8_t *>name, n, code, text, text_n, offset, length)
        if status == ZARO_CORRUPT:
            raise ReferenceSetError(self.name, repr(key), FAULT[10])
        check(status, key)

    def settle(self):
        """Sort loose entries into arrays declared since; once, after the last block."""
        cdef zaro_status status
        with nogil:
            status = zaro_scan_settle(self.scan)
        check(status, self.name)

    # what it holds

    @property
    def version(self):
        """Whether the document is nested, whether that was known too late, and its members `refs`."""
        cdef zaro_scan_view view
        zaro_scan_look(self.scan, &view)
        return view.nested, view.mixed, view.n_refs

    @property
    def n_objects(self):
        """Number of entries that are JSON objects."""
        cdef zaro_scan_view view
        zaro_scan_look(self.scan, &view)
        return view.n_objects

    def fields(self):
        """Text of each field beside `refs`, by name: a memoryview of the scanner's memory."""
        cdef zaro_scan_view view
        cdef Field field
        found = {}
        zaro_scan_look(self.scan, &view)
        for k in range(ZARO_SCAN_FIELDS):
            if view.field[k] != NULL:
                field = Field()
                field.scanner, field.text, field.n = self, view.field[k], view.field_n[k]
                found[FIELDS[k]] = memoryview(field)
        return found

    def files(self):
        """UTF-8 text of all files, one after another, and where each ends [n] int64."""
        cdef zaro_scan_view view
        zaro_scan_look(self.scan, &view)
        ends = np.empty(view.n_files, np.int64)
        cdef int64_t[::1] to = ends
        if view.n_files:
            memcpy(&to[0], view.file_end, view.n_files * sizeof(int64_t))
            return copied(view.files, view.file_end[view.n_files - 1]), ends
        return b"", ends

    def inline(self):
        """The bytes of all inline references, one after another."""
        cdef zaro_scan_view view
        zaro_scan_look(self.scan, &view)
        return copied(view.inlined, view.n_inline)

    def last_loose(self):
        """Key and bytes of the last loose entry; None in place of bytes where it is a file or absent."""
        cdef zaro_scan_view view
        zaro_scan_look(self.scan, &view)
        cdef zaro_scan_loose entry = view.loose[view.n_loose - 1]
        data = copied(view.inlined + entry.offset, entry.length) if entry.file <= ZARO_SCAN_INLINE else None
        return decoded(view.keys + entry.key, entry.key_n), data

    def loose(self, *, bint documents):
        """Loose entries in order, those of metadata documents or the others: (key, file, offset, length).

        One at a time: there may be millions of them.
        """
        cdef zaro_scan_view view
        cdef zaro_scan_loose entry
        cdef size_t k = 0
        while True:
            zaro_scan_look(self.scan, &view)  # whoever feeds the scanner in between may move its memory
            while k < view.n_loose and is_document(view.keys + view.loose[k].key, view.loose[k].key_n) != documents:
                k += 1
            if k >= view.n_loose:
                return
            entry = view.loose[k]
            k += 1
            yield decoded(view.keys + entry.key, entry.key_n), entry.file, entry.offset, entry.length

    def count(self, size_t number):
        """Number of rows of an array."""
        return self._rows(number).n

    cdef zaro_scan_rows _rows(self, size_t number) except *:
        cdef zaro_scan_view view
        cdef zaro_scan_rows rows
        zaro_scan_look(self.scan, &view)
        if number >= view.n_arrays:
            raise IndexError(f"array {number} of {view.n_arrays}")
        zaro_scan_rows_of(self.scan, number, &rows)
        return rows

    def rows(self, size_t number):
        """Columns id, file, offset, length of an array, in the order of the document."""
        cdef zaro_scan_rows rows = self._rows(number)
        cdef size_t n = rows.n, late = rows.n - rows.early
        columns = np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.int64)
        if n == 0:
            return columns
        cdef int64_t[::1] ids = columns[0], offset = columns[2], length = columns[3]
        cdef int32_t[::1] file = columns[1]
        move(&ids[0], rows.id, n, late, sizeof(int64_t))
        move(&file[0], rows.file, n, late, sizeof(int32_t))
        move(&offset[0], rows.offset, n, late, sizeof(int64_t))
        move(&length[0], rows.length, n, late, sizeof(int64_t))
        return columns

    def dense(self, size_t number, size_t nchunks):
        """Columns file, offset, length over the whole grid of a declared array."""
        self._rows(number)
        columns = np.full(nchunks, ZARO_SCAN_ABSENT, np.int32), np.zeros(nchunks, np.int64), np.zeros(nchunks, np.int64)
        cdef int32_t[::1] file = columns[0]
        cdef int64_t[::1] offset = columns[1], length = columns[2]
        cdef zaro_status status
        if nchunks == 0:
            return columns
        with nogil:
            status = zaro_scan_dense(self.scan, number, &file[0], &offset[0], &length[0], nchunks)
        check(status, self.name)
        return columns

    def drop(self, size_t number):
        """Free the rows of an array."""
        self._rows(number)
        zaro_scan_drop(self.scan, number)


cdef void move(void *to, const void *column, size_t n, size_t late, size_t width) noexcept nogil:
    """Copy a column, rows [late, n) first."""
    memcpy(to, <const char *>column + late * width, (n - late) * width)
    memcpy(<char *>to + (n - late) * width, column, late * width)
