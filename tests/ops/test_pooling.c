/* test_pooling.c: pooling and resampling: values worked out by hand, refusals, edges. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *ctx;

static iso_tensor *f32(int n_dims, const int64_t *shape, const float *values) {
  return iso_tensor_copy_from(ctx, ISO_F32, n_dims, shape, values);
}
static iso_tensor *count(int n_dims, const int64_t *shape) {
  float values[512];
  int64_t n = 1;
  for (int d = 0; d < n_dims; d++) n *= shape[d];
  for (int64_t i = 0; i < n; i++) values[i] = (float)i;
  return f32(n_dims, shape, values);
}
static void expect(const iso_tensor *t, int64_t n, const float *values) {
  float got[512];
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_numel(t), n);
  assert_int_equal(iso_tensor_copy_to(t, got, (size_t)n * sizeof *got), ISO_OK);
  for (int64_t i = 0; i < n; i++)
    if (memcmp(&got[i], &values[i], sizeof *got) && !(isnan(got[i]) && isnan(values[i])))
      fail_msg("element %lld is %a, not %a", (long long)i, (double)got[i], (double)values[i]);
}
static void expect_i64(const iso_tensor *t, int64_t n, const int64_t *values) {
  int64_t got[64];
  assert_non_null(t);
  assert_int_equal(iso_tensor_dtype(t), ISO_I64);
  assert_int_equal(iso_tensor_numel(t), n);
  assert_int_equal(iso_tensor_copy_to(t, got, (size_t)n * sizeof *got), ISO_OK);
  for (int64_t i = 0; i < n; i++) assert_int_equal(got[i], values[i]);
}
static void refused(const iso_tensor *t, iso_status status, const char *words) {
  assert_null(t);
  assert_int_equal(iso_error_code(ctx), status);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' lacks '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}
#define FLOATS(...) ((const float[]){__VA_ARGS__})
#define INTS(...) ((const int64_t[]){__VA_ARGS__})

static void test_max(void **state) {
  (void)state;
  iso_tensor *x = count(4, ISO_DIMS(1, 1, 3, 5)), *indices;
  iso_tensor *y = iso_max_pool2d_with_indices(ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2}, &indices);
  expect(y, 2, FLOATS(6, 8));
  expect_i64(indices, 2, INTS(6, 8));
  y = iso_max_pool2d_with_indices(ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .ceil_mode = true},
                                  &indices);
  expect(y, 6, FLOATS(6, 8, 9, 11, 13, 14));
  expect_i64(indices, 6, INTS(6, 8, 9, 11, 13, 14));
  y = iso_max_pool2d(
      ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .stride_h = 1, .stride_w = 1, .dilation_w = 3});
  expect(y, 4, FLOATS(8, 9, 13, 14));
  /* without a batch, of one axis; the lowest of equals, the first NaN */
  y = iso_max_pool1d_with_indices(ctx, f32(2, ISO_DIMS(2, 4), FLOATS(1, 3, 3, 2, NAN, 1, NAN, 5)),
                                  &(iso_pool1d_options){.kernel = 4}, &indices);
  assert_int_equal(iso_tensor_n_dims(y), 2);
  expect(y, 2, FLOATS(3, NAN));
  expect_i64(indices, 2, INTS(1, 0));
  /* more positions than a byte counts */
  y = iso_max_pool3d(ctx, count(5, ISO_DIMS(1, 1, 7, 8, 9)),
                     &(iso_pool3d_options){.kernel_d = 7, .kernel_h = 8, .kernel_w = 9});
  expect(y, 1, FLOATS(503));
}

static void test_average(void **state) {
  (void)state;
  iso_tensor *x = count(4, ISO_DIMS(1, 1, 2, 3));
  expect(iso_avg_pool2d(ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .ceil_mode = true}), 2,
         FLOATS(2, 3.5f));
  const iso_pool2d_options padded = {.kernel_h = 2, .kernel_w = 2, .pad_h = 1, .pad_w = 1};
  expect(iso_avg_pool2d(ctx, x, &padded), 4, FLOATS(0, 1.5f, 3, 4.5f));
  iso_pool2d_options counted = padded;
  counted.count_padding = true;
  expect(iso_avg_pool2d(ctx, x, &counted), 4, FLOATS(0, 0.75f, 0.75f, 2.25f));
  counted.divisor = -2;
  expect(iso_avg_pool2d(ctx, x, &counted), 4, FLOATS(-0.0f, -1.5f, -1.5f, -4.5f));
  expect(iso_adaptive_avg_pool2d(ctx, x, 1, -1), 3, FLOATS(1.5f, 2.5f, 3.5f));
  expect(iso_global_avg_pool2d(ctx, x), 1, FLOATS(2.5f));
  expect(iso_global_avg_pool2d(ctx, count(3, ISO_DIMS(1, 2, 3))), 1, FLOATS(2.5f)); /* (C,H,W) */
  expect(iso_adaptive_avg_pool1d(ctx, count(2, ISO_DIMS(1, 5)), 3), 3, FLOATS(0.5f, 2, 3.5f));
  expect(iso_lp_pool1d(ctx, f32(3, ISO_DIMS(1, 1, 2), FLOATS(3, 4)), 2, &(iso_pool1d_options){.kernel = 2}), 1,
         FLOATS(5));
}

