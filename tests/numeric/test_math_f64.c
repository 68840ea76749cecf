/* The binary64 functions against the C library's long double ones: dense samples over the ranges where each has
 * something to do, every exponent besides, and special values. */
#include "numeric_test.h"
#include "numeric/math_f64.h"
#include <isobit/numeric.h>
#include <math.h>

#define REAL long double
#include "references.h"

#define PI_L 3.14159265358979323846264338327950288L
#define SQRT_HALF_L 0.707106781186547524400844362104849039L

static long double ref_sigmoid(long double x) { return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x)); }
static long double ref_silu(long double x) { return x < -11000 ? -0.0L : x * ref_sigmoid(x); }
static long double ref_silu_grad(long double x) {
  if (fabsl(x) > 11000) return x > 0;
  return ref_sigmoid(x) * (1 + x * ref_sigmoid(-x));
}
static long double ref_softplus(long double x) { return x > 100 ? x : log1pl(expl(x)); }
static long double ref_gelu(long double x) { return x < -150 ? -0.0L : x * 0.5L * erfcl(-x * SQRT_HALF_L); }
static long double ref_gelu_grad(long double x) {
  if (fabsl(x) > 100) return x > 0;
  return 0.5L * erfcl(-x * SQRT_HALF_L) + x * expl(-0.5L * x * x) / sqrtl(2 * PI_L);
}
static long double gelu_argument(long double x) { return 2 * sqrtl(2 / PI_L) * (x + 0.044715L * x * x * x); }
static long double ref_gelu_tanh(long double x) {
  if (fabsl(x) > 50) return x > 0 ? x : -0.0L;
  return x * ref_sigmoid(gelu_argument(x));
}
static long double ref_gelu_tanh_grad(long double x) {
  if (fabsl(x) > 50) return x > 0;
  const long double y = gelu_argument(x), s = ref_sigmoid(y);
  return s + x * s * ref_sigmoid(-y) * 2 * sqrtl(2 / PI_L) * (1 + 3 * 0.044715L * x * x);
}
static long double ref_rsqrt(long double x) { return 1 / sqrtl(x); }
static long double ref_sinpi(long double x) {
  long double y = remainderl(x, 2);
  if (y == 0 || fabsl(y) == 1) return copysignl(0, x);
  if (fabsl(y) > 0.5L) y = copysignl(1 - fabsl(y), y);
  return fabsl(y) > 0.25L ? copysignl(cosl(PI_L * (0.5L - fabsl(y))), y) : sinl(PI_L * y);
}
static long double ref_cospi(long double x) {
  const long double y = fabsl(remainderl(x, 2));
  return y < 0.25L ? cosl(PI_L * y) : y < 0.75L ? sinl(PI_L * (0.5L - y)) : -cosl(PI_L * (1 - y));
}

