/* The f32 functions: their stated bounds against the C library's doubles, special values, and the same bits at every
 * vector width. Each run samples the 2^32 inputs; with ISOBIT_TEST_LONG=1 every one is tried (the scalar table, an
 * order slower, on every 61st), on two threads in a few hours. ISOBIT_TEST_MATH="lgamma erfinv" tries these functions
 * only, and with ISOBIT_TEST_PART=3/16 the fourth sixteenth of the inputs (0/16 is the first). */
#include "numeric_test.h"
#include "numeric/bulk.h"
#include "numeric/math_f32.h"
#include <isobit/numeric.h>
#include <math.h>
#include <pthread.h>

#define REAL double
#include "references.h"

#define PI 3.14159265358979323846

/* References in double: the C library's errors and those of the arguments below stay under 2^-20 of a float's ulp.
 * Where a function is x, 1 or 0 to a float's precision and more, that is said first, so that 2^32 calls stay cheap. */
static double ref_exp(double x) { return fabs(x) < 0x1p-40 ? 1 + x : x < -120 ? 0 : x > 100 ? 1e60 : exp(x); }
static double ref_exp2(double x) { return fabs(x) < 0x1p-40 ? 1 + x * 0.69 : x < -170 ? 0 : x > 140 ? 1e60 : exp2(x); }
static double ref_expm1(double x) { return fabs(x) < 0x1p-28 ? x : x < -50 ? -1 : x > 100 ? 1e60 : expm1(x); }
static double ref_log(double x) { return x < 0 ? (double)NAN : log(x); }
static double ref_log2(double x) { return x < 0 ? (double)NAN : log2(x); }
static double ref_log1p(double x) { return x < -1 ? (double)NAN : fabs(x) < 0x1p-28 ? x : log1p(x); }
static double ref_tanh(double x) {
  return fabs(x) < 0x1p-15 ? x * (1 - x * x / 3) : fabs(x) > 20 ? copysign(1, x) : tanh(x);
}
static double ref_sigmoid(double x) {
  if (fabs(x) < 0x1p-26) return 0.5 + 0.25 * x;
  const double z = ref_exp(-fabs(x));
  return x < 0 ? z / (1 + z) : 1 / (1 + z);
}
static double ref_silu(double x) { return x < -200 ? -0.0 : x > 200 ? x : x * ref_sigmoid(x); }
static double ref_silu_grad(double x) {
  if (fabs(x) > 200) return x > 0;
  const double s = ref_sigmoid(x);
  return s + x * s * ref_sigmoid(-x);
}
static double ref_softplus(double x) { return x > 40 ? x : x < -120 ? 0 : log1p(exp(x)); }
static double ref_erf(double x) {
  return fabs(x) < 0x1p-15 ? x * 1.1283791670955126 * (1 - x * x / 3) : fabs(x) > 5 ? copysign(1, x) : erf(x);
}
static double ref_phi(double x) {
  return fabs(x) < 0x1p-28 ? 0.5 + 0.3989422804014327 * x : 0.5 * erfc(-x * 0.70710678118654752440);
}
static double ref_gelu(double x) { return x < -20 ? -0.0 : x > 20 ? x : x * ref_phi(x); }
static double ref_gelu_grad(double x) {
  return fabs(x) > 20 ? x > 0 : ref_phi(x) + x * ref_exp(-0.5 * x * x) * 0.39894228040143267794;
}
static double gelu_argument(double x) { return 1.59576912160573071175978423973752747 * (x + 0.044715 * x * x * x); }
static double ref_gelu_tanh(double x) { return x < -20 ? -0.0 : x > 20 ? x : x * ref_sigmoid(gelu_argument(x)); }
static double ref_gelu_tanh_grad(double x) {
  if (fabs(x) > 20) return x > 0;
  const double y = gelu_argument(x), s = ref_sigmoid(y);
  return s + x * s * ref_sigmoid(-y) * 1.59576912160573071175978423973752747 * (1 + 3 * 0.044715 * x * x);
}
static double ref_rsqrt(double x) { return x < 0 ? (double)NAN : 1 / sqrt(x); }
static double turn(double x) { return fabs(x) >= 0x1p25 ? 0 * x : x - 2 * rint(0.5 * x); } /* x mod 2 in [−1, 1] */
static double ref_sinpi(double x) {
  const double y = turn(x), a = fabs(y);
  if (a == 0 || a == 1) return copysign(0, x);
  if (a < 0x1p-20) return PI * y;
  return copysign(a <= 0.25 ? sin(PI * a) : a <= 0.75 ? cos(PI * (0.5 - a)) : sin(PI * (1 - a)), y);
}
static double ref_cospi(double x) {
  const double a = fabs(turn(x));
  return a < 0x1p-20 ? 1 : a <= 0.25 ? cos(PI * a) : a <= 0.75 ? sin(PI * (0.5 - a)) : -cos(PI * (1 - a));
}

