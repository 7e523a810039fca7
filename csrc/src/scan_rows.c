/* Arrays, rows and loose entries of the scanner. */
#include <stdlib.h>
#include <string.h>

#include "scan_parts.h"
#include "zaro/checked.h"

enum { MAX_GUESSES = 4096, MAX_SLASHES = ZARO_MAX_RANK + 2 };

/* A column with room for more; as it was, and *good false, where memory is short. */
static void *grown(void *column, size_t room, size_t width, bool *good) {
    size_t nbytes;
    void *data = zaro_mul_size(room, width, &nbytes) ? realloc(column, nbytes) : NULL;
    *good = *good && data;
    return data ? data : column;
}

bool zaro_scan_push(zaro_scan_array *array, int64_t id, int32_t file, int64_t offset, int64_t length) {
    if (array->n == array->room) {
        size_t room = array->room ? array->room * 2 : 8;
        bool good = true;
        array->id = grown(array->id, room, sizeof *array->id, &good);
        array->file = grown(array->file, room, sizeof *array->file, &good);
        array->offset = grown(array->offset, room, sizeof *array->offset, &good);
        array->length = grown(array->length, room, sizeof *array->length, &good);
        if (!good)
            return false;
        array->room = room;
    }
    array->id[array->n] = id;
    array->file[array->n] = file;
    array->offset[array->n] = offset;
    array->length[array->n++] = length;
    return true;
}

static bool push_loose(zaro_scan *scan, const uint8_t *key, size_t n, int32_t file, int64_t offset, int64_t length) {
    if (scan->n_loose == scan->loose_room) {
        size_t room = scan->loose_room ? scan->loose_room * 2 : 64;
        bool good = true;
        scan->loose = grown(scan->loose, room, sizeof *scan->loose, &good);
        if (!good)
            return false;
        scan->loose_room = room;
    }
    if (!zaro_bytes_reserve(&scan->keys, n))
        return false;
    scan->loose[scan->n_loose++] = (zaro_scan_loose){scan->keys.n, (uint32_t)n, file, offset, length};
    if (n)
        memcpy(scan->keys.data + scan->keys.n, key, n);
    scan->keys.n += n;
    return true;
}

/* Whether text reads the same inside a JSON string, but that "/" may be "\/" there. */
static bool is_plain(const uint8_t *text, size_t n) {
    for (size_t k = 0; k < n; k++)
        if (text[k] < 0x20 || text[k] == '"' || text[k] == '\\')
            return false;
    return true;
}

bool zaro_scan_file(zaro_scan *scan, const uint8_t *url, size_t n, int32_t *number) {
    int64_t found = zaro_texts_find(&scan->files, url, n);
    if (found < 0) {
        size_t added;
        if (!zaro_texts_add(&scan->files, url, n, &added))
            return false;
        if (added >= scan->file_room) {
            size_t room = scan->file_room ? scan->file_room * 2 : 16;
            bool good = true;
            scan->file_next = grown(scan->file_next, room, sizeof *scan->file_next, &good);
            scan->file_plain = grown(scan->file_plain, room, sizeof *scan->file_plain, &good);
            if (!good)
                return false;
            scan->file_room = room;
        }
        scan->file_next[added] = 0;
        scan->file_plain[added] = is_plain(url, n);
        found = (int64_t)added;
    }
    *number = (int32_t)found;
    return true;
}

/* Whether a key of this array is one of its chunks. The key must be followed by a 0. */
static bool chunk_of(const zaro_scan_array *array, const uint8_t *key, size_t n, int64_t *id) {
    if (n < array->prefix_n || (array->prefix_n && memcmp(key, array->prefix, array->prefix_n) != 0))
        return false;
    return zaro_key_indices(key + array->prefix_n, false, array->separator, array->rank, array->grid, id) == key + n;
}

static inline bool in_chunk_name(uint8_t c) { return (c >= '0' && c <= '9') || c == '.' || c == '/' || c == 'c'; }

