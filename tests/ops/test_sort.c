/* test_sort.c: ops/sort: values, places of equals, NaN, zeros, axes, strides, dtypes, empty tensors, refusals. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "ops/fixture.h" /* last: it names a context that headers name, too */

/* All elements, as double, in logical order; the shape by its text. */
static void expect(const iso_tensor *t, const char *form, const double *values) {
  char text[160];
  if (!t) fail_msg("%s", iso_error_message(ctx));
  iso_tensor_format(t, text, sizeof text);
  if (strncmp(text, form, strlen(form)) != 0) fail_msg("'%s' where '%s' is expected", text, form);
  double got[64];
  const iso_tensor *wide = iso_cast(ctx, t, ISO_F64);
  const int64_t n = iso_tensor_numel(t);
  assert_in_range(n, 0, 64);
  assert_int_equal(iso_tensor_copy_to(wide, got, sizeof(double) * (size_t)n), ISO_OK);
  for (int64_t i = 0; i < n; i++)
    if (!(isnan(values[i]) ? isnan(got[i]) : got[i] == values[i] && signbit(got[i]) == signbit(values[i])))
      fail_msg("element %lld of %s is %g, %g is expected", (long long)i, form, got[i], values[i]);
}
#define EXPECT(t, form, ...) expect(t, form, (const double[]){__VA_ARGS__})
static iso_tensor *make(iso_dtype dtype, int n_dims, const int64_t *shape, const double *values) {
  return iso_cast(ctx, iso_tensor_copy_from(ctx, ISO_F64, n_dims, shape, values), dtype);
}
#define VECTOR(dtype, ...)                                                                                             \
  make(dtype, 1, ISO_DIMS((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))), (const double[]){__VA_ARGS__})
#define N NAN

static void test_order(void **state) {
  (void)state;
  static const iso_dtype floats[] = {ISO_F32, ISO_F64, ISO_F16, ISO_BF16};
  iso_tensor *at;
  for (int d = 0; d < 4; d++) {
    iso_tensor *x = VECTOR(floats[d], 2, N, 0.0, -INFINITY, -0.0, 2, INFINITY, -1, N, 0.0);
    char form[16];
    snprintf(form, sizeof form, "%s (10)", iso_dtype_name(floats[d]));
    EXPECT(iso_sort(ctx, x, 0, false, &at), form, -INFINITY, -1, 0.0, -0.0, 0.0, 2, 2, INFINITY, N, N);
    EXPECT(at, "i64 (10)", 3, 7, 2, 4, 9, 0, 5, 6, 1, 8);
    EXPECT(iso_sort(ctx, x, -1, true, &at), form, N, N, INFINITY, 2, 2, 0.0, -0.0, 0.0, -1, -INFINITY);
    EXPECT(at, "i64 (10)", 1, 8, 6, 0, 5, 2, 4, 9, 7, 3);
    EXPECT(iso_argsort(ctx, x, 0, true), "i64 (10)", 1, 8, 6, 0, 5, 2, 4, 9, 7, 3);
  }
  EXPECT(iso_sort(ctx, VECTOR(ISO_I64, 3, -5, 3, 0), 0, false, &at), "i64 (4)", -5, 0, 3, 3);
  EXPECT(at, "i64 (4)", 1, 3, 0, 2);
  EXPECT(iso_sort(ctx, VECTOR(ISO_I32, 3, -5, -2147483648.0, 2147483647), 0, true, NULL), "i32 (4)", 2147483647, 3, -5,
         -2147483648.0);
  EXPECT(iso_sort(ctx, VECTOR(ISO_U8, 3, 255, 0, 7), 0, false, NULL), "u8 (4)", 0, 3, 7, 255);
  EXPECT(iso_sort(ctx, VECTOR(ISO_BOOL, 1, 0, 1, 0), 0, true, &at), "bool (4)", 1, 1, 0, 0);
  EXPECT(at, "i64 (4)", 0, 2, 1, 3);
}

