/* Any spans: every one lies within the request that it was given to. */
#include <stdlib.h>
#include <string.h>

#include "zaro/span.h"

enum { ROW = 20, MOST = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t limit[2];
    if (size < sizeof limit)
        return 0;
    memcpy(limit, data, sizeof limit);
    size_t n = (size - sizeof limit) / ROW, m = 0, at = 0;
    n = n < MOST ? n : MOST;
    int32_t *file = malloc((n + 1) * sizeof *file);
    int64_t *column = malloc((5 * n + 1) * sizeof *column);
    int64_t *offset = column, *length = column + n, *begin = column + 2 * n, *start = begin + n + 1,
            *nbytes = start + n;
    for (size_t k = 0; k < n; k++) {
        const uint8_t *row = data + sizeof limit + k * ROW;
        memcpy(&file[k], row, 4);
        memcpy(&offset[k], row + 4, 8);
        memcpy(&length[k], row + 12, 8);
    }
    if (zaro_span_merge(n, file, offset, length, NULL, limit[0], limit[1], begin, start, nbytes, &m, &at) == ZARO_OK) {
        if (begin[m] != (int64_t)n)
            abort();
        for (size_t r = 0; r < m; r++)
            for (int64_t k = begin[r]; k < begin[r + 1]; k++) {
                if (file[k] != file[begin[r]] || (length[k] < 0) != (nbytes[r] < 0))
                    abort();
                if (length[k] >= 0 && (offset[k] < start[r] || offset[k] - start[r] > nbytes[r] - length[k]))
                    abort();
            }
    }
    free(column);
    free(file);
    return 0;
}
