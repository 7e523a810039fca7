/* Who decodes: libraries that the build linked, and for what it did not, files that were loaded by path.
 *
 * Python packages bring such files: that of blosc2 exports zstd and LZ4 as well. A build against them would
 * tie an installed zaro to one release of each, and importing a package costs more than most reads. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec_parts.h"

#ifdef ZARO_HAVE_ZSTD
#include <zstd.h>
#include <zstd_errors.h>
static int zstd_error_code(size_t code) { return (int)ZSTD_getErrorCode(code); }
#endif
#ifdef ZARO_HAVE_LZ4
#include <lz4.h>
#endif
#ifdef ZARO_HAVE_DEFLATE
#include <libdeflate.h>
static int inflate_zlib(struct libdeflate_decompressor *context, const void *in, size_t n, void *out, size_t room,
                        size_t *used, size_t *written) {
    return (int)libdeflate_zlib_decompress_ex(context, in, n, out, room, used, written);
}
static int inflate_gzip(struct libdeflate_decompressor *context, const void *in, size_t n, void *out, size_t room,
                        size_t *used, size_t *written) {
    return (int)libdeflate_gzip_decompress_ex(context, in, n, out, room, used, written);
}
#endif

static const zaro_libraries linked = {
#ifdef ZARO_HAVE_ZSTD
    .zstd = {ZSTD_createDCtx, ZSTD_freeDCtx, ZSTD_decompressDCtx, ZSTD_findFrameCompressedSize,
             ZSTD_getFrameContentSize, ZSTD_isError, zstd_error_code, "libzstd " ZSTD_VERSION_STRING},
#endif
#ifdef ZARO_HAVE_LZ4
    .lz4 = {LZ4_decompress_safe, "liblz4 " LZ4_VERSION_STRING},
#endif
#ifdef ZARO_HAVE_DEFLATE
    .deflate = {libdeflate_alloc_decompressor, libdeflate_free_decompressor, inflate_zlib, inflate_gzip,
                "libdeflate " LIBDEFLATE_VERSION_STRING},
#endif
};

const zaro_libraries *zaro_libraries_or_linked(const zaro_libraries *libraries) {
    return libraries ? libraries : &linked;
}

static bool find(void *file, const char *name, void *function) {
    void *found = dlsym(file, name);
    memcpy(function, &found, sizeof found); /* C knows no cast from object to function */
    return found != NULL;
}

/* Each of these fills its part where the file has every entry point, and returns whether it did. */

static bool find_blosc(void *file, zaro_blosc *into) {
    zaro_blosc blosc;
    void (*init)(void);
    const char *(*version)(void);
    if (!find(file, "blosc2_init", &init) || !find(file, "blosc2_get_version_string", &version) ||
        !find(file, "blosc2_get_blosc2_dparams_defaults", &blosc.defaults) ||
        !find(file, "blosc2_create_dctx", &blosc.create) || !find(file, "blosc2_free_ctx", &blosc.release) ||
        !find(file, "blosc2_decompress_ctx", &blosc.decompress))
        return false;
    init();
    snprintf(blosc.version, sizeof blosc.version, "libblosc2 %s", version());
    *into = blosc;
    return true;
}

static bool find_zstd(void *file, zaro_zstd *into) {
    zaro_zstd zstd;
    const char *(*version)(void);
    if (!find(file, "ZSTD_versionString", &version) || !find(file, "ZSTD_createDCtx", &zstd.create) ||
        !find(file, "ZSTD_freeDCtx", &zstd.release) || !find(file, "ZSTD_decompressDCtx", &zstd.decompress) ||
        !find(file, "ZSTD_findFrameCompressedSize", &zstd.frame_size) ||
        !find(file, "ZSTD_getFrameContentSize", &zstd.content_size) || !find(file, "ZSTD_isError", &zstd.is_error) ||
        !find(file, "ZSTD_getErrorCode", &zstd.error_code))
        return false;
    snprintf(zstd.version, sizeof zstd.version, "libzstd %s", version());
    *into = zstd;
    return true;
}

static bool find_lz4(void *file, zaro_lz4 *into) {
    zaro_lz4 lz4;
    const char *(*version)(void);
    if (!find(file, "LZ4_versionString", &version) || !find(file, "LZ4_decompress_safe", &lz4.decompress))
        return false;
    snprintf(lz4.version, sizeof lz4.version, "liblz4 %s", version());
    *into = lz4;
    return true;
}

static bool find_deflate(void *file, zaro_deflate *into) {
    zaro_deflate deflate = {.version = "libdeflate"}; /* which does not export its version */
    if (!find(file, "libdeflate_alloc_decompressor", &deflate.create) ||
        !find(file, "libdeflate_free_decompressor", &deflate.release) ||
        !find(file, "libdeflate_zlib_decompress_ex", &deflate.zlib) ||
        !find(file, "libdeflate_gzip_decompress_ex", &deflate.gzip))
        return false;
    *into = deflate;
    return true;
}

zaro_status zaro_libraries_load(const char *path, const zaro_libraries *known, const zaro_libraries **out) {
    *out = known;
    void *file = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!file)
        return ZARO_MISSING;
    zaro_libraries *libraries = malloc(sizeof *libraries);
    if (!libraries)
        return ZARO_MEMORY;
    *libraries = *zaro_libraries_or_linked(known);
    bool more = !libraries->blosc.create && find_blosc(file, &libraries->blosc);
    more |= !libraries->zstd.create && find_zstd(file, &libraries->zstd);
    more |= !libraries->lz4.decompress && find_lz4(file, &libraries->lz4);
    more |= !libraries->deflate.create && find_deflate(file, &libraries->deflate);
    if (!more) {
        free(libraries);
        return ZARO_UNSUPPORTED;
    }
    *out = libraries;
    return ZARO_OK;
}
