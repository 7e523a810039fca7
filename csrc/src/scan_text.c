/* Strings, numbers and tables of texts for the scanner. */
#include <stdlib.h>
#include <string.h>

#include "scan_parts.h"
#include "zaro/checked.h"

bool zaro_bytes_reserve(zaro_bytes *bytes, size_t more) {
    size_t need, room;
    if (!zaro_add_size(bytes->n, more, &need) || !zaro_add_size(need, 1, &need))
        return false;
    if (need <= bytes->room)
        return true;
    if (!zaro_mul_size(bytes->room, 2, &room) || room < need)
        room = need;
    uint8_t *data = realloc(bytes->data, room);
    if (!data)
        return false;
    bytes->data = data;
    bytes->room = room;
    return true;
}

/* Bytes of a word that are below `limit` (at most 128): the lowest bit set is exact. */
static inline uint64_t below(uint64_t word, uint64_t limit) {
    const uint64_t ones = 0x0101010101010101u;
    return (word - ones * limit) & ~word & (ones << 7);
}

/* The end of one UTF-8 character that starts at p with a byte above 127; NULL where it is none. */
static const uint8_t *utf8_after(const uint8_t *p, const uint8_t *end) {
    uint8_t low = 0x80, high = 0xBF;
    size_t more;
    if (*p < 0xC2 || *p > 0xF4)
        return NULL;
    if (*p < 0xE0) {
        more = 1;
    } else if (*p < 0xF0) {
        more = 2;
        if (*p == 0xE0)
            low = 0xA0;
        if (*p == 0xED)
            high = 0x9F; /* what follows would be a surrogate */
    } else {
        more = 3;
        if (*p == 0xF0)
            low = 0x90;
        if (*p == 0xF4)
            high = 0x8F;
    }
    if ((size_t)(end - p) <= more || p[1] < low || p[1] > high)
        return NULL;
    for (size_t k = 2; k <= more; k++)
        if ((p[k] & 0xC0) != 0x80)
            return NULL;
    return p + more + 1;
}

static const uint8_t *utf8_check(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        if (*p < 0x80) {
            p++;
            continue;
        }
        const uint8_t *next = utf8_after(p, end);
        if (!next)
            return p;
        p = next;
    }
    return NULL;
}

/* Find the quote that closes a string whose first byte is p. On STEP_BAD *close is the bad byte. */
zaro_step_result zaro_text_end(const uint8_t *p, const uint8_t *end, const uint8_t **close, bool *escaped,
                               zaro_scan_fault *fault) {
    const uint64_t ones = 0x0101010101010101u;
    const uint8_t *start = p;
    uint64_t high = 0;
    *escaped = false;
    for (;;) {
        for (uint64_t word; end - p >= 8; p += 8) {
            memcpy(&word, p, 8);
            if (below(word ^ (ones * '"'), 1) | below(word ^ (ones * '\\'), 1) | below(word, 0x20))
                break;
            high |= word;
        }
        for (int k = 0; k < 8 && p < end && *p != '"' && *p != '\\' && *p >= 0x20; k++)
            high |= *p++;
        if (p == end)
            return STEP_MORE;
        if (*p == '"')
            break;
        if (*p == '\\') {
            *escaped = true;
            if (end - p < 2)
                return STEP_MORE;
            p += 2; /* what follows the backslash is looked at when it is unescaped */
        } else if (*p < 0x20) {
            *close = p;
            *fault = ZARO_SCAN_CONTROL;
            return STEP_BAD;
        }
    }
    *close = p;
    const uint8_t *bad = high & (ones << 7) ? utf8_check(start, p) : NULL;
    if (!bad)
        return STEP_OK;
    *close = bad;
    *fault = ZARO_SCAN_UTF8;
    return STEP_BAD;
}

/* Four hexadecimal digits; -1 where they are not. */
static int32_t hex4(const uint8_t *p, const uint8_t *close) {
    int32_t value = 0;
    if (close - p < 4)
        return -1;
    for (int k = 0; k < 4; k++) {
        uint8_t c = p[k], low = (uint8_t)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f')
            value = value * 16 + (low - 'a' + 10);
        else
            return -1;
    }
    return value;
}

