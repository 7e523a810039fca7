#include <string.h>

#include "check.h"
#include "zaro/generator.h"
#include "zaro/pack.h"

#define MOST 48

static uint64_t state = 3;

static int64_t draw(int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)below);
}

typedef struct {
    int32_t file[3][MOST];
    int64_t offset[3][MOST], length[3][MOST];
    zaro_pack_column column[3];
    zaro_pack_source source;
} sample;

/* Spans that are often regular, in files that sometimes change, with holes. */
static void make(sample *s) {
    int64_t variables = 1 + draw(3), chunks = 1 + draw(MOST - 1), odd = 1 + draw(9);
    s->source = (zaro_pack_source){s->column, variables, chunks, draw(2) == 0};
    for (int64_t v = 0; v < variables; v++) {
        s->column[v] = (zaro_pack_column){s->file[v], s->offset[v], s->length[v]};
        int64_t here = draw(100);
        int32_t file = 0;
        for (int64_t c = 0; c < chunks; c++) {
            file = draw(odd) ? file : (int32_t)draw(3);
            here = draw(odd) ? here : draw(500);
            s->file[v][c] = draw(odd) ? file : -1 - (int32_t)draw(2);
            s->offset[v][c] = here;
            s->length[v][c] = draw(odd) ? 10 : draw(4) - 1;
            here += 10;
        }
    }
}

static int64_t slow_modal(const zaro_pack_column *column, int64_t chunks) {
    int64_t best = 0, most = 0;
    for (int64_t a = 0; a < chunks; a++) {
        int64_t n = 0;
        for (int64_t b = 0; b < chunks; b++)
            n += column->file[b] >= 0 && column->length[b] == column->length[a];
        bool here = column->file[a] >= 0 && column->length[a] >= 0;
        if (here && (n > most || (n == most && column->length[a] < best)))
            best = column->length[a], most = n;
    }
    return best;
}

/* What is packed and expanded again is what it was. */
static void there_and_back(const sample *s) {
    const zaro_pack_source *source = &s->source;
    int64_t length[3], before[4], key[256], times[256], at = -1, total = source->variables * source->chunks;
    for (int64_t v = 0; v < source->variables; v++) {
        CHECK(zaro_pack_modal(s->column + v, source->chunks, key, times, 256, length + v) == ZARO_OK);
        CHECK(length[v] == slow_modal(s->column + v, source->chunks));
    }
    zaro_packed packed;
    CHECK(zaro_pack_count(source, length, &packed, &at) == ZARO_OK);
    int64_t unique_id[3 * MOST], unique[3 * MOST], gap_id[3 * MOST], gap[3 * MOST], absent[3 * MOST], last[3 * MOST];
    int32_t file[3 * MOST];
    packed.unique_id = unique_id, packed.unique_length = unique, packed.gap_id = gap_id, packed.gap = gap;
    packed.absent_id = absent, packed.last = last, packed.file = file;
    CHECK(zaro_pack_fill(source, length, &packed, &at) == ZARO_OK);

    zaro_generator gen = {source->variables, source->chunks, length, before, packed.start, source->varwise};
    zaro_exceptions ex = {unique_id, unique, packed.n_unique, gap_id, gap, packed.n_gap, absent, packed.n_absent};
    int64_t id[9 * MOST], size[9 * MOST];
    uint64_t shift[9 * MOST];
    zaro_generator_index index = {id, size, shift, 9 * MOST};
    zaro_runs runs = {last, file, packed.n_runs};
    zaro_generator_fault fault;
    CHECK(zaro_generator_build(&gen, &ex, &index, &fault) == ZARO_OK);
    if (packed.n_absent == (size_t)total) {
        CHECK(packed.n_runs == 0);
        return;
    }
    CHECK(zaro_generator_check_runs(&gen, &runs, 3, &fault) == ZARO_OK);
    int32_t found_file[3 * MOST];
    int64_t found_offset[3 * MOST], found_length[3 * MOST];
    CHECK(zaro_generator_expand(&gen, &index, &runs, 0, (size_t)total, found_file, found_offset, found_length) ==
          ZARO_OK);
    for (int64_t v = 0; v < source->variables; v++)
        for (int64_t c = 0; c < source->chunks; c++) {
            int64_t i = source->varwise ? c * source->variables + v : v * source->chunks + c;
            if (s->file[v][c] < 0 || s->length[v][c] < 0) {
                CHECK(found_file[i] == -1);
                continue;
            }
            CHECK(found_file[i] == s->file[v][c]);
            CHECK(found_offset[i] == s->offset[v][c]);
            CHECK(found_length[i] == s->length[v][c]);
        }
    if (packed.n_gap) { /* a list that is too short is noticed, not overrun */
        packed.n_gap--;
        CHECK(zaro_pack_fill(source, length, &packed, &at) == ZARO_RANGE);
    }
}

static void impossible_spans_are_refused(void) {
    int32_t file[3] = {0, 0, 0};
    int64_t offset[3] = {0, 5, 10}, length[3] = {5, 5, 5}, usual = 5, at = -1, key[4], times[4], modal;
    zaro_pack_column column = {file, offset, length};
    zaro_pack_source source = {&column, 1, 3, true};
    zaro_packed packed;
    CHECK(zaro_pack_count(&source, &usual, &packed, &at) == ZARO_OK);
    CHECK(packed.start == 0 && packed.n_gap == 0 && packed.n_unique == 0 && packed.n_runs == 1);
    offset[1] = -1;
    CHECK(zaro_pack_count(&source, &usual, &packed, &at) == ZARO_RANGE && at == 1);
    offset[1] = INT64_MAX - 4;
    CHECK(zaro_pack_count(&source, &usual, &packed, &at) == ZARO_OVERFLOW && at == 1);
    source.chunks = INT64_MAX, source.variables = 2;
    CHECK(zaro_pack_count(&source, &usual, &packed, &at) == ZARO_OVERFLOW);
    length[0] = 1, length[1] = 2;
    CHECK(zaro_pack_modal(&column, 3, key, times, 4, &modal) == ZARO_MEMORY);
    CHECK(zaro_pack_modal(&column, 3, key, times, 3, &modal) == ZARO_RANGE);
}

int main(void) {
    for (int trial = 0; trial < 20000; trial++) {
        sample s;
        make(&s);
        there_and_back(&s);
    }
    impossible_spans_are_refused();
    return 0;
}
