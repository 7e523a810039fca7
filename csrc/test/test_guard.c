/* Damaged chunks between guard pages: cut anywhere, every byte wrong in some ways.
 *
 * AddressSanitizer does not see into the libraries that decode; a page that nobody may touch does.
 * Usage: test_guard FOLDER, of inputs as fuzz_codec takes them. ZARO_BLOSC in the environment may name a
 * libblosc2, to decode Blosc chunks with. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "guard.h"
#include "zaro/codec.h"

enum { MOST = 4096 };

static const zaro_libraries *libraries;

typedef struct {
    zaro_step step[4];
    size_t n_step, decoded, head;
} chain_of;

static bool read_chain(const uint8_t *data, size_t size, chain_of *found) {
    static const zaro_type word = {'u', 4, 0};
    found->n_step = size ? data[0] % 5 : 0;
    found->head = 3 + 4 * found->n_step;
    if (size < found->head)
        return false;
    for (size_t k = 0; k < found->n_step; k++) {
        const uint8_t *from = data + 1 + 4 * k;
        found->step[k] = (zaro_step){(zaro_step_kind)(from[0] % ZARO_STEP_KINDS), from[1] % 17, word, word, 1, 0};
    }
    found->decoded = (size_t)(data[found->head - 2] << 8 | data[found->head - 1]);
    return true;
}

/* Decode twice, over memory that held different things: what comes out may not depend on it. */
static bool decode(const chain_of *of, const uint8_t *in, size_t n) {
    zaro_chain chain = {of->step, of->n_step};
    size_t stored, scratch, step;
    bool exact;
    if (zaro_chain_sizes(&chain, of->decoded, &stored, &scratch, &exact) != ZARO_OK)
        return false;
    guarded source = guard_copy(in, n), target = guard(of->decoded), again = guard(of->decoded), room = guard(scratch);
    zaro_decoder *decoder = zaro_decoder_new(libraries);
    zaro_status status[2];
    for (int k = 0; k < 2; k++) {
        uint8_t *out = k ? again.data : target.data;
        if (of->decoded)
            memset(out, k ? 0xa5 : 0, of->decoded);
        if (scratch)
            memset(room.data, k ? 0xa5 : 0, scratch);
        status[k] =
            zaro_chain_decode(&chain, decoder, source.data, n, out, of->decoded, scratch ? room.data : NULL, &step);
    }
    zaro_decoder_free(decoder);
    CHECK(status[0] == status[1]);
    CHECK(status[0] != ZARO_OK || of->decoded == 0 || memcmp(target.data, again.data, of->decoded) == 0);
    guard_free(source), guard_free(target), guard_free(again), guard_free(room);
    return status[0] == ZARO_OK;
}

static void try_all(uint8_t *data, size_t size, size_t *good, size_t *bad) {
    static const uint8_t wrong[] = {0x01, 0x80, 0xff};
    chain_of of;
    if (!read_chain(data, size, &of))
        return;
    uint8_t *in = data + of.head;
    size_t n = size - of.head;
    for (size_t cut = 0; cut <= n; cut++)
        decode(&of, in, cut) ? ++*good : ++*bad;
    for (size_t at = 0; at < n; at++)
        for (size_t k = 0; k < sizeof wrong; k++) {
            in[at] ^= wrong[k];
            decode(&of, in, n) ? ++*good : ++*bad;
            in[at] ^= wrong[k];
        }
}

int main(int argc, char **argv) {
    static uint8_t data[MOST];
    size_t good = 0, bad = 0;
    if (getenv("ZARO_BLOSC"))
        zaro_libraries_load(getenv("ZARO_BLOSC"), NULL, &libraries);
    CHECK(argc == 2);
    DIR *folder = opendir(argv[1]);
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file == NULL)
            continue;
        size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        try_all(data, size, &good, &bad);
    }
    closedir(folder);
    CHECK(bad > 0);
    printf("%zu chunks decoded, %zu refused\n", good, bad);
    return 0;
}