static double ref_lgamma(double x) { return lgamma(x); }
static double ref_log10(double x) { return x < 0 ? (double)NAN : log10(x); }
static double ref_erfc(double x) { return fabs(x) < 0x1p-28 ? 1 - x : x < -6 ? 2 : x > 15 ? 0 : erfc(x); }
static double ref_sin(double x) { return fabs(x) < 0x1p-28 ? x : sin(x); }
static double ref_cos(double x) { return fabs(x) < 0x1p-28 ? 1 : cos(x); }
static double ref_tan(double x) { return fabs(x) < 0x1p-28 ? x : tan(x); }
static double ref_asin(double x) { return fabs(x) < 0x1p-28 ? x : fabs(x) > 1 ? (double)NAN : asin(x); }
static double ref_acos(double x) { return fabs(x) > 1 ? (double)NAN : acos(x); }
static double ref_atan(double x) { return fabs(x) < 0x1p-28 ? x : atan(x); }
static double ref_sinh(double x) { return fabs(x) < 0x1p-28 ? x : x > 100 ? 1e60 : x < -100 ? -1e60 : sinh(x); }
static double ref_cosh(double x) { return fabs(x) < 0x1p-28 ? 1 : fabs(x) > 100 ? 1e60 : cosh(x); }
static double ref_asinh(double x) { return fabs(x) < 0x1p-28 ? x : asinh(x); }
static double ref_acosh(double x) { return x < 1 ? (double)NAN : acosh(x); }
static double ref_atanh(double x) { return fabs(x) < 0x1p-28 ? x : fabs(x) > 1 ? (double)NAN : atanh(x); }

/* Bounds as docs/numerics-math.md states them: in ulp of the result; of functions with zeros in
 * 2^-24 · max(1, |value|), everywhere or for x < 0 alone; of x·Φ(x) and its like in 2^-24 · |x|. */
