#include "check.h"
#include "zaro/shard.h"

/* Shards of 2, 2, 3, 3 and 1 chunks along the first axis, of 4 and 4 (of which 6 exist) along the second. */
static const zaro_shard_run rows[3] = {{0, 0, 2}, {4, 2, 3}, {10, 4, 1}}, columns[1] = {{0, 0, 4}};
static const zaro_shard_axis axes[2] = {{11, 5, 3, rows}, {6, 2, 1, columns}};

static void chunks_are_placed_as_a_walk_along_the_axes_places_them(void) {
    const int64_t size[5] = {2, 2, 3, 3, 1};
    size_t at = 99;
    for (int64_t shard_row = 0, row = 0; shard_row < 5; shard_row++)
        for (int64_t i = 0; i < size[shard_row]; i++, row++)
            for (int64_t column = 0; column < 6; column++) {
                int64_t id = row * 6 + column, shard, within;
                CHECK(zaro_shard_place(1, 2, axes, &id, &shard, &within, &at) == ZARO_OK);
                CHECK(shard == shard_row * 2 + column / 4 && within == i * 4 + column % 4);
            }
    /* the other way round, the extent of a shard counts for the axis before */
    const zaro_shard_axis turned[2] = {axes[1], axes[0]};
    for (int64_t shard_row = 0, row = 0; shard_row < 5; shard_row++)
        for (int64_t i = 0; i < size[shard_row]; i++, row++)
            for (int64_t column = 0; column < 6; column++) {
                int64_t id = column * 11 + row, shard, within;
                CHECK(zaro_shard_place(1, 2, turned, &id, &shard, &within, &at) == ZARO_OK);
                CHECK(shard == column / 4 * 5 + shard_row && within == column % 4 * size[shard_row] + i);
            }
    int64_t ids[3] = {65, 66, 0}, shard[3], within[3];
    CHECK(zaro_shard_place(3, 2, axes, ids, shard, within, &at) == ZARO_RANGE && at == 1);
    ids[0] = -1;
    CHECK(zaro_shard_place(3, 2, axes, ids, shard, within, &at) == ZARO_RANGE && at == 0);
    const zaro_shard_axis none = {0, 0, 0, NULL};
    CHECK(zaro_shard_place(1, 1, &none, &ids[2], shard, within, &at) == ZARO_RANGE && at == 0);
    CHECK(zaro_shard_place(1, 0, NULL, &ids[2], shard, within, &at) == ZARO_OK && shard[0] == 0 && within[0] == 0);
}

static void shards_that_ascend_are_grouped(void) {
    const int64_t shard[5] = {2, 2, 5, 9, 9};
    int64_t touched[5], row[5];
    size_t n = 99;
    CHECK(zaro_shard_group(5, shard, touched, row, &n) == ZARO_OK && n == 3);
    CHECK(touched[0] == 2 && touched[1] == 5 && touched[2] == 9);
    CHECK(row[0] == 0 && row[1] == 0 && row[2] == 1 && row[3] == 2 && row[4] == 2);
    const int64_t back[3] = {2, 5, 2};
    CHECK(zaro_shard_group(3, back, touched, row, &n) == ZARO_ORDER);
    CHECK(zaro_shard_group(0, back, touched, row, &n) == ZARO_OK && n == 0);
}

enum { N = 4, ABSENT = -1 };
static int32_t file[N];
static int64_t offset[N], length[N];
static size_t bad;

static const int32_t shard_file[3] = {7, 8, ABSENT};
static const int64_t shard_offset[3] = {1000, 0, 0}, shard_length[3] = {500, -1, -1};
static const zaro_shard_spans outer = {shard_file, shard_offset, shard_length};

static zaro_status locate(const int64_t *row, const int64_t *within, int64_t first, int64_t m,
                          const zaro_shard_entry *entry) {
    bad = 99;
    return zaro_shard_locate(N, row, within, first, m, 2, entry, &outer, ABSENT, file, offset, length, &bad);
}

