/* combine.h: what a scan does with two values, in vectors and in one lane; included by panels_impl.h. */
#ifndef ISO_KERNELS_SCAN_COMBINE_H
#define ISO_KERNELS_SCAN_COMBINE_H
#include "kernels/scan/scan.h"
#include "numeric/math_f32.h"
#include "numeric/math_f64.h"
#include "numeric/vec.h"

VEC_FN vf combine_vector(iso__scan_fn fn, vf a, vf b) {
  if (fn == ISO__SCAN_SUM) return vf_add(a, b);
  if (fn == ISO__SCAN_PROD) return vf_mul(a, b);
  const vf d = vf_select(vf_eq(a, b), vf_zero(), vf_neg(vf_abs(vf_sub(a, b))));
  return vf_add(vf_max(a, b), v_softplus(d));
}
VEC_FN float combine_f32(iso__scan_fn fn, float a, float b) {
  if (fn == ISO__SCAN_SUM) return a + b;
  if (fn == ISO__SCAN_PROD) return a * b;
  float lane[VF_LANES];
  vf_store(lane, combine_vector(fn, vf_set1(a), vf_set1(b)));
  return lane[0];
}
VEC_FN double combine_f64(iso__scan_fn fn, double a, double b) {
  if (fn == ISO__SCAN_SUM) return a + b;
  if (fn == ISO__SCAN_PROD) return a * b;
  return (a > b ? a : b) + iso__softplus_f64(a == b ? 0 : -fabs(a - b));
}
VEC_FN float neutral_of(iso__scan_fn fn) {
  return fn == ISO__SCAN_SUM ? 0 : fn == ISO__SCAN_PROD ? 1 : -(float)INFINITY;
}
#endif
