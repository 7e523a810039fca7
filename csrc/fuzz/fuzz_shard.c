/* Any index: a chunk that is found lies within its shard. Any id: it has a place, or none. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "zaro/shard.h"

enum { MOST = 256, ABSENT = -1 };

static void find_spans(const zaro_shard_entry *entry, int64_t most, const int64_t *where) {
    const int32_t outer_file = 3;
    const zaro_shard_spans outer = {&outer_file, &where[0], &where[1]};
    for (int64_t within = -1; within <= most; within++) {
        const int64_t row = 0;
        int32_t file = 0;
        int64_t offset = 0, length = 0;
        size_t at = 99;
        if (zaro_shard_locate(1, &row, &within, 0, 1, most, entry, &outer, ABSENT, &file, &offset, &length, &at) !=
            ZARO_OK) {
            if (at != 0)
                abort();
            continue;
        }
        if (within < 0 || within >= most || (file != ABSENT && file != outer_file))
            abort();
        if (file != ABSENT &&
            (offset < where[0] || length < 0 ||
             (where[1] >= 0 && (offset - where[0] > where[1] || length > where[1] - (offset - where[0])))))
            abort();
    }
}

static void find_places(const int64_t *number) {
    /* two runs of shards, of 1 to 16 chunks; the last shard may reach past the end of the axis */
    int64_t size[2] = {1 + (number[0] & 15), 1 + (number[0] >> 4 & 15)},
            count[2] = {number[0] >> 8 & 7, 1 + (number[0] >> 11 & 7)};
    zaro_shard_run run[2] = {{0, 0, size[0]}, {size[0] * count[0], count[0], size[1]}};
    int64_t chunks = size[0] * count[0] + size[1] * count[1] - (number[0] >> 14 & 15) % size[1];
    const zaro_shard_axis axis = {chunks, count[0] + count[1], count[0] ? 2 : 1, count[0] ? run : run + 1};
    int64_t shard, within, most = size[0] > size[1] ? size[0] : size[1];
    size_t at = 99;
    bool there = number[1] >= 0 && number[1] < chunks;
    if ((zaro_shard_place(1, 1, &axis, &number[1], &shard, &within, &at) == ZARO_OK) != there)
        abort();
    if (there && (shard < 0 || shard >= axis.shards || within < 0 || within >= most))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t where[2];
    if (size < sizeof where)
        return 0;
    memcpy(where, data, sizeof where);
    size_t most = (size - sizeof where) / sizeof(zaro_shard_entry);
    most = most < MOST ? most : MOST;
    zaro_shard_entry *entry = malloc((most + 1) * sizeof *entry);
    memcpy(entry, data + sizeof where, most * sizeof *entry);
    find_spans(entry, (int64_t)most, where);
    find_places(where);
    free(entry);
    return 0;
}
