/* test_index.c: gathers, scatters, masks, embeddings: values, orders and refusals. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isobit/isobit.h>

static iso_context *context_new(int n_threads) {
  iso_policy policy;
  iso_context *ctx;
  assert_int_equal(iso_policy_preset("reproducible", &policy), ISO_OK);
  assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads, .policy = &policy}, &ctx), ISO_OK);
  return ctx;
}
static iso_tensor *f32(iso_context *ctx, int n_dims, const int64_t *shape, const float *v) {
  return iso_tensor_copy_from(ctx, ISO_F32, n_dims, shape, v);
}
static iso_tensor *i64(iso_context *ctx, int n_dims, const int64_t *shape, const int64_t *v) {
  return iso_tensor_copy_from(ctx, ISO_I64, n_dims, shape, v);
}
#define F(...) ((const float[]){__VA_ARGS__})
#define I(...) ((const int64_t[]){__VA_ARGS__})

static void expect(iso_context *ctx, const iso_tensor *t, int n_dims, const int64_t *shape, const void *values) {
  if (!t) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_n_dims(t), n_dims);
  for (int d = 0; d < n_dims; d++) assert_int_equal(iso_tensor_shape(t)[d], shape[d]);
  const size_t n = (size_t)iso_tensor_numel(t);
  void *got = malloc(n * 8 + 1);
  assert_int_equal(iso_tensor_copy_to(t, got, n * iso_dtype_size(iso_tensor_dtype(t))), ISO_OK);
  assert_true(iso_same_bits(got, values, n, iso_tensor_dtype(t)));
  free(got);
}
static void expect_refusal(iso_context *ctx, const iso_tensor *t, iso_status code, const char *words) {
  assert_null(t);
  assert_int_equal(iso_error_code(ctx), code);
  if (!strstr(iso_error_message(ctx), words)) fail_msg("'%s' does not say '%s'", iso_error_message(ctx), words);
  iso_clear_error(ctx);
}

static void test_picking(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_tensor *x = f32(ctx, 2, ISO_DIMS(2, 3), F(0, 1, 2, 3, 4, 5));
  expect(ctx, iso_gather(ctx, x, 1, i64(ctx, 2, ISO_DIMS(2, 2), I(2, 0, 1, 1))), 2, ISO_DIMS(2, 2), F(2, 0, 4, 4));
  expect(ctx, iso_gather(ctx, x, 0, i64(ctx, 2, ISO_DIMS(1, 2), I(1, 0))), 2, ISO_DIMS(1, 2), F(3, 1));
  expect(ctx, iso_index_select(ctx, iso_transpose(ctx, x, 0, 1), 0, i64(ctx, 1, ISO_DIMS(2), I(2, 0))), 2,
         ISO_DIMS(2, 2), F(2, 5, 0, 3));
  expect(ctx, iso_take(ctx, x, i64(ctx, 1, ISO_DIMS(3), I(-1, 0, 4))), 1, ISO_DIMS(3), F(5, 0, 4));
  expect(ctx, iso_take_along_dim(ctx, x, i64(ctx, 2, ISO_DIMS(1, 1), I(-1)), 1), 2, ISO_DIMS(2, 1), F(2, 5));
  const iso_tensor *both[] = {i64(ctx, 1, ISO_DIMS(2), I(1, 0)), i64(ctx, 2, ISO_DIMS(2, 1), I(-1, 0))};
  expect(ctx, iso_index(ctx, x, 2, both), 2, ISO_DIMS(2, 2), F(5, 2, 3, 0));
  const iso_tensor *column[] = {NULL, i64(ctx, 0, NULL, I(1))};
  expect(ctx, iso_index(ctx, x, 2, column), 1, ISO_DIMS(2), F(1, 4));
  const iso_tensor *mask = iso_gt(ctx, x, iso_tensor_full(ctx, ISO_F32, 0, NULL, 2.5));
  expect(ctx, iso_masked_select(ctx, x, mask), 1, ISO_DIMS(3), F(3, 4, 5));
  expect(ctx, iso_index(ctx, x, 1, &mask), 1, ISO_DIMS(3), F(3, 4, 5));
  expect(ctx, iso_nonzero(ctx, f32(ctx, 2, ISO_DIMS(2, 2), F(0, NAN, -0.0f, 3))), 2, ISO_DIMS(2, 2), I(0, 1, 1, 1));
  expect(ctx, iso_nonzero(ctx, f32(ctx, 0, NULL, F(2))), 2, ISO_DIMS(1, 0), I(0));
  /* Whole, not neighbouring, axes: the index goes first. */
  iso_tensor *y = iso_reshape(ctx, f32(ctx, 1, ISO_DIMS(8), F(0, 1, 2, 3, 4, 5, 6, 7)), 3, ISO_DIMS(2, 2, 2));
  const iso_tensor *apart[] = {i64(ctx, 1, ISO_DIMS(3), I(0, 1, 1)), NULL, i64(ctx, 1, ISO_DIMS(1), I(1))};
  expect(ctx, iso_index(ctx, y, 3, apart), 2, ISO_DIMS(3, 2), F(1, 3, 5, 7, 5, 7));
  const int32_t small[] = {2, 1};
  expect(ctx, iso_index_select(ctx, x, -1, iso_tensor_copy_from(ctx, ISO_I32, 1, ISO_DIMS(2), small)), 2,
         ISO_DIMS(2, 2), F(2, 1, 5, 4));
  expect(ctx, iso_index_select(ctx, x, 0, i64(ctx, 1, ISO_DIMS(0), I(0))), 2, ISO_DIMS(0, 3), F(0));
  iso_context_free(ctx);
}

