/* test_reduce.c: reductions at their edges: nothing, NaN, integers that wrap, ties, axes that are none, sentences; and
 * that a long row and a row of many have the bits of the order that the axes choose. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "numeric/order.h"
#include "ops/ops.h"
#include "ops/fixture.h" /* last: it names a context that headers name, too */

static double item(const iso_tensor *t) {
  double v = 0;
  if (!t || iso_tensor_item(t, &v) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  return v;
}
static double at(const iso_tensor *t, int64_t i) {
  double v = 0;
  if (!t || iso_tensor_at(t, &i, &v) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  return v;
}
#define F32(...)                                                                                                       \
  iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(sizeof((float[]){__VA_ARGS__}) / 4), (const float[]){__VA_ARGS__})
#define I64(...)                                                                                                       \
  iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(sizeof((int64_t[]){__VA_ARGS__}) / 8), (const int64_t[]){__VA_ARGS__})
static const double inf = (double)INFINITY;

static void test_nothing(void **state) {
  (void)state;
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 3)), *index;
  iso_tensor *whole = iso_tensor_zeros(ctx, ISO_I32, 1, ISO_DIMS(0));
  assert_true(item(iso_nansum(ctx, none, 0, NULL, false)) == 0);
  assert_true(isnan(item(iso_nanmean(ctx, none, 0, NULL, false))));
  assert_true(isnan(item(iso_var(ctx, none, 0, NULL, false, 1))) && isnan(item(iso_std(ctx, none, 0, NULL, false, 0))));
  assert_true(item(iso_logsumexp(ctx, none, 0, NULL, false)) == -inf);
  assert_true(item(iso_vector_norm(ctx, none, 2, 0, NULL, false)) == 0);
  assert_true(item(iso_sum_all(ctx, whole)) == 0 && item(iso_prod(ctx, whole, 0, NULL, false)) == 1);
  assert_true(item(iso_any(ctx, none, 0, NULL, false)) == 0 && item(iso_all(ctx, none, 0, NULL, false)) == 1);
  assert_true(item(iso_count_nonzero(ctx, none, 0, NULL)) == 0);
  assert_true(at(iso_logsumexp(ctx, none, 1, (int[]){0}, false), 2) == -inf);
  assert_null(iso_max(ctx, none, 0, false, &index));
  assert_null(index);
  expect_error(ISO_INVALID_ARGUMENT, "max: x is f32 (0,3)");
  assert_null(iso_argmin_all(ctx, none));
  expect_error(ISO_INVALID_ARGUMENT, "nothing to choose from");
  assert_null(iso_amin(ctx, whole, 0, NULL, false));
  expect_error(ISO_INVALID_ARGUMENT, "nothing to choose from");
  assert_null(iso_vector_norm(ctx, none, -inf, 0, NULL, false));
  expect_error(ISO_INVALID_ARGUMENT, "nothing to choose from");
  assert_int_equal(iso_tensor_numel(iso_max(ctx, none, 1, false, NULL)), 0);
}

/* Ones beyond 2^11 add nothing in f16, and beyond 2^8 in bf16: sums are f32's, rounded once. */
static void test_halves(void **state) {
  (void)state;
  const iso_dtype dtypes[] = {ISO_F16, ISO_BF16};
  for (int i = 0; i < 2; i++) {
    iso_tensor *ones = iso_cast(ctx, iso_tensor_full(ctx, ISO_F32, 2, ISO_DIMS(3, 4096), 1), dtypes[i]);
    iso_requires_grad(ones, true);
    iso_tensor *sum = iso_sum(ctx, ones, 1, (int[]){1}, false), *mean = iso_mean_all(ctx, ones);
    assert_int_equal(iso_tensor_dtype(sum), dtypes[i]);
    assert_true(at(sum, 2) == 4096 && item(mean) == 1);
    assert_true(item(iso_sum_all(ctx, ones)) == 12288);
    iso_tensor *loss = iso_add(ctx, iso_sum_all(ctx, sum), iso_amax(ctx, iso_mul_scalar(ctx, ones, 2), 0, NULL, false));
    assert_int_equal(iso_backward(loss), ISO_OK);
    assert_int_equal(iso_tensor_dtype(iso_grad(ones)), dtypes[i]);
    assert_true(item(iso_slice(ctx, iso_slice(ctx, iso_grad(ones), 0, 0, 1, 1), 1, 7, 8, 1)) >= 1);
    iso_tensor *x = iso_cast(ctx, F32(1, -3, 2.5f, NAN), dtypes[i]);
    assert_true(item(iso_nansum(ctx, x, 0, NULL, false)) == 0.5 && isnan(item(iso_amin(ctx, x, 0, NULL, false))));
    assert_true(item(iso_prod(ctx, iso_cast(ctx, F32(2, -3, 4), dtypes[i]), 0, NULL, false)) == -24);
    assert_true(item(iso_logsumexp(ctx, iso_cast(ctx, F32(0, (float)-inf), dtypes[i]), 0, NULL, false)) == 0);
  }
}

