#include "zaro/grid.h"

#include "zaro/checked.h"

/* Chunks of a grid; false where they are not below 2^63. */
static bool count_chunks(size_t rank, const int64_t *grid, int64_t *total) {
    *total = 1;
    for (size_t d = 0; d < rank; d++)
        if (grid[d] < 0 || !zaro_mul_i64(*total, grid[d], total))
            return false;
    return true;
}

zaro_status zaro_grid_ravel(size_t n, size_t rank, const int64_t *index, const int64_t *grid, int64_t *id, size_t *at) {
    if (rank > ZARO_MAX_RANK)
        return ZARO_RANGE;
    int64_t total;
    if (!count_chunks(rank, grid, &total))
        return ZARO_OVERFLOW;
    for (size_t k = 0; k < n; k++) {
        int64_t flat = 0;
        for (size_t d = 0; d < rank; d++) {
            int64_t i = index[k * rank + d];
            if (i < 0 || i >= grid[d]) {
                *at = k;
                return ZARO_RANGE;
            }
            flat = flat * grid[d] + i; /* below total, which fits */
        }
        id[k] = flat;
    }
    return ZARO_OK;
}

zaro_status zaro_grid_unravel(size_t n, size_t rank, const int64_t *id, const int64_t *grid, int64_t *index,
                              size_t *at) {
    if (rank > ZARO_MAX_RANK)
        return ZARO_RANGE;
    int64_t total;
    if (!count_chunks(rank, grid, &total))
        return ZARO_OVERFLOW;
    for (size_t k = 0; k < n; k++) {
        int64_t rest = id[k];
        if (rest < 0 || rest >= total) {
            *at = k;
            return ZARO_RANGE;
        }
        for (size_t d = rank; d-- > 0;) {
            index[k * rank + d] = rest % grid[d];
            rest /= grid[d];
        }
    }
    return ZARO_OK;
}

static zaro_status check_axis(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count) {
    int64_t reach, last;
    if (chunk < 1 || size < 0 || count < 0)
        return ZARO_RANGE;
    if (count == 0)
        return ZARO_OK;
    if (start < 0 || start >= size || step == INT64_MIN || (step == 0 && count > 1))
        return ZARO_RANGE;
    if (!zaro_mul_i64(step, count - 1, &reach) || !zaro_add_i64(start, reach, &last))
        return ZARO_OVERFLOW;
    return last < 0 || last >= size ? ZARO_RANGE : ZARO_OK;
}

zaro_status zaro_grid_touched(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count, size_t *n) {
    zaro_status status = check_axis(size, chunk, start, step, count);
    if (status != ZARO_OK)
        return status;
    if (count == 0) {
        *n = 0;
        return ZARO_OK;
    }
    int64_t first = start / chunk, last = (start + step * (count - 1)) / chunk;
    int64_t span = first < last ? last - first : first - last;
    /* a stride of a chunk or more puts every element in a chunk of its own */
    bool sparse = step >= chunk || step <= -chunk;
    *n = (size_t)(sparse ? count : span + 1);
    return ZARO_OK;
}

zaro_status zaro_grid_cover(int64_t size, int64_t chunk, int64_t start, int64_t step, int64_t count,
                            zaro_segment *segment, size_t n) {
    size_t wanted;
    zaro_status status = zaro_grid_touched(size, chunk, start, step, count, &wanted);
    if (status != ZARO_OK)
        return status;
    if (wanted != n)
        return ZARO_RANGE;
    int64_t out = 0;
    for (size_t k = 0; k < n; k++) {
        int64_t element = start + step * out;
        int64_t begin = element % chunk;
        int64_t room = step > 0 ? chunk - 1 - begin : begin; /* elements ahead in this chunk */
        int64_t stride = step > 0 ? step : -step;
        int64_t here = stride == 0 ? count : 1 + room / stride;
        if (here > count - out)
            here = count - out;
        segment[k] = (zaro_segment){element / chunk, chunk, begin, step, here, out};
        out += here;
    }
    return ZARO_OK;
}

zaro_status zaro_grid_cross(size_t rank, const zaro_segment *const *segment, const size_t *n, const int64_t *grid,
                            int64_t *id) {
    if (rank > ZARO_MAX_RANK)
        return ZARO_RANGE;
    int64_t total;
    if (!count_chunks(rank, grid, &total))
        return ZARO_OVERFLOW;
    size_t done = 1;
    id[0] = 0;
    for (size_t d = 0; d < rank; d++) {
        for (size_t k = done; k-- > 0;) { /* from the end: each id makes room for n[d], which begin at or behind it */
            int64_t row = id[k] * grid[d];
            for (size_t j = n[d]; j-- > 0;) {
                int64_t chunk = segment[d][j].chunk;
                if (chunk < 0 || chunk >= grid[d])
                    return ZARO_RANGE;
                id[k * n[d] + j] = row + chunk;
            }
        }
        done *= n[d];
    }
    return ZARO_OK;
}
