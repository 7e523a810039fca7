/* The chain: which bytes each step reads, which it writes, and how many there are. */
#include "zaro/codec.h"

#include <stdlib.h>
#include <string.h>

#include "codec_parts.h"
#include "zaro/checked.h"
#include "zaro/checksum.h"
#include "zaro/endian.h"
#include "zaro/filter.h"

zaro_decoder *zaro_decoder_new(const zaro_libraries *libraries) {
    zaro_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder)
        decoder->libraries = zaro_libraries_or_linked(libraries);
    return decoder;
}

void zaro_decoder_free(zaro_decoder *decoder) {
    if (!decoder)
        return;
    if (decoder->blosc_context)
        decoder->libraries->blosc.release(decoder->blosc_context);
    if (decoder->zstd_context)
        decoder->libraries->zstd.release(decoder->zstd_context);
    if (decoder->deflate_context)
        decoder->libraries->deflate.release(decoder->deflate_context);
    free(decoder);
}

const char *zaro_codec_provider(zaro_step_kind kind, const zaro_libraries *libraries) {
    const zaro_libraries *used = zaro_libraries_or_linked(libraries);
    switch (kind) {
    case ZARO_STEP_BLOSC:
        return used->blosc.create ? used->blosc.version : NULL;
    case ZARO_STEP_ZSTD:
        return used->zstd.create ? used->zstd.version : NULL;
    case ZARO_STEP_LZ4:
        return used->lz4.decompress ? used->lz4.version : NULL;
    case ZARO_STEP_ZLIB:
    case ZARO_STEP_GZIP:
        return used->deflate.create ? used->deflate.version : NULL;
    default:
        return kind < ZARO_STEP_KINDS ? "zaro" : NULL;
    }
}

typedef enum {
    COMPRESSED, /* the data decide how many bytes come out */
    CHECKED,    /* four bytes go away, the others stay where they are */
    MOVED,      /* as many elements, in other places */
    SWAPPED,    /* the same, and it can be done in place */
    CONVERTED,  /* as many numbers, of another type */
    UNKNOWN
} step_class;

static step_class class_of(const zaro_step *step) {
    switch (step->kind) {
    case ZARO_STEP_BLOSC:
    case ZARO_STEP_ZSTD:
    case ZARO_STEP_LZ4:
    case ZARO_STEP_ZLIB:
    case ZARO_STEP_GZIP:
        return COMPRESSED;
    case ZARO_STEP_CRC32C:
    case ZARO_STEP_CRC32C_START:
    case ZARO_STEP_CRC32_START:
    case ZARO_STEP_CRC32_END:
    case ZARO_STEP_ADLER32_START:
    case ZARO_STEP_ADLER32_END:
    case ZARO_STEP_FLETCHER32:
        return CHECKED;
    case ZARO_STEP_SHUFFLE:
        return MOVED;
    case ZARO_STEP_SWAP:
        return SWAPPED;
    case ZARO_STEP_DELTA:
    case ZARO_STEP_SCALE:
    case ZARO_STEP_ASTYPE:
        return CONVERTED;
    default:
        return UNKNOWN;
    }
}

/* The bytes that enter a step, from the bytes that leave it. */
typedef struct {
    size_t size; /* exactly, or at most */
    bool exact;
} amount;

/* A compressor adds a few bytes to what it cannot compress: stored blocks, headers, names in them.
 * An eighth and 64 KiB is more than any of them adds, and still bounds what a chain may ask for. */
#define SLACK (64 * 1024)

static zaro_status enter_converted(const zaro_step *step, amount *n) {
    if (!zaro_type_known(step->from) || !zaro_type_known(step->to) || (n->exact && n->size % step->to.width))
        return ZARO_RANGE;
    return zaro_mul_size(n->size / step->to.width, step->from.width, &n->size) ? ZARO_OK : ZARO_OVERFLOW;
}

static zaro_status enter(const zaro_step *step, amount *n) {
    switch (class_of(step)) {
    case COMPRESSED:
        n->exact = false;
        return zaro_add_size(n->size, n->size / 8 + SLACK, &n->size) ? ZARO_OK : ZARO_OVERFLOW;
    case CHECKED:
        return zaro_add_size(n->size, 4, &n->size) ? ZARO_OK : ZARO_OVERFLOW;
    case MOVED:
        return step->width ? ZARO_OK : ZARO_RANGE;
    case SWAPPED:
        return step->width && !(n->exact && n->size % step->width) ? ZARO_OK : ZARO_RANGE;
    case CONVERTED:
        return enter_converted(step, n);
    default:
        return ZARO_RANGE;
    }
}