static void test_integers(void **state) {
  (void)state;
  iso_tensor *wraps = iso_sum_all(ctx, I64(INT64_MAX, 2)), *index;
  assert_int_equal(*(int64_t *)iso_tensor_data(wraps), INT64_MIN + 1);
  iso_tensor *product = iso_prod(ctx, I64(INT64_MAX, 3), 0, NULL, false);
  assert_int_equal(*(int64_t *)iso_tensor_data(product), INT64_MAX - 2);
  uint8_t bytes[1000];
  memset(bytes, 255, sizeof bytes);
  iso_tensor *u8 = iso_tensor_copy_from(ctx, ISO_U8, 2, ISO_DIMS(10, 100), bytes);
  assert_true(iso_tensor_dtype(iso_sum_all(ctx, u8)) == ISO_I64 && item(iso_sum_all(ctx, u8)) == 255000);
  assert_true(at(iso_sum(ctx, u8, 1, (int[]){0}, false), 99) == 2550);
  iso_tensor *chosen = iso_max(ctx, I64(3, -9, 7, 7), 0, false, &index);
  assert_true(iso_tensor_dtype(chosen) == ISO_I64 && item(chosen) == 7 && item(index) == 2);
  iso_tensor *truths = iso_gt(ctx, F32(1, 2, 3, 4), F32(2));
  assert_true(iso_tensor_dtype(truths) == ISO_BOOL && item(iso_sum_all(ctx, truths)) == 2);
  assert_true(item(iso_amax(ctx, truths, 0, NULL, false)) == 1 && item(iso_argmax(ctx, truths, 0, false)) == 2);
  assert_true(iso_tensor_dtype(iso_any(ctx, truths, 0, NULL, false)) == ISO_BOOL);
  assert_null(iso_mean_all(ctx, I64(1, 2)));
  expect_error(ISO_DTYPE_MISMATCH, "mean: i64 is not computed here");
}

static void test_nan_and_ties(void **state) {
  (void)state;
  iso_tensor *x = F32(1, NAN, 5, NAN, 5), *index;
  assert_true(isnan(item(iso_amax(ctx, x, 0, NULL, false))) && isnan(item(iso_min(ctx, x, 0, true, &index))));
  assert_true(item(index) == 1 && item(iso_argmax_all(ctx, x)) == 1);
  assert_true(item(iso_nansum(ctx, x, 0, NULL, false)) == 11);
  assert_true(item(iso_nanmean(ctx, x, 0, NULL, false)) == (float)(11.0 / 3));
  assert_true(isnan(item(iso_nanmean(ctx, F32(NAN, NAN), 0, NULL, false))));
  assert_true(item(iso_any(ctx, F32(0, NAN), 0, NULL, false)) == 1 && item(iso_count_nonzero(ctx, x, 0, NULL)) == 5);
  iso_tensor *zero = iso_amax(ctx, F32(-0.0f, -1), 0, NULL, false);
  assert_true(item(zero) == 0 && !signbit(item(zero)));
  assert_true(item(iso_argmax(ctx, F32(2, 5, 5), 0, false)) == 1 &&
              item(iso_argmin(ctx, F32(0, -0.0f), 0, false)) == 0);
  assert_true(isnan(item(iso_vector_norm(ctx, x, inf, 0, NULL, false))));
  /* log-sum-exp of infinities */
  assert_true(item(iso_logsumexp(ctx, F32((float)-inf, (float)-inf), 0, NULL, false)) == -inf);
  assert_true(item(iso_logsumexp(ctx, F32(1, (float)inf), 0, NULL, false)) == inf);
  assert_true(item(iso_logsumexp(ctx, F32(1e30f, 1), 0, NULL, false)) == (double)1e30f);
}

