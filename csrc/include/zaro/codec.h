/* codec.h - from the stored bytes of a chunk to its values: a chain of decoding steps.
 *
 * A chain is the list of steps in the order of DECODING: stored bytes enter step 0, the bytes of
 * the block leave the last. The size of the block is known from metadata, never from the data:
 * a header that promises anything else is an error before anything is decoded.
 *
 * Libraries: libzstd, liblz4 and libdeflate, linked where the build found them, else loaded by path,
 * as libblosc2 always is; zaro_codec_provider tells. Every one decodes into memory that is ours and bounded.
 */
#ifndef ZARO_CODEC_H
#define ZARO_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/number.h"
#include "zaro/status.h"

typedef enum {
    ZARO_STEP_BLOSC = 0,    /* Blosc 1 and Blosc 2 chunks */
    ZARO_STEP_ZSTD,         /* one or more zstd frames */
    ZARO_STEP_LZ4,          /* numcodecs: uint32 LE decoded size, then one raw LZ4 block */
    ZARO_STEP_ZLIB,         /* RFC 1950; what follows the stream is ignored, as zlib.decompress and HDF5 do */
    ZARO_STEP_GZIP,         /* RFC 1952, one or more members, with zeros between and after them */
    ZARO_STEP_CRC32C,       /* uint32 LE over all that precedes it, at the end (v3) */
    ZARO_STEP_CRC32C_START, /* the same, at the start (numcodecs) */
    ZARO_STEP_CRC32_START,  /* numcodecs CRC32: uint32 LE at the start */
    ZARO_STEP_CRC32_END,
    ZARO_STEP_ADLER32_START, /* numcodecs Adler32 */
    ZARO_STEP_ADLER32_END,
    ZARO_STEP_FLETCHER32, /* HDF5: uint32 LE at the end */
    ZARO_STEP_SHUFFLE,    /* HDF5 and numcodecs byte shuffle; width = bytes of an element */
    ZARO_STEP_SWAP,       /* reverse the bytes of every element; width = bytes of an element */
    ZARO_STEP_DELTA,      /* numcodecs Delta; from = stored type, to = decoded type */
    ZARO_STEP_SCALE,      /* numcodecs FixedScaleOffset: stored / scale + offset; from, to */
    ZARO_STEP_ASTYPE,     /* numcodecs AsType: convert from -> to */
    ZARO_STEP_KINDS
} zaro_step_kind;

typedef struct {
    zaro_step_kind kind;
    uint32_t width;       /* SHUFFLE, SWAP: bytes of an element, at least 1 */
    zaro_type from, to;   /* DELTA, SCALE, ASTYPE */
    double scale, offset; /* SCALE */
} zaro_step;

#define ZARO_MAX_STEPS 32

typedef struct {
    const zaro_step *step; /* [n] in the order of decoding; n at most ZARO_MAX_STEPS */
    size_t n;
} zaro_chain;

/* The libraries that decode; never changed once made. NULL stands for those that the build linked. */
typedef struct zaro_libraries zaro_libraries;

/* Load a file, and take from it the libraries that `known` lacks: libblosc2, libzstd, liblz4, libdeflate.
 *
 * out: receives `known` with more libraries, or on failure `known` itself. It and the file are kept for the life
 *      of the process: a library with registered plug-ins cannot be unloaded safely.
 * Returns ZARO_MISSING where there is no file that can be loaded, ZARO_UNSUPPORTED where it has nothing that
 * was lacking, ZARO_MEMORY. */
zaro_status zaro_libraries_load(const char *path, const zaro_libraries *known, const zaro_libraries **out);

/* Name and version of the library that serves a step ("libdeflate 1.14"), NULL where none does. */
const char *zaro_codec_provider(zaro_step_kind kind, const zaro_libraries *libraries);

/* The decoding contexts of one worker (zstd, libdeflate, Blosc); made on first use inside.
 * One thread at a time may use it. */
typedef struct zaro_decoder zaro_decoder;
zaro_decoder *zaro_decoder_new(const zaro_libraries *libraries); /* NULL where memory is short */
void zaro_decoder_free(zaro_decoder *decoder);                   /* NULL is fine */

/* What a chain needs for a block of `decoded` bytes.
 *
 * stored:  receives the most bytes that a stored chunk may have: an eighth and 64 KiB more for each
 *          compressor (they may expand a little), exact where no step changes the size in a way
 *          that data decides.
 * scratch: receives the bytes of scratch that zaro_chain_decode wants (0 for a single step that
 *          writes straight to the output).
 * exact:   receives true where every stored chunk has exactly `stored` bytes.
 * Returns ZARO_RANGE for a step with an impossible width or type, or a block that is no multiple
 * of it; ZARO_OVERFLOW; ZARO_UNSUPPORTED for a step no library serves is NOT tested here.
 */
zaro_status zaro_chain_sizes(const zaro_chain *chain, size_t decoded, size_t *stored, size_t *scratch, bool *exact);

/* Decode one chunk.
 *
 * in:      [n] stored bytes, untrusted; never read past in + n.
 * out:     [decoded] receives the block, exactly that many bytes, or is unspecified on error;
 *          never written past out + decoded. Must not overlap in.
 * scratch: as zaro_chain_sizes asked for, or NULL if that was 0.
 * step:    receives the number of the step that failed; untouched on ZARO_OK.
 *
 * An empty chain copies. Never touches Python; one decoder per thread.
 * Returns ZARO_SHORT, ZARO_LONG, ZARO_HEADER, ZARO_CORRUPT, ZARO_CHECKSUM, ZARO_UNSUPPORTED, ZARO_MEMORY.
 */
zaro_status zaro_chain_decode(const zaro_chain *chain, zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out,
                              size_t decoded, uint8_t *scratch, size_t *step);

#endif
