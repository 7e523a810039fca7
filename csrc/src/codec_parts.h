/* codec_parts.h - what the files behind codec.h share. Not for others. */
#ifndef ZARO_CODEC_PARTS_H
#define ZARO_CODEC_PARTS_H

#include "zaro/codec.h"

struct ZSTD_DCtx_s;
struct libdeflate_decompressor;

/* What is used of each library (library.c). All of it is there, or none. */

/* blosc2_dparams, which the library takes and returns by value, without knowing its fields: they
 * come from blosc2_get_blosc2_dparams_defaults and go back untouched. Every ABI we build for passes
 * a struct of more than 16 bytes in memory, so the library reads and writes as much of these 256
 * bytes as its own release defines (32 today); the rest is there for releases that define more. */
typedef struct {
    uint64_t opaque[32];
} zaro_dparams;

typedef struct {
    zaro_dparams (*defaults)(void);
    void *(*create)(zaro_dparams);
    void (*release)(void *context);
    int (*decompress)(void *context, const void *in, int32_t n, void *out, int32_t room);
    char version[48];
} zaro_blosc;

typedef struct {
    struct ZSTD_DCtx_s *(*create)(void);
    size_t (*release)(struct ZSTD_DCtx_s *context);
    size_t (*decompress)(struct ZSTD_DCtx_s *context, void *out, size_t room, const void *in, size_t n);
    size_t (*frame_size)(const void *in, size_t n);
    unsigned long long (*content_size)(const void *in, size_t n);
    unsigned (*is_error)(size_t code);
    int (*error_code)(size_t code);
    char version[48];
} zaro_zstd;

typedef struct {
    int (*decompress)(const char *in, char *out, int n, int room);
    char version[48];
} zaro_lz4;

typedef int zaro_inflate(struct libdeflate_decompressor *context, const void *in, size_t n, void *out, size_t room,
                         size_t *used, size_t *written);

typedef struct {
    struct libdeflate_decompressor *(*create)(void);
    void (*release)(struct libdeflate_decompressor *context);
    zaro_inflate *zlib, *gzip;
    char version[48];
} zaro_deflate;

struct zaro_libraries {
    zaro_blosc blosc;
    zaro_zstd zstd;
    zaro_lz4 lz4;
    zaro_deflate deflate;
};

/* The libraries, or for NULL those that the build linked. */
const zaro_libraries *zaro_libraries_or_linked(const zaro_libraries *libraries);

/* Contexts of the libraries, each NULL until its first use. */
struct zaro_decoder {
    const zaro_libraries *libraries;
    void *blosc_context;
    struct ZSTD_DCtx_s *zstd_context;
    struct libdeflate_decompressor *deflate_context;
};

/* A decompressor: in [n] -> out, at most `room` bytes, *written of them. */
typedef zaro_status zaro_decompress(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                                    size_t *written);

zaro_decompress zaro_blosc_decode, zaro_zstd_decode, zaro_lz4_decode, zaro_zlib_decode, zaro_gzip_decode;

#endif
