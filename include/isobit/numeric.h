/* Numbers: element types, casts, random numbers and the elementary functions.
 *
 * Everything here is a pure function of its arguments: the same bits on every machine, at every vector width, with
 * every compiler. The kernels use the same definitions, so a value computed on the host equals the one in a tensor. */
#ifndef ISOBIT_NUMERIC_H
#define ISOBIT_NUMERIC_H

#include <isobit/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Element types ---- */

enum iso_dtype {
  ISO_F32,  /* IEEE binary32 */
  ISO_F64,  /* IEEE binary64 */
  ISO_F16,  /* IEEE binary16; computed in f32, rounded once when an operator ends */
  ISO_BF16, /* the upper half of a binary32; likewise */
  ISO_I64,
  ISO_I32,
  ISO_U8,
  ISO_BOOL, /* one byte, 0 or 1 */
};
typedef enum iso_dtype iso_dtype;
enum { ISO_DTYPE_COUNT = 8 };

/* Bytes of one element; 0 for a value that names no dtype. */
ISO_API size_t iso_dtype_size(iso_dtype dtype);
/* "f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool"; "?" for a value that names no dtype. */
ISO_API const char *iso_dtype_name(iso_dtype dtype);
/* The dtype of that name into *dtype; false, and *dtype untouched, if there is none. */
ISO_API bool iso_dtype_parse(const char *name, iso_dtype *dtype);
ISO_API bool iso_dtype_is_float(iso_dtype dtype);

/* Whether n elements are the same bit for bit, where all NaNs count as one. */
ISO_API bool iso_same_bits(const void *a, const void *b, size_t n, iso_dtype dtype);

/* Rounded once, to nearest even; a NaN becomes 0x7e00 (f16) or 0x7fc0 (bf16). Widening is exact. */
ISO_API uint16_t iso_f16_from_f32(float x);
ISO_API uint16_t iso_f16_from_f64(double x);
ISO_API float iso_f32_from_f16(uint16_t x);
ISO_API uint16_t iso_bf16_from_f32(float x);
ISO_API uint16_t iso_bf16_from_f64(double x);
ISO_API float iso_f32_from_bf16(uint16_t x);

/* ---- Random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", 2011)
 *
 * A random word is a function of a place: (seed, stream, step, leaf, site, element). Nothing is drawn in sequence, so
 * neither threads nor evaluation passes can shift it. */

enum iso_philox_stream {
  ISO_PHILOX_GRAPH = 0,  /* dropout and other operators of a model */
  ISO_PHILOX_LOADER = 1, /* order and augmentation: site = purpose, leaf = epoch, step = sample */
  ISO_PHILOX_INIT = 2,   /* initialisers */
  ISO_PHILOX_USER = 3,   /* a program's own */
};

typedef struct iso_philox {
  uint64_t seed;
  uint32_t stream; /* key = (low word of seed, high word of seed xor stream) */
  uint32_t site, leaf, step;
} iso_philox;

/* Elements run from 0 to ISO_PHILOX_ELEMENTS − 1: element e is word e mod 4 of the block at counter
 * (e / 4, site, leaf, step). */
#define ISO_PHILOX_ELEMENTS (UINT64_C(1) << 34)

/* One block of four words, the primitive itself. */
ISO_API void iso_philox_block(const uint32_t key[2], const uint32_t counter[4], uint32_t words[4]);

/* Word of one element. */
ISO_API uint32_t iso_philox_word(const iso_philox *at, uint64_t element);

/* The fills write elements begin … end−1 to out[0 … end−begin−1]; false, and nothing written, where a range is not
 * within the elements. Draw i of 64 bits is (word 2i, word 2i+1), low word first, so draws run to half as many. */
ISO_API bool iso_philox_words(const iso_philox *at, uint64_t begin, uint64_t end, uint32_t *out);
ISO_API bool iso_philox_draws(const iso_philox *at, uint64_t begin, uint64_t end, uint64_t *out);
/* fma(b − a, u, a) with u = (word >> 8)·2^−24 in [0, 1). */
ISO_API bool iso_philox_uniform_f32(const iso_philox *at, uint64_t begin, uint64_t end, float a, float b, float *out);
/* The same in f64, u = (draw >> 11)·2^−53. */
ISO_API bool iso_philox_uniform_f64(const iso_philox *at, uint64_t begin, uint64_t end, double a, double b,
                                    double *out);
/* fma(std, z, mean), z by Box and Muller: elements 4j, 4j+1 are r·cospi(2u), r·sinpi(2u) with
 * r = sqrt(−2·log(((w0 >> 8) + 1)·2^−24)), u = (w1 >> 8)·2^−24; 4j+2, 4j+3 likewise from w2, w3. */