/* The array that a key [n + 1], key[n] == 0, is a chunk of: the deepest where there are several. */
bool zaro_scan_resolve(const zaro_scan *scan, const uint8_t *key, size_t n, bool known, size_t *number, int64_t *id) {
    int slashes = 0;
    size_t i = n;
    while (i > 0 && in_chunk_name(key[i - 1])) {
        if (key[--i] != '/')
            continue;
        int64_t found = zaro_texts_find(&scan->paths, key, i);
        if (found >= 0 && (scan->array[found].known || !known) && chunk_of(&scan->array[found], key, n, id)) {
            *number = (size_t)found;
            return true;
        }
        if (++slashes >= MAX_SLASHES)
            return false;
    }
    int64_t root = i == 0 ? zaro_texts_find(&scan->paths, key, 0) : -1;
    if (root < 0 || (known && !scan->array[root].known) || !chunk_of(&scan->array[root], key, n, id))
        return false;
    *number = (size_t)root;
    return true;
}

static bool new_array(zaro_scan *scan, const uint8_t *path, size_t n, size_t *number) {
    if (scan->paths.n == scan->array_room) {
        size_t room = scan->array_room ? scan->array_room * 2 : 8;
        bool good = true;
        scan->array = grown(scan->array, room, sizeof *scan->array, &good);
        if (!good)
            return false;
        scan->array_room = room;
    }
    if (!zaro_texts_add(&scan->paths, path, n, number))
        return false;
    scan->array[*number] = (zaro_scan_array){.path_n = n, .guess = -1};
    return true;
}

/* Give an array its grid and the spelling of its keys. */
static bool shape_array(zaro_scan_array *array, const uint8_t *path, bool prefixed, uint8_t separator, size_t rank,
                        const int64_t *grid) {
    uint8_t *prefix = malloc(array->path_n + 4), *end = prefix;
    if (!prefix)
        return false;
    if (array->path_n) {
        memcpy(prefix, path, array->path_n);
        end += array->path_n;
        *end++ = '/';
    }
    if (prefixed)
        *end++ = 'c';
    if (prefixed && rank)
        *end++ = separator;
    if (!prefixed && !rank)
        *end++ = '0';
    free(array->prefix);
    array->prefix = prefix;
    array->prefix_n = (size_t)(end - prefix);
    array->plain = is_plain(prefix, array->prefix_n);
    array->rank = rank;
    array->separator = separator;
    array->prefixed = prefixed;
    if (rank)
        memcpy(array->grid, grid, rank * sizeof *grid);
    return true;
}

static size_t digits_before(const uint8_t *key, size_t end) {
    size_t i = end;
    while (i > 0 && key[i - 1] >= '0' && key[i - 1] <= '9')
        i--;
    return end - i;
}

/* Cut a key that no array claims into the path of an array and indices, by its look alone. */
static bool guess_parts(const uint8_t *key, size_t n, size_t *path_n, bool *prefixed, uint8_t *separator,
                        size_t *rank) {
    size_t i = n, run;
    *separator = '.';
    *rank = 0;
    *prefixed = false;
    for (uint8_t before = '.'; before == '.' && (run = digits_before(key, i)) > 0; ++*rank) {
        i -= run;
        before = i > 0 ? key[i - 1] : 0;
        i -= before == '.';
    }
    bool dotted = i < n && key[i] == '.'; /* "c.0", ".0" */
    if (*rank == 1 && !dotted && i > 0 && key[i - 1] == '/') {
        for (; i > 1 && key[i - 1] == '/' && (run = digits_before(key, i - 1)) > 0; ++*rank, *separator = '/')
            i -= run + 1;
        if (i > 1 && key[i - 1] == '/' && key[i - 2] == 'c' && (i == 2 || key[i - 3] == '/')) {
            *prefixed = true;
            *separator = '/';
            i -= 2;
        }
    } else if (i > 0 && key[i - 1] == 'c' && (dotted || !*rank)) {
        *prefixed = true;
        i--;
    } else if (dotted) {
        return false;
    }
    if ((!*rank && !*prefixed) || *rank > ZARO_MAX_RANK || i == 1 || (i && key[i - 1] != '/'))
        return false;
    *path_n = i ? i - 1 : 0;
    return true;
}

