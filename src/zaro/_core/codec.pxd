"""Chains and decoders for kernels that decode (codec.h): they reach the C structs through these classes."""

from libc.stdint cimport uint8_t, uint32_t

from zaro._core.status cimport zaro_status

cdef extern from "<stdbool.h>" nogil:
    ctypedef bint bool_ "bool"

cdef extern from "zaro/codec.h" nogil:
    ctypedef enum zaro_step_kind:
        ZARO_STEP_BLOSC
        ZARO_STEP_KINDS
    ctypedef struct zaro_type:
        char kind
        uint8_t width
        bool_ big
    ctypedef struct zaro_step:
        zaro_step_kind kind
        uint32_t width
        zaro_type source "from"
        zaro_type target "to"
        double scale
        double offset
    ctypedef struct zaro_chain:
        const zaro_step *step
        size_t n
    ctypedef struct zaro_libraries:
        pass
    ctypedef struct zaro_decoder:
        pass
    enum:
        ZARO_MAX_STEPS
    zaro_status zaro_libraries_load(const char *path, const zaro_libraries *known, const zaro_libraries **out)
    const char *zaro_codec_provider(zaro_step_kind kind, const zaro_libraries *libraries)
    zaro_decoder *zaro_decoder_new(const zaro_libraries *libraries)
    void zaro_decoder_free(zaro_decoder *decoder)
    zaro_status zaro_chain_sizes(const zaro_chain *chain, size_t decoded, size_t *stored, size_t *scratch,
                                 bool_ *exact)
    zaro_status zaro_chain_decode(const zaro_chain *chain, zaro_decoder *decoder, const uint8_t *input, size_t n,
                                  uint8_t *out, size_t decoded, uint8_t *scratch, size_t *step)

cdef class Chain:
    cdef zaro_chain chain         # for kernels; lives as long as this object
    cdef zaro_step *memory
    cdef readonly tuple steps     # ((name, parameters), ...) in the order of decoding

cdef class Decoder:
    cdef zaro_decoder *decoder    # for kernels; one thread at a time

cdef const zaro_libraries *loaded() noexcept nogil
