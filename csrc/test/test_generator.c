#include <string.h>

#include "check.h"
#include "zaro/generator.h"

#define MOST 64

/* A small generator with room for everything, and the answers of the slow twin. */
typedef struct {
    int64_t length[4], before[5];
    int64_t unique_id[MOST], unique_length[MOST], gap_id[MOST], gap[MOST], absent_id[MOST];
    int64_t last[MOST];
    int32_t file[MOST];
    zaro_generator gen;
    zaro_exceptions ex;
    zaro_runs runs;
    int64_t id[3 * MOST], size[3 * MOST];
    uint64_t shift[3 * MOST];
    zaro_generator_index index;
} sample;

typedef struct {
    int32_t file[MOST];
    int64_t offset[MOST], length[MOST];
} columns;

static uint64_t state = 1;

static int64_t draw(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static int64_t variable_of(const zaro_generator *g, int64_t i) { return g->varwise ? i % g->variables : i / g->chunks; }

/* The slow twin: the recurrence of generator.h, one chunk after the other. False where a chunk that
 * exists lies before byte 0. */
static bool recur(const sample *s, columns *out) {
    int64_t total = s->gen.variables * s->gen.chunks, here = s->gen.start;
    for (int64_t i = 0; i < total; i++) {
        int64_t size = s->length[variable_of(&s->gen, i)];
        bool absent = false;
        for (size_t k = 0; k < s->ex.n_unique; k++)
            size = s->unique_id[k] == i ? s->unique_length[k] : size;
        for (size_t k = 0; k < s->ex.n_absent; k++)
            absent |= s->absent_id[k] == i;
        for (size_t k = 0; k < s->ex.n_gap; k++)
            here += s->gap_id[k] == i ? s->gap[k] : 0;
        size_t run = 0;
        while (s->last[run] < i)
            run++;
        out->file[i] = absent ? -1 : s->file[run];
        out->offset[i] = absent ? 0 : here;
        out->length[i] = absent ? 0 : size;
        if (!absent && here < 0)
            return false;
        here += absent ? 0 : size;
    }
    return true;
}

static size_t some_ids(int64_t total, int64_t one_in, int64_t *id) {
    size_t n = 0;
    for (int64_t i = 0; i < total; i++)
        if (draw(one_in) == 0)
            id[n++] = i;
    return n;
}

static void make(sample *s) {
    memset(s, 0, sizeof *s);
    int64_t variables = 1 + draw(4), chunks = 1 + draw(MOST / 4), total = variables * chunks;
    s->gen = (zaro_generator){variables, chunks, s->length, s->before, draw(60), draw(2) == 0};
    for (int64_t v = 0; v < variables; v++)
        s->length[v] = draw(50);
    s->ex = (zaro_exceptions){s->unique_id,
                              s->unique_length,
                              some_ids(total, 1 + draw(6), s->unique_id),
                              s->gap_id,
                              s->gap,
                              some_ids(total, 1 + draw(6), s->gap_id),
                              s->absent_id,
                              some_ids(total, 1 + draw(9), s->absent_id)};
    for (size_t k = 0; k < s->ex.n_unique; k++)
        s->unique_length[k] = draw(90);
    for (size_t k = 0; k < s->ex.n_gap; k++)
        s->gap[k] = draw(90) - 50;
    size_t runs = some_ids(total - 1, 1 + draw(8), s->last);
    s->last[runs++] = total - 1 + draw(2);
    for (size_t k = 0; k < runs; k++)
        s->file[k] = (int32_t)draw(3);
    s->runs = (zaro_runs){s->last, s->file, runs};
    s->index = (zaro_generator_index){s->id, s->size, s->shift, 3 * MOST};
}

static void same(const columns *a, int64_t from, const columns *b, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        CHECK(a->file[from + k] == b->file[k]);
        CHECK(a->offset[from + k] == b->offset[k]);
        CHECK(a->length[from + k] == b->length[k]);
    }
}

