/* spell.h - from columns to the text of a reference document.
 *
 * The opposite of scan.h: one member for each row, `"sst/0.5.3":["a.nc",20480,4000]` or, for a whole file,
 * `"sst/0.5.3":["a.nc"]`, each followed by a comma and a line end. Nothing here allocates or keeps state.
 */
#ifndef ZARO_SPELL_H
#define ZARO_SPELL_H

#include <stddef.h>
#include <stdint.h>

#include "zaro/key.h"
#include "zaro/status.h"

typedef struct {
    const uint8_t *path; /* [path_n] the path of the array and its slash as JSON text, without quotes */
    size_t path_n;
    bool prefixed;
    uint8_t separator;
    size_t rank;
    const int64_t *grid;     /* [rank] as key.h trusts it */
    const uint8_t *file;     /* JSON texts of the files, quotes included, one after another */
    const int64_t *file_end; /* [n_files] where each ends */
    size_t n_files;
} zaro_spelling;

/* Write rows until the room ends.
 *
 * id, file, offset, length: [n] rows; ids lie in the grid (trusted), files in [0, n_files), offset is
 *          not negative, length is not negative or -1 for a whole file: ZARO_RANGE where they do not.
 * out:     [room] bytes.
 * done:    receives the number of rows written; used: their bytes. A row is written whole or not at all,
 *          so the caller empties out and goes on; ZARO_SHORT where not even one row fits.
 * O(bytes written). */
zaro_status zaro_spell_rows(const zaro_spelling *how, size_t n, const int64_t *id, const int32_t *file,
                            const int64_t *offset, const int64_t *length, uint8_t *out, size_t room, size_t *done,
                            size_t *used);

#endif
