/* stitch.h - copy a region of a block into a region of the output, or fill one.
 *
 * A region is up to ZARO_MAX_RANK axes of elements. Along a regular axis element k lies k strides
 * from the first; along a listed axis it lies at[k] strides from the base. Strides are bytes, of
 * any sign. Order F, transposition and negative steps are strides, nothing else.
 *
 * Trusts pointers, counts and strides: the plan made them from checked metadata, and every element
 * lies inside its buffer. Source and output must not overlap. Thread-safe, allocates nothing.
 */
#ifndef ZARO_STITCH_H
#define ZARO_STITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/grid.h"

typedef struct {
    int64_t count;         /* elements, at least 1 */
    int64_t src_stride;    /* bytes */
    int64_t dst_stride;    /* bytes */
    const int64_t *src_at; /* [count] NULL for a regular axis */
    const int64_t *dst_at; /* [count] NULL exactly where src_at is */
} zaro_walk;

/* Bring axes into their simplest form: axes of one element go (what a list says of it is added to
 * *src_shift and *dst_shift, bytes), axes run from the largest output stride to the smallest, and
 * regular neighbours that are contiguous in both become one. Returns the new rank (0 = one element). */
size_t zaro_stitch_simplify(size_t rank, zaro_walk *walk, int64_t *src_shift, int64_t *dst_shift);

/* True where simplified axes are one run of adjacent elements, first to last, in both. */
bool zaro_stitch_is_run(size_t rank, const zaro_walk *walk, size_t itemsize);

/* Copy the region. walk is as zaro_stitch_simplify left it. itemsize at least 1. */
void zaro_stitch_copy(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *src, uint8_t *dst);

/* True where the last simplified axis is a run, in both, of at least `least` elements: rows. */
bool zaro_stitch_has_rows(size_t rank, const zaro_walk *walk, size_t itemsize, int64_t least);

/* Copy a region that has rows out of a block whose bytes are shuffled: planes [itemsize][count], as filter.h has
 * them. first: the element of the block from which the walk begins. */
void zaro_stitch_unshuffle(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *planes, size_t count,
                           size_t first, uint8_t *dst);

/* Write `value` [itemsize] to every element of the output side; sources are not looked at. */
void zaro_stitch_fill(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *value, uint8_t *dst);

#endif