static void expand_agrees_with_the_recurrence(const sample *s, const columns *expected) {
    int64_t total = s->gen.variables * s->gen.chunks;
    for (int64_t first = 0; first <= total; first++) {
        columns found;
        int64_t n = draw(total - first + 1);
        CHECK(zaro_generator_expand(&s->gen, &s->index, &s->runs, first, (size_t)n, found.file, found.offset,
                                    found.length) == ZARO_OK);
        same(expected, first, &found, n);
    }
    columns none;
    CHECK(zaro_generator_expand(&s->gen, &s->index, &s->runs, 1, (size_t)total, none.file, none.offset, none.length) ==
          ZARO_RANGE);
}

static void locate_agrees_with_the_recurrence(const sample *s, const columns *expected) {
    const zaro_generator *g = &s->gen;
    for (int64_t v = 0; v < g->variables; v++)
        for (int ascending = 0; ascending < 2; ascending++) {
            columns found;
            int64_t chunk[MOST];
            size_t at = 99;
            for (int64_t k = 0; k < g->chunks; k++)
                chunk[k] = ascending ? k : draw(g->chunks);
            CHECK(zaro_generator_locate(g, &s->index, &s->runs, v, chunk, (size_t)g->chunks, found.file, found.offset,
                                        found.length, &at) == ZARO_OK);
            for (int64_t k = 0; k < g->chunks; k++) {
                int64_t i = g->varwise ? chunk[k] * g->variables + v : v * g->chunks + chunk[k];
                CHECK(found.file[k] == expected->file[i] && found.offset[k] == expected->offset[i]);
                CHECK(found.length[k] == expected->length[i]);
            }
            chunk[g->chunks - 1] = g->chunks;
            CHECK(zaro_generator_locate(g, &s->index, &s->runs, v, chunk, (size_t)g->chunks, found.file, found.offset,
                                        found.length, &at) == ZARO_RANGE);
            CHECK(at == (size_t)g->chunks - 1);
        }
}

static void all_agree(void) {
    int good = 0, bad = 0;
    for (int trial = 0; trial < 20000; trial++) {
        sample s;
        columns expected;
        zaro_generator_fault fault = {ZARO_FIELD_NONE, -1};
        make(&s);
        bool fine = recur(&s, &expected);
        zaro_status status = zaro_generator_build(&s.gen, &s.ex, &s.index, &fault);
        CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 3, &fault) == ZARO_OK);
        CHECK(status == (fine ? ZARO_OK : ZARO_RANGE));
        if (!fine) {
            CHECK(fault.field == ZARO_FIELD_GAPS);
            bad++;
            continue;
        }
        good++;
        expand_agrees_with_the_recurrence(&s, &expected);
        locate_agrees_with_the_recurrence(&s, &expected);
    }
    CHECK(good > 1000 && bad > 1000);
}

static zaro_status build(sample *s, zaro_generator_fault *fault) {
    s->index = (zaro_generator_index){s->id, s->size, s->shift, 3 * MOST};
    return zaro_generator_build(&s->gen, &s->ex, &s->index, fault);
}

static void plain(sample *s) {
    memset(s, 0, sizeof *s);
    s->gen = (zaro_generator){2, 10, s->length, s->before, 100, true};
    s->length[0] = s->length[1] = 5;
    s->ex = (zaro_exceptions){s->unique_id, s->unique_length, 0, s->gap_id, s->gap, 0, s->absent_id, 0};
}

