/* sigmoid, tanh, silu, softplus and gelu's tanh form in binary32, with their derivatives; as math_f32.h, which includes
 * this file and has the conventions.
 *
 * All are functions of z = e^−|y| in [0, 1], and 1/(1 + z) is a cubic and one step of third order: no division, which
 * takes as long as all the rest, no test for overflow, and either sign of y meets the same instructions. What is odd or
 * even about each function puts the sign back: σ(−y) = 1 − σ(y), x·σ(x) = max(x, 0) − |x|·σ(−|x|), f′(−x) = 1 − f′(x)
 * for f(x) = x·σ(y(x)) with odd y. */
#ifndef ISO__NUMERIC_SIGMOID_F32_H
#define ISO__NUMERIC_SIGMOID_F32_H

#include "vec.h"

/* Adding these rounds to a whole n whose low bits, moved up, are the float 2^n and 2^(n + 64). The latter reaches below
 * the least subnormal: 2^−64 is multiplied in last, where it may round. */
#define V_ROUND_POWER (V_ROUND + 127)
#define V_ROUND_POWER_64 (V_ROUND + 191)
VEC_FN vf v_power(vf z) { return vf_from_bits(vi_sll(vf_bits(z), 23)); }
VEC_FN vf v_minus_abs(vf x) { return vf_from_bits(vi_or(vf_bits(x), vi_set1(INT32_MIN))); }

/* 2^64·e^b, −120 ≤ b ≤ 0 */
VEC_FN vf v_decay(vf b) {
  const vf z = vf_fma(b, vf_set1(V_LOG2E), vf_set1(V_ROUND_POWER_64)), n = vf_sub(z, vf_set1(V_ROUND_POWER_64));
  const vf r = vf_fnma(n, vf_set1(V_LN2_LO), vf_fnma(n, vf_set1(V_LN2_HI), b));
  return vf_mul(v_exp_near_1(r), v_power(z));
}
/* v_exp's bits for x ≤ 0: without the second factor that large x need. */
VEC_FN vf v_exp_below_0(vf x) { return vf_mul(v_decay(vf_max(vf_set1(-120.0f), x)), vf_set1(0x1p-64f)); }
/* 2^64·2^q, −180 ≤ q ≤ 0 */
VEC_FN vf v_decay2(vf q) {
  const vf z = vf_add(q, vf_set1(V_ROUND_POWER_64)), f = vf_sub(q, vf_sub(z, vf_set1(V_ROUND_POWER_64)));
  vf p = vf_set1(0x1.417308p-13f);
  p = vf_fma(p, f, vf_set1(0x1.5f0a96p-10f));
  p = vf_fma(p, f, vf_set1(0x1.3b2ddap-7f));
  p = vf_fma(p, f, vf_set1(0x1.c6af78p-5f));
  p = vf_fma(p, f, vf_set1(0x1.ebfbdcp-3f));
  p = vf_fma(p, f, vf_set1(0x1.62e43p-1f));
  return vf_mul(vf_fma(p, f, vf_set1(1.0f)), v_power(z));
}
/* 1/(1 + z), 0 ≤ z ≤ 1: r·(1 + e + e²), r a cubic to 2^−9.1, e = 1 − (1 + z)·r with 1 − r exact. */
VEC_FN vf v_inverse_1_plus(vf z) {
  vf r = vf_set1(-0x1.c6481p-3f);
  r = vf_fma(r, z, vf_set1(0x1.54b9ccp-1f));
  r = vf_fma(r, z, vf_set1(-0x1.e2b608p-1f));
  r = vf_fma(r, z, vf_set1(0x1.ff1cbcp-1f));
  const vf e = vf_fnma(z, r, vf_sub(vf_set1(1.0f), r));
  return vf_fma(r, vf_fma(e, e, e), r);
}

/* 1/(1 + z) for x ≥ 0, z/(1 + z) below */
VEC_FN vf v_sigmoid(vf x) {
  const vf z = v_exp_below_0(v_minus_abs(x)), r = v_inverse_1_plus(z);
  return vf_select(vf_lt(x, vf_zero()), vf_mul(z, r), r);
}

/* max(x, 0) + b·z/(1 + z), b ≤ 0, z64 = 2^64·z; −inf and −0 give −0. */
VEC_FN vf v_rectified(vf x, vf b, vf z64) {
  const vf r = v_inverse_1_plus(vf_mul(z64, vf_set1(0x1p-64f)));
  return vf_fma(vf_mul(vf_mul(b, z64), r), vf_set1(0x1p-64f), vf_max(vf_set1(-0.0f), x));
}
/* s − w·s·(1 − s), s = z/(1 + z), or 1 less that for x ≥ 0 */
VEC_FN vf v_rectified_grad(vf x, vf w, vf z64) {
  const vf z = vf_mul(z64, vf_set1(0x1p-64f)), r = v_inverse_1_plus(z);
  const vf g = vf_mul(vf_mul(z, r), vf_fnma(w, r, vf_set1(1.0f)));
  return vf_select(vf_lt(x, vf_zero()), g, vf_sub(vf_set1(1.0f), g));
}

