/* shard.h - chunks inside shards: which shard holds each, and which bytes of it.
 *
 * Inner chunks count from 0 in C order over the whole array, shards in C order of their grid, and
 * the inner chunks of one shard in C order within it.
 * Source: Zarr codec specification, "Sharding codec" (version 1.0).
 */
#ifndef ZARO_SHARD_H
#define ZARO_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

/* Neighbours along one axis that have equally many inner chunks. */
typedef struct {
    int64_t begin; /* position of the first inner chunk along the axis */
    int64_t shard; /* position of the first shard */
    int64_t size;  /* inner chunks of each shard, at least 1 */
} zaro_shard_run;

typedef struct {
    int64_t chunks; /* inner chunks of the array */
    int64_t shards;
    size_t n; /* runs; none where there are no chunks */
    const zaro_shard_run *run;
} zaro_shard_axis;

/* Shard of each inner chunk, and position of the chunk in it.
 * id, shard, within: [n]; axis: [rank], whose runs ascend by `begin`, the first from 0.
 * at: receives the number of the first bad id; untouched on ZARO_OK.
 * Trusts the axes: that their runs are of `shards` shards, and that no product of chunks wraps. Returns
 * ZARO_RANGE for an id outside the grid. O(n * rank), times the logarithm of the runs. */
zaro_status zaro_shard_place(size_t n, size_t rank, const zaro_shard_axis *axis, const int64_t *id, int64_t *shard,
                             int64_t *within, size_t *at);

/* The shards that n inner chunks lie in, each once, and which of them is whose.
 * shard: [n] as zaro_shard_place gives them; touched, row: [n] of which n_touched, and n, are filled in.
 * Returns ZARO_ORDER for shards that do not ascend, and leaves them to who can sort. O(n). */
zaro_status zaro_shard_group(size_t n, const int64_t *shard, int64_t *touched, int64_t *row, size_t *n_touched);

/* What an index says of one inner chunk; both 2^64-1 for one that is absent. */
typedef struct {
    uint64_t offset, nbytes;
} zaro_shard_entry;

/* Where shards lie: file, and span in bytes, whose length is below 0 where it is not known. */
typedef struct {
    const int32_t *file;
    const int64_t *offset, *length;
} zaro_shard_spans;

/* Spans of those of n inner chunks that lie in shards first to first + m - 1.
 * row, within: [n] number of the shard (>= 0), and position in it.
 * entry: [m, most] the indices of these shards; outer: of all shards.
 * file, offset, length: [n] receive the spans; file is `absent` and the others 0 for an absent chunk.
 * at: receives the number of the first bad chunk; untouched on ZARO_OK.
 * Trusts the pointers and the rows. Returns ZARO_RANGE for a position that is none of the index, or bytes
 * outside of the shard; of one whose length is not known, beyond 2^62. ZARO_OVERFLOW for a span that begins
 * past 2^63 of the file. O(n). */
zaro_status zaro_shard_locate(size_t n, const int64_t *row, const int64_t *within, int64_t first, int64_t m,
                              int64_t most, const zaro_shard_entry *entry, const zaro_shard_spans *outer,
                              int32_t absent, int32_t *file, int64_t *offset, int64_t *length, size_t *at);

#endif
