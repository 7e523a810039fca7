#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "zaro/intlist.h"

static const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

static zaro_status parse(const char *text, int64_t *value, size_t count) {
    size_t at = 0, n = strlen(text);
    uint8_t *copy = malloc(n ? n : 1); /* exactly as long, so that a read beyond is seen */
    memcpy(copy, text, n);
    zaro_status status = zaro_intlist_parse(copy, n, value, count, &at);
    CHECK(at <= n);
    free(copy);
    return status;
}

static void integers_are_read(void) {
    int64_t v[8];
    CHECK(parse("1,-2,30", v, 3) == ZARO_OK && v[0] == 1 && v[1] == -2 && v[2] == 30);
    CHECK(parse(" 1 ,\n -2\t, 0 ", v, 3) == ZARO_OK && v[0] == 1 && v[1] == -2 && v[2] == 0);
    CHECK(parse("12345678,123456789012,-87654321", v, 3) == ZARO_OK);
    CHECK(v[0] == 12345678 && v[1] == 123456789012 && v[2] == -87654321);
    CHECK(parse("9223372036854775807,-9223372036854775808", v, 2) == ZARO_OK);
    CHECK(v[0] == INT64_MAX && v[1] == INT64_MIN);
    CHECK(parse("", v, 0) == ZARO_OK && parse("  ", v, 0) == ZARO_OK);
}

static void anything_else_is_refused(void) {
    int64_t v[8];
    CHECK(parse("9223372036854775808", v, 1) == ZARO_OVERFLOW);
    CHECK(parse("-9223372036854775809", v, 1) == ZARO_OVERFLOW);
    CHECK(parse("99999999999999999999999999999999", v, 1) == ZARO_OVERFLOW);
    CHECK(parse("1,2,3", v, 2) == ZARO_RANGE && parse("1,2", v, 3) == ZARO_RANGE);
    const char *bad[] = {"1.5", "1e3", "01", "-", "+1", "-01", "1 2", "1,,2", "00000000", "0x10", "1,\"2\"", "", " "};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        CHECK(parse(bad[k], v, 1) != ZARO_OK);
}

static void what_is_written_is_read(void) {
    int64_t value[400], back[400];
    uint64_t state = 7;
    for (size_t n = 0; n < 400; n++) {
        for (size_t k = 0; k < n; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            value[k] = (int64_t)(state) >> (state >> 58);
        }
        size_t size = zaro_intlist_size(value, n), at;
        uint8_t *text = malloc(size ? size : 1);
        zaro_intlist_write(value, n, text);
        CHECK(zaro_intlist_parse(text, size, back, n, &at) == ZARO_OK);
        CHECK(memcmp(value, back, n * sizeof *value) == 0);
        free(text);
    }
    int64_t ends[] = {INT64_MIN, INT64_MAX, 0, 9, 10, 99999, -10000};
    uint8_t text[99];
    CHECK(zaro_intlist_size(ends, 7) == 60);
    zaro_intlist_write(ends, 7, text);
    CHECK(memcmp(text, "-9223372036854775808,9223372036854775807,0,9,10,99999,-10000", 60) == 0);
}

static void long_lists_are_found(void) {
    const char *text = "{\"a\": [1,2,3], \"s\\\"[1,2\": [4 , 5], \"f\": [1.5,2], \"n\": [[1,2],[3]], \"e\":[]}";
    size_t n = strlen(text), at = 0;
    zaro_cut cut;
    const char *expected[] = {"[1,2,3]", "[4 , 5]", "[1.5,2]", "[]"};
    size_t count[] = {3, 2, 2, 1};
    for (size_t k = 0; k < 4; k++) {
        CHECK(zaro_intlist_next(bytes(text), n, 0, &at, &cut));
        CHECK(cut.kind == ZARO_CUT_INTEGERS && cut.count == count[k]);
        CHECK(cut.end - cut.begin == strlen(expected[k]));
        CHECK(memcmp(text + cut.begin, expected[k], cut.end - cut.begin) == 0);
    }
    CHECK(!zaro_intlist_next(bytes(text), n, 0, &at, &cut));
    at = 0;
    CHECK(!zaro_intlist_next(bytes(text), n, 9, &at, &cut) && at == n);
}

static void base64_is_found(void) {
    const char *text =
        "{\"data\" : \"base64:AAEC\", \"base64:x\": \"base64:A\\/==\", \"b\": [\"base64:\"], \"c\":\"base64:";
    size_t n = strlen(text), at = 0;
    zaro_cut cut;
    CHECK(zaro_intlist_next(bytes(text), n, 13, &at, &cut));
    CHECK(cut.kind == ZARO_CUT_BASE64 && cut.count == 0);
    CHECK(memcmp(text + cut.begin, "\"base64:AAEC\"", cut.end - cut.begin) == 0 && cut.end - cut.begin == 13);
    CHECK(!zaro_intlist_next(bytes(text), n, 0, &at, &cut) && at == n);
    at = 0;
    CHECK(!zaro_intlist_next(bytes(text), n, 14, &at, &cut) && at == n);
}