static void test_axes_and_strides(void **state) {
  (void)state;
  iso_tensor *x = make(ISO_F32, 2, ISO_DIMS(2, 3), (const double[]){5, 1, 3, 2, 6, 4}), *at;
  EXPECT(iso_sort(ctx, x, 0, false, &at), "f32 (2,3)", 2, 1, 3, 5, 6, 4);
  EXPECT(at, "i64 (2,3)", 1, 0, 0, 0, 1, 1);
  EXPECT(iso_msort(ctx, x), "f32 (2,3)", 2, 1, 3, 5, 6, 4);
  EXPECT(iso_sort(ctx, iso_transpose(ctx, x, 0, 1), 1, true, NULL), "f32 (3,2)", 5, 2, 6, 1, 4, 3);
  assert_true(iso_tensor_is_contiguous(iso_sort(ctx, x, 0, false, NULL)));
  iso_tensor *wide = iso_expand(ctx, VECTOR(ISO_F32, 3, 1, 2), 2, ISO_DIMS(2, 3));
  EXPECT(iso_sort(ctx, wide, 1, false, NULL), "f32 (2,3)", 1, 2, 3, 1, 2, 3);
  const float back[] = {1, 2, 3, 4};
  float values[4];
  memcpy(values, back, sizeof back);
  iso_tensor *reversed = iso_tensor_wrap(ctx, ISO_F32, 1, ISO_DIMS(4), ISO_DIMS(-1), values + 3, NULL, NULL);
  EXPECT(iso_argsort(ctx, reversed, 0, false), "i64 (4)", 3, 2, 1, 0);
  iso_tensor *scalar = iso_tensor_full(ctx, ISO_F32, 0, NULL, 7);
  EXPECT(iso_sort(ctx, scalar, -1, false, &at), "f32 ()", 7);
  EXPECT(at, "i64 ()", 0);
  EXPECT(iso_median(ctx, scalar, 0, false, NULL), "f32 ()", 7);
}

static void test_top_and_statistics(void **state) {
  (void)state;
  iso_tensor *x = VECTOR(ISO_F32, 4, 1, 4, 3, 1, 2), *at;
  EXPECT(iso_topk(ctx, x, 3, 0, true, &at), "f32 (3)", 4, 4, 3);
  EXPECT(at, "i64 (3)", 0, 2, 3);
  EXPECT(iso_topk(ctx, x, 3, 0, false, &at), "f32 (3)", 1, 1, 2);
  EXPECT(at, "i64 (3)", 1, 4, 5);
  EXPECT(iso_topk(ctx, x, 0, 0, false, &at), "f32 (0)", 0);
  EXPECT(iso_kthvalue(ctx, x, 5, 0, true, &at), "f32 (1)", 4);
  EXPECT(at, "i64 (1)", 0);
  EXPECT(iso_median(ctx, x, 0, false, &at), "f32 ()", 2);
  EXPECT(at, "i64 ()", 5);
  iso_tensor *holes = make(ISO_F64, 2, ISO_DIMS(2, 4), (const double[]){3, N, 1, N, N, N, N, N});
  EXPECT(iso_median(ctx, holes, 1, false, &at), "f64 (2)", N, N);
  EXPECT(at, "i64 (2)", 1, 0);
  EXPECT(iso_nanmedian(ctx, holes, 1, true, &at), "f64 (2,1)", 1, N);
  EXPECT(at, "i64 (2,1)", 2, 0);
  EXPECT(iso_mode(ctx, x, 0, false, &at), "f32 ()", 1);
  EXPECT(at, "i64 ()", 4);
  EXPECT(iso_mode(ctx, VECTOR(ISO_F32, N, N, 0.0, -0.0), 0, false, &at), "f32 ()", -0.0);
  EXPECT(at, "i64 ()", 3);
  EXPECT(iso_mode(ctx, make(ISO_I64, 2, ISO_DIMS(3, 2), (const double[]){1, 5, 2, 5, 2, 6}), 0, true, &at), "i64 (1,2)",
         2, 5);
  EXPECT(at, "i64 (1,2)", 2, 1);
}

