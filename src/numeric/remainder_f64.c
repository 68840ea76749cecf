/* hypot and the two remainders in binary64; see remainder_f32.h. */
#include "math_f64.h"
#include "math_f64_parts.h"

/* √(a² + b²) of a ≥ b ≥ 0 scaled to a in [½, 1): both squares and their sum in two doubles. */
ISO__SHARED double iso__hypot_f64(double x, double y) {
  double a = fabs(x), b = fabs(y);
  if (a == (double)INFINITY || b == (double)INFINITY) return (double)INFINITY;
  if (a != a || b != b) return (double)NAN;
  if (a < b) {
    const double larger = b;
    b = a, a = larger;
  }
  if (b == 0) return a;
  int exponent, b_exponent;
  a = frexp(a, &exponent);
  frexp(b, &b_exponent);
  if (exponent - b_exponent > 54) return ldexp(a, exponent); /* b² is below a quarter of an ulp of a² */
  b = ldexp(b, -exponent);
  const double aa = a * a, bb = b * b;
  struct pair s = fast_two_sum(aa, bb);
  s = fast_two_sum(s.high, s.low + (fma(a, a, -aa) + fma(b, b, -bb)));
  const struct pair r = pair_sqrt(s);
  return ldexp(r.high + r.low, exponent);
}

/* a mod b for a ≥ b·2^52, b > 0: eleven bits of the quotient at a time. */
static ISO__HD double fmod_far(double a, double b) {
  const uint64_t a_bits = iso__f64_bits(a), b_bits = iso__f64_bits(b), fraction = (UINT64_C(1) << 52) - 1;
  const uint64_t a_field = a_bits >> 52, b_field = b_bits >> 52; /* a subnormal's exponent is that of field 1 */
  const uint64_t m = (b_bits & fraction) | (b_field ? fraction + 1 : 0), exponent = b_field ? b_field : 1;
  uint64_t rest = ((a_bits & fraction) | (a_field ? fraction + 1 : 0)) % m;
  for (uint64_t left = (a_field ? a_field : 1) - exponent; left;) {
    const uint64_t step = left < 11 ? left : 11;
    rest = (rest << step) % m, left -= step;
  }
  return ldexp((double)rest, (int)exponent - 1075);
}
ISO__SHARED double iso__fmod_f64(double x, double y) {
  const double a = fabs(x), b = fabs(y);
  if (!(a < (double)INFINITY) || !(b > 0)) return (double)NAN;
  if (a < b) return x;
  double r;
  if (a >= b * 0x1p52) r = fmod_far(a, b);
  else {
    r = fma(-rint(a / b), b, a);
    if (r < 0) r += b;
  }
  return copysign(r, x);
}
ISO__SHARED double iso__remainder_f64(double x, double y) {
  double r = iso__fmod_f64(x, y);
  if ((r < 0 && !(y < 0)) || (r > 0 && y < 0)) r += y;
  return r;
}
