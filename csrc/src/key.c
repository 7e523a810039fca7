#include "zaro/key.h"

#include <string.h>

bool zaro_key_id(const uint8_t *name, size_t n, bool prefixed, uint8_t separator, size_t rank, const int64_t *grid,
                 int64_t *id) {
    const uint8_t *p = name;
    if (prefixed && *p++ != 'c')
        return false;
    if (prefixed && rank && *p++ != separator)
        return false;
    if (!prefixed && !rank && *p++ != '0')
        return false;
    return zaro_key_indices(p, false, separator, rank, grid, id) == name + n;
}

size_t zaro_key_name(int64_t id, bool prefixed, uint8_t separator, size_t rank, const int64_t *grid, uint8_t *name) {
    uint8_t back[ZARO_KEY_NAME], *p = back + sizeof back;
    for (size_t d = rank; d-- > 0;) {
        int64_t index = id % grid[d];
        id /= grid[d];
        do
            *--p = (uint8_t)('0' + index % 10);
        while (index /= 10);
        if (d)
            *--p = separator;
    }
    if (prefixed && rank)
        *--p = separator;
    if (prefixed || !rank)
        *--p = prefixed ? 'c' : '0';
    size_t n = (size_t)(back + sizeof back - p);
    memcpy(name, p, n);
    return n;
}
