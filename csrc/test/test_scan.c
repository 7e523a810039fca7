#include <string.h>

#include "check.h"
#include "zaro/scan.h"

static const int64_t grid[2] = {4, 6};

/* Scan a text cut into blocks of `step` bytes; an array "x" of 4 x 6 chunks is declared by "x/.zarray". */
static zaro_status scan_text(zaro_scan *scan, const char *text, size_t step) {
    size_t n = strlen(text), have = 0, at = 0, number;
    zaro_status status = ZARO_OK;
    zaro_scan_event event = ZARO_SCAN_MORE;
    while (status == ZARO_OK) {
        size_t used = 0;
        if (event != ZARO_SCAN_ARRAY)
            have += n - have < step ? n - have : step;
        uint8_t *block = malloc(have - at + 1); /* exact, so that the sanitizer sees a byte too many */
        CHECK(block);
        memcpy(block, text + at, have - at);
        block[have - at] = 0;
        status = zaro_scan_feed(scan, block, have - at, have == n, &used, &event);
        free(block);
        at += used;
        if (status == ZARO_OK && event == ZARO_SCAN_ARRAY)
            CHECK(zaro_scan_declare(scan, (const uint8_t *)"x", 1, false, '.', 2, grid, &number) == ZARO_OK);
        else if (have == n)
            break;
    }
    return status;
}

static zaro_scan *scanned(const char *text, size_t step) {
    zaro_scan *scan = zaro_scan_new(false, 0);
    CHECK(scan && scan_text(scan, text, step) == ZARO_OK && zaro_scan_settle(scan) == ZARO_OK);
    return scan;
}

static void entries_become_rows(void) {
    const char *text =
        "{\"x/0.1\":[\"a\",7,8], \"x/.zarray\":\"m\" ,\"x/3.5\":[\"b\"],\n\"x/0.2\":\"base64:AAEC\",\"x/1.0\":null,"
        "\"x/0.1\":[\"b\\u00e9\\/\",1e3,10.0],\"y\":{\"k\":[]},\"x/4.0\":\"t\"}  ";
    for (size_t step = 1; step < 60; step++) {
        zaro_scan *scan = scanned(text, step);
        zaro_scan_view view;
        zaro_scan_rows rows;
        zaro_scan_look(scan, &view);
        CHECK(view.n_arrays == 1 && view.n_files == 3 && view.n_loose == 3 && view.n_objects == 1 && !view.nested);
        CHECK(view.file_end[2] == 6 && memcmp(view.files, "abb\xC3\xA9/", 6) == 0);
        zaro_scan_rows_of(scan, 0, &rows);
        CHECK(rows.n == 5 && rows.early == 0);
        const int64_t ids[5] = {1, 23, 2, 6, 1};
        const int32_t files[5] = {0, 1, ZARO_SCAN_INLINE, ZARO_SCAN_ABSENT, 2};
        for (int k = 0; k < 5; k++)
            CHECK(rows.id[k] == ids[k] && rows.file[k] == files[k]);
        CHECK(rows.offset[0] == 7 && rows.length[0] == 8 && rows.length[1] == ZARO_SCAN_WHOLE);
        CHECK(rows.offset[4] == 1000 && rows.length[4] == 10 && rows.length[2] == 3);
        CHECK(memcmp(view.inlined + rows.offset[2], "\0\1\2", 3) == 0);
        CHECK(view.loose[1].file == ZARO_SCAN_OBJECT && view.loose[1].length == 8);

        int32_t file[24];
        int64_t offset[24] = {0}, length[24] = {0};
        for (int k = 0; k < 24; k++)
            file[k] = ZARO_SCAN_ABSENT;
        CHECK(zaro_scan_dense(scan, 0, file, offset, length, 24) == ZARO_OK);
        CHECK(file[1] == 2 && file[23] == 1 && file[6] == ZARO_SCAN_ABSENT && offset[1] == 1000);
        CHECK(zaro_scan_dense(scan, 0, file, offset, length, 25) == ZARO_RANGE);
        zaro_scan_drop(scan, 0);
        zaro_scan_free(scan);
    }
}

static void fields_of_a_nested_document_are_kept(void) {
    const char *text =
        "{\"version\" : 1, "
        "\"templates\":{\"u\":\"}\\\"\"},\"info\":[1,{}],\"refs\":{\"x/.zarray\":\"\",\"x/0.0\":[\"a\"]},"
        "\"zaro\":{\"a\":1},\"x/0.1\":[\"b\"],\"gen\":[ ]}";
    for (size_t step = 1; step < 40; step++) {
        zaro_scan *scan = scanned(text, step);
        zaro_scan_view view;
        zaro_scan_rows rows;
        zaro_scan_look(scan, &view);
        zaro_scan_rows_of(scan, 0, &rows);
        CHECK(view.nested && !view.mixed && view.n_refs == 1 && rows.n == 1);
        CHECK(view.field_n[ZARO_SCAN_VERSION] == 1 && view.field_n[ZARO_SCAN_GEN] == 3);
        CHECK(memcmp(view.field[ZARO_SCAN_ZARO], "{\"a\":1}", 7) == 0);
        CHECK(memcmp(view.field[ZARO_SCAN_TEMPLATES], "{\"u\":\"}\\\"\"}", 11) == 0);
        zaro_scan_free(scan);
    }
    zaro_scan_view view;
    zaro_scan *scan = scanned("{\"a\":\"\",\"version\":1,\"refs\":{},\"refs\":{}}", 99);
    zaro_scan_look(scan, &view);
    CHECK(view.mixed && view.n_refs == 2);
    zaro_scan_free(scan);
}