static void spans_come_from_the_index_of_their_shard(void) {
    const int64_t row[N] = {1, 0, 0, 2}, within[N] = {1, 0, 1, 0};
    const zaro_shard_entry entry[6] = {{100, 400}, {UINT64_MAX, UINT64_MAX}, {0, 0}, {5, 6}, {UINT64_MAX, UINT64_MAX}};
    CHECK(locate(row, within, 0, 3, entry) == ZARO_OK);
    CHECK(file[0] == 8 && offset[0] == 5 && length[0] == 6);
    CHECK(file[1] == 7 && offset[1] == 1100 && length[1] == 400);
    CHECK(file[2] == ABSENT && offset[2] == 0 && length[2] == 0 && file[3] == ABSENT);
    /* a few shards at a time, the others untouched */
    offset[1] = 42;
    CHECK(locate(row, within, 1, 2, entry + 2) == ZARO_OK && offset[0] == 5 && offset[1] == 42);
    offset[0] = 43;
    CHECK(locate(row, within, 0, 1, entry) == ZARO_OK && offset[0] == 43 && offset[1] == 1100);
}

static void bytes_outside_of_the_shard_are_refused(void) {
    const int64_t row[N] = {0, 1, 1, 1}, within[N] = {0, 0, 1, 1};
    zaro_shard_entry entry[4] = {{500, 0}, {0, 1}, {(uint64_t)1 << 62, 0}, {0, (uint64_t)1 << 62}};
    CHECK(locate(row, within, 0, 2, entry) == ZARO_OK && offset[0] == 1500 && length[3] == (int64_t)1 << 62);
    entry[3].offset = 1;
    CHECK(locate(row, within, 0, 2, entry) == ZARO_RANGE && bad == 2);
    entry[3] = (zaro_shard_entry){UINT64_MAX, 0}; /* half of what an absent chunk has */
    CHECK(locate(row, within, 0, 2, entry) == ZARO_RANGE && bad == 2);
    entry[3] = (zaro_shard_entry){0, UINT64_MAX};
    CHECK(locate(row, within, 0, 2, entry) == ZARO_RANGE && bad == 2);
    entry[0] = (zaro_shard_entry){500, 1};
    CHECK(locate(row, within, 0, 2, entry) == ZARO_RANGE && bad == 0);
    entry[0] = (zaro_shard_entry){501, 0};
    CHECK(locate(row, within, 0, 2, entry) == ZARO_RANGE && bad == 0);
    const int64_t beyond[N] = {1, 2, 0, 0}, before[N] = {1, 0, -1, 0}, none[N] = {0, 0, 0, 0};
    entry[0] = (zaro_shard_entry){0, 1};
    entry[2] = (zaro_shard_entry){0, 0};
    CHECK(locate(none, beyond, 0, 1, entry) == ZARO_RANGE && bad == 1);
    CHECK(locate(none, before, 0, 1, entry) == ZARO_RANGE && bad == 2);
    const int64_t nothing = 0;
    const zaro_shard_spans empty = {shard_file, shard_offset, &nothing};
    CHECK(zaro_shard_locate(1, none, none, 0, 1, 2, entry, &empty, ABSENT, file, offset, length, &bad) == ZARO_RANGE);
    const int32_t far_file = 1;
    const int64_t far_offset = INT64_MAX - 4, far_length = 500;
    const zaro_shard_spans far = {&far_file, &far_offset, &far_length};
    entry[0] = (zaro_shard_entry){5, 1};
    CHECK(zaro_shard_locate(1, none, none, 0, 1, 2, entry, &far, ABSENT, file, offset, length, &bad) == ZARO_OVERFLOW);
    entry[0].offset = 4;
    CHECK(zaro_shard_locate(1, none, none, 0, 1, 2, entry, &far, ABSENT, file, offset, length, &bad) == ZARO_OK);
    CHECK(offset[0] == INT64_MAX);
}

int main(void) {
    chunks_are_placed_as_a_walk_along_the_axes_places_them();
    shards_that_ascend_are_grouped();
    spans_come_from_the_index_of_their_shard();
    bytes_outside_of_the_shard_are_refused();
    return 0;
}
