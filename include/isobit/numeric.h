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
/* A permutation of 0 … n−1: the stable sort of n draws. `scratch` holds n draws and n indices (16·n bytes, aligned to
 * 8); out holds n. False where n exceeds the draws. O(n log n). */
ISO_API bool iso_philox_permutation(const iso_philox *at, uint64_t n, int64_t *out, void *scratch);

#ifdef __cplusplus
}
#endif
#endif