static void test_quantiles(void **state) {
  (void)state;
  const double q[] = {0, 0.5, 0.625, 1};
  iso_tensor *x = make(ISO_F32, 2, ISO_DIMS(2, 3), (const double[]){30, 10, 20, 1, N, 3});
  EXPECT(iso_quantile(ctx, x, 4, q, 1, false, ISO_QUANTILE_LINEAR), "f32 (4,2)", 10, N, 20, N, 22.5, N, 30, N);
  EXPECT(iso_nanquantile(ctx, x, 4, q, 1, true, ISO_QUANTILE_LINEAR), "f32 (4,2,1)", 10, 1, 20, 2, 22.5, 2.25, 30, 3);
  EXPECT(iso_nanquantile(ctx, x, 4, q, 1, false, ISO_QUANTILE_LOWER), "f32 (4,2)", 10, 1, 20, 1, 20, 1, 30, 3);
  EXPECT(iso_nanquantile(ctx, x, 4, q, 1, false, ISO_QUANTILE_HIGHER), "f32 (4,2)", 10, 1, 20, 3, 30, 3, 30, 3);
  EXPECT(iso_nanquantile(ctx, x, 4, q, 1, false, ISO_QUANTILE_MIDPOINT), "f32 (4,2)", 10, 1, 20, 2, 25, 2, 30, 3);
  EXPECT(iso_nanquantile(ctx, x, 4, q, 1, false, ISO_QUANTILE_NEAREST), "f32 (4,2)", 10, 1, 20, 1, 20, 3, 30, 3);
  EXPECT(iso_quantile(ctx, x, 1, q, 0, false, ISO_QUANTILE_LINEAR), "f32 (1,3)", 1, N, 3);
  EXPECT(iso_nanquantile(ctx, VECTOR(ISO_F64, N, N), 2, q, 0, false, ISO_QUANTILE_LINEAR), "f64 (2)", N, N);
  double many[600];
  for (int i = 0; i < 600; i++) many[i] = i / 599.0;
  iso_tensor *long_one = iso_quantile(ctx, iso_sort(ctx, x, 1, false, NULL), 600, many, 1, true, ISO_QUANTILE_LOWER);
  assert_non_null(long_one);
  assert_int_equal(iso_tensor_shape(long_one)[0], 600);
  const float *value = iso_tensor_data(long_one);
  for (int i = 0; i < 600; i++) { /* the calls behind the first 256 and 512 continue where they should */
    assert_true(value[2 * i] == (i < 300 ? 10 : i < 599 ? 20 : 30));
    assert_true(isnan(value[2 * i + 1]));
  }
  const double inf = (double)INFINITY;
  EXPECT(iso_quantile(ctx, VECTOR(ISO_F32, inf, -inf, 2), 4, q, 0, false, ISO_QUANTILE_LINEAR), "f32 (4)", -inf, 2, inf,
         inf);
  EXPECT(iso_quantile(ctx, VECTOR(ISO_F64, inf, inf), 1, q, 0, false, ISO_QUANTILE_MIDPOINT), "f64 (1)", inf);
  const double wrong[] = {0.5, 1.5};
  assert_null(iso_quantile(ctx, x, 2, wrong, 0, false, ISO_QUANTILE_LINEAR));
  expect_error(ISO_INVALID_ARGUMENT, "q[1] is 1.5");
}

