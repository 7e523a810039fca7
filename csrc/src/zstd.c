#include "codec_parts.h"
#include "zaro/endian.h"

/* RFC 8878, section 3.1; the library's own names for them are not in every release's public header */
#define FRAME 0xfd2fb528u
#define SKIPPABLE(magic) (((magic) & 0xfffffff0u) == 0x184d2a50u)

/* ZSTD_ErrorCode, of which those below 100 never change */
enum {
    VERSION_UNSUPPORTED = 12,
    CHECKSUM_WRONG = 22,
    DICTIONARY_WRONG = 32,
    MEMORY_ALLOCATION = 64,
    DST_SIZE_TOO_SMALL = 70,
    SRC_SIZE_WRONG = 72
};

#define CONTENT_SIZE_UNKNOWN (0ull - 1)
#define CONTENT_SIZE_ERROR (0ull - 2)

static zaro_status reason(const zaro_zstd *zstd, size_t code) {
    switch (zstd->error_code(code)) {
    case DST_SIZE_TOO_SMALL:
        return ZARO_LONG;
    case SRC_SIZE_WRONG:
        return ZARO_SHORT;
    case CHECKSUM_WRONG:
        return ZARO_CHECKSUM;
    case MEMORY_ALLOCATION:
        return ZARO_MEMORY;
    case VERSION_UNSUPPORTED:
    case DICTIONARY_WRONG:
        return ZARO_UNSUPPORTED;
    default:
        return ZARO_CORRUPT;
    }
}

/* One frame, or one skippable one. The formats of before 0.8, which a library may still carry, are
 * refused: no writer of chunks ever used them, and their decoders are not hardened. */
static zaro_status decode_frame(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                                size_t room, size_t *written) {
    const zaro_zstd *zstd = &decoder->libraries->zstd;
    *written = 0;
    if (n < 4)
        return ZARO_SHORT;
    uint32_t magic = zaro_le32(in);
    if (magic != FRAME && !SKIPPABLE(magic))
        return ZARO_CORRUPT;
    *used = zstd->frame_size(in, n);
    if (zstd->is_error(*used))
        return reason(zstd, *used);
    if (SKIPPABLE(magic))
        return ZARO_OK;
    unsigned long long promised = zstd->content_size(in, *used);
    if (promised == CONTENT_SIZE_ERROR)
        return ZARO_CORRUPT;
    if (promised != CONTENT_SIZE_UNKNOWN && promised > room)
        return ZARO_HEADER;
    *written = zstd->decompress(decoder->zstd_context, out, room, in, *used);
    return zstd->is_error(*written) ? reason(zstd, *written) : ZARO_OK;
}

zaro_status zaro_zstd_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    if (!decoder->libraries->zstd.create)
        return ZARO_UNSUPPORTED;
    if (!decoder->zstd_context)
        decoder->zstd_context = decoder->libraries->zstd.create();
    if (!decoder->zstd_context)
        return ZARO_MEMORY;
    size_t done = 0;
    do {
        size_t used = 0, here = 0;
        zaro_status status = decode_frame(decoder, in, n, &used, out + done, room - done, &here);
        if (status != ZARO_OK)
            return status;
        in += used;
        n -= used;
        done += here;
    } while (n);
    *written = done;
    return ZARO_OK;
}