static void test_unpool(void **state) {
  (void)state;
  iso_tensor *x = f32(3, ISO_DIMS(1, 1, 3), FLOATS(7, 8, 9));
  iso_tensor *indices = iso_tensor_copy_from(ctx, ISO_I64, 3, ISO_DIMS(1, 1, 3), INTS(2, 0, 2));
  expect(iso_max_unpool1d(ctx, x, indices, 4), 4, FLOATS(8, 0, 9, 0)); /* the last one stays */
  indices = iso_tensor_copy_from(ctx, ISO_I64, 3, ISO_DIMS(1, 1, 3), INTS(2, 0, 4));
  refused(iso_max_unpool1d(ctx, x, indices, 4), ISO_INVALID_ARGUMENT, "indices[0,0,2] is 4");
  indices = iso_tensor_copy_from(ctx, ISO_I64, 3, ISO_DIMS(1, 1, 3), INTS(-1, 0, 4));
  refused(iso_max_unpool1d(ctx, x, indices, 5), ISO_INVALID_ARGUMENT, "indices[0,0,0] is -1");
  refused(iso_max_unpool1d(ctx, x, x, 5), ISO_DTYPE_MISMATCH, "i64");
}

static void test_fractional(void **state) {
  (void)state;
  iso_tensor *indices;
  /* a = (6 − 2)/(3 − 1) = 2: windows begin at 0, ⌊(1 + .5)·2⌋ − ⌊1⌋ = 2, 4; of the height at 0 and 3 − 1 = 2 */
  iso_tensor *y =
      iso_fractional_max_pool2d(ctx, count(3, ISO_DIMS(1, 3, 6)),
                                &(iso_fractional_pool2d_options){.kernel_h = 1,
                                                                 .kernel_w = 2,
                                                                 .out_h = 2,
                                                                 .ratio_w = 0.5,
                                                                 .samples = f32(3, ISO_DIMS(1, 1, 2), FLOATS(0.5f, 0))},
                                &indices);
  expect(y, 6, FLOATS(1, 3, 5, 13, 15, 17));
  expect_i64(indices, 6, INTS(1, 3, 5, 13, 15, 17));
  y = iso_fractional_max_pool3d(
      ctx, count(4, ISO_DIMS(2, 2, 3, 4)),
      &(iso_fractional_pool3d_options){.kernel_d = 1, .kernel_h = 1, .kernel_w = 1, .out_d = 2, .out_h = 3, .out_w = 4},
      NULL);
  assert_int_equal(iso_tensor_numel(y), 48); /* drawn, but there is only one way */
  refused(iso_fractional_max_pool2d(
              ctx, count(3, ISO_DIMS(1, 3, 6)),
              &(iso_fractional_pool2d_options){.kernel_h = 2, .kernel_w = 2, .out_h = 3, .out_w = 2}, NULL),
          ISO_INVALID_ARGUMENT, "do not fit");
}

