/* index_vec.h: max pooling's indices between memory and registers, over numeric/vec.h's AVX2 and AVX-512. */
#ifndef ISO_KERNELS_POOL_INDEX_VEC_H
#define ISO_KERNELS_POOL_INDEX_VEC_H
#include "numeric/vec.h"

/* Indices in memory are bytes or int64, in registers int32 lanes. n of VF_LANES; with the constant VF_LANES whole
 * vectors. */
VEC_FN void index_store(uint8_t *p, vi index, size_t n) {
#if defined(__AVX512F__)
  _mm512_mask_cvtepi32_storeu_epi8(p, vm_first(n), index);
#else
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(index), _mm256_extracti128_si256(index, 1));
  const int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
  if (n >= VF_LANES) memcpy(p, &bytes, VF_LANES);
  else memcpy(p, &bytes, n);
#endif
}
VEC_FN void index_store_wide(int64_t *p, vi index, size_t n) {
#if defined(__AVX512F__)
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(index));
  const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(index, 1));
  const __mmask16 m = vm_first(n);
  _mm512_mask_storeu_epi64(p, (__mmask8)m, low);
  _mm512_mask_storeu_epi64(p + 8, (__mmask8)(m >> 8), high);
#else
  int32_t lane[VF_LANES];
  vi_store(lane, index);
  for (size_t i = 0; i < n && i < VF_LANES; i++) p[i] = lane[i];
#endif
}
VEC_FN vi index_load(const uint8_t *p, size_t n) {
#if defined(__AVX512F__)
  return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(vm_first(n), p));
#else
  int64_t bytes = 0;
  if (n >= VF_LANES) memcpy(&bytes, p, VF_LANES);
  else memcpy(&bytes, p, n);
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
#endif
}
#endif
