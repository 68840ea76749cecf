/* gather_vec.h: floats of one row by ascending indices, into one vector: what planes of one channel need, whose lanes
 * are columns. Over numeric/vec.h's AVX2 and AVX-512.
 *
 * Neighbouring columns want neighbouring floats, so mostly the lanes' indices lie within one or two vectors of memory:
 * those are loaded and permuted, at a fraction of what the gather instruction costs. */
#ifndef ISO_KERNELS_GATHER_VEC_H
#define ISO_KERNELS_GATHER_VEC_H
#include "numeric/vec.h"

/* How the lanes' indices lie: from the first on within one vector, within two, or farther. */
typedef enum span { SPAN_ONE, SPAN_TWO, SPAN_FAR } span;
static inline span span_of(int64_t first, int64_t last) {
  return last - first < VF_LANES ? SPAN_ONE : last - first < 2 * VF_LANES ? SPAN_TWO : SPAN_FAR;
}

VEC_FN vf gather_far(const float *row, vi index, vm used) {
#if defined(__AVX512F__)
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), used, index, row, 4);
#else
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), row, index, used, 4);
#endif
}
/* row[index] in the lanes used, anything in the others; index − first within the span in all lanes that are used. No
 * float before `begin`, at `end` or beyond is read. */
VEC_FN vf gather_columns(const float *row, vi index, int32_t first, span s, vm used, const float *begin,
                         const float *end) {
  const vi local = vi_sub(index, vi_set1(first));
  if (row + first < begin) return gather_far(row, index, used);
  if (s == SPAN_ONE && row + first + VF_LANES <= end) {
    const vf a = vf_load(row + first);
#if defined(__AVX512F__)
    return _mm512_permutexvar_ps(local, a);
#else
    return _mm256_permutevar8x32_ps(a, local);
#endif
  }
  if (s == SPAN_TWO && row + first + 2 * VF_LANES <= end) {
    const vf a = vf_load(row + first), b = vf_load(row + first + VF_LANES);
#if defined(__AVX512F__)
    return _mm512_permutex2var_ps(a, local, b);
#else
    const vm high = vi_gt(local, vi_set1(VF_LANES - 1));
    return vf_select(high, _mm256_permutevar8x32_ps(b, local), _mm256_permutevar8x32_ps(a, local));
#endif
  }
  return gather_far(row, index, used);
}
#endif
