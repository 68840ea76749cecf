/* The elementary functions in binary32, once, over vec.h: scalar, AVX2 and AVX-512 give the same bits.
 *
 * Every function is a fixed sequence of IEEE operations (no table, no estimate instruction, no libm beyond sqrt and
 * fma), so its bits are a promise: a changed constant is a new function. Bounds, special values and derivations are in
 * docs/numerics-math.md; tests/numeric/test_math.c asserts the bounds over all 2^32 inputs. Polynomials are weighted
 * minimax fits (Lawson's iteration in 140 bits) whose coefficients were rounded one by one, the others fitted again.
 *
 * Common conventions: a NaN gives NaN; NaNs pass clamps because vf_min and vf_max return their second operand then.
 * Rounding to an integer adds and subtracts 1.5·2^23 in one fma, whose low bits are that integer. */
#ifndef ISO__NUMERIC_MATH_F32_H
#define ISO__NUMERIC_MATH_F32_H

#include "unroll.h"
#include "vec.h"

#define V_ROUND 0x1.8p23f
#define V_LOG2E 0x1.715476p0f
#define V_LN2_HI 0x1.62e4p-1f /* 17 bits: n·V_LN2_HI is exact */
#define V_LN2_LO 0x1.7f7d1cp-20f

/* ---- exp and its kin ---- */

/* e^(x + low) = (1 + s)·2^n for |x| < 2^21 and a small low. t = x − n·ln2_hi is exact; s = t + (r²·q(r) − c) adds it
 * unrounded, which keeps exp below 0.9 ulp where 1 + (r + r²·q) would reach 1.01. */
struct v_exp_parts {
  vf s, n;
};
VEC_FN vf v_exp_rest(vf t, vf c) { /* e^(t − c) − 1 − t, |t| ≤ 0.35 */
  const vf r = vf_sub(t, c);
  vf q = vf_set1(0x1.9e244ap-13f);
  q = vf_fma(q, r, vf_set1(0x1.6d4f08p-10f));
  q = vf_fma(q, r, vf_set1(0x1.1112fcp-7f));
  q = vf_fma(q, r, vf_set1(0x1.5554e6p-5f));
  q = vf_fma(q, r, vf_set1(0x1.555554p-3f));
  q = vf_fma(q, r, vf_set1(0x1p-1f));
  return vf_fms(q, vf_mul(r, r), c);
}
VEC_FN struct v_exp_parts v_exp_split(vf x, vf low) {
  const vf n = vf_sub(vf_fma(x, vf_set1(V_LOG2E), vf_set1(V_ROUND)), vf_set1(V_ROUND));
  const vf t = vf_fnma(n, vf_set1(V_LN2_HI), x);
  const vf c = vf_fms(n, vf_set1(V_LN2_LO), low);
  return (struct v_exp_parts){.s = vf_add(t, v_exp_rest(t, c)), .n = n};
}

/* e^r, |r| ≤ 0.35: 1 + r + r²·q(r) by Horner's rule. */
VEC_FN vf v_exp_near_1(vf r) {
  vf q = vf_set1(0x1.6a51e2p-10f);
  q = vf_fma(q, r, vf_set1(0x1.12398cp-7f));
  q = vf_fma(q, r, vf_set1(0x1.5558acp-5f));
  q = vf_fma(q, r, vf_set1(0x1.555492p-3f));
  q = vf_fma(q, r, vf_set1(0x1.fffffcp-2f));
  q = vf_fma(q, r, vf_set1(1.0f));
  return vf_fma(q, r, vf_set1(1.0f));
}
VEC_FN vf v_exp(vf x) {
  x = vf_max(vf_set1(-104.0f), vf_min(vf_set1(89.0f), x));
  const vf n = vf_sub(vf_fma(x, vf_set1(V_LOG2E), vf_set1(V_ROUND)), vf_set1(V_ROUND));
  const vf r = vf_fnma(n, vf_set1(V_LN2_LO), vf_fnma(n, vf_set1(V_LN2_HI), x));
  return vf_scale2(v_exp_near_1(r), n);
}

