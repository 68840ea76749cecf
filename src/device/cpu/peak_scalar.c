/* peak_scalar.c: the FMA peak without vectors. Where the instruction set has no fma (plain x86-64), a multiply and an
 * add stand for it, as they do in compiled scalar code. */
#include <math.h>
#include "device/cpu/peak.h"

#ifdef FP_FAST_FMAF
#  define FMA(x, factor, term) fmaf(x, factor, term)
#else
#  define FMA(x, factor, term) ((x) * (factor) + (term))
#endif

static float run(int64_t n_rounds, float factor, float term) {
  float x[ISO__PEAK_CHAINS];
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = (float)c;
  for (int64_t i = 0; i < n_rounds; i++)
    for (int c = 0; c < ISO__PEAK_CHAINS; c++) x[c] = FMA(x[c], factor, term);
  float sum = 0;
  for (int c = 0; c < ISO__PEAK_CHAINS; c++) sum += x[c];
  return sum;
}

const iso__peak_kernel iso__peak_scalar = {.n_lanes = 1, .run = run};
