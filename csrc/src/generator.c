#include "zaro/generator.h"

#include <string.h>

#include "zaro/checked.h"

typedef __int128 wide; /* holds start + regular bytes + shift of any generator that fits in memory */

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

/* The same for many indices: a division by one number, again and again, is a multiplication. */
typedef struct {
    uint64_t by, inverse; /* 2^64 / by, rounded up (by 1: as large as fits) */
} divider;

static divider make_divider(int64_t by) {
    uint64_t d = by > 0 ? (uint64_t)by : 1;
    return (divider){d, d == 1 ? UINT64_MAX : (uint64_t)(((unsigned __int128)1 << 64) / d) + 1};
}

static inline uint64_t divide(divider d, uint64_t n, uint64_t *rest) {
    uint64_t quotient = (uint64_t)(((unsigned __int128)n * d.inverse) >> 64);
    if (quotient * d.by > n) /* n beyond 2^64 / by, and even then one too large at most */
        quotient--;
    else if (n - quotient * d.by >= d.by) /* by 1 */
        quotient++;
    *rest = n - quotient * d.by;
    return quotient;
}

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t head_of(const int64_t *list, size_t k, size_t n) { return k < n ? list[k] : INT64_MAX; }

static zaro_status failed(zaro_generator_fault *fault, zaro_generator_field field, int64_t at, zaro_status status) {
    *fault = (zaro_generator_fault){field, at};
    return status;
}

/* What the walk over the exceptions carries. */
typedef struct {
    const zaro_generator *gen;
    wide shift;
    bool stepped_back; /* a negative gap was met: blame gaps rather than start */
} walk;

/* Regular bytes before flat index id, which is of variable *v. */
static inline wide regular_before(const zaro_generator *gen, divider d, int64_t id, int64_t *v) {
    uint64_t rest, quotient = divide(d, (uint64_t)id, &rest);
    *v = (int64_t)(gen->varwise ? rest : quotient);
    if (gen->varwise)
        return (wide)quotient * gen->before[gen->variables] + gen->before[*v];
    return (wide)gen->chunks * gen->before[*v] + (wide)rest * gen->length[*v];
}

static zaro_status sum_lengths(const zaro_generator *gen, zaro_generator_fault *fault) {
    gen->before[0] = 0;
    for (int64_t v = 0; v < gen->variables; v++) {
        if (gen->length[v] < 0)
            return failed(fault, ZARO_FIELD_LENGTHS, v, ZARO_RANGE);
        if (!zaro_add_i64(gen->before[v], gen->length[v], &gen->before[v + 1]))
            return failed(fault, ZARO_FIELD_LENGTHS, v, ZARO_OVERFLOW);
    }
    return ZARO_OK;
}

/* The next flat index that any list names, and what they say of it. */
typedef struct {
    zaro_exceptions ex;
    size_t u, g, a;     /* entries taken of each list */
    int64_t iu, ig, ia; /* the next entry of each, INT64_MAX at the end */
    int64_t id;
    bool unique, gapped, absent;
} merge;

static inline void start_merge(merge *m, const zaro_exceptions *ex) {
    *m = (merge){.ex = *ex};
    m->iu = head_of(ex->unique_id, 0, ex->n_unique);
    m->ig = head_of(ex->gap_id, 0, ex->n_gap);
    m->ia = head_of(ex->absent_id, 0, ex->n_absent);
}

static inline bool next_exception(merge *m) {
    const zaro_exceptions *ex = &m->ex;
    if (m->u == ex->n_unique && m->g == ex->n_gap && m->a == ex->n_absent)
        return false;
    m->id = least(least(m->iu, m->ig), m->ia);
    m->unique = m->iu == m->id && m->u < ex->n_unique;
    m->gapped = m->ig == m->id && m->g < ex->n_gap;
    m->absent = m->ia == m->id && m->a < ex->n_absent;
    if (m->unique)
        m->iu = head_of(ex->unique_id, ++m->u, ex->n_unique);
    if (m->gapped)
        m->ig = head_of(ex->gap_id, ++m->g, ex->n_gap);
    if (m->absent)
        m->ia = head_of(ex->absent_id, ++m->a, ex->n_absent);
    return true;
}

