/* The vector layer under every f32 kernel and shared function: one source, three widths, the same bits.
 *
 * The including file's instruction set picks the width: AVX-512 16 lanes, AVX2 8 lanes, else plain C, 1 lane. Every
 * operation is one IEEE operation per lane (or an exact one), defined alike for all widths, NaN and out-of-range
 * cases included, so whatever is written over this layer gives equal bits at every width. That leaves out approximate
 * reciprocals, horizontal sums and anything that an instruction set defines in its own way.
 *
 * Device code takes the plain form: a thread is a lane.
 *
 * Types: vf float lanes, vi int32 lanes, vm a mask over them; vd double lanes (VD_LANES: half as many), vl int64 lanes,
 * vdm a mask over those. Names say type and operation; what C or IEEE 754 leaves open is said here:
 *   vf_min(a, b) = a < b ? a : b and vf_max(a, b) = a > b ? a : b: with a NaN or equal zeros the second operand.
 *   vf_max_nan, vf_min_nan: a NaN in either operand gives NaN; of equal zeros the second operand.
 *   vf_eq, vf_lt, vf_le, vf_gt, vf_ge: false where an operand is NaN. vf_isnan: true where the operand is.
 *   vi_from_vf truncates, vi_from_vf_near rounds to nearest even: outside int32, and of a NaN, INT32_MIN.
 *   vf_load_n, vf_store_n: the first n lanes only (n ≥ VF_LANES: all); idle lanes load as +0; no byte beyond is
 * touched. vf_store_bf16, vf_store_f16: nearest even; a NaN is stored as 0x7fc0 and 0x7e00. vi shifts take counts 0 …
 * 31; integers wrap. */
#ifndef ISO__NUMERIC_VEC_H
#define ISO__NUMERIC_VEC_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#  error "Isobit's bits are defined under IEEE arithmetic: build without -ffast-math"
#endif

#include "hd.h"
#define VEC_FN static inline __attribute__((always_inline)) ISO__HD

#if defined(__CUDACC__)
#  include "vec_scalar.h"
#elif defined(__AVX512F__)
#  include "vec_avx512.h"
#elif defined(__AVX2__)
#  include "vec_avx2.h"
#else
#  include "vec_scalar.h"
#endif

/* Compositions that need no instruction of their own. */
VEC_FN vf vf_zero(void) { return vf_set1(0.0f); }
VEC_FN vm vf_isnan(vf a) { return vf_unordered(a, a); }
VEC_FN vf vf_max_nan(vf a, vf b) { return vf_select(vf_isnan(a), a, vf_max(a, b)); }
VEC_FN vf vf_min_nan(vf a, vf b) { return vf_select(vf_isnan(a), a, vf_min(a, b)); }
VEC_FN vf vf_neg(vf a) { return vf_from_bits(vi_xor(vf_bits(a), vi_set1(INT32_MIN))); }
VEC_FN vf vf_abs(vf a) { return vf_from_bits(vi_and(vf_bits(a), vi_set1(INT32_MAX))); }
VEC_FN vf vf_copysign(vf magnitude, vf sign) {
  const vi top = vi_set1(INT32_MIN);
  return vf_from_bits(vi_or(vi_andnot(top, vf_bits(magnitude)), vi_and(top, vf_bits(sign))));
}

/* x > 0 ? x : x ≠ x ? x : +0: max gives the second operand where one is a NaN; adding +0 turns −0 into it. */
VEC_FN vf vf_relu(vf x) { return vf_add(vf_max(vf_zero(), x), vf_zero()); }
/* y > 0 ? dy : y ≠ y ? y : +0 */
VEC_FN vf vf_relu_gradient(vf y, vf dy) {
  return vf_select(vf_gt(y, vf_zero()), dy, vf_select(vf_isnan(y), y, vf_zero()));
}

/* Calls STEP(i, left) along n elements: left of VF_LANES elements at i, whole vectors with the constant VF_LANES. */
#define VEC_EACH(n, STEP)                                                                                              \
  do {                                                                                                                 \
    int64_t i = 0;                                                                                                     \
    for (; i + VF_LANES <= (n); i += VF_LANES) STEP(i, VF_LANES);                                                      \
    if (i < (n)) STEP(i, (size_t)((n)-i));                                                                             \
  } while (0)

/* v = v + w, and w starts again: chunks' sums into a panel's, a panel's into the total. */
VEC_FN void vec_join(float *v, float *w, int64_t m) {
  for (int64_t j = 0; j < m; j++) v[j] = v[j] + w[j], w[j] = 0;
}

#endif
