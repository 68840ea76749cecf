/* The inverses of erf and of the normal distribution in binary32: in double and rounded once. As math_f32.h, which
 * includes this file and has the conventions.
 *
 * erf⁻¹(a) = a·F(w), w = −log(1 − a²): a smooth function of w near 0 and of √w far out (Giles: "Approximating the
 * erfinv function", 2011). */
#ifndef ISO__NUMERIC_QUANTILE_F32_H
#define ISO__NUMERIC_QUANTILE_F32_H

#include "quantile_tables.h"
#include "vec.h"

VEC_FN vd v_quantile_lanes(vd w) {
  const vd s = vd_sqrt(w), side = V_HORNER(quantile_side, vd_sub(s, vd_set1(3.2)));
  return vd_select(vd_lt(w, vd_set1(5.5)), V_HORNER(quantile_centre, w), side);
}
VEC_FN vd v_erfinv_lanes(vd x) { /* |x| < 1 */
  const vd one = vd_set1(1.0), w = v_log_lanes(vd_mul(vd_sub(one, x), vd_add(one, x)));
  return vd_mul(x, v_quantile_lanes(vd_max(vd_set1(0.0), vd_sub(vd_set1(0.0), w))));
}
VEC_FN vf v_erfinv(vf x) {
  const vf a = vf_abs(x), y = vf_from_vd(v_erfinv_lanes(vd_from_vf_lo(x)), v_erfinv_lanes(vd_from_vf_hi(x)));
  const vf end = vf_select(vf_eq(a, vf_set1(1.0f)), vf_copysign(vf_set1(INFINITY), x), vf_set1(NAN));
  return vf_select(vf_lt(a, vf_set1(1.0f)), y, end);
}
/* √2·erf⁻¹(2p − 1), with 1 − (2p − 1)² = 4p·(1 − p). */
VEC_FN vd v_ndtri_lanes(vd p) { /* 0 < p < 1 */
  const vd one = vd_set1(1.0), rest = vd_mul(vd_mul(vd_set1(4.0), p), vd_sub(one, p));
  const vd w = vd_max(vd_set1(0.0), vd_sub(vd_set1(0.0), v_log_lanes(rest)));
  const vd tail = V_HORNER(quantile_tail, vd_sub(vd_sqrt(w), vd_set1(7.0)));
  const vd f = vd_select(vd_gt(w, vd_set1(4.2 * 4.2)), tail, v_quantile_lanes(w));
  return vd_mul(vd_mul(vd_fma(vd_set1(2.0), p, vd_set1(-1.0)), vd_set1(0x1.6a09e667f3bcdp0)), f);
}
VEC_FN vf v_ndtri(vf p) {
  const vf zero = vf_zero(), one = vf_set1(1.0f), infinity = vf_set1(INFINITY);
  vf y = vf_from_vd(v_ndtri_lanes(vd_from_vf_lo(p)), v_ndtri_lanes(vd_from_vf_hi(p)));
  y = vf_select(vf_eq(p, zero), vf_neg(infinity), vf_select(vf_eq(p, one), infinity, y));
  return vf_select(vm_and(vf_ge(p, zero), vf_le(p, one)), y, vf_set1(NAN));
}

#endif
