/* ZARO_BLOSC in the environment may name a libblosc2, to decode with what the build did not link. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "guard.h"
#include "zaro/checksum.h"
#include "zaro/codec.h"

/* ---- the slow twin: encoders that store what they are given, each the inverse of one step ---- */

enum { MOST = 1 << 16 };

typedef struct {
    uint8_t data[MOST];
    size_t n;
} buffer;

static void put(buffer *b, const void *data, size_t n) {
    CHECK(b->n + n <= MOST);
    if (n)
        memcpy(b->data + b->n, data, n);
    b->n += n;
}

static void put_byte(buffer *b, unsigned value) { put(b, &(uint8_t){(uint8_t)value}, 1); }

static void put_number(buffer *b, uint32_t value, int bytes) {
    for (int k = 0; k < bytes; k++)
        put_byte(b, value >> 8 * k & 0xff);
}

static void put_big(buffer *b, uint32_t value) {
    for (int k = 4; k-- > 0;)
        put_byte(b, value >> 8 * k & 0xff);
}

static void put_deflate(buffer *b, const uint8_t *in, size_t n) {
    size_t at = 0;
    do {
        size_t here = n - at < 1000 ? n - at : 1000;
        put_byte(b, at + here == n);
        put_number(b, (uint32_t)here, 2);
        put_number(b, ~(uint32_t)here, 2);
        put(b, in + at, here);
        at += here;
    } while (at < n);
}

static void encode_compressed(zaro_step_kind kind, const uint8_t *in, size_t n, buffer *b) {
    switch (kind) {
    case ZARO_STEP_ZLIB:
        put(b, "\x78\x01", 2);
        put_deflate(b, in, n);
        put_big(b, zaro_adler32(in, n));
        break;
    case ZARO_STEP_GZIP:
        put(b, "\x1f\x8b\x08\0\0\0\0\0\0\xff", 10);
        put_deflate(b, in, n);
        put_number(b, zaro_crc32(in, n), 4);
        put_number(b, (uint32_t)n, 4);
        break;
    case ZARO_STEP_ZSTD: /* one segment, content size of 4 bytes, one raw block */
        put(b, "\x28\xb5\x2f\xfd\xa0", 5);
        put_number(b, (uint32_t)n, 4);
        put_number(b, (uint32_t)n << 3 | 1, 3);
        put(b, in, n);
        break;
    case ZARO_STEP_LZ4: /* one sequence of literals */
        put_number(b, (uint32_t)n, 4);
        put_byte(b, n < 15 ? (unsigned)n << 4 : 0xf0);
        if (n >= 15) {
            size_t rest = n - 15;
            for (; rest >= 255; rest -= 255)
                put_byte(b, 255);
            put_byte(b, (unsigned)rest);
        }
        put(b, in, n);
        break;
    default: /* Blosc: a plain copy behind the header of Blosc 1 */
        put(b, "\2\1\2\1", 4);
        put_number(b, (uint32_t)n, 4);
        put_number(b, (uint32_t)(n ? n : 1), 4);
        put_number(b, (uint32_t)n + 16, 4);
        put(b, in, n);
    }
}

static void encode_checked(zaro_step_kind kind, const uint8_t *in, size_t n, buffer *b) {
    bool start = kind == ZARO_STEP_CRC32C_START || kind == ZARO_STEP_CRC32_START || kind == ZARO_STEP_ADLER32_START;
    uint32_t sum = kind == ZARO_STEP_FLETCHER32                                   ? zaro_fletcher32(in, n)
                   : kind <= ZARO_STEP_CRC32C_START                               ? zaro_crc32c(in, n)
                   : kind == ZARO_STEP_CRC32_START || kind == ZARO_STEP_CRC32_END ? zaro_crc32(in, n)
                                                                                  : zaro_adler32(in, n);
    if (start)
        put_number(b, sum, 4);
    put(b, in, n);
    if (!start)
        put_number(b, sum, 4);
}

static void encode_moved(const zaro_step *step, const uint8_t *in, size_t n, buffer *b) {
    size_t width = step->width, count = n / width;
    b->n = n;
    for (size_t at = 0; at < n; at++)
        if (at >= count * width)
            b->data[at] = in[at];
        else if (step->kind == ZARO_STEP_SHUFFLE)
            b->data[at % width * count + at / width] = in[at];
        else
            b->data[at / width * width + width - 1 - at % width] = in[at];
}

