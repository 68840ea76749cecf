/* test_random.c: ops/random: moments and bounds at fixed seeds, formulas element by element, the same bits on any
 * number of threads, refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

enum { N = 20000 };
static iso_context *ctx;
static double got[N];

static iso_context *open_context(int n_threads) {
  iso_context *made;
  iso_policy policy;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  policy.seed = 11;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &made), ISO_OK);
  iso_scope_push(made);
  return made;
}
static int setup(void **state) {
  (void)state;
  ctx = open_context(2);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return 0;
}
static void expect_error(iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
/* Into got; the number of elements. */
static int64_t read_all(const iso_tensor *t) {
  if (!t) fail_msg("%s", iso_error_message(ctx));
  const int64_t n = iso_tensor_numel(t);
  assert_in_range(n, 0, N);
  assert_int_equal(iso_tensor_copy_to(iso_cast(ctx, t, ISO_F64), got, sizeof(double) * (size_t)n), ISO_OK);
  return n;
}
static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static double mean(void) {
  double sum = 0;
  for (int i = 0; i < N; i++) sum += got[i];
  return sum / N;
}
static double variance(void) {
  const double m = mean();
  double sum = 0;
  for (int i = 0; i < N; i++) sum += (got[i] - m) * (got[i] - m);
  return sum / N;
}
static double median(void) {
  qsort(got, N, sizeof *got, by_value);
  return got[N / 2];
}
static void near(const char *what, double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance)) fail_msg("%s is %g, expected %g", what, value, expected);
}
#define NEAR(value, expected, tolerance) near(#value, value, expected, tolerance)
#define LARGE 1, ISO_DIMS(N)

/* Five standard errors of the mean, and of the variance. */
static void test_distributions(void **state) {
  (void)state;
  static const iso_dtype dtypes[] = {ISO_F32, ISO_F64};
  for (int d = 0; d < 2; d++) {
    const iso_dtype t = dtypes[d];
    read_all(iso_random_exponential(ctx, t, LARGE, 2));
    NEAR(mean(), 0.5, 0.018), NEAR(variance(), 0.25, 0.026);
    for (int i = 0; i < N; i++) assert_true(got[i] > 0);
    NEAR(median(), log(2) / 2, 0.018);
    read_all(iso_random_geometric(ctx, t, LARGE, 0.25));
    NEAR(mean(), 4, 0.13), NEAR(variance(), 12, 1.3);
    for (int i = 0; i < N; i++) assert_true(got[i] >= 1 && got[i] == floor(got[i]));
    read_all(iso_random_geometric(ctx, t, LARGE, 1));
    for (int i = 0; i < N; i++) assert_true(got[i] == 1);
    read_all(iso_random_cauchy(ctx, t, LARGE, 3, 2));
    NEAR(median(), 3, 0.12);
    NEAR(got[3 * N / 4] - got[N / 4], 4, 0.25);
    read_all(iso_random_log_normal(ctx, t, LARGE, 1, 0.5));
    NEAR(mean(), exp(1.125), 0.06), NEAR(median(), exp(1), 0.07);
    read_all(iso_randn_like(ctx, iso_tensor_zeros(ctx, t, LARGE)));
    NEAR(mean(), 0, 0.036), NEAR(variance(), 1, 0.05);
    read_all(iso_rand_like(ctx, iso_tensor_zeros(ctx, t, LARGE)));
    NEAR(mean(), 0.5, 0.011), NEAR(variance(), 1 / 12.0, 0.003);
    for (int i = 0; i < N; i++) assert_true(got[i] >= 0 && got[i] < 1);
  }
}

