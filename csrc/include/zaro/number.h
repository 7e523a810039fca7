/* number.h - from stored numbers to decoded numbers: conversion, running sums, scale and offset.
 *
 * The arithmetic is NumPy's, bit for bit, since the codecs are defined by what numcodecs computes
 * with it: integers wrap, float16 is computed in float32 and rounded after every operation, and a
 * float outside an integer's range becomes what x86-64 makes of it.
 *
 * in holds n numbers of type `from`, out receives n of type `to`; any alignment, no overlap. Every
 * value is fine. Cost O(n); no memory, no state. All return ZARO_RANGE for a type that is not one.
 */
#ifndef ZARO_NUMBER_H
#define ZARO_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zaro/status.h"

/* A number type: kind 'b' (bool, 1 byte), 'i', 'u' or 'f', its bytes, and whether its bytes are big-endian. */
typedef struct {
    char kind;
    uint8_t width;
    bool big;
} zaro_type;

/* bool of 1 byte, integers of 1, 2, 4, 8, floats of 2, 4, 8 */
bool zaro_type_known(zaro_type type);

/* numcodecs AsType: each number converted. */
zaro_status zaro_number_convert(zaro_type from, zaro_type to, const uint8_t *in, uint8_t *out, size_t n);

/* numcodecs Delta: the running sum, in the type to which NumPy promotes `from` and `to`. */
zaro_status zaro_number_sum(zaro_type from, zaro_type to, const uint8_t *in, uint8_t *out, size_t n);

/* numcodecs FixedScaleOffset: stored / scale + offset, in the arithmetic of `from` where it is a float
 * type and of float64 where not; then converted. */
zaro_status zaro_number_scale(zaro_type from, zaro_type to, double scale, double offset, const uint8_t *in,
                              uint8_t *out, size_t n);

#endif
