/* log10, sinh, cosh, the inverse hyperbolic functions and erfc in binary64. What begins with a logarithm goes through
 * log x in two doubles, so only the last sum rounds. */
#include "math_f64.h"
#include "math_f64_parts.h"

ISO__SHARED double iso__log10_f64(double x) {
  double y;
  if (log_special(x, 0.0, &y)) return y;
  const struct pair l = log_pair(x);
  const double log10e = 0x1.bcb7b1526e50ep-2, high = l.high * log10e;
  return high + (fma(l.high, log10e, -high) + fma(l.high, 0x1.95355baaafad3p-57, l.low * log10e));
}

/* ---- sinh, cosh ---- */

/* Half of e^a, a ≥ 22, where e^−a no longer counts. */
static ISO__HD double half_exp(double a) {
  const struct exp_parts e = exp_split(a < 711.0 ? a : 711.0, 0.0);
  return scale2(1.0 + e.s, e.n - 1.0);
}
/* E/2 + (E/2)/(E + 1), E = e^|x| − 1 */
ISO__SHARED double iso__sinh_f64(double x) {
  const double a = fabs(x);
  if (!(a >= 0x1p-28)) return x; /* x + x³/6, NaN too */
  if (a >= 22.0) return copysign(half_exp(a), x);
  const struct pair e = half_expm1(a);
  struct pair d = two_sum(2.0 * e.high, 1.0);
  d.low += 2.0 * e.low;
  const struct pair q = pair_quotient(e, d), sum = fast_two_sum(e.high, q.high);
  return copysign(sum.high + (sum.low + (e.low + q.low)), x);
}
/* y + 1/(4·y), y = e^|x|/2 */
ISO__SHARED double iso__cosh_f64(double x) {
  const double a = fabs(x);
  if (a != a) return x;
  if (a >= 22.0) return half_exp(a);
  const struct pair e = half_expm1(a);
  struct pair y = two_sum(e.high, 0.5);
  y.low += e.low;
  const struct pair q = pair_quotient((struct pair){0.25, 0.0}, y), sum = fast_two_sum(y.high, q.high);
  return sum.high + (sum.low + (y.low + q.low));
}

/* ---- asinh, acosh, atanh ---- */

/* log(x.high + x.low) */
static ISO__HD struct pair log_of(struct pair x) {
  const struct pair l = log_pair(x.high);
  return fast_two_sum(l.high, l.low + x.low / x.high);
}
/* log(a + √(a² + sign)), 2^−28 ≤ a: log(2·a) where a² + sign is a². */
static ISO__HD double log_with_root(double a, double sign) {
  if (a > 0x1p30) {
    const struct pair l = log_pair(a), sum = two_sum(l.high, 0x1.62e42fefa39efp-1);
    return sum.high + (sum.low + (l.low + 0x1.abc9e3b39803fp-56));
  }
  const double h = a * a;
  struct pair square = two_sum(h, sign);
  square = fast_two_sum(square.high, square.low + fma(a, a, -h));
  const struct pair root = pair_sqrt(square);
  struct pair u = two_sum(a, root.high);
  u.low += root.low;
  return log_of(u).high;
}
ISO__SHARED double iso__asinh_f64(double x) {
  const double a = fabs(x);
  if (!(a >= 0x1p-28) || a == (double)INFINITY) return x; /* x − x³/6 */
  return copysign(log_with_root(a, 1.0), x);
}
ISO__SHARED double iso__acosh_f64(double x) {
  if (!(x >= 1.0)) return (double)NAN;
  return x == 1.0 ? 0.0 : x < (double)INFINITY ? log_with_root(x, -1.0) : x;
}
/* (log(1 + a) − log(1 − a))/2 */
ISO__SHARED double iso__atanh_f64(double x) {
  const double a = fabs(x);
  if (!(a >= 0x1p-28)) return x; /* x + x³/3, NaN too */
  if (a >= 1.0) return a == 1.0 ? copysign((double)INFINITY, x) : (double)NAN;
  const struct pair up = log_of(two_sum(1.0, a)), down = log_of(two_sum(1.0, -a)), sum = two_sum(up.high, -down.high);
  return copysign(0.5 * (sum.high + (sum.low + (up.low - down.low))), x);
}

/* ---- erfc ---- */

/* Up to 1: (1 − x) − x·p, p that of erf. Beyond: 2·Φ(−a·√2), 2 less that where x < 0. */
ISO__SHARED double iso__erfc_f64(double x) {
  const double a = fabs(x);
  if (a != a) return x;
  if (a < 1.0) {
    const struct pair d = two_sum(1.0, -x);
    return d.high + fma(-x, HORNER(erf_p, x * x), d.low);
  }
  const double c = a < 27.3 ? a : 27.3, root2 = 0x1.6a09e667f3bcdp0, b = c * root2, h = c * c;
  const double b_low = fma(c, root2, -b) + c * -0x1.bdd3413b26456p-54;
  const struct tail_parts t = tail_of_square(b, 2.0 * h, 2.0 * fma(c, c, -h));
  const struct pair q = pair_quotient((struct pair){2.0 * t.tail, 0.0}, (struct pair){b, b_low});
  const double y = scale2(q.high + q.low, t.n);
  return x < 0 ? 2.0 - y : y;
}
