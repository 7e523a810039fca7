/* Any chain on any bytes: an answer, the same one twice, never a byte read or written outside what
 * the chain was given.
 * ZARO_BLOSC in the environment may name a libblosc2, to decode Blosc chunks with. */
#include <stdlib.h>
#include <string.h>

#include "zaro/codec.h"

static zaro_type type_of(uint8_t byte) {
    static const zaro_type types[] = {{'b', 1, 0}, {'i', 1, 0}, {'i', 2, 0}, {'i', 4, 0}, {'i', 8, 0}, {'u', 1, 0},
                                      {'u', 2, 0}, {'u', 4, 0}, {'u', 8, 0}, {'f', 2, 0}, {'f', 4, 0}, {'f', 8, 0}};
    zaro_type type = types[byte % 12];
    type.big = byte >= 128;
    return type;
}

/* Input: number of steps; per step kind, width, two types; 2 bytes of block size; the stored bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const zaro_libraries *libraries;
    static bool looked;
    if (!looked) {
        looked = true;
        if (getenv("ZARO_BLOSC"))
            zaro_libraries_load(getenv("ZARO_BLOSC"), NULL, &libraries);
    }
    zaro_step step[4] = {{.kind = ZARO_STEP_BLOSC}};
    size_t n_step = size ? data[0] % 5 : 0, head = 3 + 4 * n_step, stored, scratch, at = 99;
    if (size < head)
        return 0;
    for (size_t k = 0; k < n_step; k++) {
        const uint8_t *from = data + 1 + 4 * k;
        step[k] = (zaro_step){
            (zaro_step_kind)(from[0] % ZARO_STEP_KINDS), from[1] % 17, type_of(from[2]), type_of(from[3]), 0.5, 3};
    }
    size_t decoded = (size_t)(data[head - 2] << 8 | data[head - 1]), n = size - head;
    bool exact;
    zaro_chain chain = {step, n_step};
    if (zaro_chain_sizes(&chain, decoded, &stored, &scratch, &exact) != ZARO_OK)
        return 0;
    uint8_t *in = malloc(n ? n : 1), *out = malloc(decoded ? decoded : 1), *room = malloc(scratch ? scratch : 1);
    if (n)
        memcpy(in, data + head, n);
    uint8_t *again = malloc(decoded ? decoded : 1);
    zaro_decoder *decoder = zaro_decoder_new(libraries);
    memset(out, 0, decoded);
    zaro_status status = zaro_chain_decode(&chain, decoder, in, n, out, decoded, scratch ? room : NULL, &at);
    if ((status == ZARO_OK) != (at == 99) || (status == ZARO_OK && exact && n != stored))
        abort();
    /* what a block holds comes from its bytes, never from what the memory held before */
    memset(again, 0xa5, decoded);
    memset(room, 0xa5, scratch);
    if (zaro_chain_decode(&chain, decoder, in, n, again, decoded, scratch ? room : NULL, &at) != status ||
        (status == ZARO_OK && decoded && memcmp(out, again, decoded) != 0))
        abort();
    zaro_decoder_free(decoder);
    free(in), free(out), free(room), free(again);
    return 0;
}