/* v_exp's bits for x ≤ 0, in fewer operations: n is read off the sum that rounds it, and n + 64 is an exponent. */
VEC_FN vf v_exp_of_negative(vf x) {
  x = vf_max(vf_set1(-104.0f), x);
  const vf z = vf_fma(x, vf_set1(V_LOG2E), vf_set1(V_ROUND)), n = vf_sub(z, vf_set1(V_ROUND));
  const vf r = vf_fnma(n, vf_set1(V_LN2_LO), vf_fnma(n, vf_set1(V_LN2_HI), x));
  const vf scale = vf_from_bits(vi_sll(vi_add(vf_bits(z), vi_set1(64 + 127)), 23));
  return vf_mul(vf_mul(v_exp_near_1(r), scale), vf_set1(0x1p-64f));
}

/* 2^f − 1 = f·ln2 + f²·q(f), |f| ≤ 1/2, with ln2 in two floats; exact at 0. */
VEC_FN vf v_exp2_minus_1(vf f) {
  vf q = vf_set1(0x1.416f3ap-13f);
  q = vf_fma(q, f, vf_set1(0x1.5f0418p-10f));
  q = vf_fma(q, f, vf_set1(0x1.3b2ddcp-7f));
  q = vf_fma(q, f, vf_set1(0x1.c6af88p-5f));
  q = vf_fma(q, f, vf_set1(0x1.ebfbdcp-3f));
  q = vf_fma(q, f, vf_set1(-0x1.05c61p-29f));
  return vf_fma(f, vf_set1(0x1.62e43p-1f), vf_mul(f, q));
}
VEC_FN vf v_exp2(vf x) {
  x = vf_max(vf_set1(-151.0f), vf_min(vf_set1(129.0f), x));
  const vf n = vf_rint(x);
  return vf_scale2(vf_add(vf_set1(1.0f), v_exp2_minus_1(vf_sub(x, n))), n);
}

/* e^x − 1 = 2·((h·t + (h − ½)) + h·rest), h = 2^(n−1), the inner sum with its rounding error; halved so that n = 128
 * has a factor. Below 2^−26 the answer is x itself, sign of zero included. */
VEC_FN vf v_expm1(vf x) {
  const vf a = vf_max(vf_set1(-20.0f), vf_min(vf_set1(89.0f), x));
  const vf z = vf_fma(a, vf_set1(V_LOG2E), vf_set1(V_ROUND)), n = vf_sub(z, vf_set1(V_ROUND));
  const vf h = vf_from_bits(vi_add(vi_sll(vf_bits(z), 23), vi_set1(126 << 23)));
  const vf t = vf_fnma(n, vf_set1(V_LN2_HI), a);
  const vf rest = v_exp_rest(t, vf_mul(n, vf_set1(V_LN2_LO)));
  const vf b = vf_sub(h, vf_set1(0.5f)), u = vf_fma(h, t, b);
  const vf e = vf_fma(h, t, vf_sub(b, u));
  const vf y = vf_add(u, vf_fma(h, rest, e));
  return vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-26f)), x, vf_add(y, y));
}

/* ---- log and its kin ---- */

