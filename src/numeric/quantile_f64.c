/* The inverses of erf and of the normal distribution in binary64: quantile_f32.h's approximation, or the asymptotic one
 * beyond its tables, and Halley's step on erf (centre) or erfc (tails), whose errors then are all that is left. */
#include "math_f64.h"
#include "math_f64_parts.h"
#include "quantile_tables.h"

/* e^(y²)·erfc(y), y ≥ 0.71 */
static ISO__HD double scaled_erfc(double y) {
  const double b = y * 0x1.6a09e667f3bcdp0;
  return 2.0 * HORNER(tail_g, (b - 3.5) / (b + 3.5)) / b;
}
/* Halley's step from y: u is the error of erf(y) over erf′(y). */
static ISO__HD double halley(double y, double u) { return y - u / fma(y, u, 1.0); }
/* y with erf(y) = a and erfc(y) = tail, both known exactly; 0 ≤ a, 0 < tail. Far out e^(y²)·tail, by its logarithm, is
 * compared with scaled_erfc, so that nothing leaves the range. */
static ISO__HD double inverse(double a, double tail) {
  const double half_root_pi = 0x1.c5bf891b4ef6bp-1, w = -iso__log_f64(tail * (2.0 - tail));
  if (w < 5.5) {
    const double y = a * HORNER(quantile_centre, w > 0 ? w : 0.0);
    const double error = a < 0.5 ? iso__erf_f64(y) - a : tail - iso__erfc_f64(y);
    return halley(y, error * half_root_pi * iso__exp_f64(y * y));
  }
  const double s = sqrt(w), log_tail = iso__log_f64(tail);
  double y = s < 4.2    ? a * HORNER(quantile_side, s - 3.2)
             : s < 10.3 ? a * HORNER(quantile_tail, s - 7.0)
                        : sqrt(-log_tail - 0.5 * iso__log_f64(w * 0x1.921fb54442d18p1));
  for (int steps = s < 10.3 ? 1 : 3; steps; steps--)
    y = halley(y, half_root_pi * (iso__exp_f64(fma(y, y, log_tail)) - scaled_erfc(y)));
  return y;
}
ISO__SHARED double iso__erfinv_f64(double x) {
  const double a = fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? copysign((double)INFINITY, x) : (double)NAN;
  return a < 0x1p-30 ? x * 0x1.c5bf891b4ef6bp-1 : copysign(inverse(a, 1.0 - a), x); /* √π/2·x·(1 + π/12·x²) */
}
ISO__SHARED double iso__ndtri_f64(double p) {
  if (!(p >= 0.0 && p <= 1.0)) return (double)NAN;
  if (p == 0.0 || p == 1.0) return p == 0.0 ? -(double)INFINITY : (double)INFINITY;
  const double q = p < 0.5 ? p : 1.0 - p, y = 0x1.6a09e667f3bcdp0 * inverse(fma(-2.0, q, 1.0), 2.0 * q);
  return p < 0.5 ? -y : y;
}
