/* zlib and gzip streams: libdeflate where the build found it, else zlib.
 *
 * Bytes after the end of a zlib stream are ignored, as zlib.decompress and HDF5 do: the stream has
 * said how it ends and its checksum holds. After a gzip member stands another member, or zeros
 * (padding, which Python's gzip accepts too); anything else is an error. */
#include "codec_parts.h"

#if defined(ZARO_HAVE_DEFLATE)
#include <libdeflate.h>

static zaro_status reason(enum libdeflate_result result) {
    switch (result) {
    case LIBDEFLATE_SUCCESS:
        return ZARO_OK;
    case LIBDEFLATE_SHORT_OUTPUT:
        return ZARO_SHORT;
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return ZARO_LONG;
    default:
        return ZARO_CORRUPT;
    }
}

static bool ready(zaro_decoder *decoder) {
    return decoder->deflate_context || (decoder->deflate_context = libdeflate_alloc_decompressor());
}

static zaro_status zlib_stream(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    return ready(decoder)
               ? reason(libdeflate_zlib_decompress_ex(decoder->deflate_context, in, n, out, room, used, written))
               : ZARO_MEMORY;
}

static zaro_status gzip_member(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    return ready(decoder)
               ? reason(libdeflate_gzip_decompress_ex(decoder->deflate_context, in, n, out, room, used, written))
               : ZARO_MEMORY;
}

void zaro_deflate_release(zaro_decoder *decoder) { libdeflate_free_decompressor(decoder->deflate_context); }

const char *zaro_deflate_version(void) { return "libdeflate " LIBDEFLATE_VERSION_STRING; }

#elif defined(ZARO_HAVE_Z)
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

static zaro_status ready(zaro_decoder *decoder, int window) {
    z_stream *stream = decoder->deflate_context;
    if (stream)
        return inflateReset2(stream, window) == Z_OK ? ZARO_OK : ZARO_CORRUPT;
    stream = calloc(1, sizeof *stream);
    if (!stream)
        return ZARO_MEMORY;
    if (inflateInit2(stream, window) != Z_OK) {
        free(stream);
        return ZARO_MEMORY;
    }
    decoder->deflate_context = stream;
    return ZARO_OK;
}

static uInt at_most(size_t n) { return n < UINT_MAX ? (uInt)n : UINT_MAX; }

/* zlib counts in 32 bits, so long buffers are given to it piece by piece. */
static zaro_status inflate_all(zaro_decoder *decoder, int window, const uint8_t *in, size_t n, size_t *used,
                               uint8_t *out, size_t room, size_t *written) {
    zaro_status status = ready(decoder, window);
    if (status != ZARO_OK)
        return status;
    z_stream *stream = decoder->deflate_context;
    uint8_t spare; /* inflate wants room even where nothing is left to write */
    size_t eaten = 0, made = 0;
    for (;;) {
        uInt give = at_most(n - eaten), take = at_most(room - made);
        stream->next_in = (Bytef *)(uintptr_t)(in + eaten);
        stream->avail_in = give;
        stream->next_out = take ? out + made : &spare;
        stream->avail_out = take ? take : 1;
        int code = inflate(stream, Z_NO_FLUSH);
        if (!take && stream->avail_out == 0)
            return ZARO_LONG;
        size_t ate = give - stream->avail_in, wrote = take ? take - stream->avail_out : 0;
        eaten += ate;
        made += wrote;
        if (code == Z_STREAM_END)
            break;
        if (code != Z_OK && code != Z_BUF_ERROR)
            return code == Z_MEM_ERROR ? ZARO_MEMORY : ZARO_CORRUPT;
        if (ate == 0 && wrote == 0)
            return ZARO_SHORT;
    }
    *used = eaten;
    *written = made;
    return ZARO_OK;
}

static zaro_status zlib_stream(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    return inflate_all(decoder, 15, in, n, used, out, room, written);
}

static zaro_status gzip_member(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    return inflate_all(decoder, 15 + 16, in, n, used, out, room, written);
}

void zaro_deflate_release(zaro_decoder *decoder) {
    if (decoder->deflate_context)
        inflateEnd(decoder->deflate_context);
    free(decoder->deflate_context);
}

const char *zaro_deflate_version(void) { return "zlib " ZLIB_VERSION; }

#else

static zaro_status zlib_stream(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    (void)decoder, (void)in, (void)n, (void)used, (void)out, (void)room, (void)written;
    return ZARO_UNSUPPORTED;
}

static zaro_status gzip_member(zaro_decoder *decoder, const uint8_t *in, size_t n, size_t *used, uint8_t *out,
                               size_t room, size_t *written) {
    return zlib_stream(decoder, in, n, used, out, room, written);
}

void zaro_deflate_release(zaro_decoder *decoder) { (void)decoder; }

const char *zaro_deflate_version(void) { return NULL; }

#endif

zaro_status zaro_zlib_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    size_t used;
    return zlib_stream(decoder, in, n, &used, out, room, written);
}

zaro_status zaro_gzip_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                             size_t *written) {
    size_t done = 0;
    do {
        size_t used = 0, here = 0;
        zaro_status status = gzip_member(decoder, in, n, &used, out + done, room - done, &here);
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
