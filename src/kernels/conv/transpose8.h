/* transpose8.h: an 8×8 block of floats transposed in registers; for files compiled for AVX2 or more. */
#ifndef ISO_KERNELS_CONV_TRANSPOSE8_H
#define ISO_KERNELS_CONV_TRANSPOSE8_H
#include <immintrin.h>

static inline __attribute__((always_inline)) void transpose8(__m256 *r) {
  const __m256 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
  const __m256 c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
  const __m256 e = _mm256_unpacklo_ps(r[4], r[5]), f = _mm256_unpackhi_ps(r[4], r[5]);
  const __m256 g = _mm256_unpacklo_ps(r[6], r[7]), h = _mm256_unpackhi_ps(r[6], r[7]);
  const __m256 p = _mm256_shuffle_ps(a, c, 0x44), q = _mm256_shuffle_ps(a, c, 0xEE);
  const __m256 s = _mm256_shuffle_ps(b, d, 0x44), t = _mm256_shuffle_ps(b, d, 0xEE);
  const __m256 u = _mm256_shuffle_ps(e, g, 0x44), v = _mm256_shuffle_ps(e, g, 0xEE);
  const __m256 w = _mm256_shuffle_ps(f, h, 0x44), x = _mm256_shuffle_ps(f, h, 0xEE);
  r[0] = _mm256_permute2f128_ps(p, u, 0x20), r[4] = _mm256_permute2f128_ps(p, u, 0x31);
  r[1] = _mm256_permute2f128_ps(q, v, 0x20), r[5] = _mm256_permute2f128_ps(q, v, 0x31);
  r[2] = _mm256_permute2f128_ps(s, w, 0x20), r[6] = _mm256_permute2f128_ps(s, w, 0x31);
  r[3] = _mm256_permute2f128_ps(t, x, 0x20), r[7] = _mm256_permute2f128_ps(t, x, 0x31);
}
#endif