static uint8_t *utf8_write(uint32_t code, uint8_t *out) {
    if (code < 0x80) {
        *out++ = (uint8_t)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (uint8_t)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (uint8_t)(0xE0 | code >> 12);
        } else {
            *out++ = (uint8_t)(0xF0 | code >> 18);
            *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        }
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    }
    *out++ = (uint8_t)(0x80 | (code & 0x3F));
    return out;
}

/* \uXXXX at p, and its second half where it has one. */
static zaro_scan_fault unicode(const uint8_t **at, const uint8_t *close, uint8_t **out) {
    const uint8_t *p = *at;
    int32_t code = hex4(p + 2, close), low;
    if (code < 0)
        return ZARO_SCAN_ESCAPE;
    p += 6;
    if (code >= 0xD800 && code < 0xE000) {
        if (code >= 0xDC00 || close - p < 6 || p[0] != '\\' || p[1] != 'u')
            return ZARO_SCAN_SURROGATE;
        low = hex4(p + 2, close);
        if (low < 0xDC00 || low >= 0xE000)
            return ZARO_SCAN_SURROGATE;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        p += 6;
    }
    *out = utf8_write((uint32_t)code, *out);
    *at = p;
    return ZARO_SCAN_FINE;
}

/* Write the text of a string [p, close) to out, which has room for close - p bytes. */
zaro_scan_fault zaro_text_unescape(const uint8_t *p, const uint8_t *close, uint8_t *out, size_t *n,
                                   const uint8_t **bad) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    uint8_t *start = out;
    while (p < close) {
        const uint8_t *stop = memchr(p, '\\', (size_t)(close - p));
        size_t run = (size_t)((stop ? stop : close) - p);
        memcpy(out, p, run);
        out += run;
        p += run;
        if (!stop)
            break;
        zaro_scan_fault fault = ZARO_SCAN_FINE;
        const char *simple = close - p < 2 || !p[1] ? NULL : strchr(from, p[1]);
        if (simple) {
            *out++ = (uint8_t)to[simple - from];
            p += 2;
        } else {
            fault = close - p >= 2 && p[1] == 'u' ? unicode(&p, close, &out) : ZARO_SCAN_ESCAPE;
        }
        if (fault != ZARO_SCAN_FINE) {
            *bad = p;
            return fault;
        }
    }
    *n = (size_t)(out - start);
    return ZARO_SCAN_FINE;
}

static inline bool digit(const uint8_t *p, const uint8_t *end) { return p < end && (uint8_t)(*p - '0') <= 9; }

/* digits * 10^exponent, exactly; the digits [p, stop) may hold one point. False where it is no int64. */
static bool decimal(const uint8_t *p, const uint8_t *stop, int64_t exponent, int64_t *value) {
    int64_t mantissa = 0, zeros = 0;
    bool fraction = false;
    for (; p < stop; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        exponent -= fraction;
        if (*p == '0') {
            zeros += mantissa != 0; /* until another digit follows it is but a power of ten */
            continue;
        }
        for (zeros++; zeros > 0; zeros--)
            if (!zaro_mul_i64(mantissa, 10, &mantissa))
                return false;
        if (!zaro_add_i64(mantissa, *p - '0', &mantissa))
            return false;
    }
    exponent += zeros;
    if (mantissa && exponent < 0)
        return false;
    for (; mantissa && exponent > 0; exponent--)
        if (!zaro_mul_i64(mantissa, 10, &mantissa))
            return false;
    *value = mantissa;
    return true;
}

/* A number of any spelling: -0, 1e3, 4096.0. */
static zaro_step_result number_slow(const uint8_t *p, const uint8_t *end, const uint8_t **after, int64_t *value,
                                    zaro_scan_fault *fault) {
    const uint8_t *start = p, *first, *stop;
    int64_t exponent = 0;
    bool negative = p < end && *p == '-';
    *fault = ZARO_SCAN_SYNTAX;
    first = p += negative;
    if (digit(p, end) && *p == '0')
        p++;
    else
        while (digit(p, end))
            p++;
    bool good = p > first;
    if (good && p < end && *p == '.') {
        const uint8_t *point = p++;
        while (digit(p, end))
            p++;
        good = p > point + 1;
    }
    stop = p;
    if (good && p < end && (*p | 0x20) == 'e') {
        bool minus = ++p < end && *p == '-';
        p += p < end && (*p == '-' || *p == '+');
        const uint8_t *power = p;
        for (; digit(p, end); p++)
            if (exponent < 1000000)
                exponent = exponent * 10 + (*p - '0');
        good = p > power;
        exponent = minus ? -exponent : exponent;
    }
    *after = p;
    if (p == end)
        return STEP_MORE;
    if (!good || digit(p, end))
        return STEP_BAD;
    *after = start;
    *fault = ZARO_SCAN_NUMBER;
    if (!decimal(first, stop, exponent, value) || (negative && *value))
        return STEP_BAD;
    *after = p;
    return STEP_OK;
}