static void test_writing(void **state) {
  (void)state;
  iso_context *ctx = context_new(2);
  iso_tensor *x = f32(ctx, 1, ISO_DIMS(4), F(0, 1, 2, -0.0f)), *src = f32(ctx, 1, ISO_DIMS(4), F(10, 20, 30, 40));
  iso_tensor *at = i64(ctx, 1, ISO_DIMS(4), I(1, 0, 1, 2));
  expect(ctx, iso_scatter(ctx, x, 0, at, src), 1, ISO_DIMS(4), F(20, 30, 40, -0.0f)); /* the last one wins */
  expect(ctx, iso_scatter_add(ctx, x, 0, at, src), 1, ISO_DIMS(4), F(20, 41, 42, 0)); /* x + nothing: +0 */
  expect(ctx, iso_index_add(ctx, x, 0, at, src, 0.5), 1, ISO_DIMS(4), F(10, 21, 22, 0));
  expect(ctx, iso_scatter_reduce(ctx, x, 0, at, src, ISO_COMBINE_MEAN, true), 1, ISO_DIMS(4), F(10, 41.0f / 3, 21, 0));
  expect(ctx, iso_scatter_reduce(ctx, x, 0, at, src, ISO_COMBINE_MEAN, false), 1, ISO_DIMS(4), F(20, 20, 40, -0.0f));
  expect(ctx, iso_scatter_reduce(ctx, x, 0, at, src, ISO_COMBINE_PROD, true), 1, ISO_DIMS(4), F(0, 300, 80, -0.0f));
  expect(ctx, iso_scatter_reduce(ctx, x, 0, at, src, ISO_COMBINE_AMAX, false), 1, ISO_DIMS(4), F(20, 30, 40, -0.0f));
  iso_tensor *nan = f32(ctx, 1, ISO_DIMS(4), F(10, 20, NAN, 40));
  expect(ctx, iso_scatter_reduce(ctx, x, 0, at, nan, ISO_COMBINE_AMIN, true), 1, ISO_DIMS(4), F(0, NAN, 2, 0));
  expect(ctx, iso_index_fill(ctx, x, 0, at, 7), 1, ISO_DIMS(4), F(7, 7, 7, -0.0f));
  expect(ctx, iso_scatter_value(ctx, x, 0, at, 7), 1, ISO_DIMS(4), F(7, 7, 7, -0.0f));
  expect(ctx, iso_put(ctx, x, i64(ctx, 1, ISO_DIMS(2), I(-1, -1)), f32(ctx, 1, ISO_DIMS(2), F(5, 6)), true), 1,
         ISO_DIMS(4), F(0, 1, 2, 11));
  const iso_tensor *list[] = {i64(ctx, 1, ISO_DIMS(2), I(-1, 3))};
  expect(ctx, iso_index_put(ctx, x, 1, list, f32(ctx, 0, NULL, F(9)), true), 1, ISO_DIMS(4), F(0, 1, 2, 18));
  iso_tensor *mask = iso_lt(ctx, x, iso_tensor_full(ctx, ISO_F32, 0, NULL, 1.5));
  expect(ctx, iso_masked_scatter(ctx, x, mask, src), 1, ISO_DIMS(4), F(10, 20, 2, 30));
  iso_tensor *numbers = i64(ctx, 1, ISO_DIMS(2), I(INT64_MAX, 5));
  expect(ctx, iso_scatter_add(ctx, numbers, 0, i64(ctx, 1, ISO_DIMS(2), I(0, 0)), i64(ctx, 1, ISO_DIMS(2), I(1, 1))), 1,
         ISO_DIMS(2), I(INT64_MIN + 1, 5));
  /* A smaller index leaves the rest of x alone. */
  iso_tensor *square = f32(ctx, 2, ISO_DIMS(2, 2), F(1, 2, 3, 4));
  expect(ctx, iso_scatter_add(ctx, square, 0, i64(ctx, 2, ISO_DIMS(2, 1), I(1, 1)), square), 2, ISO_DIMS(2, 2),
         F(1, 2, 7, 4));
  iso_context_free(ctx);
}