enum measure { IN_ULP, ABSOLUTE, ABSOLUTE_BELOW_0, OF_ARGUMENT };
struct function {
  const char *name;
  double (*ref)(double);
  double bound;
  enum measure measure;
};
static const struct function functions[ISO__MATH_COUNT] = {
    [ISO__MATH_exp] = {"exp", ref_exp, 0.9, IN_ULP},
    [ISO__MATH_exp2] = {"exp2", ref_exp2, 0.87, IN_ULP},
    [ISO__MATH_expm1] = {"expm1", ref_expm1, 1.05, IN_ULP},
    [ISO__MATH_log] = {"log", ref_log, 0.93, IN_ULP},
    [ISO__MATH_log2] = {"log2", ref_log2, 1.14, IN_ULP},
    [ISO__MATH_log1p] = {"log1p", ref_log1p, 1.53, IN_ULP},
    [ISO__MATH_tanh] = {"tanh", ref_tanh, 2.2, IN_ULP},
    [ISO__MATH_sigmoid] = {"sigmoid", ref_sigmoid, 2.1, IN_ULP},
    [ISO__MATH_silu] = {"silu", ref_silu, 3, IN_ULP},
    [ISO__MATH_silu_grad] = {"silu_grad", ref_silu_grad, 1.8, ABSOLUTE},
    [ISO__MATH_softplus] = {"softplus", ref_softplus, 2.1, IN_ULP},
    [ISO__MATH_erf] = {"erf", ref_erf, 1.14, IN_ULP},
    [ISO__MATH_gelu] = {"gelu", ref_gelu, 1.6, OF_ARGUMENT},
    [ISO__MATH_gelu_grad] = {"gelu_grad", ref_gelu_grad, 1.95, ABSOLUTE},
    [ISO__MATH_gelu_tanh] = {"gelu_tanh", ref_gelu_tanh, 2, OF_ARGUMENT},
    [ISO__MATH_gelu_tanh_grad] = {"gelu_tanh_grad", ref_gelu_tanh_grad, 1.9, ABSOLUTE},
    [ISO__MATH_rsqrt] = {"rsqrt", ref_rsqrt, 1.5, IN_ULP},
    [ISO__MATH_sinpi] = {"sinpi", ref_sinpi, 0.97, IN_ULP},
    [ISO__MATH_cospi] = {"cospi", ref_cospi, 0.89, IN_ULP},
    [ISO__MATH_log_sigmoid] = {"log_sigmoid", ref_log_sigmoid, 2.1, IN_ULP},
    [ISO__MATH_mish] = {"mish", ref_mish, 0.501, IN_ULP},
    [ISO__MATH_mish_grad] = {"mish_grad", ref_mish_grad, 1.01, ABSOLUTE},
    [ISO__MATH_lgamma] = {"lgamma", ref_lgamma, 1.01, ABSOLUTE_BELOW_0},
    [ISO__MATH_digamma] = {"digamma", ref_digamma, 1.01, ABSOLUTE},
    [ISO__MATH_trigamma] = {"trigamma", ref_trigamma, 0.501, IN_ULP},
    [ISO__MATH_erfinv] = {"erfinv", ref_erfinv, 0.505, IN_ULP},
    [ISO__MATH_ndtri] = {"ndtri", ref_ndtri, 0.505, IN_ULP},
    [ISO__MATH_i0] = {"i0", ref_i0, 0.505, IN_ULP},
    [ISO__MATH_i0e] = {"i0e", ref_i0e, 0.505, IN_ULP},
    [ISO__MATH_i1] = {"i1", ref_i1, 0.505, IN_ULP},
    [ISO__MATH_i1e] = {"i1e", ref_i1e, 0.505, IN_ULP},
    [ISO__MATH_log10] = {"log10", ref_log10, 1.05, IN_ULP},
    [ISO__MATH_erfc] = {"erfc", ref_erfc, 0.501, IN_ULP},
    [ISO__MATH_sin] = {"sin", ref_sin, 0.9, IN_ULP},
    [ISO__MATH_cos] = {"cos", ref_cos, 0.9, IN_ULP},
    [ISO__MATH_tan] = {"tan", ref_tan, 1.2, IN_ULP},
    [ISO__MATH_asin] = {"asin", ref_asin, 1.12, IN_ULP},
    [ISO__MATH_acos] = {"acos", ref_acos, 1.1, IN_ULP},
    [ISO__MATH_atan] = {"atan", ref_atan, 1.25, IN_ULP},
    [ISO__MATH_sinh] = {"sinh", ref_sinh, 0.95, IN_ULP},
    [ISO__MATH_cosh] = {"cosh", ref_cosh, 0.9, IN_ULP},
    [ISO__MATH_asinh] = {"asinh", ref_asinh, 0.501, IN_ULP},
    [ISO__MATH_acosh] = {"acosh", ref_acosh, 0.501, IN_ULP},
    [ISO__MATH_atanh] = {"atanh", ref_atanh, 0.501, IN_ULP},
};

