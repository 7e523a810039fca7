/* The values of a reference document: references, text, objects, and what is passed over. */
#include <string.h>

#include "scan_parts.h"
#include "zaro/base64.h"

enum { MAX_DEPTH = 1024 };

/* The text of a string whose first byte is p, unescaped into `room` where it has escapes. */
zaro_step_result zaro_scan_string(zaro_scan *scan, const uint8_t *p, const uint8_t *end, zaro_bytes *room,
                                  const uint8_t **text, size_t *n, const uint8_t **after) {
    const uint8_t *close, *wrong;
    bool escaped;
    zaro_scan_fault fault = ZARO_SCAN_FINE;
    zaro_step_result step = zaro_text_end(p, end, &close, &escaped, &fault);
    if (step != STEP_OK)
        return step == STEP_BAD ? zaro_scan_bad(scan, fault, close) : step;
    if (close - p > INT32_MAX)
        return zaro_scan_bad(scan, ZARO_SCAN_LONG, p);
    *after = close + 1;
    *text = p;
    *n = (size_t)(close - p);
    if (!escaped)
        return STEP_OK;
    scan->escapes = true;
    room->n = 0;
    if (!zaro_bytes_reserve(room, *n))
        return STEP_MEMORY;
    fault = zaro_text_unescape(p, close, room->data, n, &wrong);
    if (fault != ZARO_SCAN_FINE)
        return zaro_scan_bad(scan, fault, wrong);
    room->data[*n] = 0;
    *text = room->data;
    return STEP_OK;
}

/* The file of a URL whose first byte is p. */
static zaro_step_result url_file(zaro_scan *scan, const uint8_t *p, const uint8_t *end, int32_t guess, int32_t *file,
                                 const uint8_t **after) {
    const uint8_t *text, *q;
    size_t n;
    for (int tries = 0; tries < 2 && guess >= 0; tries++) {
        text = zaro_texts_at(&scan->files, (size_t)guess, &n);
        if (scan->file_plain[guess] && (q = zaro_scan_spelled(scan, p, end, text, n)) && *q == '"') {
            *file = guess;
            *after = q + 1;
            return STEP_OK;
        }
        guess = (int32_t)scan->file_next[guess] - 1;
    }
    zaro_step_result step = zaro_scan_string(scan, p, end, &scan->url, &text, &n, after);
    if (step != STEP_OK)
        return step;
    return zaro_scan_file(scan, text, n, file) ? STEP_OK : STEP_MEMORY;
}

static zaro_step_result amount(zaro_scan *scan, const uint8_t **p, const uint8_t *end, int64_t *value) {
    zaro_scan_fault fault = ZARO_SCAN_FINE;
    const uint8_t *q = zaro_scan_blank(*p);
    if (*q != ',')
        return zaro_scan_unexpected(scan, q, end, *q == ']' ? ZARO_SCAN_REFERENCE : ZARO_SCAN_SYNTAX);
    q = zaro_scan_blank(q + 1);
    if ((uint8_t)(*q - '0') > 9 && *q != '-') {
        bool other = *q == '"' || *q == '{' || *q == '[' || *q == 't' || *q == 'f' || *q == 'n';
        return zaro_scan_unexpected(scan, q, end, other ? ZARO_SCAN_REFERENCE : ZARO_SCAN_SYNTAX);
    }
    zaro_step_result step = zaro_text_number(q, end, p, value, &fault);
    return step == STEP_BAD ? zaro_scan_bad(scan, fault, *p) : step;
}

static zaro_step_result word(zaro_scan *scan, const uint8_t **p, const uint8_t *end, const char *text) {
    for (; *text; text++, ++*p)
        if (**p != (uint8_t)*text)
            return zaro_scan_unexpected(scan, *p, end, ZARO_SCAN_SYNTAX);
    return STEP_OK;
}

/* [url] or [url, offset, length]; p is behind the bracket. */
static zaro_step_result list(zaro_scan *scan, const uint8_t *p, const uint8_t *end, int32_t guess,
                             zaro_scan_loose *entry, const uint8_t **after) {
    p = zaro_scan_blank(p);
    if (*p != '"')
        return zaro_scan_unexpected(scan, p, end, ZARO_SCAN_REFERENCE);
    zaro_step_result step = url_file(scan, p + 1, end, guess, &entry->file, &p);
    if (step != STEP_OK)
        return step;
    p = zaro_scan_blank(p);
    entry->offset = 0;
    entry->length = ZARO_SCAN_WHOLE;
    if (*p != ']') {
        if ((step = amount(scan, &p, end, &entry->offset)) != STEP_OK)
            return step;
        if ((step = amount(scan, &p, end, &entry->length)) != STEP_OK)
            return step;
        p = zaro_scan_blank(p);
        if (*p != ']')
            return zaro_scan_unexpected(scan, p, end, *p == ',' ? ZARO_SCAN_REFERENCE : ZARO_SCAN_SYNTAX);
    }
    *after = p + 1;
    return STEP_OK;
}

