/* tile_vec.h: the few vector operations of the product kernels, for the width that the including file is compiled for.
 */
#ifndef ISO_KERNELS_GEMM_TILE_VEC_H
#define ISO_KERNELS_GEMM_TILE_VEC_H
#include <immintrin.h>
#include <stdint.h>
#include "numeric/unroll.h"

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
#  define WIDTH 16
typedef __m512 vec;
typedef __mmask16 vec_mask;
#  define vec_zero _mm512_setzero_ps
#  define vec_set1 _mm512_set1_ps
#  define vec_load _mm512_loadu_ps
#  define vec_store _mm512_storeu_ps
#  define vec_add _mm512_add_ps
#  define vec_mul _mm512_mul_ps
#  define vec_mask_first(n) ((vec_mask)((1u << (n)) - 1u))
#  define vec_load_masked(x, mask) _mm512_maskz_loadu_ps(mask, x)
#  define vec_store_masked(x, v, mask) _mm512_mask_storeu_ps(x, mask, v)
#  define vec_keep(v, mask) _mm512_maskz_mov_ps(mask, v) /* zero elsewhere */
#  define VEC_FMA(acc, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b))
#else
#  define WIDTH 8
typedef __m256 vec;
typedef __m256i vec_mask;
#  define vec_zero _mm256_setzero_ps
#  define vec_set1 _mm256_set1_ps
#  define vec_load _mm256_loadu_ps
#  define vec_store _mm256_storeu_ps
#  define vec_add _mm256_add_ps
#  define vec_mul _mm256_mul_ps
static inline vec_mask vec_mask_first(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#  define vec_load_masked(x, mask) _mm256_maskload_ps(x, mask)
#  define vec_store_masked(x, v, mask) _mm256_maskstore_ps(x, mask, v)
#  define vec_keep(v, mask) _mm256_and_ps(v, _mm256_castsi256_ps(mask))
#  define VEC_FMA(acc, a, b) __asm__("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(a), "x"(b))
#endif
#endif
