# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""Run a planned read (read.h): open, fetch, decode and stitch, a batch of chunks per call without the GIL."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cimport numpy as cnp

from zaro._core.codec cimport Chain, Decoder, loaded, zaro_chain, zaro_decoder, zaro_libraries
from zaro._core.status cimport ZARO_OK, zaro_status

from zaro._core.reason import REASON

cnp.import_array()

cdef extern from "<stdlib.h>" nogil:
    int posix_memalign(void **memory, size_t alignment, size_t size)

cdef extern from "zaro/grid.h" nogil:
    enum:
        ZARO_MAX_RANK
    ctypedef struct zaro_segment:
        pass

cdef extern from "zaro/read.h" nogil:
    ctypedef struct zaro_axis:
        const zaro_segment *segment
        size_t n
        const int64_t *source
        const int64_t *target
        int64_t out_stride
    ctypedef struct zaro_points:
        const int64_t *begin
        const int64_t *index
        const int64_t *source
        const int64_t *target
        size_t block
    ctypedef enum zaro_origin:
        ZARO_FROM_MEMORY
        ZARO_FROM_FILES
        ZARO_FROM_KEYS
    ctypedef struct zaro_where:
        zaro_origin origin
        const uint8_t **data
        const size_t *nbytes
        const int32_t *file
        const int64_t *offset
        const int64_t *length
        const char **path
        size_t n_file
        const uint8_t *inlined
        size_t n_inlined
        int root
        const char *prefix
        char separator
    ctypedef struct zaro_read_error:
        zaro_status status
        size_t task
        size_t step
        int code
        int64_t got
    ctypedef struct zaro_read:
        size_t rank
        zaro_axis *axis
        size_t *order
        zaro_points points
        size_t itemsize
        uint8_t *out
        const uint8_t *fill
        bint absent_is_error
        const zaro_chain *chain
        zaro_where where
        size_t n_task
        const int64_t *task
        size_t stored_most
        size_t absent
        zaro_read_error error
    ctypedef struct zaro_worker:
        pass
    zaro_status zaro_read_prepare(zaro_read *read)
    size_t zaro_read_room(const zaro_read *read)
    bint zaro_read_run(zaro_read *read, zaro_worker *worker, size_t most)
    void zaro_worker_open(zaro_worker *worker, zaro_decoder *decoder, uint8_t *room)
    void zaro_worker_close(zaro_worker *worker)
    void zaro_read_stop(zaro_read *read)

# Tasks between two looks at pending signals: Ctrl-C is answered within a few milliseconds
cdef enum:
    TASKS_PER_CALL = 256


cdef class PathTable:
    """The paths of a table's local files, as C strings, set one by one as they are needed."""

    cdef const char **path
    cdef readonly Py_ssize_t n
    cdef list kept

    def __cinit__(self, Py_ssize_t n):
        self.path = <const char **>calloc(max(n, 1), sizeof(char *))
        if not self.path:
            raise MemoryError()
        self.n = n
        self.kept = []

    def __dealloc__(self):
        free(self.path)

    def set(self, Py_ssize_t k, bytes path not None):
        """Name file `k`."""
        if not 0 <= k < self.n:
            raise IndexError(k)
        if b"\0" in path:
            raise ValueError(f"a path with a NUL byte: {path!r}")
        self.kept.append(path)
        self.path[k] = path

    def unset(self, const int32_t[::1] file_id not None):
        """Files among `file_id` (those >= 0) that have no path yet, ascending, each once."""
        cdef Py_ssize_t k
        cdef int32_t last = -1
        found = set()
        for k in range(file_id.shape[0]):
            if file_id[k] != last and file_id[k] >= 0:
                last = file_id[k]
                if last >= self.n:
                    raise IndexError(f"file {last} of {self.n}")
                if self.path[last] == NULL:
                    found.add(last)
        return sorted(found)


cdef class Worker:
    """What one thread needs to take part in reads: decoders, and room to work in."""

    cdef zaro_worker worker
    cdef Decoder decoder
    cdef const zaro_libraries *libraries
    cdef void *room
    cdef readonly size_t nbytes

    def __cinit__(self):
        self.room = NULL
        self.nbytes = 0
        self.renew()

    def __dealloc__(self):
        free(self.room)

    cdef int renew(self) except -1:
        """Libraries are loaded with the first array that needs one: a decoder made earlier does not know them."""
        if self.decoder is None or self.libraries != loaded():
            self.libraries = loaded()
            self.decoder = Decoder()
        return 0

    cdef int reserve(self, size_t nbytes) except -1:
        if nbytes > self.nbytes:
            free(self.room)
            self.room = NULL
            self.nbytes = 0
            if posix_memalign(&self.room, 64, nbytes):
                self.room = NULL
                raise MemoryError(f"no room for {nbytes} bytes to decode a chunk in")
            self.nbytes = nbytes
        return 0