static void test_unique(void **state) {
  (void)state;
  EXPECT(iso_unique(ctx, VECTOR(ISO_I64, 7, -3, 7, 4, -3), NULL, NULL), "i64 (3)", -3, 4, 7);
  EXPECT(iso_unique(ctx, VECTOR(ISO_I64, 1e9, -1e9, 1e9), NULL, NULL), "i64 (2)", -1e9,
         1e9); /* too far apart for a table */
  iso_tensor *inverse, *counts;
  iso_tensor *x = make(ISO_F32, 2, ISO_DIMS(2, 4), (const double[]){3, 1, 3, N, -0.0, 0.0, 1, N});
  EXPECT(iso_unique(ctx, x, &inverse, &counts), "f32 (5)", -0.0, 1, 3, N, N);
  EXPECT(inverse, "i64 (2,4)", 2, 1, 2, 3, 0, 0, 1, 4);
  EXPECT(counts, "i64 (5)", 2, 2, 2, 1, 1);
  EXPECT(iso_unique_consecutive(ctx, VECTOR(ISO_I64, 1, 1, 2, 2, 2, 1), &inverse, &counts), "i64 (3)", 1, 2, 1);
  EXPECT(inverse, "i64 (6)", 0, 0, 1, 1, 1, 2);
  EXPECT(counts, "i64 (3)", 2, 3, 1);
  iso_tensor *table = make(ISO_I64, 2, ISO_DIMS(3, 4), (const double[]){1, 0, 1, 1, 2, 9, 2, 2, 5, 5, 5, 4});
  EXPECT(iso_unique_along(ctx, table, 1, &inverse, &counts), "i64 (3,3)", 0, 1, 1, 9, 2, 2, 5, 4, 5);
  EXPECT(inverse, "i64 (4)", 2, 0, 2, 1);
  EXPECT(counts, "i64 (3)", 1, 1, 2);
  EXPECT(iso_unique_consecutive_along(ctx, iso_slice(ctx, table, 0, 0, 2, 1), 1, &inverse, NULL), "i64 (2,3)", 1, 0, 1,
         2, 9, 2);
  EXPECT(inverse, "i64 (4)", 0, 1, 2, 2);
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 3));
  EXPECT(iso_unique(ctx, none, &inverse, &counts), "f32 (0)", 0);
  EXPECT(inverse, "i64 (0,3)", 0);
  /* Runs that cross the chunks of the search for them. */
  enum { LENGTH = 100000 };
  iso_tensor *zeros = iso_tensor_zeros(ctx, ISO_I32, 1, ISO_DIMS(LENGTH));
  EXPECT(iso_unique(ctx, zeros, NULL, &counts), "i32 (1)", 0);
  EXPECT(counts, "i64 (1)", LENGTH);
}

static void test_search(void **state) {
  (void)state;
  iso_tensor *s = VECTOR(ISO_F32, 1, 3, 3, 5, N), *v = VECTOR(ISO_F32, 0, 3, 4, 9, N);
  EXPECT(iso_searchsorted(ctx, s, v, false, NULL), "i64 (5)", 0, 1, 3, 4, 4);
  EXPECT(iso_searchsorted(ctx, s, v, true, NULL), "i64 (5)", 0, 3, 3, 4, 5);
  EXPECT(iso_bucketize(ctx, iso_reshape(ctx, v, 2, ISO_DIMS(5, 1)), s, true), "i64 (5,1)", 0, 3, 3, 4, 5);
  iso_tensor *mixed = VECTOR(ISO_F32, 5, 1, 3);
  EXPECT(iso_searchsorted(ctx, mixed, VECTOR(ISO_F32, 3, 4), false, iso_argsort(ctx, mixed, 0, false)), "i64 (2)", 1,
         2);
  iso_tensor *rows = make(ISO_I64, 2, ISO_DIMS(2, 3), (const double[]){1, 2, 3, 10, 20, 30});
  EXPECT(iso_searchsorted(ctx, rows, make(ISO_I64, 2, ISO_DIMS(2, 2), (const double[]){2, 9, 2, 20}), false, NULL),
         "i64 (2,2)", 1, 3, 0, 1);
  EXPECT(iso_isin(ctx, v, s, false), "bool (5)", 0, 1, 0, 0, 0);
  EXPECT(iso_isin(ctx, v, s, true), "bool (5)", 1, 0, 1, 1, 1);
  EXPECT(iso_isin(ctx, VECTOR(ISO_F32, -0.0), VECTOR(ISO_F32, 0.0), false), "bool (1)", 1);
  EXPECT(iso_isin(ctx, v, iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(0)), false), "bool (5)", 0, 0, 0, 0, 0);
  assert_null(iso_isin(ctx, iso_cast(ctx, v, ISO_F16), iso_cast(ctx, v, ISO_BF16), false));
  expect_error(ISO_DTYPE_MISMATCH, "elements are f16 but among is bf16");
  assert_null(iso_searchsorted(ctx, mixed, v, false, VECTOR(ISO_I64, 0, 3, 1)));
  expect_error(ISO_INVALID_ARGUMENT, "sorter[1] is 3");
  assert_null(iso_searchsorted(ctx, rows, v, false, NULL));
  expect_error(ISO_SHAPE_MISMATCH, "(2,3)");
  assert_null(iso_bucketize(ctx, v, rows, false));
  expect_error(ISO_SHAPE_MISMATCH, "boundaries are (2,3)");
}