/* Moments of the normal distribution between bounds, in the middle and far out in either tail. */
static void test_truncated_normal(void **state) {
  (void)state;
  read_all(iso_random_truncated_normal(ctx, ISO_F32, LARGE, NULL));
  NEAR(mean(), 0, 0.032), NEAR(variance(), 0.7737, 0.03);
  for (int i = 0; i < N; i++) assert_true(fabs(got[i]) <= 2);
  static const double bounds[][2] = {{5, 6}, {-6, -5}, {12, INFINITY}};
  static const double means[] = {5.1847, -5.1847, 12.0822};
  for (int b = 0; b < 3; b++) {
    read_all(iso_random_truncated_normal(
        ctx, ISO_F64, LARGE, &(iso_truncated_normal_options){.sd = 1, .low = bounds[b][0], .high = bounds[b][1]}));
    NEAR(mean(), means[b], 0.01);
    for (int i = 0; i < N; i++) assert_true(got[i] >= bounds[b][0] && got[i] <= bounds[b][1]);
  }
  read_all(iso_random_truncated_normal(
      ctx, ISO_F64, LARGE, &(iso_truncated_normal_options){.mean = 2, .sd = 3, .low = -INFINITY, .high = INFINITY}));
  NEAR(mean(), 2, 0.11), NEAR(variance(), 9, 0.45);
  assert_null(iso_random_truncated_normal(ctx, ISO_F32, LARGE, &(iso_truncated_normal_options){.low = 2, .high = 1}));
  expect_error(ISO_INVALID_ARGUMENT, "the bounds are 2 and 1");
  assert_null(iso_random_truncated_normal(ctx, ISO_F32, LARGE, &(iso_truncated_normal_options){.low = 50, .high = 51}));
  expect_error(ISO_INVALID_ARGUMENT, "no numbers between 50 and 51");
  assert_null(iso_random_truncated_normal(ctx, ISO_F32, LARGE, &(iso_truncated_normal_options){.sd = -1}));
  expect_error(ISO_INVALID_ARGUMENT, "the standard deviation is -1");
}

/* The documented formula, from the public words. */
static void test_formulas(void **state) {
  (void)state;
  iso_random_set_step(ctx, 9);
  const iso_philox at = {.seed = 11, .stream = ISO_PHILOX_GRAPH, .step = 9};
  iso_tensor *x = iso_random_exponential(ctx, ISO_F64, 1, ISO_DIMS(300), 2);
  read_all(x);
  uint64_t draws[300];
  assert_true(iso_philox_draws(&at, 0, 300, draws));
  for (int i = 0; i < 300; i++) assert_true(got[i] == -iso_f64_log(((double)(draws[i] >> 12) + 0.5) * 0x1p-52) / 2);
  iso_random_set_step(ctx, 9);
  read_all(iso_randint(ctx, ISO_I64, 1, ISO_DIMS(300), -7, 1000));
  for (int i = 0; i < 300; i++) {
    const double exact = floor((double)(draws[i] >> 11) * 0x1p-53 * 1007) - 7;
    NEAR(got[i], exact, 0);
  }
}

static void test_integers(void **state) {
  (void)state;
  static const struct {
    iso_dtype dtype;
    int64_t low, high;
  } cases[] = {{ISO_I64, -3, 4}, {ISO_I32, -3, 4}, {ISO_F32, -3, 4}, {ISO_U8, 0, 7}, {ISO_F64, 10, 17}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int count[7] = {0};
    read_all(iso_randint(ctx, cases[c].dtype, LARGE, cases[c].low, cases[c].high));
    for (int i = 0; i < N; i++) {
      assert_true(got[i] >= (double)cases[c].low && got[i] < (double)cases[c].high);
      count[(int)(got[i] - (double)cases[c].low)]++;
    }
    for (int v = 0; v < 7; v++) NEAR(count[v], N / 7.0, 250);
  }
  int64_t wide[100];
  int negative = 0;
  iso_tensor *whole = iso_randint(ctx, ISO_I64, 1, ISO_DIMS(100), INT64_MIN, INT64_MAX);
  assert_int_equal(iso_tensor_copy_to(whole, wide, sizeof wide), ISO_OK);
  for (int i = 0; i < 100; i++) negative += wide[i] < 0;
  assert_in_range(negative, 30, 70);
  assert_int_equal(iso_tensor_numel(iso_randint_like(ctx, whole, 0, 3)), 100);
  assert_null(iso_randint(ctx, ISO_U8, 1, ISO_DIMS(3), 0, 257));
  expect_error(ISO_INVALID_ARGUMENT, "u8 does not hold every integer of [0, 257)");
  assert_null(iso_randint(ctx, ISO_I64, 1, ISO_DIMS(3), 5, 5));
  expect_error(ISO_INVALID_ARGUMENT, "no integer lies in [5, 5)");
}

static void test_permutation(void **state) {
  (void)state;
  int64_t p[1000];
  char seen[1000] = {0};
  assert_int_equal(iso_tensor_copy_to(iso_randperm(ctx, 1000), p, sizeof p), ISO_OK);
  int fixed = 0;
  for (int i = 0; i < 1000; i++) {
    assert_in_range(p[i], 0, 999);
    assert_false(seen[p[i]]);
    seen[p[i]] = 1;
    fixed += p[i] == i;
  }
  assert_in_range(fixed, 0, 8);
  assert_int_equal(iso_tensor_numel(iso_randperm(ctx, 0)), 0);
  assert_null(iso_randperm(ctx, -1));
  expect_error(ISO_INVALID_ARGUMENT, "n is -1");
}

