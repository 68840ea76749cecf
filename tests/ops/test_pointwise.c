/* test_pointwise.c: exact values of pointwise functions where gradients and PyTorch's cases do not reach: integers that
 * wrap, division by zero, shifts, truths, NaN, halves. */
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
static int setup(void **state) {
  (void)state;
  return iso_context_new(&(iso_context_options){.n_threads = 2}, &ctx) != ISO_OK;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}

enum { MOST = 16 };
static void expect_i64(const iso_tensor *t, int n, const int64_t *want) {
  int64_t got[MOST];
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_numel(t), n);
  iso_tensor *wide = iso_cast(ctx, t, ISO_I64);
  assert_int_equal(iso_tensor_copy_to(wide, got, (size_t)n * sizeof *got), ISO_OK);
  for (int i = 0; i < n; i++)
    if (got[i] != want[i]) fail_msg("element %d is %lld, not %lld", i, (long long)got[i], (long long)want[i]);
}
static void expect_f32(const iso_tensor *t, int n, const float *want) {
  float got[MOST];
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_numel(t), n);
  iso_tensor *wide = iso_cast(ctx, t, ISO_F32);
  assert_int_equal(iso_tensor_copy_to(wide, got, (size_t)n * sizeof *got), ISO_OK);
  for (int i = 0; i < n; i++)
    if (!iso_same_bits(&got[i], &want[i], 1, ISO_F32))
      fail_msg("element %d is %a, not %a", i, (double)got[i], (double)want[i]);
}
#define COUNT(list) ((int)(sizeof(list) / sizeof *(list)))
#define I64(...)                                                                                                       \
  iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(COUNT(((int64_t[]){__VA_ARGS__}))), ((int64_t[]){__VA_ARGS__}))
#define F32(...)                                                                                                       \
  iso_tensor_copy_from(ctx, ISO_F32, 1, ISO_DIMS(COUNT(((float[]){__VA_ARGS__}))), ((float[]){__VA_ARGS__}))
#define IS_I64(t, ...) expect_i64(t, COUNT(((int64_t[]){__VA_ARGS__})), ((int64_t[]){__VA_ARGS__}))
#define IS_F32(t, ...) expect_f32(t, COUNT(((float[]){__VA_ARGS__})), ((float[]){__VA_ARGS__}))

/* Tensors compute the very functions that numeric.h offers for one number. */
static void test_shared_functions(void **state) {
  (void)state;
  IS_F32(iso_mish(ctx, F32(-INFINITY, INFINITY, 1.5f, -100)), -0.0f, INFINITY, iso_f32_mish(1.5f), iso_f32_mish(-100));
  IS_F32(iso_remainder(ctx, F32(-6, 6, -7), F32(3, -3, 3)), iso_f32_remainder(-6, 3), iso_f32_remainder(6, -3), 2);
  IS_F32(iso_fmod(ctx, F32(-6, 1e30f, 5), F32(3, 7, INFINITY)), -0.0f, iso_f32_fmod(1e30f, 7), 5);
  IS_F32(iso_hypot(ctx, F32(INFINITY, 3e38f), F32(NAN, 1)), INFINITY, iso_f32_hypot(3e38f, 1));
  IS_F32(iso_logaddexp(ctx, F32(-INFINITY, INFINITY), F32(-INFINITY, -INFINITY)), -INFINITY, INFINITY);
  IS_F32(iso_remainder(ctx, F32(-6, 6), F32(3, -3)), -0.0f, 0); /* a zero has the dividend's sign */
}