static void encode_step(const zaro_step *step, const uint8_t *in, size_t n, buffer *b) {
    b->n = 0;
    if (step->kind <= ZARO_STEP_GZIP)
        encode_compressed(step->kind, in, n, b);
    else if (step->kind <= ZARO_STEP_FLETCHER32)
        encode_checked(step->kind, in, n, b);
    else
        encode_moved(step, in, n, b);
}

static void encode(const zaro_step *steps, size_t n_steps, const uint8_t *in, size_t n, buffer *b) {
    static buffer other;
    b->n = 0;
    put(b, in, n);
    for (size_t k = n_steps; k-- > 0;) {
        encode_step(&steps[k], b->data, b->n, &other);
        b->n = 0;
        put(b, other.data, other.n);
    }
}

/* ---- decoding between guard pages ---- */

static const zaro_libraries *libraries; /* NULL: those that the build linked */

static zaro_status decode(const zaro_step *steps, size_t n_steps, const void *in, size_t n, void *out, size_t decoded,
                          size_t *step) {
    zaro_chain chain = {steps, n_steps};
    size_t stored, scratch;
    bool exact;
    CHECK(zaro_chain_sizes(&chain, decoded, &stored, &scratch, &exact) == ZARO_OK);
    guarded source = guard_copy(in, n), target = guard(decoded), room = guard(scratch);
    zaro_decoder *decoder = zaro_decoder_new(libraries);
    zaro_status status =
        zaro_chain_decode(&chain, decoder, source.data, n, target.data, decoded, scratch ? room.data : NULL, step);
    zaro_decoder_free(decoder);
    if (status == ZARO_OK) {
        CHECK(exact ? n == stored : n <= stored);
        memcpy(out, target.data, decoded);
    }
    guard_free(source), guard_free(target), guard_free(room);
    return status;
}

static bool served(zaro_step_kind kind) {
    return kind == ZARO_STEP_BLOSC /* plain copies need no library */ || zaro_codec_provider(kind, libraries) != NULL;
}

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n) { return ((seed = seed * 1664525u + 1013904223u) >> 8) % n; }

static void fill(uint8_t *data, size_t n) {
    for (size_t i = 0; i < n; i++)
        data[i] = (uint8_t)random_below(256);
}

/* ---- tests ---- */

static void an_empty_chain_copies_and_insists_on_the_size(void) {
    uint8_t in[4] = {1, 2, 3, 4}, out[4];
    size_t step = 9;
    CHECK(decode(NULL, 0, in, 4, out, 4, &step) == ZARO_OK && memcmp(in, out, 4) == 0);
    CHECK(decode(NULL, 0, in, 3, out, 4, &step) == ZARO_SHORT && step == 0);
    CHECK(decode(NULL, 0, in, 4, out, 3, &step) == ZARO_LONG);
}

static void any_chain_undoes_what_was_done(void) {
    static buffer stored;
    static uint8_t block[2000], out[2000];
    for (int round = 0; round < 4000; round++) {
        zaro_step steps[6];
        size_t n_steps = random_below(7), n = random_below(4) * 240 + (round % 2 ? 240 : 0), step = 99;
        bool all = true;
        memset(steps, 0, sizeof steps);
        for (size_t k = 0; k < n_steps; k++) {
            steps[k].kind = (zaro_step_kind)random_below(ZARO_STEP_DELTA);
            steps[k].width = (uint32_t[]){1, 2, 3, 4, 8, 16}[random_below(6)];
            if (steps[k].kind == ZARO_STEP_SWAP && k + 1 < n_steps)
                steps[k].width = 1; /* only the block is sure to be a multiple of 48 */
            all = all && served(steps[k].kind);
        }
        fill(block, n);
        encode(steps, n_steps, block, n, &stored);
        zaro_status status = decode(steps, n_steps, stored.data, stored.n, out, n, &step);
        if (all)
            CHECK(status == ZARO_OK && memcmp(out, block, n) == 0);
        else
            CHECK(status == ZARO_UNSUPPORTED && step < n_steps && !served(steps[step].kind));
    }
}

/* zlib ignores what follows its stream, gzip zeros that follow a member; see deflate.c. */
static bool tolerates(zaro_step_kind kind, uint8_t more) {
    return kind == ZARO_STEP_ZLIB || (kind == ZARO_STEP_GZIP && more == 0);
}