/* log(1 + f) − f = f²·(−½ + f·q(f)) for √½ − 1 ≤ f ≤ √2 − 1. */
VEC_FN vf v_log1p_rest(vf f) {
  vf q = vf_set1(-0x1.3888bcp-4f);
  q = vf_fma(q, f, vf_set1(0x1.0554f8p-3f));
  q = vf_fma(q, f, vf_set1(-0x1.0d8898p-3f));
  q = vf_fma(q, f, vf_set1(0x1.22da5p-3f));
  q = vf_fma(q, f, vf_set1(-0x1.547208p-3f));
  q = vf_fma(q, f, vf_set1(0x1.99a016p-3f));
  q = vf_fma(q, f, vf_set1(-0x1.000228p-2f));
  q = vf_fma(q, f, vf_set1(0x1.555554p-2f));
  q = vf_fma(q, f, vf_set1(-0x1p-1f));
  return vf_mul(vf_mul(f, f), q);
}
/* k·ln2 + (f + rest): the sum k·ln2_hi + f keeps its rounding error (|f| is smaller, or k = 0). */
VEC_FN vf v_log_join(vf k, vf f, vf rest) {
  const vf high = vf_mul(k, vf_set1(V_LN2_HI)), sum = vf_add(high, f);
  const vf error = vf_sub(f, vf_sub(sum, high));
  return vf_add(sum, vf_add(vf_fma(k, vf_set1(V_LN2_LO), rest), error));
}

/* x = 2^k·(1 + f), √½ ≤ 1 + f < √2, for finite x > 0, subnormals included. */
struct v_log_parts {
  vf k, f;
};
VEC_FN struct v_log_parts v_log_split(vf x) {
  const vm small = vf_lt(x, vf_set1(0x1p-126f));
  const vi bits = vf_bits(vf_select(small, vf_mul(x, vf_set1(0x1p24f)), x));
  const vi k = vi_sra(vi_sub(bits, vi_set1(0x3f3504f3)), 23);
  const vf m = vf_from_bits(vi_sub(bits, vi_sll(k, 23)));
  const vf lift = vf_select(small, vf_set1(24.0f), vf_zero());
  return (struct v_log_parts){.k = vf_sub(vf_from_vi(k), lift), .f = vf_sub(m, vf_set1(1.0f))};
}
/* The values where y would be wrong: −inf at zeros, NaN below, x itself (+inf or NaN) where it is not finite. */
VEC_FN vf v_log_special(vf x, vf y, vf zero_at) {
  y = vf_select(vf_lt(x, vf_set1(INFINITY)), y, x);
  y = vf_select(vf_eq(x, zero_at), vf_set1(-INFINITY), y);
  return vf_select(vf_lt(x, zero_at), vf_set1(NAN), y);
}

VEC_FN vf v_log(vf x) {
  const struct v_log_parts p = v_log_split(x);
  return v_log_special(x, v_log_join(p.k, p.f, v_log1p_rest(p.f)), vf_zero());
}

/* k + log2(e)·(f + rest), log2(e) in two floats, f·log2(e) with its rounding error; exact at powers of two. */
VEC_FN vf v_log2(vf x) {
  const struct v_log_parts p = v_log_split(x);
  const vf t = vf_mul(p.f, vf_set1(V_LOG2E)), t_error = vf_fms(p.f, vf_set1(V_LOG2E), t);
  const vf sum = vf_add(p.k, t), error = vf_sub(t, vf_sub(sum, p.k));
  vf low = vf_fma(p.f, vf_set1(0x1.4ae0cp-26f), t_error);
  low = vf_add(vf_fma(v_log1p_rest(p.f), vf_set1(V_LOG2E), low), error);
  return v_log_special(x, vf_add(sum, low), vf_zero());
}

/* 1 + x = 2^k·(1 + f) where f = 2^−k·x + (2^−k − 1) is rounded once. s4 = 4·2^−k is a normal number up to k = 128. */
VEC_FN vf v_log1p(vf x) {
  const vi k = vi_sra(vi_sub(vf_bits(vf_add(x, vf_set1(1.0f))), vi_set1(0x3f3504f3)), 23);
  const vf s4 = vf_from_bits(vi_sll(vi_sub(vi_set1(129), k), 23));
  const vf f = vf_fma(s4, vf_mul(x, vf_set1(0.25f)), vf_fma(s4, vf_set1(0.25f), vf_set1(-1.0f)));
  vf y = v_log_join(vf_from_vi(k), f, v_log1p_rest(f));
  y = vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-26f)), x, y);
  return v_log_special(x, y, vf_set1(-1.0f));
}

