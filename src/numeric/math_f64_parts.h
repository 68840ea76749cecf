/* What the binary64 functions are made of: reductions, error-free sums, e^x and log x in parts and in pairs of doubles.
 * Included by the *_f64.c files. */
#ifndef ISO__NUMERIC_MATH_F64_PARTS_H
#define ISO__NUMERIC_MATH_F64_PARTS_H

#include "half.h"

#include <math.h>
#include <stdbool.h>

#define LOG2E 0x1.71547652b82fep0
#define LOG2E_LOW 0x1.777d0ffda0d24p-56
#define LN2_HI 0x1.62e42feep-1 /* 32 bits: k·LN2_HI is exact */
#define LN2_LO 0x1.a39ef35793c76p-33

/* c[0] + x·(c[1] + …) */
static inline ISO__HD double horner(const double *c, int n, double x) {
  double y = c[n - 1];
  for (int i = n - 2; i >= 0; i--) y = fma(y, x, c[i]);
  return y;
}
#define HORNER(table, x) horner(table, (int)(sizeof table / sizeof *table), x)

static inline ISO__HD double power_of_two(int n) {
  return iso__f64_from_bits((uint64_t)(n + 1023) << 52);
} /* −1022 … 1023 */
/* p·2^n for whole |n| ≤ 2000 and p near 1: in two factors, of which only the last can round. A NaN n gives p. */
static inline ISO__HD double scale2(double p, double n) {
  if (n != n) return p;
  const int i = (int)n, half = i >> 1;
  return p * power_of_two(half) * power_of_two(i - half);
}
/* NaN passes, as in math_f32.h. */
static inline ISO__HD double clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

/* ---- pairs ---- */

/* high + low, |low| at most half an ulp of high */
struct pair {
  double high, low;
};
static inline ISO__HD struct pair fast_two_sum(double a, double b) { /* |a| ≥ |b|, or a = 0 */
  const double s = a + b;
  return (struct pair){s, b - (s - a)};
}
static inline ISO__HD struct pair two_sum(double a, double b) {
  const double s = a + b, t = s - a;
  return (struct pair){s, (a - (s - t)) + (b - t)};
}
static inline ISO__HD double quotient(struct pair t, struct pair d) {
  const double r = 1.0 / d.high, q = t.high * r;
  return fma(-(fma(q, d.high, -t.high) + fma(q, d.low, -t.low)), r, q); /* a zero keeps its sign */
}
/* t/d in two doubles */
static inline ISO__HD struct pair pair_quotient(struct pair t, struct pair d) {
  const double q = t.high / d.high;
  return (struct pair){q, (fma(-q, d.high, t.high) + fma(-q, d.low, t.low)) / d.high};
}
/* √(x.high + x.low), x > 0 */
static inline ISO__HD struct pair pair_sqrt(struct pair x) {
  const double r = sqrt(x.high);
  return (struct pair){r, (fma(-r, r, x.high) + x.low) / (r + r)};
}

/* ---- exp ---- */

/* (e^r − 1 − r)/r², |r| ≤ ln2/2; error 2^-63.8 */
ISO__TABLE double exp_q[] = {0x1p-1,
                             0x1.555555555555bp-3,
                             0x1.555555555553ap-5,
                             0x1.111111110edbdp-7,
                             0x1.6c16c16c22e9p-10,
                             0x1.a01a01b30d33p-13,
                             0x1.a01a01664a9c7p-16,
                             0x1.71ddf113a668fp-19,
                             0x1.27e5644cbf36p-22,
                             0x1.af6a72e55cbfbp-26,
                             0x1.1ea336b951d6ep-29};
struct exp_parts {
  double s, n; /* e^(x + low) = (1 + s)·2^n */
};
static inline ISO__HD double exp_rest(double t, double c) { /* e^(t − c) − 1 − t */
  const double r = t - c;
  return fma(HORNER(exp_q, r), r * r, -c);
}
static inline ISO__HD struct exp_parts exp_split(double x, double low) {
  const double n = rint(x * LOG2E), t = fma(-n, LN2_HI, x);
  return (struct exp_parts){.s = t + exp_rest(t, fma(n, LN2_LO, -low)), .n = n};
}
/* e^a − 1 = 2·(high + low), 2^(n−1) being factored in; a in [−40, 710]. */
static inline ISO__HD struct pair half_expm1(double a) {
  const double n = rint(a * LOG2E), h = n != n ? n : power_of_two((int)n - 1);
  const double t = fma(-n, LN2_HI, a), rest = exp_rest(t, n * LN2_LO);
  const double b = h - 0.5, u = fma(h, t, b), low = fma(h, rest, fma(h, t, b - u));
  const double high = u + low;
  return (struct pair){.high = high, .low = (u - high) + low};
}

/* ---- log ---- */

/* (atanh(s)/s − 1 − s²/3)/s⁴ in s², likewise; error 2^-66.3 */
ISO__TABLE double pow_q[] = {0x1.9999999999b31p-3, 0x1.2492492457be5p-3, 0x1.c71c722d80d44p-4, 0x1.745ce9dbfb4dcp-4,
                             0x1.3b1eed220b4a5p-4, 0x1.0f7fd4ae591e9p-4, 0x1.0e434c7a98c9dp-4};