/* Whether step k can write to the output: what follows it changes neither size nor place. */
static bool reaches_out(const zaro_chain *chain, size_t k) {
    for (size_t j = k + 1; j < chain->n; j++)
        if (class_of(&chain->step[j]) != SWAPPED)
            return false;
    return true;
}

/* Where the bytes are before and after a step: in the input, in one half of scratch, in the output. */
typedef enum { IN, LOW, HIGH, OUT } place;

static place goes_to(const zaro_chain *chain, size_t k, place from) {
    step_class class = class_of(&chain->step[k]);
    if (class == CHECKED || (class == SWAPPED && from == OUT))
        return from;
    if (reaches_out(chain, k))
        return OUT;
    if (class == SWAPPED && from != IN)
        return from;
    return from == LOW ? HIGH : LOW;
}

/* size: [ZARO_MAX_STEPS + 1], the bytes before each step and after the last; half: [2], the bytes of
 * each half of scratch. */
static zaro_status measure(const zaro_chain *chain, size_t decoded, amount *size, size_t *half) {
    if (chain->n > ZARO_MAX_STEPS)
        return ZARO_RANGE;
    size[chain->n] = (amount){decoded, true};
    for (size_t k = chain->n; k-- > 0;) {
        size[k] = size[k + 1];
        zaro_status status = enter(&chain->step[k], &size[k]);
        if (status != ZARO_OK)
            return status;
    }
    half[0] = half[1] = 0;
    place at = IN;
    for (size_t k = 0; k < chain->n; k++) {
        at = goes_to(chain, k, at);
        if ((at == LOW || at == HIGH) && half[at - LOW] < size[k + 1].size)
            half[at - LOW] = size[k + 1].size;
    }
    return ZARO_OK;
}

static bool round_up(size_t *n) {
    bool fits = zaro_add_size(*n, 63, n);
    *n &= ~(size_t)63;
    return fits;
}

zaro_status zaro_chain_sizes(const zaro_chain *chain, size_t decoded, size_t *stored, size_t *scratch, bool *exact) {
    amount size[ZARO_MAX_STEPS + 1];
    size_t half[2];
    zaro_status status = measure(chain, decoded, size, half);
    if (status != ZARO_OK)
        return status;
    if (!round_up(&half[0]) || !round_up(&half[1]) || !zaro_add_size(half[0], half[1], scratch))
        return ZARO_OVERFLOW;
    *stored = size[0].size;
    *exact = size[0].exact;
    return ZARO_OK;
}

static uint32_t sum_of(zaro_step_kind kind, const uint8_t *in, size_t n) {
    switch (kind) {
    case ZARO_STEP_CRC32C:
    case ZARO_STEP_CRC32C_START:
        return zaro_crc32c(in, n);
    case ZARO_STEP_CRC32_START:
    case ZARO_STEP_CRC32_END:
        return zaro_crc32(in, n);
    case ZARO_STEP_FLETCHER32:
        return zaro_fletcher32(in, n);
    default:
        return zaro_adler32(in, n);
    }
}

static bool at_start(zaro_step_kind kind) {
    return kind == ZARO_STEP_CRC32C_START || kind == ZARO_STEP_CRC32_START || kind == ZARO_STEP_ADLER32_START;
}

/* A run of bytes on its way through the chain. */
typedef struct {
    const uint8_t *data;
    size_t n;
    place at;
} run;

static zaro_status check(zaro_step_kind kind, run *bytes) {
    if (bytes->n < 4)
        return ZARO_SHORT;
    bytes->n -= 4;
    const uint8_t *sum = at_start(kind) ? bytes->data : bytes->data + bytes->n;
    if (at_start(kind))
        bytes->data += 4;
    return zaro_le32(sum) == sum_of(kind, bytes->data, bytes->n) ? ZARO_OK : ZARO_CHECKSUM;
}

