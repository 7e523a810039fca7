/* Any bytes, any width: the ways to unshuffle agree, and swapping twice changes nothing. */
#include <stdlib.h>
#include <string.h>

#include "zaro/filter.h"

static void expect(const uint8_t *found, const uint8_t *expected, size_t n) {
    if (n && memcmp(found, expected, n) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1)
        return 0;
    size_t width = 1 + data[0] % 40, n = size - 1;
    uint8_t *in = malloc(n), *plain = malloc(n), *out = malloc(n);
    if (n)
        memcpy(in, data + 1, n);
    zaro_unshuffle_plain(in, plain, n, width);
    zaro_unshuffle(in, out, n, width);
    expect(out, plain, n);
    size_t count = n / width, first = count ? data[size - 1] % count : 0;
    uint8_t *part = malloc((count - first) * width);
    zaro_unshuffle_part(in, count, first, count - first, part, width);
    expect(part, plain + first * width, (count - first) * width);
    free(part);
    zaro_swap(in, out, n, width);
    zaro_swap(out, out, n, width);
    expect(out, in, n);
    free(in), free(plain), free(out);
    return 0;
}
