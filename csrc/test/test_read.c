#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "zaro/read.h"

/* A 5 x 7 array of uint16 in chunks of 2 x 3: element (i, j) is 100 i + j. */
enum { ROWS = 5, COLUMNS = 7, TALL = 2, WIDE = 3, GRID_I = 3, GRID_J = 3, CHUNKS = 9, NBYTES = TALL * WIDE * 2 };

static uint16_t block[CHUNKS][TALL * WIDE];
static const uint16_t nine = 9;
static const zaro_chain plain = {NULL, 0};

static void make_blocks(void) {
    for (int c = 0; c < CHUNKS; c++)
        for (int i = 0; i < TALL; i++)
            for (int j = 0; j < WIDE; j++)
                block[c][i * WIDE + j] = (uint16_t)(100 * (c / GRID_J * TALL + i) + c % GRID_J * WIDE + j);
}

typedef struct {
    zaro_segment i[ROWS], j[COLUMNS];
    uint16_t out[ROWS * COLUMNS];
    zaro_read read;
} whole;

static void cover(zaro_axis *axis, zaro_segment *segment, int64_t size, int64_t chunk, int64_t start, int64_t step,
                  int64_t count) {
    CHECK(zaro_grid_touched(size, chunk, start, step, count, &axis->n) == ZARO_OK);
    CHECK(zaro_grid_cover(size, chunk, start, step, count, segment, axis->n) == ZARO_OK);
    axis->segment = segment;
}

/* All rows; columns start, start + step, ... */
static void plan(whole *w, int64_t start, int64_t step, int64_t count, const zaro_chain *chain) {
    memset(w, 0, sizeof *w);
    w->read.rank = 2;
    w->read.order[1] = 1;
    w->read.itemsize = 2;
    w->read.out = (uint8_t *)w->out;
    w->read.fill = (const uint8_t *)&nine;
    w->read.chain = chain;
    cover(&w->read.axis[0], w->i, ROWS, TALL, 0, 1, ROWS);
    cover(&w->read.axis[1], w->j, COLUMNS, WIDE, start, step, count);
    w->read.axis[0].out_stride = 2 * count;
    w->read.axis[1].out_stride = 2;
    w->read.n_task = w->read.axis[0].n * w->read.axis[1].n;
}

static void run(zaro_read *read) {
    zaro_worker worker;
    CHECK(zaro_read_prepare(read) == ZARO_OK);
    uint8_t *room = aligned_alloc(64, (zaro_read_room(read) + 63) / 64 * 64);
    zaro_decoder *decoder = zaro_decoder_new(NULL);
    zaro_worker_open(&worker, decoder, room);
    while (zaro_read_run(read, &worker, 2)) {
    }
    zaro_worker_close(&worker);
    zaro_decoder_free(decoder);
    free(room);
}

static void check_values(const whole *w, int64_t start, int64_t step, int64_t count, int absent_chunk) {
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t k = 0; k < count; k++) {
            int64_t j = start + k * step;
            int chunk = (int)(i / TALL * GRID_J + j / WIDE);
            CHECK(w->out[i * count + k] == (chunk == absent_chunk ? 9 : 100 * i + j));
        }
}

static void memory_is_read(void) {
    whole w;
    const uint8_t *data[CHUNKS];
    size_t nbytes[CHUNKS];
    for (int c = 0; c < CHUNKS; c++) {
        data[c] = c == 4 ? NULL : (const uint8_t *)block[c];
        nbytes[c] = NBYTES;
    }
    plan(&w, 0, 1, COLUMNS, &plain);
    w.read.where = (zaro_where){.origin = ZARO_FROM_MEMORY, .data = data, .nbytes = nbytes};
    run(&w.read);
    CHECK(w.read.error.status == ZARO_OK && atomic_load(&w.read.absent) == 1);
    check_values(&w, 0, 1, COLUMNS, 4);

    nbytes[7] = NBYTES - 1;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_SHORT && w.read.error.task == 7 && w.read.error.got == NBYTES - 1);
    nbytes[7] = NBYTES + 1;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_LONG);

    w.read.absent_is_error = true;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_ABSENT_CHUNK && w.read.error.task == 4);
}

static void write_file(const char *path, const void *data, size_t n) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(data, 1, n, file) == n && fclose(file) == 0);
}

static void *take_part(void *read) {
    zaro_worker worker;
    uint8_t *room = aligned_alloc(64, (zaro_read_room(read) + 63) / 64 * 64);
    zaro_decoder *decoder = zaro_decoder_new(NULL);
    zaro_worker_open(&worker, decoder, room);
    while (zaro_read_run(read, &worker, 1)) {
    }
    zaro_worker_close(&worker);
    zaro_decoder_free(decoder);
    free(room);
    return NULL;
}