/* Poles, ends and zeros as docs/numerics-math.md tables them; derivatives where a formula would give 0/0. */
static void test_special_functions(void **state) {
  (void)state;
  IS_F32(iso_lgamma(ctx, F32(-INFINITY, -2, -0.0f, 1, 2, 4.5f, INFINITY)), INFINITY, INFINITY, INFINITY, 0, 0,
         iso_f32_lgamma(4.5f), INFINITY);
  IS_F32(iso_digamma(ctx, F32(-INFINITY, -3, -0.0f, 0, 1, INFINITY)), NAN, NAN, INFINITY, -INFINITY, -0x1.2788dp-1f,
         INFINITY);
  IS_F32(iso_trigamma(ctx, F32(-INFINITY, -1, 0, 1, INFINITY)), INFINITY, INFINITY, INFINITY, 0x1.a51a66p+0f, 0);
  IS_F32(iso_erfinv(ctx, F32(-1, -0.0f, 0.5f, 1, 1.5f)), -INFINITY, -0.0f, 0x1.e861fcp-2f, INFINITY, NAN);
  IS_F32(iso_ndtri(ctx, F32(0, 0.5f, 1, -0.1f, 1e-30f)), -INFINITY, 0, INFINITY, NAN, iso_f32_ndtri(1e-30f));
  IS_F32(iso_i0(ctx, F32(-INFINITY, 0, 1)), INFINITY, 1, 0x1.441ce4p+0f);
  IS_F32(iso_i1(ctx, F32(-INFINITY, -0.0f, -1)), -INFINITY, -0.0f, -0x1.215c88p-1f);
  IS_F32(iso_i0e(ctx, F32(-INFINITY, 0, 30)), 0, 1, iso_f32_i0e(30));
  IS_F32(iso_i1e(ctx, F32(-INFINITY, -0.0f, -30)), -0.0f, -0.0f, iso_f32_i1e(-30));
  IS_F32(iso_cast(ctx, iso_i0(ctx, iso_cast(ctx, F32(2), ISO_BF16)), ISO_F32), 2.28125f);

  iso_tensor *(*const of[])(iso_context *, const iso_tensor *) = {iso_i1, iso_i1e, iso_i0, iso_i0e};
  for (int i = 0; i < COUNT(of); i++) {
    iso_tensor *x = iso_requires_grad(F32(0), true);
    assert_int_equal(iso_backward(of[i](ctx, x)), ISO_OK);
    IS_F32(iso_grad(x), i < 2 ? 0.5f : 0);
  }
}

/* More than 2^23 elements a row, the second of which begins in the middle of a vector. */
static void test_long_rows_that_are_not_aligned(void **state) {
  (void)state;
  const int64_t n = (8 << 20) + 1;
  iso_tensor *a = iso_reshape(ctx, iso_arange(ctx, ISO_F32, 0, (double)(2 * n), 1), 2, ISO_DIMS(2, n));
  iso_tensor *y = iso_add(ctx, a, iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(n), 1));
  double last = 0;
  assert_int_equal(iso_tensor_at(y, ISO_DIMS(1, n - 1), &last), ISO_OK);
  assert_true(last == (double)((float)(2 * n - 1) + 1.0f));
}

