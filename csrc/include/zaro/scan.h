/* scan.h - reference scanning: kerchunk's JSON documents, block by block, straight into columns.
 *
 * A document maps keys to references: {"sst/0.5.3": ["a.nc", 20480, 4000], ...}, either flat
 * (version 0) or as member "refs" of an object that also has "version", "templates", "gen" and "zaro"
 * (version 1). The scanner cuts it into
 *
 *   rows    a reference of a chunk whose array is known: id, file, offset, length;
 *   loose   any other entry, with the text of its key: metadata documents, keys of arrays not
 *           declared (yet), files that are no chunks;
 *   files   every URL once, numbered in the order of their first appearance;
 *   inline  the bytes of references that are text or base64, one after another;
 *   fields  "version", "templates", "gen" and "zaro" of a document of version 1, as they stand.
 *
 * The text may come in blocks of any size; the result does not depend on where it is cut. Memory
 * is proportional to what the document holds, never to what it says (a grid of 10^18 chunks costs
 * nothing). A scanner owns all its memory and grows it with malloc; every function that can find
 * memory short returns ZARO_MEMORY, after which only zaro_scan_free is allowed. Never touches
 * Python; one thread at a time may use a scanner, several scanners share nothing.
 *
 * JSON as RFC 8259, with Python's NaN and Infinity inside objects that are skipped. Of duplicate
 * keys the last one counts: rows and loose entries keep the order of the document.
 * Source: kerchunk's specification of references, versions 0 and 1.
 */
#ifndef ZARO_SCAN_H
#define ZARO_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

#define ZARO_SCAN_ABSENT (-1) /* file of an entry that is null */
#define ZARO_SCAN_INLINE (-2) /* file of an entry whose bytes lie in `inline` */
#define ZARO_SCAN_OBJECT (-3) /* the same, but the bytes are a JSON object as it stands in the document */
#define ZARO_SCAN_WHOLE (-1)  /* length of an entry that is a whole file */

typedef struct zaro_scan zaro_scan;

/* Why a document is refused. */
typedef enum {
    ZARO_SCAN_FINE = 0,
    ZARO_SCAN_ENDS,      /* the document ends too early */
    ZARO_SCAN_START,     /* it is no JSON object */
    ZARO_SCAN_SYNTAX,    /* a character that JSON does not allow here */
    ZARO_SCAN_CONTROL,   /* a control character inside a string */
    ZARO_SCAN_ESCAPE,    /* a backslash and what JSON does not know */
    ZARO_SCAN_SURROGATE, /* half of a surrogate pair */
    ZARO_SCAN_UTF8,      /* bytes that are no UTF-8 */
    ZARO_SCAN_NUMBER,    /* an offset or length that is no whole number of bytes in [0, 2^63) */
    ZARO_SCAN_REFERENCE, /* a value that is no reference */
    ZARO_SCAN_BASE64,    /* text after "base64:" that is no base64 */
    ZARO_SCAN_DEPTH,     /* nested deeper than any document */
    ZARO_SCAN_LONG,      /* a key or URL of more bytes than 2^31 */
    ZARO_SCAN_TRAILING,  /* something after the end of the document */
    ZARO_SCAN_FAULTS
} zaro_scan_fault;

typedef enum {
    ZARO_SCAN_MORE = 0, /* every complete entry of the block is taken; give the rest again, with more */
    ZARO_SCAN_ARRAY,    /* the last loose entry may describe an array: declare it now, then go on */
    ZARO_SCAN_DONE      /* the document is complete */
} zaro_scan_event;

typedef enum {
    ZARO_SCAN_VERSION = 0,
    ZARO_SCAN_TEMPLATES,
    ZARO_SCAN_GEN,
    ZARO_SCAN_ZARO, /* what zaro itself has to say */
    ZARO_SCAN_FIELDS
} zaro_scan_field;

/* An entry with the text of its key. */
typedef struct {
    uint64_t key;   /* first byte in `keys` */
    uint32_t key_n; /* bytes */
    int32_t file;   /* as in zaro_scan_rows */
    int64_t offset, length;
} zaro_scan_loose;

/* The rows of one array. Rows [n - early, n) stood in the document before rows [0, n - early). */
typedef struct {
    const int64_t *id;   /* [n] in C order of the chunk grid */
    const int32_t *file; /* [n] number of the file, or ABSENT, INLINE, OBJECT */
    const int64_t *offset;
    const int64_t *length; /* [n] bytes, WHOLE for a whole file; of `inline` where the file says so */
    size_t n, early;
} zaro_scan_rows;

