/* zlib and gzip streams, with libdeflate.
 *
 * Bytes after the end of a zlib stream are ignored, as zlib.decompress and HDF5 do: the stream has
 * said how it ends and its checksum holds. After a gzip member stands another member, or zeros
 * (padding, which Python's gzip accepts too); anything else is an error. */
#include "codec_parts.h"

/* enum libdeflate_result */
enum { SUCCESS = 0, SHORT_OUTPUT = 2, INSUFFICIENT_SPACE = 3 };

static zaro_status reason(int result) {
    switch (result) {
    case SUCCESS:
        return ZARO_OK;
    case SHORT_OUTPUT:
        return ZARO_SHORT;
    case INSUFFICIENT_SPACE:
        return ZARO_LONG;
    default:
        return ZARO_CORRUPT;
    }
}

static zaro_status ready(zaro_decoder *decoder) {
    if (!decoder->libraries->deflate.create)
        return ZARO_UNSUPPORTED;
    if (!decoder->deflate_context)
        decoder->deflate_context = decoder->libraries->deflate.create();
    return decoder->deflate_context ? ZARO_OK : ZARO_MEMORY;
}

zaro_status zaro_zlib_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    size_t used;
    zaro_status status = ready(decoder);
    if (status != ZARO_OK)
        return status;
    return reason(decoder->libraries->deflate.zlib(decoder->deflate_context, in, n, out, room, &used, written));
}

zaro_status zaro_gzip_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    size_t done = 0;
    zaro_status status = ready(decoder);
    if (status != ZARO_OK)
        return status;
    zaro_inflate *member = decoder->libraries->deflate.gzip;
    do {
        size_t used = 0, here = 0;
        status = reason(member(decoder->deflate_context, in, n, out + done, room - done, &used, &here));
        if (status != ZARO_OK)
            return status;
        in += used;
        n -= used;
        done += here;
        for (; n && *in == 0; n--)
            in++;
    } while (n);
    *written = done;
    return ZARO_OK;
}
