/* test_backward.c: the tape's rules: order of sums, versions, hooks, scopes, freed histories, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/ops.h>

static iso_context *ctx;
static int setup(void **state) {
  (void)state;
  iso_policy policy;
  if (iso_policy_preset("reproducible", &policy) != ISO_OK) return 1;
  return iso_context_new(&(iso_context_options){.n_threads = 1, .policy = &policy}, &ctx) != ISO_OK;
}
static int teardown(void **state) {
  (void)state;
  iso_context_free(ctx);
  return 0;
}

static iso_tensor *vector(int64_t n, const float *values, bool leaf) {
  return iso_requires_grad(iso_tensor_copy_from(ctx, ISO_F32, 1, &n, values), leaf);
}
static iso_tensor *scalar_leaf(double value) {
  return iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 0, NULL, value), true);
}
static double value_of(const iso_tensor *t) {
  double v = NAN;
  if (iso_tensor_item(t, &v) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  return v;
}
static void expect_error(iso_status code, const char *words) {
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}

/* The last consumer's contribution comes first; the numbers are such that the other order rounds differently. */
static void test_order_of_contributions(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(1);
  iso_tensor *a = iso_mul_scalar(ctx, x, 0x1p-25);     /* position 0: third */
  iso_tensor *b = iso_mul_scalar(ctx, x, -1);          /* position 1: second */
  iso_tensor *c = iso_mul_scalar(ctx, x, 1 + 0x1p-23); /* position 2: first */
  iso_tensor *loss = iso_add(ctx, iso_add(ctx, a, b), c);
  assert_int_equal(iso_backward(loss), ISO_OK);
  const float expected = ((1 + 0x1p-23f) + -1.0f) + 0x1p-25f, ascending = (0x1p-25f + -1.0f) + (1 + 0x1p-23f);
  assert_true(expected != ascending);
  assert_true((float)value_of(iso_grad(x)) == expected);
  iso_scope_pop(ctx);
}

/* Within one consumer by argument index: d(x·(y·x) …) would hide it, so the consumer is cat, whose gradients are
 * slices. */
static void test_order_within_one_consumer(void **state) {
  (void)state;
  iso_scope_push(ctx);
  const float one = 1, weights[] = {1 + 0x1p-23f, -1, 0x1p-24f};
  iso_tensor *x = vector(1, &one, true);
  iso_tensor *wide = iso_cat(ctx, 3, (const iso_tensor *const[]){x, x, x}, 0);
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_mul(ctx, wide, vector(3, weights, false)))), ISO_OK);
  assert_true((float)value_of(iso_grad(x)) == (weights[0] + weights[1]) + weights[2]);
  iso_scope_pop(ctx);
}

static void test_gradients_add_up_until_zeroed(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(3);
  for (int i = 1; i <= 3; i++) {
    assert_int_equal(iso_backward(iso_square(ctx, x)), ISO_OK);
    assert_true(value_of(iso_grad(x)) == 6.0 * i);
  }
  iso_tensor *held = iso_grad(x);
  assert_int_equal(iso_backward(iso_square(ctx, x)), ISO_OK);
  assert_true(value_of(held) == 18.0); /* a handle keeps what it saw */
  assert_int_equal(iso_grad_zero(x), ISO_OK);
  assert_null(iso_grad(x));
  assert_int_equal(iso_error_code(ctx), ISO_OK);
  iso_scope_pop(ctx);
}

/* Leaves that receive the same incoming tensor do not share storage afterwards. */
static void test_gradients_are_not_shared(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *a = scalar_leaf(1), *b = scalar_leaf(2);
  assert_int_equal(iso_backward(iso_add(ctx, a, b)), ISO_OK);
  assert_ptr_not_equal(iso_tensor_data(iso_grad(a)), iso_tensor_data(iso_grad(b)));
  iso_scope_pop(ctx);
}

static void test_modified_in_place(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(2), *c = iso_tensor_full(ctx, ISO_F32, 0, NULL, 5);
  iso_tensor *loss = iso_mul(ctx, x, c);
  assert_int_equal(iso_accumulate(c, c, 1), ISO_OK);
  assert_int_equal(iso_backward(loss), ISO_MODIFIED);
  expect_error(ISO_MODIFIED, "mul saved its b");
  assert_null(iso_grad(x));
  assert_int_equal(iso_grad_zero(x), ISO_OK);
  /* What the gradient does not read may change. */
  loss = iso_add(ctx, x, c);
  assert_int_equal(iso_accumulate(c, c, 1), ISO_OK);
  assert_int_equal(iso_backward(loss), ISO_OK);
  assert_int_equal(iso_accumulate(x, c, 1), ISO_STATE);
  expect_error(ISO_STATE, "iso_no_grad_push");
  iso_scope_pop(ctx);
}