static void test_histograms(void **state) {
  (void)state;
  EXPECT(iso_bincount(ctx, VECTOR(ISO_I32, 1, 3, 1), 0), "i64 (4)", 0, 2, 0, 1);
  EXPECT(iso_bincount(ctx, VECTOR(ISO_U8, 1, 0), 3), "i64 (3)", 1, 1, 0);
  EXPECT(iso_bincount(ctx, iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(0)), 0), "i64 (0)", 0);
  assert_null(iso_bincount(ctx, VECTOR(ISO_I64, 1, -4), 0));
  expect_error(ISO_INVALID_ARGUMENT, "x[1] is -4");
  iso_tensor *x = VECTOR(ISO_F32, 0, 1, 2, 4, N, -1, 3.9, 5);
  EXPECT(iso_histc(ctx, x, 4, 0, 4), "f32 (4)", 1, 1, 1, 2);
  EXPECT(iso_histc(ctx, VECTOR(ISO_F64, 2, 2, 2), 2, 0, 0), "f64 (2)", 0, 3);
  iso_tensor *edges = iso_histogram_edges(ctx, x, 4, 0, 4);
  EXPECT(edges, "f32 (5)", 0, 1, 2, 3, 4);
  EXPECT(iso_histogram(ctx, x, edges, NULL, false), "f32 (4)", 1, 1, 1, 2);
  EXPECT(iso_histogram(ctx, x, VECTOR(ISO_F32, 0, 1, 3, 5), NULL, true), "f32 (3)", 0.16666667163372040,
         0.16666667163372040, 0.25);
  iso_tensor *weight = VECTOR(ISO_F32, 1, 2, 3, 4, 5, 6, 7, 8);
  EXPECT(iso_histogram(ctx, x, edges, weight, false), "f32 (4)", 1, 2, 3, 11);
  iso_tensor *points = make(ISO_F32, 2, ISO_DIMS(3, 2), (const double[]){0, 0, 1, 1, 1, 0.5});
  const iso_tensor *const both[] = {VECTOR(ISO_F32, 0, 0.5, 1), VECTOR(ISO_F32, 0, 1)};
  EXPECT(iso_histogramdd(ctx, points, 2, both, NULL, false), "f32 (2,1)", 1, 2);
  EXPECT(iso_histogramdd(ctx, points, 2, both, VECTOR(ISO_F32, 1, 2, 5), true), "f32 (2,1)", 0.25, 1.75);
  assert_null(iso_histc(ctx, VECTOR(ISO_F32, 5e37), 100, 0, 1e38)); /* (high − low)·bins is beyond f32 */
  expect_error(ISO_INVALID_ARGUMENT, "0 to 1e+38 cannot be divided into 100 bins");
  assert_null(iso_histc(ctx, VECTOR(ISO_F32, 1), 2, 1, 1 + 1e-12)); /* one number in f32 */
  expect_error(ISO_INVALID_ARGUMENT, "bins of f32");
  assert_null(iso_histc(ctx, x, 0, 0, 1));
  expect_error(ISO_INVALID_ARGUMENT, "0 bins");
  assert_null(iso_histc(ctx, x, 3, 0, 0));
  expect_error(ISO_INVALID_ARGUMENT, "x[4] is");
  assert_null(iso_histc(ctx, x, 3, 2, 1));
  expect_error(ISO_INVALID_ARGUMENT, "2 to 1");
}

