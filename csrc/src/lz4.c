#include <limits.h>

#include "codec_parts.h"
#include "zaro/endian.h"

zaro_status zaro_lz4_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                            size_t *written) {
    const zaro_lz4 *lz4 = &decoder->libraries->lz4;
    if (!lz4->decompress)
        return ZARO_UNSUPPORTED;
    if (n < 4)
        return ZARO_SHORT;
    uint32_t promised = zaro_le32(in);
    if (promised > room || promised > INT_MAX || n - 4 > INT_MAX)
        return ZARO_HEADER;
    int got = lz4->decompress((const char *)in + 4, (char *)out, (int)(n - 4), (int)promised);
    if (got < 0)
        return ZARO_CORRUPT;
    if ((uint32_t)got != promised)
        return ZARO_SHORT;
    *written = promised;
    return ZARO_OK;
}