static void damaged_bytes_are_an_error_or_a_block_of_the_right_size(zaro_step_kind kind) {
    static buffer stored;
    uint8_t block[96], out[200];
    zaro_step step = {.kind = kind, .width = 4};
    size_t at;
    fill(block, sizeof block);
    encode(&step, 1, block, sizeof block, &stored);
    for (size_t n = 0; n < stored.n; n++)
        CHECK(decode(&step, 1, stored.data, n, out, sizeof block, &at) != ZARO_OK);
    for (unsigned more = 0; more < 2; more++) {
        stored.data[stored.n] = (uint8_t)more;
        zaro_status status = decode(&step, 1, stored.data, stored.n + 1, out, sizeof block, &at);
        CHECK((status == ZARO_OK) == tolerates(kind, (uint8_t)more));
    }
    for (size_t bit = 0; bit < 8 * stored.n; bit++) {
        stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        zaro_status status = decode(&step, 1, stored.data, stored.n, out, sizeof block, &at);
        CHECK(status != ZARO_OK || kind == ZARO_STEP_SHUFFLE || kind == ZARO_STEP_SWAP || kind <= ZARO_STEP_GZIP);
        CHECK(status != ZARO_OK || kind != ZARO_STEP_ZLIB || memcmp(out, block, sizeof block) == 0);
        stored.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t other = 0; other < 200; other++)
        if (other != sizeof block && other % 4 == 0)
            CHECK(decode(&step, 1, stored.data, stored.n, out, other, &at) != ZARO_OK);
}

static void checksums_are_compared(void) {
    static buffer stored;
    uint8_t block[33], out[33];
    for (zaro_step_kind kind = ZARO_STEP_CRC32C; kind <= ZARO_STEP_FLETCHER32; kind++) {
        zaro_step step = {.kind = kind};
        size_t at = 7;
        fill(block, sizeof block);
        encode(&step, 1, block, sizeof block, &stored);
        stored.data[10] ^= 1;
        CHECK(decode(&step, 1, stored.data, stored.n, out, sizeof block, &at) == ZARO_CHECKSUM && at == 0);
        CHECK(decode(&step, 1, stored.data, 3, out, 0, &at) == ZARO_SHORT);
    }
}

static void frames_and_members_may_follow_each_other(void) {
    static buffer b;
    uint8_t out[8];
    size_t at;
    zaro_step zstd = {.kind = ZARO_STEP_ZSTD}, gzip = {.kind = ZARO_STEP_GZIP};
    if (served(ZARO_STEP_ZSTD)) {
        b.n = 0;
        encode_compressed(ZARO_STEP_ZSTD, (const uint8_t *)"abc", 3, &b);
        put(&b, "\x50\x2a\x4d\x18\2\0\0\0xy", 10); /* a skippable frame */
        encode_compressed(ZARO_STEP_ZSTD, (const uint8_t *)"defgh", 5, &b);
        CHECK(decode(&zstd, 1, b.data, b.n, out, 8, &at) == ZARO_OK && memcmp(out, "abcdefgh", 8) == 0);
        CHECK(decode(&zstd, 1, b.data, b.n, out, 7, &at) == ZARO_HEADER);
        put_byte(&b, 0);
        CHECK(decode(&zstd, 1, b.data, b.n, out, 8, &at) == ZARO_SHORT);
    }
    if (served(ZARO_STEP_GZIP)) {
        b.n = 0;
        encode_compressed(ZARO_STEP_GZIP, (const uint8_t *)"abc", 3, &b);
        put(&b, "\0\0\0", 3);
        encode_compressed(ZARO_STEP_GZIP, (const uint8_t *)"defgh", 5, &b);
        CHECK(decode(&gzip, 1, b.data, b.n, out, 8, &at) == ZARO_OK && memcmp(out, "abcdefgh", 8) == 0);
        CHECK(decode(&gzip, 1, b.data, b.n, out, 7, &at) == ZARO_LONG);
    }
}

/* A frame of "abcdefgh" in one raw block, that does not say how much it holds. */
static void put_frame_of_unknown_size(buffer *b, bool with_checksum) {
    b->n = 0;
    put(b, with_checksum ? "\x28\xb5\x2f\xfd\4\0" : "\x28\xb5\x2f\xfd\0\0", 6);
    put_number(b, 8 << 3 | 1, 3);
    put(b, "abcdefgh", 8);
    if (with_checksum)
        put_number(b, 0x12345678, 4); /* which is not the content's */
}

