/* limit.c - the least that reading a store can cost: threads that open, pread, decode and copy rows,
 * nothing planned and nothing checked. The distance of an engine to it is what the engine adds.
 *
 *   cc -O3 -pthread limit.c -ldl [-lzstd] [-ldeflate] -o limit
 *   limit STORE PREFIX SEPARATOR CODEC THREADS REPEAT LIBBLOSC2 A0 A1 A2 C0 C1 C2
 *
 * A 3-d array of float32 in C order, A0 x A1 x A2 elements in chunks of C0 x C1 x C2, each a file
 * STORE/PREFIXi<SEPARATOR>j<SEPARATOR>k. With SEPARATOR "spans", STORE is one file, and the file PREFIX
 * holds the offset and length of every chunk in C order, as int64. CODEC is none, zstd, blosc, zlib or
 * shuffle-zlib. Prints the best of REPEAT reads into fresh memory, in milliseconds; ends with 3 where
 * it was built without the codec.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_ZSTD
#include <zstd.h>
#endif
#ifdef WITH_DEFLATE
#include <libdeflate.h>
#endif

typedef struct {
    char opaque[256];
} dparams;

static dparams (*dparams_defaults)(void);
static void *(*create_dctx)(dparams);
static int (*decompress_ctx)(void *, const void *, int32_t, void *, int32_t);

enum { NONE, ZSTD, BLOSC, ZLIB };
static int root, codec;
static bool shuffled;
static int64_t (*spans)[2];
static const char *prefix, *separator;
static size_t array[3], chunk[3], grid[3], n_chunk, nbytes;
static uint8_t *out;
static atomic_size_t next;

static size_t fetch(size_t c, size_t i, size_t j, size_t k, uint8_t *raw, size_t room) {
    if (spans)
        return (size_t)pread(root, raw, (size_t)spans[c][1], spans[c][0]);
    char key[256];
    snprintf(key, sizeof key, "%s%zu%s%zu%s%zu", prefix, i, separator, j, separator, k);
    int fd = openat(root, key, O_RDONLY | O_CLOEXEC);
    size_t n = (size_t)pread(fd, raw, room, 0);
    close(fd);
    return n;
}

static void *work(void *unused) {
    (void)unused;
    size_t room = 2 * nbytes + 65536;
    uint8_t *raw = malloc(room), *block = malloc(nbytes), *flat = malloc(nbytes);
    void *blosc = create_dctx ? create_dctx(dparams_defaults()) : NULL;
#ifdef WITH_ZSTD
    ZSTD_DCtx *zstd = ZSTD_createDCtx();
#endif
#ifdef WITH_DEFLATE
    struct libdeflate_decompressor *deflate = libdeflate_alloc_decompressor();
    size_t got;
#endif
    for (size_t c; (c = atomic_fetch_add(&next, 1)) < n_chunk;) {
        size_t k = c % grid[2], j = c / grid[2] % grid[1], i = c / grid[2] / grid[1];
        size_t n = fetch(c, i, j, k, raw, room), elements = nbytes / 4;
        const uint8_t *from = codec == NONE ? raw : block;
        if (codec == BLOSC)
            decompress_ctx(blosc, raw, (int32_t)n, block, (int32_t)nbytes);
#ifdef WITH_ZSTD
        if (codec == ZSTD)
            ZSTD_decompressDCtx(zstd, block, nbytes, raw, n);
#endif
#ifdef WITH_DEFLATE
        if (codec == ZLIB)
            libdeflate_zlib_decompress(deflate, raw, n, block, nbytes, &got);
#endif
        if (shuffled) {
            for (size_t e = 0; e < elements; e++)
                for (size_t byte = 0; byte < 4; byte++)
                    flat[4 * e + byte] = from[byte * elements + e];
            from = flat;
        }
        for (size_t a = 0; a < chunk[0]; a++)
            for (size_t b = 0; b < chunk[1]; b++)
                memcpy(out + (((i * chunk[0] + a) * array[1] + j * chunk[1] + b) * array[2] + k * chunk[2]) * 4,
                       from + (a * chunk[1] + b) * chunk[2] * 4, chunk[2] * 4);
    }
    free(raw);
    free(block);
    free(flat);
    return NULL;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int choose(const char *name, const char *libblosc2) {
    shuffled = strncmp(name, "shuffle-", 8) == 0;
    name += shuffled ? 8 : 0;
    if (strcmp(name, "none") == 0)
        return codec = NONE, 0;
#ifdef WITH_ZSTD
    if (strcmp(name, "zstd") == 0)
        return codec = ZSTD, 0;
#endif
#ifdef WITH_DEFLATE
    if (strcmp(name, "zlib") == 0)
        return codec = ZLIB, 0;
#endif
    void *library = strcmp(name, "blosc") == 0 ? dlopen(libblosc2, RTLD_NOW) : NULL;
    if (!library)
        return 3;
    codec = BLOSC;
    ((void (*)(void))dlsym(library, "blosc2_init"))();
    *(void **)&dparams_defaults = dlsym(library, "blosc2_get_blosc2_dparams_defaults");
    *(void **)&create_dctx = dlsym(library, "blosc2_create_dctx");
    *(void **)&decompress_ctx = dlsym(library, "blosc2_decompress_ctx");
    return 0;
}

static void load_spans(void) {
    FILE *file = fopen(prefix, "rb");
    spans = malloc(n_chunk * sizeof *spans);
    if (!file || fread(spans, sizeof *spans, n_chunk, file) != n_chunk)
        fprintf(stderr, "%s holds fewer than %zu spans\n", prefix, n_chunk), exit(1);
    fclose(file);
}

int main(int argc, char **argv) {
    if (argc != 14)
        return fprintf(stderr, "see the head of limit.c\n"), 2;
    prefix = argv[2], separator = argv[3];
    int threads = atoi(argv[5]), repeat = atoi(argv[6]);
    if (choose(argv[4], argv[7]) != 0)
        return fprintf(stderr, "built without %s\n", argv[4]), 3;
    bool by_spans = strcmp(separator, "spans") == 0;
    root = open(argv[1], by_spans ? O_RDONLY : O_RDONLY | O_DIRECTORY);
    nbytes = 4, n_chunk = 1;
    size_t total = 4;
    for (int d = 0; d < 3; d++) {
        array[d] = strtoul(argv[8 + d], NULL, 10), chunk[d] = strtoul(argv[11 + d], NULL, 10);
        grid[d] = array[d] / chunk[d];
        nbytes *= chunk[d], n_chunk *= grid[d], total *= array[d];
    }
    if (by_spans)
        load_spans();
    double best = 1e30;
    for (int r = 0; r < repeat; r++) {
        pthread_t thread[64];
        double begun = now();
        out = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(out, total, MADV_HUGEPAGE);
        atomic_store(&next, 0);
        for (int t = 0; t < threads; t++)
            pthread_create(&thread[t], NULL, work, NULL);
        for (int t = 0; t < threads; t++)
            pthread_join(thread[t], NULL);
        double took = now() - begun;
        if (took < best)
            best = took;
        munmap(out, total);
    }
    printf("%.2f\n", best);
    return 0;
}
