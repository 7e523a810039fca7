#include "zaro/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "zaro/checked.h"
#include "zaro/stitch.h"

#define ALIGN 64
#define KEY_MOST 4096
#define CLAIM_BYTES (256 * 1024)
#define CLAIM_TASKS 32
/* a region of plain bytes is read piece by piece where pieces lie this far apart, and at once otherwise */
#define SPARSE_GAP (32 * 1024)
#define AT_ONCE 0x7ffff000 /* bytes that Linux reads at once at most */

enum { RUNNING = 0, STOPPED = 1, FAILED = 2 };

/* Where the stored bytes of one chunk are. */
typedef struct {
    const uint8_t *memory; /* here already, or NULL: */
    int fd;
    bool owned; /* close fd after use */
    int64_t offset;
    int64_t length; /* -1: to the end of the file */
} stored;

/* The region that one task reads, in simplest form. */
typedef struct {
    size_t rank;
    zaro_walk walk[ZARO_MAX_RANK];
    int64_t src_shift; /* bytes from the start of the block to the first element */
    uint8_t *dst;      /* first element of the output */
    size_t nbytes;     /* of the whole block */
    bool all;          /* the region is the whole block */
    bool whole;        /* and lies in one run */
} region;

static size_t round_up(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static bool by_points(const zaro_read *read) { return read->points.begin != NULL; }

/* ---- preparing ---------------------------------------------------------------------------- */

static zaro_status largest_block(const zaro_read *read, size_t *nbytes) {
    size_t size = read->itemsize;
    if (by_points(read))
        return zaro_mul_size(size, read->points.block, nbytes) ? ZARO_OK : ZARO_OVERFLOW;
    for (size_t d = 0; d < read->rank; d++) {
        int64_t most = 0;
        for (size_t k = 0; k < read->axis[d].n; k++)
            if (read->axis[d].segment[k].size > most)
                most = read->axis[d].segment[k].size;
        if (!zaro_mul_size(size, (size_t)most, &size))
            return ZARO_OVERFLOW;
    }
    *nbytes = size;
    return size > (size_t)INT64_MAX ? ZARO_OVERFLOW : ZARO_OK;
}

zaro_status zaro_read_prepare(zaro_read *read) {
    if (read->rank > ZARO_MAX_RANK || read->itemsize == 0)
        return ZARO_RANGE;
    bool exact;
    zaro_status status = largest_block(read, &read->block_most);
    if (status == ZARO_OK)
        status = zaro_chain_sizes(read->chain, read->block_most, &read->stored_most, &read->scratch, &exact);
    size_t room;
    if (status == ZARO_OK && (read->stored_most > (size_t)INT64_MAX / 4 || read->scratch > (size_t)INT64_MAX / 4 ||
                              !zaro_add_size(read->block_most, read->stored_most + read->scratch + 4 * ALIGN, &room)))
        status = ZARO_OVERFLOW;
    read->claim = read->block_most ? CLAIM_BYTES / read->block_most : CLAIM_TASKS;
    if (read->claim > CLAIM_TASKS)
        read->claim = CLAIM_TASKS;
    if (read->claim < 1)
        read->claim = 1;
    atomic_store(&read->next, 0);
    atomic_store(&read->stop, RUNNING);
    atomic_store(&read->absent, 0);
    read->error = (zaro_read_error){ZARO_OK, 0, 0, 0, -1};
    return status;
}

/* room = [stored bytes + 1][block][scratch] */
size_t zaro_read_room(const zaro_read *read) {
    return round_up(read->stored_most + 1) + round_up(read->block_most) + round_up(read->scratch);
}

/* ---- where a chunk lies -------------------------------------------------------------------- */

static void segments_of(const zaro_read *read, size_t task, const zaro_segment *segment[]) {
    for (size_t d = read->rank; d-- > 0;) {
        segment[d] = &read->axis[d].segment[task % read->axis[d].n];
        task /= read->axis[d].n;
    }
}

void zaro_read_index(const zaro_read *read, size_t task, int64_t *index) {
    if (by_points(read)) {
        if (read->points.index)
            memcpy(index, read->points.index + task * read->rank, read->rank * sizeof *index);
        return;
    }
    const zaro_segment *segment[ZARO_MAX_RANK];
    segments_of(read, task, segment);
    for (size_t d = 0; d < read->rank; d++)
        index[d] = segment[d]->chunk;
}

/* Spell a chunk's key. False where it does not fit. */
static bool spell_key(const zaro_where *where, size_t rank, const int64_t *index, char *key) {
    size_t used = strlen(where->prefix);
    if (used + rank * 21 + 1 > KEY_MOST)
        return false;
    memcpy(key, where->prefix, used);
    for (size_t d = 0; d < rank; d++) {
        char digit[20];
        size_t n = 0;
        uint64_t rest = (uint64_t)index[d];
        do
            digit[n++] = (char)('0' + rest % 10);
        while (rest /= 10);
        if (d > 0)
            key[used++] = where->separator;
        while (n > 0)
            key[used++] = digit[--n];
    }
    key[used] = '\0';
    return true;
}

/* Never blocks on a FIFO, never leaks into a child. */
static int open_any(int root, const char *path) {
    int fd;
    do
        fd = openat(root, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Open a file and nothing else. Chunks by key go without this question, which costs as much as a small read:
 * folders and pipes refuse to be read at a position, and a device without end is longer than any chunk. */
static int open_file(int root, const char *path) {
    struct stat facts;
    int fd = open_any(root, path);
    if (fd < 0)
        return fd;
    int code = fstat(fd, &facts) != 0 ? errno : S_ISREG(facts.st_mode) ? 0 : S_ISDIR(facts.st_mode) ? EISDIR : ENODEV;
    if (code == 0)
        return fd;
    close(fd);
    errno = code;
    return -1;
}

/* A link that leads nowhere is broken, not absent: the file's own, or that of a folder above it. */
static bool is_broken(int root, char *key) {
    struct stat facts;
    for (;;) {
        if (fstatat(root, key, &facts, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
        char *end = strrchr(key, '/');
        if (end == NULL || end == key)
            return false;
        *end = '\0';
        if (fstatat(root, key, &facts, 0) == 0)
            return false;
    }
}

static zaro_status find_key(const zaro_read *read, size_t task, stored *out, int *code) {
    int64_t index[ZARO_MAX_RANK];
    char key[KEY_MOST];
    zaro_read_index(read, task, index);
    if (!spell_key(&read->where, read->rank, index, key))
        return ZARO_RANGE;
    *out = (stored){NULL, open_any(read->where.root, key), true, 0, -1};
    if (out->fd >= 0)
        return ZARO_OK;
    *code = errno;
    if (*code != ENOENT && *code != ENOTDIR)
        return ZARO_IO;
    return is_broken(read->where.root, key) ? ZARO_MISSING : ZARO_ABSENT_CHUNK;
}

static zaro_status find_span(const zaro_read *read, zaro_worker *worker, size_t k, stored *out, int *code) {
    const zaro_where *where = &read->where;
    int32_t file = where->file[k];
    int64_t offset = where->offset[k], length = where->length[k];
    if (file == -1)
        return ZARO_ABSENT_CHUNK;
    if (offset < 0 || length < -1)
        return ZARO_RANGE;
    if (file == -2) {
        if (length < 0 || (size_t)offset > where->n_inlined || (size_t)length > where->n_inlined - (size_t)offset)
            return ZARO_RANGE;
        *out = (stored){where->inlined + offset, -1, false, 0, length};
        return ZARO_OK;
    }
    if (file < 0 || (size_t)file >= where->n_file)
        return ZARO_RANGE;
    size_t place = (size_t)file % ZARO_OPEN_FILES;
    if (worker->file[place] != file) {
        int fd = open_file(AT_FDCWD, where->path[file]);
        if (fd < 0) {
            *code = errno;
            return *code == ENOENT || *code == ENOTDIR ? ZARO_MISSING : ZARO_IO;
        }
        if (worker->file[place] >= 0)
            close(worker->fd[place]);
        worker->fd[place] = fd;
        worker->file[place] = file;
    }
    *out = (stored){NULL, worker->fd[place], false, offset, length};
    return ZARO_OK;
}

static zaro_status find(const zaro_read *read, zaro_worker *worker, size_t k, size_t task, stored *out, int *code) {
    switch (read->where.origin) {
    case ZARO_FROM_MEMORY:
        if (!read->where.data[k])
            return ZARO_ABSENT_CHUNK;
        if (read->where.nbytes[k] > (size_t)INT64_MAX)
            return ZARO_RANGE;
        *out = (stored){read->where.data[k], -1, false, 0, (int64_t)read->where.nbytes[k]};
        return ZARO_OK;
    case ZARO_FROM_FILES:
        return find_span(read, worker, k, out, code);
    case ZARO_FROM_KEYS:
        return find_key(read, task, out, code);
    }
    return ZARO_RANGE;
}

/* ---- fetching ------------------------------------------------------------------------------ */

/* Fill `to` and, beyond it, at most `over` bytes of `spill`, up to the end of the file. */
static zaro_status fetch_into(int fd, int64_t offset, uint8_t *to, size_t n, uint8_t *spill, size_t over, size_t *got,
                              int *code) {
    *got = 0;
    while (*got < n + over) {
        size_t left = *got < n ? n - *got : 0, past = *got < n ? 0 : *got - n;
        struct iovec part[2] = {{to + *got, left}, {past ? spill + past : spill, over - past}};
        ssize_t here = left ? preadv(fd, part, over ? 2 : 1, (off_t)(offset + (int64_t)*got))
                            : pread(fd, part[1].iov_base, part[1].iov_len, (off_t)(offset + (int64_t)*got));
        if (here < 0 && errno == EINTR)
            continue;
        if (here < 0) {
            *code = errno == ESPIPE ? ENODEV : errno;
            return ZARO_IO;
        }
        *got += (size_t)here;
        if (here == 0)
            break;
        if (over && *got >= n && *got < n + over && here < AT_ONCE)
            break; /* a short read past what was wanted: the file ends there */
    }
    return ZARO_OK;
}

static zaro_status fetch_exactly(int fd, int64_t offset, uint8_t *to, size_t n, zaro_read_error *error) {
    int64_t end;
    size_t got;
    if (!zaro_add_i64(offset, (int64_t)n, &end))
        return ZARO_OVERFLOW;
    zaro_status status = fetch_into(fd, offset, to, n, NULL, 0, &got, &error->code);
    if (status == ZARO_OK && got < n) {
        error->got = (int64_t)got;
        return ZARO_SHORT;
    }
    return status;
}

/* All stored bytes of a chunk: *in points at them, in memory or in raw [stored_most + 1]. */
static zaro_status fetch(const stored *from, size_t most, uint8_t *raw, const uint8_t **in, size_t *n,
                         zaro_read_error *error) {
    if (from->length >= 0) {
        *n = (size_t)from->length;
        *in = from->memory ? from->memory : raw;
        if (*n > most) {
            error->got = from->length;
            return ZARO_LONG;
        }
        return from->memory ? ZARO_OK : fetch_exactly(from->fd, from->offset, raw, *n, error);
    }
    zaro_status status = fetch_into(from->fd, from->offset, raw, most + 1, NULL, 0, n, &error->code);
    *in = raw;
    if (status == ZARO_OK && *n > most)
        return ZARO_LONG;
    return status;
}

/* A block that is stored as it is, whole, straight to its place. */
static zaro_status fetch_plain(const stored *from, uint8_t *to, size_t nbytes, zaro_read_error *error) {
    uint8_t spill[1];
    size_t got;
    if (from->length >= 0) {
        error->got = from->length;
        if ((size_t)from->length != nbytes)
            return (size_t)from->length < nbytes ? ZARO_SHORT : ZARO_LONG;
        if (!from->memory)
            return fetch_exactly(from->fd, from->offset, to, nbytes, error);
        memcpy(to, from->memory, nbytes);
        return ZARO_OK;
    }
    zaro_status status = fetch_into(from->fd, from->offset, to, nbytes, spill, 1, &got, &error->code);
    error->got = (int64_t)got;
    if (status == ZARO_OK && got != nbytes)
        return got < nbytes ? ZARO_SHORT : ZARO_LONG;
    return status;
}

/* Bytes [*low, *high) of the block, relative to the first element, that axes touch. */
static void reach(size_t rank, const zaro_walk *walk, size_t itemsize, int64_t *low, int64_t *high) {
    *low = 0;
    *high = (int64_t)itemsize;
    for (size_t d = 0; d < rank; d++) {
        int64_t least = 0, most = walk[d].count - 1;
        if (walk[d].src_at) {
            least = most = walk[d].src_at[0];
            for (int64_t k = 1; k < walk[d].count; k++) {
                least = walk[d].src_at[k] < least ? walk[d].src_at[k] : least;
                most = walk[d].src_at[k] > most ? walk[d].src_at[k] : most;
            }
        }
        int64_t a = least * walk[d].src_stride, b = most * walk[d].src_stride;
        *low += a < b ? a : b;
        *high += a < b ? b : a;
    }
}

/* Part of a block that is stored as it is: read only the bytes that the region spans, and where
 * its outer elements lie far apart, only those. `at` is the file position of the first element. */
static zaro_status fetch_part(int fd, int64_t at, size_t rank, const zaro_walk *walk, size_t itemsize, uint8_t *room,
                              uint8_t *dst, zaro_read_error *error) {
    int64_t low, high, inner_low, inner_high;
    reach(rank, walk, itemsize, &low, &high);
    if (rank > 0) {
        reach(rank - 1, walk + 1, itemsize, &inner_low, &inner_high);
        int64_t stride = walk->src_stride < 0 ? -walk->src_stride : walk->src_stride;
        if (stride - (inner_high - inner_low) >= SPARSE_GAP) {
            for (int64_t k = 0; k < walk->count; k++) {
                int64_t from = walk->src_at ? walk->src_at[k] : k, to = walk->src_at ? walk->dst_at[k] : k;
                zaro_status status = fetch_part(fd, at + from * walk->src_stride, rank - 1, walk + 1, itemsize, room,
                                                dst + to * walk->dst_stride, error);
                if (status != ZARO_OK)
                    return status;
            }
            return ZARO_OK;
        }
    }
    zaro_status status = fetch_exactly(fd, at + low, room, (size_t)(high - low), error);
    if (status == ZARO_OK)
        zaro_stitch_copy(rank, walk, itemsize, room - low, dst);
    return status;
}

/* ---- one task ------------------------------------------------------------------------------ */

static void region_of(const zaro_read *read, size_t task, region *out) {
    const zaro_segment *segment[ZARO_MAX_RANK];
    int64_t stride[ZARO_MAX_RANK], dst_shift = 0, item = (int64_t)read->itemsize, elements = 1;
    segments_of(read, task, segment);
    out->nbytes = read->itemsize;
    for (size_t k = read->rank; k-- > 0;) {
        size_t d = read->order[k];
        stride[d] = (int64_t)out->nbytes;
        out->nbytes *= (size_t)segment[d]->size;
    }
    out->src_shift = 0;
    for (size_t d = 0; d < read->rank; d++) {
        const zaro_axis *axis = &read->axis[d];
        const zaro_segment *s = segment[d];
        zaro_walk *walk = &out->walk[d];
        elements *= s->count;
        if (axis->source) {
            *walk =
                (zaro_walk){s->count, stride[d], axis->out_stride, axis->source + s->begin, axis->target + s->begin};
            continue;
        }
        *walk = (zaro_walk){s->count, stride[d] * s->step, axis->out_stride, NULL, NULL};
        out->src_shift += s->begin * stride[d];
        dst_shift += s->out * axis->out_stride;
    }
    out->rank = zaro_stitch_simplify(read->rank, out->walk, &out->src_shift, &dst_shift);
    out->dst = read->out + dst_shift;
    out->all = elements * item == (int64_t)out->nbytes;
    out->whole = out->all && out->src_shift == 0 && zaro_stitch_is_run(out->rank, out->walk, read->itemsize);
}

/* Does the last step undo a shuffle that the copy into the output can undo instead? Short rows are slower so. */
static bool ends_shuffled(const zaro_read *read, const region *to) {
    const zaro_chain *chain = read->chain;
    return chain->n > 1 && read->itemsize > 1 && chain->step[chain->n - 1].kind == ZARO_STEP_SHUFFLE &&
           chain->step[chain->n - 1].width == read->itemsize &&
           zaro_stitch_has_rows(to->rank, to->walk, read->itemsize, 32);
}

/* Does a block that is stored as it is, of which a part is wanted, have the length that it should? */
static zaro_status check_length(const stored *from, size_t nbytes, zaro_read_error *error) {
    struct stat file;
    int64_t end, length = from->length;
    if (!zaro_add_i64(from->offset, (int64_t)nbytes, &end))
        return ZARO_OVERFLOW;
    if (length < 0) {
        if (fstat(from->fd, &file) != 0 || !S_ISREG(file.st_mode))
            return ZARO_OK; /* reading says what it is */
        length = file.st_size < from->offset ? 0 : file.st_size - from->offset;
    }
    error->got = length;
    return length == end - from->offset ? ZARO_OK : length < end - from->offset ? ZARO_SHORT : ZARO_LONG;
}

/* A region of a block that is stored as it is. */
static zaro_status run_plain(const zaro_read *read, uint8_t *room, const stored *from, const region *to,
                             zaro_read_error *error) {
    if (to->whole)
        return fetch_plain(from, to->dst, to->nbytes, error);
    const uint8_t *block = from->memory ? from->memory : room;
    zaro_status status =
        to->all && !from->memory ? fetch_plain(from, room, to->nbytes, error) : check_length(from, to->nbytes, error);
    if (status != ZARO_OK)
        return status;
    if (!to->all && !from->memory)
        return fetch_part(from->fd, from->offset + to->src_shift, to->rank, to->walk, read->itemsize, room, to->dst,
                          error);
    zaro_stitch_copy(to->rank, to->walk, read->itemsize, block + to->src_shift, to->dst);
    return ZARO_OK;
}

static zaro_status run_region(const zaro_read *read, zaro_worker *worker, const stored *from, const region *to,
                              zaro_read_error *error) {
    uint8_t *raw = worker->room, *block = raw + round_up(read->stored_most + 1);
    uint8_t *scratch = block + round_up(read->block_most);
    const uint8_t *in;
    size_t n;
    if (read->chain->n == 0)
        return run_plain(read, block, from, to, error);
    zaro_status status = fetch(from, read->stored_most, raw, &in, &n, error);
    if (status != ZARO_OK)
        return status;
    error->got = (int64_t)n;
    if (!to->whole && ends_shuffled(read, to)) {
        zaro_chain before = {read->chain->step, read->chain->n - 1};
        status = zaro_chain_decode(&before, worker->decoder, in, n, block, to->nbytes, scratch, &error->step);
        if (status == ZARO_OK)
            zaro_stitch_unshuffle(to->rank, to->walk, read->itemsize, block, to->nbytes / read->itemsize,
                                  (size_t)to->src_shift / read->itemsize, to->dst);
        return status;
    }
    uint8_t *target = to->whole ? to->dst : block;
    status = zaro_chain_decode(read->chain, worker->decoder, in, n, target, to->nbytes, scratch, &error->step);
    if (status == ZARO_OK && !to->whole)
        zaro_stitch_copy(to->rank, to->walk, read->itemsize, block + to->src_shift, to->dst);
    return status;
}

static zaro_status run_points(const zaro_read *read, zaro_worker *worker, size_t task, const stored *from,
                              zaro_read_error *error) {
    uint8_t *raw = worker->room, *block = raw + round_up(read->stored_most + 1);
    uint8_t *scratch = block + round_up(read->block_most);
    const zaro_points *points = &read->points;
    const uint8_t *in;
    size_t n, item = read->itemsize;
    zaro_status status = fetch(from, read->stored_most, raw, &in, &n, error);
    if (status != ZARO_OK)
        return status;
    error->got = (int64_t)n;
    if (read->chain->n == 0) {
        if (n != read->block_most)
            return n < read->block_most ? ZARO_SHORT : ZARO_LONG;
    } else {
        status = zaro_chain_decode(read->chain, worker->decoder, in, n, block, read->block_most, scratch, &error->step);
        if (status != ZARO_OK)
            return status;
        in = block;
    }
    for (int64_t p = points->begin[task]; p < points->begin[task + 1]; p++)
        memcpy(read->out + (size_t)points->target[p] * item, in + (size_t)points->source[p] * item, item);
    return ZARO_OK;
}

static void fill_points(const zaro_read *read, size_t task) {
    for (int64_t p = read->points.begin[task]; p < read->points.begin[task + 1]; p++)
        memcpy(read->out + (size_t)read->points.target[p] * read->itemsize, read->fill, read->itemsize);
}

static zaro_status run_task(zaro_read *read, zaro_worker *worker, size_t k, zaro_read_error *error) {
    size_t task = read->task ? (size_t)read->task[k] : k;
    stored from;
    region to;
    if (!by_points(read))
        region_of(read, task, &to);
    zaro_status status = find(read, worker, k, task, &from, &error->code);
    if (status == ZARO_ABSENT_CHUNK && !read->absent_is_error) {
        atomic_fetch_add_explicit(&read->absent, 1, memory_order_relaxed);
        if (by_points(read))
            fill_points(read, task);
        else
            zaro_stitch_fill(to.rank, to.walk, read->itemsize, read->fill, to.dst);
        return ZARO_OK;
    }
    if (status != ZARO_OK)
        return status;
    status =
        by_points(read) ? run_points(read, worker, task, &from, error) : run_region(read, worker, &from, &to, error);
    if (from.owned)
        close(from.fd);
    return status;
}

/* ---- many tasks ---------------------------------------------------------------------------- */

static void fail(zaro_read *read, const zaro_read_error *error) {
    int running = RUNNING;
    if (atomic_compare_exchange_strong(&read->stop, &running, FAILED))
        read->error = *error;
}

bool zaro_read_run(zaro_read *read, zaro_worker *worker, size_t most) {
    size_t done = 0;
    while (done < most) {
        size_t first = atomic_fetch_add_explicit(&read->next, read->claim, memory_order_relaxed);
        if (first >= read->n_task)
            return false;
        size_t last = read->n_task - first < read->claim ? read->n_task : first + read->claim;
        for (size_t k = first; k < last; k++) {
            if (atomic_load_explicit(&read->stop, memory_order_relaxed) != RUNNING)
                return false;
            zaro_read_error error = {ZARO_OK, k, 0, 0, -1};
            error.status = run_task(read, worker, k, &error);
            if (error.status != ZARO_OK) {
                fail(read, &error);
                return false;
            }
        }
        done += last - first;
    }
    return true;
}

void zaro_read_stop(zaro_read *read) {
    int running = RUNNING;
    atomic_compare_exchange_strong(&read->stop, &running, STOPPED);
}

void zaro_worker_open(zaro_worker *worker, zaro_decoder *decoder, uint8_t *room) {
    worker->decoder = decoder;
    worker->room = room;
    for (size_t k = 0; k < ZARO_OPEN_FILES; k++)
        worker->file[k] = -1;
}

void zaro_worker_close(zaro_worker *worker) {
    for (size_t k = 0; k < ZARO_OPEN_FILES; k++)
        if (worker->file[k] >= 0) {
            close(worker->fd[k]);
            worker->file[k] = -1;
        }
}
