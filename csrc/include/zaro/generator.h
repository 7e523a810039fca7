/* generator.h - compact generators: byte spans of chunks from a common length and its exceptions.
 *
 * A generator describes N = variables * chunks spans in one row, the flat order. Flat index of
 * chunk c (C order of the grid) of variable v:
 *
 *     varwise:      i = c * variables + v       every variable in turn at each chunk position
 *     otherwise:    i = v * chunks + c          all chunks of one variable, then the next
 *
 *     size(i)   = 0 if absent, else the exception at i, else length[v(i)]
 *     offset(0) = start + gap(0)
 *     offset(i) = offset(i-1) + size(i-1) + gap(i)
 *
 * An index keeps the exceptions alone: offset(i) = start + regular bytes before i + shift, where
 * shift changes at exceptions only. It is built in O(exceptions); nothing is proportional to N.
 *
 * Source: D. Westwood, "Experiments with Kerchunk" (2023), "Custom Generator Syntax".
 * Nothing here allocates, keeps state or touches Python: any number of threads may call at once.
 */
#ifndef ZARO_GENERATOR_H
#define ZARO_GENERATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

/* The regular part. */
typedef struct {
    int64_t variables;     /* V, at least 1 */
    int64_t chunks;        /* C, chunks of one variable, at least 0; V * C fits 63 bits */
    const int64_t *length; /* [V] bytes of a regular chunk, none negative */
    int64_t *before;       /* [V + 1] sums of length[0 .. v); zaro_generator_build fills them */
    int64_t start;         /* bytes */
    bool varwise;
} zaro_generator;

/* The exceptions, as a document lists them: each list of flat indices strictly ascending. */
typedef struct {
    const int64_t *unique_id;     /* [n_unique] */
    const int64_t *unique_length; /* [n_unique] bytes, none negative */
    size_t n_unique;
    const int64_t *gap_id; /* [n_gap] */
    const int64_t *gap;    /* [n_gap] bytes before the chunk, signed */
    size_t n_gap;
    const int64_t *absent_id; /* [n_absent] */
    size_t n_absent;
} zaro_exceptions;

/* The exceptions merged: one row for each flat index that any list names. */
typedef struct {
    int64_t *id;     /* [n] flat index, strictly ascending */
    int64_t *size;   /* [n] bytes of that chunk; -1 where it is absent */
    uint64_t *shift; /* [n] bytes to add, modulo 2^64, to start + regular bytes, for the chunks AFTER id */
    size_t n;
} zaro_generator_index;

/* The files, as runs: chunks up to and with last[k] lie in file[k]. */
typedef struct {
    const int64_t *last; /* [n] flat index, strictly ascending; the final one at least N - 1 */
    const int32_t *file; /* [n] file id */
    size_t n;
} zaro_runs;

/* Which part of a generator a fault lies in. */
typedef enum {
    ZARO_FIELD_NONE = 0,
    ZARO_FIELD_DIMS,
    ZARO_FIELD_START,
    ZARO_FIELD_LENGTHS,
    ZARO_FIELD_UNIQUE_IDS,
    ZARO_FIELD_UNIQUE_LENGTHS,
    ZARO_FIELD_GAP_IDS,
    ZARO_FIELD_GAPS,
    ZARO_FIELD_ABSENT,
    ZARO_FIELD_FILES
} zaro_generator_field;

typedef struct {
    zaro_generator_field field;
    int64_t at; /* flat index; or position in `length` (LENGTHS) or `last` (FILES) */
} zaro_generator_fault;

/* Build the index, and prove every offset.
 *
 * index:  index->n rows of room in its three arrays; receives how many are filled. As many rows as
 *         the three lists have entries always suffice. ZARO_MEMORY where they do not.
 * fault:  receives where it failed; untouched on ZARO_OK.
 *
 * Checks every value. On ZARO_OK every chunk that exists has 0 <= offset and offset + size <=
 * INT64_MAX (regular chunks between two exceptions ascend, so the ends of each such run are all
 * that is tested). Returns ZARO_RANGE (an index outside [0, N), a negative size or offset),
 * ZARO_ORDER (a list that does not ascend) or ZARO_OVERFLOW (also where the lengths of all variables
 * together do). O(V + exceptions).
 */
zaro_status zaro_generator_build(const zaro_generator *gen, const zaro_exceptions *ex, zaro_generator_index *index,
                                 zaro_generator_fault *fault);

/* Check runs against N: ZARO_ORDER where `last` does not ascend, ZARO_RANGE where it is negative, ends
 * before N - 1 or goes beyond N, or a file id is not in [0, files). O(n). */
zaro_status zaro_generator_check_runs(const zaro_generator *gen, const zaro_runs *runs, int32_t files,
                                      zaro_generator_fault *fault);

/* Spans of the flat indices first .. first + count - 1, in one pass.
 *
 * file, offset, length: [count], owned by the caller. An absent chunk gets file -1, offset and length 0.
 * Trusts gen, index and runs that the two functions above accepted. Returns ZARO_RANGE for
 * indices outside [0, N). O(count + log exceptions); no test per chunk.
 */
zaro_status zaro_generator_expand(const zaro_generator *gen, const zaro_generator_index *index, const zaro_runs *runs,
                                  int64_t first, size_t count, int32_t *file, int64_t *offset, int64_t *length);

/* Spans of chosen chunks of one variable.
 *
 * chunk: [count] ids in C order of the grid, any order, repeats allowed.
 * at:    receives the number of the first id outside [0, chunks) (then ZARO_RANGE).
 * Outputs and trust as above. O(log exceptions) each; amortised O(1) where ids ascend.
 */
zaro_status zaro_generator_locate(const zaro_generator *gen, const zaro_generator_index *index, const zaro_runs *runs,
                                  int64_t variable, const int64_t *chunk, size_t count, int32_t *file, int64_t *offset,
                                  int64_t *length, size_t *at);

#endif
