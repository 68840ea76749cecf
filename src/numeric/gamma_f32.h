/* log Γ, ψ = (log Γ)′ and ψ′ in binary32: in double and rounded once. As math_f32.h, which includes this file and has
 * the conventions.
 *
 * log Γ: (y − 1)·(y − 2)·R(y) for 1 ≤ y < 5/2, where the zeros are exact, y = x + 1 less log x below 3/2; Stirling's
 * series with a fitted remainder beyond. ψ and ψ′ add six terms of their recurrence, whatever x, and take their own
 * series. Negative arguments are reflected. */
#ifndef ISO__NUMERIC_GAMMA_F32_H
#define ISO__NUMERIC_GAMMA_F32_H

#include "vec.h"

/* log Γ(y)/((y − 1)·(y − 2)) in y − 7/4, 1 ≤ y ≤ 5/2; error 2^-35 */
ISO__TABLE double v_gamma_near[] = {0x1.ccf151e09cde8p-2,   -0x1.e965863e7d073p-4,  0x1.6cb625264662bp-5,
                                    -0x1.382e08f74a1a9p-6,  0x1.1f9578472783ep-7,   -0x1.14fc10ab09faap-8,
                                    0x1.12af1b71bbcf1p-9,   -0x1.1576cebf23a2cp-10, 0x1.1d14295a22b82p-11,
                                    -0x1.32509df03500ap-12, 0x1.419fa77d708d5p-13,  -0x1.eda2becc53d27p-15,
                                    0x1.04a05fce9d8b2p-15,  -0x1.679f1ec941260p-15, 0x1.83c23c3a820a8p-16};
/* x·(log Γ(x) − (x − ½)·log x + x − log √2π) in 1/x², x ≥ 5/2; error 2^-32.7 of a small part */
ISO__TABLE double v_gamma_far[] = {0x1.555555547fc02p-4,   -0x1.6c16922879152p-9, 0x1.9fe22a778d534p-11,
                                   -0x1.31cc67e5ed152p-11, 0x1.6158959fedc52p-11, -0x1.470937114bc43p-11};
/* x²·(log x − 1/(2x) − ψ(x)) in 1/x², x ≥ 6; error 2^-47.6 */
ISO__TABLE double v_digamma_far[] = {0x1.5555555555539p-4,  -0x1.1111111050bc0p-7, 0x1.04103d9afd066p-8,
                                     -0x1.110e237426d24p-8, 0x1.ef457426890f3p-8,  -0x1.48a090ee1cc81p-6,
                                     0x1.b06730170eba5p-5};
/* x³·(ψ′(x) − 1/x − 1/(2x²)) in 1/x², x ≥ 6; error 2^-44.7 */
ISO__TABLE double v_trigamma_far[] = {0x1.5555555555485p-3,  -0x1.1111110e40986p-5, 0x1.861854bc32079p-6,
                                      -0x1.110b90aefaaaep-5, 0x1.3528a5dec8705p-4,  -0x1.e62db94b0b393p-3,
                                      0x1.644bdfc9e87a7p-1};
/* sin(πr)/r in r², |r| ≤ ½; error 2^-43.5 */
ISO__TABLE double v_sinpi_half[] = {0x1.921fb54442bb4p+1,  -0x1.4abbce624ad99p+2, 0x1.466bc66ed3d1cp+1,
                                    -0x1.32d2c9b2d1df5p-1, 0x1.50770f6a5a66bp-4,  -0x1.e29b82ab98ea9p-8,
                                    0x1.d53abdeb199c1p-12};

VEC_FN vd v_round_lanes(vd x) { return vd_sub(vd_add(x, vd_set1(0x1.8p52)), vd_set1(0x1.8p52)); } /* |x| < 2^51 */

/* ---- log Γ ---- */

VEC_FN vd v_lgamma_lanes(vd x) { /* finite x > 0 */
  const vdm low = vd_lt(x, vd_set1(1.5));
  const vd one = vd_set1(1.0), l = v_log_lanes(x), y = vd_select(low, vd_add(x, one), x);
  const vd zeros = vd_mul(vd_sub(x, one), vd_select(low, x, vd_sub(x, vd_set1(2.0))));
  const vd t = vd_sub(y, vd_set1(1.75));
  const vd near = vd_sub(vd_mul(zeros, V_HORNER(v_gamma_near, t)), vd_select(low, l, vd_set1(0.0)));
  const vd r = vd_div(one, x), rest = vd_fma(r, V_HORNER(v_gamma_far, vd_mul(r, r)), vd_set1(0x1.d67f1c864beb5p-1));
  const vd far = vd_add(vd_fma(vd_sub(x, vd_set1(0.5)), l, vd_sub(vd_set1(0.0), x)), rest);
  return vd_select(vd_lt(x, vd_set1(2.5)), near, far);
}
/* log(π/(a·|sin πa|)) − log Γ(a) for x = −a */
VEC_FN vd v_lgamma_reflected(vd a) {
  const vd r = vd_sub(a, v_round_lanes(a)), s = vd_mul(vd_mul(r, V_HORNER(v_sinpi_half, vd_mul(r, r))), a);
  const vd size = vd_max(s, vd_sub(vd_set1(0.0), s));
  return vd_sub(v_log_lanes(vd_div(vd_set1(0x1.921fb54442d18p1), size)), v_lgamma_lanes(a));
}
/* log |Γ(x)|: +inf at 0, −1, −2 … and at both infinities. */
VEC_FN vf v_lgamma(vf x) {
  const vf a = vf_abs(x), infinity = vf_set1(INFINITY);
  const vm negative = vf_lt(x, vf_zero()), pole = vm_and(vf_le(x, vf_zero()), vf_eq(vf_rint(x), x));
  vf y = vf_from_vd(v_lgamma_lanes(vd_from_vf_lo(a)), v_lgamma_lanes(vd_from_vf_hi(a)));
  if (vm_any(negative)) {
    const vf z = vf_from_vd(v_lgamma_reflected(vd_from_vf_lo(a)), v_lgamma_reflected(vd_from_vf_hi(a)));
    y = vf_select(negative, z, y);
  }
  y = vf_select(vm_or(pole, vf_eq(a, infinity)), infinity, y);
  return vf_select(vf_isnan(x), x, y);
}

