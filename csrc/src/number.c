/* Numbers travel in runs through three wide types: int64, uint64 and double hold every narrow one
 * exactly, so a type needs one loop to load it and one to store each wide type, not one per pair. */
#include "zaro/number.h"

#include <string.h>

#include "zaro/endian.h"

#define RUN 256 /* numbers in flight; they stay in the first cache */

typedef enum { SIGNED, UNSIGNED, FLOAT } wide_kind;

typedef union {
    int64_t i[RUN];
    uint64_t u[RUN];
    double f[RUN];
} wide;

bool zaro_type_known(zaro_type type) {
    switch (type.kind) {
    case 'b':
        return type.width == 1;
    case 'i':
    case 'u':
        return type.width == 1 || type.width == 2 || type.width == 4 || type.width == 8;
    case 'f':
        return type.width == 2 || type.width == 4 || type.width == 8;
    default:
        return false;
    }
}

static wide_kind kind_of(zaro_type type) { return type.kind == 'f' ? FLOAT : type.kind == 'i' ? SIGNED : UNSIGNED; }

static double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double half_to_double(uint16_t half) {
    uint64_t sign = (uint64_t)(half & 0x8000) << 48, exponent = half >> 10 & 31, mantissa = half & 0x3ff;
    if (exponent == 0) /* zero and the subnormal ones */
        return (sign ? -1.0 : 1.0) * (double)mantissa * 0x1p-24;
    exponent = exponent == 31 ? 2047 : exponent - 15 + 1023;
    return double_of_bits(sign | exponent << 52 | mantissa << 42);
}