static void test_axes(void **state) {
  (void)state;
  float v[24];
  for (int i = 0; i < 24; i++) v[i] = (float)i;
  iso_tensor *x = iso_tensor_copy_from(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 4), v);
  /* every way to name the axes of a middle and an outer reduction, on views of all kinds */
  iso_tensor *outer = iso_sum(ctx, x, 2, (int[]){-1, 0}, true), *turned = iso_transpose(ctx, x, 0, 1);
  assert_int_equal(iso_tensor_n_dims(outer), 3);
  const double expected[] = {60, 92, 124};
  iso_tensor *flat = iso_reshape(ctx, outer, 1, ISO_DIMS(3)),
             *of_turned = iso_sum(ctx, turned, 2, (int[]){1, 2}, false);
  for (int i = 0; i < 3; i++) assert_true(at(flat, i) == expected[i] && at(of_turned, i) == expected[i]);
  assert_true(item(iso_argmax_all(ctx, turned)) == 23 && item(iso_argmin_all(ctx, turned)) == 0);
  iso_tensor *repeated = iso_expand(ctx, F32(2), 2, ISO_DIMS(5, 7));
  assert_true(item(iso_sum_all(ctx, repeated)) == 70 && at(iso_var(ctx, repeated, 1, (int[]){0}, false, 1), 6) == 0);
  iso_tensor *index;
  iso_tensor *middle = iso_select(ctx, iso_max(ctx, x, 1, false, &index), 0, 1);
  assert_true(at(middle, 0) == 20 && at(iso_select(ctx, index, 0, 1), 3) == 2);
  assert_true(at(iso_sum_to_size(ctx, x, 1, ISO_DIMS(4)), 1) == 66);
  assert_null(iso_sum_to_size(ctx, x, 2, ISO_DIMS(2, 4)));
  expect_error(ISO_SHAPE_MISMATCH, "shape (2,4) could not be broadcast to x, which is (2,3,4)");
  assert_null(iso_sum(ctx, x, 2, (int[]){1, -2}, false));
  expect_error(ISO_INVALID_ARGUMENT, "axis -2 is named twice");
  assert_null(iso_any(ctx, x, 1, (int[]){3}, false));
  expect_error(ISO_INVALID_ARGUMENT, "any: axis 3 of a tensor with 3 dimensions");
  /* one element without dimensions has an axis 0 */
  iso_tensor *scalar = iso_tensor_full(ctx, ISO_F32, 0, NULL, 4);
  assert_true(item(iso_sum(ctx, scalar, 1, (int[]){-1}, true)) == 4 && item(iso_argmax(ctx, scalar, 0, false)) == 0);
  assert_null(iso_sum(ctx, scalar, 1, (int[]){1}, true));
  expect_error(ISO_INVALID_ARGUMENT, "axis 1 of a tensor with 0 dimensions");
}

static void test_spread(void **state) {
  (void)state;
  iso_tensor *mean, *x = F32(1, 2, 4, 9);
  assert_true(item(iso_var_mean(ctx, x, 0, NULL, false, 1, &mean)) == (float)(38.0 / 3) && item(mean) == 4);
  assert_true(item(iso_std_mean(ctx, x, 0, NULL, true, 0, &mean)) == sqrtf(9.5f) && item(mean) == 4);
  assert_true(isnan(item(iso_var(ctx, F32(3), 0, NULL, false, 1)))); /* 0 / 0 */
  assert_true(item(iso_var(ctx, x, 0, NULL, false, 9)) == inf);      /* never below 0 */
  iso_tensor *same = iso_requires_grad(F32(2, 2, 2), true), *d = iso_std(ctx, same, 0, NULL, false, 1);
  assert_int_equal(iso_backward(d), ISO_OK);
  assert_true(item(d) == 0 && at(iso_grad(same), 0) == 0); /* where the root has no slope */
}

static void test_norms(void **state) {
  (void)state;
  iso_tensor *x = F32(3, 0, -4);
  const double p[] = {0, 1, 2, inf, -inf}, want[] = {2, 7, 5, 4, 0};
  for (int i = 0; i < 5; i++) assert_true(item(iso_vector_norm(ctx, x, p[i], 0, NULL, false)) == want[i]);
  assert_true(fabs(item(iso_vector_norm(ctx, x, 3, 0, NULL, false)) - 4.4979414) < 1e-6);
  assert_true(item(iso_dist(ctx, x, F32(0, 0, 0), 2)) == 5);
  assert_true(at(iso_normalize(ctx, x, 2, 0, 1e-12), 2) == (double)(-4.0f / 5.0f));
  assert_true(at(iso_normalize(ctx, F32(0, 0), 2, 0, 1e-12), 1) == 0);
  iso_tensor *zeros = iso_requires_grad(F32(0, 0), true);
  assert_int_equal(iso_backward(iso_vector_norm(ctx, zeros, 2, 0, NULL, false)), ISO_OK);
  assert_true(at(iso_grad(zeros), 0) == 0);
  iso_tensor *rows = iso_reshape(ctx, F32(3, 4, 0.3f, 0.4f), 2, ISO_DIMS(2, 2)),
             *limited = iso_renorm(ctx, rows, 2, 0, 1);
  assert_true(fabs(at(iso_select(ctx, limited, 0, 0), 1) - 0.8) < 1e-6 &&
              at(iso_select(ctx, limited, 0, 1), 1) == (double)0.4f);
  assert_null(iso_renorm(ctx, x, 2, 0, 1));
  expect_error(ISO_INVALID_ARGUMENT, "renorm: 1 dimensions");
  assert_null(iso_vector_norm(ctx, x, (double)NAN, 0, NULL, false));
  expect_error(ISO_INVALID_ARGUMENT, "the order p is NaN");
}

