#include <string.h>

#include "check.h"
#include "zaro/codec.h"

static zaro_status decode(const zaro_step *steps, size_t n_steps, const uint8_t *in, size_t n, uint8_t *out,
                          size_t decoded, size_t *step) {
    zaro_chain chain = {steps, n_steps};
    size_t stored, scratch;
    bool exact;
    CHECK(zaro_chain_sizes(&chain, decoded, &stored, &scratch, &exact) == ZARO_OK);
    uint8_t *room = malloc(scratch ? scratch : 1);
    zaro_decoder *decoder = zaro_decoder_new(NULL);
    zaro_status status = zaro_chain_decode(&chain, decoder, in, n, out, decoded, scratch ? room : NULL, step);
    zaro_decoder_free(decoder);
    free(room);
    return status;
}

static void an_empty_chain_copies_and_insists_on_the_size(void) {
    uint8_t in[4] = {1, 2, 3, 4}, out[4];
    size_t step = 9;
    CHECK(decode(NULL, 0, in, 4, out, 4, &step) == ZARO_OK && memcmp(in, out, 4) == 0);
    CHECK(decode(NULL, 0, in, 3, out, 4, &step) == ZARO_SHORT && step == 0);
    CHECK(decode(NULL, 0, in, 4, out, 3, &step) == ZARO_LONG);
}

int main(void) {
    an_empty_chain_copies_and_insists_on_the_size();
    return 0;
}
