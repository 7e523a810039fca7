#include "check.h"
#include "zaro/grid.h"

/* The slow twin: walk every element, start a segment wherever the chunk changes. */
static size_t walk(int64_t chunk, int64_t start, int64_t step, int64_t count, zaro_segment *segment) {
    size_t n = 0;
    for (int64_t out = 0; out < count; out++) {
        int64_t element = start + step * out;
        if (n && segment[n - 1].chunk == element / chunk)
            segment[n - 1].count++;
        else
            segment[n++] = (zaro_segment){element / chunk, chunk, element % chunk, step, 1, out};
    }
    return n;
}

static void cover_agrees_with_the_walk(void) {
    zaro_segment expected[64], found[64];
    for (int64_t size = 1; size < 14; size++)
        for (int64_t chunk = 1; chunk < 6; chunk++)
            for (int64_t start = 0; start < size; start++)
                for (int64_t step = -7; step <= 7; step++)
                    for (int64_t count = 1; count < 15; count++) {
                        int64_t last = start + step * (count - 1);
                        size_t n = 999;
                        zaro_status status = zaro_grid_touched(size, chunk, start, step, count, &n);
                        if (last < 0 || last >= size || (step == 0 && count > 1)) {
                            CHECK(status == ZARO_RANGE);
                            continue;
                        }
                        CHECK(status == ZARO_OK);
                        CHECK(n == walk(chunk, start, step, count, expected));
                        CHECK(zaro_grid_cover(size, chunk, start, step, count, found, n) == ZARO_OK);
                        for (size_t k = 0; k < n; k++) {
                            CHECK(found[k].chunk == expected[k].chunk && found[k].begin == expected[k].begin);
                            CHECK(found[k].count == expected[k].count && found[k].out == expected[k].out);
                            CHECK(found[k].step == step && found[k].size == chunk);
                        }
                    }
}

static void ravel_and_unravel_are_inverse(void) {
    int64_t grid[3] = {3, 4, 5}, index[3], id, back;
    size_t at = 7;
    for (int64_t k = 0; k < 60; k++) {
        CHECK(zaro_grid_unravel(1, 3, &k, grid, index, &at) == ZARO_OK);
        CHECK(index[0] * 20 + index[1] * 5 + index[2] == k);
        CHECK(zaro_grid_ravel(1, 3, index, grid, &back, &at) == ZARO_OK && back == k);
    }
    int64_t bad[6] = {0, 0, 0, 0, 4, 0};
    int64_t ids[2] = {0, 0};
    CHECK(zaro_grid_ravel(2, 3, bad, grid, ids, &at) == ZARO_RANGE && at == 1);
    id = 60;
    CHECK(zaro_grid_unravel(1, 3, &id, grid, index, &at) == ZARO_RANGE && at == 0);
    int64_t none[3] = {3, 0, 5};
    CHECK(zaro_grid_unravel(1, 3, &ids[0], none, index, &at) == ZARO_RANGE && at == 0);
    int64_t huge[3] = {INT64_MAX, 2, 1};
    CHECK(zaro_grid_ravel(1, 3, index, huge, &back, &at) == ZARO_OVERFLOW);
}

static void segments_cross_in_c_order(void) {
    int64_t grid[3] = {3, 4, 5}, id[3 * 2 * 4], index[3], expected;
    zaro_segment first[3] = {{.chunk = 2}, {.chunk = 0}, {.chunk = 1}}, second[2] = {{.chunk = 3}, {.chunk = 1}};
    zaro_segment third[4] = {{.chunk = 4}, {.chunk = 0}, {.chunk = 4}, {.chunk = 2}};
    const zaro_segment *axis[3] = {first, second, third};
    size_t n[3] = {3, 2, 4}, at;
    CHECK(zaro_grid_cross(3, axis, n, grid, id) == ZARO_OK);
    for (size_t k = 0; k < 24; k++) {
        index[0] = first[k / 8].chunk, index[1] = second[k / 4 % 2].chunk, index[2] = third[k % 4].chunk;
        CHECK(zaro_grid_ravel(1, 3, index, grid, &expected, &at) == ZARO_OK && id[k] == expected);
    }
    CHECK(zaro_grid_cross(0, axis, n, grid, id) == ZARO_OK && id[0] == 0);
    second[1].chunk = 4;
    CHECK(zaro_grid_cross(3, axis, n, grid, id) == ZARO_RANGE);
    second[1].chunk = -1;
    CHECK(zaro_grid_cross(3, axis, n, grid, id) == ZARO_RANGE);
    CHECK(zaro_grid_cross(ZARO_MAX_RANK + 1, axis, n, grid, id) == ZARO_RANGE);
    int64_t huge[3] = {INT64_MAX, 2, 5};
    CHECK(zaro_grid_cross(3, axis, n, huge, id) == ZARO_OVERFLOW);
}

static void extremes_are_refused(void) {
    size_t n;
    CHECK(zaro_grid_touched(INT64_MAX, 1, 1, INT64_MAX, 3, &n) == ZARO_OVERFLOW);
    CHECK(zaro_grid_touched(10, 0, 0, 1, 1, &n) == ZARO_RANGE);
    CHECK(zaro_grid_touched(10, 1, 0, 1, -1, &n) == ZARO_RANGE);
    CHECK(zaro_grid_touched(0, 1, 0, 1, 0, &n) == ZARO_OK && n == 0);
    CHECK(zaro_grid_touched(10, 3, 9, INT64_MIN, 1, &n) == ZARO_RANGE);
}

int main(void) {
    cover_agrees_with_the_walk();
    ravel_and_unravel_are_inverse();
    segments_cross_in_c_order();
    extremes_are_refused();
    return 0;
}