static void refuse(const char *text, zaro_scan_fault fault, uint64_t position, const char *key) {
    for (size_t step = 1; step < 40; step += 3) {
        zaro_scan *scan = zaro_scan_new(false, 0);
        zaro_scan_trouble trouble;
        CHECK(scan && scan_text(scan, text, step) == ZARO_CORRUPT);
        zaro_scan_where(scan, &trouble);
        CHECK(trouble.fault == fault && trouble.position == position);
        CHECK(!key == !trouble.key);
        zaro_scan_free(scan);
    }
}

static void broken_documents_are_refused_where_they_break(void) {
    refuse("", ZARO_SCAN_ENDS, 0, NULL);
    refuse("  ", ZARO_SCAN_ENDS, 2, NULL);
    refuse("[]", ZARO_SCAN_START, 0, NULL);
    refuse("{\"a\":\"b\"", ZARO_SCAN_ENDS, 8, NULL);
    refuse("{\"a\":\"b", ZARO_SCAN_ENDS, 7, "a");
    refuse("{\"a\":\"b\",}", ZARO_SCAN_SYNTAX, 9, NULL);
    refuse("{\"a\" \"b\"}", ZARO_SCAN_SYNTAX, 5, "a");
    refuse("{\"a\":\"b\"}x", ZARO_SCAN_TRAILING, 9, NULL);
    refuse("{\"a\":\"b\n\"}", ZARO_SCAN_CONTROL, 7, "a");
    refuse("{\"a\":\"\\x\"}", ZARO_SCAN_ESCAPE, 6, "a");
    refuse("{\"a\":\"\\ud800\"}", ZARO_SCAN_SURROGATE, 6, "a");
    refuse("{\"a\":\"\\udc00\\ud800\"}", ZARO_SCAN_SURROGATE, 6, "a");
    refuse("{\"a\":\"x\xC3\"}", ZARO_SCAN_UTF8, 7, "a");
    refuse("{\"a\":\"\xED\xA0\x80\"}", ZARO_SCAN_UTF8, 6, "a");
    refuse("{\"a\xFF\":1}", ZARO_SCAN_UTF8, 3, NULL);
    refuse("{\"a\":[\"u\",1.5,2]}", ZARO_SCAN_NUMBER, 10, "a");
    refuse("{\"a\":[\"u\",-1,2]}", ZARO_SCAN_NUMBER, 10, "a");
    refuse("{\"a\":[\"u\",9223372036854775808,2]}", ZARO_SCAN_NUMBER, 10, "a");
    refuse("{\"a\":[\"u\",1e19,2]}", ZARO_SCAN_NUMBER, 10, "a");
    refuse("{\"a\":[\"u\",01,2]}", ZARO_SCAN_SYNTAX, 11, "a");
    refuse("{\"a\":[\"u\",1]}", ZARO_SCAN_REFERENCE, 11, "a");
    refuse("{\"a\":[\"u\",1,2,3]}", ZARO_SCAN_REFERENCE, 13, "a");
    refuse("{\"a\":[]}", ZARO_SCAN_REFERENCE, 6, "a");
    refuse("{\"a\":[null,1,2]}", ZARO_SCAN_REFERENCE, 6, "a");
    refuse("{\"a\":3}", ZARO_SCAN_REFERENCE, 5, "a");
    refuse("{\"a\":\"base64:A\"}", ZARO_SCAN_BASE64, 6, "a");
    refuse("{\"a\":\"base64:AA\"}", ZARO_SCAN_BASE64, 6, "a");
    refuse("{\"a\":\"base64:AA==A\"}", ZARO_SCAN_BASE64, 6, "a");
    refuse("{\"a\":{\"b\":[}}", ZARO_SCAN_SYNTAX, 11, "a");
}

static void nesting_has_an_end(void) {
    enum { DEEP = 3000 };
    char text[DEEP + 32] = "{\"gen\":";
    memset(text + 7, '[', DEEP);
    text[7 + DEEP] = 0;
    refuse(text, ZARO_SCAN_DEPTH, 7 + 1024, NULL);
}