static void every_fault_is_named(void) {
    sample s;
    zaro_generator_fault fault;

    plain(&s);
    CHECK(build(&s, &fault) == ZARO_OK);
    s.gen.start = -1;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_START && fault.at == 0);
    s.gen.start = INT64_MAX - 99;
    CHECK(build(&s, &fault) == ZARO_OVERFLOW && fault.field == ZARO_FIELD_LENGTHS && fault.at == 19);
    s.gen.start = INT64_MAX - 100;
    CHECK(build(&s, &fault) == ZARO_OK);

    plain(&s);
    s.length[1] = -1;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_LENGTHS && fault.at == 1);
    s.length[0] = 5, s.length[1] = INT64_MAX;
    CHECK(build(&s, &fault) == ZARO_OVERFLOW && fault.field == ZARO_FIELD_LENGTHS);

    plain(&s);
    s.ex.n_unique = 2, s.unique_id[0] = 4, s.unique_id[1] = 4;
    CHECK(build(&s, &fault) == ZARO_ORDER && fault.field == ZARO_FIELD_UNIQUE_IDS && fault.at == 4);
    s.unique_id[1] = 20;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_UNIQUE_IDS && fault.at == 20);
    s.unique_id[1] = INT64_MAX;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_UNIQUE_IDS && fault.at == INT64_MAX);
    s.unique_id[1] = 19, s.unique_length[1] = -7;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_UNIQUE_LENGTHS && fault.at == 19);
    s.unique_length[1] = INT64_MAX;
    CHECK(build(&s, &fault) == ZARO_OVERFLOW && fault.field == ZARO_FIELD_UNIQUE_LENGTHS && fault.at == 19);

    plain(&s);
    s.ex.n_unique = 2, s.unique_id[0] = 5, s.unique_id[1] = INT64_MIN; /* as far below as there is */
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_UNIQUE_IDS && fault.at == INT64_MIN);

    plain(&s);
    s.ex.n_gap = 1, s.gap_id[0] = -1;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_GAP_IDS && fault.at == -1);
    s.gap_id[0] = 3, s.gap[0] = -116;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_GAPS && fault.at == 3);
    s.gap[0] = INT64_MAX;
    CHECK(build(&s, &fault) == ZARO_OVERFLOW && fault.field == ZARO_FIELD_GAPS && fault.at == 3);
    s.gap[0] = -116, s.ex.n_absent = 1, s.absent_id[0] = 3; /* an absent chunk may lie anywhere, the next may not */
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_GAPS && fault.at == 4);
    s.ex.n_gap = 0, s.absent_id[0] = 20;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_ABSENT && fault.at == 20);

    plain(&s);
    s.gen.chunks = INT64_MAX;
    CHECK(build(&s, &fault) == ZARO_OVERFLOW && fault.field == ZARO_FIELD_DIMS);
    s.gen.chunks = -1;
    CHECK(build(&s, &fault) == ZARO_RANGE && fault.field == ZARO_FIELD_DIMS);
    s.gen.chunks = 0;
    CHECK(build(&s, &fault) == ZARO_OK);
}

static void runs_are_checked(void) {
    sample s;
    zaro_generator_fault fault;
    plain(&s);
    s.runs = (zaro_runs){s.last, s.file, 2};
    s.last[0] = 9, s.last[1] = 20;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_OK);
    s.last[1] = 18;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_RANGE && fault.at == 2);
    s.last[1] = 21;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_RANGE && fault.at == 1);
    s.last[1] = 9;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_ORDER && fault.at == 1);
    s.last[1] = 19, s.file[0] = 1;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_RANGE && fault.at == 0);
    s.runs.n = 0;
    CHECK(zaro_generator_check_runs(&s.gen, &s.runs, 1, &fault) == ZARO_RANGE);
}

/* Offsets that only fit because a huge step back follows a huge step ahead: the sums are taken modulo 2^64. */
static void large_numbers_cancel(void) {
    sample s;
    zaro_generator_fault fault;
    columns found;
    size_t at;
    plain(&s);
    s.gen = (zaro_generator){1, 4, s.length, s.before, 0, true};
    s.length[0] = INT64_MAX;
    s.ex.n_absent = 3, s.absent_id[0] = 0, s.absent_id[1] = 1, s.absent_id[2] = 3;
    s.last[0] = 3, s.runs = (zaro_runs){s.last, s.file, 1};
    CHECK(build(&s, &fault) == ZARO_OK);
    int64_t chunk = 2;
    CHECK(zaro_generator_locate(&s.gen, &s.index, &s.runs, 0, &chunk, 1, found.file, found.offset, found.length, &at) ==
          ZARO_OK);
    CHECK(found.offset[0] == 0 && found.length[0] == INT64_MAX);
    CHECK(zaro_generator_expand(&s.gen, &s.index, &s.runs, 0, 4, found.file, found.offset, found.length) == ZARO_OK);
    CHECK(found.offset[2] == 0 && found.length[2] == INT64_MAX && found.file[3] == -1);
}

int main(void) {
    all_agree();
    every_fault_is_named();
    runs_are_checked();
    large_numbers_cancel();
    return 0;
}