static enum measure measure_of(const struct function *f, float x) {
  return f->measure == ABSOLUTE_BELOW_0 ? (x < 0 ? ABSOLUTE : IN_ULP) : f->measure;
}

/* |got − want| in the last place of a float of want's size: 2^(exponent − 23), 2^−149 at least. */
static double error_in_ulp(double got, double want) {
  const uint64_t field = double_bits(want) >> 52 & 0x7ff;
  const uint64_t scale = 1023 + 23 + 1023 - (field > 1023 - 126 ? field : 1023 - 126);
  double factor;
  const uint64_t bits = scale << 52;
  memcpy(&factor, &bits, sizeof factor);
  return fabs(got - want) * factor;
}

struct verdict {
  double worst;
  float at;
  uint64_t n_wrong, n_differ; /* special values, signs; bits unlike the widest table's */
  float wrong_at, differs_at;
};

/* Judges one result. Infinity is right where the true value rounds to it. */
static void judge(struct verdict *v, float x, float got, double want, enum measure measure) {
  const float rounded = (float)want;
  const int finite = fabs((double)got) <= 0x1.fffffep127 && fabs((double)rounded) <= 0x1.fffffep127;
  if (!finite) {
    if (!(got == rounded || (got != got && want != want))) v->n_wrong++, v->wrong_at = x;
    return;
  }
  if (measure != ABSOLUTE && signbit(got) != signbit(rounded)) v->n_wrong++, v->wrong_at = x;
  const double unit = measure == ABSOLUTE ? fmax(1, fabs(want)) : fmax(0x1p-125, fabs((double)x));
  const double error = measure == IN_ULP ? error_in_ulp((double)got, want) : fabs((double)got - want) * 0x1p24 / unit;
  if (error > v->worst) v->worst = error, v->at = x;
}

static int same(float a, float b) { return float_bits(a) == float_bits(b) || (a != a && b != b); }

enum { BLOCK = 4096 };
struct work {
  int function;
  uint32_t stride; /* of the bit patterns tried */
  int every;       /* scalar table: every so many blocks */
  int part, n_parts;
  uint64_t begin, end; /* of the bit patterns */
  struct verdict verdict;
};

static void *try_inputs(void *arg) {
  struct work *w = arg;
  const struct function *f = &functions[w->function];
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables), widest = n_tables - 1;
  float x[BLOCK], y[BLOCK], other[BLOCK];
  uint64_t block = 0;
  for (uint64_t bits = w->begin; bits < w->end; block++) {
    const uint64_t first = bits;
    bits += (uint64_t)BLOCK * w->stride;
    if (block % (uint64_t)w->n_parts != (uint64_t)w->part) continue;
    size_t n = 0;
    for (uint64_t b = first; n < BLOCK && b < w->end; b += w->stride) x[n++] = bits_float((uint32_t)b);
    tables[widest]->math[w->function](x, y, n);
    for (int t = 0; t < widest; t++) {
      if (t == 0 && widest > 0 && block / (uint64_t)w->n_parts % (uint64_t)w->every) continue;
      tables[t]->math[w->function](x, other, n);
      if (!memcmp(other, y, n * sizeof *y)) continue;
      for (size_t i = 0; i < n; i++)
        if (!same(other[i], y[i])) w->verdict.n_differ++, w->verdict.differs_at = x[i];
    }
    for (size_t i = 0; i < n; i++) judge(&w->verdict, x[i], y[i], f->ref((double)x[i]), measure_of(f, x[i]));
  }
  return NULL;
}

/* Prints what was found; returns whether it is what the table promises. */
static int report(const char *name, const struct verdict *v, double bound) {
  printf("%-15s %.4f of %.3f at %a (%.9g)\n", name, v->worst, bound, (double)v->at, (double)v->at);
  if (v->n_wrong)
    printf("  special values or signs wrong: %llu, one at %a\n", (unsigned long long)v->n_wrong, (double)v->wrong_at);
  if (v->n_differ)
    printf("  instruction sets differ: %llu, one at %a\n", (unsigned long long)v->n_differ, (double)v->differs_at);
  if (!(v->worst <= bound)) printf("  beyond its bound\n");
  fflush(stdout);
  return !v->n_wrong && !v->n_differ && v->worst <= bound;
}