ISO_API bool iso_philox_normal_f32(const iso_philox *at, uint64_t begin, uint64_t end, float mean, float std,
                                   float *out);
/* The same in f64: elements 2j, 2j+1 from draws 2j, 2j+1 and 53 bits of each. */
ISO_API bool iso_philox_normal_f64(const iso_philox *at, uint64_t begin, uint64_t end, double mean, double std,
                                   double *out);
/* A permutation of 0 … n−1: the stable sort of n draws. `scratch` holds n draws and n indices (16·n bytes, aligned to
 * 8); out holds n. False where n exceeds the draws. O(n log n). */
ISO_API bool iso_philox_permutation(const iso_philox *at, uint64_t n, int64_t *out, void *scratch);

/* ---- Elementary functions
 *
 * The very functions that tensors use, for one number: equal bits on every machine, with every compiler. Bounds hold
 * for every input (f32: all 2^32 were tried, or where docs/numerics-math.md says so a dense sample of them); that page
 * lists bounds, special values and constructions. A NaN gives a NaN; odd functions keep the sign of zero; results
 * beyond the range are rounded like any other. */

ISO_API float iso_f32_exp(float x);                /* e^x */
ISO_API float iso_f32_exp2(float x);               /* 2^x */
ISO_API float iso_f32_expm1(float x);              /* e^x − 1 */
ISO_API float iso_f32_log(float x);                /* log x */
ISO_API float iso_f32_log2(float x);               /* log2 x */
ISO_API float iso_f32_log10(float x);              /* log10 x */
ISO_API float iso_f32_log1p(float x);              /* log(1 + x) */
ISO_API float iso_f32_tanh(float x);               /* tanh x */
ISO_API float iso_f32_sinh(float x);               /* sinh x */
ISO_API float iso_f32_cosh(float x);               /* cosh x */
ISO_API float iso_f32_asinh(float x);              /* inverse of sinh */
ISO_API float iso_f32_acosh(float x);              /* inverse of cosh, ≥ 0 */
ISO_API float iso_f32_atanh(float x);              /* inverse of tanh */
ISO_API float iso_f32_sigmoid(float x);            /* 1/(1 + e^−x) */
ISO_API float iso_f32_silu(float x);               /* x·sigmoid(x) */
ISO_API float iso_f32_softplus(float x);           /* log(1 + e^x) */
ISO_API float iso_f32_erf(float x);                /* erf x */
ISO_API float iso_f32_erfc(float x);               /* 1 − erf x, accurate for large x */
ISO_API float iso_f32_gelu(float x);               /* x·Φ(x), Φ the normal distribution */
ISO_API float iso_f32_gelu_tanh(float x);          /* ½x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) */
ISO_API float iso_f32_log_sigmoid(float x);        /* −log(1 + e^−x) */
ISO_API float iso_f32_mish(float x);               /* x·tanh(log(1 + e^x)) */
ISO_API float iso_f32_lgamma(float x);             /* log |Γ(x)| */
ISO_API float iso_f32_digamma(float x);            /* ψ(x), the derivative of log Γ */
ISO_API float iso_f32_trigamma(float x);           /* ψ′(x) */
ISO_API float iso_f32_erfinv(float x);             /* inverse of erf */
ISO_API float iso_f32_ndtri(float x);              /* inverse of the normal distribution */
ISO_API float iso_f32_i0(float x);                 /* modified Bessel function I0(x) */
ISO_API float iso_f32_i0e(float x);                /* I0(x)·e^−|x| */
ISO_API float iso_f32_i1(float x);                 /* I1(x) */
ISO_API float iso_f32_i1e(float x);                /* I1(x)·e^−|x| */
ISO_API float iso_f32_rsqrt(float x);              /* 1/√x */
ISO_API float iso_f32_sinpi(float x);              /* sin(πx) */
ISO_API float iso_f32_cospi(float x);              /* cos(πx) */
ISO_API float iso_f32_sin(float x);                /* sin x, of any size */
ISO_API float iso_f32_cos(float x);                /* cos x */
ISO_API float iso_f32_tan(float x);                /* tan x */
ISO_API float iso_f32_asin(float x);               /* arc sine, in [−π/2, π/2] */
ISO_API float iso_f32_acos(float x);               /* arc cosine, in [0, π] */
ISO_API float iso_f32_atan(float x);               /* arc tangent, in [−π/2, π/2] */
ISO_API float iso_f32_atan2(float y, float x);     /* angle of (x, y), in [−π, π]; special values as C99 has them */
ISO_API float iso_f32_pow(float x, float y);       /* x^y; special values as C99 has them */
ISO_API float iso_f32_hypot(float x, float y);     /* √(x² + y²), without overflow */
ISO_API float iso_f32_fmod(float x, float y);      /* x − y·trunc(x/y), exact: x's sign */
ISO_API float iso_f32_remainder(float x, float y); /* x − y·floor(x/y), rounded once: y's sign, a zero x's */
ISO_API float iso_f32_logaddexp(float x, float y); /* log(e^x + e^y) */