#define INTERPOLATE(x, ...) iso_interpolate(ctx, x, &(iso_interpolate_options){__VA_ARGS__})
static void test_interpolate(void **state) {
  (void)state;
  iso_tensor *x = f32(3, ISO_DIMS(1, 1, 3), FLOATS(-0.0f, 4, 8));
  expect(INTERPOLATE(x, .size_w = 6), 6, FLOATS(-0.0f, -0.0f, 4, 4, 8, 8));
  expect(INTERPOLATE(x, .size_w = 2), 2, FLOATS(-0.0f, 4));
  expect(INTERPOLATE(x, .mode = ISO_INTERPOLATE_NEAREST_EXACT, .size_w = 2), 2, FLOATS(-0.0f, 8));
  expect(INTERPOLATE(x, .mode = ISO_INTERPOLATE_LINEAR, .size_w = 6), 6, FLOATS(0, 1, 3, 5, 7, 8));
  expect(INTERPOLATE(x, .mode = ISO_INTERPOLATE_LINEAR, .size_w = 5, .align_corners = true), 5, FLOATS(0, 2, 4, 6, 8));
  expect(INTERPOLATE(x, .mode = ISO_INTERPOLATE_AREA, .size_w = 2), 2, FLOATS(2, 6));
  /* ⌊3·1.5⌋ = 4 outputs: at (o + ½)/1.5 − ½ = −1/6, ½, 7/6, 11/6, recomputed at (o + ½)·3/4 − ½ = −1/8, 5/8, … */
  expect(INTERPOLATE(x, .mode = ISO_INTERPOLATE_NEAREST_EXACT, .scale_w = 1.5), 4, FLOATS(-0.0f, 4, 4, 8));
  iso_tensor *y = INTERPOLATE(x, .mode = ISO_INTERPOLATE_LINEAR, .scale_w = 1.5);
  double first;
  assert_int_equal(iso_tensor_at(y, INTS(0, 0, 1), &first), ISO_OK);
  assert_true(first == 2);
  y = INTERPOLATE(x, .mode = ISO_INTERPOLATE_LINEAR, .scale_w = 1.5, .recompute_scale_factor = true);
  assert_int_equal(iso_tensor_at(y, INTS(0, 0, 1), &first), ISO_OK);
  assert_true(first == 2.5);
  /* halving with a triangle of reach 2: weights 1/8 3/8 3/8 1/8, at the edge 3/7 3/7 1/7 */
  y = INTERPOLATE(f32(3, ISO_DIMS(1, 1, 6), FLOATS(8, 8, 8, 16, 16, 16)), .mode = ISO_INTERPOLATE_LINEAR, .size_w = 3,
                  .antialias = true);
  assert_int_equal(iso_tensor_at(y, INTS(0, 0, 1), &first), ISO_OK);
  assert_true(first == 12);
  refused(INTERPOLATE(x, .size_w = 0), ISO_INVALID_ARGUMENT, "neither");
  expect(INTERPOLATE(x, .size_w = 2, .scale_w = 1), 2, FLOATS(-0.0f, 4)); /* both: the size, at the step of the scale */
  refused(INTERPOLATE(x, .scale_w = -1), ISO_INVALID_ARGUMENT, "less than one position");
  refused(INTERPOLATE(x, .scale_w = 0.1), ISO_INVALID_ARGUMENT, "less than one position");
  refused(INTERPOLATE(x, .size_w = 3, .align_corners = true), ISO_INVALID_ARGUMENT, "align_corners");
  refused(INTERPOLATE(count(2, ISO_DIMS(2, 2)), .size_w = 3), ISO_SHAPE_MISMATCH, "is needed");
}

static void test_grid(void **state) {
  (void)state;
  iso_tensor *x = count(4, ISO_DIMS(1, 1, 2, 3));
  /* in the middle, at the last input's middle, half a column beyond, no number */
  iso_tensor *grid = f32(4, ISO_DIMS(1, 1, 4, 2), FLOATS(0, 0, 1, 1, 1.5f, 1, NAN, 0));
  iso_grid_sample_options o = {.align_corners = true};
  expect(iso_grid_sample(ctx, x, grid, &o), 4, FLOATS(2.5f, 5, 2.5f, 0));
  o.padding = ISO_GRID_BORDER;
  expect(iso_grid_sample(ctx, x, grid, &o), 4, FLOATS(2.5f, 5, 5, 1.5f));
  o.padding = ISO_GRID_REFLECTION;
  expect(iso_grid_sample(ctx, x, grid, &o), 4, FLOATS(2.5f, 5, 4.5f, 1.5f));
  o.mode = ISO_GRID_NEAREST, o.padding = ISO_GRID_ZEROS;
  expect(iso_grid_sample(ctx, x, grid, &o), 4, FLOATS(1, 5, 5, 0)); /* halves go to the even one */
  o.mode = ISO_GRID_BICUBIC;
  expect(iso_grid_sample(ctx, x, f32(4, ISO_DIMS(1, 1, 1, 2), FLOATS(1, -1)), &o), 1, FLOATS(2));
  refused(iso_grid_sample(ctx, x, x, &o), ISO_SHAPE_MISMATCH, "(N,P,Q,2)");
  o.mode = (iso_grid_mode)9;
  refused(iso_grid_sample(ctx, x, grid, &o), ISO_INVALID_ARGUMENT, "no such");
  iso_tensor *theta = f32(3, ISO_DIMS(1, 2, 3), FLOATS(1, 0, 0, 0, 2, 0.5f));
  expect(iso_affine_grid(ctx, theta, 4, ISO_DIMS(1, 1, 2, 2), false), 8,
         FLOATS(-0.5f, -0.5f, 0.5f, -0.5f, -0.5f, 1.5f, 0.5f, 1.5f));
  expect(iso_affine_grid(ctx, theta, 4, ISO_DIMS(1, 1, 1, 3), true), 6, FLOATS(-1, 0.5f, 0, 0.5f, 1, 0.5f));
  refused(iso_affine_grid(ctx, theta, 5, ISO_DIMS(1, 1, 1, 3, 3), true), ISO_SHAPE_MISMATCH, "(N,3,4)");
}

