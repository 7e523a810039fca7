#include "codec_parts.h"

#ifdef ZARO_HAVE_LZ4
#include <limits.h>
#include <lz4.h>

#include "zaro/endian.h"

zaro_status zaro_lz4_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                            size_t *written) {
    (void)decoder;
    if (n < 4)
        return ZARO_SHORT;
    uint32_t promised = zaro_le32(in);
    if (promised > room || promised > INT_MAX || n - 4 > INT_MAX)
        return ZARO_HEADER;
    int got = LZ4_decompress_safe((const char *)in + 4, (char *)out, (int)(n - 4), (int)promised);
    if (got < 0)
        return ZARO_CORRUPT;
    if ((uint32_t)got != promised)
        return ZARO_SHORT;
    *written = promised;
    return ZARO_OK;
}

const char *zaro_lz4_version(void) { return "liblz4 " LZ4_VERSION_STRING; }

#else

zaro_status zaro_lz4_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                            size_t *written) {
    (void)decoder, (void)in, (void)n, (void)out, (void)room, (void)written;
    return ZARO_UNSUPPORTED;
}

const char *zaro_lz4_version(void) { return NULL; }

#endif
