#include <string.h>

#include "check.h"
#include "zaro/stitch.h"

enum { SIDE = 6, MOST = 16 };

/* The slow twin: one element at a time, no merging, no order. */
static void slow_copy(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *src, uint8_t *dst) {
    if (rank == 0) {
        memcpy(dst, src, itemsize);
        return;
    }
    for (int64_t k = 0; k < walk->count; k++) {
        int64_t from = walk->src_at ? walk->src_at[k] : k, to = walk->dst_at ? walk->dst_at[k] : k;
        slow_copy(rank - 1, walk + 1, itemsize, src + from * walk->src_stride, dst + to * walk->dst_stride);
    }
}

static uint64_t state = 88172645463325252u;
static int64_t draw(int64_t n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int64_t)(state % (uint64_t)n);
}

static void random_regions_agree_with_the_slow_twin(void) {
    static uint8_t src[SIDE * SIDE * SIDE * MOST], found[sizeof src], expected[sizeof src], value[MOST];
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16};
    for (size_t k = 0; k < sizeof src; k++)
        src[k] = (uint8_t)draw(256);
    for (int round = 0; round < 20000; round++) {
        size_t itemsize = sizes[draw(6)];
        int64_t lists[2][3][SIDE], src_shift = 0, dst_shift = 0;
        zaro_walk walk[3], simple[3];
        int64_t src_axis[3] = {0, 1, 2}, dst_axis[3] = {0, 1, 2};
        for (int swap = 0; swap < 3; swap++) { /* transposed on either side */
            int64_t a = draw(3), b = draw(3), t = src_axis[a];
            src_axis[a] = src_axis[b];
            src_axis[b] = t;
        }
        for (int d = 0; d < 3; d++) {
            int64_t src_stride = (int64_t)itemsize, dst_stride = (int64_t)itemsize;
            for (int64_t k = src_axis[d]; k < 2; k++)
                src_stride *= SIDE;
            for (int64_t k = dst_axis[d]; k < 2; k++)
                dst_stride *= SIDE;
            walk[d] = (zaro_walk){1 + draw(SIDE), src_stride, dst_stride, NULL, NULL};
            if (draw(4) == 0) {
                for (int64_t k = 0; k < walk[d].count; k++) {
                    lists[0][d][k] = draw(SIDE);
                    lists[1][d][k] = (k * 5 + 2) % SIDE; /* each place once */
                }
                walk[d].src_at = lists[0][d];
                walk[d].dst_at = lists[1][d];
            } else if (draw(3) == 0) { /* backwards */
                src_shift += (walk[d].count - 1) * src_stride;
                walk[d].src_stride = -src_stride;
            }
        }
        memset(found, 0, sizeof found);
        memset(expected, 0, sizeof expected);
        slow_copy(3, walk, itemsize, src + src_shift, expected);
        memcpy(simple, walk, sizeof walk);
        size_t rank = zaro_stitch_simplify(3, simple, &src_shift, &dst_shift);
        zaro_stitch_copy(rank, simple, itemsize, src + src_shift, found + dst_shift);
        CHECK(memcmp(found, expected, sizeof found) == 0);
        if (zaro_stitch_is_run(rank, simple, itemsize)) {
            int64_t n = rank ? simple[0].count : 1;
            memset(found, 0, sizeof found);
            memcpy(found + dst_shift, src + src_shift, (size_t)n * itemsize);
            CHECK(memcmp(found, expected, sizeof found) == 0);
        }
        for (size_t b = 0; b < itemsize; b++)
            value[b] = (uint8_t)(draw(2) ? draw(256) : 7);
        for (int d = 0; d < 3; d++) {
            walk[d].src_stride = 0;
            walk[d].src_at = walk[d].src_at ? lists[1][d] : NULL;
        }
        memset(found, 0, sizeof found);
        memset(expected, 0, sizeof expected);
        slow_copy(3, walk, itemsize, value, expected);
        zaro_stitch_fill(rank, simple, itemsize, value, found + dst_shift);
        CHECK(memcmp(found, expected, sizeof found) == 0);
    }
}

