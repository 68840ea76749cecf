/* test_ops.c: values that finite differences and PyTorch's cases do not reach: empty tensors, NaN, layouts, orders of
 * summation chosen by axes, error sentences, random sites, child contexts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "numeric/order.h"
#include "ops/ops.h"
#include "ops/fixture.h" /* last: it names a context that headers name, too */

static float item(const iso_tensor *t) {
  double v = 0;
  if (!t || iso_tensor_item(t, &v) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  return (float)v;
}
static iso_tensor *uneven(int n_dims, const int64_t *shape) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  const iso_philox at = {.seed = 1, .stream = ISO_PHILOX_USER};
  assert_int_equal(iso_fill_normal(t, &at, 0, 1), ISO_OK);
  return t;
}

static void test_empty(void **state) {
  (void)state;
  iso_tensor *none = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 3));
  assert_true(item(iso_sum_all(ctx, none)) == 0 && !signbit(item(iso_sum_all(ctx, none))));
  assert_true(isnan(item(iso_mean_all(ctx, none))));
  assert_true(item(iso_prod(ctx, none, 0, NULL, false)) == 1);
  assert_null(iso_amax(ctx, none, 1, (int[]){0}, false));
  expect_error(ISO_INVALID_ARGUMENT, "(0,3)");
  iso_tensor *product =
      iso_matmul(ctx, iso_transpose(ctx, none, 0, 1), iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(0, 2)));
  assert_int_equal(iso_tensor_numel(product), 6); /* K = 0 gives +0 */
  assert_true(item(iso_amax(ctx, product, 0, NULL, false)) == 0 && item(iso_amin(ctx, product, 0, NULL, false)) == 0);
  assert_int_equal(iso_tensor_numel(iso_softmax(ctx, none, 1)), 0);
  assert_int_equal(iso_tensor_numel(iso_exp(ctx, none)), 0);
  iso_tensor *image = iso_tensor_new_channels_last(ctx, ISO_F32, 4, ISO_DIMS(0, 2, 4, 4));
  iso_tensor *w = iso_requires_grad(uneven(4, ISO_DIMS(3, 2, 3, 3)), true);
  iso_tensor *y =
      iso_max_pool2d(ctx, iso_conv2d(ctx, image, w, NULL, NULL), &(iso_pool2d_options){.kernel_h = 2, .kernel_w = 2});
  if (!y) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_backward(iso_sum_all(ctx, y)), ISO_OK);
  assert_true(item(iso_amax(ctx, iso_grad(w), 0, NULL, false)) == 0);
}

static void test_nan(void **state) {
  (void)state;
  const float values[] = {1, NAN, 3, -2};
  iso_tensor *x = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(4), values), true);
  assert_true(isnan(item(iso_amax(ctx, x, 0, NULL, false))));
  assert_true(item(iso_argmax(ctx, x, 0, false)) == 1);
  iso_tensor *y = iso_relu(ctx, x);
  assert_int_equal(iso_backward_with(y, NULL, NULL), ISO_OK);
  double g[4];
  for (int64_t i = 0; i < 4; i++) iso_tensor_at(iso_grad(x), &i, &g[i]);
  assert_true(g[0] == 1 && isnan(g[1]) && g[2] == 1 && g[3] == 0);
}

/* Which order a reduction has is decided by its axes: here against the orders themselves. */
static void test_axes_decide_the_order(void **state) {
  (void)state;
  enum { N = 3, C = 5, H = 20, W = 19, HW = H * W };
  iso_tensor *x = iso_channels_last(ctx, uneven(4, ISO_DIMS(N, C, H, W)));
  const float *p = iso_tensor_data(x); /* (N,H,W,C) */
  const size_t allocations = iso_memory_get_info(ctx).n_allocations;
  iso_tensor *channels = iso_sum(ctx, x, 3, (int[]){0, 2, 3}, false);
  assert_true(iso_memory_get_info(ctx).n_allocations - allocations < 8); /* handles and the result: no copy of x */
  for (int64_t c = 0; c < C; c++) {
    double got;
    iso_tensor_at(channels, &c, &got);
    assert_true((float)got == iso__ordered_sum_f32(p + c, C, N * HW));
  }
  /* All axes: lanes over the logical order, whatever the storage. */
  float *logical = malloc(sizeof(float) * N * C * HW);
  assert_int_equal(iso_tensor_copy_to(x, logical, sizeof(float) * N * C * HW), ISO_OK);
  assert_true(item(iso_sum_all(ctx, x)) == iso__lanes_sum_f32(logical, 1, N * C * HW));
  /* Middle axis: k over it, in one pass per (outer, inner). */
  double got;
  iso_tensor_at(iso_sum(ctx, x, 1, (int[]){1}, false), ISO_DIMS(1, 2, 3), &got);
  assert_true((float)got == iso__ordered_sum_f32(logical + (C * HW) + 2 * W + 3, HW, C));
  free(logical);
}

