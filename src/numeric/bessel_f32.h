/* The modified Bessel functions I0 and I1 in binary32, as they are and times e^−|x|: in double and rounded once. As
 * math_f32.h, which includes this file and has the conventions.
 *
 * |x| < 8: polynomials in x²/4, all of whose terms are positive; beyond: e^|x|/√|x| times one in 1/|x|. */
#ifndef ISO__NUMERIC_BESSEL_F32_H
#define ISO__NUMERIC_BESSEL_F32_H

#include "vec.h"

/* I0 in h = x²/4 ≤ 16; error 2^-37.3 */
ISO__TABLE double v_i0_near[] = {
    0x1.000000000671cp+0,  0x1.fffffffeefc8dp-1,  0x1.000000076f576p-2,  0x1.c71c7123e326bp-6,  0x1.c71c790a8b92cp-10,
    0x1.2345365ed7919p-14, 0x1.02ea06747420cp-19, 0x1.5216f4b9d7d37p-25, 0x1.52c2e759c7227p-31, 0x1.07f989bbe74f1p-37,
    0x1.6d39d7902e99bp-44, 0x1.ff5f71023dde2p-52, 0x1.2772a5231d6f6p-57};
/* I1/(x/2), likewise; error 2^-41.2 */
ISO__TABLE double v_i1_near[] = {
    0x1.000000000071ep+0,  0x1.ffffffffda6cdp-2,  0x1.5555555762d1dp-4,  0x1.c71c719a0a9dap-8,  0x1.6c16c36d9ea2cp-12,
    0x1.845c6ee29cf36p-17, 0x1.27e5e7280a821p-22, 0x1.521f9655fef46p-28, 0x1.2cebd15e18924p-34, 0x1.a7f153e8d0e06p-41,
    0x1.059d9ed42fab6p-47, 0x1.6c51b5facbe09p-55, 0x1.5c96622601ebdp-61};
/* √x·e^−x·I0(x) in 1/x ≤ 1/8; error 2^-32.7 */
ISO__TABLE double v_i0_far[] = {0x1.9884533d19fffp-2,  0x1.988459b64836ap-5, 0x1.cb8ab74376b7cp-6,
                                0x1.e19e64ecaf8b8p-6,  0x1.3df0e2e309a8cp-5, 0x1.830707317accep-3,
                                -0x1.01283a492637cp-1, 0x1.9e2fbb2fca6cbp+0, 0x1.b9a6ad71afdc1p+3};
/* √x·e^−x·I1(x), likewise; error 2^-32.5 */
ISO__TABLE double v_i1_far[] = {0x1.9884533d6b4abp-2,  -0x1.32633ffcdf4adp-3, -0x1.7ef730acc4ba3p-5,
                                -0x1.507b6b7ea8c75p-5, -0x1.aa0120da8e318p-5, -0x1.96faaab278384p-3,
                                0x1.3d357a7c4b194p-2,  -0x1.142d71768a4f6p-1, -0x1.23284b6239293p+4};

/* 2^16 is kept from the exponent, since e^|x| passes 2^128 before the results do. */
VEC_FN vd v_exp_lanes(vd x) { return v_exp2_lanes(vd_mul(x, vd_set1(0x1.71547652b82fep0))); }
VEC_FN vd v_bessel_growth(vd a) {
  return vd_mul(v_exp2_lanes(vd_fma(a, vd_set1(0x1.71547652b82fep0), vd_set1(-16.0))), vd_set1(0x1p16));
}
VEC_FN vd v_bessel_lanes(vd a, const double *near_table, const double *far_table, bool odd, bool scaled) { /* a ≥ 0 */
  const vd one = vd_set1(1.0), half = vd_mul(vd_set1(0.5), a);
  const vd near = v_horner_lanes(near_table, 13, vd_mul(half, half)), n = odd ? vd_mul(half, near) : near;
  const vd far = vd_div(v_horner_lanes(far_table, 9, vd_div(one, a)), vd_sqrt(a));
  const vdm small = vd_lt(a, vd_set1(8.0));
  return scaled ? vd_select(small, vd_mul(n, v_exp_lanes(vd_sub(vd_set1(0.0), a))), far)
                : vd_select(small, n, vd_mul(far, v_bessel_growth(a)));
}
/* I(200) is beyond the range by far; scaled, any |x| has a value. */
#define V_BESSEL(name, near, far, odd, scaled)                                                                         \
  VEC_FN vf name(vf x) {                                                                                               \
    const vf a = vf_min(vf_set1(scaled ? FLT_MAX : 200.0f), vf_abs(x));                                                \
    const vf y = vf_from_vd(v_bessel_lanes(vd_from_vf_lo(a), near, far, odd, scaled),                                  \
                            v_bessel_lanes(vd_from_vf_hi(a), near, far, odd, scaled));                                 \
    const vf z = scaled ? vf_select(vf_eq(vf_abs(x), vf_set1(INFINITY)), vf_zero(), y) : y;                            \
    return odd ? vf_copysign(z, x) : z;                                                                                \
  }
V_BESSEL(v_i0, v_i0_near, v_i0_far, false, false)
V_BESSEL(v_i0e, v_i0_near, v_i0_far, false, true)
V_BESSEL(v_i1, v_i1_near, v_i1_far, true, false)
V_BESSEL(v_i1e, v_i1_near, v_i1_far, true, true)
#undef V_BESSEL

#endif