static iso_tensor *vector(int64_t n, const double *values) { return iso_tensor_copy_from(ctx, ISO_F64, 1, &n, values); }

static void test_multinomial(void **state) {
  (void)state;
  static const double w[] = {1, 0, 3, 4, 0};
  iso_tensor *weights = vector(5, w);
  int count[5] = {0};
  read_all(iso_multinomial(ctx, weights, N, true));
  for (int i = 0; i < N; i++) count[(int)got[i]]++;
  for (int c = 0; c < 5; c++) NEAR(count[c], N * w[c] / 8, 360 * (w[c] > 0));
  /* Without replacement: the first is drawn by weight, the second by what is left. */
  const int rows = 5000;
  int pairs[5][5] = {{0}};
  iso_tensor *many = iso_expand(ctx, weights, 2, ISO_DIMS(rows, 5));
  read_all(iso_multinomial(ctx, iso_cast(ctx, many, ISO_F32), 3, false));
  for (int r = 0; r < rows; r++) {
    assert_true(got[3 * r] + got[3 * r + 1] + got[3 * r + 2] == 0 + 2 + 3);
    pairs[(int)got[3 * r]][(int)got[3 * r + 1]]++;
  }
  for (int a = 0; a < 5; a++)
    for (int b = 0; b < 5; b++)
      NEAR(pairs[a][b], a == b ? 0 : rows * w[a] / 8 * w[b] / (8 - w[a]), 175 * (w[a] * w[b] > 0 && a != b));
  assert_null(iso_multinomial(ctx, weights, 4, false));
  expect_error(ISO_INVALID_ARGUMENT, "row 0 has 3 weights above 0: 4 categories");
  assert_null(iso_multinomial(ctx, weights, 6, false));
  expect_error(ISO_INVALID_ARGUMENT, "6 categories to draw of 5 without replacement");
  assert_null(iso_multinomial(ctx, vector(2, (double[]){1, -2}), 1, true));
  expect_error(ISO_INVALID_ARGUMENT, "weight 1 of row 0 is -2");
  assert_null(iso_multinomial(ctx, vector(2, (double[]){1e308, 1e308}), 1, true));
  expect_error(ISO_INVALID_ARGUMENT, "add up to infinity");
  assert_null(iso_multinomial(ctx, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(0)), 1, true));
  expect_error(ISO_SHAPE_MISMATCH, "weights have shape (0)");
}

static void test_parameters_in_tensors(void **state) {
  (void)state;
  iso_tensor *p = iso_linspace(ctx, ISO_F32, 0, 1, 4);
  iso_tensor *grid = iso_expand(ctx, p, 2, ISO_DIMS(N / 4, 4));
  int count[4] = {0};
  read_all(iso_bernoulli(ctx, grid));
  for (int i = 0; i < N; i++) count[i % 4] += (int)got[i];
  for (int c = 0; c < 4; c++) NEAR(count[c], N / 4 * c / 3.0, c % 3 ? 170 : 0);
  assert_null(iso_bernoulli(ctx, vector(3, (double[]){0, 1, 1.5})));
  expect_error(ISO_INVALID_ARGUMENT, "element 2 of p is 1.5");
  /* The same z as random_normal at the same place, by the formula. */
  iso_random_set_step(ctx, 3);
  iso_tensor *z = iso_random_normal(ctx, ISO_F64, 2, ISO_DIMS(3, 2), 0, 1);
  iso_random_set_step(ctx, 3);
  iso_tensor *m = iso_tensor_copy_from(ctx, ISO_F64, 2, ISO_DIMS(3, 1), (double[]){1, 10, 100});
  iso_tensor *x = iso_normal(ctx, m, vector(2, (double[]){0, 2}));
  bool same;
  assert_int_equal(iso_equal(ctx, x, iso_add(ctx, m, iso_mul(ctx, vector(2, (double[]){0, 2}), z)), &same), ISO_OK);
  assert_true(same);
  assert_null(iso_normal(ctx, m, vector(2, (double[]){1, -1})));
  expect_error(ISO_INVALID_ARGUMENT, "element 1 of the standard deviations is -1");
}

