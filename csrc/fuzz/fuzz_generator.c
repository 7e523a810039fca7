/* Any generator: what build accepts, expand and locate agree on, and every chunk lies at a place in a file. */
#include <stdlib.h>
#include <string.h>

#include "zaro/generator.h"

#define MOST 512

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

/* A list of indices that mostly ascend; some input makes it wild. */
static size_t take_ids(input *in, int64_t *id) {
    size_t n = (size_t)take(in, 1) % 32;
    int64_t here = -1;
    for (size_t k = 0; k < n; k++) {
        int64_t step = take(in, 1);
        here = step == 255 || here > 1 << 20 ? take(in, 8) : here + 1 + step % 16;
        id[k] = here;
    }
    return n;
}

static int64_t take_bytes(input *in) {
    int64_t kind = take(in, 1);
    return kind < 200 ? take(in, 2) : kind < 250 ? -take(in, 2) : take(in, 8);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    int64_t length[8], before[9], uid[32], ulen[32], gid[32], gap[32], aid[32], last[33], id[96], rows[96];
    uint64_t shift[96];
    int32_t file[33];
    zaro_generator gen = {1 + take(&in, 1) % 8, take(&in, 1) % 64, length, before, take_bytes(&in), take(&in, 1) % 2};
    for (int64_t v = 0; v < gen.variables; v++)
        length[v] = take_bytes(&in);
    zaro_exceptions ex = {uid, ulen, take_ids(&in, uid), gid, gap, take_ids(&in, gid), aid, take_ids(&in, aid)};
    for (size_t k = 0; k < 32; k++) {
        ulen[k] = take_bytes(&in);
        gap[k] = take_bytes(&in);
        file[k] = (int32_t)k;
    }
    zaro_runs runs = {last, file, take_ids(&in, last)};
    last[runs.n] = gen.variables * gen.chunks;
    file[runs.n++] = 32;

    zaro_generator_index index = {id, rows, shift, 96};
    zaro_generator_fault fault;
    if (zaro_generator_build(&gen, &ex, &index, &fault) != ZARO_OK ||
        zaro_generator_check_runs(&gen, &runs, 33, &fault) != ZARO_OK)
        return 0;
    size_t total = (size_t)(gen.variables * gen.chunks), at;
    int32_t *files = malloc((total + 1) * sizeof *files);
    int64_t *offset = malloc((total + 1) * sizeof *offset), *bytes = malloc((total + 1) * sizeof *bytes);
    if (zaro_generator_expand(&gen, &index, &runs, 0, total, files, offset, bytes) != ZARO_OK)
        abort();
    for (size_t i = 0; i < total; i++) {
        int64_t v, c;
        if (gen.varwise)
            v = (int64_t)i % gen.variables, c = (int64_t)i / gen.variables;
        else
            v = (int64_t)i / gen.chunks, c = (int64_t)i % gen.chunks;
        int32_t one_file;
        int64_t one_offset, one_length;
        if (zaro_generator_locate(&gen, &index, &runs, v, &c, 1, &one_file, &one_offset, &one_length, &at) != ZARO_OK)
            abort();
        if (one_file != files[i] || one_offset != offset[i] || one_length != bytes[i])
            abort();
        if (one_offset < 0 || one_length < 0 || one_offset > INT64_MAX - one_length)
            abort();
    }
    free(files);
    free(offset);
    free(bytes);
    return 0;
}
