# cython: language_level=3, boundscheck=False, wraparound=False
# cython: freethreading_compatible=True
"""From the stored bytes of a chunk to its values (codec.h)."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free

import os

import numpy as np

from zaro._core.reason import REASON
from zaro._core.status cimport ZARO_MEMORY, ZARO_OK, zaro_status
from zaro.errors import CorruptChunkError

# Names of zaro_step_kind, in its order.
STEPS = (
    "blosc", "zstd", "lz4", "zlib", "gzip",
    "crc32c", "crc32c_start", "crc32_start", "crc32_end", "adler32_start", "adler32_end", "fletcher32",
    "shuffle", "swap", "delta", "scale", "astype",
)
assert len(STEPS) == ZARO_STEP_KINDS

cdef const zaro_libraries *_libraries = NULL


cdef const zaro_libraries *loaded() noexcept nogil:
    return _libraries


def load(path):
    """Use what the library at `path` decodes, and none did so far, for every decoder made from now on.

    False where there is nothing. Raises FileNotFoundError where there is no such library.
    """
    global _libraries
    cdef const zaro_libraries *found = NULL
    cdef const zaro_libraries *known = _libraries
    name = os.fsencode(path)
    cdef const char *text = name
    cdef zaro_status status
    with nogil:
        status = zaro_libraries_load(text, known, &found)
    if status == ZARO_MEMORY:
        raise MemoryError
    if status == ZARO_OK:
        _libraries = found
        return True
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: no such library")
    return False


def providers():
    """Who serves each step: name and version, or None."""
    cdef const char *text
    served = {}
    for kind, name in enumerate(STEPS):
        text = zaro_codec_provider(<zaro_step_kind>(<int>kind), _libraries)
        served[name] = None if text is NULL else text.decode()
    return served


cdef void _read_type(zaro_type *into, dtype) except *:
    dtype = np.dtype(dtype)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"a number of 1 to 8 bytes is wanted, not {dtype.str}")
    into.kind = ord(dtype.kind)
    into.width = dtype.itemsize
    into.big = dtype.str[0] == ">"


cdef class Chain:
    """Decoding steps that run in C.

    Parameters
    ----------
    steps : sequence of (name, parameters)
        In the order of decoding. Names are those of `STEPS`; parameters are `width` (shuffle, swap), `source`
        and `target` data types (delta, scale, astype), `scale` and `offset` (scale).
    """

    def __cinit__(self, steps=()):
        cdef size_t k
        self.memory = NULL
        self.steps = tuple((str(name), dict(parameters)) for name, parameters in steps)
        if len(self.steps) > ZARO_MAX_STEPS:
            raise ValueError(f"{len(self.steps)} steps in a chain of at most {ZARO_MAX_STEPS}")
        self.memory = <zaro_step *>calloc(len(self.steps) or 1, sizeof(zaro_step))
        if self.memory is NULL:
            raise MemoryError
        for k, (name, parameters) in enumerate(self.steps):
            _fill(&self.memory[k], name, parameters)
        self.chain.step = self.memory
        self.chain.n = len(self.steps)

    def __dealloc__(self):
        free(self.memory)

    def __reduce__(self):
        return Chain, (self.steps,)

    def __repr__(self):
        return f"Chain({list(self.steps)!r})"

    def __len__(self):
        return len(self.steps)

    def sizes(self, size_t nbytes):
        """Most stored bytes, bytes of scratch, and whether every stored chunk has exactly that many bytes."""
        cdef size_t stored = 0, scratch = 0
        cdef bool_ exact = False
        cdef zaro_status status = zaro_chain_sizes(&self.chain, nbytes, &stored, &scratch, &exact)
        if status != ZARO_OK:
            raise ValueError(f"{self!r} for {nbytes} bytes: {REASON[status]}")
        return stored, scratch, bool(exact)

    def decode(self, const uint8_t[::1] data not None, size_t nbytes, Decoder decoder=None):
        """The `nbytes` bytes of the block that `data` holds, as an array of uint8.

        Raises CorruptChunkError naming the step. One thread at a time may use one decoder.
        """
        out = np.empty(nbytes, np.uint8)
        room = np.empty(self.sizes(nbytes)[1], np.uint8)
        cdef uint8_t[::1] out_view = out, room_view = room
        cdef const uint8_t *start = &data[0] if data.shape[0] else NULL
        cdef uint8_t *out_start = &out_view[0] if nbytes else NULL
        cdef uint8_t *scratch = &room_view[0] if room_view.shape[0] else NULL
        cdef size_t n = data.shape[0], step = 0
        cdef zaro_status status
        if decoder is None:
            decoder = Decoder()
        with nogil:
            status = zaro_chain_decode(&self.chain, decoder.decoder, start, n, out_start, nbytes, scratch, &step)
        if status == ZARO_MEMORY:
            raise MemoryError
        if status != ZARO_OK:
            where = f"{self.steps[step][0]}: " if self.steps else ""
            raise CorruptChunkError(f"{where}{REASON[status]} ({n} stored bytes for a block of {nbytes})")
        return out


cdef void _fill(zaro_step *step, name, parameters) except *:
    if name not in STEPS:
        raise ValueError(f"no step is called {name!r}")
    unknown = set(parameters) - {"width", "source", "target", "scale", "offset"}
    if unknown:
        raise ValueError(f"a step has no parameter {min(unknown)!r}")
    step.kind = <zaro_step_kind>(<int>STEPS.index(name))
    step.width = parameters.get("width", 0)
    step.scale, step.offset = parameters.get("scale", 1.0), parameters.get("offset", 0.0)
    if "source" in parameters:
        _read_type(&step.source, parameters["source"])
    if "target" in parameters:
        _read_type(&step.target, parameters["target"])


cdef class Decoder:
    """The decoding contexts of one worker; one thread at a time may use it."""

    def __cinit__(self):
        self.decoder = zaro_decoder_new(_libraries)
        if self.decoder is NULL:
            raise MemoryError

    def __dealloc__(self):
        zaro_decoder_free(self.decoder)
