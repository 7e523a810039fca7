#include "zaro/checksum.h"

#include <string.h>

#include "zaro/endian.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* A CRC is linear: the entry of a byte is the sum (xor) of the entries of its bits. Eight constants
 * for the polynomial stand for the table, and the compiler fills it in. */
#define BIT(i, b, value) (((i) >> (b)) & 1u ? (value) : 0u)
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                            \
    (BIT(i, 0, b0) ^ BIT(i, 1, b1) ^ BIT(i, 2, b2) ^ BIT(i, 3, b3) ^ BIT(i, 4, b4) ^ BIT(i, 5, b5) ^        \
     BIT(i, 6, b6) ^ BIT(i, 7, b7))
#define CRC32C_ENTRY(i)                                                                                     \
    ENTRY(i, 0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u)
#define CRC32_ENTRY(i)                                                                                      \
    ENTRY(i, 0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u)
#define ROW4(E, i) E(i), E((i) + 1), E((i) + 2), E((i) + 3)
#define ROW16(E, i) ROW4(E, i), ROW4(E, (i) + 4), ROW4(E, (i) + 8), ROW4(E, (i) + 12)
#define ROW64(E, i) ROW16(E, i), ROW16(E, (i) + 16), ROW16(E, (i) + 32), ROW16(E, (i) + 48)
#define TABLE(E) {ROW64(E, 0u), ROW64(E, 64u), ROW64(E, 128u), ROW64(E, 192u)}

static const uint32_t crc32c_table[256] = TABLE(CRC32C_ENTRY);
static const uint32_t crc32_table[256] = TABLE(CRC32_ENTRY);

static uint32_t crc_by_table(const uint32_t *table, const uint8_t *in, size_t n) {
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < n; i++)
        crc = table[(crc ^ in[i]) & 0xff] ^ (crc >> 8);
    return ~crc;
}

uint32_t zaro_crc32c_plain(const uint8_t *in, size_t n) { return crc_by_table(crc32c_table, in, n); }

uint32_t zaro_crc32(const uint8_t *in, size_t n) { return crc_by_table(crc32_table, in, n); }

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(const uint8_t *in, size_t n) {
    uint64_t crc = 0xffffffffu;
    for (; n >= 8; in += 8, n -= 8)
        crc = _mm_crc32_u64(crc, zaro_le64(in));
    for (; n; in++, n--)
        crc = _mm_crc32_u8((uint32_t)crc, *in);
    return ~(uint32_t)crc;
}
#endif

bool zaro_crc32c_fast(const uint8_t *in, size_t n, uint32_t *sum) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("sse4.2")) {
        *sum = crc32c_sse42(in, n);
        return true;
    }
#endif
    (void)in, (void)n, (void)sum;
    return false;
}

uint32_t zaro_crc32c(const uint8_t *in, size_t n) {
    uint32_t sum;
    return zaro_crc32c_fast(in, n, &sum) ? sum : zaro_crc32c_plain(in, n);
}

uint32_t zaro_adler32(const uint8_t *in, size_t n) {
    uint32_t a = 1, b = 0;
    while (n) {
        size_t run = n < 5552 ? n : 5552; /* the most bytes before b can pass 32 bits */
        for (size_t i = 0; i < run; i++) {
            a += in[i];
            b += a;
        }
        a %= 65521;
        b %= 65521;
        in += run;
        n -= run;
    }
    return b << 16 | a;
}

static uint32_t fold16(uint32_t sum) { return (sum & 0xffff) + (sum >> 16); }

uint32_t zaro_fletcher32(const uint8_t *in, size_t n) {
    uint32_t a = 0, b = 0;
    size_t words = n / 2;
    while (words) {
        size_t run = words < 360 ? words : 360; /* the most words before b can pass 32 bits */
        for (size_t i = 0; i < run; i++, in += 2) {
            a += (uint32_t)in[0] << 8 | in[1];
            b += a;
        }
        a = fold16(a);
        b = fold16(b);
        words -= run;
    }
    if (n % 2) {
        a += (uint32_t)in[0] << 8;
        b += a;
        a = fold16(a);
        b = fold16(b);
    }
    return fold16(b) << 16 | fold16(a);
}
