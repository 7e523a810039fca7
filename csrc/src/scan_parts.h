/* scan_parts.h - what the files of the scanner share; see zaro/scan.h for what it does. */
#ifndef ZARO_SCAN_PARTS_H
#define ZARO_SCAN_PARTS_H

#include <string.h>

#include "zaro/key.h"
#include "zaro/scan.h"

/* Bytes that grow. */
typedef struct {
    uint8_t *data;
    size_t n, room;
} zaro_bytes;

/* Texts by number, each once; a table finds the number. */
typedef struct {
    zaro_bytes text;
    uint64_t *end;  /* [n] */
    uint32_t *hash; /* [n] */
    uint32_t *slot; /* [mask + 1] number + 1, or 0 */
    size_t n, room, mask;
    uint64_t seed;
} zaro_texts;

/* One array, declared or guessed from the look of a key. */
typedef struct {
    uint8_t *prefix; /* [prefix_n] path, "/" and "c/": what stands before the indices in its keys */
    size_t path_n, prefix_n;
    int64_t grid[ZARO_MAX_RANK]; /* of a guess: so many that the id has bits of its own for each index */
    size_t rank;
    uint8_t separator;
    bool prefixed, known;
    bool plain;    /* the prefix reads in JSON as it is, but for "\/" */
    uint32_t next; /* the array that followed this one when last seen */
    int32_t guess; /* the file that its last row names, or -1 */
    int64_t *id, *offset, *length;
    int32_t *file;
    size_t n, room, early;
} zaro_scan_array;

struct zaro_scan {
    /* what it holds */
    zaro_bytes keys, inlined, field[ZARO_SCAN_FIELDS];
    bool has_field[ZARO_SCAN_FIELDS];
    zaro_scan_loose *loose;
    size_t n_loose, loose_room;
    zaro_texts files, paths;
    uint32_t *file_next; /* [file_room] file + 1 that followed this one when last seen, 0 unknown */
    bool *file_plain;    /* [file_room] it reads in JSON as it is, but for "\/" */
    size_t file_room;
    zaro_scan_array *array; /* by number of `paths` */
    size_t array_room, n_guesses, n_objects;
    uint64_t n_refs, skip, n_flat;
    bool nested, mixed;
    /* where it stands */
    int state;
    bool inside;     /* "refs" */
    uint32_t recent; /* array of the last row */
    bool any_array, array_met;
    bool escapes;   /* the document has strings with a backslash */
    uint64_t taken; /* bytes of the document before this block */
    const uint8_t *block;
    zaro_bytes scratch, url; /* the unescaped text of a key, of a URL */
    /* a value that is passed over or kept as it stands */
    int sink; /* field, or -1 */
    size_t depth;
    uint64_t kind[16]; /* bit per level: 1 for an object */
    bool in_string, in_escape, in_scalar;
    zaro_scan_trouble trouble;
};

typedef enum { STEP_OK = 0, STEP_MORE, STEP_BAD, STEP_MEMORY } zaro_step_result;

/* scan_text.c */
bool zaro_bytes_reserve(zaro_bytes *bytes, size_t more); /* room for more bytes and a 0 */
zaro_step_result zaro_text_end(const uint8_t *p, const uint8_t *end, const uint8_t **close, bool *escaped,
                               zaro_scan_fault *fault);
zaro_scan_fault zaro_text_unescape(const uint8_t *p, const uint8_t *close, uint8_t *out, size_t *n,
                                   const uint8_t **bad);
zaro_step_result zaro_text_number(const uint8_t *p, const uint8_t *end, const uint8_t **after, int64_t *value,
                                  zaro_scan_fault *fault);
int64_t zaro_texts_find(const zaro_texts *texts, const uint8_t *text, size_t n);
bool zaro_texts_add(zaro_texts *texts, const uint8_t *text, size_t n, size_t *number);
void zaro_texts_free(zaro_texts *texts);

/* scan_rows.c */
bool zaro_scan_resolve(const zaro_scan *scan, const uint8_t *key, size_t n, bool known, size_t *number, int64_t *id);
bool zaro_scan_push(zaro_scan_array *array, int64_t id, int32_t file, int64_t offset, int64_t length);
bool zaro_scan_put(zaro_scan *scan, const uint8_t *key, size_t n, int32_t file, int64_t offset, int64_t length);
bool zaro_scan_file(zaro_scan *scan, const uint8_t *url, size_t n, int32_t *number);

static inline const uint8_t *zaro_texts_at(const zaro_texts *texts, size_t number, size_t *n) {
    uint64_t start = number ? texts->end[number - 1] : 0;
    *n = (size_t)(texts->end[number] - start);
    return texts->text.data + start;
}

/* scan_value.c */
zaro_step_result zaro_scan_string(zaro_scan *scan, const uint8_t *p, const uint8_t *end, zaro_bytes *room,
                                  const uint8_t **text, size_t *n, const uint8_t **after);
zaro_step_result zaro_scan_value(zaro_scan *scan, const uint8_t *p, const uint8_t *end, int32_t guess,
                                 zaro_scan_loose *entry, const uint8_t **after);
zaro_step_result zaro_scan_pass(zaro_scan *scan, const uint8_t **at, const uint8_t *end);
void zaro_scan_pass_start(zaro_scan *scan);

static inline zaro_step_result zaro_scan_bad(zaro_scan *scan, zaro_scan_fault fault, const uint8_t *at) {
    scan->trouble.fault = fault;
    scan->trouble.position = scan->taken + (uint64_t)(at - scan->block);
    return STEP_BAD;
}

/* An unexpected byte: the end of the block, or a mistake. */
static inline zaro_step_result zaro_scan_unexpected(zaro_scan *scan, const uint8_t *p, const uint8_t *end,
                                                    zaro_scan_fault fault) {
    return p == end ? STEP_MORE : zaro_scan_bad(scan, fault, p);
}

static inline const uint8_t *zaro_scan_blank(const uint8_t *p) {
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
        p++;
    return p;
}

/* Where the document spells `text` at p, with "\/" for "/" or not; NULL where it does not. */
static inline const uint8_t *zaro_scan_spelled(const zaro_scan *scan, const uint8_t *p, const uint8_t *end,
                                               const uint8_t *text, size_t n) {
    if ((size_t)(end - p) > n && (n == 0 || memcmp(p, text, n) == 0))
        return p + n;
    if (!scan->escapes)
        return NULL;
    for (size_t k = 0; k < n; k++, p++) {
        if (*p == '\\' && text[k] == '/')
            p++;
        if (*p != text[k])
            return NULL; /* at the end of the block as well: a 0 stands there */
    }
    return p;
}

#endif