static void test_no_grad_and_detach(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(2);
  iso_no_grad_push(ctx);
  assert_false(iso_wants_grad(iso_square(ctx, x)));
  assert_false(iso_grad_is_enabled(ctx));
  iso_no_grad_pop(ctx);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  iso_tensor *y = iso_mul(ctx, x, iso_detach(ctx, iso_square(ctx, x)));
  assert_int_equal(iso_backward(y), ISO_OK);
  assert_true(value_of(iso_grad(x)) == 4.0);
  assert_null(iso_requires_grad(iso_square(ctx, x), false));
  expect_error(ISO_STATE, "iso_detach");
  iso_no_grad_pop(ctx);
  expect_error(ISO_STATE, "more pops");
  assert_int_equal(iso_backward(iso_tensor_full(ctx, ISO_F32, 0, NULL, 1)), ISO_STATE);
  expect_error(ISO_STATE, "no history");
  iso_scope_pop(ctx);
}

static void test_freed_history(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(2), *h = iso_square(ctx, x);
  assert_int_equal(iso_backward(iso_mul_scalar(ctx, h, 3)), ISO_OK);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  assert_int_equal(iso_backward(iso_mul_scalar(ctx, h, 3)), ISO_STALE_HANDLE);
  expect_error(ISO_STALE_HANDLE, "freed");
  iso_grad_zero(x);
  /* Retained, it runs again. */
  h = iso_square(ctx, x);
  const iso_backward_options retain = {.retain_graph = true};
  assert_int_equal(iso_backward_with(h, NULL, &retain), ISO_OK);
  assert_int_equal(iso_backward_with(h, NULL, NULL), ISO_OK);
  assert_true(value_of(iso_grad(x)) == 8.0);
  /* The end of the outermost scope frees it too. */
  iso_tensor *kept = iso_keep(iso_square(ctx, iso_square(ctx, x)));
  iso_scope_push(ctx);
  iso_scope_pop(ctx);
  assert_int_equal((int)iso_tape_length(ctx), 2);
  iso_keep(x);
  iso_scope_pop(ctx);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  assert_int_equal(iso_backward(kept), ISO_STALE_HANDLE);
  expect_error(ISO_STALE_HANDLE, "freed");
  iso_release(kept);
  iso_release(x);
}

static void test_failed_context_refuses(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(2), *y = iso_square(ctx, x);
  const float two[] = {1, 2}, three[] = {1, 2, 3};
  assert_null(iso_add(ctx, vector(2, two, false), vector(3, three, false)));
  assert_int_equal(iso_backward(y), ISO_SHAPE_MISMATCH);
  assert_null(iso_square(ctx, x));
  assert_null(iso_grad(x));
  expect_error(ISO_SHAPE_MISMATCH, "(2)");
  assert_int_equal(iso_backward(y), ISO_OK); /* nothing was lost */
  assert_true(value_of(iso_grad(x)) == 4.0);
  assert_int_equal(iso_backward(iso_mul(ctx, x, vector(2, two, false))), ISO_SHAPE_MISMATCH);
  expect_error(ISO_SHAPE_MISMATCH, "one element");
  iso_scope_pop(ctx);
}

/* ---- hooks ---- */

static iso_tensor *count_and_double(iso_context *c, iso_tensor *grad, void *user) {
  ++*(int *)user;
  iso_tensor *unused = iso_square(c, grad);
  assert_non_null(unused); /* freed with the hook's scope */
  return iso_mul_scalar(c, grad, 2);
}
static iso_tensor *wrong_shape(iso_context *c, iso_tensor *grad, void *user) {
  (void)user;
  return iso_unsqueeze(c, grad, 0);
}
static iso_tensor *reentrant(iso_context *c, iso_tensor *grad, void *user) {
  (void)user;
  iso_backward(grad);
  assert_int_equal(iso_error_code(c), ISO_STATE);
  return NULL;
}

static void test_hooks(void **state) {
  (void)state;
  iso_scope_push(ctx);
  int n_leaf = 0, n_result = 0;
  iso_tensor *x = scalar_leaf(3);
  iso_tensor *h = iso_mul_scalar(ctx, x, 5);
  assert_int_equal(iso_hook_add(x, count_and_double, &n_leaf), ISO_OK);
  assert_int_equal(iso_hook_add(h, count_and_double, &n_result), ISO_OK);
  /* h is used twice: its hook sees the complete gradient, once. */
  assert_int_equal(iso_backward(iso_add(ctx, h, h)), ISO_OK);
  assert_int_equal(n_leaf, 1);
  assert_int_equal(n_result, 1);
  assert_true(value_of(iso_grad(x)) == 2 * 5 * (2 * 2.0));
  h = iso_mul_scalar(ctx, x, 5);
  iso_hook_add(h, wrong_shape, NULL);
  assert_int_equal(iso_backward(h), ISO_SHAPE_MISMATCH);
  expect_error(ISO_SHAPE_MISMATCH, "a hook was given");
  h = iso_mul_scalar(ctx, x, 5);
  iso_hook_add(h, reentrant, NULL);
  assert_int_equal(iso_backward(h), ISO_STATE);
  expect_error(ISO_STATE, "inside backward");
  iso_scope_pop(ctx);
}