static void test_refusals(void **state) {
  (void)state;
  iso_tensor *x = count(4, ISO_DIMS(1, 1, 4, 4));
  refused(iso_max_pool2d(ctx, x, &(iso_pool2d_options){0}), ISO_INVALID_ARGUMENT, "at least 1");
  refused(iso_max_pool2d(ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 5}), ISO_SHAPE_MISMATCH, "fit");
  refused(iso_max_pool2d(ctx, x, &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2, .pad_h = 2}), ISO_INVALID_ARGUMENT,
          "half the kernel");
  refused(iso_max_pool1d(ctx, x, &(iso_pool1d_options){.kernel = 2}), ISO_SHAPE_MISMATCH, "3 dimensions");
  refused(iso_avg_pool2d(ctx, iso_tensor_zeros(ctx, ISO_F32, 4, ISO_DIMS(1, 1, 0, 4)),
                         &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2}),
          ISO_SHAPE_MISMATCH, "only the batch may be empty");
  refused(iso_max_pool1d(ctx, count(2, ISO_DIMS(1, 9)), &(iso_pool1d_options){.kernel = 2, .pad = 1, .dilation = 10}),
          ISO_SHAPE_MISMATCH, "holds no position");
  refused(iso_adaptive_avg_pool1d(ctx, count(2, ISO_DIMS(1, 9)), 0), ISO_INVALID_ARGUMENT, "number of windows");
  refused(iso_adaptive_avg_pool1d(ctx, iso_tensor_zeros(ctx, ISO_I64, 2, ISO_DIMS(1, 9)), 3), ISO_DTYPE_MISMATCH,
          "i64");
  /* an empty batch is none of that */
  iso_tensor *y = iso_adaptive_max_pool2d(ctx, iso_tensor_zeros(ctx, ISO_F32, 4, ISO_DIMS(0, 2, 4, 4)), 2, 2, NULL);
  assert_int_equal(iso_tensor_numel(y), 0);
}

/* The storage decides nothing: channels-last, contiguous and reversed views give the same bits. */
static void test_storage(void **state) {
  (void)state;
  float values[2 * 3 * 7 * 6];
  for (int i = 0; i < (int)(sizeof values / sizeof *values); i++) values[i] = sinf((float)i);
  iso_tensor *x = f32(4, ISO_DIMS(2, 3, 7, 6), values), *forms[3] = {x, iso_channels_last(ctx, x), NULL};
  forms[2] = iso_transpose(ctx, iso_contiguous(ctx, iso_transpose(ctx, x, 2, 3)), 2, 3);
  char first[9][33];
  for (int f = 0; f < 3; f++) {
    const iso_pool2d_options o = {
        .kernel_h = 3, .kernel_w = 2, .stride_h = 2, .stride_w = 2, .pad_h = 1, .pad_w = 1, .ceil_mode = true};
    iso_tensor *v = iso_requires_grad(forms[f], true), *indices, *all[9];
    all[0] = iso_max_pool2d(ctx, v, &o);
    all[1] = iso_max_pool2d_with_indices(ctx, v, &o, &indices);
    all[2] = indices;
    all[3] = iso_avg_pool2d(ctx, v, &o);
    all[4] = iso_adaptive_avg_pool2d(ctx, v, 3, 4);
    all[5] = iso_adaptive_max_pool2d(ctx, v, 3, 4, NULL);
    all[6] = INTERPOLATE(v, .mode = ISO_INTERPOLATE_CUBIC, .size_h = 11, .size_w = 4);
    all[7] = INTERPOLATE(v, .mode = ISO_INTERPOLATE_LINEAR, .size_h = 5, .size_w = 13);
    iso_tensor *loss = NULL;
    for (int i = 0; i < 8; i++) {
      if (i == 2) continue;
      iso_tensor *part = iso_sum_all(ctx, iso_square(ctx, all[i]));
      loss = loss ? iso_add(ctx, loss, part) : part;
    }
    assert_int_equal(iso_backward(loss), ISO_OK);
    all[8] = iso_grad(v);
    for (int i = 0; i < 9; i++) {
      char hex[33];
      assert_int_equal(iso_tensor_hash(all[i], f ? hex : first[i]), ISO_OK);
      if (f) assert_string_equal(hex, first[i]);
    }
  }
}

static int setup(void **state) {
  (void)state;
  return iso_context_new(&(iso_context_options){.n_threads = 2}, &ctx) == ISO_OK ? 0 : -1;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}
int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_max),         cmocka_unit_test(test_average),
                                     cmocka_unit_test(test_unpool),      cmocka_unit_test(test_fractional),
                                     cmocka_unit_test(test_refusals),    cmocka_unit_test(test_grid),
                                     cmocka_unit_test(test_interpolate), cmocka_unit_test(test_storage)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
