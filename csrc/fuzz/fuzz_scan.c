/* Any document, cut anywhere: the same rows, or the same refusal at the same byte. */
#include <stdlib.h>
#include <string.h>

#include "zaro/scan.h"

static const int64_t grid[3] = {3, 200, 7};

/* Declare what the last entry might describe: its key and bytes decide the rank and the spelling. */
static void declare(zaro_scan *scan) {
    zaro_scan_view view;
    size_t number;
    zaro_scan_look(scan, &view);
    zaro_scan_loose entry = view.loose[view.n_loose - 1];
    const uint8_t *key = view.keys + entry.key;
    size_t n = entry.key_n;
    while (n > 0 && key[n - 1] != '/')
        n--;
    unsigned kind = entry.length ? view.inlined[entry.offset] : 0;
    uint8_t path[64];
    n = n ? n - 1 : 0;
    if (n > sizeof path)
        return;
    if (n)
        memcpy(path, key, n);
    zaro_status status = zaro_scan_declare(scan, path, n, kind & 8, kind & 16 ? '/' : '.', kind % 4, grid, &number);
    if (status != ZARO_OK && status != ZARO_ORDER)
        abort();
}

static zaro_status run(zaro_scan *scan, const uint8_t *data, size_t size, size_t step) {
    size_t have = 0, at = 0;
    zaro_status status = ZARO_OK;
    zaro_scan_event event = ZARO_SCAN_MORE;
    while (status == ZARO_OK) {
        size_t give = size - have < step ? size - have : step, used = 0;
        have += event == ZARO_SCAN_ARRAY ? 0 : give;
        uint8_t *block = malloc(have - at + 1); /* ends where the sanitizer sees it */
        memcpy(block, data + at, have - at);
        block[have - at] = 0;
        status = zaro_scan_feed(scan, block, have - at, have == size, &used, &event);
        if (status == ZARO_OK && event == ZARO_SCAN_ARRAY)
            declare(scan);
        if (status == ZARO_CORRUPT) {
            zaro_scan_trouble trouble;
            zaro_scan_where(scan, &trouble);
            if (trouble.fault == ZARO_SCAN_FINE || trouble.fault >= ZARO_SCAN_FAULTS || trouble.position > size)
                abort();
            for (size_t k = 0; trouble.key && k < trouble.key_n; k++)
                have += trouble.key[k] == 0 && k > size;
        }
        free(block);
        at += used;
        if (status == ZARO_OK && event != ZARO_SCAN_ARRAY && have == size)
            break;
    }
    return status;
}

static void same(int equal) {
    if (!equal)
        abort();
}

static void compare(zaro_scan *a, zaro_scan *b) {
    zaro_scan_view x, y;
    same(zaro_scan_settle(a) == ZARO_OK && zaro_scan_settle(b) == ZARO_OK);
    zaro_scan_look(a, &x);
    zaro_scan_look(b, &y);
    same(x.n_loose == y.n_loose && x.n_files == y.n_files && x.n_inline == y.n_inline && x.n_arrays == y.n_arrays);
    same(x.nested == y.nested && x.mixed == y.mixed && x.n_refs == y.n_refs && x.n_objects == y.n_objects);
    same(!x.n_inline || memcmp(x.inlined, y.inlined, x.n_inline) == 0);
    for (size_t k = 0; k < x.n_loose; k++) {
        zaro_scan_loose p = x.loose[k], q = y.loose[k];
        same(p.key_n == q.key_n && p.file == q.file && p.offset == q.offset && p.length == q.length);
        same(!p.key_n || memcmp(x.keys + p.key, y.keys + q.key, p.key_n) == 0);
    }
    for (size_t k = 0; k < x.n_arrays; k++) {
        zaro_scan_rows p, q;
        zaro_scan_rows_of(a, k, &p);
        zaro_scan_rows_of(b, k, &q);
        same(p.n == q.n && p.early == q.early);
        for (size_t row = 0; row < p.n; row++)
            same(p.id[row] == q.id[row] && p.file[row] == q.file[row] && p.offset[row] == q.offset[row] &&
                 p.length[row] == q.length[row]);
    }
    for (int k = 0; k < ZARO_SCAN_FIELDS; k++)
        same(x.field_n[k] == y.field_n[k] && !x.field[k] == !y.field[k]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 4096)
        return 0;
    size_t step = (size_t)data[0] % 32 + 1;
    zaro_scan *whole = zaro_scan_new(data[1] & 1, data[1] >> 7), *cut = zaro_scan_new(data[1] & 1, data[1] >> 7);
    zaro_status status = run(whole, data + 2, size - 2, size);
    same(run(cut, data + 2, size - 2, step) == status);
    zaro_scan_trouble p, q;
    zaro_scan_where(whole, &p);
    zaro_scan_where(cut, &q);
    same(p.fault == q.fault && p.position == q.position);
    if (status == ZARO_OK)
        compare(whole, cut);
    zaro_scan_free(whole);
    zaro_scan_free(cut);
    return 0;
}