/* More rows than are looked ahead over, of lengths on both sides of every bound, in one plane and in three. */
static void rows_of_any_length_land_in_their_places(void) {
    enum { ROWS = 20, PLANES = 3, MOST_BYTES = 1100, PITCH = 1200 };
    static const int64_t sizes[] = {1, 15, 16, 17, 63, 64, 65, 128, 129, 700, 1023, 1024, 1025, MOST_BYTES};
    static uint8_t src[PLANES * ROWS * MOST_BYTES], found[PLANES * ROWS * PITCH], expected[sizeof found];
    for (size_t k = 0; k < sizeof src; k++)
        src[k] = (uint8_t)draw(256);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t rows = 2; rows <= ROWS; rows += 6) {
            const zaro_walk walk[3] = {{PLANES, ROWS * MOST_BYTES, ROWS * PITCH, NULL, NULL},
                                       {rows, MOST_BYTES, PITCH, NULL, NULL},
                                       {sizes[i], 1, 1, NULL, NULL}};
            for (size_t rank = 2; rank <= 3; rank++) {
                memset(found, 0, sizeof found);
                memset(expected, 0, sizeof expected);
                slow_copy(rank, walk + 3 - rank, 1, src, expected);
                zaro_stitch_copy(rank, walk + 3 - rank, 1, src, found);
                CHECK(memcmp(found, expected, sizeof found) == 0);
            }
        }
}

/* Rows of shuffled planes land where the rows of the block itself do, for regular and listed outer axes. */
static void shuffled_rows_land_like_plain_ones(void) {
    enum { ROWS = 5, ROW = 40, WIDTH = 4, COUNT = ROWS * ROW, PITCH = 50 };
    static const int64_t from[3] = {4, 0, 2}, to[3] = {1, 3, 0};
    uint8_t block[COUNT * WIDTH], planes[COUNT * WIDTH];
    for (size_t i = 0; i < sizeof block; i++) {
        block[i] = (uint8_t)(i * 11 + i / 256);
        planes[i % WIDTH * COUNT + i / WIDTH] = block[i];
    }
    const zaro_walk row = {35, WIDTH, WIDTH, NULL, NULL};
    const zaro_walk outer[3] = {{2, 2 * ROW * WIDTH, PITCH * WIDTH, NULL, NULL},
                                {4, -ROW * WIDTH, PITCH * WIDTH, NULL, NULL},
                                {3, ROW * WIDTH, PITCH * WIDTH, from, to}};
    const size_t first[3] = {ROW + 3, 4 * ROW + 5, 1};
    for (int k = 0; k < 3; k++) {
        uint8_t found[PITCH * WIDTH * 4] = {0}, expected[PITCH * WIDTH * 4] = {0};
        zaro_walk walk[2] = {outer[k], row};
        CHECK(zaro_stitch_has_rows(2, walk, WIDTH, 35) && !zaro_stitch_has_rows(2, walk, WIDTH, 36));
        slow_copy(2, walk, WIDTH, block + first[k] * WIDTH, expected);
        zaro_stitch_unshuffle(2, walk, WIDTH, planes, COUNT, first[k], found);
        CHECK(memcmp(found, expected, sizeof found) == 0);
    }
}

static void long_fills_repeat_the_value(void) {
    static uint8_t dst[3 * 40000];
    const uint8_t value[3] = {1, 2, 3};
    zaro_walk walk = {40000, 3, 3, NULL, NULL};
    zaro_stitch_fill(1, &walk, 3, value, dst);
    for (size_t k = 0; k < sizeof dst; k++)
        CHECK(dst[k] == k % 3 + 1);
}

int main(void) {
    random_regions_agree_with_the_slow_twin();
    rows_of_any_length_land_in_their_places();
    shuffled_rows_land_like_plain_ones();
    long_fills_repeat_the_value();
    return 0;
}