/* Whether `name` is a word of the environment's list, or there is none. */
static int is_wanted(const char *name) {
  const char *list = getenv("ISOBIT_TEST_MATH");
  const size_t length = strlen(name);
  for (const char *at = list; at && (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return 1;
  return !list;
}
/* The bit patterns from `begin` up to `end`: all, or the part that the environment names. */
static void part_of_inputs(uint64_t *begin, uint64_t *end) {
  const char *text = getenv("ISOBIT_TEST_PART");
  unsigned long long part = 0, n = 1;
  if (text && (sscanf(text, "%llu/%llu", &part, &n) != 2 || part >= n)) fail_msg("ISOBIT_TEST_PART=%s: not i/n", text);
  *begin = ((UINT64_C(1) << 32) / n) * part;
  *end = part + 1 < n ? ((UINT64_C(1) << 32) / n) * (part + 1) : UINT64_C(1) << 32;
}

static void bounds_and_equal_bits(void **state) {
  (void)state;
  uint64_t begin, end;
  part_of_inputs(&begin, &end);
  const int all = getenv("ISOBIT_TEST_LONG") != NULL;
  const uint32_t sample = getenv("ISOBIT_TEST_SANITIZED") ? 262139 : 4093; /* instrumented code is slow */
  int right = 1;
  for (int f = 0; f < ISO__MATH_COUNT; f++) {
    enum { THREADS = 2 };
    struct work work[THREADS];
    pthread_t thread[THREADS];
    if (!is_wanted(functions[f].name)) continue;
    for (int t = 0; t < THREADS; t++) {
      work[t] = (struct work){.function = f,
                              .stride = all ? 1 : sample,
                              .every = all ? 61 : 1,
                              .part = t,
                              .n_parts = THREADS,
                              .begin = begin,
                              .end = end};
      assert_int_equal(pthread_create(&thread[t], NULL, try_inputs, &work[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
    struct verdict v = work[0].verdict;
    for (int t = 1; t < THREADS; t++) {
      if (work[t].verdict.worst > v.worst) v.worst = work[t].verdict.worst, v.at = work[t].verdict.at;
      if (work[t].verdict.n_wrong) v.wrong_at = work[t].verdict.wrong_at;
      if (work[t].verdict.n_differ) v.differs_at = work[t].verdict.differs_at;
      v.n_wrong += work[t].verdict.n_wrong, v.n_differ += work[t].verdict.n_differ;
    }
    right &= report(functions[f].name, &v, functions[f].bound);
  }
  assert_true(right);
}

/* Values that a sample may miss: zeros, infinities, NaN, the ends of ranges, each with its neighbours; and ragged ends
 * of arrays, which must touch nothing beyond. */
static void special_values_everywhere(void **state) {
  (void)state;
  static const float centres[] = {0.0f,
                                  1.0f,
                                  0.5f,
                                  2.0f,
                                  0x1p-126f,
                                  0x1p-149f,
                                  0x1p-26f,
                                  0x1p-25f,
                                  0.92f,
                                  0.25f,
                                  0.75f,
                                  1.5f,
                                  4.0f,
                                  9.0107f,
                                  10.0f,
                                  11.0f,
                                  14.5f,
                                  17.33f,
                                  20.0f,
                                  87.33655f,
                                  88.722839f,
                                  89.0f,
                                  103.2789f,
                                  103.97208f,
                                  104.0f,
                                  120.0f,
                                  127.5f,
                                  128.0f,
                                  149.0f,
                                  150.0f,
                                  0x1p23f,
                                  0x1p24f,
                                  0x1p30f,
                                  0x1p31f,
                                  0x1.fffffep127f,
                                  /* multiples of pi/2 that come close to a float */ 0x1.921fb6p0f,
                                  0x1.921fb6p1f,
                                  0x1.2d97c8p2f,
                                  46099.7305f,
                                  0x1p16f,
                                  65535.9f,
                                  0x1.6ac5b2p30f,
                                  0x1.f3bd7ep116f,
                                  10.05f,
                                  10.1f,
                                  9.19f,
                                  89.415985f,
                                  90.0f,
                                  0x1p-10f,
                                  0x1p-12f,
                                  0x1p-28f,
                                  2.7182817f};
  enum { N_CENTRES = sizeof centres / sizeof *centres, N = N_CENTRES * 10 + 4, GUARD = 16 };
  float x[N];
  size_t n = 0;
  for (int i = 0; i < N_CENTRES; i++)
    for (int d = -2; d <= 2; d++)
      for (uint32_t sign = 0; sign < 2; sign++)
        x[n++] = bits_float((float_bits(centres[i]) + (uint32_t)d) ^ sign << 31);
  x[n++] = INFINITY, x[n++] = -INFINITY, x[n++] = NAN, x[n++] = bits_float(0xff800001);
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  for (int f = 0; f < ISO__MATH_COUNT; f++) {
    float scalar[N];
    tables[0]->math[f](x, scalar, N);
    struct verdict v = {0};
    for (int i = 0; i < N; i++)
      judge(&v, x[i], scalar[i], functions[f].ref((double)x[i]), measure_of(&functions[f], x[i]));
    assert_true(report(functions[f].name, &v, functions[f].bound));
    for (int t = 0; t < n_tables; t++)
      for (size_t first = 0; first + 40 < N; first += 7) {
        const size_t count = first % 37;
        float in[40 + GUARD], out[40 + 2 * GUARD];
        memset(out, 0x5a, sizeof out);
        memcpy(in, x + first, count * sizeof *in);
        tables[t]->math[f](in, out + GUARD, count);
        for (size_t i = 0; i < count; i++) assert_true(same(out[GUARD + i], scalar[first + i]));
        for (size_t i = 0; i < GUARD; i++) assert_int_equal(float_bits(out[i]), 0x5a5a5a5a);
        for (size_t i = 0; i < GUARD; i++) assert_int_equal(float_bits(out[GUARD + count + i]), 0x5a5a5a5a);
      }
  }
}

/* What must hold exactly. */
static void promises(void **state) {
  (void)state;
  assert_true(iso_f32_exp(0.0f) == 1 && iso_f32_exp(-0.0f) == 1 && iso_f32_exp2(0.0f) == 1);
  assert_int_equal(float_bits(iso_f32_exp(-INFINITY)), 0);
  for (int n = -149; n < 128; n++) {
    assert_true((double)iso_f32_exp2((float)n) == ldexp(1, n));
    assert_true((double)iso_f32_log2((float)ldexp(1, n)) == n);
  }
  assert_int_equal(float_bits(iso_f32_log(1.0f)), 0);
  assert_true(iso_f32_tanh(9.1f) == 1 && iso_f32_tanh(-40.0f) == -1 && iso_f32_erf(4.0f) == 1 &&
              iso_f32_erf(-INFINITY) == -1);
  assert_true(iso_f32_sigmoid(18.0f) == 1 && iso_f32_sigmoid(-INFINITY) == 0 && iso_f32_sigmoid(0.0f) == 0.5f);
  assert_true(iso_f32_expm1(-18.0f) == -1);
  for (int n = -4; n <= 4; n++) {
    assert_int_equal(float_bits(iso_f32_sinpi((float)n)), signbit((float)n) ? 0x80000000 : 0);
    assert_int_equal(float_bits(iso_f32_cospi((float)n + 0.5f)), 0);
    assert_true(iso_f32_cospi((float)n) == (n % 2 ? -1 : 1));
  }
  for (float power = 1, n = 0; n <= 10; power *= 10, n++) assert_true(iso_f32_log10(power) == n);
  assert_int_equal(float_bits(iso_f32_sin(-0.0f)), 0x80000000);
  assert_int_equal(float_bits(iso_f32_tan(-0.0f)), 0x80000000);
  assert_int_equal(float_bits(iso_f32_acos(1.0f)), 0);
  assert_int_equal(float_bits(iso_f32_acosh(1.0f)), 0);
  assert_true(iso_f32_cos(0.0f) == 1 && iso_f32_cosh(-0.0f) == 1 && iso_f32_erfc(0.0f) == 1);
  assert_true(iso_f32_erfc(-4.0f) == 2 && iso_f32_erfc(10.06f) == 0 && iso_f32_atanh(-1.0f) == -INFINITY);
  /* Saturation never overshoots. */
  for (uint32_t u = float_bits(7.0f); u < float_bits(12.0f); u++) {
    assert_true(iso_f32_tanh(bits_float(u)) <= 1);
    if (u > float_bits(7.0f)) assert_true(iso_f32_tanh(bits_float(u)) >= iso_f32_tanh(bits_float(u - 1)));
  }
}

/* ---- functions of two arguments ---- */

static double ref_pow(double x, double y) { return pow(x, y); }
static double ref_atan2(double y, double x) { return atan2(y, x); }
static double ref_hypot(double x, double y) { return hypot(x, y); }
static double ref_fmod(double x, double y) { return fmod(x, y); }

struct function_of_two {
  const char *name;
  double (*ref)(double, double);
  float (*one)(float, float);
  double bound;
  enum measure measure;
};
static const struct function_of_two functions_of_two[ISO__MATH2_COUNT] = {
    [ISO__MATH2_pow] = {"pow", ref_pow, iso_f32_pow, 0.501, IN_ULP},
    [ISO__MATH2_atan2] = {"atan2", ref_atan2, iso_f32_atan2, 0.501, IN_ULP},
    [ISO__MATH2_hypot] = {"hypot", ref_hypot, iso_f32_hypot, 0.501, IN_ULP},
    [ISO__MATH2_fmod] = {"fmod", ref_fmod, iso_f32_fmod, 0, IN_ULP},
    [ISO__MATH2_remainder] = {"remainder", ref_remainder, iso_f32_remainder, 0.501, IN_ULP},
    [ISO__MATH2_logaddexp] = {"logaddexp", ref_logaddexp, iso_f32_logaddexp, 2, ABSOLUTE},
};

static void special_pairs(void **state) {
  (void)state;
  static const float values[] = {
      0.0f,   1.0f,       2.0f,       3.0f,        0.5f,        2.5f,      0.999f,    1.001f,          127.0f,   149.0f,
      150.0f, 8388607.0f, 8388608.5f, 16777215.0f, 16777216.0f, 0x1p-126f, 0x1p-149f, 0x1.fffffep127f, INFINITY, NAN};
  enum { N = sizeof values / sizeof *values, PAIRS = 4 * N * N };
  static float x[PAIRS], y[PAIRS], z[PAIRS];
  size_t n = 0;
  for (int i = 0; i < 2 * N; i++)
    for (int j = 0; j < 2 * N; j++)
      x[n] = i < N ? values[i] : -values[i - N], y[n++] = j < N ? values[j] : -values[j - N];
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables);
  for (int f = 0; f < ISO__MATH2_COUNT; f++)
    for (int t = 0; t < n_tables; t++) {
      const struct function_of_two *function = &functions_of_two[f];
      struct verdict v = {0};
      tables[t]->math2[f](x, y, z, n);
      for (size_t i = 0; i < n; i++) {
        judge(&v, x[i], z[i], function->ref((double)x[i], (double)y[i]), function->measure);
        if (v.n_wrong) fail_msg("%s(%a, %a) = %a", function->name, (double)x[i], (double)y[i], (double)z[i]);
        assert_true(same(z[i], function->one(x[i], y[i])));
      }
      assert_true(report(function->name, &v, function->bound));
    }
}

struct pairs_work {
  int function;
  uint64_t seed, n_blocks;
  int every;
  struct verdict verdict;
};
/* A third of the pairs any bits at all, a third with results within pow's range for any x, a third with x near 1. */
static void *try_pairs(void *arg) {
  struct pairs_work *w = arg;
  const struct function_of_two *f = &functions_of_two[w->function];
  const struct iso__bulk *tables[3];
  const int n_tables = iso__bulk_available(tables), widest = n_tables - 1;
  float x[BLOCK], y[BLOCK], z[BLOCK], other[BLOCK];
  for (uint64_t block = 0; block < w->n_blocks; block++) {
    for (int i = 0; i < BLOCK; i++) {
      const uint64_t r = test_random(&w->seed);
      const double u = (double)(uint32_t)r * 0x1p-32;
      x[i] = bits_float((uint32_t)(r >> 32));
      if (i % 3 == 0) {
        y[i] = bits_float((uint32_t)r);
      } else {
        x[i] = i % 3 == 1 ? fabsf(x[i]) : (float)(0.8 + 0.4 * (double)(uint32_t)(r >> 32) * 0x1p-32);
        y[i] = (float)((2 * u - 1) * 150 / fabs(log2((double)x[i]) + 1e-30));
      }
    }
    tables[widest]->math2[w->function](x, y, z, BLOCK);
    for (int t = 0; t < widest; t++) {
      if (t == 0 && block % (uint64_t)w->every) continue;
      tables[t]->math2[w->function](x, y, other, BLOCK);
      for (int i = 0; i < BLOCK; i++)
        if (!same(other[i], z[i])) w->verdict.n_differ++, w->verdict.differs_at = x[i];
    }
    for (int i = 0; i < BLOCK; i++) judge(&w->verdict, x[i], z[i], f->ref((double)x[i], (double)y[i]), f->measure);
  }
  return NULL;
}
static void random_pairs(void **state) {
  (void)state;
  const int all = getenv("ISOBIT_TEST_LONG") != NULL;
  for (int f = 0; f < ISO__MATH2_COUNT; f++) {
    struct pairs_work work[2];
    pthread_t thread[2];
    if (!is_wanted(functions_of_two[f].name)) continue;
    for (int t = 0; t < 2; t++) {
      work[t] = (struct pairs_work){.function = f,
                                    .seed = 11 + (uint64_t)t,
                                    .n_blocks = (UINT64_C(1) << (all ? 26 : 20)) / BLOCK,
                                    .every = all ? 61 : 1};
      assert_int_equal(pthread_create(&thread[t], NULL, try_pairs, &work[t]), 0);
    }
    for (int t = 0; t < 2; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
    for (int t = 0; t < 2; t++)
      assert_true(report(functions_of_two[f].name, &work[t].verdict, functions_of_two[f].bound));
  }
}

/* The short way to exp for x ≤ 0 has exp's bits. */
static void exp_of_negative(void **state) {
  (void)state;
  static const uint32_t edges[] = {0x80000000, 0x80000001, 0xc2cf0000, 0xc2cff1b5, 0xc2cfffff,
                                   0xc2d00000, 0xc2d00001, 0xff7fffff, 0xff800000};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
    assert_true(float_bits(v_exp_of_negative(bits_float(edges[i]))) == float_bits(v_exp(bits_float(edges[i]))));
  for (uint32_t b = 0x80000000; b < 0xff800000; b += 251)
    assert_true(float_bits(v_exp_of_negative(bits_float(b))) == float_bits(v_exp(bits_float(b))));
  assert_true(isnan(v_exp_of_negative(NAN)) && v_exp_of_negative(0) == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(promises),        cmocka_unit_test(special_values_everywhere),
      cmocka_unit_test(exp_of_negative), cmocka_unit_test(bounds_and_equal_bits),
      cmocka_unit_test(special_pairs),   cmocka_unit_test(random_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