struct function {
  const char *name;
  double (*f)(double);
  long double (*ref)(long double);
  double low, high; /* where it is sampled densely */
  double bound; /* in ulp, of which the references of gelu and gelu_tanh take up to one in the far tail; of a gradient,
                   which has zeros, in 2^-53 · max(1, |value|) */
  int gradient;
};
static const struct function functions[] = {
    {"exp", iso__exp_f64, expl, -746, 710, 0.88, 0},
    {"exp2", iso__exp2_f64, exp2l, -1076, 1024, 0.88, 0},
    {"expm1", iso__expm1_f64, expm1l, -40, 710, 1.2, 0},
    {"log", iso__log_f64, logl, 0, 10, 1.0, 0},
    {"log2", iso__log2_f64, log2l, 0, 10, 1.0, 0},
    {"log1p", iso__log1p_f64, log1pl, -1, 10, 1.5, 0},
    {"tanh", iso__tanh_f64, tanhl, -20, 20, 0.95, 0},
    {"sigmoid", iso__sigmoid_f64, ref_sigmoid, -750, 40, 0.9, 0},
    {"silu", iso__silu_f64, ref_silu, -760, 40, 1.0, 0},
    {"silu_grad", iso__silu_grad_f64, ref_silu_grad, -40, 40, 4, 1},
    {"softplus", iso__softplus_f64, ref_softplus, -750, 40, 1.8, 0},
    {"erf", iso__erf_f64, erfl, -6, 6, 1.4, 0},
    {"gelu", iso__gelu_f64, ref_gelu, -38.7, 8, 2.2, 0},
    {"gelu_grad", iso__gelu_grad_f64, ref_gelu_grad, -10, 10, 4, 1},
    {"gelu_tanh", iso__gelu_tanh_f64, ref_gelu_tanh, -22, 8, 2.0, 0},
    {"gelu_tanh_grad", iso__gelu_tanh_grad_f64, ref_gelu_tanh_grad, -10, 10, 5, 1},
    {"rsqrt", iso__rsqrt_f64, ref_rsqrt, 0, 4, 1.5, 0},
    {"sinpi", iso__sinpi_f64, ref_sinpi, -3, 3, 1.0, 0},
    {"cospi", iso__cospi_f64, ref_cospi, -3, 3, 0.9, 0},
    {"log10", iso__log10_f64, log10l, 0, 10, 0.51, 0},
    {"sin", iso__sin_f64, sinl, -3000, 3000, 0.85, 0},
    {"cos", iso__cos_f64, cosl, -3000, 3000, 0.85, 0},
    {"tan", iso__tan_f64, tanl, -3000, 3000, 0.95, 0},
    {"asin", iso__asin_f64, asinl, -1, 1, 0.65, 0},
    {"acos", iso__acos_f64, acosl, -1, 1, 0.65, 0},
    {"atan", iso__atan_f64, atanl, -10, 10, 0.7, 0},
    {"sinh", iso__sinh_f64, sinhl, -40, 40, 0.9, 0},
    {"cosh", iso__cosh_f64, coshl, -40, 40, 0.9, 0},
    {"asinh", iso__asinh_f64, asinhl, -10, 10, 0.51, 0},
    {"acosh", iso__acosh_f64, acoshl, 1, 10, 0.51, 0},
    {"atanh", iso__atanh_f64, atanhl, -1, 1, 0.51, 0},
    {"log_sigmoid", iso__log_sigmoid_f64, ref_log_sigmoid, -40, 750, 1.8, 0},
    {"mish", iso__mish_f64, ref_mish, -760, 40, 4, 0},
    {"mish_grad", iso__mish_grad_f64, ref_mish_grad, -40, 40, 5, 1},
    {"lgamma", iso__lgamma_f64, lgammal, 0, 30, 4, 0},
    {"lgamma, x < 0", iso__lgamma_f64, lgammal, -30, 0, 10, 1},
    {"digamma", iso__digamma_f64, ref_digamma, -30, 30, 100, 1},
    {"trigamma", iso__trigamma_f64, ref_trigamma, -30, 30, 5, 0},
    {"erfinv", iso__erfinv_f64, ref_erfinv, -1, 1, 3, 0},
    {"ndtri", iso__ndtri_f64, ref_ndtri, 0, 1, 3, 0},
    {"i0", iso__i0_f64, ref_i0, -715, 715, 6, 0},
    {"i0e", iso__i0e_f64, ref_i0e, -40, 40, 4, 0},
    {"i1", iso__i1_f64, ref_i1, -715, 715, 6, 0},
    {"i1e", iso__i1e_f64, ref_i1e, -40, 40, 4, 0},
    {"erfc", iso__erfc_f64, erfcl, -6, 27.4, 2.9, 0},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static long double error_in_ulp(double got, long double want, int gradient) {
  int e;
  if (gradient) return fabsl((long double)got - want) * 0x1p53L / fmaxl(1, fabsl(want));
  frexpl(want, &e);
  return ldexpl(fabsl((long double)got - want), 53 - (e > -1021 ? e : -1021));
}

static void check(const struct function *f, double x, long double *worst, double *at) {
  const double got = f->f(x);
  const long double want = f->ref((long double)x);
  const double rounded = (double)want;
  if (isnan(want) || isnan(got)) {
    if (isnan(want) && isnan(got)) return;
    fail_msg("%s(%a) = %a, not %a", f->name, x, got, rounded);
  }
  if (isinf(rounded) || isinf(got)) {
    if (rounded != got) fail_msg("%s(%a) = %a, not %a", f->name, x, got, rounded);
    return;
  }
  if (!f->gradient && !signbit(got) != !signbit(rounded)) fail_msg("%s(%a) = %a: sign", f->name, x, got);
  const long double error = error_in_ulp(got, want, f->gradient);
  if (error > *worst) *worst = error, *at = x;
}

static void bounds(void **state) {
  (void)state;
  const int dense = getenv("ISOBIT_TEST_LONG") ? 3000000 : 60000;
  for (int i = 0; i < N_FUNCTIONS; i++) {
    const struct function *f = &functions[i];
    long double worst = 0;
    double at = 0;
    uint64_t seed = 1;
    for (int k = 0; k < dense; k++) {
      const double u = (double)(test_random(&seed) >> 11) * 0x1p-53;
      check(f, f->low + (f->high - f->low) * u, &worst, &at);
      check(f, (f->low + (f->high - f->low) * u) * 0x1p-4, &worst, &at);
    }
    for (int exponent = 0; exponent < 2047; exponent++)
      for (int k = 0; k < (dense > 100000 ? 200 : 8); k++)
        for (int sign = 0; sign < 2; sign++) {
          const uint64_t bits = (uint64_t)sign << 63 | (uint64_t)exponent << 52 | test_random(&seed) >> 12;
          double x;
          memcpy(&x, &bits, sizeof x);
          check(f, x, &worst, &at);
        }
    static const double special[] = {0.0,
                                     -0.0,
                                     1.0,
                                     -1.0,
                                     0.5,
                                     -0.5,
                                     2.0,
                                     1e300,
                                     -1e300,
                                     0x1p-1074,
                                     -0x1p-1074,
                                     0x1p-1022,
                                     0.25,
                                     0.75,
                                     1.5,
                                     0x1p52,
                                     0x1p53,
                                     1e16 + 2,
                                     0x1.6ac5b262ca1ffp849 /* closest to a multiple of pi/2 */,
                                     0x1p20,
                                     710.475860073944,
                                     22,
                                     27.22,
                                     0.7071};
    for (size_t k = 0; k < sizeof special / sizeof *special; k++) check(f, special[k], &worst, &at);
    check(f, (double)INFINITY, &worst, &at);
    if (strcmp(f->name, "silu") && strcmp(f->name, "gelu")) check(f, -(double)INFINITY, &worst, &at);
    check(f, (double)NAN, &worst, &at);
    printf("%-15s %.4Lf of %.2f at %a\n", f->name, worst, f->bound, at);
    assert_true(worst <= (long double)f->bound);
  }
}

static void power(void **state) {
  (void)state;
  const int n = getenv("ISOBIT_TEST_LONG") ? 5000000 : 200000;
  long double worst = 0;
  uint64_t seed = 4;
  for (int k = 0; k < n; k++) {
    const double u = (double)(test_random(&seed) >> 11) * 0x1p-53, v = (double)(test_random(&seed) >> 11) * 0x1p-53;
    const double x = k % 3 == 0   ? ldexp(1 + u, (int)(test_random(&seed) % 2140) - 1074)
                     : k % 3 == 1 ? 2 * u
                                  : 1 + (u - 0.5) * 0x1p-10;
    const double y = (v - 0.5) * 2.1 * 744 / fabs(log(x) + 1e-300);
    const long double want = powl((long double)x, (long double)y);
    const double got = iso__pow_f64(x, y);
    if (isinf((double)want) || isinf(got)) {
      assert_true((double)want == got);
      continue;
    }
    const long double error = error_in_ulp(got, want, 0);
    if (error > worst) worst = error;
  }
  printf("pow             %.4Lf of 1.25\n", worst);
  assert_true(worst <= 1.25L);
  static const double values[] = {
      0.0, 1, 2, 3, 0.5, 2.5, 4, 1e300, 1e-300, 0x1p-1074, 9007199254740991.0, 9007199254740992.0, INFINITY, NAN};
  enum { N = sizeof values / sizeof *values };
  for (int i = 0; i < 2 * N; i++)
    for (int j = 0; j < 2 * N; j++) {
      const double x = i < N ? values[i] : -values[i - N], y = j < N ? values[j] : -values[j - N];
      const double want = pow(x, y), got = iso__pow_f64(x, y);
      if (isnan(want) ? !isnan(got) : fabs(got - want) > 1e-15 * fabs(want) || !signbit(got) != !signbit(want))
        fail_msg("pow(%a, %a) = %a, not %a", x, y, got, want);
    }
}

struct function_of_two {
  const char *name;
  double (*f)(double, double), (*public_face)(double, double);
  long double (*ref)(long double, long double);
  long double bound; /* in ulp; of an absolute one in 2^-53 · max(1, |value|) */
  int absolute;
};
static const struct function_of_two functions_of_two[] = {
    {"atan2", iso__atan2_f64, iso_f64_atan2, atan2l, 0.8L, 0},
    {"hypot", iso__hypot_f64, iso_f64_hypot, hypotl, 0.51L, 0},
    {"fmod", iso__fmod_f64, iso_f64_fmod, fmodl, 0, 0},
    {"remainder", iso__remainder_f64, iso_f64_remainder, ref_remainder, 0.501L, 0},
    {"logaddexp", iso__logaddexp_f64, iso_f64_logaddexp, ref_logaddexp, 2, 1},
};
enum { N_FUNCTIONS_OF_TWO = sizeof functions_of_two / sizeof *functions_of_two };

static void check_pair(const struct function_of_two *f, double x, double y, long double *worst) {
  const double got = f->f(x, y);
  const long double want = f->ref((long double)x, (long double)y);
  const double rounded = (double)want;
  if (isnan(got) || isnan(rounded) || isinf(got) || isinf(rounded)) {
    if (!(got == rounded || (isnan(got) && isnan(rounded)))) fail_msg("%s(%a, %a) = %a", f->name, x, y, got);
    return;
  }
  if (!f->absolute && !signbit(got) != !signbit(rounded)) fail_msg("%s(%a, %a) = %a: sign", f->name, x, y, got);
  *worst = fmaxl(*worst, error_in_ulp(got, want, f->absolute));
}
static void pairs(void **state) {
  (void)state;
  static const double values[] = {0.0, 1, 2, 0.3, 3, 1e300, 1e-300, 0x1p-1074, 0x1.fffffffffffffp1023, INFINITY, NAN};
  enum { N = sizeof values / sizeof *values };
  const int n = getenv("ISOBIT_TEST_LONG") ? 5000000 : 100000;
  for (int i = 0; i < N_FUNCTIONS_OF_TWO; i++) {
    const struct function_of_two *f = &functions_of_two[i];
    long double worst = 0;
    uint64_t seed = 5;
    for (int k = 0; k < n; k++) { /* alike, near and far apart, in the middle and at the ends of the range */
      const double u = (double)(test_random(&seed) >> 11) * 0x1p-53 - 0.5;
      const double v = (double)(test_random(&seed) >> 11) * 0x1p-53 - 0.5;
      const int spread = k % 2 ? 8 : 2000, shift = k % 4 < 2 ? 0 : 300;
      const double x = ldexp(u, (int)(test_random(&seed) % (unsigned)spread) - spread / 2 + shift);
      const double y = ldexp(v, (int)(test_random(&seed) % (unsigned)spread) - spread / 2 + shift);
      check_pair(f, x, y, &worst);
    }
    for (int a = 0; a < 2 * N; a++)
      for (int b = 0; b < 2 * N; b++) {
        const double x = a < N ? values[a] : -values[a - N], y = b < N ? values[b] : -values[b - N];
        check_pair(f, x, y, &worst);
        const double public = f->public_face(x, y), own = f->f(x, y);
        assert_true(public == own || (isnan(public) && isnan(own)));
      }
    printf("%-15s %.4Lf of %.3Lf\n", f->name, worst, f->bound);
    assert_true(worst <= f->bound);
  }
}

static void powers_of_ten(void **state) {
  (void)state;
  double power = 1;
  for (int n = 0; n <= 22; n++, power *= 10) assert_true(iso__log10_f64(power) == n);
}

static void integer_power_is_by_squaring(void **state) {
  (void)state;
  const double x = 0.999;
  assert_true(iso__powi_f64(x, 13) == x * (x * x * (x * x)) * (x * x * (x * x) * (x * x * (x * x))));
  assert_true(iso__powi_f64(x, 0) == 1 && iso__powi_f64(NAN, 0) == 1);
  assert_true(iso__powi_f64(x, -3) == 1 / (x * (x * x)));
  assert_true(iso__powi_f64(2, -1074) == 1 / (double)INFINITY); /* 1/2^1074: the power itself overflows */
  assert_true(iso_f64_powi(-2, 3) == -8);
  assert_true(fabs(iso__powi_f64(x, 1000000) - pow(x, 1e6)) <= 1e-9 * pow(x, 1e6));
}

/* The public face is these very functions. */
static void public_face(void **state) {
  (void)state;
  assert_true(iso_f64_exp(1.25) == iso__exp_f64(1.25) && iso_f64_gelu_tanh(-3.5) == iso__gelu_tanh_f64(-3.5));
  assert_true(iso_f64_pow(1.25, 7.5) == iso__pow_f64(1.25, 7.5) && iso_f64_cospi(0.2) == iso__cospi_f64(0.2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds),
      cmocka_unit_test(power),
      cmocka_unit_test(pairs),
      cmocka_unit_test(powers_of_ten),
      cmocka_unit_test(integer_power_is_by_squaring),
      cmocka_unit_test(public_face),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
