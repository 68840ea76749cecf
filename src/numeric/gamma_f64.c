/* log Γ, ψ and ψ′ in binary64: gamma_f32.h's constructions with the recurrence up to 10, where the series begin, and
 * two polynomials about the zeros 1 and 2 of log Γ. */
#include "math_f64.h"
#include "math_f64_parts.h"

#define PI 0x1.921fb54442d18p1

/* log Γ(x)/((x − 1)·(x − 2)) in x − 1, 0.7 ≤ x ≤ 1.6; error 2^-56.6 */
ISO__TABLE double near_1[] = {
    0x1.2788cfc6fb619p-1,  -0x1.f6465978d46e9p-3, 0x1.3e54520481ed0p-3,  -0x1.d7a3e6a8f2284p-4, 0x1.79cf9c4c58480p-4,
    -0x1.3cb1f9d3c7544p-4, 0x1.115549e6df14ep-4,  -0x1.e18246eee865fp-5, 0x1.ae8a9987d8279p-5,  -0x1.85792d0c600c4p-5,
    0x1.639f4605c70a9p-5,  -0x1.47368b33dc0cfp-5, 0x1.2f03c091b553ap-5,  -0x1.1a25b62fdc830p-5, 0x1.08065d5836d98p-5,
    -0x1.f077f6b4582f9p-6, 0x1.d3c2dafd50987p-6,  -0x1.b6efb1ab91918p-6, 0x1.9d905e2eaf27cp-6,  -0x1.9880f1ef1944ap-6,
    0x1.a97c6837db356p-6,  -0x1.997daf9df57c0p-6, 0x1.2b474242f408dp-6,  -0x1.119423dbdfbafp-7, 0x1.c89acd5a882f4p-10};
/* the same in x − 2, 1.5 ≤ x ≤ 2.5; error 2^-55.8 */
ISO__TABLE double near_2[] = {
    0x1.b0ee6072093cep-2,  -0x1.9ae6509ea109fp-4,  0x1.0e0c9df293537p-5,  -0x1.95ce223a9cbcap-7,
    0x1.47974853a8971p-8,  -0x1.145121f99bfcbp-9,  0x1.dfebcf90eb739p-11, -0x1.a96a4012e3532p-12,
    0x1.7ed732b163e13p-13, -0x1.5c86b57473daap-14, 0x1.402f4aa433d56p-15, -0x1.28508a4e1225cp-16,
    0x1.13dbf1c05af4fp-17, -0x1.0228b32942da5p-18, 0x1.e6c3d6ee5de4ep-20, -0x1.cb47886049c89p-21,
    0x1.9ee08a0b0974fp-22, -0x1.89b6390c7108cp-23, 0x1.06400e9ad08b5p-23, -0x1.f50b7d72343dep-25};
/* x·(log Γ(x) − (x − ½)·log x + x − log √2π) in 1/x², x ≥ 10; error below 2^-54 */
ISO__TABLE double gamma_far[] = {0x1.5555555555555p-4,   -0x1.6c16c16c16c0bp-9, 0x1.a01a01a00116ep-11,
                                 -0x1.381380e9c5b5ep-11, 0x1.b9516963cb8cfp-11, -0x1.f677b5e4719e7p-10,
                                 0x1.9e027768ce529p-8,   -0x1.80d9b6a8f212ep-6};
/* x²·(log x − 1/(2x) − ψ(x)) in 1/x², x ≥ 10; error below 2^-54 */
ISO__TABLE double digamma_far[] = {0x1.5555555555555p-4,  -0x1.11111111110dfp-7, 0x1.04104103dcfb0p-8,
                                   -0x1.1111106fd5075p-8, 0x1.f07b24fc36f2dp-8,  -0x1.59609637f3c51p-6,
                                   0x1.4f05a054f4db8p-4,  -0x1.5e57d05c6fc3dp-2};
/* x³·(ψ′(x) − 1/x − 1/(2x²)) in 1/x², x ≥ 10; error below 2^-54 */
ISO__TABLE double trigamma_far[] = {0x1.5555555555555p-3,  -0x1.111111111110bp-5, 0x1.8618618610c2ep-6,
                                    -0x1.11111101b05d5p-5, 0x1.364d83c907b8bp-4,  -0x1.032bb904b8c4cp-2,
                                    0x1.29e7a112b8e28p+0,  -0x1.b2292343e16c2p+2, 0x1.26f341964d415p+5};

/* log Γ(y)/((y − 1)·(y − 2)), 0.7 ≤ y ≤ 2.5 */
static ISO__HD double near_zeros(double y) { return y < 1.55 ? HORNER(near_1, y - 1.0) : HORNER(near_2, y - 2.0); }
static ISO__HD double lgamma_positive(double x) { /* finite */
  if (x < 0.7) return fma(x * (x - 1.0), near_zeros(x + 1.0), -iso__log_f64(x));
  if (x < 10.0) {
    double p = 1.0;
    while (x >= 2.5) x -= 1.0, p *= x;                               /* exact differences */
    const double y = fma((x - 1.0) * (x - 2.0), near_zeros(x), 0.0); /* zeros are +0 */
    return p == 1.0 ? y : y + iso__log_f64(p);
  }
  const double r = 1.0 / x, rest = fma(r, HORNER(gamma_far, r * r), 0x1.d67f1c864beb5p-1);
  return fma(x - 0.5, iso__log_f64(x) - 1.0, rest - 0.5);
}
ISO__SHARED double iso__lgamma_f64(double x) {
  const double a = fabs(x);
  if (x != x) return x;
  if (a == (double)INFINITY || (x <= 0 && rint(x) == x)) return (double)INFINITY;
  if (x > 0) return lgamma_positive(x);
  if (a < 0x1p-60) return -iso__log_f64(a);
  return iso__log_f64(PI / (a * fabs(iso__sinpi_f64(a)))) - lgamma_positive(a);
}

/* Sums of 1/(x + i) and 1/(x + i)² up to x + i ≥ 10, ascending. */
static ISO__HD double digamma_positive(double x) {
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / x;
  const double r = 1.0 / x, h = r * r;
  return fma(-h, HORNER(digamma_far, h), fma(-0.5, r, iso__log_f64(x))) - sum;
}
ISO__SHARED double iso__digamma_f64(double x) {
  if (x != x || x == (double)INFINITY) return x;
  if (x == 0) return -copysign((double)INFINITY, x);
  if (x > 0) return digamma_positive(x);
  if (rint(x) == x) return (double)NAN;
  return fma(PI, iso__cospi_f64(x) / -iso__sinpi_f64(x), digamma_positive(1.0 - x));
}
static ISO__HD double trigamma_positive(double x) {
  double sum = 0.0;
  for (; x < 10.0; x += 1.0) sum += 1.0 / (x * x);
  const double r = 1.0 / x, h = r * r;
  return sum + fma(r * h, HORNER(trigamma_far, h), fma(0.5, h, r));
}
ISO__SHARED double iso__trigamma_f64(double x) {
  if (x != x) return x;
  if (x == (double)INFINITY) return 0.0;
  if (x > 0) return trigamma_positive(x);
  if (rint(x) == x) return (double)INFINITY;
  const double q = PI / iso__sinpi_f64(x);
  return fma(q, q, -trigamma_positive(1.0 - x));
}
