#include "codec_parts.h"

#ifdef ZARO_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>

#include "zaro/endian.h"

/* RFC 8878, section 3.1; the library's own names for them are not in every release's public header */
#define FRAME 0xfd2fb528u
#define SKIPPABLE(magic) (((magic) & 0xfffffff0u) == 0x184d2a50u)

static zaro_status reason(size_t code) {
    switch (ZSTD_getErrorCode(code)) {
    case ZSTD_error_dstSize_tooSmall:
        return ZARO_LONG;
    case ZSTD_error_srcSize_wrong:
        return ZARO_SHORT;
    case ZSTD_error_checksum_wrong:
        return ZARO_CHECKSUM;
    case ZSTD_error_memory_allocation:
        return ZARO_MEMORY;
    case ZSTD_error_version_unsupported:
    case ZSTD_error_dictionary_wrong:
        return ZARO_UNSUPPORTED;
    default:
        return ZARO_CORRUPT;
    }
}

/* One frame, or one skippable one. The formats of before 0.8, which a library may still carry, are
 * refused: no writer of chunks ever used them, and their decoders are not hardened. */
static zaro_status decode_frame(ZSTD_DCtx *context, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                                size_t room, size_t *written) {
    *written = 0;
    if (n < 4)
        return ZARO_SHORT;
    uint32_t magic = zaro_le32(in);
    if (magic != FRAME && !SKIPPABLE(magic))
        return ZARO_CORRUPT;
    *used = ZSTD_findFrameCompressedSize(in, n);
    if (ZSTD_isError(*used))
        return reason(*used);
    if (SKIPPABLE(magic))
        return ZARO_OK;
    unsigned long long promised = ZSTD_getFrameContentSize(in, *used);
    if (promised == ZSTD_CONTENTSIZE_ERROR)
        return ZARO_CORRUPT;
    if (promised != ZSTD_CONTENTSIZE_UNKNOWN && promised > room)
        return ZARO_HEADER;
    *written = ZSTD_decompressDCtx(context, out, room, in, *used);
    return ZSTD_isError(*written) ? reason(*written) : ZARO_OK;
}

zaro_status zaro_zstd_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    if (!decoder->zstd_context && !(decoder->zstd_context = ZSTD_createDCtx()))
        return ZARO_MEMORY;
    size_t done = 0;
    do {
        size_t used = 0, here = 0;
        zaro_status status = decode_frame(decoder->zstd_context, in, n, &used, out + done, room - done, &here);
        if (status != ZARO_OK)
            return status;
        in += used;
        n -= used;
        done += here;
    } while (n);
    *written = done;
    return ZARO_OK;
}

void zaro_zstd_release(zaro_decoder *decoder) { ZSTD_freeDCtx(decoder->zstd_context); }

const char *zaro_zstd_version(void) { return "libzstd " ZSTD_VERSION_STRING; }

#else

zaro_status zaro_zstd_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    (void)decoder, (void)in, (void)n, (void)out, (void)room, (void)written;
    return ZARO_UNSUPPORTED;
}

void zaro_zstd_release(zaro_decoder *decoder) { (void)decoder; }

const char *zaro_zstd_version(void) { return NULL; }

#endif
