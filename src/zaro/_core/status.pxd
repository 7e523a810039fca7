"""What kernels answer (status.h), and the one table from answer to sentence."""

cdef extern from "zaro/status.h" nogil:
    ctypedef enum zaro_status:
        ZARO_OK
        ZARO_OVERFLOW
        ZARO_RANGE
        ZARO_ORDER
        ZARO_MEMORY
        ZARO_SHORT
        ZARO_LONG
        ZARO_HEADER
        ZARO_CORRUPT
        ZARO_CHECKSUM
        ZARO_MISSING
        ZARO_IO
        ZARO_ABSENT_CHUNK
        ZARO_UNSUPPORTED
        ZARO_STOPPED
