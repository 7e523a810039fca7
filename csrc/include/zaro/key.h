/* key.h - from the key of a chunk to its id, and back.
 *
 * Below its array a chunk has a name: the indices of its position in the grid, joined by a separator ('.' or
 * '/'), behind "c" and the separator where the array is `prefixed` (Zarr v3's "default" encoding). A grid of
 * rank 0 has one chunk, named "c" or "0". Every chunk has one name: no signs, no leading zeros.
 * Source: Zarr core specification 3.0, "Chunk key encoding"; Zarr 2, "Chunks".
 *
 * A grid is [rank], rank at most ZARO_MAX_RANK, no extent negative, and the product of its extents, zeros
 * left out, fits 63 bits: that is trusted. Nothing here allocates or keeps state.
 */
#ifndef ZARO_KEY_H
#define ZARO_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/grid.h"

/* Read the indices of a name.
 *
 * p:       text that ends in a byte which no name has (a 0 or a quote), untrusted.
 * escaped: "\/" stands for "/", as in JSON.
 * id:      receives the id of the chunk.
 * Returns where the indices end, NULL where an index is missing, has a leading zero or lies outside
 * the grid. O(length), one pass. */
static inline const uint8_t *zaro_key_indices(const uint8_t *p, bool escaped, uint8_t separator, size_t rank,
                                              const int64_t *grid, int64_t *id) {
    int64_t flat = 0;
    for (size_t d = 0; d < rank; d++) {
        if (d) {
            if (escaped && separator == '/' && p[0] == '\\')
                p++;
            if (*p++ != separator)
                return NULL;
        }
        uint64_t index = (uint64_t)(*p - '0');
        if (index > 9)
            return NULL;
        const uint8_t *start = p++;
        for (uint8_t digit; (digit = (uint8_t)(*p - '0')) <= 9; p++) {
            if (p - start >= 19)
                return NULL;
            index = index * 10 + digit;
        }
        if ((*start == '0' && p - start > 1) || index >= (uint64_t)grid[d])
            return NULL;
        flat = flat * grid[d] + (int64_t)index; /* below the number of chunks, which fits */
    }
    *id = flat;
    return p;
}

/* Id of the chunk that a name [n] spells; name[n] must be a byte that no name has. False where it spells none. */
bool zaro_key_id(const uint8_t *name, size_t n, bool prefixed, uint8_t separator, size_t rank, const int64_t *grid,
                 int64_t *id);

/* Spell the name of a chunk: at most ZARO_KEY_NAME bytes; returns their number. Trusts the id to lie in the grid. */
#define ZARO_KEY_NAME (2 + 20 * ZARO_MAX_RANK)
size_t zaro_key_name(int64_t id, bool prefixed, uint8_t separator, size_t rank, const int64_t *grid, uint8_t *name);

#endif
