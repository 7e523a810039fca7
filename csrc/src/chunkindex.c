#include "zaro/chunkindex.h"

static int refuse(zaro_chunkindex *index, zaro_status status) {
    index->status = status;
    return -1;
}

int zaro_chunkindex_take(const uint64_t *at, unsigned mask, uint64_t address, uint64_t nbytes, void *sink) {
    zaro_chunkindex *index = sink;
    uint64_t id = 0;
    if (index->n >= index->room)
        return refuse(index, ZARO_LONG);
    for (size_t d = 0; d < index->rank; d++) {
        uint64_t position = at[d] / index->chunk[d];
        if (position >= index->grid[d] || position * index->chunk[d] != at[d])
            return refuse(index, ZARO_RANGE);
        id = id * index->grid[d] + position; /* below the product of the grid, which fits */
    }
    if (address > INT64_MAX || nbytes > (uint64_t)INT64_MAX - address)
        return refuse(index, ZARO_OVERFLOW);
    index->id[index->n] = (int64_t)id;
    index->offset[index->n] = (int64_t)address;
    index->length[index->n] = (int64_t)nbytes;
    index->mask[index->n] = (uint32_t)mask;
    index->n++;
    return 0;
}
