/* intlist.h - long lists of integers in JSON text, read and written without an object for each.
 *
 * A generator document is mostly `"ids": [4, 9, ...]` and, for absent chunks,
 * `"skipchunks": {"0.0.5": [1, 0, 0], ...}`. zaro_intlist_next finds the long ones, so that a
 * reader can parse them here, cut them out, and hand the short rest to an ordinary JSON parser.
 *
 * Nothing here allocates, keeps state or touches Python: any number of threads may call at once.
 */
#ifndef ZARO_INTLIST_H
#define ZARO_INTLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

typedef enum {
    ZARO_CUT_INTEGERS = 0, /* [1, -2, 3] */
    ZARO_CUT_FLAGS,        /* {"0.0.5": [1, 0, 0], "0.1.2": [0, 0, 1]} as the value of "skipchunks" */
    ZARO_CUT_BASE64        /* "base64:..." without an escape, for zaro_base64_decode */
} zaro_cut_kind;

/* A piece of text that zaro_intlist_parse or zaro_intlist_parse_flags may take. */
typedef struct {
    size_t begin, end; /* bytes of the text; brackets, braces or quotes included */
    zaro_cut_kind kind;
    size_t count;       /* integers, or entries; of BASE64 none */
    size_t rank, flags; /* FLAGS: indices of each key, flags of each entry */
} zaro_cut;

/* Find the next piece of `text` [n] from byte *at on that is the value of a member and spans at least
 * `least` bytes; *at moves past it. False at the end of the text. Other strings are stepped over. A piece of INTEGERS
 * only looks like one: parsing decides; FLAGS are sure to parse. O(n) over all calls for one text. */
bool zaro_intlist_next(const uint8_t *text, size_t n, size_t least, size_t *at, zaro_cut *cut);

/* Parse what stands between the brackets of a list: `text` [n] to value [count].
 * Returns ZARO_UNSUPPORTED for anything that is not an integer of JSON's grammar, ZARO_OVERFLOW for one
 * beyond 64 bits, ZARO_RANGE where there are not exactly `count`. at: receives the byte. O(n). */
zaro_status zaro_intlist_parse(const uint8_t *text, size_t n, int64_t *value, size_t count, size_t *at);

/* Parse a piece of FLAGS, braces included: index [count, rank], flag [count, flags], each 0 or 1.
 * Returns ZARO_UNSUPPORTED or ZARO_RANGE where the text is not what zaro_intlist_next said. */
zaro_status zaro_intlist_parse_flags(const uint8_t *text, size_t n, size_t count, size_t rank, size_t flags,
                                     int64_t *index, uint8_t *flag);

/* Sum first differences up: value[k] = difference[0] + ... + difference[k], modulo 2^64.
 * difference: [n] signed little-endian integers of `width` (1, 2, 4 or 8) bytes, unaligned; else ZARO_RANGE. */
zaro_status zaro_intlist_sum(const void *difference, size_t width, size_t n, int64_t *value);

/* Bytes of the text of value [n], commas between, no spaces. */
size_t zaro_intlist_size(const int64_t *value, size_t n);

/* Write that text: exactly zaro_intlist_size bytes. */
void zaro_intlist_write(const int64_t *value, size_t n, uint8_t *text);

/* Bytes of the text of n entries `"0.0.5":[1,0,0]`, commas between, no braces. index [n, rank], none
 * negative; no index at all gives the key `0`. */
size_t zaro_intlist_flags_size(const int64_t *index, size_t n, size_t rank, size_t flags);

/* Write that text: exactly zaro_intlist_flags_size bytes. flag [n, flags], each 0 or 1. */
void zaro_intlist_write_flags(const int64_t *index, const uint8_t *flag, size_t n, size_t rank, size_t flags,
                              uint8_t *text);

#endif
