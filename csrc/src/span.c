#include "zaro/span.h"

#include "zaro/checked.h"

typedef struct {
    int32_t file;
    int64_t start, stop; /* stop is -1 for the whole file */
} request;

/* Whether a span [start, stop) that begins at or after the request fits into it. */
static bool fits(const request *one, int32_t file, int64_t start, int64_t stop, int64_t gap, int64_t cap) {
    if (file != one->file || (stop < 0) != (one->stop < 0))
        return false;
    if (stop < 0)
        return true;
    int64_t reach = stop > one->stop ? stop : one->stop;
    /* start >= one->start >= 0, so no difference can wrap */
    return start - one->stop <= gap && (reach - one->start <= cap || reach == one->stop);
}

zaro_status zaro_span_merge(size_t n, const int32_t *file, const int64_t *offset, const int64_t *length,
                            const int64_t *order, int64_t gap, int64_t cap, int64_t *begin, int64_t *start,
                            int64_t *nbytes, size_t *n_request, size_t *at) {
    request now = {-1, 0, 0};
    int32_t last_file = -1;
    int64_t last_offset = 0;
    size_t m = 0;
    if (gap < 0 || cap < 0)
        return ZARO_RANGE;
    for (size_t k = 0; k < n; k++) {
        if (order && (order[k] < 0 || (uint64_t)order[k] >= n)) {
            *at = k;
            return ZARO_RANGE;
        }
        size_t i = order ? (size_t)order[k] : k;
        int64_t stop = -1;
        zaro_status status = ZARO_OK;
        if (file[i] < 0 || offset[i] < 0 || length[i] < -1)
            status = ZARO_RANGE;
        else if (length[i] >= 0 && !zaro_add_i64(offset[i], length[i], &stop))
            status = ZARO_OVERFLOW;
        else if (file[i] < last_file || (file[i] == last_file && offset[i] < last_offset))
            status = ZARO_ORDER;
        if (status != ZARO_OK) {
            *at = i;
            return status;
        }
        last_file = file[i];
        last_offset = offset[i];
        if (m && fits(&now, file[i], offset[i], stop, gap, cap)) {
            now.stop = stop > now.stop ? stop : now.stop;
        } else {
            now = (request){file[i], stop < 0 ? 0 : offset[i], stop};
            begin[m] = (int64_t)k;
            start[m++] = now.start;
        }
        nbytes[m - 1] = now.stop < 0 ? -1 : now.stop - now.start;
    }
    begin[m] = (int64_t)n;
    *n_request = m;
    return ZARO_OK;
}