/* The gradient of a maximum with its index goes there alone; amax shares. */
static void test_gradients_of_ties(void **state) {
  (void)state;
  iso_tensor *x = iso_requires_grad(F32(1, 5, 5), true);
  assert_int_equal(iso_backward(iso_max(ctx, x, 0, false, NULL)), ISO_OK);
  assert_true(at(iso_grad(x), 1) == 1 && at(iso_grad(x), 2) == 0);
  iso_grad_zero(x);
  assert_int_equal(iso_backward(iso_amax(ctx, x, 0, NULL, false)), ISO_OK);
  assert_true(at(iso_grad(x), 1) == 0.5 && at(iso_grad(x), 2) == 0.5);
}

/* One long row, shared by two threads, has the bits of the contract. */
static void test_long_rows(void **state) {
  (void)state;
  enum { N = 300007 };
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(N));
  assert_int_equal(iso_fill_normal(x, &(iso_philox){.seed = 3, .stream = ISO_PHILOX_USER}, 0, 1), ISO_OK);
  const float sum = iso__lanes_sum_f32(iso_tensor_data(x), 1, N);
  assert_true((float)item(iso_sum_all(ctx, x)) == sum);
  assert_true((float)item(iso_mean_all(ctx, x)) == sum / (float)N);
  iso_tensor *column = iso_reshape(ctx, x, 2, ISO_DIMS(N, 1));
  assert_true((float)at(iso_sum(ctx, column, 1, (int[]){0}, false), 0) ==
              iso__ordered_sum_f32(iso_tensor_data(x), 1, N));
}

/* The axes decide, not the storage: an image's channel sums are the same bits from either layout. */
static void test_layouts(void **state) {
  (void)state;
  iso_tensor *planar = iso_tensor_new(ctx, ISO_F32, 4, ISO_DIMS(3, 37, 9, 11));
  assert_int_equal(iso_fill_normal(planar, &(iso_philox){.seed = 4, .stream = ISO_PHILOX_USER}, 0, 1), ISO_OK);
  iso_tensor *last = iso_channels_last(ctx, planar);
  const int axes[] = {0, 2, 3};
  char a[33], b[33];
  for (int i = 0; i < 3; i++) {
    iso_tensor *t[2];
    for (int k = 0; k < 2; k++) {
      const iso_tensor *x = k ? last : planar;
      t[k] = i == 0   ? iso_sum(ctx, x, 3, axes, false)
             : i == 1 ? iso_var(ctx, x, 3, axes, true, 1)
                      : iso_amax(ctx, x, 3, axes, false);
    }
    assert_int_equal(iso_tensor_hash(t[0], a), ISO_OK);
    assert_int_equal(iso_tensor_hash(t[1], b), ISO_OK);
    assert_string_equal(a, b);
  }
}

