/* chunkindex.h - gather the chunk index of an HDF5 dataset into columns.
 *
 * HDF5 hands out its index one chunk at a time, through a callback. This is that callback: it turns
 * the position of each chunk into an id, and writes one row of four columns.
 * Source: HDF5 reference manual, H5Dchunk_iter and H5D_chunk_iter_op_t.
 */
#ifndef ZARO_CHUNKINDEX_H
#define ZARO_CHUNKINDEX_H

#include <stddef.h>
#include <stdint.h>

#include "zaro/grid.h"
#include "zaro/status.h"

typedef struct {
    size_t rank;                   /* at most ZARO_MAX_RANK */
    uint64_t chunk[ZARO_MAX_RANK]; /* elements of a chunk along each axis, at least 1 */
    uint64_t grid[ZARO_MAX_RANK];  /* chunks along each axis; their product fits an int64_t */
    size_t room;                   /* rows that the columns hold */
    size_t n;                      /* rows written so far */
    int64_t *id;                   /* [room] position in the grid, flattened in C order */
    int64_t *offset;               /* [room] bytes */
    int64_t *length;               /* [room] bytes */
    uint32_t *mask;                /* [room] bit k is set where filter k was left out */
    zaro_status status;            /* why the last call refused */
} zaro_chunkindex;

/* Take one chunk; what H5Dchunk_iter calls.
 *
 * at:   [rank] first element of the chunk along each axis.
 * sink: a zaro_chunkindex, whose columns the caller owns.
 *
 * Returns 0 to go on, -1 to stop with `status` set: ZARO_RANGE for a chunk outside the grid or off its
 * lines, ZARO_OVERFLOW for a span outside 63 bits, ZARO_LONG where the columns are full. O(rank).
 */
int zaro_chunkindex_take(const uint64_t *at, unsigned mask, uint64_t address, uint64_t nbytes, void *sink);

#endif
