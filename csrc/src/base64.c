#include "zaro/base64.h"

enum { OTHER = 0x80, BLANK = 0x81, PAD = 0x82 }; /* what is no digit has the top bit */

#define X OTHER
#define S BLANK
static const uint8_t digit[256] = {
    X,  X,  X,  X,   X,  X,  X,  X, X, S, S,  X,  X,  S,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
    X,  X,  X,  S,   X,  X,  X,  X, X, X, X,  X,  X,  X,  62, X,  X,  X,  63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61,
    X,  X,  X,  PAD, X,  X,  X,  0, 1, 2, 3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25,  X,  X,  X,  X, X, X, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
    45, 46, 47, 48,  49, 50, 51, X, X, X, X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
    X,  X,  X,  X,   X,  X,  X,  X, X, X, X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
    X,  X,  X,  X,   X,  X,  X,  X, X, X, X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
    X,  X,  X,  X,   X,  X,  X,  X, X, X, X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
    X,  X,  X,  X,   X,  X,  X,  X, X, X, X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,  X,
};
#undef X
#undef S

static inline uint8_t *put3(uint8_t *out, uint32_t bits) {
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return out + 3;
}

/* Four digits at a time for as long as nothing else is met; *at is where that is. */
static uint8_t *whole_groups(const uint8_t *text, size_t n, size_t *at, uint8_t *out) {
    size_t k = *at;
    for (; n - k >= 4; k += 4) {
        uint32_t a = digit[text[k]], b = digit[text[k + 1]], c = digit[text[k + 2]], d = digit[text[k + 3]];
        if ((a | b | c | d) & OTHER)
            break;
        out = put3(out, a << 18 | b << 12 | c << 6 | d);
    }
    *at = k;
    return out;
}

bool zaro_base64_decode(const uint8_t *text, size_t n, uint8_t *out, size_t *decoded) {
    uint8_t *const begin = out;
    uint32_t bits = 0;
    size_t k = 0, digits = 0, padding = 0; /* digits of a group that is not whole yet */
    while (k < n) {
        if (!digits && !padding)
            out = whole_groups(text, n, &k, out);
        if (k == n)
            break;
        uint8_t value = digit[text[k++]];
        if (value == BLANK)
            continue;
        if (value == PAD) {
            padding++;
            continue;
        }
        if (value == OTHER || padding)
            return false;
        bits = bits << 6 | value;
        if (++digits == 4) {
            out = put3(out, bits);
            digits = 0;
        }
    }
    if (digits == 1 || padding != (4 - digits) % 4)
        return false;
    if (digits == 2) {
        *out++ = (uint8_t)(bits >> 4);
    } else if (digits == 3) {
        *out++ = (uint8_t)(bits >> 10);
        *out++ = (uint8_t)(bits >> 2);
    }
    *decoded = (size_t)(out - begin);
    return true;
}
