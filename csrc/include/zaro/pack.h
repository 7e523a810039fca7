/* pack.h - from the spans of chunks to a generator: what is regular, and what is an exception.
 *
 * The inverse of generator.h, in its words. Chunks that no generator can hold (absent, inline,
 * whole files) are given as file -1 and come out as absent.
 *
 * Source: D. Westwood, "Experiments with Kerchunk" (2023), "Custom Generator Syntax".
 * Nothing here allocates, keeps state or touches Python: any number of threads may call at once.
 */
#ifndef ZARO_PACK_H
#define ZARO_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

/* The chunks of one variable, by id. */
typedef struct {
    const int32_t *file;   /* [chunks] file id; negative where there is nothing to pack */
    const int64_t *offset; /* [chunks] bytes */
    const int64_t *length; /* [chunks] bytes; negative (a whole file) where there is nothing to pack */
} zaro_pack_column;

/* What is packed: all variables of one generator. */
typedef struct {
    const zaro_pack_column *column; /* [variables] */
    int64_t variables;              /* at least 1 */
    int64_t chunks;                 /* of each; variables * chunks fits 63 bits */
    bool varwise;                   /* order of the flat index, see generator.h */
} zaro_pack_source;

/* The lists of a generator. For zaro_pack_count the arrays are NULL, and the sizes come out. */
typedef struct {
    int64_t start;
    int64_t *unique_id, *unique_length; /* [n_unique] */
    size_t n_unique;
    int64_t *gap_id, *gap; /* [n_gap] */
    size_t n_gap;
    int64_t *absent_id; /* [n_absent] */
    size_t n_absent;
    int64_t *last; /* [n_runs] */
    int32_t *file; /* [n_runs] */
    size_t n_runs;
} zaro_packed;

/* The length that occurs most among the chunks of one variable; of several, the least; 0 if there are none.
 *
 * key, times: [capacity] workspace, a power of 2. ZARO_MEMORY where more than half as many different
 * lengths occur: call again with more (twice the number of chunks always suffices). O(chunks). */
zaro_status zaro_pack_modal(const zaro_pack_column *column, int64_t chunks, int64_t *key, int64_t *times,
                            size_t capacity, int64_t *modal);

/* Count the exceptions that a generator with these regular lengths would have.
 *
 * length: [variables] bytes.
 * at:     receives the flat index of the first chunk with a negative offset (ZARO_RANGE) or an end
 *         beyond 64 bits (ZARO_OVERFLOW); untouched on ZARO_OK. O(variables * chunks). */
zaro_status zaro_pack_count(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed, int64_t *at);

/* Write them: arrays and sizes as zaro_pack_count said, else ZARO_RANGE and nothing is written beyond them. */
zaro_status zaro_pack_fill(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed, int64_t *at);

#endif