static void test_closeness(void **state) {
  (void)state;
  bool same = true;
  const int64_t big = INT64_C(1) << 53;
  assert_int_equal(iso_allclose(ctx, I64(big), I64(big + 1), 0, 0, false, &same), ISO_OK);
  assert_false(same);
  assert_int_equal(iso_allclose(ctx, NULL, I64(1), 0, 0, false, &same), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_equal(ctx, I64(1), NULL, &same), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
}

static void test_integers_wrap(void **state) {
  (void)state;
  const int64_t low = INT64_MIN, high = INT64_MAX;
  IS_I64(iso_add(ctx, I64(high, low), I64(1, -1)), low, high);
  IS_I64(iso_mul(ctx, I64(high, 3), I64(2, -4)), -2, -12);
  IS_I64(iso_neg(ctx, I64(low, 5)), low, -5);
  IS_I64(iso_abs(ctx, I64(low, -5)), low, 5);
  IS_I64(iso_pow(ctx, I64(2, 3, -1, 2, 0), I64(62, 41, -3, -1, 0)), INT64_C(1) << 62, INT64_C(-420491770248316829), -1,
         0, 1);
  iso_tensor *bytes = iso_cast(ctx, I64(250, 3), ISO_U8);
  assert_int_equal(iso_tensor_dtype(iso_add(ctx, bytes, bytes)), ISO_U8);
  IS_I64(iso_add(ctx, bytes, bytes), 244, 6);
  IS_I64(iso_neg(ctx, bytes), 6, 253);
  iso_tensor *words = iso_cast(ctx, I64(INT32_MAX, -7), ISO_I32);
  IS_I64(iso_add_scalar(ctx, words, 1), INT32_MIN, -6);
  IS_I64(iso_clamp(ctx, words, -3, 9), 9, -3);
}

static void test_bits(void **state) {
  (void)state;
  IS_I64(iso_bitwise_and(ctx, I64(12, -1), I64(10, 7)), 8, 7);
  IS_I64(iso_bitwise_or(ctx, I64(12, 1), I64(10, 6)), 14, 7);
  IS_I64(iso_bitwise_xor(ctx, I64(12, 5), I64(10, 5)), 6, 0);
  IS_I64(iso_bitwise_not(ctx, I64(0, 41)), -1, -42);
  IS_I64(iso_bitwise_not(ctx, iso_cast(ctx, I64(0, 41), ISO_BOOL)), 1, 0);
  IS_I64(iso_bitwise_left_shift(ctx, I64(1, 1, 1, -3), I64(4, 64, -1, 1)), 16, 0, 0, -6);
  IS_I64(iso_bitwise_right_shift(ctx, I64(-8, -8, 8, 8), I64(1, 64, -1, 2)), -4, -1, 0, 2);
  iso_tensor *words = iso_cast(ctx, I64(1, -1), ISO_I32);
  IS_I64(iso_bitwise_left_shift(ctx, words, iso_cast(ctx, I64(31, 40), ISO_I32)), INT32_MIN, 0);
  assert_null(iso_bitwise_and(ctx, F32(1), F32(1)));
  assert_int_equal(iso_error_code(ctx), ISO_DTYPE_MISMATCH);
  assert_non_null(strstr(iso_error_message(ctx), "f32 is not computed here: i64, i32, u8 and bool are"));
  iso_clear_error(ctx);
}

static void test_truths(void **state) {
  (void)state;
  iso_tensor *a = F32(1, NAN, 0, -0.0f, INFINITY), *b = F32(1, NAN, -0.0f, 2, -INFINITY);
  assert_int_equal(iso_tensor_dtype(iso_eq(ctx, a, b)), ISO_BOOL);
  IS_I64(iso_eq(ctx, a, b), 1, 0, 1, 0, 0);
  IS_I64(iso_ne(ctx, a, b), 0, 1, 0, 1, 1);
  IS_I64(iso_lt(ctx, a, b), 0, 0, 0, 1, 0);
  IS_I64(iso_ge(ctx, a, b), 1, 0, 1, 0, 1);
  IS_I64(iso_isnan(ctx, a), 0, 1, 0, 0, 0);
  IS_I64(iso_isinf(ctx, b), 0, 0, 0, 0, 1);
  IS_I64(iso_isfinite(ctx, a), 1, 0, 1, 1, 0);
  IS_I64(iso_logical_not(ctx, a), 0, 0, 1, 1, 0);
  IS_I64(iso_logical_and(ctx, a, I64(1, 1, 1, 1, 0)), 1, 1, 0, 0, 0);
  IS_I64(iso_logical_xor(ctx, a, iso_isnan(ctx, a)), 1, 0, 0, 0, 1);
  IS_I64(iso_lt(ctx, I64(INT64_MAX - 1, -1), I64(INT64_MAX, -2)), 1, 0);
  iso_tensor *half = iso_cast(ctx, F32(1, 2.5f, NAN), ISO_F16);
  IS_I64(iso_gt(ctx, half, iso_cast(ctx, F32(0.5f), ISO_F16)), 1, 1, 0);
}

static void test_choosing(void **state) {
  (void)state;
  iso_tensor *x = F32(1, -2, 3), *y = F32(10, 20, 30);
  IS_F32(iso_where(ctx, iso_gt(ctx, x, F32(0)), x, y), 1, 20, 3);
  IS_F32(iso_where(ctx, F32(0, NAN, -0.0f), x, y), 10, -2, 30);
  IS_I64(iso_where(ctx, iso_isnan(ctx, F32(NAN, 1)), I64(5, 6), I64(7, 8)), 5, 8);
  IS_F32(iso_masked_fill(ctx, x, iso_lt(ctx, x, F32(0)), -INFINITY), 1, -INFINITY, 3);
  IS_F32(iso_masked_fill(ctx, F32(7), iso_gt(ctx, x, F32(0)), 0), 0, 7, 0);
}

/* A formula and its gradient have the bits of the separate operators. */
static iso_tensor *by_parts(const iso_tensor *const *t) {
  return iso_mul(ctx, iso_tanh(ctx, iso_relu(ctx, iso_add(ctx, iso_mul(ctx, t[0], t[1]), t[2]))), t[0]);
}
static iso_tensor *by_formula(const iso_tensor *const *t) {
  return iso_chain(ctx, "mul(tanh(relu(add(mul(a, b), c))), a)", 3, t, 0, NULL);
}
static void expect_same(const iso_tensor *a, const iso_tensor *b) {
  char x[33], y[33];
  if (!a || !b) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_hash(a, x), ISO_OK), assert_int_equal(iso_tensor_hash(b, y), ISO_OK);
  assert_string_equal(x, y);
}
static void test_chain(void **state) {
  (void)state;
  iso_tensor *grads[2][3];
  iso_tensor *t[3] = {iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(40, 700), 0, 1),
                      iso_random_normal(ctx, ISO_F32, 1, ISO_DIMS(700), 0, 1),
                      iso_transpose(ctx, iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(700, 40), 0, 1), 0, 1)};
  const iso_tensor *const *in = (const iso_tensor *const *)t;
  expect_same(by_formula(in), by_parts(in));
  for (int i = 0; i < 3; i++) t[i] = iso_requires_grad(iso_contiguous(ctx, t[i]), true);
  iso_tensor *dy = iso_random_normal(ctx, ISO_F32, 2, ISO_DIMS(40, 700), 0, 1);
  for (int f = 0; f < 2; f++) {
    const iso_tensor *y = f ? by_formula(in) : by_parts(in);
    assert_int_equal(iso_grad_of(1, &y, (const iso_tensor *const[]){dy}, 3, in, NULL, grads[f]), ISO_OK);
  }
  for (int i = 0; i < 3; i++) expect_same(grads[0][i], grads[1][i]);

  static const struct {
    const char *formula, *sentence;
  } wrong[] = {{"a", "no step"},
               {"add(a, d)", "none of the inputs"},
               {"add(a b)", "too few"},
               {"sinh(a)", "none of the functions"},
               {"neg(a) b", "follows"},
               {"neg(a)", "not read"},
               {"mul_scalar(a, s1)", "as many as there are"},
               {"", "none of the functions"},
               {"exp(exp(exp(exp(exp(exp(exp(exp(exp(a)))))))))", "at most 8"}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    assert_null(iso_chain(ctx, wrong[i].formula, 2, in, 1, (const double[]){1}));
    if (!strstr(iso_error_message(ctx), wrong[i].sentence)) fail_msg("%s", iso_error_message(ctx));
    iso_clear_error(ctx);
  }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_shared_functions), TEST(test_special_functions), TEST(test_long_rows_that_are_not_aligned),
      TEST(test_closeness),        TEST(test_integers_wrap),     TEST(test_bits),
      TEST(test_truths),           TEST(test_choosing),          TEST(test_chain)};
  return cmocka_run_group_tests_name("pointwise", tests, NULL, NULL);
}
