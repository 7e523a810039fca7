#include "zaro/checksum.h"

#include "zaro/endian.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

/* A CRC is linear: the entry of a byte is the sum (xor) of the entries of its bits. Eight constants
 * stand for a table of 256 entries, and the compiler fills it in. Table k holds the CRC of a byte that
 * k zeros follow, so that eight bytes are summed at once. */
#define BIT(i, b, value) (((i) >> (b)) & 1u ? (value) : 0u)
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                                     \
    (BIT(i, 0, b0) ^ BIT(i, 1, b1) ^ BIT(i, 2, b2) ^ BIT(i, 3, b3) ^ BIT(i, 4, b4) ^ BIT(i, 5, b5) ^ BIT(i, 6, b6) ^ \
     BIT(i, 7, b7))
#define ROW4(i, ...) \
    ENTRY(i, __VA_ARGS__), ENTRY((i) + 1, __VA_ARGS__), ENTRY((i) + 2, __VA_ARGS__), ENTRY((i) + 3, __VA_ARGS__)
#define ROW16(i, ...) \
    ROW4(i, __VA_ARGS__), ROW4((i) + 4, __VA_ARGS__), ROW4((i) + 8, __VA_ARGS__), ROW4((i) + 12, __VA_ARGS__)
#define ROW64(i, ...) \
    ROW16(i, __VA_ARGS__), ROW16((i) + 16, __VA_ARGS__), ROW16((i) + 32, __VA_ARGS__), ROW16((i) + 48, __VA_ARGS__)
#define TABLE(...) {ROW64(0u, __VA_ARGS__), ROW64(64u, __VA_ARGS__), ROW64(128u, __VA_ARGS__), ROW64(192u, __VA_ARGS__)}

static const uint32_t crc32c_table[8][256] = {
    TABLE(0xf26b8303u, 0xe13b70f7u, 0xc79a971fu, 0x8ad958cfu, 0x105ec76fu, 0x20bd8edeu, 0x417b1dbcu, 0x82f63b78u),
    TABLE(0x13a29877u, 0x274530eeu, 0x4e8a61dcu, 0x9d14c3b8u, 0x3fc5f181u, 0x7f8be302u, 0xff17c604u, 0xfbc3faf9u),
    TABLE(0xa541927eu, 0x4f6f520du, 0x9edea41au, 0x38513ec5u, 0x70a27d8au, 0xe144fb14u, 0xc76580d9u, 0x8b277743u),
    TABLE(0xdd45aab8u, 0xbf672381u, 0x7b2231f3u, 0xf64463e6u, 0xe964b13du, 0xd725148bu, 0xaba65fe7u, 0x52a0c93fu),
    TABLE(0x38116facu, 0x7022df58u, 0xe045beb0u, 0xc5670b91u, 0x8f2261d3u, 0x1ba8b557u, 0x37516aaeu, 0x6ea2d55cu),
    TABLE(0xef306b19u, 0xdb8ca0c3u, 0xb2f53777u, 0x6006181fu, 0xc00c303eu, 0x85f4168du, 0x0e045bebu, 0x1c08b7d6u),
    TABLE(0x68032cc8u, 0xd0065990u, 0xa5e0c5d1u, 0x4e2dfd53u, 0x9c5bfaa6u, 0x3d5b83bdu, 0x7ab7077au, 0xf56e0ef4u),
    TABLE(0x493c7d27u, 0x9278fa4eu, 0x211d826du, 0x423b04dau, 0x847609b4u, 0x0d006599u, 0x1a00cb32u, 0x34019664u)};

static const uint32_t crc32_table[8][256] = {
    TABLE(0x77073096u, 0xee0e612cu, 0x076dc419u, 0x0edb8832u, 0x1db71064u, 0x3b6e20c8u, 0x76dc4190u, 0xedb88320u),
    TABLE(0x191b3141u, 0x32366282u, 0x646cc504u, 0xc8d98a08u, 0x4ac21251u, 0x958424a2u, 0xf0794f05u, 0x3b83984bu),
    TABLE(0x01c26a37u, 0x0384d46eu, 0x0709a8dcu, 0x0e1351b8u, 0x1c26a370u, 0x384d46e0u, 0x709a8dc0u, 0xe1351b80u),
    TABLE(0xb8bc6765u, 0xaa09c88bu, 0x8f629757u, 0xc5b428efu, 0x5019579fu, 0xa032af3eu, 0x9b14583du, 0xed59b63bu),
    TABLE(0x3d6029b0u, 0x7ac05360u, 0xf580a6c0u, 0x30704bc1u, 0x60e09782u, 0xc1c12f04u, 0x58f35849u, 0xb1e6b092u),
    TABLE(0xcb5cd3a5u, 0x4dc8a10bu, 0x9b914216u, 0xec53826du, 0x03d6029bu, 0x07ac0536u, 0x0f580a6cu, 0x1eb014d8u),
    TABLE(0xa6770bb4u, 0x979f1129u, 0xf44f2413u, 0x33ef4e67u, 0x67de9cceu, 0xcfbd399cu, 0x440b7579u, 0x8816eaf2u),
    TABLE(0xccaa009eu, 0x4225077du, 0x844a0efau, 0xd3e51bb5u, 0x7cbb312bu, 0xf9766256u, 0x299dc2edu, 0x533b85dau)};

static uint32_t crc_by_table(const uint32_t table[8][256], const uint8_t *in, size_t n) {
    uint32_t crc = 0xffffffffu;
    for (; n >= 8; in += 8, n -= 8) {
        uint32_t a = crc ^ zaro_le32(in), b = zaro_le32(in + 4);
        crc = table[7][a & 0xff] ^ table[6][a >> 8 & 0xff] ^ table[5][a >> 16 & 0xff] ^ table[4][a >> 24] ^
              table[3][b & 0xff] ^ table[2][b >> 8 & 0xff] ^ table[1][b >> 16 & 0xff] ^ table[0][b >> 24];
    }
    for (; n; in++, n--)
        crc = table[0][(crc ^ *in) & 0xff] ^ (crc >> 8);
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