static void test_layouts(void **state) {
  (void)state;
  iso_tensor *x = iso_channels_last(ctx, uneven(4, ISO_DIMS(2, 3, 4, 5)));
  assert_true(iso_tensor_is_channels_last(iso_relu(ctx, x)));
  assert_true(iso_tensor_is_channels_last(iso_mul(ctx, iso_tensor_full(ctx, ISO_F32, 3, ISO_DIMS(3, 1, 1), 2), x)));
  iso_tensor *flat = iso_flatten(ctx, x, 1, -1);
  double a, b;
  iso_tensor_at(flat, ISO_DIMS(1, 27), &a); /* 27 = 1·20 + 1·5 + 2 */
  iso_tensor_at(x, ISO_DIMS(1, 1, 1, 2), &b);
  assert_true(a == b);
  assert_ptr_equal(iso_tensor_data(iso_reshape(ctx, flat, 1, ISO_DIMS(-1))), iso_tensor_data(flat));
  assert_ptr_equal(iso_tensor_data(iso_contiguous(ctx, flat)), iso_tensor_data(flat));
}

static void test_sentences(void **state) {
  (void)state;
  iso_tensor *a = uneven(2, ISO_DIMS(2, 3)), *b = uneven(2, ISO_DIMS(4, 5));
  assert_null(iso_matmul(ctx, a, b));
  expect_error(ISO_SHAPE_MISMATCH, "matmul: a is (2,3) but b is (4,5): inner extents 3 and 4 differ");
  assert_null(iso_linear(ctx, a, b, NULL, false));
  expect_error(ISO_SHAPE_MISMATCH, "3 features where 5 are expected");
  assert_null(iso_conv2d(ctx, uneven(4, ISO_DIMS(1, 3, 5, 5)), uneven(4, ISO_DIMS(2, 4, 3, 3)), NULL, NULL));
  expect_error(ISO_SHAPE_MISMATCH, "conv2d: x (1,3,5,5) has 3 channels a group but w (2,4,3,3) expects 4");
  assert_null(iso_exp(ctx, iso_cast(ctx, a, ISO_I64)));
  expect_error(ISO_DTYPE_MISMATCH, "exp: i64");
  assert_null(iso_add(ctx, a, iso_cast(ctx, a, ISO_F64)));
  expect_error(ISO_DTYPE_MISMATCH, "operand 1 is f32 but operand 2 is f64");
  const int64_t targets[] = {1, 7};
  assert_null(iso_cross_entropy(ctx, a, iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), targets), NULL));
  expect_error(ISO_INVALID_ARGUMENT, "target[1] is 7: classes run from 0 to 2");
  assert_null(iso_sum(ctx, a, 1, (int[]){2}, false));
  expect_error(ISO_INVALID_ARGUMENT, "sum: axis 2");
  assert_null(iso_reshape(ctx, a, 2, ISO_DIMS(-1, 4)));
  expect_error(ISO_SHAPE_MISMATCH, "(2,3) with 6 elements cannot become (-1,4)");
  assert_null(iso_dropout(ctx, a, 1.5, true));
  expect_error(ISO_INVALID_ARGUMENT, "p is 1");
}

/* Sites count the random operators of a forward pass; a step starts them again. */
static void test_random_sites(void **state) {
  (void)state;
  char first[33], second[33], again[33], later[33];
  iso_tensor_hash(iso_random_normal(ctx, ISO_F32, 1, ISO_DIMS(64), 0, 1), first);
  iso_tensor_hash(iso_random_normal(ctx, ISO_F32, 1, ISO_DIMS(64), 0, 1), second);
  iso_random_set_step(ctx, 0);
  iso_tensor_hash(iso_random_normal(ctx, ISO_F32, 1, ISO_DIMS(64), 0, 1), again);
  iso_random_set_step(ctx, 1);
  iso_tensor_hash(iso_random_normal(ctx, ISO_F32, 1, ISO_DIMS(64), 0, 1), later);
  assert_string_equal(first, again);
  assert_string_not_equal(first, second);
  assert_string_not_equal(first, later);
  assert_true(item(iso_mean_all(ctx, iso_random_bernoulli(ctx, ISO_F32, 1, ISO_DIMS(10000), 0.25))) < 0.27f);
}

static void test_child_context(void **state) {
  (void)state;
  iso_context *child;
  assert_int_equal(iso_context_new_child(ctx, 1, &child), ISO_OK);
  assert_int_equal(iso_n_threads(child), 1);
  assert_int_equal((int)iso_policy_current(child)->seed, (int)iso_policy_current(ctx)->seed);
  iso_tensor *x = uneven(1, ISO_DIMS(4));
  assert_null(iso_exp(child, x)); /* handles stay where they were made */
  assert_int_equal(iso_error_code(child), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_error_code(ctx), ISO_OK); /* and errors too */
  iso_context_free(child);
  char message[200];
  assert_int_equal(iso_context_new_message(&(iso_context_options){.isa = "mmx"}, &child, message, sizeof message),
                   ISO_INVALID_ARGUMENT);
  assert_non_null(strstr(message, "mmx"));
  assert_null(child);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {TEST(test_empty),        TEST(test_nan),       TEST(test_axes_decide_the_order),
                                     TEST(test_layouts),      TEST(test_sentences), TEST(test_random_sites),
                                     TEST(test_child_context)};
  return cmocka_run_group_tests_name("ops", tests, NULL, NULL);
}
