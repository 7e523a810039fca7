#include "zaro/stitch.h"

#include <string.h>

#include "zaro/filter.h"

/* rows of so many bytes are copied without a call */
#define SHORT_LEAST 16
#define SHORT_MOST 128
/* rows of up to so many bytes lie too far apart in the output for the processor to foresee the next one */
#define FAR_MOST 1024
/* whose places are asked for so many rows, or so many bytes of them, before their turn: whichever is less */
#define AHEAD_ROWS 16
#define AHEAD_BYTES 2048

static int64_t magnitude(int64_t v) { return v < 0 ? -v : v; }

size_t zaro_stitch_simplify(size_t rank, zaro_walk *walk, int64_t *src_shift, int64_t *dst_shift) {
    size_t n = 0;
    for (size_t d = 0; d < rank; d++) {
        zaro_walk axis = walk[d];
        if (axis.count == 1) {
            if (axis.src_at) {
                *src_shift += axis.src_at[0] * axis.src_stride;
                *dst_shift += axis.dst_at[0] * axis.dst_stride;
            }
            continue;
        }
        size_t place = n++; /* insertion sort: ranks are small, and mostly in order already */
        for (; place > 0 && magnitude(walk[place - 1].dst_stride) < magnitude(axis.dst_stride); place--)
            walk[place] = walk[place - 1];
        walk[place] = axis;
    }
    if (n == 0)
        return 0;
    size_t merged = 0;
    for (size_t d = 1; d < n; d++) {
        zaro_walk *outer = &walk[merged], inner = walk[d];
        if (!outer->src_at && !inner.src_at && outer->src_stride == inner.src_stride * inner.count &&
            outer->dst_stride == inner.dst_stride * inner.count) {
            inner.count *= outer->count;
            *outer = inner;
        } else
            walk[++merged] = inner;
    }
    return merged + 1;
}

bool zaro_stitch_is_run(size_t rank, const zaro_walk *walk, size_t itemsize) {
    int64_t item = (int64_t)itemsize;
    return rank == 0 || (rank == 1 && !walk[0].src_at && walk[0].src_stride == item && walk[0].dst_stride == item);
}

#define COPY_ITEMS(type)                                \
    do {                                                \
        for (int64_t k = 0; k < n; k++) {               \
            type item;                                  \
            memcpy(&item, src + k * from, sizeof item); \
            memcpy(dst + k * to, &item, sizeof item);   \
        }                                               \
    } while (0)

typedef struct {
    uint64_t half[2];
} item16;

static void copy_regular(int64_t n, size_t itemsize, const uint8_t *src, int64_t from, uint8_t *dst, int64_t to) {
    if (from == (int64_t)itemsize && to == (int64_t)itemsize) {
        memcpy(dst, src, (size_t)n * itemsize);
        return;
    }
    switch (itemsize) {
    case 1:
        COPY_ITEMS(uint8_t);
        break;
    case 2:
        COPY_ITEMS(uint16_t);
        break;
    case 4:
        COPY_ITEMS(uint32_t);
        break;
    case 8:
        COPY_ITEMS(uint64_t);
        break;
    case 16:
        COPY_ITEMS(item16);
        break;
    default:
        for (int64_t k = 0; k < n; k++)
            memcpy(dst + k * to, src + k * from, itemsize);
    }
}

static void copy_axis(const zaro_walk *axis, size_t itemsize, const uint8_t *src, uint8_t *dst) {
    if (!axis->src_at) {
        copy_regular(axis->count, itemsize, src, axis->src_stride, dst, axis->dst_stride);
        return;
    }
    for (int64_t k = 0; k < axis->count; k++)
        memcpy(dst + axis->dst_at[k] * axis->dst_stride, src + axis->src_at[k] * axis->src_stride, itemsize);
}

/* How many rows of n bytes before its turn the place of a row is asked for; 0 for never. */
static int64_t rows_ahead(size_t n) {
    if (n > FAR_MOST)
        return 0;
    return n * AHEAD_ROWS > AHEAD_BYTES ? (int64_t)(AHEAD_BYTES / n) : AHEAD_ROWS;
}

/* Bring n bytes, soon to be written, into the cache. */
static void ask_for(const uint8_t *place, size_t n) {
    for (size_t at = 0; at < n; at += 64)
        __builtin_prefetch(place + at, 1);
    __builtin_prefetch(place + n - 1, 1);
}

/* Rows of n bytes: short ones without a call each, in pieces that overlap at the end.
   Of those at `ahead`, which come later, as many are asked for meanwhile. */
static void copy_rows(int64_t rows, size_t n, const uint8_t *src, int64_t from, uint8_t *dst, int64_t to,
                      const uint8_t *ahead, int64_t later) {
    if (n < SHORT_LEAST || n > SHORT_MOST) {
        for (int64_t k = 0; k < rows; k++) {
            if (k < later)
                ask_for(ahead + k * to, n);
            memcpy(dst + k * to, src + k * from, n);
        }
        return;
    }
    for (int64_t k = 0; k < rows; k++, src += from, dst += to) {
        if (k < later)
            ask_for(ahead + k * to, n);
        for (size_t at = 0; at + 16 <= n; at += 16)
            memcpy(dst + at, src + at, 16);
        memcpy(dst + n - 16, src + n - 16, 16);
    }
}

