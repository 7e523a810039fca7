/* base64.h - bytes that a JSON document holds as text (RFC 4648, the standard alphabet).
 *
 * Nothing here allocates, keeps state or touches Python: any number of threads may call at once.
 */
#ifndef ZARO_BASE64_H
#define ZARO_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decode text [n]; white space is passed over, padding must be whole.
 *
 * out:     room for n / 4 * 3 bytes; may overlap `text` where it does not begin behind it
 * decoded: receives the bytes written
 *
 * False for anything else, with `out` overwritten in part. O(n).
 */
bool zaro_base64_decode(const uint8_t *text, size_t n, uint8_t *out, size_t *decoded);

#endif
