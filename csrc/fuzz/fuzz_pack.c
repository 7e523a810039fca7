/* Any columns: what packs expands to the same spans. */
#include <stdlib.h>
#include <string.h>

#include "zaro/generator.h"
#include "zaro/pack.h"

#define MOST 128

typedef struct {
    const uint8_t *at;
    size_t left;
} input;

static int64_t take(input *in, size_t bytes) {
    int64_t value = 0;
    bytes = bytes < in->left ? bytes : in->left;
    memcpy(&value, in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
    return value;
}

static int64_t take_bytes(input *in, int64_t usual) {
    int64_t kind = take(in, 1);
    return kind < 160 ? usual : kind < 240 ? take(in, 2) - 4 : take(in, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    static int32_t file[4][MOST], found_file[4 * MOST], run_file[4 * MOST];
    static int64_t offset[4][MOST], bytes[4][MOST], found_offset[4 * MOST], found_bytes[4 * MOST];
    static int64_t uid[4 * MOST], ulen[4 * MOST], gid[4 * MOST], gap[4 * MOST], aid[4 * MOST], last[4 * MOST];
    static int64_t id[12 * MOST], rows[12 * MOST];
    static uint64_t shift[12 * MOST];
    zaro_pack_column column[4];
    zaro_pack_source source = {column, 1 + take(&in, 1) % 4, take(&in, 1) % MOST, take(&in, 1) % 2};
    for (int64_t v = 0; v < source.variables; v++) {
        column[v] = (zaro_pack_column){file[v], offset[v], bytes[v]};
        int64_t here = take(&in, 2);
        for (int64_t c = 0; c < source.chunks; c++) {
            file[v][c] = (int32_t)(take(&in, 1) / 100) - (take(&in, 1) == 7);
            offset[v][c] = take_bytes(&in, here);
            bytes[v][c] = take_bytes(&in, 10);
            here = (int64_t)((uint64_t)offset[v][c] + 10);
        }
    }
    int64_t length[4], before[5], key[2 * MOST], times[2 * MOST], at;
    for (int64_t v = 0; v < source.variables; v++)
        if (zaro_pack_modal(column + v, source.chunks, key, times, 2 * MOST, length + v) != ZARO_OK)
            abort();
    zaro_packed packed;
    if (zaro_pack_count(&source, length, &packed, &at) != ZARO_OK)
        return 0;
    packed.unique_id = uid, packed.unique_length = ulen, packed.gap_id = gid, packed.gap = gap;
    packed.absent_id = aid, packed.last = last, packed.file = run_file;
    if (zaro_pack_fill(&source, length, &packed, &at) != ZARO_OK)
        abort();
    zaro_generator gen = {source.variables, source.chunks, length, before, packed.start, source.varwise};
    zaro_exceptions ex = {uid, ulen, packed.n_unique, gid, gap, packed.n_gap, aid, packed.n_absent};
    zaro_generator_index index = {id, rows, shift, 12 * MOST};
    zaro_runs runs = {last, run_file, packed.n_runs};
    zaro_generator_fault fault;
    zaro_status status = zaro_generator_build(&gen, &ex, &index, &fault);
    if (status == ZARO_OVERFLOW && fault.field == ZARO_FIELD_LENGTHS)
        return 0; /* the regular lengths of all variables together leave 64 bits */
    size_t total = (size_t)(source.variables * source.chunks);
    if (status != ZARO_OK)
        abort();
    if (packed.n_runs == 0)
        return 0;
    if (zaro_generator_check_runs(&gen, &runs, 4, &fault) != ZARO_OK ||
        zaro_generator_expand(&gen, &index, &runs, 0, total, found_file, found_offset, found_bytes) != ZARO_OK)
        abort();
    for (size_t i = 0; i < total; i++) {
        int64_t v = source.varwise ? (int64_t)i % source.variables : (int64_t)i / source.chunks;
        int64_t c = source.varwise ? (int64_t)i / source.variables : (int64_t)i % source.chunks;
        bool held = file[v][c] >= 0 && bytes[v][c] >= 0;
        if (found_file[i] != (held ? file[v][c] : -1))
            abort();
        if (held && (found_offset[i] != offset[v][c] || found_bytes[i] != bytes[v][c]))
            abort();
    }
    return 0;
}
