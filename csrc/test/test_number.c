#include <math.h>
#include <string.h>

#include "guard.h"
#include "zaro/endian.h"
#include "zaro/number.h"

static const zaro_type i2 = {'i', 2, false}, big_i2 = {'i', 2, true}, u1 = {'u', 1, false}, f2 = {'f', 2, false},
                       f4 = {'f', 4, false}, f8 = {'f', 8, false}, i4 = {'i', 4, false}, u8 = {'u', 8, false};

/* Every float16 there is survives the way through float64 and back, not-a-numbers with their payload. */
static void every_half_survives(void) {
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits, back;
        double wide;
        CHECK(zaro_number_convert(f2, f8, (uint8_t *)&half, (uint8_t *)&wide, 1) == ZARO_OK);
        CHECK(zaro_number_convert(f8, f2, (uint8_t *)&wide, (uint8_t *)&back, 1) == ZARO_OK);
        CHECK(back == half);
        int exponent = half >> 10 & 31, mantissa = half & 1023;
        double expected = exponent == 31 ? (mantissa ? NAN : INFINITY)
                          : exponent     ? ldexp(1024 + mantissa, exponent - 25)
                                         : ldexp(mantissa, -24);
        CHECK(isnan(expected) ? isnan(wide) : wide == (half & 0x8000 ? -expected : expected));
    }
}

/* Between two neighbours the nearest wins, and the even one in the middle. */
static void halves_round_to_even(void) {
    for (uint16_t half = 0; half < 0x7bff; half++) {
        uint16_t pair[2] = {half, (uint16_t)(half + 1)}, found[3];
        double wide[2], between[3];
        zaro_number_convert(f2, f8, (uint8_t *)pair, (uint8_t *)wide, 2);
        between[1] = (wide[0] + wide[1]) / 2;
        between[0] = nextafter(between[1], wide[0]);
        between[2] = nextafter(between[1], wide[1]);
        zaro_number_convert(f8, f2, (uint8_t *)between, (uint8_t *)found, 3);
        CHECK(found[0] == half && found[2] == half + 1 && found[1] == half + (half & 1));
    }
}

static void floats_outside_an_integers_range_are_defined(void) {
    double in[6] = {NAN, INFINITY, -INFINITY, 1e300, -1.5, 300.0};
    int32_t narrow[6];
    uint8_t byte[6];
    uint64_t wide[6];
    CHECK(zaro_number_convert(f8, i4, (uint8_t *)in, (uint8_t *)narrow, 6) == ZARO_OK);
    CHECK(narrow[0] == INT32_MIN && narrow[1] == INT32_MIN && narrow[3] == INT32_MIN && narrow[4] == -1);
    CHECK(zaro_number_convert(f8, u1, (uint8_t *)in, byte, 6) == ZARO_OK && byte[4] == 255 && byte[5] == 44);
    CHECK(zaro_number_convert(f8, u8, (uint8_t *)in, (uint8_t *)wide, 6) == ZARO_OK && wide[4] == UINT64_MAX);
}

static void sums_wrap_and_cross_runs(void) {
    uint8_t in[1000];
    guarded source, out = guard(2000);
    for (size_t k = 0; k < 1000; k++)
        in[k] = 200;
    source = guard_copy(in, 1000);
    CHECK(zaro_number_sum(u1, big_i2, source.data, out.data, 1000) == ZARO_OK);
    for (size_t k = 0; k < 1000; k++)
        CHECK((out.data[2 * k] << 8 | out.data[2 * k + 1]) == (int)(200 * (k + 1) & 0xffff));
    guard_free(source), guard_free(out);
}

static void scale_divides_then_adds(void) {
    int16_t in[3] = {-5, 0, 7};
    double wide[3];
    float narrow[3];
    CHECK(zaro_number_scale(i2, f8, 10.0, 273.15, (uint8_t *)in, (uint8_t *)wide, 3) == ZARO_OK);
    CHECK(zaro_number_scale(i2, f4, 10.0, 273.15, (uint8_t *)in, (uint8_t *)narrow, 3) == ZARO_OK);
    for (int k = 0; k < 3; k++)
        CHECK(wide[k] == in[k] / 10.0 + 273.15 && narrow[k] == (float)wide[k]);
}

static void types_that_are_none_are_refused(void) {
    uint8_t byte = 0;
    zaro_type bad[] = {{'b', 2, false}, {'i', 3, false}, {'f', 1, false}, {'c', 8, false}, {'f', 16, false}, {0, 0, 0}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        CHECK(zaro_number_convert(bad[k], i2, &byte, &byte, 0) == ZARO_RANGE);
        CHECK(zaro_number_sum(i2, bad[k], &byte, &byte, 0) == ZARO_RANGE);
        CHECK(zaro_number_scale(bad[k], i2, 1, 0, &byte, &byte, 0) == ZARO_RANGE);
    }
}

/* Any bytes are numbers: no pair of types meets undefined behaviour, at any length. */
static void all_pairs_take_all_values(void) {
    const char kinds[] = "biiiiuuuufff";
    const uint8_t widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8};
    uint8_t in[8 * 300];
    uint32_t seed = 7;
    for (size_t k = 0; k < sizeof in; k++)
        in[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    for (size_t a = 0; a < 24; a++)
        for (size_t b = 0; b < 24; b++) {
            zaro_type from = {kinds[a / 2], widths[a / 2], a % 2}, to = {kinds[b / 2], widths[b / 2], b % 2};
            guarded source = guard_copy(in, 300u * from.width), out = guard(300u * to.width);
            CHECK(zaro_number_convert(from, to, source.data, out.data, 300) == ZARO_OK);
            CHECK(zaro_number_sum(from, to, source.data, out.data, 300) == ZARO_OK);
            CHECK(zaro_number_scale(from, to, 0.1, -3, source.data, out.data, 300) == ZARO_OK);
            CHECK(zaro_number_scale(from, to, 0, 0, source.data, out.data, 300) == ZARO_OK);
            guard_free(source), guard_free(out);
        }
}

int main(void) {
    every_half_survives();
    halves_round_to_even();
    floats_outside_an_integers_range_are_defined();
    sums_wrap_and_cross_runs();
    scale_divides_then_adds();
    types_that_are_none_are_refused();
    all_pairs_take_all_values();
    return 0;
}
