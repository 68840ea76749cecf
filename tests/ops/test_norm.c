/* test_norm.c: masked, soft and hard softmax, normalisation without parameters, and what they refuse. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *ctx;
static int setup(void **state) {
  (void)state;
  assert_int_equal(iso_context_new(NULL, &ctx), ISO_OK);
  return 0;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}

static void values(const iso_tensor *t, float *out, size_t n) {
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_copy_to(t, out, n * sizeof *out), ISO_OK);
}

/* Present elements have the bits of a row where the others are −infinity; a row of nothing is zeros, and so is its
 * gradient. */
static void test_masked(void **state) {
  (void)state;
  enum { ROWS = 3, N = 100 };
  float x[ROWS * N], hole[ROWS * N], got[ROWS * N], want[ROWS * N];
  uint8_t mask[ROWS * N];
  for (int i = 0; i < ROWS * N; i++) {
    mask[i] = (uint8_t)(i / N != 1 && i % 3 != 1);
    x[i] = (float)((i * 37) % 101) / 7 - 5;
    hole[i] = mask[i] ? x[i] : -INFINITY;
    if (!mask[i] && i % 5 == 0) x[i] = NAN; /* an absent NaN is not seen */
  }
  const int64_t shape[] = {ROWS, N};
  iso_tensor *t = iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F32, 2, shape, x), true);
  iso_tensor *m = iso_tensor_copy_from(ctx, ISO_BOOL, 2, shape, mask), *y = iso_masked_softmax(ctx, t, m, 1);
  values(y, got, ROWS * N);
  values(iso_softmax(ctx, iso_tensor_copy_from(ctx, ISO_F32, 2, shape, hole), 1), want, ROWS * N);
  assert_memory_equal(got, want, sizeof got);
  for (int j = 0; j < N; j++) assert_true(got[N + j] == 0);
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_square(ctx, y))), ISO_OK);
  values(iso_grad(t), got, ROWS * N);
  for (int i = 0; i < ROWS * N; i++) assert_true(mask[i] ? isfinite(got[i]) : got[i] == 0);
  assert_null(iso_masked_softmax(ctx, t, t, 1));
  assert_non_null(strstr(iso_error_message(ctx), "mask is f32: bool is needed"));
  iso_clear_error(ctx);
}

/* Any axis: the bits of the same rows laid out innermost. */
static void test_softmax_axes(void **state) {
  (void)state;
  enum { A = 3, B = 70, C = 21 };
  static float got[A * B * C], want[A * B * C];
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 3, ISO_DIMS(A, B, C), 0, 3);
  for (int log = 0; log < 2; log++)
    for (int axis = 0; axis < 3; axis++) {
      iso_tensor *rows = iso_contiguous(ctx, iso_transpose(ctx, x, axis, 2));
      iso_tensor *y = log ? iso_log_softmax(ctx, x, axis) : iso_softmax(ctx, x, axis);
      iso_tensor *z = iso_transpose(ctx, log ? iso_log_softmax(ctx, rows, 2) : iso_softmax(ctx, rows, 2), axis, 2);
      values(y, got, A * B * C), values(z, want, A * B * C);
      assert_memory_equal(got, want, sizeof got);
      iso_tensor *leaf = iso_requires_grad(iso_clone(ctx, x), true),
                 *same = iso_requires_grad(iso_clone(ctx, rows), true);
      iso_tensor *dy = iso_sinpi(ctx, x), *dz = iso_contiguous(ctx, iso_transpose(ctx, dy, axis, 2));
      assert_int_equal(
          iso_backward_with(log ? iso_log_softmax(ctx, leaf, axis) : iso_softmax(ctx, leaf, axis), dy, NULL), ISO_OK);
      assert_int_equal(iso_backward_with(log ? iso_log_softmax(ctx, same, 2) : iso_softmax(ctx, same, 2), dz, NULL),
                       ISO_OK);
      values(iso_grad(leaf), got, A * B * C), values(iso_transpose(ctx, iso_grad(same), axis, 2), want, A * B * C);
      assert_memory_equal(got, want, sizeof got);
    }
}

static void test_gumbel(void **state) {
  (void)state;
  enum { ROWS = 50, N = 4 };
  float hard[ROWS * N], soft[ROWS * N];
  iso_tensor *x = iso_tensor_zeros(ctx, ISO_F32, 2, ISO_DIMS(ROWS, N));
  iso_random_set_step(ctx, 5);
  values(iso_gumbel_softmax(ctx, x, 0.7, false, 1), soft, ROWS * N);
  iso_random_set_step(ctx, 5);
  iso_tensor *y = iso_gumbel_softmax(ctx, x, 0.7, true, 1);
  values(y, hard, ROWS * N);
  for (int i = 0; i < ROWS; i++) {
    int best = 0;
    for (int j = 1; j < N; j++) best = soft[i * N + j] > soft[i * N + best] ? j : best;
    for (int j = 0; j < N; j++) assert_true(fabsf(hard[i * N + j] - (j == best)) < 1e-6f);
  }
  assert_null(iso_gumbel_softmax(ctx, x, 0, false, 1));
  assert_non_null(strstr(iso_error_message(ctx), "tau is 0"));
  iso_clear_error(ctx);
}