/* base + ordered: a chunk is 256 terms, whatever the threads. */
static void test_order(void **state) {
  (void)state;
  enum { N = 3000, D = 3 };
  static float values[N], sums[D];
  static int64_t where[N];
  for (int i = 0; i < N; i++) values[i] = (float)(i * 7919 % 1000) * 0.001f + 0.1f, where[i] = i * 31 % D;
  for (int d = 0; d < D; d++) {
    float total = 0, panel = 0, acc = 0;
    int k = 0;
    for (int i = 0; i < N; i++) {
      if (where[i] != d) continue;
      acc = acc + values[i];
      if (++k % 256 == 0) panel = panel + acc, acc = 0;
      if (k % 1024 == 0) total = total + panel, panel = 0;
    }
    sums[d] = 0.25f + (total + (panel + acc));
  }
  for (int threads = 1; threads <= 3; threads++) {
    iso_context *ctx = context_new(threads);
    iso_tensor *base = iso_tensor_full(ctx, ISO_F32, 1, ISO_DIMS(D), 0.25), *src = f32(ctx, 1, ISO_DIMS(N), values);
    expect(ctx, iso_scatter_add(ctx, base, 0, i64(ctx, 1, ISO_DIMS(N), where), src), 1, ISO_DIMS(D), sums);
    expect(ctx, iso_index_add(ctx, base, 0, i64(ctx, 1, ISO_DIMS(N), where), src, 1), 1, ISO_DIMS(D), sums);
    iso_context_free(ctx);
  }
}

