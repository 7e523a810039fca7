/* grid.h - multi-indices, and the chunks that a selection touches.
 *
 * Ids count chunks from 0 in C order of the grid: id = ((i0 * g1 + i1) * g2 + i2) ...
 * Source: Zarr core specification 3.0, "Regular grids".
 */
#ifndef ZARO_GRID_H
#define ZARO_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

#define ZARO_MAX_RANK 32

/* The part of one chunk that a selection takes along one axis: elements begin, begin + step, ...
 * of the chunk go to elements out, out + 1, ... of the output. */
typedef struct {
    int64_t chunk; /* position of the chunk in the grid, along this axis */
    int64_t size;  /* elements of the whole chunk along this axis */
    int64_t begin; /* element of the chunk, or (listed axis) first entry of the lists */
    int64_t step;  /* elements; negative for a selection that runs backwards */
    int64_t count; /* elements, at least 1 */
    int64_t out;   /* element of the output */
} zaro_segment;

/* id[k] = flat position of index[k] in a grid.
 * index: [n, rank] C order; grid: [rank]; id: [n].
 * at: receives the number of the first index outside the grid; untouched on ZARO_OK.
 * Returns ZARO_RANGE (also for a rank above ZARO_MAX_RANK) or ZARO_OVERFLOW. O(n * rank). */
zaro_status zaro_grid_ravel(size_t n, size_t rank, const int64_t *index, const int64_t *grid, int64_t *id, size_t *at);

/* The inverse. Returns ZARO_RANGE for an id outside the grid. */
zaro_status zaro_grid_unravel(size_t n, size_t rank, const int64_t *id, const int64_t *grid, int64_t *index,
                              size_t *at);

/* Number of chunks that elements start, start + step, ... (count of them) touch along one axis of
 * chunks of `chunk` elements. Trusts nothing: ZARO_RANGE for chunk < 1, count < 0, step == 0 with
 * count > 1, or an element outside [0, size). */
zaro_status zaro_grid_touched(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count, size_t *n);

/* The segments of that selection, in the order of the output. segment: [n] as zaro_grid_touched said.
 * Each chunk that is touched appears exactly once. */
zaro_status zaro_grid_cover(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count,
                            zaro_segment *segment, size_t n);

/* Ids of the chunks where segments of all axes cross, in C order: id[k] of segments (k0, k1, ...).
 * segment: [rank], of which axis d has n[d]; grid: [rank]; id: [product of n], at least one.
 * Trusts the pointers and n. Returns ZARO_RANGE for a chunk outside the grid, or a rank above
 * ZARO_MAX_RANK; ZARO_OVERFLOW for a grid of 2^63 chunks. O(product of n). */
zaro_status zaro_grid_cross(size_t rank, const zaro_segment *const *segment, const size_t *n, const int64_t *grid,
                            int64_t *id);

#endif
