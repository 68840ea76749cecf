/* hypot and the two remainders in binary32: as math_f32.h, which includes this file and has the conventions. */
#ifndef ISO__NUMERIC_REMAINDER_F32_H
#define ISO__NUMERIC_REMAINDER_F32_H

#include "vec.h"

/* √(x² + y²) in double, where squares of floats are exact, rounded once. An infinity wins over a NaN. */
VEC_FN vd v_hypot_lanes(vd x, vd y) { return vd_sqrt(vd_fma(x, x, vd_mul(y, y))); }
VEC_FN vf v_hypot(vf x, vf y) {
  const vd low = v_hypot_lanes(vd_from_vf_lo(x), vd_from_vf_lo(y));
  const vd high = v_hypot_lanes(vd_from_vf_hi(x), vd_from_vf_hi(y));
  const vf infinity = vf_set1(INFINITY);
  const vm infinite = vm_or(vf_eq(vf_abs(x), infinity), vf_eq(vf_abs(y), infinity));
  return vf_select(infinite, infinity, vf_from_vd(low, high));
}

/* a mod b for finite a ≥ b > 0, 32 bits of the quotient at a time. */
static __attribute__((noinline, unused)) ISO__HD float v_fmod_far(float a, float b) {
  uint32_t a_bits, b_bits;
  memcpy(&a_bits, &a, sizeof a), memcpy(&b_bits, &b, sizeof b);
  const uint32_t a_field = a_bits >> 23, b_field = b_bits >> 23; /* a subnormal's exponent is that of field 1 */
  const uint64_t m = (b_bits & 0x7fffff) | (b_field ? 0x800000 : 0);
  uint64_t rest = ((a_bits & 0x7fffff) | (a_field ? 0x800000 : 0)) % m;
  const uint32_t exponent = b_field ? b_field : 1;
  for (uint32_t left = (a_field ? a_field : 1) - exponent; left;) {
    const uint32_t step = left < 32 ? left : 32;
    rest = (rest << step) % m, left -= step;
  }
  const uint64_t scale = (uint64_t)(exponent + 1023 - 150) << 52; /* 2^(exponent − 150): the unit of m */
  double unit;
  memcpy(&unit, &scale, sizeof unit);
  return (float)((double)rest * unit);
}
/* Quotients below 2^28 are rounded to a whole number in double, off by one at most: the product with b is exact. */
VEC_FN vd v_fmod_lanes(vd a, vd b) {
  const vd r = vd_fnma(v_round_lanes(vd_div(a, b)), b, a);
  return vd_select(vd_lt(r, vd_set1(0.0)), vd_add(r, b), r);
}
/* x − y·trunc(x/y), exact, with x's sign; NaN for an infinite x or y = ±0, x for an infinite y. */
VEC_FN vf v_fmod(vf x, vf y) {
  const vf a = vf_abs(x), b = vf_abs(y), infinity = vf_set1(INFINITY);
  vf r = vf_from_vd(v_fmod_lanes(vd_from_vf_lo(a), vd_from_vf_lo(b)), v_fmod_lanes(vd_from_vf_hi(a), vd_from_vf_hi(b)));
  const vm good = vm_and(vf_lt(a, infinity), vf_gt(b, vf_zero()));
  if (vm_any(vm_and(good, vf_ge(a, vf_mul(b, vf_set1(0x1p28f)))))) {
    float lanes[VF_LANES], divisors[VF_LANES], rests[VF_LANES];
    vf_store(lanes, a), vf_store(divisors, b), vf_store(rests, r);
    for (int i = 0; i < VF_LANES; i++)
      if (lanes[i] < INFINITY && divisors[i] > 0 && lanes[i] >= divisors[i] * 0x1p28f)
        rests[i] = v_fmod_far(lanes[i], divisors[i]);
    r = vf_load(rests);
  }
  r = vf_select(vm_and(good, vf_lt(a, b)), a, r);
  return vf_copysign(vf_select(good, r, vf_set1(NAN)), x);
}
/* x − y·floor(x/y), rounded once: fmod(x, y), plus y where the signs differ. A zero keeps x's sign. */
VEC_FN vf v_remainder(vf x, vf y) {
  const vf r = v_fmod(x, y), zero = vf_zero();
  const vm below = vf_lt(r, zero), y_below = vf_lt(y, zero);
  const vm differ = vm_or(vm_and(below, vm_not(y_below)), vm_and(vf_gt(r, zero), y_below));
  return vf_select(differ, vf_add(r, y), r);
}

#endif
