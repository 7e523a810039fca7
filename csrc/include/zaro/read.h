/* read.h - run a planned read: for every chunk open, fetch, decode, stitch, without Python.
 *
 * A read is a grid of tasks, one for each chunk that the selection touches: the product of the
 * segments of its axes, in C order. Any number of threads run one read together, each with a
 * worker of its own; they share the tasks among them and stop together at the first error.
 *
 * What is trusted: the plan (axes, output, chain), which Python made from checked metadata.
 * What is not: spans, paths, inline bytes, files and everything in them.
 */
#ifndef ZARO_READ_H
#define ZARO_READ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/codec.h"
#include "zaro/grid.h"
#include "zaro/status.h"

/* One axis of the array, and what the selection takes along it. */
typedef struct {
    const zaro_segment *segment; /* [n] chunks touched, each once */
    size_t n;
    const int64_t *source; /* listed axis: element of its chunk, for each selected element; else NULL */
    const int64_t *target; /* listed axis: element of the output; NULL exactly where source is */
    int64_t out_stride;    /* bytes from one element of the output to the next; 0 for an axis that is dropped */
} zaro_axis;

/* Elements picked one by one, instead of axes: task k copies elements [begin[k], begin[k+1]). */
typedef struct {
    const int64_t *begin;  /* [n_task + 1] NULL: the read goes by axes */
    const int64_t *index;  /* [n_task, rank] the chunk of each task; needed for ZARO_FROM_KEYS only, else NULL */
    const int64_t *source; /* element of the stored block, flat */
    const int64_t *target; /* element of the output, flat; the output is contiguous */
    size_t block;          /* elements of a block */
} zaro_points;

typedef enum {
    ZARO_FROM_MEMORY, /* bytes that are here already */
    ZARO_FROM_FILES,  /* spans of files */
    ZARO_FROM_KEYS    /* one file for each chunk, named by its index below a directory; no file = absent */
} zaro_origin;

typedef struct {
    zaro_origin origin;
    /* MEMORY: [n_task] NULL = absent */
    const uint8_t *const *data;
    const size_t *nbytes;
    /* FILES: [n_task] file -1 = absent, -2 = inline; length -1 = the whole file */
    const int32_t *file;
    const int64_t *offset, *length;
    const char *const *path; /* [n_file] */
    size_t n_file;
    const uint8_t *inlined; /* [n_inlined] */
    size_t n_inlined;
    /* KEYS: directory handle, what stands before the indices, what stands between */
    int root;
    const char *prefix;
    char separator;
} zaro_where;

typedef struct {
    zaro_status status;
    size_t task;
    size_t step; /* of the chain, for a decoder's error */
    int code;    /* errno, for ZARO_IO and ZARO_MISSING */
    int64_t got; /* bytes that were there, -1 where unknown */
} zaro_read_error;

typedef struct {
    size_t rank;
    zaro_axis axis[ZARO_MAX_RANK];
    size_t order[ZARO_MAX_RANK]; /* axis k of the stored block is array axis order[k] */
    zaro_points points;
    size_t itemsize;
    uint8_t *out;        /* the output's element 0 along every axis */
    const uint8_t *fill; /* [itemsize] what an absent chunk holds */
    bool absent_is_error;
    const zaro_chain *chain;
    zaro_where where;
    size_t n_task;
    const int64_t *task; /* [n_task] the tasks to run, by number in the grid; NULL: all. Indexes of `where` count along
                            this list */

    /* set by zaro_read_prepare */
    size_t block_most;  /* bytes of the largest block */
    size_t stored_most; /* bytes that the largest stored chunk may have */
    size_t scratch;
    size_t claim; /* tasks that a worker takes at a time */

    /* shared while it runs */
    atomic_size_t next;
    atomic_int stop;
    atomic_size_t absent;  /* chunks that were absent so far */
    zaro_read_error error; /* written once, by whoever set stop to 2 */
} zaro_read;

#define ZARO_OPEN_FILES 8

/* One thread's part: contexts, room to work in, and the files it has open. */
typedef struct {
    zaro_decoder *decoder;
    uint8_t *room; /* at least zaro_read_room bytes, 64-byte aligned */
    int fd[ZARO_OPEN_FILES];
    int32_t file[ZARO_OPEN_FILES]; /* -1 = free */
} zaro_worker;

/* Work out sizes and reset the shared state. Returns ZARO_OVERFLOW, ZARO_RANGE. */
zaro_status zaro_read_prepare(zaro_read *read);

/* Bytes of room that each worker needs. */
size_t zaro_read_room(const zaro_read *read);

/* Run about `most` tasks at the most. True while there are more and nothing failed or stopped.
 * After the last call zaro_worker_close must be called. */
bool zaro_read_run(zaro_read *read, zaro_worker *worker, size_t most);

void zaro_worker_open(zaro_worker *worker, zaro_decoder *decoder, uint8_t *room);
void zaro_worker_close(zaro_worker *worker);

/* Ask all workers to stop after the chunk they are at. */
void zaro_read_stop(zaro_read *read);

/* Position in the chunk grid [rank] of a task. */
void zaro_read_index(const zaro_read *read, size_t task, int64_t *index);

#endif