static void test_without_parameters(void **state) {
  (void)state;
  enum { N = 6, C = 5 };
  float a[N * C], b[N * C];
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(N, C), 1, 2);
  iso_tensor *one = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(C), 1),
             *zero = iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(C));
  iso_tensor *mean = iso_clone(ctx, zero), *var = iso_clone(ctx, one);
  const iso_batch_norm_options training = {.training = true};
  values(iso_batch_norm(ctx, x, NULL, NULL, NULL, NULL, &training), a, N * C);
  values(iso_batch_norm(ctx, x, one, zero, mean, var, &training), b, N * C);
  assert_memory_equal(a, b, sizeof a);
  assert_null(iso_batch_norm(ctx, x, NULL, NULL, NULL, NULL, NULL));
  assert_int_equal(iso_error_code(ctx), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  /* Two channels apart from one: (1 + 1/3·(x0² + x1² + x2²))^−1. */
  iso_tensor *y = iso_local_response_norm(ctx, iso_tensor_full(ctx, ISO_F32, 3, ISO_DIMS(1, 3, 1), 3),
                                          &(iso_local_response_norm_options){.size = 3, .alpha = 1, .beta = 1, .k = 1});
  values(y, a, 3);
  assert_true(a[0] == 3.0f / 7 && a[1] == 3.0f / 10 && a[2] == 3.0f / 7);
}

/* Many rows with all gradients wanted go through one kernel, else through two: the same bits. */
static void test_whole_backward(void **state) {
  (void)state;
  enum { N = 700, C = 19 };
  static float whole[N * C], apart[N * C];
  iso_tensor *data = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(N, C), 1, 2), *dy = iso_sinpi(ctx, data);
  for (int rms = 0; rms < 2; rms++) {
    iso_tensor *x[2], *gamma[2], *beta[2];
    for (int i = 0; i < 3; i++) { /* 0: all; 1: x alone; 2: gamma and beta alone */
      iso_tensor *a = iso_requires_grad(iso_clone(ctx, data), i != 2);
      iso_tensor *g = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(C), 1.25), i != 1);
      iso_tensor *b = iso_requires_grad(iso_tensor_zeros(ctx, ISO_F32, 1, ISO_DIMS(C)), i != 1);
      iso_tensor *y = rms ? iso_rms_norm(ctx, a, 1, g, 0) : iso_layer_norm(ctx, a, 1, g, b, 0);
      assert_int_equal(iso_backward_with(y, dy, NULL), ISO_OK);
      if (i != 2) x[i] = iso_grad(a);
      if (i != 1) gamma[i / 2] = iso_grad(g), beta[i / 2] = iso_grad(b);
    }
    values(x[0], whole, N * C), values(x[1], apart, N * C);
    assert_memory_equal(whole, apart, sizeof whole);
    values(gamma[0], whole, C), values(gamma[1], apart, C);
    assert_memory_equal(whole, apart, C * sizeof *whole);
    if (rms) continue;
    values(beta[0], whole, C), values(beta[1], apart, C);
    assert_memory_equal(whole, apart, C * sizeof *whole);
  }
}

/* The running statistics of one training step, n = 40 a channel. */
static void running_after(double momentum, const float *begin, float *mean, float *var) {
  enum { C = 9 };
  iso_scope_push(ctx);
  iso_tensor *x = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(40, C), 3, 2);
  iso_fill_normal(x, &(iso_philox){.seed = 4, .stream = ISO_PHILOX_USER, .site = 8}, 3, 2);
  iso_tensor *r[2];
  for (int i = 0; i < 2; i++) r[i] = iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(C), begin);
  iso_batch_norm(ctx, x, NULL, NULL, r[0], r[1], &(iso_batch_norm_options){.training = true, .momentum = momentum});
  values(r[0], mean, C), values(r[1], var, C);
  iso_scope_pop(ctx);
}

/* fma(momentum, stat − running, running), whichever way it is computed. */
static void test_running_statistics(void **state) {
  (void)state;
  enum { C = 9 };
  static const double momenta[] = {0.1, 0.499999, 0.49999999, 0.5, 0.7, -0.3};
  const float zero[C] = {0}, begin[C] = {-0.0f, 1e30f, 2.5f, -7, 1e-30f, 3, 0.1f, 9, -1e-3f};
  float stat[2][C], got[2][C];
  running_after(1, zero, stat[0], stat[1]); /* from zero, all of it: the statistics themselves */
  for (size_t m = 0; m < sizeof momenta / sizeof *momenta; m++) {
    running_after(momenta[m], begin, got[0], got[1]);
    for (int i = 0; i < 2; i++)
      for (int c = 0; c < C; c++) assert_true(got[i][c] == fmaf((float)momenta[m], stat[i][c] - begin[c], begin[c]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_masked),         cmocka_unit_test(test_softmax_axes),
                                     cmocka_unit_test(test_gumbel),         cmocka_unit_test(test_without_parameters),
                                     cmocka_unit_test(test_whole_backward), cmocka_unit_test(test_running_statistics)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
