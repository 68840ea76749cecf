/* log σ, logaddexp and mish in binary32: as math_f32.h, which includes this file and has the conventions. */
#ifndef ISO__NUMERIC_ACTIVATION_F32_H
#define ISO__NUMERIC_ACTIVATION_F32_H

#include "vec.h"

/* log σ(x) = −softplus(−x); +inf gives −0. */
VEC_FN vf v_log_sigmoid(vf x) { return vf_neg(v_softplus(vf_neg(x))); }

/* log(e^x + e^y) = max + log(1 + e^−|x − y|). Equal infinities give themselves. */
VEC_FN vf v_logaddexp(vf x, vf y) {
  const vf d = vf_select(vf_eq(x, y), vf_zero(), vf_sub(x, y));
  return vf_add(vf_max_nan(x, y), v_softplus(vf_neg(vf_abs(d))));
}

/* x·tanh(log(1 + e^x)) = x·n/(n + 2) with n = e·(e + 2), e = e^x; in double and rounded once. −inf gives −0. */
VEC_FN vd v_mish_lanes(vd x) { /* −120 … 20 */
  const vd e = v_exp2_lanes(vd_mul(x, vd_set1(0x1.71547652b82fep0))), n = vd_mul(e, vd_add(e, vd_set1(2.0)));
  return vd_div(vd_mul(x, n), vd_add(n, vd_set1(2.0)));
}
VEC_FN vf v_mish(vf x) {
  const vf c = vf_max(vf_set1(-120.0f), vf_min(vf_set1(20.0f), x));
  const vf y = vf_from_vd(v_mish_lanes(vd_from_vf_lo(c)), v_mish_lanes(vd_from_vf_hi(c)));
  return vf_select(vf_gt(x, vf_set1(20.0f)), x, y);
}
/* d mish/dx = (n·(n + 2) + 4·x·e·(1 + e))/(n + 2)² */
VEC_FN vd v_mish_grad_lanes(vd x) {
  const vd e = v_exp2_lanes(vd_mul(x, vd_set1(0x1.71547652b82fep0))), two = vd_set1(2.0);
  const vd n = vd_mul(e, vd_add(e, two)), d = vd_add(n, two), slope = vd_mul(vd_fma(e, e, e), vd_set1(4.0));
  return vd_div(vd_fma(slope, x, vd_mul(n, d)), vd_mul(d, d));
}
VEC_FN vf v_mish_grad(vf x) {
  const vf c = vf_max(vf_set1(-120.0f), vf_min(vf_set1(20.0f), x));
  return vf_from_vd(v_mish_grad_lanes(vd_from_vf_lo(c)), v_mish_grad_lanes(vd_from_vf_hi(c)));
}

#endif