cdef class Read:
    """One planned read, which any number of threads `run` together.

    Parameters
    ----------
    axes : list of (segments, source, target, out_stride)
        For each array axis: segments [n, 6] int64 as `grid.cover` gives them; two int64 lists for
        an axis that is picked element by element, else None; bytes between elements of the output.
    order : tuple of int
        Axis k of the stored block is array axis order[k].
    itemsize : int
        Bytes of an element.
    out : ndarray
        The output; its strides are those of `axes`, its data starts at element 0 of each.
    fill : bytes
        One element of an absent chunk.
    chain : Chain
    absent_is_error : bool
    points : (begin, index, source, target, block) or None
        Elements picked one by one, instead of axes; see read.h.
    """

    cdef zaro_read read
    cdef tuple kept
    cdef object where_kept
    cdef Py_buffer *views
    cdef size_t n_views
    cdef const uint8_t **data
    cdef size_t *nbytes
    cdef readonly size_t n_task

    def __cinit__(self, list axes not None, tuple order not None, size_t itemsize, cnp.ndarray out not None,
                  bytes fill not None, Chain chain not None, bint absent_is_error=False, points=None):
        cdef const int64_t[:, ::1] segments
        cdef const int64_t[::1] source, target, begin
        cdef const int64_t[:, ::1] index
        cdef size_t rank = len(axes), d, n = 1
        if rank > ZARO_MAX_RANK or len(order) != rank or sorted(order) != list(range(rank)):
            raise ValueError(f"a read of rank {rank} with stored order {order}")
        if len(fill) != <Py_ssize_t>itemsize:
            raise ValueError(f"a fill value of {len(fill)} bytes for items of {itemsize}")
        memset(&self.read, 0, sizeof(zaro_read))
        self.read.rank = rank
        for d in range(rank):
            self.read.order[d] = order[d]
            segments, listed_source, listed_target, stride = axes[d]
            if segments.shape[1] != 6:
                raise ValueError("segments have six columns")
            self.read.axis[d].n = segments.shape[0]
            n *= segments.shape[0]
            if segments.shape[0]:
                self.read.axis[d].segment = <const zaro_segment *>&segments[0, 0]
            self.read.axis[d].out_stride = stride
            if listed_source is not None and len(listed_source):
                source, target = listed_source, listed_target
                if source.shape[0] != target.shape[0]:
                    raise ValueError("the lists of an axis differ in length")
                self.read.axis[d].source = &source[0]
                self.read.axis[d].target = &target[0]
        if points is not None:
            begin, chunk_index, source, target, block = points
            n = begin.shape[0] - 1
            self.read.points.begin = &begin[0]
            self.read.points.block = block
            if source.shape[0]:
                self.read.points.source = &source[0]
                self.read.points.target = &target[0]
            if chunk_index is not None and len(chunk_index) and rank:
                index = chunk_index
                self.read.points.index = &index[0, 0]
        self.read.itemsize = itemsize
        self.read.out = <uint8_t *>cnp.PyArray_DATA(out)
        self.read.fill = fill
        self.read.chain = &chain.chain
        self.read.absent_is_error = absent_is_error
        self.read.n_task = self.n_task = n
        self.kept = (axes, out, fill, chain, points)
        cdef zaro_status status = zaro_read_prepare(&self.read)
        if status != ZARO_OK:
            raise ValueError(f"chunks of this size cannot be read: {REASON[status]}")

    def __dealloc__(self):
        self.release()

    cdef void release(self) noexcept:
        cdef size_t k
        for k in range(self.n_views):
            if self.data[k]:
                PyBuffer_Release(&self.views[k])
        free(self.views)
        free(self.data)
        free(self.nbytes)
        self.views, self.data, self.nbytes, self.n_views = NULL, NULL, NULL, 0

    cdef int select(self, tasks, Py_ssize_t n) except -1:
        """Run `tasks` only (all where None), of which there must be n; reset what threads share."""
        cdef const int64_t[::1] chosen
        self.read.task = NULL
        self.read.n_task = self.n_task
        if tasks is not None:
            chosen = tasks
            self.read.n_task = chosen.shape[0]
            if chosen.shape[0]:
                if tasks.min() < 0 or tasks.max() >= self.n_task:
                    raise IndexError("a task that is not of this read")
                self.read.task = &chosen[0]
        if n >= 0 and <size_t>n != self.read.n_task:
            raise ValueError(f"{n} places for {self.read.n_task} chunks")
        zaro_read_prepare(&self.read)
        return 0

    def from_keys(self, int root, bytes prefix not None, str separator not None):
        """Chunks are files below the directory `root` (a handle), named prefix + indices."""
        self.select(None, -1)
        self.read.where.origin = ZARO_FROM_KEYS
        self.read.where.root = root
        self.read.where.prefix = prefix
        self.read.where.separator = ord(separator)
        self.where_kept = prefix

    def from_files(self, const int32_t[::1] file_id not None, const int64_t[::1] offset not None,
                   const int64_t[::1] length not None, PathTable paths not None,
                   const uint8_t[::1] inlined=None, tasks=None):
        """Chunks are spans of files (or of `inlined`), one row for each of `tasks`."""
        cdef Py_ssize_t n = file_id.shape[0]
        if offset.shape[0] != n or length.shape[0] != n:
            raise ValueError("columns differ in length")
        self.select(tasks, n)
        self.read.where.origin = ZARO_FROM_FILES
        self.read.where.n_inlined = 0
        if n:
            self.read.where.file, self.read.where.offset = &file_id[0], &offset[0]
            self.read.where.length = &length[0]
        self.read.where.path, self.read.where.n_file = paths.path, paths.n
        if inlined is not None and inlined.shape[0]:
            self.read.where.inlined, self.read.where.n_inlined = &inlined[0], inlined.shape[0]
        self.where_kept = (file_id, offset, length, paths, inlined, tasks)

    def from_memory(self, list buffers not None, tasks=None):
        """The stored bytes of chunks, one buffer (None = absent) for each of `tasks`."""
        cdef size_t n = len(buffers), k
        self.select(tasks, n)
        self.release()
        self.views = <Py_buffer *>calloc(max(n, 1), sizeof(Py_buffer))
        self.data = <const uint8_t **>calloc(max(n, 1), sizeof(uint8_t *))
        self.nbytes = <size_t *>calloc(max(n, 1), sizeof(size_t))
        if not self.views or not self.data or not self.nbytes:
            raise MemoryError()
        self.n_views = n
        for k in range(n):
            if buffers[k] is not None:
                PyObject_GetBuffer(buffers[k], &self.views[k], PyBUF_SIMPLE)
                # an empty buffer may have no address, but it is there
                self.data[k] = <const uint8_t *>self.views[k].buf if self.views[k].buf else <const uint8_t *>b""
                self.nbytes[k] = self.views[k].len
        self.read.where.origin = ZARO_FROM_MEMORY
        self.read.where.data, self.read.where.nbytes = self.data, self.nbytes
        self.where_kept = (buffers, tasks)

    def run(self, Worker worker not None):
        """Take part until no task is left, one failed, or `stop` was called."""
        cdef bint more = True
        worker.renew()
        worker.reserve(zaro_read_room(&self.read))
        zaro_worker_open(&worker.worker, worker.decoder.decoder, <uint8_t *>worker.room)
        try:
            while more:
                with nogil:
                    more = zaro_read_run(&self.read, &worker.worker, TASKS_PER_CALL)
                if more:
                    PyErr_CheckSignals()
        except BaseException:
            zaro_read_stop(&self.read)
            raise
        finally:
            zaro_worker_close(&worker.worker)

    def stop(self):
        """Ask every thread to stop after the chunk it is at."""
        zaro_read_stop(&self.read)

    @property
    def stored_most(self):
        """Bytes that the largest stored chunk may have."""
        return self.read.stored_most

    @property
    def absent(self):
        """Chunks that were absent so far."""
        return self.read.absent

    @property
    def error(self):
        """(status, position among the tasks, step of the chain, errno, bytes found), or None."""
        if self.read.error.status == ZARO_OK:
            return None
        return (<int>self.read.error.status, self.read.error.task, self.read.error.step, self.read.error.code,
                self.read.error.got)
