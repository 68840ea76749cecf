/* test_packed.c: packed weights change speed and memory, never bits; a change of the weights is seen; what is kept is
 * counted, does not grow with the shapes of the other operand, and goes with the tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *open_context(size_t memory_limit) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  policy.memory_limit = memory_limit;
  assert_int_equal(iso_context_new(&(iso_context_options){.policy = &policy, .n_threads = 2}, &ctx), ISO_OK);
  return ctx;
}

static iso_tensor *normal(iso_context *ctx, int n_dims, const int64_t *shape, uint32_t site) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  assert_int_equal(iso_init_kaiming_normal(t, 1.0, ISO_FAN_IN, site), ISO_OK);
  return t;
}

static void assert_same(const iso_tensor *a, const iso_tensor *b) {
  char x[33], y[33];
  assert_int_equal(iso_tensor_hash(a, x), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, y), ISO_OK);
  assert_string_equal(x, y);
}

typedef iso_tensor *product(iso_context *ctx, const iso_tensor *x, const iso_tensor *w);
static iso_tensor *linear(iso_context *ctx, const iso_tensor *x, const iso_tensor *w) {
  return iso_linear(ctx, x, w, NULL, true);
}
static iso_tensor *conv(iso_context *ctx, const iso_tensor *x, const iso_tensor *w) {
  return iso_conv2d(ctx, x, w, NULL, &(iso_conv2d_options){.pad_h = 1, .pad_w = 1});
}

/* Twice with one x, then with another batch, then after a change of w. */
static void check(product *f, const int64_t x_shape[4], int n_dims, const int64_t w_shape[4]) {
  iso_context *ctx = open_context(SIZE_MAX);
  int64_t other_shape[4];
  memcpy(other_shape, x_shape, sizeof other_shape);
  other_shape[0] += 3;
  iso_tensor *x = normal(ctx, n_dims, x_shape, 1), *other = normal(ctx, n_dims, other_shape, 2);
  iso_tensor *w = n_dims == 4 ? iso_channels_last(ctx, normal(ctx, 4, w_shape, 3)) : normal(ctx, 2, w_shape, 3);
  iso_tensor *y = f(ctx, x, w), *z = f(ctx, other, w);
  assert_int_equal(iso_tensor_packed_bytes(w), 0);
  assert_int_equal(iso_tensor_pack(w), ISO_OK);
  for (int i = 0; i < 2; i++) assert_same(f(ctx, x, w), y);
  const size_t kept = iso_tensor_packed_bytes(w);
  printf("%zu bytes are kept beside weights of %lld\n", kept, (long long)(4 * iso_tensor_numel(w)));
  assert_true(kept > 0);
  assert_same(f(ctx, other, w), z);
  const size_t both = iso_tensor_packed_bytes(w); /* another engine may want another form */
  assert_same(f(ctx, other, w), z);
  assert_int_equal(iso_tensor_packed_bytes(w), both);

  ((float *)iso_tensor_data(w))[5] = 3.5f;
  iso_tensor_touch(w);
  iso_tensor *fresh = iso_tensor_alias(ctx, f(ctx, x, w));
  iso_tensor_unpack(w);
  assert_int_equal(iso_tensor_packed_bytes(w), 0);
  assert_same(fresh, f(ctx, x, w));
  char before[33], after[33];
  iso_tensor_hash(y, before), iso_tensor_hash(fresh, after);
  assert_string_not_equal(before, after);
  iso_context_free(ctx);
}

static void test_linear(void **state) {
  (void)state;
  check(linear, (const int64_t[4]){1, 1024}, 2, (const int64_t[4]){512, 1024});
}
static void test_conv(void **state) {
  (void)state;
  check(conv, (const int64_t[4]){2, 64, 28, 28}, 4, (const int64_t[4]){64, 64, 3, 3});
}

static void test_refused(void **state) {
  (void)state;
  iso_context *ctx = open_context(SIZE_MAX);
  iso_tensor *w = normal(ctx, 2, (const int64_t[]){8, 8}, 1);
  assert_int_equal(iso_tensor_pack(iso_slice(ctx, w, 0, 1, 5, 1)), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_tensor_pack(NULL), ISO_INVALID_ARGUMENT);
  iso_context_free(ctx);
}

/* Without memory for a form the product runs as if nothing were packed. */
static void test_without_memory(void **state) {
  (void)state;
  const int64_t limit = 4 * 1024 * 1024 + 700 * 1024;
  iso_context *ctx = open_context((size_t)limit), *free_ctx = open_context(SIZE_MAX);
  iso_tensor *y[2];
  for (int i = 0; i < 2; i++) {
    iso_context *c = i ? free_ctx : ctx;
    iso_tensor *w = normal(c, 2, (const int64_t[]){1024, 1024}, 1), *x = normal(c, 2, (const int64_t[]){1, 1024}, 2);
    assert_int_equal(iso_tensor_pack(w), ISO_OK);
    y[i] = linear(c, x, w);
    if (!y[i]) fail_msg("%s", iso_error_message(c));
    if (!i) assert_int_equal(iso_tensor_packed_bytes(w), 0);
  }
  assert_same(y[0], y[1]);
  iso_context_free(ctx);
  iso_context_free(free_ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear), cmocka_unit_test(test_conv),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_without_memory)};
  return cmocka_run_group_tests_name("packed", tests, NULL, NULL);
}
