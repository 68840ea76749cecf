/* The elementary functions in binary64: math_f32.h's constructions with polynomials for 53 bits, in scalar C.
 *
 * log uses the series of atanh (as fdlibm does), since a polynomial in f would need twice the terms; pow carries log x
 * in two doubles. Polynomials are weighted minimax fits computed in 220 bits, coefficients rounded one by one. */
#include "math_f64.h"
#include "math_f64_parts.h"

/* (2^f − 1 − f·ln2)/f², |f| ≤ 1/2; error 2^-63.5 */
ISO__TABLE double exp2_q[] = {0x1.ebfbdff82c58fp-3,  0x1.c6b08d704a0c3p-5,  0x1.3b2ab6fba4d81p-7,
                              0x1.5d87fe78a48d5p-10, 0x1.430912f8a9c87p-13, 0x1.ffcbfc6b3b561p-17,
                              0x1.62c0215cf6955p-20, 0x1.b524f03382cb2p-24, 0x1.e4d227a8c9627p-28,
                              0x1.e9e658bf971f9p-32, 0x1.c09cec562ef4p-36};
/* (2·atanh(s)/s − 2)/s² in s², |s| ≤ (√2 − 1)/(√2 + 1); error 2^-66.6 */
ISO__TABLE double log_r[] = {0x1.5555555555555p-1, 0x1.9999999999d11p-2, 0x1.2492492439824p-2, 0x1.c71c724b5fde2p-3,
                             0x1.745ce1cc16df3p-3, 0x1.3b2023c5f9e4ap-3, 0x1.0f6757c8c6bc5p-3, 0x1.0f0d08bfe2bedp-3};
/* (sin(πr)/r − π)/r² in r², |r| ≤ 1/4; error 2^-63.5 */
ISO__TABLE double sin_q[] = {-0x1.4abbce625be53p2,  0x1.466bc6775ab7cp1,   -0x1.32d2cce63af2p-1,  0x1.5078349d8dc9fp-4,
                             -0x1.e3076ea85273bp-8, 0x1.e908ba936254fp-12, -0x1.73cb596e6ce1cp-16};
/* (cos(πr) − 1)/r² in r², likewise; error 2^-61.5 */
ISO__TABLE double cos_q[] = {-0x1.3bd3cc9be45dep2,  0x1.03c1f081b5a51p2,   -0x1.55d3c7e3bfb76p0,  0x1.e1f5067553a7dp-3,
                             -0x1.a6d1e1e1b4a39p-6, 0x1.f9c46382f5ef7p-10, -0x1.b01ca941d92f1p-14};
/* (Φ(x) − ½)/x in x², |x| ≤ 1; error 2^-58.3 */
ISO__TABLE double phi_p[] = {0x1.9884533d43651p-2,   -0x1.1058377e2cf5p-4,   0x1.46d042976d429p-7,
                             -0x1.37403f6cc78bdp-10, 0x1.e42b0dacaa347p-14,  -0x1.3ce9031df1cb2p-17,
                             0x1.658b15d884376p-21,  -0x1.6233628856a3fp-25, 0x1.391f263d9b536p-29,
                             -0x1.f56ad5b2ce242p-34, 0x1.4a69c74b28f03p-38};
/* ---- exp and its kin ---- */

ISO__SHARED double iso__exp_f64(double x) {
  const struct exp_parts e = exp_split(clamp(x, -746.0, 710.0), 0.0);
  return scale2(1.0 + e.s, e.n);
}

static ISO__HD double exp2_minus_1(double f) {
  return fma(f, 0x1.62e42fefa39efp-1, f * fma(HORNER(exp2_q, f), f, 0x1.abc9e3b39803fp-56));
}
ISO__SHARED double iso__exp2_f64(double x) {
  x = clamp(x, -1076.0, 1025.0);
  const double n = rint(x);
  return scale2(1.0 + exp2_minus_1(x - n), n);
}

ISO__SHARED double iso__expm1_f64(double x) {
  if (fabs(x) < 0x1p-55) return x;
  const double y = half_expm1(clamp(x, -40.0, 710.0)).high;
  return y + y;
}