static void numbers_are_exact(void) {
    const char *spelled[] = {"0",
                             "-0",
                             "0.0",
                             "1e0",
                             "12300e-2",
                             "1.25e2",
                             "9223372036854775807",
                             "922337203685477580.7e1",
                             "0e999999999",
                             "10000000000000000000000e-20",
                             "0.0000000000000000000001e23",
                             "1E+2"};
    const int64_t value[] = {0, 0, 0, 1, 123, 125, INT64_MAX, INT64_MAX, 0, 100, 10, 100};
    for (size_t k = 0; k < sizeof value / sizeof *value; k++) {
        char text[120];
        zaro_scan_view view;
        snprintf(text, sizeof text, "{\"a\":[\"u\",%s,0]}", spelled[k]);
        for (size_t step = 1; step < 9; step++) {
            zaro_scan *scan = scanned(text, step);
            zaro_scan_look(scan, &view);
            CHECK(view.n_loose == 1 && view.loose[0].offset == value[k]);
            zaro_scan_free(scan);
        }
    }
}

static void arrays_may_follow_their_chunks(void) {
    zaro_scan_view view;
    zaro_scan_rows rows;
    zaro_scan *scan = zaro_scan_new(false, 0);
    size_t number;
    const int64_t other[3] = {2, 3, 4};
    CHECK(scan_text(scan, "{\"g/a/1/2/3\":[\"u\"],\"g/a/1/2/9\":[\"u\"],\"g/b/c.1.2.3\":[\"v\"],\"g/d/0\":[\"w\"]}",
                    7) == ZARO_OK);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"g/a", 3, false, '/', 3, other, &number) == ZARO_OK && number == 0);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"g/a", 3, false, '.', 3, other, &number) == ZARO_ORDER);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"g/b", 3, true, '.', 3, other, &number) == ZARO_OK && number == 1);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"g/d", 3, false, '.', 0, NULL, &number) == ZARO_OK && number == 2);
    CHECK(zaro_scan_settle(scan) == ZARO_OK);
    zaro_scan_look(scan, &view);
    CHECK(view.n_loose == 1 && view.loose[0].key_n == 9 && memcmp(view.keys + view.loose[0].key, "g/a/1/2/9", 9) == 0);
    for (size_t k = 0; k < 3; k++) {
        zaro_scan_rows_of(scan, k, &rows);
        CHECK(rows.n == 1 && rows.id[0] == (k < 2 ? 23 : 0) && rows.file[0] == (int32_t)k);
    }
    zaro_scan_free(scan);
}

static void impossible_arrays_are_refused(void) {
    zaro_scan *scan = zaro_scan_new(false, 0);
    const int64_t huge[3] = {INT64_MAX, 0, 2}, minus[1] = {-1};
    int64_t wide[33] = {0};
    size_t number;
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"x", 1, false, '.', 3, huge, &number) == ZARO_RANGE);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"x", 1, false, '.', 1, minus, &number) == ZARO_RANGE);
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"x", 1, false, '.', 33, wide, &number) == ZARO_RANGE);
    zaro_scan_free(scan);
    zaro_scan_free(NULL);
}

static void entries_can_be_added_one_by_one(void) {
    zaro_scan *scan = zaro_scan_new(false, 0);
    zaro_scan_view view;
    zaro_scan_rows rows;
    size_t number;
    CHECK(zaro_scan_declare(scan, (const uint8_t *)"", 0, true, '/', 2, grid, &number) == ZARO_OK);
    CHECK(zaro_scan_add(scan, (const uint8_t *)"c/1/2", 5, 0, (const uint8_t *)"u", 1, 3, 4) == ZARO_OK);
    CHECK(zaro_scan_add(scan, (const uint8_t *)"c/1/3", 5, ZARO_SCAN_ABSENT, NULL, 0, 0, 0) == ZARO_OK);
    CHECK(zaro_scan_add(scan, (const uint8_t *)"c/1/4", 5, 0, (const uint8_t *)"", 0, 3, 4) == ZARO_OK);
    CHECK(zaro_scan_add(scan, (const uint8_t *)"t", 1, ZARO_SCAN_INLINE, (const uint8_t *)"base64:AA==", 11, 0, 0) ==
          ZARO_OK);
    CHECK(zaro_scan_add(scan, (const uint8_t *)"t", 1, ZARO_SCAN_INLINE, (const uint8_t *)"base64:!", 8, 0, 0) ==
          ZARO_CORRUPT);
    zaro_scan_rows_of(scan, number, &rows);
    zaro_scan_look(scan, &view);
    CHECK(rows.n == 3 && rows.id[0] == 8 && rows.file[0] == 0 && rows.file[1] == ZARO_SCAN_ABSENT && rows.file[2] == 1);
    CHECK(view.n_loose == 1 && view.n_inline == 1 && view.inlined[0] == 0);
    zaro_scan_free(scan);
}

int main(void) {
    entries_become_rows();
    fields_of_a_nested_document_are_kept();
    broken_documents_are_refused_where_they_break();
    nesting_has_an_end();
    numbers_are_exact();
    arrays_may_follow_their_chunks();
    impossible_arrays_are_refused();
    entries_can_be_added_one_by_one();
    return 0;
}
