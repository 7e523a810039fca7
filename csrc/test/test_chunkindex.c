#include "check.h"
#include "zaro/chunkindex.h"

enum { ROOM = 3 };
static int64_t id[ROOM], offset[ROOM], length[ROOM];
static uint32_t mask[ROOM];

static zaro_chunkindex fresh(void) {
    return (zaro_chunkindex){.rank = 2,
                             .chunk = {10, 4},
                             .grid = {3, 5},
                             .room = ROOM,
                             .id = id,
                             .offset = offset,
                             .length = length,
                             .mask = mask};
}

static void a_chunk_becomes_a_row(void) {
    zaro_chunkindex index = fresh();
    CHECK(zaro_chunkindex_take((uint64_t[]){20, 16}, 2, 4096, 100, &index) == 0);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 4}, 0, 0, 0, &index) == 0);
    CHECK(index.n == 2 && id[0] == 14 && offset[0] == 4096 && length[0] == 100 && mask[0] == 2);
    CHECK(id[1] == 1 && offset[1] == 0 && length[1] == 0 && mask[1] == 0);
}

static void what_does_not_fit_is_refused(void) {
    zaro_chunkindex index = fresh();
    CHECK(zaro_chunkindex_take((uint64_t[]){30, 0}, 0, 0, 0, &index) == -1 && index.status == ZARO_RANGE);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 20}, 0, 0, 0, &index) == -1 && index.status == ZARO_RANGE);
    CHECK(zaro_chunkindex_take((uint64_t[]){5, 0}, 0, 0, 0, &index) == -1 && index.status == ZARO_RANGE);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 0}, 0, UINT64_MAX, 0, &index) == -1);
    CHECK(index.status == ZARO_OVERFLOW);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 0}, 0, INT64_MAX, 1, &index) == -1);
    CHECK(index.status == ZARO_OVERFLOW && index.n == 0);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 0}, 0, INT64_MAX - 1, 1, &index) == 0);
}

static void full_columns_are_not_overrun(void) {
    zaro_chunkindex index = fresh();
    for (size_t k = 0; k < ROOM; k++)
        CHECK(zaro_chunkindex_take((uint64_t[]){0, 0}, 0, k, 1, &index) == 0);
    CHECK(zaro_chunkindex_take((uint64_t[]){0, 0}, 0, 9, 1, &index) == -1);
    CHECK(index.status == ZARO_LONG && index.n == ROOM);
}

int main(void) {
    a_chunk_becomes_a_row();
    what_does_not_fit_is_refused();
    full_columns_are_not_overrun();
    return 0;
}