static void test_tables(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_tensor *w = iso_requires_grad(f32(ctx, 2, ISO_DIMS(3, 2), F(0, 1, 2, 3, 4, 5)), true);
  iso_tensor *at = i64(ctx, 2, ISO_DIMS(2, 2), I(2, 0, 0, 1));
  iso_tensor *y = iso_embedding(ctx, at, w, &(iso_embedding_options){.has_padding = true, .padding = -2});
  expect(ctx, y, 3, ISO_DIMS(2, 2, 2), F(4, 5, 0, 1, 0, 1, 2, 3));
  assert_int_equal(iso_backward(iso_sum_all(ctx, y)), ISO_OK);
  expect(ctx, iso_grad(w), 2, ISO_DIMS(3, 2), F(2, 2, 0, 0, 1, 1));
  iso_grad_zero(w);
  assert_int_equal(
      iso_backward(iso_sum_all(ctx, iso_embedding(ctx, at, w, &(iso_embedding_options){.scale_by_frequency = true}))),
      ISO_OK);
  expect(ctx, iso_grad(w), 2, ISO_DIMS(3, 2), F(1, 1, 1, 1, 1, 1));

  iso_tensor *list = i64(ctx, 1, ISO_DIMS(4), I(2, 0, 0, 1)), *offsets = i64(ctx, 1, ISO_DIMS(3), I(0, 2, 2));
  iso_embedding_bag_options o = {.offsets = offsets};
  expect(ctx, iso_embedding_bag(ctx, list, w, &o), 2, ISO_DIMS(3, 2), F(2, 3, 0, 0, 1, 2));
  o.mode = ISO_BAG_SUM, o.per_sample_weights = f32(ctx, 1, ISO_DIMS(4), F(1, 2, 3, 4));
  expect(ctx, iso_embedding_bag(ctx, list, w, &o), 2, ISO_DIMS(3, 2), F(4, 7, 0, 0, 8, 15));
  o = (iso_embedding_bag_options){.offsets = offsets, .mode = ISO_BAG_MAX, .has_padding = true, .padding = 2};
  expect(ctx, iso_embedding_bag(ctx, list, w, &o), 2, ISO_DIMS(3, 2), F(0, 1, 0, 0, 2, 3));
  o = (iso_embedding_bag_options){.offsets = offsets, .mode = ISO_BAG_SUM, .include_last_offset = true};
  expect(ctx, iso_embedding_bag(ctx, i64(ctx, 1, ISO_DIMS(2), I(2, 0)), w, &o), 2, ISO_DIMS(2, 2), F(4, 6, 0, 0));
  /* Entries behind the last offset, and all of them where there is no bag, are in none. */
  iso_tensor *leaf = iso_requires_grad(iso_detach(ctx, w), true), *four = i64(ctx, 1, ISO_DIMS(4), I(1, 1, 0, 2));
  o.offsets = i64(ctx, 1, ISO_DIMS(2), I(0, 2));
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_embedding_bag(ctx, four, leaf, &o))), ISO_OK);
  expect(ctx, iso_grad(leaf), 2, ISO_DIMS(3, 2), F(0, 0, 2, 2, 0, 0));
  iso_grad_zero(leaf);
  o = (iso_embedding_bag_options){.offsets = iso_tensor_zeros(ctx, ISO_I64, 1, ISO_DIMS(0)), .mode = ISO_BAG_SUM};
  assert_int_equal(iso_backward(iso_sum_all(ctx, iso_embedding_bag(ctx, four, leaf, &o))), ISO_OK);
  expect(ctx, iso_grad(leaf), 2, ISO_DIMS(3, 2), F(0, 0, 0, 0, 0, 0));
  expect(ctx, iso_one_hot(ctx, list, 0), 2, ISO_DIMS(4, 3), I(0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0));
  expect(ctx, iso_bincount_weighted(ctx, list, f32(ctx, 1, ISO_DIMS(4), F(1, 2, 3, 4)), 5), 1, ISO_DIMS(5),
         F(5, 4, 1, 0, 0));
  iso_tensor *x = f32(ctx, 1, ISO_DIMS(4), F(3, 1, 2, 5)), *lengths = i64(ctx, 1, ISO_DIMS(3), I(3, 0, 1));
  iso_segment_options s = {.lengths = lengths};
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_SUM, &s), 1, ISO_DIMS(3), F(6, 0, 5));
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_MEAN, &s), 1, ISO_DIMS(3), F(2, NAN, 5));
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_AMAX, &s), 1, ISO_DIMS(3), F(3, -INFINITY, 5));
  s.has_initial = true, s.initial = 4;
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_AMAX, &s), 1, ISO_DIMS(3), F(4, 4, 5));
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_PROD, &s), 1, ISO_DIMS(3), F(24, 4, 20));
  s = (iso_segment_options){.offsets = i64(ctx, 1, ISO_DIMS(3), I(0, 1, 4))};
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_AMIN, &s), 1, ISO_DIMS(2), F(3, 1));
  s = (iso_segment_options){.lengths = i64(ctx, 1, ISO_DIMS(2), I(1, 2))};
  expect(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_SUM, &s), 1, ISO_DIMS(2), F(3, 3));
  s = (iso_segment_options){.lengths = i64(ctx, 2, ISO_DIMS(2, 2), I(1, 1, 0, 2)), .axis = 1};
  expect(ctx, iso_segment_reduce(ctx, iso_reshape(ctx, x, 2, ISO_DIMS(2, 2)), ISO_COMBINE_PROD, &s), 2, ISO_DIMS(2, 2),
         F(3, 1, 1, 10));
  iso_context_free(ctx);
}

