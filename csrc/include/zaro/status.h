/* status.h - what a kernel answers. One list for all kernels, one table of sentences in Python. */
#ifndef ZARO_STATUS_H
#define ZARO_STATUS_H

typedef enum {
    ZARO_OK = 0,
    ZARO_OVERFLOW,     /* a sum or product leaves the range of its type */
    ZARO_RANGE,        /* a value lies outside what its contract allows */
    ZARO_ORDER,        /* values that must ascend do not */
    ZARO_MEMORY,       /* memory could not be had */
    ZARO_SHORT,        /* fewer bytes than promised */
    ZARO_LONG,         /* more bytes than promised */
    ZARO_HEADER,       /* a header promises what metadata or buffer cannot hold */
    ZARO_CORRUPT,      /* a decoder refuses the bytes */
    ZARO_CHECKSUM,     /* a checksum does not match */
    ZARO_MISSING,      /* a file that must exist does not */
    ZARO_IO,           /* the system refuses; errno tells why */
    ZARO_ABSENT_CHUNK, /* an absent chunk, where the caller asked to be told */
    ZARO_UNSUPPORTED,  /* not built in: a library or a variant is not there */
    ZARO_STOPPED       /* the caller asked to stop */
} zaro_status;

#endif