/* A number for the array that a key seems to belong to. Its grid leaves each index bits of its own. */
static bool guess_array(zaro_scan *scan, const uint8_t *key, size_t n, bool *guessed) {
    size_t path_n, rank, number;
    bool prefixed;
    uint8_t separator;
    int64_t grid[ZARO_MAX_RANK];
    *guessed = false;
    if (scan->n_guesses >= MAX_GUESSES || !guess_parts(key, n, &path_n, &prefixed, &separator, &rank))
        return true;
    if (zaro_texts_find(&scan->paths, key, path_n) >= 0)
        return true;
    for (size_t d = 0; d < rank; d++)
        grid[d] = (int64_t)1 << (62 / rank);
    if (!new_array(scan, key, path_n, &number))
        return false;
    scan->n_guesses++;
    *guessed = true;
    return shape_array(&scan->array[number], key, prefixed, separator, rank, grid);
}

/* Enter a key [n + 1], key[n] == 0. */
bool zaro_scan_put(zaro_scan *scan, const uint8_t *key, size_t n, int32_t file, int64_t offset, int64_t length) {
    size_t number;
    int64_t id;
    bool found = zaro_scan_resolve(scan, key, n, false, &number, &id);
    if (!found && n && in_chunk_name(key[n - 1])) {
        bool guessed;
        if (!guess_array(scan, key, n, &guessed))
            return false;
        found = guessed && zaro_scan_resolve(scan, key, n, false, &number, &id);
    }
    if (!found)
        return push_loose(scan, key, n, file, offset, length);
    zaro_scan_array *array = &scan->array[number];
    if (scan->any_array)
        scan->array[scan->recent].next = (uint32_t)number;
    scan->any_array = true;
    scan->recent = (uint32_t)number;
    return zaro_scan_push(array, id, file, offset, length);
}

/* Take the rows of a guess back as loose entries, from row `first` on that `keep` does not want. */
static bool loosen(zaro_scan *scan, const zaro_scan_array *guess, size_t row) {
    uint8_t name[ZARO_KEY_NAME];
    size_t n = zaro_key_name(guess->id[row], guess->prefixed, guess->separator, guess->rank, guess->grid, name);
    size_t path_n = guess->path_n ? guess->path_n + 1 : 0;
    scan->scratch.n = 0;
    if (!zaro_bytes_reserve(&scan->scratch, path_n + n))
        return false;
    if (path_n)
        memcpy(scan->scratch.data, guess->prefix, path_n);
    memcpy(scan->scratch.data + path_n, name, n);
    return push_loose(scan, scan->scratch.data, path_n + n, guess->file[row], guess->offset[row], guess->length[row]);
}

/* Id in the declared grid of a row of the guess; false where it has none. */
static bool convert(const zaro_scan_array *guess, const zaro_scan_array *array, int64_t packed, int64_t *id) {
    uint8_t name[ZARO_KEY_NAME + 1];
    size_t n = zaro_key_name(packed, guess->prefixed, guess->separator, guess->rank, guess->grid, name);
    name[n] = 0;
    return zaro_key_id(name, n, array->prefixed, array->separator, array->rank, array->grid, id);
}

/* The same for grids of equal rank and spelling, without the detour through text. */
static bool convert_fast(const zaro_scan_array *guess, const zaro_scan_array *array, int64_t packed, int64_t *id) {
    size_t bits = 62 / guess->rank;
    int64_t flat = 0, mask = ((int64_t)1 << bits) - 1;
    for (size_t d = 0; d < guess->rank; d++) {
        int64_t index = packed >> bits * (guess->rank - 1 - d) & mask;
        if (index >= array->grid[d])
            return false;
        flat = flat * array->grid[d] + index;
    }
    *id = flat;
    return true;
}

static bool adopt(zaro_scan *scan, zaro_scan_array *array, const zaro_scan_array *guess) {
    bool alike = guess->rank == array->rank && guess->prefixed == array->prefixed &&
                 (guess->rank < 2 ? !guess->prefixed || guess->separator == array->separator
                                  : guess->separator == array->separator);
    size_t kept = 0;
    for (size_t row = 0; row < guess->n; row++) {
        int64_t id = 0;
        if (guess->rank && alike ? convert_fast(guess, array, guess->id[row], &id)
                                 : convert(guess, array, guess->id[row], &id)) {
            array->id[kept] = id;
            array->file[kept] = guess->file[row];
            array->offset[kept] = guess->offset[row];
            array->length[kept++] = guess->length[row];
        } else if (!loosen(scan, guess, row)) {
            return false;
        }
    }
    array->n = kept;
    return true;
}

