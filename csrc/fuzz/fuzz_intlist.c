/* Any text: what is found lies inside it, parses within its bounds, and comes back the same when written. */
#include <stdlib.h>
#include <string.h>

#include "zaro/base64.h"
#include "zaro/intlist.h"

static void check_integers(const uint8_t *text, const zaro_cut *cut) {
    int64_t *value = malloc(cut->count * sizeof *value), *back = malloc(cut->count * sizeof *back);
    size_t at;
    if (zaro_intlist_parse(text + cut->begin + 1, cut->end - cut->begin - 2, value, cut->count, &at) == ZARO_OK) {
        size_t size = zaro_intlist_size(value, cut->count);
        uint8_t *out = malloc(size);
        zaro_intlist_write(value, cut->count, out);
        if (size > cut->end - cut->begin || zaro_intlist_parse(out, size, back, cut->count, &at) != ZARO_OK ||
            memcmp(value, back, cut->count * sizeof *value) != 0)
            abort();
        free(out);
    }
    free(value);
    free(back);
}

static void check_flags(const uint8_t *text, const zaro_cut *cut) {
    int64_t *index = malloc(cut->count * cut->rank * sizeof *index);
    uint8_t *flag = malloc(cut->count * cut->flags);
    if (zaro_intlist_parse_flags(text + cut->begin, cut->end - cut->begin, cut->count, cut->rank, cut->flags, index,
                                 flag) != ZARO_OK)
        abort();
    size_t size = zaro_intlist_flags_size(index, cut->count, cut->rank, cut->flags);
    uint8_t *out = malloc(size);
    zaro_intlist_write_flags(index, flag, cut->count, cut->rank, cut->flags, out);
    if (size + 2 > cut->end - cut->begin)
        abort();
    free(out);
    free(index);
    free(flag);
}

static void check_base64(const uint8_t *text, const zaro_cut *cut) {
    size_t n = cut->end - cut->begin - 9, decoded; /* between `"base64:` and `"` */
    uint8_t *out = malloc(n / 4 * 3);
    if (text[cut->begin] != '"' || text[cut->end - 1] != '"' || memchr(text + cut->begin, '\\', cut->end - cut->begin))
        abort();
    if (zaro_base64_decode(text + cut->begin + 8, n, out, &decoded) && decoded > n / 4 * 3)
        abort();
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t at = 0, last = 0;
    zaro_cut cut;
    while (zaro_intlist_next(data, size, 0, &at, &cut)) {
        if (cut.begin < last || cut.begin >= cut.end || cut.end > size || cut.count > cut.end - cut.begin)
            abort();
        last = cut.end;
        if (cut.kind == ZARO_CUT_INTEGERS)
            check_integers(data, &cut);
        else if (cut.kind == ZARO_CUT_FLAGS)
            check_flags(data, &cut);
        else
            check_base64(data, &cut);
    }
    return 0;
}