static void test_scans(void **state) {
  (void)state;
  enum { N = 40009 };
  static float expected[N];
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, 1, ISO_DIMS(N)), *index;
  assert_int_equal(iso_fill_normal(x, &(iso_philox){.seed = 5, .stream = ISO_PHILOX_USER}, 0, 1), ISO_OK);
  iso__scan_sum_f32(iso_tensor_data(x), 1, expected, 1, N);
  assert_memory_equal(iso_tensor_data(iso_cumsum(ctx, x, 0)), expected, sizeof expected);
  iso__scan_product_f32(iso_tensor_data(x), 1, expected, 1, N);
  assert_memory_equal(iso_tensor_data(iso_cumprod(ctx, x, -1)), expected, sizeof expected);
  /* a view of negative steps, nothing, one element without dimensions */
  iso_tensor *sums = iso_cumsum(ctx, iso_flip(ctx, F32(1, 2, 4), 1, (int[]){0}), 0);
  assert_true(at(sums, 0) == 4 && at(sums, 2) == 7);
  assert_int_equal(iso_tensor_numel(iso_cumsum(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(3, 0)), 1)), 0);
  iso_tensor *one = iso_tensor_full(ctx, ISO_F32, 0, NULL, 4);
  assert_true(item(iso_cumsum(ctx, one, -1)) == 4 && item(iso_cummax(ctx, one, 0, NULL)) == 4);
  assert_null(iso_cumsum(ctx, one, 1));
  expect_error(ISO_INVALID_ARGUMENT, "cumsum: axis 1 of a tensor with 0 dimensions");
  /* integers wrap, of extrema the last of equals and the last NaN count */
  assert_int_equal(((int64_t *)iso_tensor_data(iso_cumsum(ctx, I64(INT64_MAX, 1), 0)))[1], INT64_MIN);
  assert_true(iso_tensor_dtype(iso_cumprod(ctx, iso_gt(ctx, F32(1, 2), F32(0)), 0)) == ISO_I64);
  iso_tensor *most = iso_cummax(ctx, F32(2, 1, 2, NAN, 5, NAN), 0, &index);
  const double where[] = {0, 0, 2, 3, 3, 5};
  for (int i = 0; i < 6; i++) assert_true(at(index, i) == where[i]);
  assert_true(at(most, 1) == 2 && isnan(at(most, 4)));
  iso_tensor *logs = iso_logcumsumexp(ctx, F32((float)-inf, (float)-inf, 0, (float)inf, 1), 0);
  assert_true(at(logs, 1) == -inf && at(logs, 2) == 0 && at(logs, 3) == inf && at(logs, 4) == inf);
  assert_null(iso_logcumsumexp(ctx, I64(1), 0));
  expect_error(ISO_DTYPE_MISMATCH, "i64 is not computed here");
  /* products with zeros: dx of every element, the zeros' too */
  iso_tensor *z = iso_requires_grad(F32(2, 0, 3, 0), true);
  assert_int_equal(iso_backward_with(iso_cumprod(ctx, z, 0), NULL, NULL), ISO_OK);
  const double dz[] = {1, 8, 0, 0};
  for (int i = 0; i < 4; i++) assert_true(at(iso_grad(z), i) == dz[i]);
}

static void test_differences(void **state) {
  (void)state;
  iso_tensor *x = F32(1, 4, 9, 16), *second = iso_diff(ctx, x, 2, 0, NULL, NULL);
  assert_true(iso_tensor_numel(second) == 2 && at(second, 0) == 2 && at(second, 1) == 2);
  assert_true(at(iso_diff(ctx, x, 1, -1, F32(0), F32(16)), 4) == 0 &&
              at(iso_diff(ctx, x, 0, 0, F32(0), NULL), 3) == 16);
  assert_int_equal(iso_tensor_numel(iso_diff(ctx, x, 9, 0, NULL, NULL)), 0);
  iso_tensor *changes = iso_diff(ctx, iso_gt(ctx, x, F32(4)), 1, 0, NULL, NULL);
  assert_true(iso_tensor_dtype(changes) == ISO_BOOL && at(changes, 0) == 0 && at(changes, 1) == 1);
  assert_null(iso_diff(ctx, x, -1, 0, NULL, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "diff: differences of order -1");
  assert_true(item(iso_trapezoid(ctx, x, NULL, 2, 0)) == 43 &&
              item(iso_trapezoid(ctx, x, F32(0, 1, 3, 6), 1, 0)) == 53);
  assert_true(at(iso_cumulative_trapezoid(ctx, x, NULL, 1, 0), 1) == 9);
  assert_null(iso_trapezoid(ctx, x, F32(1, 2), 1, 0));
  expect_error(ISO_SHAPE_MISMATCH, "x is (2) where y is (4)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(test_integers, setup, teardown),
      cmocka_unit_test_setup_teardown(test_nan_and_ties, setup, teardown),
      cmocka_unit_test_setup_teardown(test_axes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_spread, setup, teardown),
      cmocka_unit_test_setup_teardown(test_norms, setup, teardown),
      cmocka_unit_test_setup_teardown(test_gradients_of_ties, setup, teardown),
      cmocka_unit_test_setup_teardown(test_long_rows, setup, teardown),
      cmocka_unit_test_setup_teardown(test_halves, setup, teardown),
      cmocka_unit_test_setup_teardown(test_layouts, setup, teardown),
      cmocka_unit_test_setup_teardown(test_scans, setup, teardown),
      cmocka_unit_test_setup_teardown(test_differences, setup, teardown),
  };
  return cmocka_run_group_tests_name("reduce", tests, NULL, NULL);
}