/* Indices ascend from one exception to the next if every list does. */
static zaro_status check_id(const merge *m, int64_t next, int64_t total, zaro_generator_fault *fault) {
    if (m->id >= next && m->id < total)
        return ZARO_OK;
    zaro_generator_field field = m->unique ? ZARO_FIELD_UNIQUE_IDS : m->gapped ? ZARO_FIELD_GAP_IDS : ZARO_FIELD_ABSENT;
    return failed(fault, field, m->id, m->id < 0 || m->id >= total ? ZARO_RANGE : ZARO_ORDER);
}

/* The regular chunks first .. end-1 lie from byte `from` to byte `to`: is that a place in a file? */
static zaro_status check_run(const walk *w, int64_t first, int64_t end, wide from, wide to,
                             zaro_generator_fault *fault) {
    bool wrong = (first < end) & ((from < 0) | (to > INT64_MAX)); /* one branch, which is never taken */
    if (!wrong)
        return ZARO_OK;
    if (from < 0)
        return failed(fault, w->stepped_back ? ZARO_FIELD_GAPS : ZARO_FIELD_START, first, ZARO_RANGE);
    return failed(fault, ZARO_FIELD_LENGTHS, end - 1, ZARO_OVERFLOW);
}

static zaro_status check_one(const walk *w, int64_t id, wide from, int64_t size, int64_t gap,
                             zaro_generator_fault *fault) {
    bool wrong = (size >= 0) & ((from < 0) | (from + size > INT64_MAX));
    if (!wrong)
        return ZARO_OK;
    if (from < 0)
        return failed(fault, w->stepped_back ? ZARO_FIELD_GAPS : ZARO_FIELD_START, id, ZARO_RANGE);
    return failed(fault, gap > 0 ? ZARO_FIELD_GAPS : ZARO_FIELD_UNIQUE_LENGTHS, id, ZARO_OVERFLOW);
}

zaro_status zaro_generator_build(const zaro_generator *gen, const zaro_exceptions *ex, zaro_generator_index *index,
                                 zaro_generator_fault *fault) {
    int64_t total;
    if (gen->variables < 1 || gen->chunks < 0)
        return failed(fault, ZARO_FIELD_DIMS, 0, ZARO_RANGE);
    if (!zaro_mul_i64(gen->variables, gen->chunks, &total))
        return failed(fault, ZARO_FIELD_DIMS, 0, ZARO_OVERFLOW);
    zaro_status status;
    if ((status = sum_lengths(gen, fault)) != ZARO_OK)
        return status;

    const zaro_generator g = *gen; /* copies, which no store below can change */
    int64_t *restrict const id = index->id, *restrict const sizes = index->size;
    uint64_t *restrict const shifts = index->shift;
    const size_t room = index->n;
    walk w = {.gen = gen};
    merge m;
    start_merge(&m, ex);
    const divider d = make_divider(g.varwise ? g.variables : g.chunks);
    wide after = g.start; /* where chunk `next` would begin without a gap */
    int64_t next = 0;
    size_t row = 0;
    for (; next_exception(&m); row++) {
        if ((status = check_id(&m, next, total, fault)) != ZARO_OK)
            return status;
        if (row == room)
            return failed(fault, ZARO_FIELD_NONE, m.id, ZARO_MEMORY);
        int64_t variable;
        wide begin = g.start + regular_before(&g, d, m.id, &variable) + w.shift;
        int64_t regular = g.length[variable], gap = m.gapped ? m.ex.gap[m.g - 1] : 0;
        int64_t size = m.unique ? m.ex.unique_length[m.u - 1] : regular;
        if (size < 0)
            return failed(fault, ZARO_FIELD_UNIQUE_LENGTHS, m.id, ZARO_RANGE);
        size = m.absent ? -1 : size;
        if ((status = check_run(&w, next, m.id, after, begin, fault)) != ZARO_OK)
            return status;
        w.stepped_back |= gap < 0;
        if ((status = check_one(&w, m.id, begin + gap, size, gap, fault)) != ZARO_OK)
            return status;
        int64_t stored = size < 0 ? 0 : size;
        after = begin + gap + stored;
        next = m.id + 1;
        w.shift += (wide)gap + stored - regular;
        id[row] = m.id;
        sizes[row] = size;
        shifts[row] = (uint64_t)w.shift;
    }
    index->n = row;
    wide end = gen->start + (wide)gen->chunks * gen->before[gen->variables] + w.shift;
    return check_run(&w, next, total, after, end, fault);
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