static void spans_of_files_are_read(const char *folder) {
    char path[4096], gone[4096];
    const char *paths[3] = {path, gone, NULL};
    int32_t file[CHUNKS] = {0};
    int64_t offset[CHUNKS], length[CHUNKS];
    int64_t selections[][3] = {{0, 1, 7}, {6, -1, 7}, {1, 2, 3}, {5, -4, 2}, {2, 1, 3}};
    snprintf(path, sizeof path, "%s/blocks", folder);
    snprintf(gone, sizeof gone, "%s/gone", folder);
    write_file(path, block, sizeof block);
    for (int c = 0; c < CHUNKS; c++) {
        offset[c] = (int64_t)sizeof block[0] * c;
        length[c] = NBYTES;
    }
    zaro_step swap = {.kind = ZARO_STEP_SWAP, .width = 1}; /* a chain that changes nothing */
    zaro_chain chains[2] = {plain, {&swap, 1}};
    for (int ch = 0; ch < 2; ch++)
        for (size_t s = 0; s < sizeof selections / sizeof *selections; s++) {
            whole w;
            int64_t *v = selections[s], columns[3];
            int32_t files[CHUNKS];
            int64_t offsets[CHUNKS];
            plan(&w, v[0], v[1], v[2], &chains[ch]);
            for (size_t t = 0; t < w.read.n_task; t++) {
                zaro_read_index(&w.read, t, columns);
                files[t] = 0;
                offsets[t] = offset[columns[0] * GRID_J + columns[1]];
            }
            w.read.where = (zaro_where){.origin = ZARO_FROM_FILES,
                                        .file = files,
                                        .offset = offsets,
                                        .length = length,
                                        .path = paths,
                                        .n_file = 3};
            CHECK(zaro_read_prepare(&w.read) == ZARO_OK);
            pthread_t threads[4];
            for (int t = 0; t < 4; t++)
                CHECK(pthread_create(&threads[t], NULL, take_part, &w.read) == 0);
            for (int t = 0; t < 4; t++)
                pthread_join(threads[t], NULL);
            CHECK(w.read.error.status == ZARO_OK);
            check_values(&w, v[0], v[1], v[2], -1);
        }

    whole w;
    plan(&w, 0, 1, COLUMNS, &plain);
    w.read.where = (zaro_where){
        .origin = ZARO_FROM_FILES, .file = file, .offset = offset, .length = length, .path = paths, .n_file = 2};
    w.read.where.inlined = (const uint8_t *)block;
    w.read.where.n_inlined = sizeof block;
    file[3] = -2;
    file[4] = -1;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_OK);
    check_values(&w, 0, 1, COLUMNS, 4);

    offset[3] = (int64_t)sizeof block - 3; /* inline bytes end before the span does */
    run(&w.read);
    CHECK(w.read.error.status == ZARO_RANGE && w.read.error.task == 3);
    offset[3] = INT64_MAX;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_RANGE);
    file[3] = 0; /* an offset at which no file position fits */
    run(&w.read);
    CHECK(w.read.error.status == ZARO_OVERFLOW);
    offset[3] = (int64_t)sizeof block - 3;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_SHORT && w.read.error.got == 3);
    offset[3] = -1;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_RANGE);
    offset[3] = 0;
    length[3] = -2;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_RANGE);
    length[3] = INT64_MAX;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_LONG);
    length[3] = NBYTES;
    file[3] = 1;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_MISSING && w.read.error.task == 3 && w.read.error.code == ENOENT);
    file[3] = 2;
    run(&w.read);
    CHECK(w.read.error.status == ZARO_RANGE);
    unlink(path);
}

static void keys_are_read(const char *folder) {
    char path[4096];
    whole w;
    int root = open(folder, O_RDONLY | O_DIRECTORY);
    for (int c = 0; c < CHUNKS; c++) {
        snprintf(path, sizeof path, "%s/%d.%d", folder, c / GRID_J, c % GRID_J);
        if (c != 4)
            write_file(path, block[c], NBYTES);
    }
    plan(&w, 0, 1, COLUMNS, &plain);
    w.read.where = (zaro_where){.origin = ZARO_FROM_KEYS, .root = root, .prefix = "", .separator = '.'};
    run(&w.read);
    CHECK(w.read.error.status == ZARO_OK);
    check_values(&w, 0, 1, COLUMNS, 4);

    snprintf(path, sizeof path, "%s/1.1", folder);
    CHECK(symlink("nowhere", path) == 0); /* listed, and leads nowhere */
    run(&w.read);
    CHECK(w.read.error.status == ZARO_MISSING && w.read.error.task == 4);
    unlink(path);
    CHECK(mkdir(path, 0700) == 0);
    run(&w.read);
    CHECK(w.read.error.status == ZARO_IO && w.read.error.code == EISDIR);
    rmdir(path);
    CHECK(mkfifo(path, 0600) == 0); /* must not wait for a writer */
    run(&w.read);
    CHECK(w.read.error.status == ZARO_IO);
    unlink(path);
    /* the first chunk lies whole in the output only if the array is one chunk wide: check the length both ways */
    write_file(path, block, NBYTES - 1);
    run(&w.read);
    CHECK(w.read.error.status == ZARO_SHORT);
    for (int c = 0; c < CHUNKS; c++) {
        snprintf(path, sizeof path, "%s/%d.%d", folder, c / GRID_J, c % GRID_J);
        unlink(path);
    }
    close(root);
}

