/* sin, cos, tan and their inverses in binary64: trig_f32.h's constructions with polynomials for 53 bits. Arguments up
 * to 2^20 are reduced by π/2 in three doubles (Cody and Waite), larger ones by as much of 2/π as they need (Payne and
 * Hanek), in integers. */
#include "math_f64.h"
#include "math_f64_parts.h"

#define PI_2 0x1.921fb54442d18p0
#define PI_2_LOW 0x1.1a62633145c07p-54

/* (sin(r) − r)/r³ in r², |r| ≤ 0.79; error 2^-62.8 of sin */
ISO__TABLE double sin_r[] = {-0x1.5555555555555p-3, 0x1.111111111108dp-7,   -0x1.a01a01a0075e1p-13,
                             0x1.71de3a40e5741p-19, -0x1.ae643e6735612p-26, 0x1.61156ae12f771p-33,
                             -0x1.a5c27fb528c6p-41};
/* (cos(r) − 1 + r²/2)/r⁴ in r², likewise; error 2^-63.8 */
ISO__TABLE double cos_r[] = {0x1.555555555554ap-5,   -0x1.6c16c16c14df7p-10, 0x1.a01a019c5abd9p-16,
                             -0x1.27e4f7cbccee6p-22, 0x1.1ee9c217a6ea6p-29,  -0x1.8f99257515d56p-37};
/* (atan(q) − q)/q³ in q², |q| ≤ √2 − 1; error 2^-63.8 of atan */
ISO__TABLE double atan_q[] = {-0x1.5555555555554p-2, 0x1.99999999995bep-3, -0x1.24924924720fep-3, 0x1.c71c71b5f20a3p-4,
                              -0x1.745d14907df9ep-4, 0x1.3b136b01edb28p-4, -0x1.110c494894a3p-4,  0x1.e16f24c99bc62p-5,
                              -0x1.ab6cc8065162ap-5, 0x1.70aee49c1d36bp-5, -0x1.11b1742cdd64cp-5, 0x1.efed15962cc89p-7};
/* (asin(s) − s)/s³ in s², 0 ≤ s ≤ 1/2; error 2^-59.9 of asin */
ISO__TABLE double asin_s[] = {0x1.5555555555577p-3, 0x1.333333332e133p-4, 0x1.6db6db721247bp-5, 0x1.f1c71a95002fbp-6,
                              0x1.6e8bdedebf9dfp-6, 0x1.1c49f077d5bc7p-6, 0x1.ca1f8af1f0a3ap-7, 0x1.75859dad05d79p-7,
                              0x1.613c1e6ed73f2p-7, 0x1.e5fbe88dfba57p-9, 0x1.639a894e228e8p-6, -0x1.57fad0deac45ep-6,
                              0x1.0b45e9f72edb3p-5};

/* ---- reduction ---- */

/* a = n·π/2 + r */
struct turn {
  struct pair r;
  int n;
};
__extension__ typedef unsigned __int128 u128;

/* Finite a ≥ 2^20: m·2^(e−52)·(2/π) modulo 4, m the significand. Bits of 2/π above weight 2^(54−e) count whole turns
 * only; the next 192 give 126 bits after the point, of which no double a loses more than 62. */
