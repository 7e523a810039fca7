/* Any chunk index: a row that is taken is where its position says, one that is refused writes nothing. */
#include <stdlib.h>
#include <string.h>

#include "zaro/chunkindex.h"

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

static uint64_t take(input *in, size_t bytes) {
    uint64_t value = 0;
    bytes = bytes < in->left ? bytes : in->left;
    if (bytes)
        memcpy(&value, in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
    return value;
}

static void must(int holds) {
    if (!holds)
        abort();
}

/* Positions near the lines of the grid, and anything else now and then. */
static uint64_t position(input *in, uint64_t chunk, uint64_t grid) {
    uint64_t kind = take(in, 1);
    return kind < 200 ? take(in, 1) % (grid + 2) * chunk : kind < 230 ? take(in, 2) : take(in, 8);
}

static void check_row(const zaro_chunkindex *index, const uint64_t *at, size_t row) {
    int64_t left = index->id[row];
    for (size_t k = index->rank; k-- > 0;) {
        must((uint64_t)left % index->grid[k] * index->chunk[k] == at[k]);
        left /= (int64_t)index->grid[k];
    }
    must(left == 0 && index->offset[row] >= 0 && index->length[row] >= 0);
    must(index->offset[row] <= INT64_MAX - index->length[row]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    zaro_chunkindex index = {.rank = take(&in, 1) % (ZARO_MAX_RANK + 1), .room = take(&in, 1) % 32};
    uint64_t total = 1;
    for (size_t k = 0; k < index.rank; k++) {
        uint64_t chunk = take(&in, take(&in, 1) < 250 ? 1 : 8), most = (uint64_t)INT64_MAX / total;
        index.chunk[k] = chunk ? chunk : 1;
        index.grid[k] = 1 + take(&in, take(&in, 1) < 250 ? 1 : 8) % (most < 300 ? most : 300);
        total *= index.grid[k];
    }
    /* of their exact sizes, so that a write past them is seen */
    index.id = malloc(index.room * sizeof *index.id + 1);
    index.offset = malloc(index.room * sizeof *index.offset + 1);
    index.length = malloc(index.room * sizeof *index.length + 1);
    index.mask = malloc(index.room * sizeof *index.mask + 1);
    must(index.id && index.offset && index.length && index.mask);
    while (in.left) {
        uint64_t at[ZARO_MAX_RANK];
        for (size_t k = 0; k < index.rank; k++)
            at[k] = position(&in, index.chunk[k], index.grid[k]);
        size_t before = index.n;
        unsigned mask = (unsigned)take(&in, 1);
        uint64_t address = take(&in, take(&in, 1) < 200 ? 4 : 8), nbytes = take(&in, take(&in, 1) < 200 ? 4 : 8);
        if (zaro_chunkindex_take(at, mask, address, nbytes, &index) == 0) {
            must(index.n == before + 1 && index.n <= index.room);
            check_row(&index, at, before);
            must((uint64_t)index.offset[before] == address && (uint64_t)index.length[before] == nbytes);
            must(index.mask[before] == mask);
        } else {
            must(index.n == before && index.status != ZARO_OK);
        }
    }
    free(index.id);
    free(index.offset);
    free(index.length);
    free(index.mask);
    return 0;
}