/* ---- log and its kin ---- */

/* log(1 + f) − f */
static ISO__HD double log1p_rest(double f) {
  const double s = f / (2.0 + f), z = s * s, half_square = 0.5 * f * f;
  return fma(s, fma(z, HORNER(log_r, z), half_square), -half_square);
}
static ISO__HD double log_join(double k, double f, double rest) {
  const double high = k * LN2_HI, sum = high + f, error = f - (sum - high);
  return sum + (fma(k, LN2_LO, rest) + error);
}
ISO__SHARED double iso__log_f64(double x) {
  double y;
  if (log_special(x, 0.0, &y)) return y;
  const struct log_parts p = log_split(x);
  return log_join(p.k, p.f, log1p_rest(p.f));
}
ISO__SHARED double iso__log2_f64(double x) {
  double y;
  if (log_special(x, 0.0, &y)) return y;
  const struct log_parts p = log_split(x);
  const double t = p.f * LOG2E, t_error = fma(p.f, LOG2E, -t), sum = p.k + t, error = t - (sum - p.k);
  return sum + (fma(log1p_rest(p.f), LOG2E, fma(p.f, LOG2E_LOW, t_error)) + error);
}
ISO__SHARED double iso__log1p_f64(double x) {
  double y;
  if (log_special(x, -1.0, &y)) return y;
  if (fabs(x) < 0x1p-55) return x;
  const int64_t k = ((int64_t)iso__f64_bits(1.0 + x) - 0x3fe6a09e667f3bcd) >> 52;
  const double s4 = iso__f64_from_bits((uint64_t)(1025 - k) << 52);
  const double f = fma(s4, x * 0.25, fma(s4, 0.25, -1.0));
  return log_join((double)k, f, log1p_rest(f));
}

/* ---- tanh, sigmoid, silu, softplus ---- */

ISO__SHARED double iso__tanh_f64(double x) {
  if (x != x) return x;
  const double a = fabs(x) < 22.0 ? fabs(x) : 22.0;
  if (a < 0x1p-28) return x;               /* x − x³/3 */
  const struct pair e = half_expm1(a + a); /* tanh = e/(e + 2) = e'/(e' + 1) with halves */
  const double d = e.high + 1.0, back = d - e.high;
  const double d_low = ((e.high - (d - back)) + (1.0 - back)) + e.low;
  return copysign(quotient(e, (struct pair){d, d_low}), x);
}

struct sigmoid_parts {
  struct exp_parts e;
  struct pair z, d; /* z = e^−|x|, d = 1 + z */
};
static ISO__HD struct sigmoid_parts sigmoid_split(double x, double low) {
  struct sigmoid_parts p = {.e = exp_split(-fabs(x), -copysign(1.0, x) * low)};
  const double one_s = 1.0 + p.e.s;
  p.z = (struct pair){scale2(one_s, p.e.n), scale2((1.0 - one_s) + p.e.s, p.e.n)};
  p.d.high = 1.0 + p.z.high;
  p.d.low = ((1.0 - p.d.high) + p.z.high) + p.z.low;
  return p;
}
ISO__SHARED double iso__sigmoid_f64(double x) {
  const struct sigmoid_parts p = sigmoid_split(clamp(x, -746.0, 746.0), 0.0);
  return quotient(x < 0 ? p.z : (struct pair){1.0, 0.0}, p.d);
}
/* factor·σ(x + low), |x| ≤ 760 */
static ISO__HD double times_sigmoid(double factor, double x, double low) {
  const struct sigmoid_parts p = sigmoid_split(x, low);
  if (x < 0) {
    const double th = fma(factor, p.e.s, factor);
    return scale2(quotient((struct pair){th, fma(factor, p.e.s, factor - th)}, p.d), p.e.n);
  }
  return quotient((struct pair){factor, 0.0}, p.d);
}
/* s + w·s·(1 − s), s = σ(x + low) */
static ISO__HD double sigmoid_slope(double x, double low, double w) {
  const struct sigmoid_parts p = sigmoid_split(x, low);
  const double d = 1.0 / p.d.high, zd = p.z.high * d;
  return fma(w * zd, d, x < 0 ? zd : d);
}
ISO__SHARED double iso__silu_f64(double x) {
  const double c = clamp(x, -760.0, 760.0);
  return x > 700.0 ? x : times_sigmoid(c, c, 0.0);
}
ISO__SHARED double iso__silu_grad_f64(double x) {
  const double c = clamp(x, -760.0, 760.0);
  return sigmoid_slope(c, 0.0, c);
}
ISO__SHARED double iso__softplus_f64(double x) {
  const double z = iso__exp_f64(-fabs(x));
  const bool upper = z > 0x1.a827999fcef31p-2; /* √2 − 1 */
  const double f = upper ? fma(0.5, z, -0.5) : z, l = log_join(upper ? 1.0 : 0.0, f, log1p_rest(f));
  return (x > 0 ? x : 0.0) + l;
}

