#include <string.h>

#include "check.h"
#include "zaro/filter.h"

/* The slow twin: where byte j of element i comes from. */
static void slow_unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    size_t count = n / width;
    for (size_t at = 0; at < n; at++)
        out[at] = at < count * width ? in[at % width * count + at / width] : in[at];
}

static void every_variant_unshuffles_every_width_and_length(void) {
    for (size_t width = 1; width <= 33; width++)
        for (size_t n = 0; n < 1200; n += n < 200 ? 1 : 37) {
            uint8_t *in = malloc(n + 1), *expected = malloc(n + 1), *out = malloc(n + 1);
            for (size_t i = 0; i < n; i++)
                in[i] = (uint8_t)(i * 7 + i / 256);
            slow_unshuffle(in, expected, n, width);
            zaro_unshuffle_plain(in, out, n, width);
            CHECK(memcmp(out, expected, n) == 0);
            memset(out, 0, n);
            zaro_unshuffle(in, out, n, width);
            CHECK(memcmp(out, expected, n) == 0);
            free(in), free(expected), free(out);
        }
}

static void any_part_is_a_part_of_the_whole(void) {
    enum { COUNT = 75 };
    for (size_t width = 1; width <= 17; width++)
        for (size_t first = 0; first < COUNT; first += 7)
            for (size_t n = 0; n <= COUNT - first; n += 9) {
                uint8_t in[COUNT * 17], whole[COUNT * 17], *out = malloc(n * width + 1);
                for (size_t i = 0; i < sizeof in; i++)
                    in[i] = (uint8_t)(i * 13 + i / 256);
                slow_unshuffle(in, whole, COUNT * width, width);
                zaro_unshuffle_part(in, COUNT, first, n, out, width);
                CHECK(memcmp(out, whole + first * width, n * width) == 0);
                free(out);
            }
}

static void swap_reverses_every_element_and_leaves_the_rest(void) {
    for (size_t width = 1; width <= 17; width++)
        for (size_t n = 0; n < 100; n++) {
            uint8_t in[100], expected[100], out[100];
            for (size_t i = 0; i < n; i++)
                in[i] = expected[i] = (uint8_t)i;
            for (size_t i = 0; i < n / width * width; i++)
                expected[i] = in[i / width * width + (width - 1 - i % width)];
            zaro_swap(in, out, n, width);
            CHECK(memcmp(out, expected, n) == 0);
            zaro_swap(in, in, n, width);
            CHECK(memcmp(in, expected, n) == 0);
        }
}

int main(void) {
    every_variant_unshuffles_every_width_and_length();
    any_part_is_a_part_of_the_whole();
    swap_reverses_every_element_and_leaves_the_rest();
    return 0;
}