static void skipped_chunks_are_found_and_read(void) {
    const char *text = "{\"x\": \"skipchunks\", \"skipchunks\" : {\"0.0.5\":[1,0], \"12.3.400\" : [0 , 1]}, \"z\": 1}";
    size_t n = strlen(text), at = 0;
    zaro_cut cut;
    CHECK(zaro_intlist_next(bytes(text), n, 0, &at, &cut));
    CHECK(cut.kind == ZARO_CUT_FLAGS && cut.count == 2 && cut.rank == 3 && cut.flags == 2);
    CHECK(text[cut.begin] == '{' && text[cut.end - 1] == '}');
    int64_t index[6];
    uint8_t flag[4];
    CHECK(zaro_intlist_parse_flags(bytes(text) + cut.begin, cut.end - cut.begin, 2, 3, 2, index, flag) == ZARO_OK);
    int64_t wanted[] = {0, 0, 5, 12, 3, 400};
    uint8_t flags[] = {1, 0, 0, 1};
    CHECK(memcmp(index, wanted, sizeof wanted) == 0 && memcmp(flag, flags, sizeof flags) == 0);

    size_t size = zaro_intlist_flags_size(index, 2, 3, 2);
    uint8_t out[64];
    CHECK(size == strlen("\"0.0.5\":[1,0],\"12.3.400\":[0,1]"));
    zaro_intlist_write_flags(index, flag, 2, 3, 2, out);
    CHECK(memcmp(out, "\"0.0.5\":[1,0],\"12.3.400\":[0,1]", size) == 0);
    CHECK(zaro_intlist_flags_size(NULL, 1, 0, 1) == 7);
    zaro_intlist_write_flags(NULL, flag, 1, 0, 1, out);
    CHECK(memcmp(out, "\"0\":[1]", 7) == 0);
}

static void odd_entries_are_left_alone(void) {
    const char *odd[] = {"{\"skipchunks\": {}}",
                         "{\"skipchunks\": {\"0.0\": [2]}}",
                         "{\"skipchunks\": {\"0.0\": [1], \"0\": [1]}}",
                         "{\"skipchunks\": {\"0.0\": [1], \"0.1\": [1,0]}}",
                         "{\"skipchunks\": {\"00.0\": [1]}}",
                         "{\"skipchunks\": {\"0.\": [1]}}",
                         "{\"skipchunks\": {\"0\": [true]}}",
                         "{\"skipchunks\": {\"9999999999999999999\": [1]}}",
                         "{\"skipchunks\": {\"0\": []}}",
                         "{\"skipchunks\": {\"0\": [1]",
                         "{\"skipchunks\": {\"0\": [1",
                         "{\"skipchunks\": {\"0",
                         "{\"skipchunks\": {\"ids\": 3}}",
                         "{\"skipchunks"};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
        size_t at = 0, n = strlen(odd[k]);
        zaro_cut cut;
        while (zaro_intlist_next(bytes(odd[k]), n, 0, &at, &cut))
            CHECK(cut.kind == ZARO_CUT_INTEGERS);
        CHECK(at == n);
    }
}

static void differences_are_summed(void) {
    int64_t value[3];
    uint8_t one[] = {5, 0xFF, 0x80}, two[] = {5, 0, 0xFF, 0xFF, 0, 0x80};
    uint8_t four[] = {5, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x80};
    uint8_t eight[16] = {0, 0, 0, 0, 0, 0, 0, 0x80, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    CHECK(zaro_intlist_sum(one, 1, 3, value) == ZARO_OK && value[0] == 5 && value[1] == 4 && value[2] == -124);
    CHECK(zaro_intlist_sum(two, 2, 3, value) == ZARO_OK && value[1] == 4 && value[2] == 4 - 32768);
    CHECK(zaro_intlist_sum(four, 4, 3, value) == ZARO_OK && value[1] == 4 && value[2] == 4 - 2147483648);
    CHECK(zaro_intlist_sum(eight, 8, 2, value) == ZARO_OK && value[0] == INT64_MIN && value[1] == INT64_MAX);
    CHECK(zaro_intlist_sum(eight, 3, 2, value) == ZARO_RANGE);
}

int main(void) {
    differences_are_summed();
    integers_are_read();
    anything_else_is_refused();
    what_is_written_is_read();
    long_lists_are_found();
    base64_is_found();
    skipped_chunks_are_found_and_read();
    odd_entries_are_left_alone();
    return 0;
}
