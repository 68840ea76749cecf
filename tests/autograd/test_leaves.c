/* test_leaves.c: a step's gradients are one tree over its leaves, whatever ran when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/nn.h>
#include "autograd/adopt.h"
#include "tensor/tensor.h"

enum { N_SAMPLES = 22, N_FEATURES = 24, N_CLASSES = 4, N_LEAVES = 8 };

typedef struct outcome {
  char hash[8][33];
  size_t n;
  double loss;
} outcome;

static iso_module *model_new(iso_context *ctx) {
  iso_module *parts[5];
  parts[0] = iso_linear_module(ctx, N_FEATURES, 12, true);
  parts[1] = iso_batch_norm_module(ctx, 12, 0, 0);
  parts[2] = iso_relu_module(ctx);
  parts[3] = iso_dropout_module(ctx, 0.25);
  parts[4] = iso_linear_module(ctx, 12, N_CLASSES, true);
  return iso_sequential(ctx, 5, parts);
}

static void run_leaf(iso_context *ctx, iso_module *net, const iso_tensor *x, const iso_tensor *t, int n_samples,
                     int leaf) {
  int64_t begin, end;
  iso_leaf_range(n_samples, N_LEAVES, leaf, &begin, &end);
  if (begin == end) return;
  iso_scope_push(ctx);
  assert_int_equal(iso_leaf_begin(ctx, leaf), ISO_OK);
  iso_tensor *y = iso_module_forward(net, iso_slice(ctx, x, 0, begin, end, 1));
  iso_tensor *loss =
      iso_cross_entropy(ctx, y, iso_slice(ctx, t, 0, begin, end, 1), &(iso_cross_entropy_options){.count = n_samples});
  if (iso_backward(loss)) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_leaf_end(ctx, loss), ISO_OK);
  iso_scope_pop(ctx);
}

/* One step with the leaves in this order; hashes of gradients and running statistics. */
static outcome step_in_order(int n_samples, const int *order, int n_order, int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  iso_module *net = model_new(ctx);
  iso_scope_push(ctx);
  const iso_philox at = {.seed = 5, .stream = ISO_PHILOX_USER};
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(n_samples, N_FEATURES));
  assert_int_equal(iso_fill_normal(x, &at, 0, 1), ISO_OK);
  int64_t targets[N_SAMPLES];
  for (int i = 0; i < n_samples; i++) targets[i] = (i * 7) % N_CLASSES;
  iso_tensor *t = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(n_samples), targets);
  outcome result = {0};
  assert_int_equal(iso_step_begin(ctx, N_LEAVES), ISO_OK);
  for (int i = 0; i < n_order; i++) run_leaf(ctx, net, x, t, n_samples, order[i]);
  if (iso_step_end(ctx, &result.loss)) fail_msg("%s", iso_error_message(ctx));
  size_t n;
  const iso_named_tensor *list = iso_module_tensors(net, &n);
  for (size_t i = 0; i < n; i++) {
    iso_tensor *hashed = list[i].trainable ? iso_grad(list[i].tensor) : list[i].tensor;
    assert_non_null(hashed);
    assert_int_equal(iso_tensor_hash(hashed, result.hash[result.n++]), ISO_OK);
  }
  iso_scope_pop(ctx);
  iso_module_free(net);
  iso_context_free(ctx);
  return result;
}

static void expect_same(const outcome *a, const outcome *b) {
  assert_int_equal((int)a->n, (int)b->n);
  for (size_t i = 0; i < a->n; i++) assert_string_equal(a->hash[i], b->hash[i]);
  assert_true(a->loss == b->loss);
}

static void test_order_does_not_matter(void **state) {
  (void)state;
  static const int ascending[] = {0, 1, 2, 3, 4, 5, 6, 7}, blocks[] = {4, 5, 0, 1, 6, 7, 2, 3},
                   descending[] = {7, 6, 5, 4, 3, 2, 1, 0}, scattered[] = {3, 6, 1, 4, 0, 7, 2, 5};
  const outcome first = step_in_order(N_SAMPLES, ascending, N_LEAVES, 1);
  const outcome others[] = {step_in_order(N_SAMPLES, blocks, N_LEAVES, 2),
                            step_in_order(N_SAMPLES, descending, N_LEAVES, 1),
                            step_in_order(N_SAMPLES, scattered, N_LEAVES, 2)};
  for (int i = 0; i < 3; i++) expect_same(&first, &others[i]);
}