struct log_parts {
  double k, f;
};
static inline ISO__HD struct log_parts log_split(double x) { /* finite x > 0 */
  double lift = 0.0;
  if (x < 0x1p-1022) x *= 0x1p54, lift = 54.0;
  const int64_t bits = (int64_t)iso__f64_bits(x), k = (bits - 0x3fe6a09e667f3bcd) >> 52;
  const double m = iso__f64_from_bits((uint64_t)bits - ((uint64_t)k << 52));
  return (struct log_parts){.k = (double)k - lift, .f = m - 1.0};
}
/* Where log has no finite value: true, and *y set. */
static inline ISO__HD bool log_special(double x, double zero_at, double *y) {
  if (x > zero_at && x < (double)INFINITY) return false;
  *y = x == zero_at ? -(double)INFINITY : x < zero_at ? (double)NAN : x;
  return true;
}
/* log x to 2^−66 of itself, finite x > 0: k·ln2 + 2·s·(1 + (z/3 + z²·q(z))), s = f/(2 + f), z = s², where s, z/3 and
 * the sums are pairs of doubles. */
static inline ISO__HD struct pair log_pair(double x) {
  const struct log_parts p = log_split(x);
  const struct pair d = two_sum(2.0, p.f);
  const double sh = p.f / d.high, sl = (fma(-sh, d.high, p.f) - sh * d.low) / d.high;
  const double zh = sh * sh, zl = fma(sh, sh, -zh) + 2.0 * sh * sl;
  const double third = 0x1.5555555555555p-2, third_low = 0x1.5555555555555p-56;
  const double ch = zh * third, cl = fma(zh, third, -ch) + fma(zl, third, zh * third_low);
  const struct pair t = fast_two_sum(ch, fma(zh * zh, HORNER(pow_q, zh), cl));
  const double ph = sh * t.high, pl = fma(sh, t.high, -ph) + fma(sh, t.low, sl * t.high);
  const struct pair a = fast_two_sum(sh, ph);
  const double log_m_low = 2.0 * (a.low + (pl + sl)), log_m = 2.0 * a.high;
  /* ln2 in three parts, the first of 42 bits, so that k times it is exact. */
  const double kh = p.k * 0x1.62e42fefa38p-1, km = p.k * 0x1.ef35793c7673p-45;
  const double km_low = fma(p.k, 0x1.ef35793c7673p-45, -km);
  const struct pair b = two_sum(kh, log_m), c = two_sum(b.high, km);
  return fast_two_sum(c.high, c.low + (b.low + (log_m_low + (km_low + p.k * 0x1.f97b57a079a19p-103))));
}

/* ---- erf, the normal distribution's tail ---- */

/* erf(x)/x − 1 in x², |x| ≤ 1; error 2^-56.4 */
ISO__TABLE double erf_p[] = {0x1.06eba8214db69p-3,   -0x1.812746b037a1ep-2,  0x1.ce2f21a0451f5p-4,
                             -0x1.b82ce3133154ep-6,  0x1.565bcd26c8dcp-8,    -0x1.c02db82dedd85p-11,
                             0x1.f9a39b8ba911ep-14,  -0x1.f4dab98499db6p-17, 0x1.ba4d02d3bd08fp-20,
                             -0x1.62a70237e157dp-23, 0x1.0e516cc584f76p-26,  -0x1.a7af01be5c6d4p-30,
                             0x1.1553d8c5140c7p-33};
/* a·e^(a²/2)·Φ(−a) in u = (a − 3.5)/(a + 3.5), 1 ≤ a ≤ 38.7; error 2^-57.6 */
ISO__TABLE double tail_g[] = {
    0x1.7d241a953a614p-2,   0x1.6e4b24565f96fp-4,  -0x1.0023df973a2cap-3,  0x1.98516ad41af15p-4,
    -0x1.940ac87c6f1e5p-5,  0x1.8750f90ba7abep-7,  0x1.aed95f7fd0b4p-10,   -0x1.dc54a183496fdp-10,
    0x1.097359f2e96c7p-16,  0x1.1d0cdf4a2a00fp-12, -0x1.1ef20fef7a085p-18, -0x1.8bd416b8ae06ep-15,
    -0x1.e8a1fa1409fffp-19, 0x1.1fccceaa890f4p-17, 0x1.2cf0e25b2cdd2p-19,  -0x1.60aec66b5c1ap-20,
    -0x1.b3afe20ee1b3bp-21, 0x1.e915283401e18p-25, 0x1.d4fa35dadbd99p-23,  0x1.28f7b10a17588p-24,
    -0x1.c8ccad039e9f1p-25, -0x1.f1c8fa20ed43p-26, 0x1.05f218ec61335p-26};

/* |x|·Φ(−|x|) = tail·2^n and e^(−x²/2) = (1 + s)·2^n for 1 ≤ a = |x| ≤ 38.7; x² in two doubles. */
struct tail_parts {
  double tail, s, n;
};
static inline ISO__HD struct tail_parts tail_of_square(double a, double h, double low) { /* h + low = a² */
  const double u = (a - 3.5) * (1.0 / (a + 3.5));
  enum { N = sizeof tail_g / sizeof *tail_g };
  const double above = horner(tail_g + 1, N - 1, u), gh = fma(above, u, tail_g[0]);
  const double gl = fma(above, u, tail_g[0] - gh);
  const struct exp_parts e = exp_split(-0.5 * h, -0.5 * low);
  return (struct tail_parts){.tail = gh + fma(gh, e.s, gl), .s = e.s, .n = e.n};
}
static inline ISO__HD struct tail_parts tail_split(double a) {
  const double h = a * a;
  return tail_of_square(a, h, fma(a, a, -h));
}

#endif