/* ---- log σ, logaddexp, mish ---- */

ISO__SHARED double iso__log_sigmoid_f64(double x) { return -iso__softplus_f64(-x); }
ISO__SHARED double iso__logaddexp_f64(double x, double y) {
  if (x != x || y != y) return (double)NAN;
  return (x > y ? x : y) + iso__softplus_f64(-fabs(x == y ? 0.0 : x - y));
}
/* See activation_f32.h; for x < 0 the power of two is put in last, as in silu. */
ISO__SHARED double iso__mish_f64(double x) {
  if (x != x || x > 40.0) return x;
  const double c = x > -760.0 ? x : -760.0;
  const struct exp_parts p = exp_split(c, 0.0);
  const double e = scale2(1.0 + p.s, p.n), n = e * (e + 2.0);
  if (c < -1.0) return scale2(c * (1.0 + p.s) * (e + 2.0) / (n + 2.0), p.n);
  return c * n / (n + 2.0);
}
ISO__SHARED double iso__mish_grad_f64(double x) {
  const double c = clamp(x, -760.0, 40.0), e = iso__exp_f64(c), n = e * (e + 2.0), d = n + 2.0;
  return fma(4.0 * fma(e, e, e), c, n * d) / (d * d);
}

/* ---- erf, gelu ---- */

ISO__SHARED double iso__erf_f64(double x) {
  const double a = fabs(x);
  if (a < 1.0) return fma(x, HORNER(erf_p, x * x), x);
  if (a != a) return x;
  if (a > 6.0) return copysign(1.0, x);
  const double b = a * 0x1.6a09e667f3bcdp0; /* erf(a) = 1 − 2·Φ(−a·√2) */
  const struct tail_parts t = tail_split(b);
  return copysign(1.0 - 2.0 * (scale2(t.tail, t.n) / b), x);
}
ISO__SHARED double iso__gelu_f64(double x) {
  if (fabs(x) < 1.0) return x * fma(x, HORNER(phi_p, x * x), 0.5);
  if (x != x) return x;
  const struct tail_parts t = tail_split(fabs(x) < 38.7 ? fabs(x) : 38.7);
  const double tail = scale2(t.tail, t.n);
  return x < 0 ? -tail : x - tail;
}
ISO__SHARED double iso__gelu_grad_f64(double x) {
  const double a = fabs(x) < 38.7 ? fabs(x) : x != x ? x : 38.7, c = copysign(a, x);
  double phi, density;
  if (a < 1.0) {
    phi = fma(x, HORNER(phi_p, x * x), 0.5);
    density = iso__exp_f64(-0.5 * (x * x));
  } else {
    if (a != a) return x;
    const struct tail_parts t = tail_split(a);
    const double beyond = scale2(t.tail, t.n) / a;
    phi = x < 0 ? beyond : 1.0 - beyond;
    density = scale2(1.0 + t.s, t.n);
  }
  return fma(c, density * 0x1.9884533d43651p-2, phi);
}