/* The same step with every leaf in a child context, on a model that shares the storage; adopted in this order. */
static outcome step_in_children(const int *order, int n_children) {
  iso_policy policy;
  iso_context *ctx, *child[N_LEAVES];
  iso_module *lane[N_LEAVES];
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 2, .policy = &policy}, &ctx), ISO_OK);
  iso_module *net = model_new(ctx);
  size_t n, n_theirs;
  const iso_named_tensor *own = iso_module_tensors(net, &n);
  for (int k = 0; k < n_children; k++) {
    assert_int_equal(iso_context_new_child(ctx, 1, &child[k]), ISO_OK);
    lane[k] = model_new(child[k]);
    const iso_named_tensor *theirs = iso_module_tensors(lane[k], &n_theirs);
    for (size_t i = 0; i < n; i++) {
      iso__storage_retain(own[i].tensor->view.storage);
      iso__storage_release(theirs[i].tensor->view.storage);
      theirs[i].tensor->view = own[i].tensor->view;
    }
  }
  iso_scope_push(ctx);
  iso_tensor *x = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(N_SAMPLES, N_FEATURES));
  assert_int_equal(iso_fill_normal(x, &(iso_philox){.seed = 5, .stream = ISO_PHILOX_USER}, 0, 1), ISO_OK);
  int64_t targets[N_SAMPLES];
  for (int i = 0; i < N_SAMPLES; i++) targets[i] = (i * 7) % N_CLASSES;
  outcome result = {0};
  assert_int_equal(iso_step_begin(ctx, N_LEAVES), ISO_OK);
  for (int i = 0; i < N_LEAVES; i++) {
    iso_context *c = child[i % n_children];
    iso_scope_push(c);
    iso_tensor *theirs = iso__tensor_from_view(c, &x->view);
    iso_tensor *t = iso_tensor_copy_from(c, ISO_I64, 1, ISO_DIMS(N_SAMPLES), targets);
    assert_int_equal(iso_step_begin(c, N_LEAVES), ISO_OK);
    run_leaf(c, lane[i % n_children], theirs, t, N_SAMPLES, order[i]);
    iso_scope_pop(c);
    if (iso__step_adopt(ctx, c, n, own, iso_module_tensors(lane[i % n_children], &n_theirs)))
      fail_msg("%s", iso_error_message(ctx));
    assert_int_equal(iso__step_adopt(ctx, c, n, own, own), ISO_STATE); /* it has given it */
    iso_clear_error(ctx);
  }
  if (iso_step_end(ctx, &result.loss)) fail_msg("%s", iso_error_message(ctx));
  for (size_t i = 0; i < n; i++) {
    iso_tensor *hashed = own[i].trainable ? iso_grad(own[i].tensor) : own[i].tensor;
    assert_int_equal(iso_tensor_hash(hashed, result.hash[result.n++]), ISO_OK);
  }
  iso_scope_pop(ctx);
  for (int k = 0; k < n_children; k++) iso_module_free(lane[k]), iso_context_free(child[k]);
  iso_module_free(net);
  iso_context_free(ctx);
  return result;
}

static void test_children(void **state) {
  (void)state;
  static const int ascending[] = {0, 1, 2, 3, 4, 5, 6, 7}, scattered[] = {3, 6, 1, 4, 0, 7, 2, 5};
  const outcome here = step_in_order(N_SAMPLES, ascending, N_LEAVES, 1);
  const outcome one = step_in_children(ascending, 1), four = step_in_children(scattered, 4);
  expect_same(&here, &one);
  expect_same(&here, &four);
}