/* ---- erf ---- */

/* |x| < 0.92: x + x·p(x²). Above: 1 − 2^p(|x|), p a fit to log2(erfc), exactly 1 from about 3.92 on. */
VEC_FN vf v_erf(vf x) {
  const vf a = vf_min(vf_set1(4.0f), vf_abs(x)), h = vf_mul(x, x);
  vf p = vf_set1(0x1.5d6d2ap-14f);
  p = vf_fma(p, h, vf_set1(-0x1.aa51f4p-11f));
  p = vf_fma(p, h, vf_set1(0x1.54c5dcp-8f));
  p = vf_fma(p, h, vf_set1(-0x1.b80db4p-6f));
  p = vf_fma(p, h, vf_set1(0x1.ce2df2p-4f));
  p = vf_fma(p, h, vf_set1(-0x1.812742p-2f));
  p = vf_fma(p, h, vf_set1(0x1.06eba8p-3f));
  vf q = vf_set1(0x1.2bef1ap-12f);
  q = vf_fma(q, a, vf_set1(-0x1.21e0c2p-8f));
  q = vf_fma(q, a, vf_set1(0x1.07c084p-5f));
  q = vf_fma(q, a, vf_set1(-0x1.33a084p-3f));
  q = vf_fma(q, a, vf_set1(-0x1.d681a6p-1f));
  q = vf_fma(q, a, vf_set1(-0x1.a087a6p0f));
  q = vf_fma(q, a, vf_set1(-0x1.f68376p-13f));
  const vf z = vf_add(q, vf_set1(V_ROUND)), n = vf_sub(z, vf_set1(V_ROUND));
  const vf scale = vf_from_bits(vi_add(vi_sll(vf_bits(z), 23), vi_set1(127 << 23)));
  const vf s = v_exp2_minus_1(vf_sub(q, n));
  const vf large = vf_copysign(vf_fnma(scale, s, vf_sub(vf_set1(1.0f), scale)), x);
  return vf_select(vf_lt(a, vf_set1(0x1.d70a3ep-1f)), vf_fma(x, p, x), large);
}

/* ---- sqrt, quotients, sinpi, cospi ---- */

/* (th + tl)/(dh + dl): the quotient of the high parts less its excess; about half an ulp. A zero keeps its sign. */
VEC_FN vf v_quotient(vf th, vf tl, vf dh, vf dl) {
  const vf r = vf_div(vf_set1(1.0f), dh), q = vf_mul(th, r);
  const vf excess = vf_add(vf_fms(q, dh, th), vf_fms(q, dl, tl));
  return vf_fnma(excess, r, q);
}

/* 1/sqrt(x), both correctly rounded: −0 gives −inf. */
VEC_FN vf v_rsqrt(vf x) { return vf_div(vf_set1(1.0f), vf_sqrt(x)); }

