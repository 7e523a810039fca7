/* Any axis and any selection: the two passes agree on the count, and nothing wraps. */
#include <stdlib.h>
#include <string.h>

#include "zaro/grid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t v[5];
    if (size < sizeof v)
        return 0;
    memcpy(v, data, sizeof v);
    size_t n;
    if (zaro_grid_touched(v[0], v[1], v[2], v[3], v[4], &n) != ZARO_OK || n > 4096)
        return 0;
    zaro_segment *segment = malloc((n ? n : 1) * sizeof *segment);
    if (zaro_grid_cover(v[0], v[1], v[2], v[3], v[4], segment, n) != ZARO_OK)
        abort();
    int64_t total = 0;
    for (size_t k = 0; k < n; k++)
        total += segment[k].count;
    if (total != v[4])
        abort();
    free(segment);
    return 0;
}