/* The tree by hand: ((g0+g1)+(g2+g3)) with numbers whose sum depends on the association. */
static float sum_of_leaves(const int *order, int n_order, const float *values) {
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx), ISO_OK);
  iso_scope_push(ctx);
  iso_tensor *w = iso_requires_grad(iso_tensor_full(ctx, ISO_F32, 0, NULL, 1), true);
  assert_int_equal(iso_step_begin(ctx, 4), ISO_OK);
  for (int i = 0; i < n_order; i++) {
    assert_int_equal(iso_leaf_begin(ctx, order[i]), ISO_OK);
    assert_int_equal(iso_backward(iso_mul_scalar(ctx, w, values[order[i]])), ISO_OK);
    assert_int_equal(iso_leaf_end(ctx, NULL), ISO_OK);
  }
  double loss, grad = 0;
  assert_int_equal(iso_step_end(ctx, &loss), ISO_OK);
  assert_true(loss == 0);
  assert_int_equal(iso_tensor_item(iso_grad(w), &grad), ISO_OK);
  iso_scope_pop(ctx);
  iso_context_free(ctx);
  return (float)grad;
}

static void test_tree(void **state) {
  (void)state;
  const float v[] = {1, 0x1p-24f, 0x1p-24f, 0x1p-24f};
  const int all[] = {0, 1, 2, 3}, mixed[] = {2, 0, 3, 1}, without_1[] = {3, 0, 2}, only_pair[] = {2, 3}, one[] = {2};
  const float tree = (v[0] + v[1]) + (v[2] + v[3]);
  assert_true(tree != ((v[0] + v[1]) + v[2]) + v[3]);
  assert_true(sum_of_leaves(all, 4, v) == tree);
  assert_true(sum_of_leaves(mixed, 4, v) == tree);
  assert_true(sum_of_leaves(without_1, 3, v) == v[0] + (v[2] + v[3]));
  assert_true(sum_of_leaves(only_pair, 2, v) == v[2] + v[3]);
  assert_true(sum_of_leaves(one, 1, v) == v[2]);
}

/* Fewer samples than leaves: the empty ones are absent. */
static void test_empty_leaves(void **state) {
  (void)state;
  /* Five leaves would have one sample each, where batch norm has no variance: two samples a leaf, so 16 of them fill 8.
   */
  static const int ascending[] = {0, 1, 2, 3, 4, 5, 6, 7}, descending[] = {7, 6, 5, 4, 3, 2, 1, 0};
  const outcome a = step_in_order(16, ascending, N_LEAVES, 1), b = step_in_order(16, descending, N_LEAVES, 1);
  expect_same(&a, &b);
  const outcome c = step_in_order(16, ascending, 3, 1), d = step_in_order(16, (const int[]){2, 0, 1}, 3, 1);
  expect_same(&c, &d);
}

static void test_misuse(void **state) {
  (void)state;
  iso_context *ctx;
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx), ISO_OK);
  const struct { iso_status got, expected; } before[] = {{iso_step_begin(ctx, 3), ISO_INVALID_ARGUMENT}};
  assert_int_equal(before[0].got, before[0].expected);
  iso_clear_error(ctx);
  assert_int_equal(iso_leaf_begin(ctx, 0), ISO_STATE);
  iso_clear_error(ctx);
  assert_int_equal(iso_step_begin(ctx, 2), ISO_OK);
  assert_int_equal(iso_step_begin(ctx, 2), ISO_STATE);
  iso_clear_error(ctx);
  assert_int_equal(iso_leaf_begin(ctx, 2), ISO_INVALID_ARGUMENT);
  iso_clear_error(ctx);
  assert_int_equal(iso_leaf_begin(ctx, 1), ISO_OK);
  assert_int_equal(iso_step_end(ctx, NULL), ISO_STATE);
  iso_clear_error(ctx);
  assert_int_equal(iso_leaf_end(ctx, NULL), ISO_OK);
  assert_int_equal(iso_leaf_begin(ctx, 1), ISO_STATE);
  iso_clear_error(ctx);
  iso_step_abandon(ctx);
  assert_int_equal(iso_step_begin(ctx, 1), ISO_OK);
  assert_int_equal(iso_step_end(ctx, NULL), ISO_OK);
  iso_context_free(ctx); /* with nothing open; an open step is freed too: */
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = 1}, &ctx), ISO_OK);
  assert_int_equal(iso_step_begin(ctx, 4), ISO_OK);
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_does_not_matter), cmocka_unit_test(test_children),
                                     cmocka_unit_test(test_tree), cmocka_unit_test(test_empty_leaves),
                                     cmocka_unit_test(test_misuse)};
  return cmocka_run_group_tests_name("leaves", tests, NULL, NULL);
}
