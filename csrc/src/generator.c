#include "zaro/generator.h"

#include <string.h>

static void split(const zaro_generator *gen, int64_t id, int64_t *variable, int64_t *chunk) {
    if (gen->variables == 1) {
        *variable = 0;
        *chunk = id;
    } else if (gen->varwise) {
        *chunk = id / gen->variables;
        *variable = id % gen->variables;
    } else {
        *variable = id / gen->chunks;
        *chunk = id % gen->chunks;
    }
}

static zaro_status failed(zaro_generator_fault *fault, zaro_generator_field field, int64_t at, zaro_status status) {
    *fault = (zaro_generator_fault){field, at};
    return status;
}

zaro_status zaro_generator_check_runs(const zaro_generator *gen, const zaro_runs *runs, int32_t files,
                                      zaro_generator_fault *fault) {
    int64_t total = gen->variables * gen->chunks;
    for (size_t k = 0; k < runs->n; k++) {
        if (runs->last[k] < 0 || runs->last[k] > total || runs->file[k] < 0 || runs->file[k] >= files)
            return failed(fault, ZARO_FIELD_FILES, (int64_t)k, ZARO_RANGE);
        if (k && runs->last[k] <= runs->last[k - 1])
            return failed(fault, ZARO_FIELD_FILES, (int64_t)k, ZARO_ORDER);
    }
    if (total > 0 && (runs->n == 0 || runs->last[runs->n - 1] < total - 1))
        return failed(fault, ZARO_FIELD_FILES, (int64_t)runs->n, ZARO_RANGE);
    return ZARO_OK;
}

/* Number of entries of list[lo .. n) that are <= value, plus lo; entries before lo are known to be. Doubles its
 * stride, so that a near answer costs little. */
