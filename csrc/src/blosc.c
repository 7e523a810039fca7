/* Blosc 1 and 2 chunks, with libblosc2. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "codec_parts.h"
#include "zaro/endian.h"

enum {
    HEADER = 16,
    EXTENDED_HEADER = 32,
    LAST_VERSION = 6, /* chunk formats: 2 is Blosc 1, 3..6 are Blosc 2 */
    SHUFFLE = 0x01,   /* with BITSHUFFLE: the header is extended */
    MEMCPYED = 0x02,
    BITSHUFFLE = 0x04,
    DELTA = 0x08,
    LAST_FILTER = 4, /* none, shuffle, bit shuffle, delta, truncated precision */
    LAZY = 0x08,     /* of blosc2_flags */
    INSTRUMENTED = 0x80,
    SPECIAL_ZERO = 1,
    SPECIAL_NAN = 2,
    SPECIAL_VALUE = 3,
    SPECIAL_UNINIT = 4
};

typedef struct {
    uint8_t version, flags, typesize;
    uint32_t nbytes, blocksize, cbytes;
    size_t size;     /* bytes of the header itself */
    uint8_t special; /* 0, or one of SPECIAL_* */
} header;

/* Everything that could make the library load code or reach for a file: codecs and filters of
 * plug-ins, lazy chunks. And what it does not undo by itself: instrumented chunks, blocks of
 * variable length. */
static zaro_status check_extension(const uint8_t *in, header *head) {
    uint8_t flags = in[31], more = in[30];
    if ((flags & (LAZY | INSTRUMENTED)) || more)
        return ZARO_UNSUPPORTED;
    for (size_t k = 16; k < 22; k++)
        if (in[k] > LAST_FILTER)
            return ZARO_UNSUPPORTED;
    head->special = (flags >> 4) & 7;
    if (head->special == SPECIAL_VALUE)
        return head->cbytes > EXTENDED_HEADER && head->nbytes % (head->cbytes - EXTENDED_HEADER) == 0 ? ZARO_OK
                                                                                                      : ZARO_HEADER;
    if (head->special == SPECIAL_NAN)
        return head->typesize == 4 || head->typesize == 8 ? ZARO_OK : ZARO_HEADER;
    return head->special <= SPECIAL_UNINIT ? ZARO_OK : ZARO_HEADER;
}

static zaro_status read_header(const uint8_t *in, size_t n, header *head) {
    if (n < HEADER)
        return ZARO_SHORT;
    *head = (header){in[0], in[2], in[3], zaro_le32(in + 4), zaro_le32(in + 8), zaro_le32(in + 12), HEADER, 0};
    if (head->cbytes != n)
        return head->cbytes > n ? ZARO_SHORT : ZARO_LONG;
    if (head->version < 1 || head->version > LAST_VERSION || head->typesize == 0 || head->nbytes > INT_MAX)
        return ZARO_HEADER;
    if (head->nbytes && (head->blocksize == 0 || head->blocksize > INT_MAX))
        return ZARO_HEADER;
    if ((head->flags & (SHUFFLE | BITSHUFFLE)) != (SHUFFLE | BITSHUFFLE))
        return ZARO_OK;
    if (n < EXTENDED_HEADER)
        return ZARO_SHORT;
    head->size = EXTENDED_HEADER;
    return check_extension(in, head);
}

/* The table of block starts, and each start, lie inside the chunk. */
static zaro_status check_blocks(const uint8_t *in, size_t n, const header *head) {
    if (head->special)
        return ZARO_OK;
    if (head->flags & MEMCPYED)
        return n == head->size + (size_t)head->nbytes ? ZARO_OK : ZARO_HEADER;
    uint8_t format = head->flags >> 5;
    if (format > 4 || format == 2)
        return ZARO_UNSUPPORTED; /* 2 was snappy; above 4 stand plug-ins */
    size_t nblocks = ((size_t)head->nbytes - 1) / head->blocksize + 1;
    if (nblocks > (n - head->size) / 4)
        return ZARO_HEADER;
    size_t first = head->size + 4 * nblocks;
    for (size_t k = 0; k < nblocks; k++) {
        uint32_t start = zaro_le32(in + head->size + 4 * k);
        if (start < first || start >= n)
            return ZARO_HEADER;
    }
    return ZARO_OK;
}