/* x = 2·m + n/2 + r, all exact, |r| ≤ 1/4: sin(πr), cos(πr) and the quadrant n mod 4. */
struct v_quadrant {
  vf sine, cosine;
  vi n;
};
VEC_FN struct v_quadrant v_quadrant(vf x) {
  const vf y = vf_fnma(vf_set1(2.0f), vf_rint(vf_mul(vf_set1(0.5f), x)), x);
  const vf z = vf_fma(vf_set1(2.0f), y, vf_set1(V_ROUND));
  const vf r = vf_fnma(vf_set1(0.5f), vf_sub(z, vf_set1(V_ROUND)), y), h = vf_mul(r, r);
  vf s = vf_set1(0x1.44467ap-4f);
  s = vf_fma(s, h, vf_set1(-0x1.32adcp-1f));
  s = vf_fma(s, h, vf_set1(0x1.466b78p1f));
  s = vf_fma(s, h, vf_set1(-0x1.4abbcep2f));
  s = vf_fma(s, h, vf_set1(-0x1.777a5cp-24f));
  vf c = vf_set1(0x1.d46d9ap-3f);
  c = vf_fma(c, h, vf_set1(-0x1.55b132p0f));
  c = vf_fma(c, h, vf_set1(0x1.03c1aep2f));
  c = vf_fma(c, h, vf_set1(-0x1.3bd3ccp2f));
  return (struct v_quadrant){
      .sine = vf_fma(r, vf_set1(0x1.921fb6p1f), vf_mul(r, s)), .cosine = vf_fma(c, h, vf_set1(1.0f)), .n = vf_bits(z)};
}
/* `even` or `odd` by n mod 2, negated where bit 1 of `turn` is set. */
VEC_FN vf v_quadrant_pick(vf even, vf odd, vi n, vi turn) {
  const vm swap = vi_eq(vi_and(n, vi_set1(1)), vi_set1(1));
  const vi sign = vi_sll(vi_and(turn, vi_set1(2)), 30);
  return vf_from_bits(vi_xor(vf_bits(vf_select(swap, odd, even)), sign));
}
/* sin(πx): zeros at whole numbers carry x's sign. */
VEC_FN vf v_sinpi(vf x) {
  const struct v_quadrant q = v_quadrant(x);
  const vf y = v_quadrant_pick(q.sine, q.cosine, q.n, q.n);
  return vf_select(vf_eq(y, vf_zero()), vf_copysign(y, x), y);
}
/* cos(πx): zeros are +0. */
VEC_FN vf v_cospi(vf x) {
  const struct v_quadrant q = v_quadrant(x);
  return vf_add(v_quadrant_pick(q.cosine, q.sine, q.n, vi_add(q.n, vi_set1(1))), vf_zero());
}

/* ---- pow ---- */

/* c[0] + x·(c[1] + …); n is a constant where it is called. */
VEC_FN vd v_horner_lanes(const double *c, int n, vd x) {
  vd y = vd_set1(c[n - 1]);
  UNROLL_32
  for (int i = n - 2; i >= 0; i--) y = vd_fma(y, x, vd_set1(c[i]));
  return y;
}
#define V_HORNER(table, x) v_horner_lanes(table, (int)(sizeof table / sizeof *table), x)

/* x^y = 2^(y·log2 x) in double, rounded to float once: within 0.501 ulp. log2 x = k + s·p(s²), s = (m − 1)/(m + 1),
 * to 2^−52 and 2^f by a polynomial to 2^−45, so that an exponent of ±150 costs no more than 2^−43. */
