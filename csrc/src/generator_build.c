/* The exceptions of a generator merged, and every offset proven. */
#include "zaro/checked.h"
#include "zaro/generator.h"

typedef __int128 wide; /* holds start + regular bytes + shift of any generator that fits in memory */

#define LIMIT ((int64_t)1 << 61) /* of every sum that the quick way makes */

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

static zaro_status build_exactly(const zaro_generator *gen, int64_t total, const zaro_exceptions *ex,
                                 zaro_generator_index *index, zaro_generator_fault *fault) {
    zaro_status status;
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

/* ---- the quick way: 64 bits, and one test at the end for all rows ---- */

/* Exact, and without a correction, where id * d.by stays below 2^64 and d.by is not 1. */
static inline uint64_t divide_small(divider d, int64_t id, uint64_t *rest) {
    uint64_t quotient = (uint64_t)(((unsigned __int128)(uint64_t)id * d.inverse) >> 64);
    *rest = (uint64_t)id - quotient * d.by;
    return quotient;
}

/* False where anything is wrong or too large for this; build_exactly then says what.
 *
 * Signs gather in `minus` and magnitudes in `bits`, which are looked at once, at the end: with every number below
 * LIMIT / 4 / (room + 1) no sum of them can have left 64 bits. Between two exceptions offsets ascend, so that those
 * at gaps are all that can be negative.
 */
static bool build_quickly(const zaro_generator *gen, int64_t total, const zaro_exceptions *ex,
                          zaro_generator_index *index) {
    const size_t nu = ex->n_unique, ng = ex->n_gap, na = ex->n_absent, room = index->n;
    int64_t regular_bytes;
    if (!zaro_mul_i64(gen->chunks, gen->before[gen->variables], &regular_bytes) || regular_bytes >= LIMIT ||
        gen->start < 0 || gen->start >= LIMIT || total > UINT32_MAX || nu + ng + na > room || room > UINT32_MAX)
        return false;
    const bool varwise = gen->varwise && gen->variables > 1;
    const divider d = make_divider(varwise ? gen->variables : gen->chunks);
    if (d.by < 2)
        return false;
    const zaro_generator g = *gen; /* a copy, which no store below can change */
    const int64_t *restrict const uid = ex->unique_id, *restrict const gid = ex->gap_id;
    const int64_t *restrict const aid = ex->absent_id, *restrict const lengths = ex->unique_length;
    int64_t *restrict const id = index->id, *restrict const sizes = index->size;
    uint64_t *restrict const shifts = index->shift;
    size_t u = 0, k = 0, a = 0, row = 0;
    uint64_t shift = 0, minus = 0, bits = 0, quotient, rest;
    int64_t next = 0; /* the least index that ascends */
    while (u < nu || k < ng || a < na) {
        int64_t ig = head_of(gid, k, ng), ia = head_of(aid, a, na), stop = least(ig, ia);
        for (; u < nu && uid[u] < stop; u++, row++) { /* lengths alone, most of most documents */
            int64_t i = uid[u], size = lengths[u];
            minus |= ((uint64_t)i - (uint64_t)next) | (uint64_t)size;
            bits |= (uint64_t)size;
            if (i < 0 || i >= total)
                return false;
            quotient = divide_small(d, i, &rest);
            shift += (uint64_t)size - (uint64_t)g.length[varwise ? rest : quotient];
            next = i + 1;
            id[row] = i;
            sizes[row] = size;
            shifts[row] = shift;
        }
        if (k == ng && a == na)
            break;
        if (stop < next || stop >= total)
            return false;
        quotient = divide_small(d, stop, &rest);
        int64_t v = (int64_t)(varwise ? rest : quotient), regular = g.length[v];
        int64_t before = varwise ? (int64_t)quotient * g.before[g.variables] + g.before[v]
                                 : g.chunks * g.before[v] + (int64_t)rest * regular;
        bool unique = u < nu && uid[u] == stop, absent = ia == stop;
        int64_t gap = ig == stop ? ex->gap[k] : 0, size = unique ? lengths[u] : regular;
        minus |= (uint64_t)size | ((uint64_t)(g.start + before) + shift + (uint64_t)gap);
        bits |= (uint64_t)size | (uint64_t)(gap < 0 ? -1 - gap : gap);
        int64_t stored = absent ? 0 : size;
        shift += (uint64_t)gap + (uint64_t)stored - (uint64_t)regular;
        id[row] = stop;
        sizes[row] = absent ? -1 : size;
        shifts[row++] = shift;
        next = stop + 1;
        u += unique;
        k += ig == stop;
        a += absent;
    }
    for (int64_t v = 0; v < gen->variables; v++)
        bits |= (uint64_t)gen->length[v];
    index->n = row;
    return u == nu && !(minus >> 63) && bits < (uint64_t)LIMIT / 4 / (room + 1);
}

zaro_status zaro_generator_build(const zaro_generator *gen, const zaro_exceptions *ex, zaro_generator_index *index,
                                 zaro_generator_fault *fault) {
    int64_t total;
    if (gen->variables < 1 || gen->chunks < 0)
        return failed(fault, ZARO_FIELD_DIMS, 0, ZARO_RANGE);
    if (!zaro_mul_i64(gen->variables, gen->chunks, &total))
        return failed(fault, ZARO_FIELD_DIMS, 0, ZARO_OVERFLOW);
    zaro_status status = sum_lengths(gen, fault);
    if (status != ZARO_OK)
        return status;
    const size_t room = index->n;
    if (build_quickly(gen, total, ex, index))
        return ZARO_OK;
    index->n = room;
    return build_exactly(gen, total, ex, index, fault);
}