static zaro_status run_library(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t nbytes) {
    const zaro_blosc *blosc = &decoder->libraries->blosc;
    if (!decoder->blosc_context)
        decoder->blosc_context = blosc->create(blosc->defaults());
    if (!decoder->blosc_context)
        return ZARO_MEMORY;
    int got = blosc->decompress(decoder->blosc_context, in, (int32_t)n, out, (int32_t)nbytes);
    return got == (int)nbytes ? ZARO_OK : ZARO_CORRUPT;
}

/* Blosc 1 shuffles the bits of a block whose number of whole elements is a multiple of 8, and leaves
 * the bytes after the last whole element; libblosc2 forgets to copy those (seen in 3.3.5). Chunks
 * whose size is no multiple of their element are rare enough for a plain loop. */
static bool library_forgets_bytes(const header *head) {
    return head->size == HEADER && (head->flags & BITSHUFFLE) && head->nbytes % head->typesize;
}

static void bit_unshuffle(const uint8_t *in, uint8_t *out, size_t n, size_t width) {
    size_t count = n / width, row = count / 8;
    if (count % 8) {
        memcpy(out, in, n);
        return;
    }
    memset(out, 0, n);
    for (size_t bit = 0; bit < 8 * width; bit++)
        for (size_t i = 0; i < count; i++)
            out[i * width + bit / 8] |= (uint8_t)((in[bit * row + i / 8] >> i % 8 & 1) << bit % 8);
    memcpy(out + count * width, in + count * width, n - count * width);
}

/* Let the library do all but the bits. */
static zaro_status decode_bits_here(zaro_decoder *decoder, const header *head, const uint8_t *in, size_t n,
                                    uint8_t *out) {
    if (head->flags & DELTA)
        return ZARO_UNSUPPORTED; /* no Blosc 1 writes it */
    size_t block = head->blocksize < head->nbytes ? head->blocksize : head->nbytes;
    uint8_t *copy = malloc(n), *shuffled = malloc(block);
    zaro_status status = copy && shuffled ? ZARO_OK : ZARO_MEMORY;
    if (status == ZARO_OK) {
        memcpy(copy, in, n);
        copy[2] &= (uint8_t)~BITSHUFFLE;
        status = run_library(decoder, copy, n, out, head->nbytes);
    }
    for (size_t at = 0; status == ZARO_OK && at < head->nbytes; at += block) {
        size_t here = head->nbytes - at < block ? head->nbytes - at : block;
        memcpy(shuffled, out + at, here);
        bit_unshuffle(shuffled, out + at, here, head->typesize);
    }
    free(copy);
    free(shuffled);
    return status;
}

zaro_status zaro_blosc_decode(zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out, size_t room,
                              size_t *written) {
    header head;
    zaro_status status = read_header(in, n, &head);
    if (status != ZARO_OK)
        return status;
    if (head.nbytes > room)
        return ZARO_HEADER;
    *written = head.nbytes;
    if (head.nbytes == 0)
        return ZARO_OK;
    status = check_blocks(in, n, &head);
    if (status != ZARO_OK)
        return status;
    if (head.special == SPECIAL_UNINIT) {
        memset(out, 0, head.nbytes); /* the library would leave what the memory held */
        return ZARO_OK;
    }
    if ((head.flags & MEMCPYED) && !head.special) {
        memcpy(out, in + head.size, head.nbytes);
        return ZARO_OK;
    }
    if (!decoder->libraries->blosc.create)
        return ZARO_UNSUPPORTED;
    return library_forgets_bytes(&head) ? decode_bits_here(decoder, &head, in, n, out)
                                        : run_library(decoder, in, n, out, head.nbytes);
}