/* 2u = x·(c1 + c2·x²), c1 = 2·√(2/π), c2 = 0.044715·c1, in two doubles */
#define GELU_C1 0x1.9884533d43651p0
#define GELU_C2 0x1.2444f2a4d8b4bp-4
static ISO__HD struct pair gelu_tanh_argument(double x) {
  const double h = x * x, h_low = fma(x, x, -h), p = GELU_C2 * h, p_error = fma(GELU_C2, h, -p);
  const double p_low = fma(GELU_C2, h_low, fma(-0x1.6c843a29d1c7p-61, h, p_error));
  const double v = GELU_C1 + p, back = v - GELU_C1, v_error = (GELU_C1 - (v - back)) + (p - back);
  const double v_low = (p_low + -0x1.cbc0d30ebfd15p-54) + v_error, y = x * v;
  return (struct pair){.high = y, .low = fma(x, v_low, fma(x, v, -y))};
}
ISO__SHARED double iso__gelu_tanh_f64(double x) {
  const double c = clamp(x, -22.0, 22.0);
  const struct pair y = gelu_tanh_argument(c);
  return x > 21.0 ? x : times_sigmoid(c, y.high, y.low);
}
ISO__SHARED double iso__gelu_tanh_grad_f64(double x) {
  const double c = clamp(x, -22.0, 22.0);
  const struct pair y = gelu_tanh_argument(c);
  return sigmoid_slope(y.high, y.low, c * fma(0x1.b6676bf7450fp-3, c * c, GELU_C1));
}

/* ---- sqrt, sinpi, cospi ---- */

ISO__SHARED double iso__rsqrt_f64(double x) { return 1.0 / sqrt(x); }

/* x = 2·m + n/2 + r, exact: n in −2 … 2, |r| ≤ 1/4. NaN r for infinities and NaN. */
static ISO__HD double quadrant(double x, int *n) {
  const double y = fma(-2.0, rint(0.5 * x), x), k = rint(y + y);
  *n = k == k ? (int)k : 0;
  return fma(-0.5, k, y);
}
static ISO__HD double sine(double r) {
  const double h = r * r;
  return fma(r, 0x1.921fb54442d18p1, r * fma(HORNER(sin_q, h), h, 0x1.1a62633145c07p-53));
}
static ISO__HD double cosine(double r) { return fma(HORNER(cos_q, r * r), r * r, 1.0); }
ISO__SHARED double iso__sinpi_f64(double x) {
  int n;
  const double r = quadrant(x, &n), y = n & 1 ? cosine(r) : sine(r), turned = n & 2 ? -y : y;
  return turned == 0 ? copysign(0.0, x) : turned;
}
ISO__SHARED double iso__cospi_f64(double x) {
  int n;
  const double r = quadrant(x, &n), y = n & 1 ? sine(r) : cosine(r);
  return ((n + 1) & 2 ? -y : y) + 0.0;
}

/* ---- pow ---- */

static ISO__HD double pow_magnitude(double x, double y) { /* x ≥ 0, y ≠ 0, neither NaN, x ≠ 1 */
  const bool grows = (x > 1) == (y > 0);
  if (x == 0 || x == (double)INFINITY || fabs(y) == (double)INFINITY) return grows ? (double)INFINITY : 0.0;
  const struct pair l = log_pair(x);
  const double w = y * l.high;
  if (fabs(w) > 760.0) return grows ? (double)INFINITY : 0.0;
  const struct exp_parts e = exp_split(w, fma(y, l.high, -w) + y * l.low);
  return scale2(1.0 + e.s, e.n);
}
/* Special values as C's annex F has them; v_pow in math_f32.h lists them. */
ISO__SHARED double iso__pow_f64(double x, double y) {
  if (x == 1 || y == 0) return 1.0;
  if (x != x || y != y) return (double)NAN;
  const bool whole = rint(y) == y, odd = whole && rint(0.5 * y) != 0.5 * y;
  if (x < 0 && x > -(double)INFINITY && !whole) return (double)NAN;
  const double magnitude = x == -1 ? 1.0 : pow_magnitude(fabs(x), y);
  return odd && signbit(x) ? -magnitude : magnitude;
}

ISO__SHARED double iso__powi_f64(double x, int64_t n) {
  double y = 1.0;
  for (uint64_t bits = n < 0 ? 0 - (uint64_t)n : (uint64_t)n; bits; bits >>= 1, x *= x)
    if (bits & 1) y *= x;
  return n < 0 ? 1.0 / y : y;
}