/* Round to nearest, ties to even. */
static uint16_t double_to_half(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    int exponent = (int)(bits >> 52 & 2047) - 1023;
    uint64_t mantissa = bits & 0xfffffffffffffu;
    if (exponent == 1024 && mantissa) /* not a number: keep what fits of its payload */
        return (uint16_t)(sign | 0x7c00 | (mantissa >> 42 ? mantissa >> 42 : 1));
    if (exponent > 15)
        return (uint16_t)(sign | 0x7c00);
    if (exponent < -25)
        return sign;
    mantissa |= (uint64_t)1 << 52;
    int drop = exponent < -14 ? 42 + (-14 - exponent) : 42; /* more for a subnormal result */
    uint64_t kept = mantissa >> drop, rest = mantissa & (((uint64_t)1 << drop) - 1), tie = (uint64_t)1 << (drop - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    /* the implicit bit carries into the exponent, and so does a mantissa that rounds up to the next power */
    return (uint16_t)(sign + (exponent < -14 ? kept : kept + ((uint64_t)(exponent + 14) << 10)));
}

static int32_t to_i32(double v) { return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN; }
static int64_t to_i64(double v) { return v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN; }
static uint32_t to_u32(double v) {
    return v >= 0x1p31 ? (uint32_t)to_i32(v - 0x1p31) ^ 0x80000000u : (uint32_t)to_i32(v);
}
static uint64_t to_u64(double v) {
    return v >= 0x1p63 ? (uint64_t)to_i64(v - 0x1p63) ^ 0x8000000000000000u : (uint64_t)to_i64(v);
}

#define LEFT_1(v) (v)
#define LEFT_2(v) __builtin_bswap16(v)
#define LEFT_4(v) __builtin_bswap32(v)
#define LEFT_8(v) __builtin_bswap64(v)

/* Load n numbers whose bytes are those of `bits`, as `expression` of v. */
#define LOAD(bits, width, member, expression) \
    for (size_t k = 0; k < n; k++) {          \
        bits v;                               \
        memcpy(&v, in + k * width, width);    \
        if (swap)                             \
            v = LEFT_##width(v);              \
        to->member[k] = expression;           \
    }                                         \
    break

static double float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static void load(zaro_type type, const uint8_t *in, wide *to, size_t n) {
    bool swap = type.big != ZARO_BIG_ENDIAN;
    switch (type.kind << 4 | type.width) {
    case 'b' << 4 | 1:
        LOAD(uint8_t, 1, u, v != 0);
    case 'u' << 4 | 1:
        LOAD(uint8_t, 1, u, v);
    case 'u' << 4 | 2:
        LOAD(uint16_t, 2, u, v);
    case 'u' << 4 | 4:
        LOAD(uint32_t, 4, u, v);
    case 'u' << 4 | 8:
        LOAD(uint64_t, 8, u, v);
    case 'i' << 4 | 1:
        LOAD(uint8_t, 1, i, (int8_t)v);
    case 'i' << 4 | 2:
        LOAD(uint16_t, 2, i, (int16_t)v);
    case 'i' << 4 | 4:
        LOAD(uint32_t, 4, i, (int32_t)v);
    case 'i' << 4 | 8:
        LOAD(uint64_t, 8, i, (int64_t)v);
    case 'f' << 4 | 2:
        LOAD(uint16_t, 2, f, half_to_double(v));
    case 'f' << 4 | 4:
        LOAD(uint32_t, 4, f, float_of(v));
    case 'f' << 4 | 8:
        LOAD(uint64_t, 8, f, double_of_bits(v));
    default:
        break;
    }
}

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Store n numbers as the bytes of `bits`, each the `expression` of its wide value w. */
#define STORE(bits, width, member, expression)           \
    for (size_t k = 0; k < n; k++) {                     \
        __typeof__(from->member[0]) w = from->member[k]; \
        bits v = (bits)(expression);                     \
        if (swap)                                        \
            v = LEFT_##width(v);                         \
        memcpy(out + k * width, &v, width);              \
    }                                                    \
    break

/* Integers keep their low bits; to float16 they go through float32, as in NumPy. */
#define STORE_INTEGER(member)                                         \
    switch (type.kind << 4 | type.width) {                            \
    case 'b' << 4 | 1:                                                \
        STORE(uint8_t, 1, member, w != 0);                            \
    case 'i' << 4 | 1:                                                \
    case 'u' << 4 | 1:                                                \
        STORE(uint8_t, 1, member, w);                                 \
    case 'i' << 4 | 2:                                                \
    case 'u' << 4 | 2:                                                \
        STORE(uint16_t, 2, member, w);                                \
    case 'i' << 4 | 4:                                                \
    case 'u' << 4 | 4:                                                \
        STORE(uint32_t, 4, member, w);                                \
    case 'i' << 4 | 8:                                                \
    case 'u' << 4 | 8:                                                \
        STORE(uint64_t, 8, member, w);                                \
    case 'f' << 4 | 2:                                                \
        STORE(uint16_t, 2, member, double_to_half((double)(float)w)); \
    case 'f' << 4 | 4:                                                \
        STORE(uint32_t, 4, member, float_bits((float)w));             \
    case 'f' << 4 | 8:                                                \
        STORE(uint64_t, 8, member, double_bits((double)w));           \
    default:                                                          \
        break;                                                        \
    }

static void store_signed(zaro_type type, const wide *from, uint8_t *out, size_t n, bool swap) { STORE_INTEGER(i) }

static void store_unsigned(zaro_type type, const wide *from, uint8_t *out, size_t n, bool swap) { STORE_INTEGER(u) }

static void store_float(zaro_type type, const wide *from, uint8_t *out, size_t n, bool swap) {
    switch (type.kind << 4 | type.width) {
    case 'b' << 4 | 1:
        STORE(uint8_t, 1, f, w != 0);
    case 'i' << 4 | 1:
    case 'u' << 4 | 1:
        STORE(uint8_t, 1, f, to_i32(w));
    case 'i' << 4 | 2:
    case 'u' << 4 | 2:
        STORE(uint16_t, 2, f, to_i32(w));
    case 'i' << 4 | 4:
        STORE(uint32_t, 4, f, to_i32(w));
    case 'u' << 4 | 4:
        STORE(uint32_t, 4, f, to_u32(w));
    case 'i' << 4 | 8:
        STORE(uint64_t, 8, f, to_i64(w));
    case 'u' << 4 | 8:
        STORE(uint64_t, 8, f, to_u64(w));
    case 'f' << 4 | 2:
        STORE(uint16_t, 2, f, double_to_half(w));
    case 'f' << 4 | 4:
        STORE(uint32_t, 4, f, float_bits((float)w));
    case 'f' << 4 | 8:
        STORE(uint64_t, 8, f, double_bits(w));
    default:
        break;
    }
}

static void store(zaro_type type, wide_kind kind, const wide *from, uint8_t *out, size_t n) {
    bool swap = type.big != ZARO_BIG_ENDIAN;
    switch (kind) {
    case SIGNED:
        store_signed(type, from, out, n, swap);
        break;
    case UNSIGNED:
        store_unsigned(type, from, out, n, swap);
        break;
    case FLOAT:
        store_float(type, from, out, n, swap);
        break;
    }
}

static size_t shorter(size_t n) { return n < RUN ? n : RUN; }

zaro_status zaro_number_convert(zaro_type from, zaro_type to, const uint8_t *in, uint8_t *out, size_t n) {
    wide run;
    if (!zaro_type_known(from) || !zaro_type_known(to))
        return ZARO_RANGE;
    for (size_t k; n; n -= k) {
        k = shorter(n);
        load(from, in, &run, k);
        store(to, kind_of(from), &run, out, k);
        in += k * from.width;
        out += k * to.width;
    }
    return ZARO_OK;
}

/* The type in which NumPy adds two types: the smallest that holds the values of both, as far as one does. */
static zaro_type promote(zaro_type a, zaro_type b) {
    if (a.kind == b.kind)
        return a.width < b.width ? b : a;
    if (a.kind == 'b' || b.kind == 'b')
        return a.kind == 'b' ? b : a;
    if (a.kind == 'f' || b.kind == 'f') {
        zaro_type real = a.kind == 'f' ? a : b, whole = a.kind == 'f' ? b : a;
        uint8_t width = whole.width >= 4 ? 8 : (uint8_t)(2 * whole.width);
        return (zaro_type){'f', width > real.width ? width : real.width, false};
    }
    zaro_type i = a.kind == 'i' ? a : b, u = a.kind == 'i' ? b : a;
    if (u.width < i.width)
        return i;
    return u.width == 8 ? (zaro_type){'f', 8, false} : (zaro_type){'i', (uint8_t)(2 * u.width), false};
}

/* Running sums of integers wrap: the values have the range of the type that adds them once its low
 * bits are kept. Sums of bools are "any so far". */
static void sum_integers(uint64_t *v, size_t n, uint64_t *sum) {
    for (size_t k = 0; k < n; k++)
        v[k] = *sum += v[k];
}

static void sum_bools(uint64_t *v, size_t n, uint64_t *sum) {
    for (size_t k = 0; k < n; k++)
        v[k] = *sum |= v[k];
}

/* The first value starts the sum: 0.0 + -0.0 would lose its sign. */
static void sum_floats(uint8_t width, double *v, size_t n, double *sum, bool first) {
    float narrow = (float)(first ? v[0] : *sum);
    *sum = first ? v[0] : *sum;
    for (size_t k = first; k < n; k++) {
        if (width == 8) {
            v[k] = *sum += v[k];
            continue;
        }
        narrow += (float)v[k];
        if (width == 2)
            narrow = (float)half_to_double(double_to_half((double)narrow));
        v[k] = (double)narrow;
    }
    if (width != 8)
        *sum = (double)narrow;
}

/* Bring a run into the range of another type, rounding and wrapping as it does. */
static void recast(wide_kind from, zaro_type to, wide *run, size_t n) {
    uint8_t narrow[RUN * 8];
    to.big = ZARO_BIG_ENDIAN;
    store(to, from, run, narrow, n);
    load(to, narrow, run, n);
}

static bool same(zaro_type a, zaro_type b) { return a.kind == b.kind && a.width == b.width; }

zaro_status zaro_number_sum(zaro_type from, zaro_type to, const uint8_t *in, uint8_t *out, size_t n) {
    if (!zaro_type_known(from) || !zaro_type_known(to))
        return ZARO_RANGE;
    wide run;
    zaro_type adds = promote(from, to);
    uint64_t sum = 0;
    double float_sum = 0;
    bool first = true;
    for (size_t k; n; n -= k, first = false) {
        k = shorter(n);
        load(from, in, &run, k);
        if (!same(from, adds))
            recast(kind_of(from), adds, &run, k);
        if (adds.kind == 'f')
            sum_floats(adds.width, run.f, k, &float_sum, first);
        else if (adds.kind == 'b')
            sum_bools(run.u, k, &sum);
        else
            sum_integers(run.u, k, &sum);
        if (!same(to, adds))
            recast(kind_of(adds), adds, &run, k);
        store(to, kind_of(adds), &run, out, k);
        in += k * from.width;
        out += k * to.width;
    }
    return ZARO_OK;
}

static void scale_run(zaro_type type, double scale, double offset, double *v, size_t n) {
    if (type.kind != 'f' || type.width == 8) {
        for (size_t k = 0; k < n; k++)
            v[k] = v[k] / scale + offset;
    } else if (type.width == 4) {
        float s = (float)scale, o = (float)offset;
        for (size_t k = 0; k < n; k++)
            v[k] = (double)((float)v[k] / s + o);
    } else {
        float s = (float)half_to_double(double_to_half(scale)), o = (float)half_to_double(double_to_half(offset));
        for (size_t k = 0; k < n; k++) {
            float quotient = (float)half_to_double(double_to_half((double)((float)v[k] / s)));
            v[k] = half_to_double(double_to_half((double)(quotient + o)));
        }
    }
}

zaro_status zaro_number_scale(zaro_type from, zaro_type to, double scale, double offset, const uint8_t *in,
                              uint8_t *out, size_t n) {
    if (!zaro_type_known(from) || !zaro_type_known(to))
        return ZARO_RANGE;
    wide run;
    for (size_t k; n; n -= k) {
        k = shorter(n);
        load(from, in, &run, k);
        if (kind_of(from) == SIGNED)
            for (size_t i = 0; i < k; i++)
                run.f[i] = (double)run.i[i];
        else if (kind_of(from) == UNSIGNED)
            for (size_t i = 0; i < k; i++)
                run.f[i] = (double)run.u[i];
        scale_run(from, scale, offset, run.f, k);
        store(to, FLOAT, &run, out, k);
        in += k * from.width;
        out += k * to.width;
    }
    return ZARO_OK;
}
