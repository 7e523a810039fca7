/* The structure of a reference document, block by block. */
#include "zaro/scan.h"

#include <stdlib.h>
#include <string.h>

#include "scan_parts.h"
#include "zaro/base64.h"

enum { AT_START, AT_FIRST, AT_NEXT, AT_KEY, AT_RAW, AT_END };

zaro_scan *zaro_scan_new(bool nested, uint64_t skip) {
    zaro_scan *scan = calloc(1, sizeof *scan);
    if (!scan)
        return NULL;
    scan->nested = nested;
    scan->skip = skip;
    /* where a scanner lies differs from run to run: nobody can prepare texts that collide */
    scan->files.seed = scan->paths.seed = (uint64_t)(uintptr_t)scan * 0x9E3779B97F4A7C15u;
    return scan;
}

void zaro_scan_free(zaro_scan *scan) {
    if (!scan)
        return;
    for (size_t number = 0; number < scan->paths.n; number++) {
        zaro_scan_drop(scan, number);
        free(scan->array[number].prefix);
    }
    for (int k = 0; k < ZARO_SCAN_FIELDS; k++)
        free(scan->field[k].data);
    free(scan->array);
    free(scan->keys.data);
    free(scan->inlined.data);
    free(scan->scratch.data);
    free(scan->url.data);
    free(scan->loose);
    free(scan->file_next);
    free(scan->file_plain);
    zaro_texts_free(&scan->files);
    zaro_texts_free(&scan->paths);
    free(scan);
}

/* A key that continues the pattern of the last ones. Returns what follows its closing quote, or NULL. */
static inline const uint8_t *expected_key(const zaro_scan *scan, const uint8_t *p, const uint8_t *end, uint32_t *number,
                                          int64_t *id) {
    *number = scan->array[scan->recent].next;
    const zaro_scan_array *array = &scan->array[*number];
    if (!array->plain || !(p = zaro_scan_spelled(scan, p, end, array->prefix, array->prefix_n)))
        return NULL;
    p = zaro_key_indices(p, true, array->separator, array->rank, array->grid, id);
    return p && *p == '"' ? p + 1 : NULL;
}

static bool ends_in(const uint8_t *key, size_t n, const char *name) {
    size_t m = strlen(name);
    return n >= m && memcmp(key + n - m, name, m) == 0 && (n == m || key[n - m - 1] == '/');
}

static bool is(const uint8_t *key, size_t n, const char *name) {
    return n == strlen(name) && memcmp(key, name, n) == 0;
}

/* What a member beside "refs" is: a field, or -1 where it says nothing. */
static int field_of(const uint8_t *key, size_t n) {
    return is(key, n, "version")     ? ZARO_SCAN_VERSION
           : is(key, n, "templates") ? ZARO_SCAN_TEMPLATES
           : is(key, n, "gen")       ? ZARO_SCAN_GEN
           : is(key, n, "zaro")      ? ZARO_SCAN_ZARO
                                     : -1;
}

static void become_nested(zaro_scan *scan) {
    scan->nested = true;
    scan->mixed = scan->mixed || scan->n_flat;
}

/* A member of the outermost object that may be no entry. *taken: it was none; p is its value. */
static zaro_step_result member(zaro_scan *scan, const uint8_t *key, size_t n, const uint8_t *p, bool *taken,
                               const uint8_t **after) {
    int field = field_of(key, n);
    *taken = true;
    if (is(key, n, "refs") && *p == '{') {
        become_nested(scan);
        if (scan->n_refs++ >= scan->skip) {
            scan->inside = true;
            scan->state = AT_FIRST;
            *after = p + 1;
            return STEP_OK;
        }
    } else if (field < 0 && !scan->nested) {
        *taken = false;
        return STEP_OK;
    } else if (is(key, n, "refs")) {
        return zaro_scan_bad(scan, ZARO_SCAN_REFERENCE, p);
    }
    scan->sink = field;
    if (field >= 0) {
        scan->field[field].n = 0;
        scan->has_field[field] = true;
    }
    zaro_scan_pass_start(scan);
    scan->state = AT_RAW;
    *after = p;
    return STEP_OK;
}

