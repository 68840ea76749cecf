/* peak_avx512.c: the FMA peak of 16-lane vectors. */
#include <immintrin.h>
#include "device/cpu/peak.h"

static float run(int64_t n_rounds, float factor, float term) {
  const __m512 f = _mm512_set1_ps(factor), t = _mm512_set1_ps(term);
  __m512 x[ISO__PEAK_CHAINS];
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = _mm512_set1_ps((float)c);
  for (int64_t i = 0; i < n_rounds; i++)
    for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = _mm512_fmadd_ps(x[c], f, t);
  __m512 sum = _mm512_setzero_ps();
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) sum = _mm512_add_ps(sum, x[c]);
  float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  return lanes[0] + lanes[15];
}

const iso__peak_kernel iso__peak_avx512 = {.n_lanes = 16, .run = run};