ISO_API double iso_f64_exp(double x);             /* e^x */
ISO_API double iso_f64_exp2(double x);            /* 2^x */
ISO_API double iso_f64_expm1(double x);           /* e^x − 1 */
ISO_API double iso_f64_log(double x);             /* log x */
ISO_API double iso_f64_log2(double x);            /* log2 x */
ISO_API double iso_f64_log10(double x);           /* log10 x */
ISO_API double iso_f64_log1p(double x);           /* log(1 + x) */
ISO_API double iso_f64_tanh(double x);            /* tanh x */
ISO_API double iso_f64_sinh(double x);            /* sinh x */
ISO_API double iso_f64_cosh(double x);            /* cosh x */
ISO_API double iso_f64_asinh(double x);           /* inverse of sinh */
ISO_API double iso_f64_acosh(double x);           /* inverse of cosh, ≥ 0 */
ISO_API double iso_f64_atanh(double x);           /* inverse of tanh */
ISO_API double iso_f64_sigmoid(double x);         /* 1/(1 + e^−x) */
ISO_API double iso_f64_silu(double x);            /* x·sigmoid(x) */
ISO_API double iso_f64_softplus(double x);        /* log(1 + e^x) */
ISO_API double iso_f64_erf(double x);             /* erf x */
ISO_API double iso_f64_erfc(double x);            /* 1 − erf x, accurate for large x */
ISO_API double iso_f64_gelu(double x);            /* x·Φ(x), Φ the normal distribution */
ISO_API double iso_f64_gelu_tanh(double x);       /* ½x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) */
ISO_API double iso_f64_log_sigmoid(double x);     /* −log(1 + e^−x) */
ISO_API double iso_f64_mish(double x);            /* x·tanh(log(1 + e^x)) */
ISO_API double iso_f64_lgamma(double x);          /* log |Γ(x)| */
ISO_API double iso_f64_digamma(double x);         /* ψ(x), the derivative of log Γ */
ISO_API double iso_f64_trigamma(double x);        /* ψ′(x) */
ISO_API double iso_f64_erfinv(double x);          /* inverse of erf */
ISO_API double iso_f64_ndtri(double x);           /* inverse of the normal distribution */
ISO_API double iso_f64_i0(double x);              /* modified Bessel function I0(x) */
ISO_API double iso_f64_i0e(double x);             /* I0(x)·e^−|x| */
ISO_API double iso_f64_i1(double x);              /* I1(x) */
ISO_API double iso_f64_i1e(double x);             /* I1(x)·e^−|x| */
ISO_API double iso_f64_rsqrt(double x);           /* 1/√x */
ISO_API double iso_f64_sinpi(double x);           /* sin(πx) */
ISO_API double iso_f64_cospi(double x);           /* cos(πx) */
ISO_API double iso_f64_sin(double x);             /* sin x, of any size */
ISO_API double iso_f64_cos(double x);             /* cos x */
ISO_API double iso_f64_tan(double x);             /* tan x */
ISO_API double iso_f64_asin(double x);            /* arc sine, in [−π/2, π/2] */
ISO_API double iso_f64_acos(double x);            /* arc cosine, in [0, π] */
ISO_API double iso_f64_atan(double x);            /* arc tangent, in [−π/2, π/2] */
ISO_API double iso_f64_atan2(double y, double x); /* angle of (x, y), in [−π, π]; special values as C99 has them */
ISO_API double iso_f64_pow(double x, double y);   /* x^y; special values as C99 has them */
ISO_API double iso_f64_hypot(double x, double y); /* √(x² + y²), without overflow */
ISO_API double iso_f64_fmod(double x, double y);  /* x − y·trunc(x/y), exact: x's sign */
ISO_API double iso_f64_remainder(double x, double y); /* x − y·floor(x/y), rounded once: y's sign, a zero x's */
ISO_API double iso_f64_logaddexp(double x, double y); /* log(e^x + e^y) */
/* x^n by squaring, low bit of |n| first; 1/x^|n| for n < 0: the order in which b1^t of Adam is computed. */
ISO_API double iso_f64_powi(double x, int64_t n);

#ifdef __cplusplus
}
#endif
#endif
