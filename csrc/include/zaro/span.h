/* span.h - merge byte spans into requests.
 *
 * A request is one read that serves one or more spans of one file: spans that overlap, touch or
 * lie at most `gap` bytes apart, as long as the whole is no longer than `cap`.
 */
#ifndef ZARO_SPAN_H
#define ZARO_SPAN_H

#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

/* Merge n spans.
 *
 * file, offset, length: [n] the spans; file at least 0, offset and length in bytes, length -1 for
 *                       the whole file.
 * order:    [n] numbers of the spans, by ascending (file, offset); NULL: they ascend already.
 * gap, cap: bytes, at least 0. A span that is longer than cap makes a longer request.
 * begin:    [n + 1] receives, for each request, the position (in order) of its first span; then n.
 * start, nbytes: [n] receive the span of each request; nbytes -1 for the whole file.
 * n_request: receives how many there are; their file is that of any of their spans.
 * at:       receives the number of the first bad span; untouched on ZARO_OK.
 *
 * Whole files are merged with whole files only. Trusts the pointers and n. Returns ZARO_RANGE for a
 * file, offset or length that is none, or an order that names no span; ZARO_OVERFLOW for a span
 * that ends past 2^63; ZARO_ORDER for spans that do not ascend. O(n), no memory of its own. */
zaro_status zaro_span_merge(size_t n, const int32_t *file, const int64_t *offset, const int64_t *length,
                            const int64_t *order, int64_t gap, int64_t cap, int64_t *begin, int64_t *start,
                            int64_t *nbytes, size_t *n_request, size_t *at);

#endif