/* An offset or a length. On STEP_BAD *after is the bad byte. */
zaro_step_result zaro_text_number(const uint8_t *p, const uint8_t *end, const uint8_t **after, int64_t *value,
                                  zaro_scan_fault *fault) {
    const uint8_t *q = p;
    int64_t sum = 0;
    while (q < end && (uint8_t)(*q - '0') <= 9 && q - p < 18)
        sum = sum * 10 + (*q++ - '0');
    if (q < end && q > p && (*p != '0' || q == p + 1) && (uint8_t)(*q - '0') > 9 && *q != '.' && (*q | 0x20) != 'e') {
        *value = sum;
        *after = q;
        return STEP_OK;
    }
    return number_slow(p, end, after, value, fault);
}

static uint32_t hash_of(uint64_t seed, const uint8_t *text, size_t n) {
    uint64_t h = seed ^ n, word;
    for (; n >= 8; n -= 8, text += 8) {
        memcpy(&word, text, 8);
        h = (h ^ word) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    word = 0;
    if (n)
        memcpy(&word, text, n);
    h = (h ^ word) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

/* Number of a text, -1 where there is none. */
int64_t zaro_texts_find(const zaro_texts *texts, const uint8_t *text, size_t n) {
    if (!texts->n)
        return -1;
    uint32_t hash = hash_of(texts->seed, text, n), found;
    for (size_t k = hash & texts->mask; (found = texts->slot[k]); k = (k + 1) & texts->mask) {
        size_t length;
        if (texts->hash[found - 1] != hash)
            continue;
        const uint8_t *here = zaro_texts_at(texts, found - 1, &length);
        if (length == n && (n == 0 || memcmp(here, text, n) == 0))
            return found - 1;
    }
    return -1;
}

static bool texts_grow(zaro_texts *texts) {
    size_t room = texts->room ? texts->room * 2 : 16;
    uint64_t *end = realloc(texts->end, room * sizeof *end);
    if (end)
        texts->end = end;
    uint32_t *hash = realloc(texts->hash, room * sizeof *hash);
    if (hash)
        texts->hash = hash;
    uint32_t *slot = calloc(room * 2, sizeof *slot);
    if (!end || !hash || !slot) {
        free(slot);
        return false;
    }
    free(texts->slot);
    texts->slot = slot;
    texts->room = room;
    texts->mask = room * 2 - 1;
    for (size_t number = 0; number < texts->n; number++) {
        size_t k = hash[number] & texts->mask;
        while (slot[k])
            k = (k + 1) & texts->mask;
        slot[k] = (uint32_t)number + 1;
    }
    return true;
}

/* Add a text that is not there yet. */
bool zaro_texts_add(zaro_texts *texts, const uint8_t *text, size_t n, size_t *number) {
    if (texts->n >= INT32_MAX || (texts->n == texts->room && !texts_grow(texts)))
        return false;
    if (!zaro_bytes_reserve(&texts->text, n))
        return false;
    if (n)
        memcpy(texts->text.data + texts->text.n, text, n);
    texts->text.n += n;
    *number = texts->n++;
    texts->end[*number] = texts->text.n;
    texts->hash[*number] = hash_of(texts->seed, text, n);
    size_t k = texts->hash[*number] & texts->mask;
    while (texts->slot[k])
        k = (k + 1) & texts->mask;
    texts->slot[k] = (uint32_t)*number + 1;
    return true;
}

void zaro_texts_free(zaro_texts *texts) {
    free(texts->text.data);
    free(texts->end);
    free(texts->hash);
    free(texts->slot);
}