/* x·σ(x) */
VEC_FN vf v_silu(vf x) {
  const vf b = vf_max(vf_set1(-120.0f), v_minus_abs(x));
  return v_rectified(x, b, v_decay(b));
}
VEC_FN vf v_silu_grad(vf x) {
  const vf b = vf_max(vf_set1(-120.0f), v_minus_abs(x));
  return v_rectified_grad(x, vf_neg(b), v_decay(b));
}

/* ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))) = x·σ(y), y = x·(c1 + c2·x²), c1 = 2·√(2/π), c2 = 0.044715·c1; the powers
 * of two take y·log2 e. */
VEC_FN vf v_gelu_tanh(vf x) {
  const vf b = vf_max(vf_set1(-11.0f), v_minus_abs(x));
  const vf slope = vf_fma(vf_set1(0x1.a5a7dp-4f), vf_mul(b, b), vf_set1(0x1.26aec2p+1f));
  return v_rectified(x, b, v_decay2(vf_mul(b, slope)));
}
VEC_FN vf v_gelu_tanh_grad(vf x) {
  const vf b = vf_max(vf_set1(-11.0f), v_minus_abs(x)), h = vf_mul(b, b);
  const vf q = vf_mul(b, vf_fma(vf_set1(0x1.a5a7dp-4f), h, vf_set1(0x1.26aec2p+1f)));
  const vf w = vf_mul(vf_neg(b), vf_fma(vf_set1(0x1.b6676cp-3f), h, vf_set1(0x1.988454p+0f))); /* |x|·y′ */
  return v_rectified_grad(x, w, v_decay2(q));
}

/* log(1 + e^x) = max(x, 0) + log1p(z), z = e^−|x| in [0, 1]. The derivative is v_sigmoid. */
VEC_FN vf v_softplus(vf x) {
  const vf z = v_exp_below_0(v_minus_abs(x));
  vf p = vf_set1(0x1.1146b4p-9f);
  p = vf_fma(p, z, vf_set1(-0x1.c0b55p-7f));
  p = vf_fma(p, z, vf_set1(0x1.5908b4p-5f));
  p = vf_fma(p, z, vf_set1(-0x1.54f666p-4f));
  p = vf_fma(p, z, vf_set1(0x1.ff2be4p-4f));
  p = vf_fma(p, z, vf_set1(-0x1.4a733cp-3f));
  p = vf_fma(p, z, vf_set1(0x1.978b6ep-3f));
  p = vf_fma(p, z, vf_set1(-0x1.ffc5ap-3f));
  p = vf_fma(p, z, vf_set1(0x1.5553b6p-2f));
  p = vf_fma(p, z, vf_set1(-0x1.fffff8p-2f));
  p = vf_fma(p, z, vf_set1(1.0f));
  return vf_fma(z, p, vf_max(vf_zero(), x));
}

/* tanh|x| = m/(2 − m), m = 1 − e^−2|x| = (1 − 2^n) − 2^n·s, where s = e^2r − 1 = r·p(r), r = −|x| − n·ln2/2 and 1
 * − 2^n is exact: m keeps its relative precision down to 0. Exactly 1 from about 9.01 on. */
VEC_FN vf v_tanh(vf x) {
  const vf b = vf_max(vf_set1(-10.0f), v_minus_abs(x)), one = vf_set1(1.0f);
  const vf z = vf_fma(b, vf_set1(2 * V_LOG2E), vf_set1(V_ROUND_POWER)), n = vf_sub(z, vf_set1(V_ROUND_POWER));
  const vf r = vf_fnma(n, vf_set1(0x1.62e43p-2f), b);
  vf p = vf_set1(0x1.6b7138p-4f);
  p = vf_fma(p, r, vf_set1(0x1.1227a4p-2f));
  p = vf_fma(p, r, vf_set1(0x1.555718p-1f));
  p = vf_fma(p, r, vf_set1(0x1.5554bp+0f));
  p = vf_fma(p, r, vf_set1(0x1.fffffep+0f));
  p = vf_fma(p, r, vf_set1(2.0f));
  const vf scale = v_power(z), m = vf_fnma(scale, vf_mul(r, p), vf_sub(one, scale));
  vf d = vf_set1(0x1.c64a4p-3f); /* 1/(2 − m) to 2^−9.1, then 2^−18 */
  d = vf_fma(d, m, vf_set1(0x1.87eb2cp-16f));
  d = vf_fma(d, m, vf_set1(0x1.1bf14ep-2f));
  d = vf_fma(d, m, vf_set1(0x1.ff1cfap-2f));
  d = vf_fma(d, vf_fma(m, d, vf_fnma(vf_set1(2.0f), d, one)), d);
  const vf q = vf_mul(m, d), rest = vf_fma(m, q, vf_fnma(vf_set1(2.0f), q, m)); /* m − (2 − m)·q, both steps exact */
  const vf y = vf_fma(rest, d, q);
  return vf_from_bits(vi_or(vf_bits(y), vi_and(vf_bits(x), vi_set1(INT32_MIN))));
}

#endif
