/* sin, cos, tan and their inverses in binary32, as math_f32.h, which includes this file and has the conventions.
 *
 * Arguments up to 2^16 are reduced as Cody and Waite do, by π/2 in three floats, of which fma takes the first exactly.
 * Larger ones take the whole of 2/π they need, as Payne and Hanek do, lane by lane in integers: rare, and the same bits
 * at every width because a lane's argument alone decides which way it goes. */
#ifndef ISO__NUMERIC_TRIG_F32_H
#define ISO__NUMERIC_TRIG_F32_H

#include "vec.h"

#define V_PI_2 0x1.921fb6p0f
#define V_PI_2_LOW -0x1.777a5cp-25f
#define V_TURN_LIMIT 0x1p16f

/* ---- reduction ---- */

/* x = n·π/2 + r + low for finite x ≥ 2^16: m·2^(e−23)·(2/π) modulo 4, m the significand. Bits of 2/π above weight
 * 2^(25−e) count whole turns only; of the next 96 the product's upper 64 keep r to 2^−31 of itself. */
static __attribute__((noinline, unused)) ISO__HD void v_turn_large(float x, float *r, float *low, int32_t *n) {
  static const uint32_t two_over_pi[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                         0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t m = (bits & 0x7fffff) | 0x800000;
  const unsigned skip = (bits >> 23 & 0xff) - 127 - 25 + 32, shift = skip % 32; /* the table begins with 32 zeros */
  const uint32_t *word = two_over_pi + skip / 32;
  const uint64_t first = (uint64_t)word[0] << 32 | word[1], second = (uint64_t)word[2] << 32 | word[3];
  const uint64_t high = shift ? first << shift | second >> (64 - shift) : first, rest = second << shift >> 32;
  const uint64_t product = m * high + (m * rest >> 32); /* in quarter turns, 62 bits after the point */
  const uint64_t quarter = (product + (UINT64_C(1) << 61)) >> 62;
  const double angle = (double)(int64_t)(product - (quarter << 62)) * 0x1.921fb54442d18p-62;
  *r = (float)angle, *low = (float)(angle - (double)*r), *n = (int32_t)quarter;
}

/* a = n·π/2 + r + low, |r| ≤ 0.792; a ≥ 0. n·V_PI_2 in three parts, each below the last: the first difference is
 * exact. Infinity gives NaN. */
struct v_turn {
  vf r, low;
  vi n;
};
VEC_FN struct v_turn v_turn(vf a) {
  const vf z = vf_fma(a, vf_set1(0x1.45f306p-1f), vf_set1(V_ROUND)), n = vf_sub(z, vf_set1(V_ROUND));
  const vf t = vf_fnma(n, vf_set1(0x1.921fb4p0f), a), c = vf_set1(0x1.4442dp-24f);
  const vf w = vf_mul(n, c), w_error = vf_fms(n, c, w), r = vf_sub(t, w), back = vf_add(r, w);
  const vf error = vf_sub(vf_sub(t, back), vf_sub(w, vf_sub(back, r)));
  const vf low = vf_fnma(n, vf_set1(0x1.84698ap-48f), vf_sub(error, w_error));
  struct v_turn turn = {.r = r, .low = low, .n = vf_bits(z)};
  if (vm_any(vf_ge(a, vf_set1(V_TURN_LIMIT)))) {
    float lanes[VF_LANES], high[VF_LANES], rest[VF_LANES];
    int32_t quarters[VF_LANES];
    vf_store(lanes, a), vf_store(high, r), vf_store(rest, low), vi_store(quarters, turn.n);
    for (int i = 0; i < VF_LANES; i++) {
      if (lanes[i] == INFINITY) high[i] = NAN;
      else if (lanes[i] >= V_TURN_LIMIT) v_turn_large(lanes[i], &high[i], &rest[i], &quarters[i]);
    }
    turn = (struct v_turn){.r = vf_load(high), .low = vf_load(rest), .n = vi_load(quarters)};
  }
  return turn;
}

/* ---- sin, cos, tan ---- */

/* sin(r + low) − r and cos(r + low) − w, w = 1 − r²/2 rounded. */
VEC_FN vf v_sine_rest(struct v_turn t) {
  const vf h = vf_mul(t.r, t.r);
  vf s = vf_set1(-0x1.991ad2p-13f);
  s = vf_fma(s, h, vf_set1(0x1.1106c4p-7f));
  s = vf_fma(s, h, vf_set1(-0x1.555544p-3f));
  return vf_fma(vf_mul(t.r, h), s, t.low);
}
VEC_FN vf v_cosine_rest(struct v_turn t, vf *w) {
  const vf h = vf_mul(t.r, t.r), half = vf_set1(0.5f), one = vf_set1(1.0f);
  *w = vf_fnma(half, h, one);
  vf c = vf_set1(0x1.99dc72p-16f);
  c = vf_fma(c, h, vf_set1(-0x1.6c0c1p-10f));
  c = vf_fma(c, h, vf_set1(0x1.55554ap-5f));
  const vf error = vf_fnma(half, h, vf_sub(one, *w));
  return vf_fma(vf_mul(h, h), c, vf_fnma(t.r, t.low, error));
}
/* sin(turn) and cos(turn), by n. */
VEC_FN vf v_turn_pick(struct v_turn t, vf *other) {
  vf w;
  const vf sine = vf_add(t.r, v_sine_rest(t)), rest = v_cosine_rest(t, &w), cosine = vf_add(w, rest);
  const vm swap = vi_eq(vi_and(t.n, vi_set1(1)), vi_set1(1));
  *other = vf_select(swap, sine, cosine);
  return vf_select(swap, cosine, sine);
}
VEC_FN vf v_flip(vf x, vi n) { /* −x where bit 1 of n is set */
  return vf_from_bits(vi_xor(vf_bits(x), vi_sll(vi_and(n, vi_set1(2)), 30)));
}
VEC_FN vf v_sin(vf x) {
  const struct v_turn t = v_turn(vf_abs(x));
  vf other;
  const vf y = v_flip(v_turn_pick(t, &other), t.n);
  return vf_from_bits(vi_xor(vf_bits(y), vi_and(vf_bits(x), vi_set1(INT32_MIN))));
}
VEC_FN vf v_cos(vf x) {
  const struct v_turn t = v_turn(vf_abs(x));
  vf y;
  v_turn_pick(t, &y);
  return v_flip(y, vi_add(t.n, vi_set1(1)));
}
/* sin/cos, or −cos/sin in odd quarters, both in two floats. */
VEC_FN vf v_tan(vf x) {
  const struct v_turn t = v_turn(vf_abs(x));
  vf w;
  const vf s = v_sine_rest(t), sh = vf_add(t.r, s), sl = vf_add(vf_sub(t.r, sh), s);
  const vf c = v_cosine_rest(t, &w), ch = vf_add(w, c), cl = vf_add(vf_sub(w, ch), c);
  const vm odd = vi_eq(vi_and(t.n, vi_set1(1)), vi_set1(1));
  const vf y = v_quotient(vf_select(odd, vf_neg(ch), sh), vf_select(odd, vf_neg(cl), sl), vf_select(odd, sh, ch),
                          vf_select(odd, sl, cl));
  return vf_from_bits(vi_xor(vf_bits(y), vi_and(vf_bits(x), vi_set1(INT32_MIN))));
}

/* ---- asin, acos ---- */

/* asin(s) − s for 0 ≤ s ≤ 1/2, z = s² */
VEC_FN vf v_asin_rest(vf s, vf z) {
  vf p = vf_set1(0x1.33d432p-5f);
  p = vf_fma(p, z, vf_set1(0x1.d7924cp-7f));
  p = vf_fma(p, z, vf_set1(0x1.04af34p-5f));
  p = vf_fma(p, z, vf_set1(0x1.6caab6p-5f));
  p = vf_fma(p, z, vf_set1(0x1.33389ep-4f));
  p = vf_fma(p, z, vf_set1(0x1.55554cp-3f));
  return vf_mul(vf_mul(s, z), p);
}
/* |x| ≤ 1/2: asin(x) itself. Beyond: π/2 − 2·asin(s), s = √((1 − |x|)/2). |x| > 1 gives NaN. */
struct v_asin_parts {
  vm large;
  vf s, rest;
};
VEC_FN struct v_asin_parts v_asin_split(vf a) {
  const vm large = vf_gt(a, vf_set1(0.5f));
  const vf z = vf_select(large, vf_fnma(vf_set1(0.5f), a, vf_set1(0.5f)), vf_mul(a, a));
  const vf s = vf_select(large, vf_sqrt(z), a);
  return (struct v_asin_parts){.large = large, .s = s, .rest = v_asin_rest(s, z)};
}
VEC_FN vf v_asin(vf x) {
  const struct v_asin_parts p = v_asin_split(vf_abs(x));
  const vf d = vf_fnma(vf_set1(2.0f), p.s, vf_set1(V_PI_2)),
           error = vf_fnma(vf_set1(2.0f), p.s, vf_sub(vf_set1(V_PI_2), d));
  const vf beyond = vf_add(d, vf_add(vf_fnma(vf_set1(2.0f), p.rest, vf_set1(V_PI_2_LOW)), error));
  return vf_copysign(vf_select(p.large, beyond, vf_add(p.s, p.rest)), x);
}
/* π/2 − asin(x); beyond 1/2: 2·asin(s), from π for x < 0. */
VEC_FN vf v_acos(vf x) {
  const struct v_asin_parts p = v_asin_split(vf_abs(x));
  const vm negative = vf_lt(x, vf_zero());
  const vf s = vf_copysign(p.s, x), rest = vf_copysign(p.rest, x);
  const vf whole = vf_select(p.large, vf_select(negative, vf_set1(2 * V_PI_2), vf_zero()), vf_set1(V_PI_2));
  const vf whole_low = vf_select(p.large, vf_select(negative, vf_set1(2 * V_PI_2_LOW), vf_zero()), vf_set1(V_PI_2_LOW));
  const vf factor = vf_select(p.large, vf_set1(2.0f), vf_set1(-1.0f));
  const vf y = vf_fma(factor, s, whole), error = vf_fma(factor, s, vf_sub(whole, y));
  return vf_add(y, vf_add(vf_fma(factor, rest, whole_low), error));
}

/* ---- atan, atan2 ---- */

/* |x| ≤ 1: q = |x|; beyond: π/2 + atan(q), q = −1/|x|. */
VEC_FN vf v_atan(vf x) {
  const vf a = vf_abs(x), one = vf_set1(1.0f);
  const vm large = vf_gt(a, one);
  const vf q = vf_select(large, vf_div(vf_set1(-1.0f), a), a), h = vf_mul(q, q);
  vf p = vf_set1(-0x1.d5a1aap-10f);
  p = vf_fma(p, h, vf_set1(0x1.6551e2p-7f));
  p = vf_fma(p, h, vf_set1(-0x1.fe7d24p-6f));
  p = vf_fma(p, h, vf_set1(0x1.da9c2ep-5f));
  p = vf_fma(p, h, vf_set1(-0x1.5825f2p-4f));
  p = vf_fma(p, h, vf_set1(0x1.c0946cp-4f));
  p = vf_fma(p, h, vf_set1(-0x1.24211ap-3f));
  p = vf_fma(p, h, vf_set1(0x1.9991ecp-3f));
  p = vf_fma(p, h, vf_set1(-0x1.55553ep-2f));
  const vf base = vf_select(large, vf_set1(V_PI_2), vf_zero()),
           base_low = vf_select(large, vf_set1(V_PI_2_LOW), vf_zero());
  const vf y = vf_add(base, q), error = vf_sub(q, vf_sub(y, base));
  return vf_copysign(vf_add(y, vf_add(vf_fma(vf_mul(q, h), p, base_low), error)), x);
}

/* In double, where no quotient of floats leaves the range, and rounded once: 0.501 ulp. `left` tells x's sign. */
VEC_FN vd v_atan2_lanes(vd y, vd x, vd left) { /* y, x ≥ 0 */
  const vdm steep = vd_gt(y, x);
  const vd n = vd_select(steep, x, y), d = vd_select(steep, y, x);
  vd q = vd_select(vd_eq(n, d), vd_set1(1.0), vd_div(n, d)); /* inf/inf */
  q = vd_select(vd_eq(n, vd_set1(0.0)), n, q);               /* 0/0 */
  const vd h = vd_mul(q, q);
  vd p = vd_set1(-0x1.20d4776849825p-12);
  p = vd_fma(p, h, vd_set1(0x1.230fc3784cfc6p-9));
  p = vd_fma(p, h, vd_set1(-0x1.138d3614e5cf7p-7));
  p = vd_fma(p, h, vd_set1(0x1.4b45e6499e6c5p-6));
  p = vd_fma(p, h, vd_set1(-0x1.236c97e28e86p-5));
  p = vd_fma(p, h, vd_set1(0x1.9f2d3027f83b7p-5));
  p = vd_fma(p, h, vd_set1(-0x1.05386fed61a8p-4));
  p = vd_fma(p, h, vd_set1(0x1.380a5f0957fc9p-4));
  p = vd_fma(p, h, vd_set1(-0x1.73d2adf612e4ap-4));
  p = vd_fma(p, h, vd_set1(0x1.c70c38d09606dp-4));
  p = vd_fma(p, h, vd_set1(-0x1.2491b5b7f97f5p-3));
  p = vd_fma(p, h, vd_set1(0x1.999994182eeb6p-3));
  p = vd_fma(p, h, vd_set1(-0x1.5555554ae87e2p-2));
  p = vd_fma(p, h, vd_set1(0x1.fffffffffcb6ap-1));
  vd r = vd_mul(q, p);
  r = vd_select(steep, vd_sub(vd_set1(0x1.921fb54442d18p0), r), r);
  return vd_select(vd_lt(left, vd_set1(0.0)), vd_sub(vd_set1(0x1.921fb54442d18p1), r), r);
}
/* The angle of (x, y) in [−π, π]. Special values as C's annex F has them: zeros and infinities have signs and
 * directions, atan2(±0, −0) = ±π, atan2(±inf, −inf) = ±3π/4. */
VEC_FN vf v_atan2(vf y, vf x) {
  const vf b = vf_abs(y), a = vf_abs(x), side = vf_copysign(vf_set1(1.0f), x);
  const vd low = v_atan2_lanes(vd_from_vf_lo(b), vd_from_vf_lo(a), vd_from_vf_lo(side));
  const vd high = v_atan2_lanes(vd_from_vf_hi(b), vd_from_vf_hi(a), vd_from_vf_hi(side));
  const vf r = vf_copysign(vf_from_vd(low, high), y);
  return vf_select(vf_unordered(y, x), vf_set1(NAN), r);
}

#endif