static void whole_blocks_are_checked_for_length(const char *folder) {
    char path[4096];
    uint16_t out[TALL][2 * WIDE];
    zaro_segment i, j;
    zaro_read read;
    int root = open(folder, O_RDONLY | O_DIRECTORY);
    memset(&read, 0, sizeof read);
    read.rank = 2;
    read.order[1] = 1;
    read.itemsize = 2;
    read.out = (uint8_t *)out;
    read.fill = (const uint8_t *)&nine;
    read.chain = &plain;
    cover(&read.axis[0], &i, TALL, TALL, 0, 1, TALL);
    read.axis[1].out_stride = 2;
    read.n_task = 1;
    read.where = (zaro_where){.origin = ZARO_FROM_KEYS, .root = root, .prefix = "c/", .separator = '/'};
    snprintf(path, sizeof path, "%s/c", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/c/0", folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/c/0/0", folder);
    for (int extra = -1; extra <= 1; extra++) {
        write_file(path, block, (size_t)(NBYTES + extra));
        for (int way = 0; way < 3; way++) { /* in one run, row for row, and without the last column */
            cover(&read.axis[1], &j, WIDE, WIDE, 0, 1, way == 2 ? WIDE - 1 : WIDE);
            read.axis[0].out_stride = way == 0 ? 2 * WIDE : sizeof out[0];
            run(&read);
            CHECK(read.error.status == (extra < 0 ? ZARO_SHORT : extra > 0 ? ZARO_LONG : ZARO_OK));
            CHECK(read.error.status == ZARO_OK || read.error.got == NBYTES + extra);
            if (extra == 0)
                CHECK(way == 0 ? memcmp(out, block[0], NBYTES) == 0 : out[1][0] == 100 && out[1][1] == 101);
        }
    }
    unlink(path);
    close(root);
}

/* A span from a file's document may begin anywhere below 2^63; the element that is wanted of it then lies beyond. */
static void spans_beyond_any_file_are_refused(const char *folder) {
    whole w;
    char path[4096];
    const char *paths[1] = {path};
    int32_t file[CHUNKS] = {0};
    int64_t offset[CHUNKS], length[CHUNKS];
    snprintf(path, sizeof path, "%s/data", folder);
    write_file(path, block, sizeof block);
    for (int c = 0; c < CHUNKS; c++) {
        offset[c] = INT64_MAX - 1;
        length[c] = NBYTES;
    }
    for (int k = 0; k < 2; k++) {
        plan(&w, 2, 3, 2, &plain);
        w.read.where = (zaro_where){.origin = ZARO_FROM_FILES, .file = file, .offset = offset, .length = length};
        w.read.where.path = paths;
        w.read.where.n_file = 1;
        run(&w.read);
        CHECK(w.read.error.status == ZARO_OVERFLOW && w.read.error.task == 0);
        for (int c = 0; c < CHUNKS; c++)
            length[c] = -1;
    }
    unlink(path);
}

static void points_are_picked(void) {
    const uint8_t *data[2] = {(const uint8_t *)block[0], NULL};
    size_t nbytes[2] = {NBYTES, 0};
    int64_t begin[3] = {0, 2, 3}, source[3] = {5, 0, 1}, target[3] = {2, 0, 1};
    uint16_t out[3];
    zaro_read read;
    memset(&read, 0, sizeof read);
    read.rank = 2;
    read.itemsize = 2;
    read.out = (uint8_t *)out;
    read.fill = (const uint8_t *)&nine;
    read.chain = &plain;
    read.points = (zaro_points){begin, NULL, source, target, TALL * WIDE};
    read.n_task = 2;
    read.where = (zaro_where){.origin = ZARO_FROM_MEMORY, .data = data, .nbytes = nbytes};
    run(&read);
    CHECK(read.error.status == ZARO_OK);
    CHECK(out[2] == 102 && out[0] == 0 && out[1] == 9);
}

static void blocks_beyond_memory_are_refused(void) {
    whole w;
    plan(&w, 0, 1, COLUMNS, &plain);
    w.i[0].size = INT64_MAX;
    CHECK(zaro_read_prepare(&w.read) == ZARO_OVERFLOW);
}

int main(void) {
    char folder[] = "/tmp/zaro_read_XXXXXX";
    CHECK(mkdtemp(folder));
    make_blocks();
    memory_is_read();
    spans_of_files_are_read(folder);
    keys_are_read(folder);
    whole_blocks_are_checked_for_length(folder);
    spans_beyond_any_file_are_refused(folder);
    points_are_picked();
    blocks_beyond_memory_are_refused();
    return 0;
}