/* One key and its value, or the start of a member that is no entry. */
static zaro_step_result entry(zaro_scan *scan, const uint8_t *p, const uint8_t *end, const uint8_t **after) {
    const uint8_t *key = NULL, *q = NULL;
    zaro_scan_loose found;
    uint32_t expected = 0;
    int64_t id = 0;
    size_t n = 0;
    int32_t guess = -1;
    zaro_step_result step;
    if (scan->any_array && (scan->inside || !scan->nested)) {
        q = expected_key(scan, p + 1, end, &expected, &id);
        guess = scan->array[q ? expected : scan->recent].guess;
    }
    if (!q && (step = zaro_scan_string(scan, p + 1, end, &scan->scratch, &key, &n, &q)) != STEP_OK)
        return step;
    q = zaro_scan_blank(q);
    if (*q != ':')
        return zaro_scan_unexpected(scan, q, end, ZARO_SCAN_SYNTAX);
    q = zaro_scan_blank(q + 1);
    if (q == end)
        return STEP_MORE;
    if (key && !scan->inside) {
        bool taken;
        step = member(scan, key, n, q, &taken, after);
        if (step != STEP_OK || taken)
            return step;
    }
    if ((step = zaro_scan_value(scan, q, end, guess, &found, &q)) != STEP_OK)
        return step;
    *after = q;
    scan->state = AT_NEXT;
    scan->n_flat += !scan->inside;
    if (key) {
        scan->array_met =
            found.file <= ZARO_SCAN_INLINE && (ends_in(key, n, ".zarray") || ends_in(key, n, "zarr.json"));
        if (!zaro_scan_put(scan, key, n, found.file, found.offset, found.length))
            return STEP_MEMORY;
        expected = scan->recent;
    } else {
        scan->recent = expected;
        if (!zaro_scan_push(&scan->array[expected], id, found.file, found.offset, found.length))
            return STEP_MEMORY;
    }
    if (found.file >= 0 && scan->any_array) {
        if (guess >= 0 && guess != found.file)
            scan->file_next[guess] = (uint32_t)found.file + 1;
        scan->array[expected].guess = found.file;
    }
    return STEP_OK;
}

/* One step of the document; *at moves past what is taken. */
static zaro_step_result advance(zaro_scan *scan, const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = scan->state == AT_RAW ? *at : zaro_scan_blank(*at), *start = p;
    zaro_step_result step;
    *at = p;
    switch (scan->state) {
    case AT_START:
        if (*p == 0xEF && scan->taken == 0 && p == scan->block) { /* a byte order mark */
            if (end - p < 3)
                return STEP_MORE;
            p = zaro_scan_blank(memcmp(p, "\xEF\xBB\xBF", 3) == 0 ? p + 3 : p);
        }
        if (*p != '{')
            return zaro_scan_unexpected(scan, p, end, ZARO_SCAN_START);
        scan->state = AT_FIRST;
        *at = p + 1;
        return STEP_OK;
    case AT_NEXT:
        if (*p == ',') {
            scan->state = AT_KEY;
            *at = p + 1;
            return STEP_OK;
        } /* fall through */
    case AT_FIRST:
        if (*p == '}') {
            scan->state = scan->inside ? AT_NEXT : AT_END;
            scan->inside = false;
            *at = p + 1;
            return STEP_OK;
        }
        if (scan->state == AT_NEXT)
            return zaro_scan_unexpected(scan, p, end, ZARO_SCAN_SYNTAX);
        /* fall through */
    case AT_KEY:
        return *p == '"' ? entry(scan, p, end, at) : zaro_scan_unexpected(scan, p, end, ZARO_SCAN_SYNTAX);
    case AT_RAW:
        step = zaro_scan_pass(scan, &p, end);
        if (step != STEP_OK && step != STEP_MORE)
            return step;
        if (scan->sink >= 0) {
            zaro_bytes *field = &scan->field[scan->sink];
            if (!zaro_bytes_reserve(field, (size_t)(p - start)))
                return STEP_MEMORY;
            memcpy(field->data + field->n, start, (size_t)(p - start));
            field->n += (size_t)(p - start);
        }
        *at = p;
        if (step == STEP_OK) {
            scan->state = AT_NEXT;
            if (scan->sink == ZARO_SCAN_VERSION && !is(scan->field[0].data, scan->field[0].n, "null"))
                become_nested(scan);
        }
        return step;
    default:
        return zaro_scan_unexpected(scan, p, end, ZARO_SCAN_TRAILING);
    }
}

