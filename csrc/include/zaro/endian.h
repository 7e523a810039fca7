/* endian.h - unaligned reads of little-endian integers. Trusts the pointer. */
#ifndef ZARO_ENDIAN_H
#define ZARO_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define ZARO_BIG_ENDIAN 1
#else
#define ZARO_BIG_ENDIAN 0
#endif

static inline uint16_t zaro_le16(const void *at) {
    uint16_t v;
    memcpy(&v, at, sizeof v);
    return ZARO_BIG_ENDIAN ? __builtin_bswap16(v) : v;
}

static inline uint32_t zaro_le32(const void *at) {
    uint32_t v;
    memcpy(&v, at, sizeof v);
    return ZARO_BIG_ENDIAN ? __builtin_bswap32(v) : v;
}

static inline uint64_t zaro_le64(const void *at) {
    uint64_t v;
    memcpy(&v, at, sizeof v);
    return ZARO_BIG_ENDIAN ? __builtin_bswap64(v) : v;
}

#endif
