/* codec_parts.h - what the files behind codec.h share. Not for others. */
#ifndef ZARO_CODEC_PARTS_H
#define ZARO_CODEC_PARTS_H

#include "zaro/codec.h"

/* Contexts of the libraries, each NULL until its first use. */
struct zaro_decoder {
    const zaro_blosc *blosc;
    void *blosc_context;
    void *zstd_context;
    void *deflate_context;
};

/* A decompressor: in [n] -> out, at most `room` bytes, *written of them. */
typedef zaro_status zaro_decompress(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                                    size_t *written);

zaro_decompress zaro_blosc_decode, zaro_zstd_decode, zaro_lz4_decode, zaro_zlib_decode, zaro_gzip_decode;

void zaro_blosc_release(zaro_decoder *decoder);
void zaro_zstd_release(zaro_decoder *decoder);
void zaro_deflate_release(zaro_decoder *decoder);

/* "name version", or NULL where the build lacks the library. */
const char *zaro_blosc_version(const zaro_blosc *blosc);
const char *zaro_zstd_version(void);
const char *zaro_lz4_version(void);
const char *zaro_deflate_version(void);

#endif