/* What a scanner holds. Pointers are valid until the next call that changes it. */
typedef struct {
    const uint8_t *keys; /* texts of loose keys, UTF-8 */
    const zaro_scan_loose *loose;
    size_t n_loose;
    const uint8_t *files;     /* texts of the files, one after another, UTF-8 */
    const uint64_t *file_end; /* [n_files] where each text ends */
    size_t n_files;
    const uint8_t *inlined; /* [n_inline] */
    size_t n_inline;
    size_t n_arrays;                        /* arrays by number: declared ones and guesses */
    size_t n_objects;                       /* entries that are OBJECT, over all rows and loose */
    const uint8_t *field[ZARO_SCAN_FIELDS]; /* text of each field, NULL where it is absent */
    size_t field_n[ZARO_SCAN_FIELDS];
    uint64_t n_refs; /* members "refs" met: of several the last one counts */
    bool nested;     /* version 1 */
    bool mixed;      /* version 1, and entries were taken from outside "refs" before that was known */
} zaro_scan_view;

/* Where and why a document was refused. */
typedef struct {
    zaro_scan_fault fault;
    uint64_t position;  /* byte of the document, from 0 */
    const uint8_t *key; /* key of the entry, NULL outside entries; valid until the next call */
    size_t key_n;
} zaro_scan_trouble;

/* NULL where memory is short. nested: known to be of version 1. skip: members "refs" to pass over. */
zaro_scan *zaro_scan_new(bool nested, uint64_t skip);
void zaro_scan_free(zaro_scan *scan); /* NULL is fine */

/* Say that an array of this path [n] (UTF-8, "" for the root) has this chunk grid [rank] and spells
 * its keys with or without "c", with this separator ('.' or '/'). Takes over rows that were met
 * before. number: receives the number of the array. Declaring it again changes nothing but returns
 * ZARO_ORDER where grid or spelling differ. ZARO_RANGE for a rank above ZARO_MAX_RANK, a negative
 * extent or more than 2^63 - 1 chunks. */
zaro_status zaro_scan_declare(zaro_scan *scan, const uint8_t *path, size_t n, bool prefixed, uint8_t separator,
                              size_t rank, const int64_t *grid, size_t *number);

/* Take what a block holds.
 *
 * text: [n + 1], the next bytes of the document; text[n] must be 0 and is not part of it.
 * last: no bytes follow these.
 * used: receives the bytes that are taken; the caller gives the others again, in front of the next.
 * Returns ZARO_CORRUPT for a document that is refused: ask zaro_scan_where.
 * O(n), and O(1) per entry beyond its bytes. */
zaro_status zaro_scan_feed(zaro_scan *scan, const uint8_t *text, size_t n, bool last, size_t *used,
                           zaro_scan_event *event);

/* Add one entry as if the document held it. key: [n + 1], key[n] == 0. code: ZARO_SCAN_ABSENT; or
 * ZARO_SCAN_INLINE for the bytes text [text_n], decoded where they begin with "base64:"; or 0 for the
 * file text [text_n] with offset and length. Trusts the key and a file to be UTF-8, offset
 * and length not to be negative (but WHOLE). ZARO_CORRUPT for bad base64. */
zaro_status zaro_scan_add(zaro_scan *scan, const uint8_t *key, size_t n, int32_t code, const uint8_t *text,
                          size_t text_n, int64_t offset, int64_t length);

/* Give loose entries that are chunks of arrays declared since to those arrays, and entries of
 * arrays that were only guessed back to the loose ones. Call it once, after the last block. */
zaro_status zaro_scan_settle(zaro_scan *scan);

void zaro_scan_look(const zaro_scan *scan, zaro_scan_view *view);
void zaro_scan_rows_of(const zaro_scan *scan, size_t number, zaro_scan_rows *rows);
void zaro_scan_where(const zaro_scan *scan, zaro_scan_trouble *trouble);

/* Lay the rows of an array out over its grid. file: [n] set to ABSENT by the caller, offset, length: [n];
 * n must be its number of chunks. Allocates nothing. */
zaro_status zaro_scan_dense(const zaro_scan *scan, size_t number, int32_t *file, int64_t *offset, int64_t *length,
                            size_t n);

/* Free the rows of an array. */
void zaro_scan_drop(zaro_scan *scan, size_t number);

#endif
