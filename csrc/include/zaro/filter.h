/* filter.h - steps that move or change bytes and never their meaning: unshuffle and byte swap.
 *
 * Trust the pointers and sizes; every value of the bytes is fine. Cost O(n); no memory, no state.
 */
#ifndef ZARO_FILTER_H
#define ZARO_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* Undo the byte shuffle of HDF5 and numcodecs: in holds the first bytes of all elements, then all
 * second bytes, ...; out receives the elements. width: bytes of an element, at least 1. The last
 * n % width bytes are no element and are copied as they are, as HDF5 does.
 * in, out: [n] bytes that do not overlap. */
void zaro_unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t width);

/* The same for elements first .. first + n - 1 of the `count` that `in` [count * width] holds, to out [n * width]. */
void zaro_unshuffle_part(const uint8_t *in, size_t count, size_t first, size_t n, uint8_t *out, size_t width);

/* Reverse the bytes of every element of `width` bytes. in and out [n] are either the same or do not
 * overlap; the last n % width bytes are copied. */
void zaro_swap(const uint8_t *in, uint8_t *out, size_t n, size_t width);

/* The plain loop, for the tests: zaro_unshuffle has vectors for widths 2, 4, 8 and 16 (SSE2). */
void zaro_unshuffle_plain(const uint8_t *in, uint8_t *out, size_t n, size_t width);

#endif