/* ---- ψ, ψ′ ---- */

/* Γ's recurrence as a product p = x·(x + 1)·…·(x + 5) and its derivatives over p: p′/p and p″/p. */
struct v_six_terms {
  vd first, second;
};
VEC_FN struct v_six_terms v_six_terms(vd x) {
  vd p = x, d = vd_set1(1.0), e = vd_set1(0.0);
  for (int i = 1; i < 6; i++) {
    const vd f = vd_add(x, vd_set1((double)i));
    e = vd_fma(e, f, vd_add(d, d));
    d = vd_fma(d, f, p);
    p = vd_mul(p, f);
  }
  return (struct v_six_terms){.first = vd_div(d, p), .second = vd_div(e, p)};
}
VEC_FN vd v_digamma_lanes(vd x) { /* finite x > 0 */
  const vd y = vd_add(x, vd_set1(6.0)), r = vd_div(vd_set1(1.0), y), h = vd_mul(r, r);
  const vd far = vd_fnma(h, V_HORNER(v_digamma_far, h), vd_fnma(vd_set1(0.5), r, v_log_lanes(y)));
  return vd_sub(far, v_six_terms(x).first);
}
VEC_FN vd v_trigamma_lanes(vd x) { /* finite x > 0 */
  const vd y = vd_add(x, vd_set1(6.0)), r = vd_div(vd_set1(1.0), y), h = vd_mul(r, r);
  const vd far = vd_fma(vd_mul(r, h), V_HORNER(v_trigamma_far, h), vd_fma(vd_set1(0.5), h, r));
  const struct v_six_terms t = v_six_terms(x);
  return vd_add(far, vd_sub(vd_mul(t.first, t.first), t.second));
}
/* sin(πr) and cos(πr) of r = a − rint(a), the cosine as the sine of ½ − |r|. */
struct v_half_turn {
  vd sine, cosine;
};
VEC_FN struct v_half_turn v_half_turn(vd a) {
  const vd r = vd_sub(a, v_round_lanes(a)), q = vd_sub(vd_set1(0.5), vd_max(r, vd_sub(vd_set1(0.0), r)));
  return (struct v_half_turn){.sine = vd_mul(r, V_HORNER(v_sinpi_half, vd_mul(r, r))),
                              .cosine = vd_mul(q, V_HORNER(v_sinpi_half, vd_mul(q, q)))};
}
/* ψ(1 + a) + π·cot(πa) and π²/sin²(πa) − ψ′(1 + a) for x = −a */
VEC_FN vd v_digamma_reflected(vd a) {
  const struct v_half_turn t = v_half_turn(a);
  const vd cot = vd_div(t.cosine, t.sine);
  return vd_fma(vd_set1(0x1.921fb54442d18p1), cot, v_digamma_lanes(vd_add(a, vd_set1(1.0))));
}
VEC_FN vd v_trigamma_reflected(vd a) {
  const vd q = vd_div(vd_set1(0x1.921fb54442d18p1), v_half_turn(a).sine);
  return vd_sub(vd_mul(q, q), v_trigamma_lanes(vd_add(a, vd_set1(1.0))));
}
/* ±0 give ∓inf, −1, −2 … and −inf NaN. */
VEC_FN vf v_digamma(vf x) {
  const vf a = vf_abs(x), infinity = vf_set1(INFINITY);
  const vm negative = vf_lt(x, vf_zero());
  vf y = vf_from_vd(v_digamma_lanes(vd_from_vf_lo(a)), v_digamma_lanes(vd_from_vf_hi(a)));
  if (vm_any(negative)) {
    const vf z = vf_from_vd(v_digamma_reflected(vd_from_vf_lo(a)), v_digamma_reflected(vd_from_vf_hi(a)));
    y = vf_select(negative, vf_select(vf_eq(vf_rint(x), x), vf_set1(NAN), z), y);
  }
  y = vf_select(vf_eq(x, vf_zero()), vf_neg(vf_copysign(infinity, x)), y);
  return vf_select(vf_lt(x, infinity), y, x); /* +inf, NaN */
}
/* +inf at 0, −1, −2 … and −inf, +0 at +inf. */
VEC_FN vf v_trigamma(vf x) {
  const vf a = vf_abs(x), infinity = vf_set1(INFINITY);
  const vm negative = vf_lt(x, vf_zero()), pole = vm_and(vf_le(x, vf_zero()), vf_eq(vf_rint(x), x));
  vf y = vf_from_vd(v_trigamma_lanes(vd_from_vf_lo(a)), v_trigamma_lanes(vd_from_vf_hi(a)));
  if (vm_any(negative)) {
    const vf z = vf_from_vd(v_trigamma_reflected(vd_from_vf_lo(a)), v_trigamma_reflected(vd_from_vf_hi(a)));
    y = vf_select(negative, z, y);
  }
  y = vf_select(pole, infinity, vf_select(vf_eq(x, infinity), vf_zero(), y));
  return vf_select(vf_isnan(x), x, y);
}

#endif