static size_t gallop(const int64_t *list, size_t lo, size_t n, int64_t value) {
    size_t stride = 1;
    while (stride < n - lo && list[lo + stride - 1] <= value) {
        lo += stride;
        stride *= 2;
    }
    size_t hi = stride < n - lo ? lo + stride : n;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (list[middle] <= value)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* Bytes of regular chunks before flat index c, v; modulo 2^64, as all that follows. */
typedef struct {
    uint64_t base, per_chunk;
} line;

static line regular_line(const zaro_generator *gen, int64_t variable) {
    uint64_t start = (uint64_t)gen->start, prefix = (uint64_t)gen->before[variable];
    if (gen->varwise)
        return (line){start + prefix, (uint64_t)gen->before[gen->variables]};
    return (line){start + (uint64_t)gen->chunks * prefix, (uint64_t)gen->length[variable]};
}

zaro_status zaro_generator_locate(const zaro_generator *gen, const zaro_generator_index *index, const zaro_runs *runs,
                                  int64_t variable, const int64_t *chunk, size_t count, int32_t *file, int64_t *offset,
                                  int64_t *length, size_t *at) {
    if (variable < 0 || variable >= gen->variables)
        return ZARO_RANGE;
    const line regular = regular_line(gen, variable);
    const int64_t stride = gen->varwise ? gen->variables : 1, from = gen->varwise ? variable : variable * gen->chunks;
    const int64_t usual = gen->length[variable], *id = index->id;
    const size_t n = index->n;
    size_t passed = 0, run = 0; /* exceptions at or before this chunk; run of files that holds it */
    for (size_t k = 0; k < count; k++) {
        int64_t c = chunk[k];
        if (c < 0 || c >= gen->chunks) {
            *at = k;
            return ZARO_RANGE;
        }
        int64_t i = from + c * stride;
        if (passed > 0 && id[passed - 1] > i)
            passed = gallop(id, 0, passed, i);
        else if (passed < n && id[passed] <= i)
            passed = gallop(id, passed + 1, n, i);
        if (run > 0 && runs->last[run - 1] >= i)
            run = gallop(runs->last, 0, run, i - 1);
        else if (runs->last[run] < i)
            run = gallop(runs->last, run + 1, runs->n, i - 1);
        uint64_t shift = passed ? index->shift[passed - 1] : 0;
        int64_t size = usual;
        if (passed && id[passed - 1] == i) {
            size = index->size[passed - 1];
            shift -= (uint64_t)(size < 0 ? 0 : size) - (uint64_t)usual; /* the shift before it */
        }
        bool absent = size < 0;
        uint64_t where = regular.base + (uint64_t)c * regular.per_chunk + shift;
        file[k] = absent ? -1 : runs->file[run];
        offset[k] = absent ? 0 : (int64_t)where;
        length[k] = absent ? 0 : size;
    }
    return ZARO_OK;
}

/* length[0 .. count) of the chunks from flat index `first`, as if all were regular. */
static void fill_regular(const zaro_generator *gen, int64_t first, size_t count, int64_t *length) {
    int64_t variable, chunk;
    split(gen, first, &variable, &chunk);
    if (gen->varwise && gen->variables > 1) {
        size_t period = (size_t)gen->variables, done = 0;
        for (; done < count && done < period; done++) {
            length[done] = gen->length[variable];
            variable = variable + 1 == gen->variables ? 0 : variable + 1;
        }
        while (done < count) { /* a whole number of periods lies before `done` */
            size_t part = done < count - done ? done : count - done;
            memcpy(length + done, length, part * sizeof *length);
            done += part;
        }
        return;
    }
    for (size_t done = 0; done < count; variable++, chunk = 0) {
        size_t left = (size_t)(gen->chunks - chunk), part = left < count - done ? left : count - done;
        int64_t value = gen->length[variable];
        for (size_t k = 0; k < part; k++)
            length[done + k] = value;
        done += part;
    }
}

/* file[0 .. count) of the chunks from flat index `first`; returns the run of the chunk after them. */
static size_t fill_files(const zaro_runs *runs, size_t run, int64_t first, size_t count, int32_t *file) {
    for (size_t done = 0; done < count;) {
        int64_t here = first + (int64_t)done;
        if (runs->last[run] < here) {
            run++;
            continue;
        }
        uint64_t left = (uint64_t)(runs->last[run] - here) + 1;
        size_t part = left < count - done ? (size_t)left : count - done;
        int32_t value = runs->file[run];
        for (size_t k = 0; k < part; k++)
            file[done + k] = value;
        done += part;
    }
    return run;
}

#define BLOCK 1024 /* chunks whose three columns stay in the nearest cache */

zaro_status zaro_generator_expand(const zaro_generator *gen, const zaro_generator_index *index, const zaro_runs *runs,
                                  int64_t first, size_t count, int32_t *file, int64_t *offset, int64_t *length) {
    int64_t total = gen->variables * gen->chunks;
    if (first < 0 || first > total || count > (uint64_t)(total - first))
        return ZARO_RANGE;
    if (count == 0)
        return ZARO_OK;
    int64_t variable, chunk;
    split(gen, first, &variable, &chunk);
    size_t row = first ? gallop(index->id, 0, index->n, first - 1) : 0;
    size_t run = first ? gallop(runs->last, 0, runs->n, first - 1) : 0;
    uint64_t shift = row ? index->shift[row - 1] : 0;
    line regular = regular_line(gen, variable);
    uint64_t here = regular.base + (uint64_t)chunk * regular.per_chunk + shift; /* before the gap of `first` */

    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK, begin = row;
        int64_t base = first + (int64_t)done, *off = offset + done, *len = length + done;
        int32_t *fid = file + done;
        fill_regular(gen, base, n, len);
        run = fill_files(runs, run, base, n, fid);
        memset(off, 0, n * sizeof *off);
        for (; row < index->n && index->id[row] - base < (int64_t)n; row++) { /* scatter gaps and sizes */
            size_t k = (size_t)(index->id[row] - base);
            int64_t stored = index->size[row], size = stored < 0 ? 0 : stored;
            uint64_t before = index->shift[row] - (uint64_t)(size - len[k]);
            off[k] = (int64_t)(before - shift); /* the gap */
            shift = index->shift[row];
            len[k] = size;
            fid[k] = stored < 0 ? -1 : fid[k];
        }
        for (size_t k = 0; k < n; k++) {
            here += (uint64_t)off[k];
            off[k] = (int64_t)here;
            here += (uint64_t)len[k];
        }
        for (size_t r = begin; r < row; r++) {
            size_t k = (size_t)(index->id[r] - base);
            off[k] = index->size[r] < 0 ? 0 : off[k];
        }
    }
    return ZARO_OK;
}