static void what_is_wrong_with_a_frame_is_told(void) {
    static buffer b;
    uint8_t out[9];
    size_t at;
    zaro_step zstd = {.kind = ZARO_STEP_ZSTD};
    if (!served(ZARO_STEP_ZSTD))
        return;
    put_frame_of_unknown_size(&b, false);
    CHECK(decode(&zstd, 1, b.data, b.n, out, 8, &at) == ZARO_OK && memcmp(out, "abcdefgh", 8) == 0);
    CHECK(decode(&zstd, 1, b.data, b.n, out, 7, &at) == ZARO_LONG);
    CHECK(decode(&zstd, 1, b.data, b.n, out, 9, &at) == ZARO_SHORT);
    CHECK(decode(&zstd, 1, b.data, b.n - 1, out, 8, &at) == ZARO_SHORT);
    b.data[6] |= 3 << 1; /* a block of the reserved type */
    CHECK(decode(&zstd, 1, b.data, b.n, out, 8, &at) == ZARO_CORRUPT);
    put_frame_of_unknown_size(&b, true);
    CHECK(decode(&zstd, 1, b.data, b.n, out, 8, &at) == ZARO_CHECKSUM);
}

/* A Blosc header of 32 bytes for 8 decoded bytes; the fields that a test wants otherwise follow. */
static void blosc_chunk(buffer *b, uint8_t flags, uint8_t blosc2_flags, uint32_t cbytes) {
    b->n = 0;
    put(b, (uint8_t[]){5, 1, flags, 4}, 4);
    put_number(b, 8, 4);
    put_number(b, 8, 4);
    put_number(b, cbytes, 4);
    put(b, (uint8_t[16]){[15] = blosc2_flags}, 16);
}

static zaro_status blosc(const buffer *b, size_t decoded) {
    zaro_step step = {.kind = ZARO_STEP_BLOSC};
    uint8_t out[64];
    size_t at;
    return decode(&step, 1, b->data, b->n, out, decoded, &at);
}

static void blosc_headers_that_promise_wrong_things_never_reach_the_library(void) {
    buffer *b = malloc(sizeof *b);
    blosc_chunk(b, 0x07, 0x00, 40); /* extended, memcpyed: 8 bytes follow */
    put(b, "abcdefgh", 8);
    CHECK(blosc(b, 8) == ZARO_OK);
    b->data[2] = 0x47; /* whatever the compressor, it was not used */
    CHECK(blosc(b, 8) == ZARO_OK);
    CHECK(blosc(b, 7) == ZARO_HEADER); /* more than there is room for */
    CHECK(blosc(b, 9) == ZARO_SHORT);
    b->n--;
    CHECK(blosc(b, 8) == ZARO_SHORT); /* cbytes says more */
    blosc_chunk(b, 0x07, 0x00, 32);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* memcpyed, and nothing to copy */
    b->n = 0;
    put(b, "\2\1\2\4\x08\0\0\0\x08\0\0\0\x10\0\0\0", 16);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* the same in 16 bytes */
    blosc_chunk(b, 0x05, 0x08, 36);
    put_number(b, 32, 4);
    CHECK(blosc(b, 8) == ZARO_UNSUPPORTED); /* lazy */
    blosc_chunk(b, 0x05, 0x80, 36);
    put_number(b, 32, 4);
    CHECK(blosc(b, 8) == ZARO_UNSUPPORTED); /* instrumented */
    blosc_chunk(b, 0x05, 0x00, 36);
    put_number(b, 36, 4);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* a block that starts past the end */
    memcpy(b->data + 32, "\x20\0\0\0", 4);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* and one that starts inside the table */
    b->data[2] = 0xa5;
    CHECK(blosc(b, 8) == ZARO_UNSUPPORTED); /* compressor 5 */
    b->data[2] = 0x05;
    b->data[20] = 160;
    CHECK(blosc(b, 8) == ZARO_UNSUPPORTED); /* a filter of a plug-in */
    b->data[20] = 0;
    b->data[30] = 1;
    CHECK(blosc(b, 8) == ZARO_UNSUPPORTED); /* blocks of variable length */
    b->data[30] = 0;
    memcpy(b->data + 8, "\0\0\0\0", 4);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* blocks of nothing */
    memcpy(b->data + 8, "\1\0\0\0", 4);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* eight blocks, a table of one */
    b->data[3] = 0;
    CHECK(blosc(b, 8) == ZARO_HEADER); /* elements of nothing */
    blosc_chunk(b, 0x05, 0x40, 32);
    CHECK(blosc(b, 8) == ZARO_OK); /* values that were never written: zeros */
    blosc_chunk(b, 0x05, 0x30, 35);
    put(b, "abc", 3);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* 8 bytes of a value of 3 */
    blosc_chunk(b, 0x05, 0x50, 32);
    CHECK(blosc(b, 8) == ZARO_HEADER); /* a special value that is none */
    free(b);
}

