#include "zaro/filter.h"

#include <string.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Elements [first, n) of planes that lie `plane` bytes apart; those before were done by a faster variant. */
static void unshuffle_from(const uint8_t *in, size_t plane, uint8_t *out, size_t first, size_t n, size_t width) {
    for (size_t i = first; i < n; i++)
        for (size_t j = 0; j < width; j++)
            out[i * width + j] = in[j * plane + i];
}

static void copy_rest(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    size_t rest = n % width;
    if (rest)
        memcpy(out + n - rest, in + n - rest, rest);
}

void zaro_unshuffle_plain(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    unshuffle_from(in, n / width, out, 0, n / width, width);
    copy_rest(in, out, n, width);
}

#if defined(__x86_64__)
#define LOAD(at) _mm_loadu_si128((const __m128i *)(const void *)(at))
#define STORE(at, v) _mm_storeu_si128((__m128i *)(void *)(at), v)

/* Interleave the bytes of row[k] and row[k + half], for every k: after log2(width) rounds over the
 * planes of 16 elements the rows are those elements. */
static inline void interleave(__m128i *row, __m128i *next, size_t width) {
    for (size_t k = 0; k < width / 2; k++) {
        next[2 * k] = _mm_unpacklo_epi8(row[k], row[k + width / 2]);
        next[2 * k + 1] = _mm_unpackhi_epi8(row[k], row[k + width / 2]);
    }
}

static inline __attribute__((always_inline)) size_t unshuffle_by_16(const uint8_t *in, size_t plane, uint8_t *out,
                                                                    size_t n, size_t width) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m128i a[16], b[16];
        for (size_t j = 0; j < width; j++)
            a[j] = LOAD(in + j * plane + i);
        __m128i *row = a, *next = b;
        for (size_t done = 1; done < width; done *= 2) {
            interleave(row, next, width);
            __m128i *other = row;
            row = next;
            next = other;
        }
        for (size_t j = 0; j < width; j++)
            STORE(out + i * width + j * 16, row[j]);
    }
    return i;
}
#endif

/* How many of the n elements a vector variant has done. */
static size_t unshuffle_most(const uint8_t *in, size_t plane, uint8_t *out, size_t n, size_t width) {
#if defined(__x86_64__)
    switch (width) {
    case 2:
        return unshuffle_by_16(in, plane, out, n, 2);
    case 4:
        return unshuffle_by_16(in, plane, out, n, 4);
    case 8:
        return unshuffle_by_16(in, plane, out, n, 8);
    case 16:
        return unshuffle_by_16(in, plane, out, n, 16);
    }
#endif
    (void)in, (void)plane, (void)out, (void)n, (void)width;
    return 0;
}

void zaro_unshuffle_part(const uint8_t *in, size_t count, size_t first, size_t n, uint8_t *out, size_t width) {
    size_t done = unshuffle_most(in + first, count, out, n, width);
    unshuffle_from(in + first, count, out, done, n, width);
}

void zaro_unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    if (n == 0)
        return;
    if (width == 1) {
        memcpy(out, in, n);
        return;
    }
    zaro_unshuffle_part(in, n / width, 0, n / width, out, width);
    copy_rest(in, out, n, width);
}

#define SWAP_AS(type, reverse)                         \
    for (size_t i = 0; i < whole; i += sizeof(type)) { \
        type v;                                        \
        memcpy(&v, in + i, sizeof v);                  \
        v = reverse(v);                                \
        memcpy(out + i, &v, sizeof v);                 \
    }

static void swap_any(const uint8_t *in, uint8_t *out, size_t whole, size_t width) {
    for (size_t i = 0; i < whole; i += width)
        for (size_t a = 0, b = width - 1; a <= b && b < width; a++, b--) {
            uint8_t left = in[i + a], right = in[i + b];
            out[i + a] = right;
            out[i + b] = left;
        }
}

void zaro_swap(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    size_t whole = n - n % width;
    switch (width) {
    case 1:
        if (in != out && n)
            memcpy(out, in, n);
        return;
    case 2:
        SWAP_AS(uint16_t, __builtin_bswap16) break;
    case 4:
        SWAP_AS(uint32_t, __builtin_bswap32) break;
    case 8:
        SWAP_AS(uint64_t, __builtin_bswap64) break;
    default:
        swap_any(in, out, whole, width);
    }
    if (in != out)
        copy_rest(in, out, n, width);
}