static ISO__HD struct turn turn_large(double a) {
  static const uint64_t two_over_pi[] = {0, /* the offset of a = 2^20 is negative */
                                         0xa2f9836e4e441529,
                                         0xfc2757d1f534ddc0,
                                         0xdb6295993c439041,
                                         0xfe5163abdebbc561,
                                         0xb7246e3a424dd2e0,
                                         0x06492eea09d1921c,
                                         0xfe1deb1cb129a73e,
                                         0xe88235f52ebb4484,
                                         0xe99c7026b45f7e41,
                                         0x3991d639835339f4,
                                         0x9c845f8bbdf9283b,
                                         0x1ff897ffde05980f,
                                         0xef2f118b5a0a6d1f,
                                         0x6d367ecf27cb09b7,
                                         0x4f463f669e5fea2d,
                                         0x7527bac7ebe5f17b,
                                         0x3d0739f78a5292ea,
                                         0x6bfb5fb11f8d5d08,
                                         0x56033046fc7b6bab,
                                         0xf0cfbc209af4361d};
  const uint64_t bits = iso__f64_bits(a), m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  const unsigned skip = (unsigned)(bits >> 52) - 1023 - 54 + 64, shift = skip % 64;
  uint64_t word[3];
  for (unsigned i = 0; i < 3; i++) {
    const uint64_t *at = two_over_pi + skip / 64 + i;
    word[i] = shift ? at[0] << shift | at[1] >> (64 - shift) : at[0];
  }
  /* The upper 128 of the product's lower 192 bits. */
  const u128 product = ((u128)(m * word[0]) << 64) + (u128)m * word[1] + ((u128)m * word[2] >> 64);
  const u128 quarter = (product + ((u128)1 << 125)) >> 126, signed_part = product - (quarter << 126);
  const bool negative = signed_part >> 127 != 0;
  u128 part = negative ? 0 - signed_part : signed_part; /* never 0 */
  int lift = 0;
  if (!(uint64_t)(part >> 64)) part <<= 64, lift = 64;
  const int zeros = __builtin_clzll((uint64_t)(part >> 64));
  part <<= zeros, lift += zeros;
  const double scale = power_of_two(-53 - lift + 2) * (negative ? -1.0 : 1.0);
  const double high = (double)(uint64_t)(part >> 75) * scale;
  const double low = (double)((uint64_t)(part >> 22) & ((UINT64_C(1) << 53) - 1)) * scale * 0x1p-53;
  const double r = high * PI_2;
  return (struct turn){.r = fast_two_sum(r, fma(high, PI_2, -r) + fma(high, PI_2_LOW, low * PI_2)), .n = (int)quarter};
}
static ISO__HD struct turn turn_of(double a) { /* a ≥ 0 or NaN; infinity gives NaN */
  if (!(a < (double)INFINITY)) return (struct turn){.r = {a - a, a - a}};
  if (a >= 0x1p20) return turn_large(a);
  const double n = rint(a * 0x1.45f306dc9c883p-1), t = fma(-n, PI_2, a); /* exact */
  const double w = n * 0x1.1a62633145c06p-54, w_error = fma(n, 0x1.1a62633145c06p-54, -w);
  const struct pair r = two_sum(t, -w);
  return (struct turn){.r = fast_two_sum(r.high, fma(-n, 0x1.c1cd129024e09p-107, r.low - w_error)), .n = (int)n};
}

/* ---- sin, cos, tan ---- */

static ISO__HD struct pair sine(struct pair r) {
  const double h = r.high * r.high;
  return fast_two_sum(r.high, fma(r.high * h, HORNER(sin_r, h), fma(-0.5 * h, r.low, r.low)));
}
static ISO__HD struct pair cosine(struct pair r) {
  const double h = r.high * r.high, w = fma(-0.5, h, 1.0), error = fma(-0.5, h, 1.0 - w);
  return fast_two_sum(w, fma(h * h, HORNER(cos_r, h), fma(-r.high, r.low, error)));
}
ISO__SHARED double iso__sin_f64(double x) {
  const struct turn t = turn_of(fabs(x));
  const double y = t.n & 1 ? cosine(t.r).high : sine(t.r).high;
  return !(t.n & 2) == !signbit(x) ? y : -y;
}
ISO__SHARED double iso__cos_f64(double x) {
  const struct turn t = turn_of(fabs(x));
  const double y = t.n & 1 ? sine(t.r).high : cosine(t.r).high;
  return (t.n + 1) & 2 ? -y : y;
}
ISO__SHARED double iso__tan_f64(double x) {
  const struct turn t = turn_of(fabs(x));
  const struct pair s = sine(t.r), c = cosine(t.r);
  const double y = t.n & 1 ? -quotient(c, s) : quotient(s, c);
  return signbit(x) ? -y : y;
}

/* ---- asin, acos ---- */

