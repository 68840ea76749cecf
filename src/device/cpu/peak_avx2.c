/* peak_avx2.c: the FMA peak of 8-lane vectors. */
#include <immintrin.h>
#include "device/cpu/peak.h"

static float run(int64_t n_rounds, float factor, float term) {
  const __m256 f = _mm256_set1_ps(factor), t = _mm256_set1_ps(term);
  __m256 x[ISO__PEAK_CHAINS];
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = _mm256_set1_ps((float)c);
  for (int64_t i = 0; i < n_rounds; i++)
    for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = _mm256_fmadd_ps(x[c], f, t);
  __m256 sum = _mm256_setzero_ps();
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) sum = _mm256_add_ps(sum, x[c]);
  float lanes[8];
  _mm256_storeu_ps(lanes, sum);
  return lanes[0] + lanes[7];
}

const iso__peak_kernel iso__peak_avx2 = {.n_lanes = 8, .run = run};
