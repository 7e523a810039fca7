#include "zaro/spell.h"

#include <string.h>

enum { NUMBERS = 2 * 20 + 16 }; /* two numbers, and the marks around keys, files and numbers */

static uint8_t *decimal(uint8_t *out, int64_t value) {
    uint8_t back[20], *p = back + sizeof back;
    do
        *--p = (uint8_t)('0' + value % 10);
    while (value /= 10);
    size_t n = (size_t)(back + sizeof back - p);
    memcpy(out, p, n);
    return out + n;
}

zaro_status zaro_spell_rows(const zaro_spelling *how, size_t n, const int64_t *id, const int32_t *file,
                            const int64_t *offset, const int64_t *length, uint8_t *out, size_t room, size_t *done,
                            size_t *used) {
    uint8_t *p = out;
    size_t k = 0;
    for (; k < n; k++) {
        if (file[k] < 0 || (size_t)file[k] >= how->n_files || offset[k] < 0 || length[k] < -1)
            return ZARO_RANGE;
        int64_t start = file[k] ? how->file_end[file[k] - 1] : 0;
        size_t file_n = (size_t)(how->file_end[file[k]] - start), left = room - (size_t)(p - out);
        if (left < ZARO_KEY_NAME + NUMBERS || left - ZARO_KEY_NAME - NUMBERS < how->path_n ||
            left - ZARO_KEY_NAME - NUMBERS - how->path_n < file_n)
            break;
        *p++ = '"';
        if (how->path_n)
            memcpy(p, how->path, how->path_n);
        p += how->path_n;
        p += zaro_key_name(id[k], how->prefixed, how->separator, how->rank, how->grid, p);
        memcpy(p, "\":[", 3);
        memcpy(p + 3, how->file + start, file_n);
        p += 3 + file_n;
        if (length[k] >= 0) {
            *p++ = ',';
            p = decimal(p, offset[k]);
            *p++ = ',';
            p = decimal(p, length[k]);
        }
        memcpy(p, "],\n", 3);
        p += 3;
    }
    *done = k;
    *used = (size_t)(p - out);
    return n && !k ? ZARO_SHORT : ZARO_OK;
}
