/* log10, sinh, cosh and the inverse hyperbolic functions in binary32, and erfc; as math_f32.h, which includes this file
 * and has the conventions. */
#ifndef ISO__NUMERIC_HYPERBOLIC_F32_H
#define ISO__NUMERIC_HYPERBOLIC_F32_H

#include "vec.h"

/* k·log10(2) + log10(e)·(f + rest): both constants in two floats, the first product exact, f·log10(e) with its
 * rounding error; exact at powers of ten. */
VEC_FN vf v_log10(vf x) {
  const struct v_log_parts p = v_log_split(x);
  const vf log10e = vf_set1(0x1.bcb7b2p-2f);
  const vf high = vf_mul(p.k, vf_set1(0x1.344p-2f)), t = vf_mul(p.f, log10e), t_error = vf_fms(p.f, log10e, t);
  const vf sum = vf_add(high, t), error = vf_sub(t, vf_sub(sum, high));
  vf low = vf_fma(p.f, vf_set1(-0x1.5b235ep-27f), t_error);
  low = vf_fma(p.k, vf_set1(0x1.3509f8p-18f), vf_fma(v_log1p_rest(p.f), log10e, low));
  return v_log_special(x, vf_add(sum, vf_add(low, error)), vf_zero());
}

/* ---- sinh, cosh ---- */

/* e^|x|/2 in two floats and a quarter of its reciprocal, e^−|x|/2. */
struct v_cosh_parts {
  vf high, low, inverse;
};
VEC_FN struct v_cosh_parts v_cosh_split(vf a) {
  const vf one = vf_set1(1.0f);
  const struct v_exp_parts e = v_exp_split(vf_min(vf_set1(90.0f), a), vf_zero());
  const vf p = vf_add(one, e.s), p_low = vf_add(vf_sub(one, p), e.s), n = vf_sub(e.n, one), high = vf_scale2(p, n);
  return (struct v_cosh_parts){.high = high, .low = vf_scale2(p_low, n), .inverse = vf_div(vf_set1(0.25f), high)};
}
/* |x| < 1: x + x³·p(x²). */
VEC_FN vf v_sinh(vf x) {
  const vf a = vf_abs(x), h = vf_mul(x, x);
  vf p = vf_set1(0x1.76771ep-19f);
  p = vf_fma(p, h, vf_set1(0x1.a01c22p-13f));
  p = vf_fma(p, h, vf_set1(0x1.1110eap-7f));
  p = vf_fma(p, h, vf_set1(0x1.555556p-3f));
  const struct v_cosh_parts e = v_cosh_split(a);
  const vf large = vf_copysign(vf_add(e.high, vf_sub(e.low, e.inverse)), x);
  return vf_select(vf_lt(a, vf_set1(1.0f)), vf_fma(vf_mul(x, h), p, x), large);
}
VEC_FN vf v_cosh(vf x) {
  const struct v_cosh_parts e = v_cosh_split(vf_abs(x));
  return vf_add(e.high, vf_add(e.low, e.inverse));
}

/* ---- asinh, acosh, atanh: logarithms in double, rounded once ---- */

VEC_FN vd v_log_lanes(vd x) { return vd_mul(vd_set1(0x1.62e42fefa39efp-1), v_log2_lanes(x)); }