/* Runs along the last of two axes. */
static bool is_rows(const zaro_walk *walk, size_t itemsize) {
    return !walk->src_at && zaro_stitch_is_run(1, walk + 1, itemsize);
}

/* Rows along the second of three axes, of which there may be too few to look ahead within them. */
static void copy_planes(const zaro_walk *walk, size_t itemsize, const uint8_t *src, uint8_t *dst) {
    size_t n = (size_t)walk[2].count * itemsize;
    int64_t rows = walk[1].count, steps = (rows_ahead(n) + rows - 1) / rows;
    for (int64_t k = 0; k < walk->count; k++, src += walk->src_stride, dst += walk->dst_stride) {
        bool more = steps > 0 && k + steps < walk->count;
        copy_rows(rows, n, src, walk[1].src_stride, dst, walk[1].dst_stride,
                  more ? dst + steps * walk->dst_stride : NULL, more ? rows : 0);
    }
}

void zaro_stitch_copy(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *src, uint8_t *dst) {
    if (rank == 0) {
        memcpy(dst, src, itemsize);
        return;
    }
    if (rank == 1) {
        copy_axis(walk, itemsize, src, dst);
        return;
    }
    if (rank == 2 && is_rows(walk, itemsize)) {
        size_t n = (size_t)walk[1].count * itemsize;
        int64_t steps = rows_ahead(n);
        bool more = steps > 0 && walk->count > steps;
        copy_rows(walk->count, n, src, walk->src_stride, dst, walk->dst_stride,
                  more ? dst + steps * walk->dst_stride : NULL, more ? walk->count - steps : 0);
        return;
    }
    if (rank == 3 && !walk->src_at && is_rows(walk + 1, itemsize)) {
        copy_planes(walk, itemsize, src, dst);
        return;
    }
    for (int64_t k = 0; k < walk->count; k++) {
        int64_t from = walk->src_at ? walk->src_at[k] : k, to = walk->src_at ? walk->dst_at[k] : k;
        zaro_stitch_copy(rank - 1, walk + 1, itemsize, src + from * walk->src_stride, dst + to * walk->dst_stride);
    }
}

bool zaro_stitch_has_rows(size_t rank, const zaro_walk *walk, size_t itemsize, int64_t least) {
    return rank > 0 && zaro_stitch_is_run(1, walk + rank - 1, itemsize) && walk[rank - 1].count >= least;
}

void zaro_stitch_unshuffle(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *planes, size_t count,
                           size_t first, uint8_t *dst) {
    if (rank == 1) {
        zaro_unshuffle_part(planes, count, first, (size_t)walk->count, dst, itemsize);
        return;
    }
    size_t n = (size_t)walk[1].count * itemsize;
    int64_t steps = rank == 2 ? rows_ahead(n) : 0;
    for (int64_t k = 0; k < walk->count; k++) {
        int64_t from = walk->src_at ? walk->src_at[k] : k, to = walk->src_at ? walk->dst_at[k] : k;
        if (steps > 0 && k + steps < walk->count)
            ask_for(dst + (walk->src_at ? walk->dst_at[k + steps] : k + steps) * walk->dst_stride, n);
        int64_t elements = from * walk->src_stride / (int64_t)itemsize; /* strides of a block are whole elements */
        zaro_stitch_unshuffle(rank - 1, walk + 1, itemsize, planes, count, (size_t)((int64_t)first + elements),
                              dst + to * walk->dst_stride);
    }
}

static void fill_regular(int64_t n, size_t itemsize, const uint8_t *value, uint8_t *dst, int64_t to) {
    bool uniform = true;
    for (size_t b = 1; b < itemsize; b++)
        uniform = uniform && value[b] == value[0];
    if (to == (int64_t)itemsize && uniform) {
        memset(dst, value[0], (size_t)n * itemsize);
        return;
    }
    if (to == (int64_t)itemsize && n > 1) { /* double what is there until all is */
        size_t done = itemsize, all = (size_t)n * itemsize;
        memcpy(dst, value, itemsize);
        while (done < all) {
            size_t more = done < all - done ? done : all - done;
            if (more > 4096 - 4096 % itemsize && itemsize <= 4096)
                more = 4096 - 4096 % itemsize; /* stay in the first-level cache */
            memcpy(dst + done, dst, more);
            done += more;
        }
        return;
    }
    for (int64_t k = 0; k < n; k++)
        memcpy(dst + k * to, value, itemsize);
}

void zaro_stitch_fill(size_t rank, const zaro_walk *walk, size_t itemsize, const uint8_t *value, uint8_t *dst) {
    if (rank == 0) {
        memcpy(dst, value, itemsize);
        return;
    }
    if (rank == 1 && !walk->dst_at) {
        fill_regular(walk->count, itemsize, value, dst, walk->dst_stride);
        return;
    }
    for (int64_t k = 0; k < walk->count; k++) {
        int64_t to = walk->dst_at ? walk->dst_at[k] : k;
        zaro_stitch_fill(rank - 1, walk + 1, itemsize, value, dst + to * walk->dst_stride);
    }
}
