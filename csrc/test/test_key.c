#include <string.h>

#include "check.h"
#include "zaro/key.h"

static bool find(const char *name, bool prefixed, char separator, size_t rank, const int64_t *grid, int64_t *id) {
    return zaro_key_id((const uint8_t *)name, strlen(name), prefixed, (uint8_t)separator, rank, grid, id);
}

static void names_and_ids_are_inverse(void) {
    const int64_t grid[3] = {3, 12, 101};
    uint8_t name[ZARO_KEY_NAME + 1];
    for (int prefixed = 0; prefixed < 2; prefixed++)
        for (int slash = 0; slash < 2; slash++)
            for (int64_t id = 0; id < 3 * 12 * 101; id++) {
                int64_t back = -1;
                uint8_t separator = slash ? '/' : '.';
                size_t n = zaro_key_name(id, prefixed, separator, 3, grid, name);
                name[n] = 0;
                CHECK(zaro_key_id(name, n, prefixed, separator, 3, grid, &back) && back == id);
            }
}

static void a_grid_of_rank_zero_has_one_name(void) {
    int64_t id = 7;
    uint8_t name[ZARO_KEY_NAME];
    CHECK(find("0", false, '.', 0, NULL, &id) && id == 0);
    CHECK(find("c", true, '/', 0, NULL, &id) && id == 0);
    CHECK(zaro_key_name(0, false, '.', 0, NULL, name) == 1 && name[0] == '0');
    CHECK(zaro_key_name(0, true, '.', 0, NULL, name) == 1 && name[0] == 'c');
    CHECK(!find("1", false, '.', 0, NULL, &id) && !find("", false, '.', 0, NULL, &id));
    CHECK(!find("c0", true, '/', 0, NULL, &id) && !find("c/0", true, '/', 0, NULL, &id));
}

static void other_spellings_are_no_names(void) {
    const int64_t grid[2] = {10, 20};
    const char *bad[] = {"",
                         "0",
                         "0.",
                         ".0",
                         "0.00",
                         "00.0",
                         "-1.0",
                         "+1.0",
                         "1.20",
                         "10.0",
                         "0/0",
                         "0.0.",
                         "0.0x",
                         " 0.0",
                         "0.0 ",
                         "0..0",
                         "c.0",
                         "c/0/0",
                         "0.0.0",
                         "99999999999999999999.0",
                         "18446744073709551616.0",
                         "0.x"};
    int64_t id;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        CHECK(!find(bad[k], false, '.', 2, grid, &id));
    CHECK(find("9.19", false, '.', 2, grid, &id) && id == 199);
    CHECK(find("c.9.19", true, '.', 2, grid, &id) && id == 199);
    CHECK(!find("c9.19", true, '.', 2, grid, &id) && !find("9.19", true, '.', 2, grid, &id));
}

static void the_largest_grids_do_not_wrap(void) {
    const int64_t line[1] = {INT64_MAX}, none[3] = {4, 0, 4};
    int64_t id;
    uint8_t name[ZARO_KEY_NAME + 1];
    CHECK(find("9223372036854775806", false, '.', 1, line, &id) && id == INT64_MAX - 1);
    CHECK(!find("9223372036854775807", false, '.', 1, line, &id));
    CHECK(!find("0.0.0", false, '.', 3, none, &id));
    int64_t wide[32];
    for (int d = 0; d < 32; d++)
        wide[d] = 2;
    size_t n = zaro_key_name((int64_t)UINT32_MAX, true, '/', 32, wide, name);
    name[n] = 0;
    CHECK(n == 65 && zaro_key_id(name, n, true, '/', 32, wide, &id) && id == (int64_t)UINT32_MAX);
}

static void escaped_slashes_are_slashes(void) {
    const int64_t grid[2] = {10, 20};
    int64_t id = 0;
    const char *text = "3\\/4\"";
    CHECK(zaro_key_indices((const uint8_t *)text, true, '/', 2, grid, &id) == (const uint8_t *)text + 4 && id == 64);
    CHECK(!zaro_key_indices((const uint8_t *)text, false, '/', 2, grid, &id));
    CHECK(!zaro_key_indices((const uint8_t *)"3\\.4", true, '.', 2, grid, &id));
}

int main(void) {
    names_and_ids_are_inverse();
    a_grid_of_rank_zero_has_one_name();
    other_spellings_are_no_names();
    the_largest_grids_do_not_wrap();
    escaped_slashes_are_slashes();
    return 0;
}