/* Whole channels go or stay, scaled; infinities leave no NaN; (C,L) has channels first. */
static void test_channel_dropout(void **state) {
  (void)state;
  iso_tensor *x = iso_tensor_full(ctx, ISO_F32, 3, ISO_DIMS(100, 20, 10), 3);
  int dropped = 0;
  read_all(iso_dropout1d(ctx, x, 0.25, true));
  for (int c = 0; c < 2000; c++) {
    dropped += got[10 * c] == 0;
    for (int i = 0; i < 10; i++) assert_true(got[10 * c + i] == got[10 * c] && (got[10 * c] == 0 || got[10 * c] == 4));
  }
  NEAR(dropped, 500, 100);
  read_all(iso_dropout2d(ctx, iso_tensor_full(ctx, ISO_F32, 4, ISO_DIMS(2, 3, 2, 2), INFINITY), 0.5, true));
  for (int i = 0; i < 24; i++) assert_true(got[i] == got[i / 4 * 4] && (got[i] == 0 || got[i] == INFINITY));
  read_all(iso_dropout3d(ctx, iso_tensor_full(ctx, ISO_F64, 4, ISO_DIMS(50, 2, 2, 2), 1), 0.5, true));
  for (int i = 0; i < 400; i++) assert_true(got[i] == got[i / 8 * 8]);
  read_all(iso_dropout1d(ctx, iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(40, 2), 1), 1, true));
  for (int i = 0; i < 80; i++) assert_true(got[i] == 0 && !signbit(got[i]));
  assert_ptr_equal(iso_tensor_data(iso_dropout2d(ctx, x, 0.5, false)), iso_tensor_data(x));
  assert_null(iso_dropout2d(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 2)), 0.5, true));
  expect_error(ISO_SHAPE_MISMATCH, "3 to 4 are needed");
  assert_null(iso_dropout3d(ctx, x, -0.5, true));
  expect_error(ISO_INVALID_ARGUMENT, "p is -0.5");
}

static void test_alpha_dropout(void **state) {
  (void)state;
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(N / 20, 20), 0, 1);
  read_all(iso_alpha_dropout(ctx, x, 0.3, true));
  NEAR(mean(), 0, 0.04), NEAR(variance(), 1, 0.06);
  read_all(
      iso_feature_alpha_dropout(ctx, iso_random_normal(ctx, ISO_F32, 3, ISO_DIMS(N / 20, 10, 2), 0, 1), 0.3, true));
  NEAR(mean(), 0, 0.05), NEAR(variance(), 1, 0.06);
  int pairs = 0;
  const double a = 1 / sqrt(0.7 * (1 + 0.3 * 1.7580993408473766 * 1.7580993408473766));
  const double filled = -1.7580993408473766 * a + 1.7580993408473766 * a * 0.3;
  for (int i = 0; i < N; i += 2) {
    const bool first = fabs(got[i] - filled) < 1e-6, second = fabs(got[i + 1] - filled) < 1e-6;
    assert_true(first == second);
    pairs += first;
  }
  NEAR(pairs, N / 2 * 0.3, 230);
}

/* One thread and four, whatever the shape and order of storage. */
static void hash_all(iso_context *c, char out[12][33]) {
  int n = 0;
  iso_tensor *p = iso_expand(c, iso_linspace(c, ISO_F32, 0.1, 0.9, 50), 2, ISO_DIMS(999, 50));
  iso_tensor *made[] = {iso_random_exponential(c, ISO_F32, 1, ISO_DIMS(50001), 1),
                        iso_random_geometric(c, ISO_F32, 1, ISO_DIMS(50001), 0.1),
                        iso_random_cauchy(c, ISO_F64, 1, ISO_DIMS(50001), 0, 1),
                        iso_random_log_normal(c, ISO_F32, 1, ISO_DIMS(50001), 0, 1),
                        iso_random_truncated_normal(c, ISO_F32, 1, ISO_DIMS(50001), NULL),
                        iso_randint(c, ISO_I64, 1, ISO_DIMS(50001), 0, 1000),
                        iso_randperm(c, 50001),
                        iso_multinomial(c, p, 30, false),
                        iso_multinomial(c, p, 30, true),
                        iso_bernoulli(c, p),
                        iso_dropout2d(c, iso_reshape(c, p, 4, ISO_DIMS(37, 27, 10, 5)), 0.5, true),
                        iso_alpha_dropout(c, p, 0.5, true)};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    if (!made[i]) fail_msg("%zu: %s", i, iso_error_message(c));
    assert_int_equal(iso_tensor_hash(made[i], out[n++]), ISO_OK);
  }
}
static void test_same_bits_on_any_threads(void **state) {
  (void)state;
  char one[12][33], four[12][33];
  for (int run = 0; run < 2; run++) {
    iso_context *c = open_context(run ? 4 : 1);
    hash_all(c, run ? four : one);
    iso_scope_pop(c);
    iso_context_free(c);
  }
  for (int i = 0; i < 12; i++) assert_string_equal(one[i], four[i]);
}

