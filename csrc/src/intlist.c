#include "zaro/intlist.h"

#include <string.h>

#include "zaro/endian.h"

#define MAX_RANK 32
#define MAX_FLAGS 65536

/* ---- finding ------------------------------------------------------------------------------- */

static bool is_space(uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static bool is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

static size_t skip_space(const uint8_t *text, size_t n, size_t at) {
    while (at < n && is_space(text[at]))
        at++;
    return at;
}

/* `at` is the byte after an opening quote; gives the byte after the closing one, or n. */
static size_t skip_string(const uint8_t *text, size_t n, size_t at) {
    while (at < n) {
        const uint8_t *quote = memchr(text + at, '"', n - at);
        if (!quote)
            return n;
        size_t end = (size_t)(quote - text), slashes = 0;
        while (end - slashes > at && text[end - slashes - 1] == '\\')
            slashes++;
        at = end + 1;
        if (slashes % 2 == 0)
            return at;
    }
    return n;
}

/* Can the byte stand in a list of integers? Lets some others through: parsing decides. */
static inline bool may_list(uint8_t c) { return c <= '9' && c != '"'; }

/* Length of the run of such bytes from `at`; adds its commas. Whole blocks first: they vectorise. */
static size_t list_run(const uint8_t *text, size_t n, size_t at, size_t *commas) {
    size_t begin = at;
    while (n - at >= 64) {
        unsigned bad = 0, found = 0;
        for (size_t k = 0; k < 64; k++) {
            uint8_t c = text[at + k];
            bad |= (unsigned)(c > '9') | (unsigned)(c == '"');
            found += c == ',';
        }
        if (bad)
            break;
        *commas += found;
        at += 64;
    }
    for (; at < n && may_list(text[at]); at++)
        *commas += text[at] == ',';
    return at - begin;
}

/* ---- the entries of skipchunks --------------------------------------------------------------- */

typedef struct {
    const uint8_t *text;
    size_t n, at;
} reader;

static bool expect(reader *r, uint8_t c) {
    r->at = skip_space(r->text, r->n, r->at);
    if (r->at >= r->n || r->text[r->at] != c)
        return false;
    r->at++;
    return true;
}

/* A number of a key: digits, no sign, no leading zero, at most 18 of them. */
static bool read_index(reader *r, int64_t *value) {
    size_t begin = r->at;
    int64_t sum = 0;
    while (r->at < r->n && is_digit(r->text[r->at]) && r->at - begin < 18)
        sum = sum * 10 + (r->text[r->at++] - '0');
    size_t digits = r->at - begin;
    *value = sum;
    return digits > 0 && (digits == 1 || r->text[begin] != '0');
}

/* `"0.0.5": [1, 0, 0]`. *rank and *flags: 0 to learn them, else what they must be. Outputs may be NULL. */
static bool read_entry(reader *r, size_t *rank, size_t *flags, int64_t *index, uint8_t *flag) {
    size_t indices = 0, seen = 0;
    if (!expect(r, '"'))
        return false;
    do {
        int64_t value;
        if (indices == (*rank ? *rank : MAX_RANK) || !read_index(r, &value))
            return false;
        if (index)
            index[indices] = value;
        indices++;
    } while (r->at < r->n && r->text[r->at] == '.' && r->at++);
    if (r->at >= r->n || r->text[r->at++] != '"' || !expect(r, ':') || !expect(r, '['))
        return false;
    do {
        r->at = skip_space(r->text, r->n, r->at);
        if (seen == (*flags ? *flags : MAX_FLAGS) || r->at >= r->n || (uint8_t)(r->text[r->at] - '0') > 1)
            return false;
        if (flag)
            flag[seen] = (uint8_t)(r->text[r->at] - '0');
        r->at++;
        seen++;
    } while (expect(r, ','));
    if (!expect(r, ']') || (*rank && indices != *rank) || (*flags && seen != *flags))
        return false;
    *rank = indices;
    *flags = seen;
    return true;
}

/* The object from an opening brace at `begin`; false where any entry is of another kind. */
static bool flags_object(const uint8_t *text, size_t n, size_t begin, zaro_cut *cut) {
    reader r = {text, n, begin + 1};
    *cut = (zaro_cut){.begin = begin, .kind = ZARO_CUT_FLAGS};
    do {
        if (!read_entry(&r, &cut->rank, &cut->flags, NULL, NULL))
            return false;
        cut->count++;
    } while (expect(&r, ','));
    if (!expect(&r, '}'))
        return false;
    cut->end = r.at;
    return true;
}

static const char skip_key[] = "skipchunks";

/* Is the string that ends before `at` the key "skipchunks" of an object? Gives the byte of its brace. */
static bool is_skip_key(const uint8_t *text, size_t n, size_t begin, size_t at, size_t *brace) {
    size_t size = sizeof skip_key - 1;
    if (at - begin != size + 1 || memcmp(text + begin, skip_key, size) != 0)
        return false;
    reader r = {text, n, at};
    if (!expect(&r, ':') || !expect(&r, '{'))
        return false;
    *brace = r.at - 1;
    return true;
}

static const char mark[] = "base64:";

/* Is the string from `begin`, behind its quote, to `end`, behind the other, such text? */
static bool is_base64(const uint8_t *text, size_t begin, size_t end) {
    size_t size = sizeof mark - 1;
    return end - begin > size && text[end - 1] == '"' && memcmp(text + begin, mark, size) == 0 &&
           !memchr(text + begin, '\\', end - begin);
}

bool zaro_intlist_next(const uint8_t *text, size_t n, size_t least, size_t *at, zaro_cut *cut) {
    size_t here = *at;
    uint8_t before = 0; /* the byte before this one, spaces left out */
    for (uint8_t c; here < n; before = is_space(c) ? before : c) {
        c = text[here++];
        if (c == '"') {
            size_t begin = here, brace;
            here = skip_string(text, n, here);
            if (before == ':' && here - begin + 1 >= least && is_base64(text, begin, here)) {
                *cut = (zaro_cut){.begin = begin - 1, .end = here, .kind = ZARO_CUT_BASE64};
                *at = here;
                return true;
            }
            if (is_skip_key(text, n, begin, here, &brace) && flags_object(text, n, brace, cut) &&
                cut->end - brace >= least) {
                *at = cut->end;
                return true;
            }
        } else if (c == '[' && before == ':') {
            size_t commas = 0, begin = here - 1;
            here += list_run(text, n, here, &commas);
            if (here < n && text[here] == ']' && here + 1 - begin >= least) {
                *cut = (zaro_cut){.begin = begin, .end = ++here, .kind = ZARO_CUT_INTEGERS, .count = commas + 1};
                *at = here;
                return true;
            }
        }
    }
    *at = n;
    return false;
}

/* ---- parsing ------------------------------------------------------------------------------- */

/* Eight bytes at once: how many digits lead, and their value. */
static inline unsigned eight_digits(const uint8_t *text, uint64_t *value) {
    uint64_t x = zaro_le64(text) ^ 0x3030303030303030u;
    uint64_t other = ((x + 0x7676767676767676u) | x) & 0x8080808080808080u; /* top bit of bytes above 9 */
    unsigned digits = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    if (digits == 0)
        return 0;
    x <<= 64 - 8 * digits; /* zeros before */
    x = (x * 10) + (x >> 8);
    *value = (((x & 0x000000FF000000FFu) * 0x000F424000000064u) +
              (((x >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u)) >>
             32;
    *value &= 0xFFFFFFFFu;
    return digits;
}

/* The integer at text[at]; moves past it. */
static zaro_status read_integer(const uint8_t *text, size_t n, size_t *at, int64_t *value) {
    size_t here = *at;
    bool negative = here < n && text[here] == '-';
    here += negative;
    size_t begin = here;
    uint64_t sum = 0;
    if (n - here >= 8) {
        unsigned digits = eight_digits(text + here, &sum);
        here += digits;
    }
    if (here - begin == 8 || n - begin < 8)
        for (; here < n && is_digit(text[here]); here++) {
            uint64_t digit = (uint64_t)(text[here] - '0');
            if (sum > (UINT64_MAX - digit) / 10)
                return ZARO_OVERFLOW;
            sum = sum * 10 + digit;
        }
    if (here == begin || (text[begin] == '0' && here - begin > 1))
        return ZARO_UNSUPPORTED;
    if (sum > (uint64_t)INT64_MAX + negative)
        return ZARO_OVERFLOW;
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    *at = here;
    return ZARO_OK;
}

zaro_status zaro_intlist_parse(const uint8_t *text, size_t n, int64_t *value, size_t count, size_t *at) {
    size_t here = skip_space(text, n, 0);
    for (size_t k = 0; k < count; k++) {
        zaro_status status = read_integer(text, n, &here, value + k);
        if (status != ZARO_OK) {
            *at = here;
            return status;
        }
        if (here < n && is_space(text[here]))
            here = skip_space(text, n, here);
        if (k + 1 == count)
            break;
        if (here >= n || text[here] != ',') {
            *at = here;
            return here >= n ? ZARO_RANGE : ZARO_UNSUPPORTED;
        }
        here++;
        if (here < n && is_space(text[here]))
            here = skip_space(text, n, here);
    }
    *at = here;
    if (here == n)
        return ZARO_OK;
    return text[here] == ',' ? ZARO_RANGE : ZARO_UNSUPPORTED;
}

zaro_status zaro_intlist_parse_flags(const uint8_t *text, size_t n, size_t count, size_t rank, size_t flags,
                                     int64_t *index, uint8_t *flag) {
    reader r = {text, n, 0};
    if (rank == 0 || flags == 0 || !expect(&r, '{'))
        return ZARO_UNSUPPORTED;
    for (size_t k = 0; k < count; k++) {
        if (k && !expect(&r, ','))
            return ZARO_RANGE;
        if (!read_entry(&r, &rank, &flags, index + k * rank, flag + k * flags))
            return ZARO_UNSUPPORTED;
    }
    return expect(&r, '}') && r.at == n ? ZARO_OK : ZARO_RANGE;
}

/* ---- differences --------------------------------------------------------------------------- */

zaro_status zaro_intlist_sum(const void *difference, size_t width, size_t n, int64_t *value) {
    const uint8_t *at = difference;
    uint64_t sum = 0;
    switch (width) {
    case 1:
        for (size_t k = 0; k < n; k++)
            value[k] = (int64_t)(sum += (uint64_t)(int64_t)(int8_t)at[k]);
        return ZARO_OK;
    case 2:
        for (size_t k = 0; k < n; k++)
            value[k] = (int64_t)(sum += (uint64_t)(int64_t)(int16_t)zaro_le16(at + 2 * k));
        return ZARO_OK;
    case 4:
        for (size_t k = 0; k < n; k++)
            value[k] = (int64_t)(sum += (uint64_t)(int64_t)(int32_t)zaro_le32(at + 4 * k));
        return ZARO_OK;
    case 8:
        for (size_t k = 0; k < n; k++)
            value[k] = (int64_t)(sum += zaro_le64(at + 8 * k));
        return ZARO_OK;
    default:
        return ZARO_RANGE;
    }
}

/* ---- writing ------------------------------------------------------------------------------- */

static uint64_t magnitude(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

static size_t digits_of(uint64_t value) {
    size_t digits = 1;
    for (; value >= 10000; value /= 10000)
        digits += 4;
    return digits + (value >= 10) + (value >= 100) + (value >= 1000);
}

static size_t size_of(int64_t value) { return digits_of(magnitude(value)) + (value < 0); }

static uint8_t *put(uint8_t *text, int64_t value) {
    uint64_t rest = magnitude(value);
    if (value < 0)
        *text++ = '-';
    uint8_t *end = text + digits_of(rest), *at = end;
    do {
        *--at = (uint8_t)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    return end;
}

size_t zaro_intlist_size(const int64_t *value, size_t n) {
    size_t size = n ? n - 1 : 0;
    for (size_t k = 0; k < n; k++)
        size += size_of(value[k]);
    return size;
}

void zaro_intlist_write(const int64_t *value, size_t n, uint8_t *text) {
    for (size_t k = 0; k < n; k++) {
        if (k)
            *text++ = ',';
        text = put(text, value[k]);
    }
}

size_t zaro_intlist_flags_size(const int64_t *index, size_t n, size_t rank, size_t flags) {
    size_t size = n ? n - 1 : 0;
    size_t fixed = 2 + (rank ? rank - 1 : 1) + 1 + 2 + (flags ? 2 * flags - 1 : 0); /* "..":[.,.] */
    for (size_t k = 0; k < n * rank; k++)
        size += size_of(index[k]);
    return size + n * fixed;
}

void zaro_intlist_write_flags(const int64_t *index, const uint8_t *flag, size_t n, size_t rank, size_t flags,
                              uint8_t *text) {
    for (size_t k = 0; k < n; k++) {
        if (k)
            *text++ = ',';
        *text++ = '"';
        for (size_t d = 0; d < rank; d++) {
            if (d)
                *text++ = '.';
            text = put(text, index[k * rank + d]);
        }
        if (rank == 0)
            *text++ = '0';
        memcpy(text, "\":[", 3);
        text += 3;
        for (size_t f = 0; f < flags; f++) {
            if (f)
                *text++ = ',';
            *text++ = flag[k * flags + f] ? '1' : '0';
        }
        *text++ = ']';
    }
}