static zaro_decompress *decompressor(zaro_step_kind kind) {
    switch (kind) {
    case ZARO_STEP_BLOSC:
        return zaro_blosc_decode;
    case ZARO_STEP_ZSTD:
        return zaro_zstd_decode;
    case ZARO_STEP_LZ4:
        return zaro_lz4_decode;
    case ZARO_STEP_ZLIB:
        return zaro_zlib_decode;
    default:
        return zaro_gzip_decode;
    }
}

static zaro_status convert(const zaro_step *step, run *bytes, uint8_t *to, size_t room, size_t *written) {
    size_t n = bytes->n / step->from.width;
    if (bytes->n % step->from.width)
        return ZARO_SHORT;
    if (n > room / step->to.width)
        return ZARO_LONG;
    *written = n * step->to.width;
    switch (step->kind) {
    case ZARO_STEP_DELTA:
        return zaro_number_sum(step->from, step->to, bytes->data, to, n);
    case ZARO_STEP_SCALE:
        return zaro_number_scale(step->from, step->to, step->scale, step->offset, bytes->data, to, n);
    default:
        return zaro_number_convert(step->from, step->to, bytes->data, to, n);
    }
}

/* One step, from bytes->data to `to` [room]. */
static zaro_status apply(const zaro_step *step, zaro_decoder *decoder, run *bytes, uint8_t *to, size_t room) {
    size_t written = bytes->n;
    zaro_status status = ZARO_OK;
    switch (class_of(step)) {
    case CHECKED:
        return check(step->kind, bytes);
    case COMPRESSED:
        if (bytes->n == 0)
            return ZARO_SHORT;
        status = decompressor(step->kind)(decoder, bytes->data, bytes->n, to, room, &written);
        break;
    case CONVERTED:
        status = convert(step, bytes, to, room, &written);
        break;
    case MOVED:
    case SWAPPED:
        if (bytes->n > room)
            return ZARO_LONG;
        (step->kind == ZARO_STEP_SHUFFLE ? zaro_unshuffle : zaro_swap)(bytes->data, to, bytes->n, step->width);
        break;
    default:
        return ZARO_RANGE;
    }
    bytes->data = to;
    bytes->n = written;
    return status;
}

static zaro_status compare(size_t found, amount expected) {
    if (found > expected.size)
        return ZARO_LONG;
    return expected.exact && found < expected.size ? ZARO_SHORT : ZARO_OK;
}

/* What a decode knows: the plan, and the memory that it may use. */
typedef struct {
    const zaro_chain *chain;
    amount size[ZARO_MAX_STEPS + 1];
    size_t half[2];
    uint8_t *base[OUT + 1]; /* by place; none for IN */
} plan;

static zaro_status run_step(const plan *p, size_t k, zaro_decoder *decoder, run *bytes) {
    const zaro_step *step = &p->chain->step[k];
    place to = goes_to(p->chain, k, bytes->at);
    uint8_t *target = p->base[to];
    if (to == bytes->at && class_of(step) == SWAPPED)
        target += bytes->data - target; /* in place, and a checksum may have moved the start */
    zaro_status status = apply(step, decoder, bytes, target, p->size[k + 1].size);
    bytes->at = to;
    return status == ZARO_OK ? compare(bytes->n, p->size[k + 1]) : status;
}

zaro_status zaro_chain_decode(const zaro_chain *chain, zaro_decoder *decoder, const uint8_t *in, size_t n, uint8_t *out,
                              size_t decoded, uint8_t *scratch, size_t *step) {
    plan p = {.chain = chain};
    zaro_status status = measure(chain, decoded, p.size, p.half);
    run bytes = {in, n, IN};
    size_t k = 0;
    uint8_t nothing; /* what is written where nothing is: a decoder may count from a pointer, and NULL is none */
    if (status == ZARO_OK && !round_up(&p.half[0]))
        status = ZARO_OVERFLOW;
    if (status == ZARO_OK && p.size[0].exact)
        status = compare(n, p.size[0]);
    p.base[IN] = NULL;
    p.base[LOW] = p.half[0] ? scratch : &nothing;
    p.base[HIGH] = p.half[1] ? scratch + p.half[0] : &nothing;
    p.base[OUT] = decoded ? out : &nothing;
    for (; status == ZARO_OK && k < chain->n; k++)
        status = run_step(&p, k, decoder, &bytes);
    if (status != ZARO_OK)
        *step = k ? k - 1 : 0;
    else if (bytes.data != out && decoded)
        memcpy(out, bytes.data, decoded);
    return status;
}