/* Every allocation of every operator fails in turn: NULL, OUT_OF_MEMORY, nothing left behind. (test_faults has those
 * with gradients.) */
static iso_tensor *make_one(int i, const iso_tensor *p) {
  switch (i) {
  case 0: return iso_random_exponential(ctx, ISO_F32, 1, ISO_DIMS(50), 1);
  case 1: return iso_random_log_normal(ctx, ISO_F32, 1, ISO_DIMS(50), 0, 1);
  case 2: return iso_randint(ctx, ISO_U8, 1, ISO_DIMS(50), 0, 9);
  case 3: return iso_randperm(ctx, 50);
  case 4: return iso_multinomial(ctx, p, 3, false);
  case 5: return iso_multinomial(ctx, p, 3, true);
  case 6: return iso_bernoulli(ctx, p);
  case 7: return iso_normal(ctx, p, p);
  case 8: return iso_randn_like(ctx, p);
  case 9: {
    iso_tensor *t = iso_tensor_new(ctx, ISO_F64, 2, ISO_DIMS(6, 4));
    return iso_init_orthogonal(t, 1, 0) == ISO_OK && iso_init_sparse(t, 0.5, 1, 0) == ISO_OK &&
                   iso_init_trunc_normal(iso_transpose(ctx, t, 0, 1), NULL, 1) == ISO_OK
               ? t
               : NULL;
  }
  default:
    return iso_init_dirac(iso_tensor_new(ctx, ISO_F32, 3, ISO_DIMS(4, 2, 3)), 2) == ISO_OK ? iso_tensor_alias(ctx, p)
                                                                                           : NULL;
  }
}
static void test_failing_allocations(void **state) {
  (void)state;
  iso_tensor *p = iso_expand(ctx, iso_linspace(ctx, ISO_F64, 0.1, 0.9, 5), 2, ISO_DIMS(4, 5)); /* needs a copy */
  for (int i = 0; i < 11; i++) {
    iso_scope_push(ctx);
    assert_non_null(make_one(i, p)); /* the context keeps the plans that it made */
    iso_scope_pop(ctx);
    const size_t live = iso_memory_get_info(ctx).live_bytes;
    for (uint64_t n = 1;; n++) {
      iso_scope_push(ctx);
      iso_memory_fail_at(ctx, n);
      const bool ok = make_one(i, p) != NULL;
      iso_memory_fail_at(ctx, 0);
      if (iso_error_code(ctx) != (ok ? ISO_OK : ISO_OUT_OF_MEMORY))
        fail_msg("%d, allocation %d: %s", i, (int)n, iso_error_message(ctx));
      iso_clear_error(ctx);
      iso_scope_pop(ctx);
      if (iso_memory_get_info(ctx).live_bytes != live) fail_msg("%d, allocation %d: something is left", i, (int)n);
      if (ok) break;
    }
  }
}

static void test_refusals(void **state) {
  (void)state;
  assert_null(iso_random_exponential(ctx, ISO_F32, 1, ISO_DIMS(3), 0));
  expect_error(ISO_INVALID_ARGUMENT, "the rate is 0");
  assert_null(iso_random_geometric(ctx, ISO_F32, 1, ISO_DIMS(3), 0));
  expect_error(ISO_INVALID_ARGUMENT, "0 < p ≤ 1");
  assert_null(iso_random_cauchy(ctx, ISO_F32, 1, ISO_DIMS(3), 0, -1));
  expect_error(ISO_INVALID_ARGUMENT, "the scale is -1");
  assert_null(iso_random_log_normal(ctx, ISO_F32, 1, ISO_DIMS(3), NAN, 1));
  expect_error(ISO_INVALID_ARGUMENT, "the mean is nan");
  assert_null(iso_random_exponential(ctx, ISO_I32, 1, ISO_DIMS(3), 1));
  expect_error(ISO_DTYPE_MISMATCH, "random_exponential");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_distributions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_truncated_normal, setup, teardown),
      cmocka_unit_test_setup_teardown(test_formulas, setup, teardown),
      cmocka_unit_test_setup_teardown(test_integers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_permutation, setup, teardown),
      cmocka_unit_test_setup_teardown(test_multinomial, setup, teardown),
      cmocka_unit_test_setup_teardown(test_parameters_in_tensors, setup, teardown),
      cmocka_unit_test_setup_teardown(test_channel_dropout, setup, teardown),
      cmocka_unit_test_setup_teardown(test_alpha_dropout, setup, teardown),
      cmocka_unit_test_setup_teardown(test_same_bits_on_any_threads, setup, teardown),
      cmocka_unit_test_setup_teardown(test_failing_allocations, setup, teardown),
      cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