static void impossible_chains_are_refused(void) {
    size_t stored, scratch, at;
    bool exact;
    uint8_t out[8];
    zaro_step step = {.kind = ZARO_STEP_SWAP, .width = 0};
    zaro_chain chain = {&step, 1};
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_RANGE);
    CHECK(zaro_chain_decode(&chain, NULL, out, 8, out, 8, NULL, &at) == ZARO_RANGE);
    step.width = 3;
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_RANGE);
    step.kind = ZARO_STEP_KINDS;
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_RANGE);
    step = (zaro_step){.kind = ZARO_STEP_ASTYPE, .from = {'f', 3, false}, .to = {'f', 4, false}};
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_RANGE);
    step.from.width = 8;
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_OK && exact && stored == 16);
    CHECK(zaro_chain_sizes(&chain, SIZE_MAX / 4 * 4, &stored, &scratch, &exact) == ZARO_OVERFLOW);
    step.kind = ZARO_STEP_ZSTD;
    CHECK(zaro_chain_sizes(&chain, SIZE_MAX, &stored, &scratch, &exact) == ZARO_OVERFLOW);
    step.kind = ZARO_STEP_CRC32C;
    CHECK(zaro_chain_sizes(&chain, SIZE_MAX, &stored, &scratch, &exact) == ZARO_OVERFLOW);
    zaro_step many[ZARO_MAX_STEPS + 1] = {{.kind = ZARO_STEP_CRC32C}};
    chain = (zaro_chain){many, ZARO_MAX_STEPS + 1};
    CHECK(zaro_chain_sizes(&chain, 8, &stored, &scratch, &exact) == ZARO_RANGE);
}

static void a_single_step_needs_no_scratch(void) {
    for (zaro_step_kind kind = 0; kind < ZARO_STEP_KINDS; kind++) {
        zaro_step step = {.kind = kind, .width = 2, .from = {'i', 2, false}, .to = {'f', 8, false}};
        zaro_chain chain = {&step, 1};
        size_t stored, scratch;
        bool exact;
        CHECK(zaro_chain_sizes(&chain, 80, &stored, &scratch, &exact) == ZARO_OK);
        CHECK(scratch == 0 && exact == (kind > ZARO_STEP_GZIP));
    }
}

static void a_library_that_is_not_there_is_missing(void) {
    const zaro_libraries *found;
    CHECK(zaro_libraries_load("/nowhere/libblosc2.so", NULL, &found) == ZARO_MISSING && found == NULL);
    CHECK(zaro_codec_provider(ZARO_STEP_BLOSC, NULL) == NULL);
    zaro_decoder_free(NULL);
}

static void a_file_brings_what_is_lacking_and_nothing_else(const char *path) {
    CHECK(zaro_libraries_load(path, NULL, &libraries) == ZARO_OK);
    CHECK(strncmp(zaro_codec_provider(ZARO_STEP_BLOSC, libraries), "libblosc2 ", 10) == 0);
    const char *linked = zaro_codec_provider(ZARO_STEP_ZSTD, NULL);
    CHECK(linked == NULL || strcmp(linked, zaro_codec_provider(ZARO_STEP_ZSTD, libraries)) == 0);
    const zaro_libraries *again;
    CHECK(zaro_libraries_load(path, libraries, &again) == ZARO_UNSUPPORTED && again == libraries);
}

int main(void) {
    if (getenv("ZARO_BLOSC"))
        a_file_brings_what_is_lacking_and_nothing_else(getenv("ZARO_BLOSC"));
    an_empty_chain_copies_and_insists_on_the_size();
    any_chain_undoes_what_was_done();
    for (zaro_step_kind kind = 0; kind < ZARO_STEP_DELTA; kind++)
        if (served(kind))
            damaged_bytes_are_an_error_or_a_block_of_the_right_size(kind);
    checksums_are_compared();
    frames_and_members_may_follow_each_other();
    what_is_wrong_with_a_frame_is_told();
    blosc_headers_that_promise_wrong_things_never_reach_the_library();
    impossible_chains_are_refused();
    a_single_step_needs_no_scratch();
    a_library_that_is_not_there_is_missing();
    return 0;
}
