#include "zaro/shard.h"

#include "zaro/checked.h"

/* The run that holds a position: the last that does not begin behind it. */
static const zaro_shard_run *run_of(const zaro_shard_axis *axis, int64_t position) {
    size_t low = 0, high = axis->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (axis->run[middle].begin <= position)
            low = middle;
        else
            high = middle;
    }
    return &axis->run[low];
}

zaro_status zaro_shard_place(size_t n, size_t rank, const zaro_shard_axis *axis, const int64_t *id, int64_t *shard,
                             int64_t *within, size_t *at) {
    for (size_t k = 0; k < n; k++) {
        int64_t rest = id[k], outer = 0, inner = 0, outer_stride = 1, inner_stride = 1;
        for (size_t d = rank; d-- > 0;) {
            if (rest < 0 || axis[d].chunks < 1) {
                *at = k;
                return ZARO_RANGE;
            }
            const zaro_shard_run *run = run_of(&axis[d], rest % axis[d].chunks);
            int64_t position = rest % axis[d].chunks - run->begin;
            outer += (run->shard + position / run->size) * outer_stride;
            inner += position % run->size * inner_stride;
            outer_stride *= axis[d].shards;
            inner_stride *= run->size;
            rest /= axis[d].chunks;
        }
        if (rest != 0) {
            *at = k;
            return ZARO_RANGE;
        }
        shard[k] = outer;
        within[k] = inner;
    }
    return ZARO_OK;
}

zaro_status zaro_shard_group(size_t n, const int64_t *shard, int64_t *touched, int64_t *row, size_t *n_touched) {
    size_t m = 0;
    for (size_t k = 0; k < n; k++) {
        if (m && shard[k] < touched[m - 1])
            return ZARO_ORDER;
        if (!m || shard[k] > touched[m - 1])
            touched[m++] = shard[k];
        row[k] = (int64_t)m - 1;
    }
    *n_touched = m;
    return ZARO_OK;
}

zaro_status zaro_shard_locate(size_t n, const int64_t *row, const int64_t *within, int64_t first, int64_t m,
                              int64_t most, const zaro_shard_entry *entry, const zaro_shard_spans *outer,
                              int32_t absent, int32_t *file, int64_t *offset, int64_t *length, size_t *at) {
    for (size_t k = 0; k < n; k++) {
        int64_t of = row[k] - first;
        if (of < 0 || of >= m)
            continue; /* its index is not here */
        zaro_status status = ZARO_OK;
        zaro_shard_entry one = {UINT64_MAX, UINT64_MAX};
        if (within[k] < 0 || within[k] >= most)
            status = ZARO_RANGE;
        else
            one = entry[of * most + within[k]];
        file[k] = absent;
        offset[k] = length[k] = 0;
        if (one.offset != UINT64_MAX || one.nbytes != UINT64_MAX) {
            int64_t whole = outer->length[row[k]];
            uint64_t limit = whole < 0 ? (uint64_t)1 << 62 : (uint64_t)whole;
            if (one.offset > limit || one.nbytes > limit - one.offset)
                status = ZARO_RANGE;
            else if (!zaro_add_i64(outer->offset[row[k]], (int64_t)one.offset, &offset[k]))
                status = ZARO_OVERFLOW;
            file[k] = outer->file[row[k]];
            length[k] = (int64_t)one.nbytes;
        }
        if (status != ZARO_OK) {
            *at = k;
            return status;
        }
    }
    return ZARO_OK;
}
