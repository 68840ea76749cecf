/* References of the functions that C's library lacks, by other ways than the library's own: series after recurrences,
 * power series, Newton's iteration on the C library's erf. In REAL (double for f32, long double for f64), which the
 * including file defines. Tiny arguments are said first, so that 2^32 calls stay cheap. */
#include <float.h>
#include <tgmath.h>

#define REF_PI ((REAL)3.14159265358979323846264338327950288L)

static REAL ref_turn_cot(REAL x) { /* pi·cot(pi·x) */
  const REAL r = x - rint(x);
  return fabs(r) < (REAL)0.25 ? REF_PI / tan(REF_PI * r) : REF_PI * tan(REF_PI * (copysign((REAL)0.5, r) - r));
}
static REAL ref_digamma(REAL x) {
  if (isnan(x) || (isinf(x) && x > 0)) return x;
  if (x == 0) return copysign((REAL)INFINITY, -x);
  if (fabs(x) < (REAL)0x1p-34) return -1 / x - (REAL)0.577215664901532860606512090082402431L;
  if (x < 0) return rint(x) == x ? (REAL)NAN : ref_digamma(1 - x) - ref_turn_cot(x);
  REAL sum = 0;
  for (; x < 24; x += 1) sum += 1 / x;
  const REAL h = 1 / (x * x);
  const REAL b[] = {(REAL)1 / 12,  -(REAL)1 / 120,     (REAL)1 / 252, -(REAL)1 / 240,
                    (REAL)1 / 132, -(REAL)691 / 32760, (REAL)1 / 12,  -(REAL)3617 / 8160};
  REAL p = 0;
  for (int i = 7; i >= 0; i--) p = (p + b[i]) * h;
  return log(x) - 1 / (2 * x) - p - sum;
}
static REAL ref_trigamma(REAL x) {
  if (isnan(x)) return x;
  if (isinf(x)) return x > 0 ? 0 : (REAL)INFINITY;
  if (fabs(x) < (REAL)0x1p-34) return 1 / x / x + REF_PI * REF_PI / 6;
  if (x < 0) {
    if (rint(x) == x) return (REAL)INFINITY;
    const REAL s = sin(REF_PI * (x - rint(x)));
    return REF_PI / s * (REF_PI / s) - ref_trigamma(1 - x);
  }
  REAL sum = 0;
  for (; x < 24; x += 1) sum += 1 / (x * x);
  const REAL h = 1 / (x * x);
  const REAL b[] = {(REAL)1 / 6,  -(REAL)1 / 30,     (REAL)1 / 42, -(REAL)1 / 30,
                    (REAL)5 / 66, -(REAL)691 / 2730, (REAL)7 / 6,  -(REAL)3617 / 510};
  REAL p = 0;
  for (int i = 7; i >= 0; i--) p = (p + b[i]) * h;
  return sum + (1 + p + 1 / (2 * x)) / x;
}

/* y with erf(y) = a, erfc(y) = tail */
static REAL ref_inverse(REAL a, REAL tail) {
  const REAL w = -log(tail * (2 - tail));
  REAL y = w > 4 ? sqrt(w + log((REAL)2) - log(w * REF_PI) / 2) : a * ((REAL)0.886 + (REAL)0.232 * w);
  for (int i = 0; i < 5; i++) {
    const REAL error = a < (REAL)0.5 ? erf(y) - a : tail - erfc(y);
    const REAL u = error * exp(y * y) * sqrt(REF_PI) / 2;
    y -= u / (1 + y * u);
  }
  return y;
}
static REAL ref_erfinv(REAL x) {
  const REAL a = fabs(x);
  if (!(a <= 1)) return (REAL)NAN;
  if (a == 1) return copysign((REAL)INFINITY, x);
  return a < (REAL)0x1p-34 ? x * sqrt(REF_PI) / 2 : copysign(ref_inverse(a, 1 - a), x);
}
static REAL ref_ndtri(REAL p) {
  if (!(p >= 0 && p <= 1)) return (REAL)NAN;
  if (p == 0 || p == 1) return p == 0 ? -(REAL)INFINITY : (REAL)INFINITY;
  const REAL q = p < (REAL)0.5 ? p : 1 - p, y = sqrt((REAL)2) * (q == (REAL)0.5 ? 0 : ref_inverse(1 - 2 * q, 2 * q));
  return p < (REAL)0.5 ? -y : y;
}

/* I_nu(a)·e^−a: the power series up to 30, all of whose terms are positive; the asymptotic one beyond. */
static REAL ref_bessel(int nu, REAL a) {
  REAL term = 1, sum = 1;
  if (a < (REAL)0x1p-34) return (nu ? a / 2 : 1) * (1 - a);
  if (a > 30) {
    for (int k = 1; k < 60 && fabs(term) > (REAL)LDBL_EPSILON / 16; k++)
      sum += term *= -(4 * (REAL)nu * (REAL)nu - (2 * k - 1) * (2 * k - 1)) / (8 * k * a);
    return sum / sqrt(2 * REF_PI * a);
  }
  if (nu) term = sum = a / 2;
  for (int k = 1; k < 400 && term > sum * (REAL)LDBL_EPSILON / 16; k++)
    sum += term *= a * a / (4 * (REAL)k * (REAL)(k + nu));
  return sum * exp(-a);
}
static REAL ref_i0e(REAL x) { return isnan(x) ? x : isinf(x) ? 0 : ref_bessel(0, fabs(x)); }
static REAL ref_i1e(REAL x) { return isnan(x) ? x : copysign(isinf(x) ? 0 : ref_bessel(1, fabs(x)), x); }
static REAL ref_i0(REAL x) { return isinf(x) ? (REAL)INFINITY : ref_i0e(x) * exp(fabs(x)); }
static REAL ref_i1(REAL x) { return isinf(x) ? x : ref_i1e(x) * exp(fabs(x)); }

static REAL ref_log_sigmoid(REAL x) { return x > 0 ? -log1p(exp(-x)) : x - log1p(exp(x)); }
static REAL ref_mish(REAL x) { return x < -12000 ? -(REAL)0 : x > 100 ? x : x * tanh(log1p(exp(x))); }
static REAL ref_mish_grad(REAL x) {
  if (fabs(x) > 100) return x > 0;
  const REAL t = tanh(log1p(exp(x)));
  return t + x * (1 - t * t) / (1 + exp(-x));
}
static REAL ref_remainder(REAL x, REAL y) {
  REAL r = fmod(x, y);
  if ((r < 0 && !(y < 0)) || (r > 0 && y < 0)) r += y;
  return r;
}
static REAL ref_logaddexp(REAL x, REAL y) {
  if (isnan(x) || isnan(y)) return (REAL)NAN;
  return x == y ? x + log((REAL)2) : fmax(x, y) + log1p(exp(-fabs(x - y)));
}
