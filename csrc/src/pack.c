#include "zaro/pack.h"

#include <string.h>

#include "zaro/checked.h"

static bool holds(const zaro_pack_column *column, int64_t chunk) {
    return column->file[chunk] >= 0 && column->length[chunk] >= 0;
}

zaro_status zaro_pack_modal(const zaro_pack_column *column, int64_t chunks, int64_t *key, int64_t *times,
                            size_t capacity, int64_t *modal) {
    if (capacity < 2 || (capacity & (capacity - 1)) != 0)
        return ZARO_RANGE;
    memset(times, 0, capacity * sizeof *times);
    size_t distinct = 0;
    int64_t best = 0, most = 0;
    for (int64_t c = 0; c < chunks; c++) {
        if (!holds(column, c))
            continue;
        int64_t length = column->length[c];
        size_t slot = (size_t)(((uint64_t)length * 0x9E3779B97F4A7C15u) >> 20) & (capacity - 1);
        while (times[slot] != 0 && key[slot] != length)
            slot = (slot + 1) & (capacity - 1);
        if (times[slot] == 0) {
            if (++distinct > capacity / 2)
                return ZARO_MEMORY;
            key[slot] = length;
        }
        int64_t n = ++times[slot];
        if (n > most || (n == most && length < best)) {
            most = n;
            best = length;
        }
    }
    *modal = best;
    return ZARO_OK;
}

/* Where the walk stands: the end of the chunk before, and its file. */
typedef struct {
    int64_t here;
    int32_t file;
    bool begun;
} place;

/* Append to the lists of `out`, or only count where it has none. False where a list is full. */
typedef struct {
    zaro_packed *out;
    const zaro_packed *room; /* NULL to count */
} lists;

static inline bool add(int64_t *id, int64_t *value, size_t *n, bool counting, size_t room, int64_t i, int64_t v) {
    if (!counting) {
        if (*n >= room)
            return false;
        id[*n] = i;
        if (value)
            value[*n] = v;
    }
    ++*n;
    return true;
}

static inline bool end_run(lists *l, int64_t last, int32_t file) {
    if (l->room) {
        if (l->out->n_runs >= l->room->n_runs)
            return false;
        l->out->last[l->out->n_runs] = last;
        l->out->file[l->out->n_runs] = file;
    }
    l->out->n_runs++;
    return true;
}

static inline zaro_status take(lists *l, place *p, const zaro_pack_column *column, int64_t chunk, int64_t i,
                               int64_t usual) {
    zaro_packed *out = l->out;
    const zaro_packed *room = l->room;
    bool counting = room == NULL, fits = true;
    if (!holds(column, chunk))
        return add(out->absent_id, NULL, &out->n_absent, counting, counting ? 0 : room->n_absent, i, 0) ? ZARO_OK
                                                                                                        : ZARO_RANGE;
    int64_t offset = column->offset[chunk], length = column->length[chunk], end;
    int32_t file = column->file[chunk];
    if (offset < 0)
        return ZARO_RANGE;
    if (!zaro_add_i64(offset, length, &end))
        return ZARO_OVERFLOW;
    if (!p->begun) {
        *p = (place){offset, file, true};
        out->start = offset;
    }
    if (offset != p->here)
        fits &= add(out->gap_id, out->gap, &out->n_gap, counting, counting ? 0 : room->n_gap, i, offset - p->here);
    if (length != usual)
        fits &=
            add(out->unique_id, out->unique_length, &out->n_unique, counting, counting ? 0 : room->n_unique, i, length);
    if (file != p->file) {
        fits &= end_run(l, i - 1, p->file);
        p->file = file;
    }
    p->here = end;
    return fits ? ZARO_OK : ZARO_RANGE;
}

static zaro_status walk(const zaro_pack_source *source, const int64_t *length, lists *l, int64_t *at) {
    int64_t total, outer = source->varwise ? source->chunks : source->variables;
    int64_t inner = source->varwise ? source->variables : source->chunks;
    if (source->variables < 1 || source->chunks < 0)
        return ZARO_RANGE;
    if (!zaro_mul_i64(source->variables, source->chunks, &total))
        return ZARO_OVERFLOW;
    place p = {0, -1, false};
    int64_t i = 0;
    for (int64_t a = 0; a < outer; a++)
        for (int64_t b = 0; b < inner; b++, i++) {
            int64_t v = source->varwise ? b : a, c = source->varwise ? a : b;
            zaro_status status = take(l, &p, source->column + v, c, i, length[v]);
            if (status != ZARO_OK) {
                *at = i;
                return status;
            }
        }
    return p.begun && !end_run(l, total - 1, p.file) ? ZARO_RANGE : ZARO_OK;
}

zaro_status zaro_pack_count(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed, int64_t *at) {
    *packed = (zaro_packed){0};
    lists l = {packed, NULL};
    return walk(source, length, &l, at);
}

zaro_status zaro_pack_fill(const zaro_pack_source *source, const int64_t *length, zaro_packed *packed, int64_t *at) {
    const zaro_packed room = *packed;
    packed->start = 0;
    packed->n_unique = packed->n_gap = packed->n_absent = packed->n_runs = 0;
    lists l = {packed, &room};
    zaro_status status = walk(source, length, &l, at);
    if (status != ZARO_OK)
        return status;
    bool full = packed->n_unique == room.n_unique && packed->n_gap == room.n_gap && packed->n_absent == room.n_absent &&
                packed->n_runs == room.n_runs;
    return full ? ZARO_OK : ZARO_RANGE;
}