/* ---- gradients of chosen tensors ---- */

static void test_grad_of(void **state) {
  (void)state;
  iso_scope_push(ctx);
  iso_tensor *x = scalar_leaf(3), *other = scalar_leaf(2), *unused = scalar_leaf(1);
  iso_tensor *h = iso_square(ctx, x);                      /* 9  */
  iso_tensor *y = iso_mul(ctx, iso_square(ctx, h), other); /* x⁴·other */
  const iso_tensor *outputs[] = {y, h}, *inputs[] = {x, h, unused, x};
  iso_tensor *grads[4];
  assert_int_equal(iso_grad_of(2, outputs, NULL, 4, inputs, &(iso_backward_options){.create_graph = true}, grads),
                   ISO_OK);
  assert_true(value_of(grads[0]) == 4 * 27 * 2 + 6);
  assert_true(value_of(grads[1]) == 2 * 9 * 2 + 1);
  assert_null(grads[2]);
  assert_true(value_of(grads[3]) == value_of(grads[0]));
  assert_null(iso_grad(x));
  assert_null(iso_grad(other));
  /* d/dx of (4x³·other + 2x) = 12x²·other + 2, and again 24x·other */
  const iso_tensor *first[] = {grads[0]};
  iso_tensor *second, *third;
  assert_int_equal(iso_grad_of(1, first, NULL, 1, inputs, &(iso_backward_options){.create_graph = true}, &second),
                   ISO_OK);
  assert_true(value_of(second) == 12 * 9 * 2 + 2);
  const iso_tensor *again[] = {second};
  assert_int_equal(iso_grad_of(1, again, NULL, 1, inputs, NULL, &third), ISO_OK);
  assert_true(value_of(third) == 24 * 3 * 2);
  assert_int_equal((int)iso_tape_length(ctx), 0);
  iso_scope_pop(ctx);
}

static void test_once_only_rules_say_so(void **state) {
  (void)state;
  iso_scope_push(ctx);
  const float values[] = {1, 2, 3, 4};
  const int64_t one = 1;
  iso_tensor *x = iso_reshape(ctx, vector(4, values, true), 2, ISO_DIMS(4, 1));
  iso_tensor *gamma = iso_tensor_full(ctx, ISO_F32, 1, &one, 1), *beta = iso_tensor_zeros(ctx, ISO_F32, 1, &one);
  iso_tensor *mean = iso_tensor_zeros(ctx, ISO_F32, 1, &one), *var = iso_tensor_full(ctx, ISO_F32, 1, &one, 1);
  iso_tensor *y = iso_batch_norm(ctx, x, gamma, beta, mean, var, &(iso_batch_norm_options){.training = true});
  assert_int_equal(iso_backward_with(iso_sum_all(ctx, y), NULL, &(iso_backward_options){.create_graph = true}),
                   ISO_UNSUPPORTED);
  expect_error(ISO_UNSUPPORTED, "batch_norm");
  iso_scope_pop(ctx);
}

/* A long chain in a loop with scopes leaves nothing behind, and neither do gradients that are not needed. */
static void test_nothing_is_left(void **state) {
  (void)state;
  iso_tensor *x = iso_keep(scalar_leaf(1.01));
  size_t live = 0;
  for (int round = 0; round < 4; round++) {
    iso_scope_push(ctx);
    iso_tensor *y = x;
    for (int i = 0; i < 300; i++) {
      iso_scope_push(ctx);
      y = iso_escape(iso_mul(ctx, iso_tanh(ctx, y), y));
      iso_scope_pop(ctx);
    }
    assert_int_equal(iso_backward(y), ISO_OK);
    iso_grad_zero(x);
    iso_scope_pop(ctx);
    const size_t now = iso_memory_get_info(ctx).live_bytes;
    if (round > 0) assert_int_equal(now, live);
    live = now;
  }
  iso_release(x);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_order_of_contributions),
      TEST(test_order_within_one_consumer),
      TEST(test_gradients_add_up_until_zeroed),
      TEST(test_gradients_are_not_shared),
      TEST(test_modified_in_place),
      TEST(test_no_grad_and_detach),
      TEST(test_freed_history),
      TEST(test_failed_context_refuses),
      TEST(test_hooks),
      TEST(test_grad_of),
      TEST(test_once_only_rules_say_so),
      TEST(test_nothing_is_left),
  };
  return cmocka_run_group_tests_name("backward", tests, NULL, NULL);
}