static void test_refusals(void **state) {
  (void)state;
  iso_context *ctx = context_new(2);
  iso_tensor *x = f32(ctx, 2, ISO_DIMS(2, 3), F(0, 1, 2, 3, 4, 5)), *flat = f32(ctx, 1, ISO_DIMS(3), F(0, 1, 2));
  const iso_status bad = ISO_INVALID_ARGUMENT, shape = ISO_SHAPE_MISMATCH, dtype = ISO_DTYPE_MISMATCH;
  expect_refusal(ctx, iso_gather(ctx, x, 1, i64(ctx, 2, ISO_DIMS(2, 2), I(0, 1, 2, 3))), bad, "index[1,1] is 3");
  expect_refusal(ctx, iso_index_select(ctx, x, 0, i64(ctx, 1, ISO_DIMS(2), I(0, -1))), bad, "index[1] is -1");
  expect_refusal(ctx, iso_take(ctx, x, i64(ctx, 1, ISO_DIMS(2), I(-6, -7))), bad, "index[1] is -7");
  const iso_tensor *list[] = {i64(ctx, 1, ISO_DIMS(1), I(0)), i64(ctx, 1, ISO_DIMS(2), I(-3, 3))};
  expect_refusal(ctx, iso_index(ctx, x, 2, list), bad, "indices[1][1] is 3");
  expect_refusal(ctx, iso_index_put(ctx, x, 2, list, flat, true), bad, "indices[1][1] is 3");
  expect_refusal(ctx, iso_embedding(ctx, i64(ctx, 0, NULL, I(INT64_MIN)), x, NULL), bad,
                 "index is -9223372036854775808");
  expect_refusal(ctx, iso_scatter_add(ctx, flat, 0, i64(ctx, 1, ISO_DIMS(1), I(INT64_MAX)), flat), bad, "index[0] is");
  iso_tensor *nothing = iso_tensor_new(ctx, ISO_F32, 2, ISO_DIMS(0, 3));
  expect_refusal(ctx, iso_index_select(ctx, nothing, 0, i64(ctx, 1, ISO_DIMS(1), I(0))), bad, "nothing to point at");
  expect_refusal(ctx, iso_gather(ctx, x, 2, i64(ctx, 2, ISO_DIMS(1, 1), I(0))), bad, "axis 2");
  expect_refusal(ctx, iso_gather(ctx, x, 1, i64(ctx, 1, ISO_DIMS(1), I(0))), shape, "as many axes");
  expect_refusal(ctx, iso_gather(ctx, x, 1, x), dtype, "index is f32");
  expect_refusal(ctx, iso_masked_select(ctx, x, x), dtype, "bool is needed");
  expect_refusal(ctx, iso_scatter(ctx, x, 1, i64(ctx, 2, ISO_DIMS(1, 1), I(0)), i64(ctx, 2, ISO_DIMS(1, 1), I(0))),
                 dtype, "x is f32 but src is i64");
  iso_tensor *mask = iso_ge(ctx, flat, flat);
  expect_refusal(ctx, iso_masked_scatter(ctx, flat, mask, f32(ctx, 1, ISO_DIMS(1), F(1))), shape, "3 places");
  expect_refusal(ctx, iso_one_hot(ctx, i64(ctx, 1, ISO_DIMS(2), I(0, 4)), 4), bad, "index[1] is 4");
  expect_refusal(ctx, iso_scatter_reduce(ctx, mask, 0, i64(ctx, 1, ISO_DIMS(1), I(0)), mask, ISO_COMBINE_AMAX, true),
                 dtype, "bool");
  iso_embedding_bag_options o = {.offsets = i64(ctx, 1, ISO_DIMS(2), I(0, 3))};
  expect_refusal(ctx, iso_embedding_bag(ctx, i64(ctx, 1, ISO_DIMS(2), I(0, 1)), x, &o), bad, "offsets[1] is 3");
  o.offsets = i64(ctx, 1, ISO_DIMS(2), I(1, 2));
  expect_refusal(ctx, iso_embedding_bag(ctx, i64(ctx, 1, ISO_DIMS(2), I(0, 1)), x, &o), bad, "offsets[0] is 1");
  const iso_segment_options s = {.lengths = i64(ctx, 2, ISO_DIMS(2, 2), I(1, 2, 1, 1)), .axis = 1};
  expect_refusal(ctx, iso_segment_reduce(ctx, x, ISO_COMBINE_SUM, &s), bad, "row 1 end at 2 of 3");
  iso_context_free(ctx);
}

/* A source that another one overwrote has no gradient. */
static void test_winners(void **state) {
  (void)state;
  iso_context *ctx = context_new(1);
  iso_tensor *x = iso_requires_grad(f32(ctx, 1, ISO_DIMS(3), F(0, 1, 2)), true);
  iso_tensor *src = iso_requires_grad(f32(ctx, 1, ISO_DIMS(3), F(5, 6, 7)), true);
  iso_tensor *y = iso_scatter(ctx, x, 0, i64(ctx, 1, ISO_DIMS(3), I(1, 0, 1)), src);
  assert_int_equal(iso_backward_with(y, f32(ctx, 1, ISO_DIMS(3), F(10, 20, 30)), NULL), ISO_OK);
  expect(ctx, iso_grad(x), 1, ISO_DIMS(3), F(0, 0, 30));
  expect(ctx, iso_grad(src), 1, ISO_DIMS(3), F(0, 10, 20));
  iso_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_picking),  cmocka_unit_test(test_writing),
                                     cmocka_unit_test(test_order),    cmocka_unit_test(test_tables),
                                     cmocka_unit_test(test_refusals), cmocka_unit_test(test_winners)};
  return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
