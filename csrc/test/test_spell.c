#include <string.h>

#include "check.h"
#include "zaro/spell.h"

static const int64_t grid[2] = {3, 400}, ends[2] = {6, 14};
static const zaro_spelling how = {
    (const uint8_t *)"a/", 2, false, '.', 2, grid, (const uint8_t *)"\"x.nc\"\"s3://y\"", ends, 2};

static void rows_are_members(void) {
    const int64_t id[2] = {0, 1199}, offset[2] = {0, INT64_MAX}, length[2] = {-1, 0};
    const int32_t file[2] = {1, 0};
    uint8_t out[2000];
    size_t done, used;
    CHECK(zaro_spell_rows(&how, 2, id, file, offset, length, out, sizeof out, &done, &used) == ZARO_OK && done == 2);
    const char *expected = "\"a/0.0\":[\"s3://y\"],\n\"a/2.399\":[\"x.nc\",9223372036854775807,0],\n";
    CHECK(used == strlen(expected) && memcmp(out, expected, used) == 0);
}

static void any_room_gives_the_same_text(void) {
    enum { N = 40 };
    int64_t id[N], offset[N], length[N];
    int32_t file[N];
    for (int k = 0; k < N; k++) {
        id[k] = 29 * k;
        offset[k] = (int64_t)1 << k;
        length[k] = k % 3 - 1;
        file[k] = k % 2;
    }
    uint8_t whole[8000], out[8000];
    size_t total, done, used;
    CHECK(zaro_spell_rows(&how, N, id, file, offset, length, whole, sizeof whole, &done, &total) == ZARO_OK);
    CHECK(done == N);
    for (size_t room = 0; room < 1600; room += 7) {
        size_t at = 0, row = 0;
        uint8_t *exact = malloc(room + 1); /* so that the sanitizer sees a byte too many */
        while (row < N) {
            zaro_status status = zaro_spell_rows(&how, N - row, id + row, file + row, offset + row, length + row, exact,
                                                 room, &done, &used);
            if (status == ZARO_SHORT)
                break;
            CHECK(status == ZARO_OK && done && used <= room);
            memcpy(out + at, exact, used);
            at += used;
            row += done;
        }
        CHECK(row == N || room < 1000);
        CHECK(row < N || at == total);
        CHECK(memcmp(out, whole, at) == 0);
        free(exact);
    }
}

static void bad_rows_are_refused(void) {
    const int64_t zero[1] = {0}, minus[1] = {-1}, low[1] = {-2};
    const int32_t first[1] = {0}, inline_data[1] = {-2}, third[1] = {2};
    uint8_t out[2000];
    size_t done, used;
    CHECK(zaro_spell_rows(&how, 1, zero, inline_data, zero, zero, out, sizeof out, &done, &used) == ZARO_RANGE);
    CHECK(zaro_spell_rows(&how, 1, zero, third, zero, zero, out, sizeof out, &done, &used) == ZARO_RANGE);
    CHECK(zaro_spell_rows(&how, 1, zero, first, minus, zero, out, sizeof out, &done, &used) == ZARO_RANGE);
    CHECK(zaro_spell_rows(&how, 1, zero, first, zero, low, out, sizeof out, &done, &used) == ZARO_RANGE);
    CHECK(zaro_spell_rows(&how, 0, NULL, NULL, NULL, NULL, out, 0, &done, &used) == ZARO_OK && !done && !used);
}

int main(void) {
    rows_are_members();
    any_room_gives_the_same_text();
    bad_rows_are_refused();
    return 0;
}