/* What has no gradient, while memory runs out: test_faults' promise, which only sees gradient cases. */
typedef iso_tensor *call(const iso_tensor *x, iso_tensor **second, iso_tensor **third);
static iso_tensor *c_argsort(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  (void)third;
  *second = iso_argsort(ctx, x, 0, true);
  return iso_isin(ctx, x, x, false);
}
static iso_tensor *c_unique(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  return iso_unique(ctx, x, second, third);
}
static iso_tensor *c_unique_along(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  return iso_unique_along(ctx, x, 1, second, third);
}
static iso_tensor *c_consecutive(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  return iso_unique_consecutive_along(ctx, x, 0, second, third);
}
static iso_tensor *c_histogram(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  *second = iso_histogram_edges(ctx, x, 3, 0, 0);
  *third = *second ? iso_histogram(ctx, x, *second, x, true) : NULL;
  return iso_histc(ctx, x, 3, 0, 0);
}
static iso_tensor *c_histogramdd(const iso_tensor *x, iso_tensor **second, iso_tensor **third) {
  *second = iso_histogram_edges(ctx, x, 2, 0, 8);
  *third = *second ? iso_bincount(ctx, iso_cast(ctx, iso_select(ctx, x, 1, 0), ISO_I32), 9) : NULL;
  return *third ? iso_histogramdd(ctx, x, 2, (const iso_tensor *const[]){*second, *second}, NULL, true) : NULL;
}

static void test_out_of_memory(void **state) {
  (void)state;
  static call *const calls[] = {c_argsort, c_unique, c_unique_along, c_consecutive, c_histogram, c_histogramdd};
  const double values[] = {3, 1, 2, 3, 3, 1, 0, 7};
  iso_tensor *x = make(ISO_F32, 2, ISO_DIMS(4, 2), values);
  for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
    size_t live = 0;
    uint64_t at = 0; /* the first call fails nowhere, and fills caches */
    for (bool failed = true; failed || at <= 1; at++) {
      iso_tensor *second = NULL, *third = NULL;
      iso_scope_push(ctx);
      iso_memory_fail_at(ctx, at);
      iso_tensor *y = calls[c](x, &second, &third);
      iso_memory_fail_at(ctx, 0);
      failed = iso_error_code(ctx) != ISO_OK;
      if (failed) assert_int_equal(iso_error_code(ctx), ISO_OUT_OF_MEMORY), assert_null(y);
      else assert_non_null(y);
      iso_clear_error(ctx);
      iso_scope_pop(ctx);
      if (at == 0) live = iso_memory_get_info(ctx).live_bytes;
      else assert_int_equal(iso_memory_get_info(ctx).live_bytes, live);
      assert_true(at < 10000);
    }
    assert_true(at > 5);
  }
}

static void test_refusals(void **state) {
  (void)state;
  iso_tensor *x = VECTOR(ISO_F32, 1, 2), *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(2, 0));
  assert_null(iso_topk(ctx, x, 3, 0, true, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "k is 3: the axis has 2 elements");
  assert_null(iso_kthvalue(ctx, x, 0, 0, false, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "k is 0: 1 to 2");
  assert_null(iso_sort(ctx, x, 1, false, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "sort: axis 1");
  assert_null(iso_median(ctx, none, 1, false, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "(2,0)");
  assert_null(iso_mode(ctx, none, -1, false, NULL));
  expect_error(ISO_INVALID_ARGUMENT, "nothing to choose from");
  EXPECT(iso_sort(ctx, none, 1, false, NULL), "f32 (2,0)", 0);
  EXPECT(iso_median(ctx, none, 0, false, NULL), "f32 (0)", 0);
  EXPECT(iso_topk(ctx, none, 2, 0, false, NULL), "f32 (2,0)", 0);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(test_order),      TEST(test_axes_and_strides), TEST(test_top_and_statistics),
                                     TEST(test_quantiles),  TEST(test_unique),           TEST(test_search),
                                     TEST(test_histograms), TEST(test_out_of_memory),    TEST(test_refusals)};
  return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