zaro_status zaro_scan_declare(zaro_scan *scan, const uint8_t *path, size_t n, bool prefixed, uint8_t separator,
                              size_t rank, const int64_t *grid, size_t *number) {
    int64_t total = 1;
    if (rank > ZARO_MAX_RANK)
        return ZARO_RANGE;
    for (size_t d = 0; d < rank; d++)
        if (grid[d] < 0 || !zaro_mul_i64(total, grid[d] ? grid[d] : 1, &total))
            return ZARO_RANGE;
    int64_t found = zaro_texts_find(&scan->paths, path, n);
    if (found < 0) {
        if (!new_array(scan, path, n, number))
            return ZARO_MEMORY;
        scan->array[*number].known = true;
        return shape_array(&scan->array[*number], path, prefixed, separator, rank, grid) ? ZARO_OK : ZARO_MEMORY;
    }
    *number = (size_t)found;
    zaro_scan_array *array = &scan->array[found], guess = *array;
    if (array->known) {
        bool same = array->rank == rank && array->prefixed == prefixed && array->separator == separator &&
                    (!rank || memcmp(array->grid, grid, rank * sizeof *grid) == 0);
        return same ? ZARO_OK : ZARO_ORDER;
    }
    array->known = true;
    array->prefix = NULL;
    scan->n_guesses--;
    bool good = shape_array(array, path, prefixed, separator, rank, grid) && adopt(scan, array, &guess);
    free(guess.prefix);
    return good ? ZARO_OK : ZARO_MEMORY;
}

static zaro_status loosen_guesses(zaro_scan *scan) {
    for (size_t number = 0; number < scan->paths.n; number++) {
        zaro_scan_array *array = &scan->array[number];
        for (size_t row = 0; row < array->n && !array->known; row++)
            if (!loosen(scan, array, row))
                return ZARO_MEMORY;
        if (!array->known)
            zaro_scan_drop(scan, number);
    }
    return ZARO_OK;
}

zaro_status zaro_scan_settle(zaro_scan *scan) {
    zaro_status status = loosen_guesses(scan);
    size_t kept = 0, number;
    int64_t id;
    for (size_t k = 0; k < scan->n_loose && status == ZARO_OK; k++) {
        zaro_scan_loose entry = scan->loose[k];
        scan->scratch.n = 0; /* a copy, since a key must be followed by a 0 */
        if (!zaro_bytes_reserve(&scan->scratch, entry.key_n))
            return ZARO_MEMORY;
        uint8_t *key = scan->scratch.data;
        if (entry.key_n)
            memcpy(key, scan->keys.data + entry.key, entry.key_n);
        key[entry.key_n] = 0;
        if (!zaro_scan_resolve(scan, key, entry.key_n, true, &number, &id)) {
            scan->loose[kept++] = entry;
            continue;
        }
        if (!zaro_scan_push(&scan->array[number], id, entry.file, entry.offset, entry.length))
            return ZARO_MEMORY;
        scan->array[number].early++;
    }
    if (status == ZARO_OK)
        scan->n_loose = kept;
    return status;
}

void zaro_scan_rows_of(const zaro_scan *scan, size_t number, zaro_scan_rows *rows) {
    const zaro_scan_array *array = &scan->array[number];
    *rows = (zaro_scan_rows){array->id, array->file, array->offset, array->length, array->n, array->early};
}

void zaro_scan_drop(zaro_scan *scan, size_t number) {
    zaro_scan_array *array = &scan->array[number];
    free(array->id);
    free(array->file);
    free(array->offset);
    free(array->length);
    array->id = array->offset = array->length = NULL;
    array->file = NULL;
    array->n = array->room = array->early = 0;
}

zaro_status zaro_scan_dense(const zaro_scan *scan, size_t number, int32_t *file, int64_t *offset, int64_t *length,
                            size_t n) {
    const zaro_scan_array *array = &scan->array[number];
    size_t total = 1, late = array->n - array->early;
    for (size_t d = 0; d < array->rank; d++)
        total *= (size_t)array->grid[d];
    if (!array->known || total != n)
        return ZARO_RANGE;
    for (size_t k = 0; k < array->n; k++) {
        size_t row = k < array->early ? late + k : k - array->early;
        int64_t id = array->id[row];
        file[id] = array->file[row];
        offset[id] = array->offset[row];
        length[id] = array->length[row];
    }
    return ZARO_OK;
}