/* log(a + √(a² + 1)); below 2^−10 a − a³/6, which keeps tiny arguments' bits. */
VEC_FN vd v_asinh_lanes(vd a) { return v_log_lanes(vd_add(a, vd_sqrt(vd_fma(a, a, vd_set1(1.0))))); }
VEC_FN vf v_asinh(vf x) {
  const vf a = vf_abs(x);
  const vf l = vf_from_vd(v_asinh_lanes(vd_from_vf_lo(a)), v_asinh_lanes(vd_from_vf_hi(a)));
  const vf small = vf_fma(vf_mul(a, vf_mul(a, a)), vf_set1(-0x1.555556p-3f), a);
  const vf y = vf_select(vf_lt(a, vf_set1(0x1p-10f)), small, l);
  return vf_copysign(vf_select(vf_lt(a, vf_set1(INFINITY)), y, a), x);
}
/* log(x + √((x − 1)·(x + 1))) */
VEC_FN vd v_acosh_lanes(vd x) {
  return v_log_lanes(vd_add(x, vd_sqrt(vd_mul(vd_sub(x, vd_set1(1.0)), vd_add(x, vd_set1(1.0))))));
}
VEC_FN vf v_acosh(vf x) {
  const vf y = vf_from_vd(v_acosh_lanes(vd_from_vf_lo(x)), v_acosh_lanes(vd_from_vf_hi(x)));
  return vf_select(vf_lt(x, vf_set1(1.0f)), vf_set1(NAN), vf_select(vf_lt(x, vf_set1(INFINITY)), y, x));
}
/* ½·log((1 + a)/(1 − a)); below 2^−10 a + a³/3. */
VEC_FN vd v_atanh_lanes(vd a) {
  const vd one = vd_set1(1.0);
  return vd_mul(vd_set1(0.5), v_log_lanes(vd_div(vd_add(one, a), vd_sub(one, a))));
}
VEC_FN vf v_atanh(vf x) {
  const vf a = vf_abs(x), one = vf_set1(1.0f);
  const vf l = vf_from_vd(v_atanh_lanes(vd_from_vf_lo(a)), v_atanh_lanes(vd_from_vf_hi(a)));
  const vf small = vf_fma(vf_mul(a, vf_mul(a, a)), vf_set1(0x1.555556p-2f), a);
  const vf y = vf_select(vf_lt(a, vf_set1(0x1p-10f)), small, l);
  const vf end = vf_select(vf_eq(a, one), vf_set1(INFINITY), vf_set1(NAN));
  return vf_copysign(vf_select(vf_lt(a, one), y, end), x);
}

/* ---- erfc ---- */

/* e^(−a²)·g(u), u = (a − 3)/(a + 3), g a fit to e^(a²)·erfc(a); in double, where a² is exact, and rounded once. From 2
 * where x < 0. erfc(10.1) is below the least subnormal's half. */
VEC_FN vd v_erfc_lanes(vd x) {
  const vd a = vd_max(x, vd_sub(vd_set1(0.0), x));
  const vd u = vd_div(vd_sub(a, vd_set1(3.0)), vd_add(a, vd_set1(3.0)));
  vd g = vd_set1(-0x1.c143aa9dff94cp-18);
  g = vd_fma(g, u, vd_set1(-0x1.4058c73322721p-17));
  g = vd_fma(g, u, vd_set1(0x1.0c3dc8ebe562fp-14));
  g = vd_fma(g, u, vd_set1(0x1.6ae0e685b462cp-15));
  g = vd_fma(g, u, vd_set1(-0x1.392741ca26236p-11));
  g = vd_fma(g, u, vd_set1(0x1.735e126fcbd5fp-11));
  g = vd_fma(g, u, vd_set1(0x1.17c98b0a687b1p-8));
  g = vd_fma(g, u, vd_set1(-0x1.8fa5e98390e48p-6));
  g = vd_fma(g, u, vd_set1(0x1.258b116fa5a3p-4));
  g = vd_fma(g, u, vd_set1(-0x1.336ffb330bacap-3));
  g = vd_fma(g, u, vd_set1(0x1.f6ff20495f51ap-3));
  g = vd_fma(g, u, vd_set1(-0x1.4e102b9ebd493p-2));
  g = vd_fma(g, u, vd_set1(0x1.6e9827d225a2bp-3));
  const vd y = vd_mul(g, v_exp2_lanes(vd_mul(vd_mul(a, a), vd_set1(-0x1.71547652b82fep0))));
  return vd_select(vd_lt(x, vd_set1(0.0)), vd_sub(vd_set1(2.0), y), y);
}
VEC_FN vf v_erfc(vf x) {
  const vf a = vf_max(vf_set1(-10.1f), vf_min(vf_set1(10.1f), x));
  return vf_from_vd(v_erfc_lanes(vd_from_vf_lo(a)), v_erfc_lanes(vd_from_vf_hi(a)));
}

#endif
