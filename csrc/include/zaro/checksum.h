/* checksum.h - the checksums that chunks carry.
 *
 * Each takes [n] bytes at in, reads nothing else, and keeps no state. Two variants of crc32c stand
 * side by side: the instruction of SSE4.2 where the processor has it, tables elsewhere.
 * Sources: RFC 3720 (crc32c), RFC 1952 (crc32), RFC 1950 (adler32), HDF5 H5checksum.c (fletcher32).
 */
#ifndef ZARO_CHECKSUM_H
#define ZARO_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t zaro_crc32c(const uint8_t *in, size_t n);
uint32_t zaro_crc32(const uint8_t *in, size_t n);
uint32_t zaro_adler32(const uint8_t *in, size_t n);

/* HDF5's: sums of big-endian 16-bit words; a last odd byte is the high half of a word. */
uint32_t zaro_fletcher32(const uint8_t *in, size_t n);

/* The variants that zaro_crc32c chooses from, for the tests. fast: false where this machine lacks it. */
uint32_t zaro_crc32c_plain(const uint8_t *in, size_t n);
bool zaro_crc32c_fast(const uint8_t *in, size_t n, uint32_t *sum);

#endif