VEC_FN vd v_log2_lanes(vd x) {                                       /* finite x > 0 */
  const vl offset = vl_sub(vd_bits(x), vl_set1(0x3fe6a09e667f3bcd)); /* m in [√½, √2) */
  const vl k_field = vl_srl(vl_add(offset, vl_set1(INT64_C(1023) << 52)), 52);
  const vd m = vd_from_bits(vl_sub(vd_bits(x), vl_and(offset, vl_set1(-(INT64_C(1) << 52)))));
  const vd k = vd_sub(vd_from_bits(vl_or(k_field, vl_set1(0x4330000000000000))), vd_set1(0x1p52 + 1023));
  const vd s = vd_div(vd_sub(m, vd_set1(1.0)), vd_add(m, vd_set1(1.0))), h = vd_mul(s, s);
  vd p = vd_set1(0x1.f170b8b30c51ap-3);
  p = vd_fma(p, h, vd_set1(0x1.0bb8b8b97d3ffp-2));
  p = vd_fma(p, h, vd_set1(0x1.484fa2addc17p-2));
  p = vd_fma(p, h, vd_set1(0x1.a61756a2f6cc3p-2));
  p = vd_fma(p, h, vd_set1(0x1.2776c51677a46p-1));
  p = vd_fma(p, h, vd_set1(0x1.ec709dc39ccecp-1));
  p = vd_fma(p, h, vd_set1(0x1.71547652b82ffp+1));
  return vd_fma(s, p, k);
}
VEC_FN vd v_exp2_lanes(vd x) { /* 2^x, clamped to ±150 and more */
  const vd w = vd_max(vd_set1(-160.0), vd_min(vd_set1(130.0), x));
  const vd z = vd_add(w, vd_set1(0x1.8p52)), f = vd_sub(w, vd_sub(z, vd_set1(0x1.8p52)));
  vd e = vd_set1(0x1.b68aea20b468fp-24);
  e = vd_fma(e, f, vd_set1(0x1.63e8093829bf4p-20));
  e = vd_fma(e, f, vd_set1(0x1.ffcb3d2b81d5dp-17));
  e = vd_fma(e, f, vd_set1(0x1.43089690ef95p-13));
  e = vd_fma(e, f, vd_set1(0x1.5d87fea57635ep-10));
  e = vd_fma(e, f, vd_set1(0x1.3b2ab724ddcccp-7));
  e = vd_fma(e, f, vd_set1(0x1.c6b08d70390a1p-5));
  e = vd_fma(e, f, vd_set1(0x1.ebfbdff81b5c1p-3));
  e = vd_fma(e, f, vd_set1(0x1.62e42fefa3a26p-1));
  e = vd_fma(e, f, vd_set1(1.0));
  return vd_from_bits(vl_add(vd_bits(e), vl_sll(vd_bits(z), 52)));
}
VEC_FN vd v_pow_magnitude(vd x, vd y) { /* x ≥ 0 */
  vd l = v_log2_lanes(x);
  l = vd_select(vd_eq(x, vd_set1(0.0)), vd_set1((double)-INFINITY), l);
  l = vd_select(vd_eq(x, vd_set1((double)INFINITY)), x, l);
  return v_exp2_lanes(vd_mul(y, l));
}

/* Special values as C's annex F has them: x^±0 = 1 and 1^y = 1 whatever the other, NaN included; (−1)^±inf = 1;
 * x < 0, finite: NaN unless y is whole, negative where y is odd; (±0)^y, y < 0: ±inf for odd y, else +inf; (±0)^y,
 * y > 0: ±0 for odd y, else +0; (−inf)^y like (−0)^−y; |x| < 1: x^−inf = inf, x^inf = +0; |x| > 1 the reverse. */
VEC_FN vf v_pow(vf x, vf y) {
  const vf a = vf_abs(x), half = vf_mul(y, vf_set1(0.5f)), one = vf_set1(1.0f);
  const vd low = v_pow_magnitude(vd_from_vf_lo(a), vd_from_vf_lo(y));
  const vd high = v_pow_magnitude(vd_from_vf_hi(a), vd_from_vf_hi(y));
  vf p = vf_from_vd(low, high);
  p = vf_select(vm_and(vf_eq(a, one), vf_eq(y, y)), one, p);
  const vm whole = vf_eq(vf_rint(y), y), odd = vm_and(whole, vm_not(vf_eq(vf_rint(half), half)));
  const vi sign = vi_and(vf_bits(x), vi_set1(INT32_MIN));
  p = vf_select(odd, vf_from_bits(vi_or(vf_bits(p), sign)), p);
  const vm below = vm_and(vf_lt(x, vf_zero()), vf_gt(x, vf_set1(-INFINITY)));
  p = vf_select(vm_and(below, vm_not(whole)), vf_set1(NAN), p);
  p = vf_select(vf_unordered(x, y), vf_set1(NAN), p); /* the integer steps above read a NaN as a number */
  return vf_select(vm_or(vf_eq(x, one), vf_eq(y, vf_zero())), one, p);
}

#include "sigmoid_f32.h"
#include "gelu_f32.h"
#include "trig_f32.h"
#include "hyperbolic_f32.h"
#include "activation_f32.h"
#include "gamma_f32.h"
#include "quantile_f32.h"
#include "bessel_f32.h"
#include "remainder_f32.h"

#endif