/* Text or "base64:", straight to the inline bytes; p is behind the quote. */
static zaro_step_result text(zaro_scan *scan, const uint8_t *p, const uint8_t *end, zaro_scan_loose *entry,
                             const uint8_t **after) {
    const uint8_t *close, *wrong;
    bool escaped;
    zaro_scan_fault fault = ZARO_SCAN_FINE;
    zaro_step_result step = zaro_text_end(p, end, &close, &escaped, &fault);
    if (step != STEP_OK)
        return step == STEP_BAD ? zaro_scan_bad(scan, fault, close) : step;
    if (!zaro_bytes_reserve(&scan->inlined, (size_t)(close - p)))
        return STEP_MEMORY;
    uint8_t *out = scan->inlined.data + scan->inlined.n;
    size_t n = 0;
    fault = zaro_text_unescape(p, close, out, &n, &wrong);
    if (fault != ZARO_SCAN_FINE)
        return zaro_scan_bad(scan, fault, wrong);
    if (n >= 7 && memcmp(out, "base64:", 7) == 0) {
        if (!zaro_base64_decode(out + 7, n - 7, out, &n))
            return zaro_scan_bad(scan, ZARO_SCAN_BASE64, p);
    }
    entry->file = ZARO_SCAN_INLINE;
    entry->offset = (int64_t)scan->inlined.n;
    entry->length = (int64_t)n;
    scan->inlined.n += n;
    *after = close + 1;
    return STEP_OK;
}

/* Bytes of a word that are 0: the lowest bit set is exact. */
static inline uint64_t zeros(uint64_t word) {
    const uint64_t ones = 0x0101010101010101u;
    return (word - ones) & ~word & (ones << 7);
}

/* Where to look next inside a value: past what is no quote, bracket or brace; in a string, no quote or backslash. */
static inline const uint8_t *dull(const uint8_t *p, const uint8_t *end, bool in_string) {
    const uint64_t ones = 0x0101010101010101u;
    for (uint64_t word, other; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        /* "[" and "]" are "{" and "}" without 0x20, and these differ in 0x06 */
        other = in_string ? word ^ (ones * '\\') : ((word | (ones * 0x20)) & ~(ones * 0x06)) ^ (ones * 0x79);
        if (zeros(word ^ (ones * '"')) | zeros(other))
            break;
    }
    return p;
}

/* Walk over a value that is no entry; *at is where it ends or the block does. */
zaro_step_result zaro_scan_pass(zaro_scan *scan, const uint8_t **at, const uint8_t *end) {
    const uint8_t *p = *at;
    for (; p < end; p++) {
        if ((scan->depth || scan->in_string) && !scan->in_escape && (p = dull(p, end, scan->in_string)) == end)
            break;
        uint8_t c = *p;
        if (scan->in_escape) {
            scan->in_escape = false;
        } else if (scan->in_string) {
            scan->in_escape = c == '\\';
            scan->in_string = c != '"';
            if (c == '"' && !scan->depth)
                break;
        } else if (scan->in_scalar && (c == ',' || c == '}' || c == ']' || c <= ' ')) {
            *at = p;
            return STEP_OK;
        } else if (c == '"') {
            if (scan->in_scalar)
                return zaro_scan_bad(scan, ZARO_SCAN_SYNTAX, p);
            scan->in_string = true;
        } else if (c == '{' || c == '[') {
            if (scan->in_scalar)
                return zaro_scan_bad(scan, ZARO_SCAN_SYNTAX, p);
            if (scan->depth >= MAX_DEPTH)
                return zaro_scan_bad(scan, ZARO_SCAN_DEPTH, p);
            uint64_t bit = (uint64_t)1 << scan->depth % 64;
            scan->kind[scan->depth / 64] &= ~bit;
            scan->kind[scan->depth / 64] |= c == '{' ? bit : 0;
            scan->depth++;
        } else if (c == '}' || c == ']') {
            if (!scan->depth || (scan->kind[(scan->depth - 1) / 64] >> (scan->depth - 1) % 64 & 1) != (c == '}'))
                return zaro_scan_bad(scan, ZARO_SCAN_SYNTAX, p);
            if (--scan->depth == 0)
                break;
        } else if (!scan->depth) {
            if (c == ',' || c == ':')
                return zaro_scan_bad(scan, ZARO_SCAN_SYNTAX, p);
            scan->in_scalar = true;
        }
    }
    *at = p == end ? p : p + 1;
    return p == end ? STEP_MORE : STEP_OK;
}

void zaro_scan_pass_start(zaro_scan *scan) {
    scan->depth = 0;
    scan->in_string = scan->in_escape = scan->in_scalar = false;
}

/* An object in the place of a reference: kept as it stands. */
static zaro_step_result object(zaro_scan *scan, const uint8_t *p, const uint8_t *end, zaro_scan_loose *entry,
                               const uint8_t **after) {
    const uint8_t *start = p;
    zaro_scan_pass_start(scan);
    zaro_step_result step = zaro_scan_pass(scan, &p, end);
    if (step != STEP_OK)
        return step;
    size_t n = (size_t)(p - start);
    if (!zaro_bytes_reserve(&scan->inlined, n))
        return STEP_MEMORY;
    memcpy(scan->inlined.data + scan->inlined.n, start, n);
    entry->file = ZARO_SCAN_OBJECT;
    entry->offset = (int64_t)scan->inlined.n;
    entry->length = (int64_t)n;
    scan->inlined.n += n;
    scan->n_objects++;
    *after = p;
    return STEP_OK;
}

zaro_step_result zaro_scan_value(zaro_scan *scan, const uint8_t *p, const uint8_t *end, int32_t guess,
                                 zaro_scan_loose *entry, const uint8_t **after) {
    zaro_step_result step;
    entry->file = ZARO_SCAN_ABSENT;
    entry->offset = entry->length = 0;
    switch (*p) {
    case '[':
        return list(scan, p + 1, end, guess, entry, after);
    case '"':
        return text(scan, p + 1, end, entry, after);
    case '{':
        return object(scan, p, end, entry, after);
    case 'n':
        step = word(scan, &p, end, "null");
        *after = p;
        return step;
    default:
        return zaro_scan_unexpected(scan, p, end, ZARO_SCAN_REFERENCE);
    }
}