/* For ½ < a ≤ 1: s + rest = asin(√z), z = (1 − a)/2, s = √z rounded and rest carrying what that lost. */
static ISO__HD struct pair asin_near_1(double a) {
  const double z = fma(-0.5, a, 0.5);
  if (z == 0) return (struct pair){0, 0};
  const struct pair s = pair_sqrt((struct pair){z, 0});
  return (struct pair){s.high, fma(s.high * z, HORNER(asin_s, z), s.low)};
}
ISO__SHARED double iso__asin_f64(double x) {
  const double a = fabs(x);
  if (a <= 0.5) return fma(x * (x * x), HORNER(asin_s, x * x), x);
  if (!(a <= 1.0)) return (double)NAN;
  const struct pair s = asin_near_1(a), d = fast_two_sum(PI_2, -2.0 * s.high);
  return copysign(d.high + (fma(-2.0, s.low, PI_2_LOW) + d.low), x);
}
ISO__SHARED double iso__acos_f64(double x) {
  const double a = fabs(x);
  if (a <= 0.5) {
    const struct pair d = fast_two_sum(PI_2, -x);
    return d.high + (fma(x * (x * x), -HORNER(asin_s, x * x), PI_2_LOW) + d.low);
  }
  if (!(a <= 1.0)) return (double)NAN;
  const struct pair s = asin_near_1(a);
  if (x > 0) return 2.0 * (s.high + s.low);
  const struct pair d = fast_two_sum(2.0 * PI_2, -2.0 * s.high);
  return d.high + (2.0 * (PI_2_LOW - s.low) + d.low);
}

/* ---- atan, atan2 ---- */

/* atan(n/d) for positive n and d whose quotient and sum are normal: atan of n/d, of (n − d)/(n + d) from π/4, or of
 * −d/n from π/2, whichever is at most √2 − 1. */
static ISO__HD struct pair atan_ratio(double n, double d) {
  struct pair t = {n, 0.0}, b = {d, 0.0}, base = {0.0, 0.0};
  if (n > 2.4142135623730949 * d) {
    t = (struct pair){-d, 0.0}, b = (struct pair){n, 0.0}, base = (struct pair){PI_2, PI_2_LOW};
  } else if (n > 0.41421356237309503 * d) {
    t = two_sum(n, -d), b = two_sum(n, d), base = (struct pair){0.5 * PI_2, 0.5 * PI_2_LOW};
  }
  const struct pair q = pair_quotient(t, b);
  const double h = q.high * q.high, rest = fma(q.high * h, HORNER(atan_q, h), q.low / (1.0 + h));
  const struct pair sum = fast_two_sum(base.high, q.high);
  return fast_two_sum(sum.high, sum.low + (base.low + rest));
}
ISO__SHARED double iso__atan_f64(double x) {
  const double a = fabs(x);
  if (!(a >= 0x1p-28)) return x; /* x − x³/3, NaN too */
  return copysign(a > 0x1p60 ? PI_2 : atan_ratio(a, 1.0).high, x);
}
/* Special values as C's annex F has them; v_atan2 in trig_f32.h lists them. */
ISO__SHARED double iso__atan2_f64(double y, double x) {
  if (x != x || y != y) return (double)NAN;
  double b = fabs(y), a = fabs(x);
  if (b == a && b == (double)INFINITY) b = a = 1.0;
  int b_exponent, a_exponent;
  const double b_part = frexp(b, &b_exponent), a_part = frexp(a, &a_exponent); /* without sums or quotients that */
  const int apart = b_exponent - a_exponent;                                   /* leave the range */
  struct pair r;
  if (b == 0 || a == (double)INFINITY || (a != 0 && b != (double)INFINITY && apart < -60))
    r = signbit(x) ? (struct pair){0.0, 0.0} : (struct pair){b == 0 ? 0.0 : b / a, 0.0};
  else if (a == 0 || b == (double)INFINITY || apart > 60) return copysign(PI_2, y);
  else r = atan_ratio(ldexp(b_part, apart), a_part);
  if (signbit(x)) {
    const struct pair d = fast_two_sum(2.0 * PI_2, -r.high);
    r.high = d.high + (d.low + (2.0 * PI_2_LOW - r.low));
  }
  return copysign(r.high, y);
}