/* The key of the entry that starts at p, for the message. */
static void name_trouble(zaro_scan *scan, const uint8_t *p, const uint8_t *end) {
    zaro_scan_trouble trouble = scan->trouble;
    const uint8_t *after;
    trouble.key = NULL;
    if ((scan->state == AT_KEY || scan->state == AT_FIRST) && *p == '"' &&
        zaro_scan_string(scan, p + 1, end, &scan->scratch, &trouble.key, &trouble.key_n, &after) != STEP_OK)
        trouble.key = NULL;
    scan->trouble = trouble;
}

zaro_status zaro_scan_feed(zaro_scan *scan, const uint8_t *text, size_t n, bool last, size_t *used,
                           zaro_scan_event *event) {
    const uint8_t *at = text, *end = text + n;
    zaro_step_result step = STEP_OK;
    scan->block = text;
    scan->array_met = false;
    while (step == STEP_OK && !scan->array_met)
        step = advance(scan, &at, end);
    if (step == STEP_MEMORY)
        return ZARO_MEMORY;
    *used = (size_t)(at - text);
    *event = scan->array_met ? ZARO_SCAN_ARRAY : scan->state == AT_END ? ZARO_SCAN_DONE : ZARO_SCAN_MORE;
    if (last && step == STEP_MORE && *event == ZARO_SCAN_MORE)
        step = zaro_scan_bad(scan, ZARO_SCAN_ENDS, end);
    if (step == STEP_BAD) {
        name_trouble(scan, at, end);
        return ZARO_CORRUPT;
    }
    scan->taken += *used;
    return ZARO_OK;
}

zaro_status zaro_scan_add(zaro_scan *scan, const uint8_t *key, size_t n, int32_t code, const uint8_t *text,
                          size_t text_n, int64_t offset, int64_t length) {
    int32_t file = code;
    if (code == ZARO_SCAN_INLINE) {
        bool encoded = text_n >= 7 && memcmp(text, "base64:", 7) == 0;
        if (!zaro_bytes_reserve(&scan->inlined, text_n))
            return ZARO_MEMORY;
        uint8_t *out = scan->inlined.data + scan->inlined.n;
        if (encoded && !zaro_base64_decode(text + 7, text_n - 7, out, &text_n))
            return ZARO_CORRUPT;
        if (!encoded && text_n)
            memcpy(out, text, text_n);
        offset = (int64_t)scan->inlined.n;
        length = (int64_t)text_n;
        scan->inlined.n += text_n;
    } else if (code != ZARO_SCAN_ABSENT && !zaro_scan_file(scan, text, text_n, &file)) {
        return ZARO_MEMORY;
    }
    return zaro_scan_put(scan, key, n, file, offset, length) ? ZARO_OK : ZARO_MEMORY;
}

void zaro_scan_where(const zaro_scan *scan, zaro_scan_trouble *trouble) { *trouble = scan->trouble; }

void zaro_scan_look(const zaro_scan *scan, zaro_scan_view *view) {
    *view = (zaro_scan_view){
        .keys = scan->keys.data,
        .loose = scan->loose,
        .n_loose = scan->n_loose,
        .files = scan->files.text.data,
        .file_end = scan->files.end,
        .n_files = scan->files.n,
        .inlined = scan->inlined.data,
        .n_inline = scan->inlined.n,
        .n_arrays = scan->paths.n,
        .n_objects = scan->n_objects,
        .n_refs = scan->n_refs,
        .nested = scan->nested,
        .mixed = scan->mixed,
    };
    for (int k = 0; k < ZARO_SCAN_FIELDS; k++) {
        view->field[k] = scan->has_field[k] ? scan->field[k].data : NULL;
        view->field_n[k] = scan->field[k].n;
    }
}
