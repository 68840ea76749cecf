/* test_attention.c: scaled dot-product attention against its formula in operators; what a row's bits depend on and what
 * they do not (neighbours, padding, NaN in it, threads, strides); memory linear in length; warnings and refusals. */
#include <math.h>
#include "ops/fixture.h"

static iso_tensor *uneven(uint64_t seed, int n_dims, const int64_t *shape) {
  iso_tensor *t = iso_tensor_new(ctx, ISO_F32, n_dims, shape);
  assert_int_equal(iso_fill_uniform(t, &(iso_philox){.seed = seed, .stream = ISO_PHILOX_USER}, -1.5, 1.5), ISO_OK);
  return t;
}
static void expect_same(const iso_tensor *a, const iso_tensor *b) {
  char ha[33], hb[33];
  if (!a || !b) fail_msg("%s", iso_error_message(ctx));
  assert_int_equal(iso_tensor_hash(a, ha), ISO_OK);
  assert_int_equal(iso_tensor_hash(b, hb), ISO_OK);
  assert_string_equal(ha, hb);
}
static void expect_near(const iso_tensor *a, const iso_tensor *b, double tolerance) {
  double distance;
  if (!a || !b) fail_msg("%s", iso_error_message(ctx));
  iso_tensor *d = iso_abs(ctx, iso_sub(ctx, iso_cast(ctx, a, ISO_F64), iso_cast(ctx, b, ISO_F64)));
  assert_int_equal(iso_tensor_item(iso_amax(ctx, d, 0, NULL, false), &distance), ISO_OK);
  if (!(distance <= tolerance)) fail_msg("they differ by %g", distance);
}
static iso_tensor *attend(iso_tensor *const *qkv, const iso_attention_options *o) {
  return iso_scaled_dot_product_attention(ctx, qkv[0], qkv[1], qkv[2], o);
}
static iso_tensor *turned(iso_tensor *t) { return iso_transpose(ctx, t, -1, -2); }
/* The output and the gradients of Σ c·y, c uneven. */
typedef struct results {
  iso_tensor *y, *d[4];
} results;
static results run(iso_tensor *const *in, int n, const iso_attention_options *options, iso_tensor *dy) {
  iso_attention_options o = options ? *options : (iso_attention_options){0};
  iso_tensor *leaf[4];
  results r = {0};
  for (int i = 0; i < n; i++) leaf[i] = iso_requires_grad(iso_detach(ctx, in[i]), true);
  if (n > 3) o.mask = leaf[3];
  r.y = attend(leaf, &o);
  if (!r.y) fail_msg("%s", iso_error_message(ctx));
  if (iso_backward_with(r.y, dy, NULL) != ISO_OK) fail_msg("%s", iso_error_message(ctx));
  for (int i = 0; i < n; i++) r.d[i] = iso_grad(leaf[i]);
  return r;
}
static void expect_same_results(const results *a, const results *b) {
  expect_same(a->y, b->y);
  for (int i = 0; i < 4; i++)
    if (a->d[i]) expect_same(a->d[i], b->d[i]);
}

static iso_tensor *weights(iso_tensor *q, iso_tensor *k, const iso_tensor *mask, double scale) {
  iso_tensor *scores = iso_mul_scalar(ctx, iso_matmul(ctx, q, turned(k)), scale);
  return iso_softmax(ctx, mask ? iso_add(ctx, scores, mask) : scores, -1);
}

static void test_is_its_formula(void **state) {
  (void)state;
  iso_tensor *qkv[] = {uneven(1, 4, ISO_DIMS(2, 3, 70, 16)), uneven(2, 4, ISO_DIMS(2, 3, 90, 16)),
                       uneven(3, 4, ISO_DIMS(2, 3, 90, 24)), uneven(4, 2, ISO_DIMS(70, 90))};
  iso_tensor *w = weights(qkv[0], qkv[1], NULL, 0.25);
  expect_near(attend(qkv, NULL), iso_matmul(ctx, w, qkv[2]), 2e-6);
  expect_near(attend(qkv, &(iso_attention_options){.mask = qkv[3], .scale = 0.5}),
              iso_matmul(ctx, weights(qkv[0], qkv[1], qkv[3], 0.5), qkv[2]), 3e-6);
  /* Gradients: those of the formula, by its own operators' rules. */
  iso_tensor *dy = uneven(5, 4, ISO_DIMS(2, 3, 70, 24)), *leaf[4];
  for (int i = 0; i < 4; i++) leaf[i] = iso_requires_grad(iso_detach(ctx, qkv[i]), true);
  iso_tensor *y = iso_matmul(ctx, weights(leaf[0], leaf[1], leaf[3], 0.25), leaf[2]);
  assert_int_equal(iso_backward_with(y, dy, NULL), ISO_OK);
  const results r = run(qkv, 4, NULL, dy);
  for (int i = 0; i < 4; i++) expect_near(r.d[i], iso_grad(leaf[i]), i < 3 ? 1e-5 : 1e-4);
  /* The first row of a causal mask attends to the first position alone: weight 1. */
  iso_tensor *causal = attend(qkv, &(iso_attention_options){.causal = true});
  expect_same(iso_select(ctx, causal, 2, 0), iso_select(ctx, qkv[2], 2, 0));
}

static void test_leading_dimensions(void **state) {
  (void)state;
  iso_tensor *q = uneven(1, 4, ISO_DIMS(2, 3, 7, 8)), *k = uneven(2, 4, ISO_DIMS(2, 1, 9, 8)),
             *v = uneven(3, 4, ISO_DIMS(2, 1, 9, 8));
  iso_tensor *y = attend((iso_tensor *[]){q, k, v}, NULL);
  for (int64_t b = 0; b < 2; b++)
    for (int64_t h = 0; h < 3; h++) {
      iso_tensor *one[] = {iso_select(ctx, iso_select(ctx, q, 0, b), 0, h),
                           iso_select(ctx, iso_select(ctx, k, 0, b), 0, 0),
                           iso_select(ctx, iso_select(ctx, v, 0, b), 0, 0)};
      expect_same(iso_select(ctx, iso_select(ctx, y, 0, b), 0, h), attend(one, NULL));
    }
  /* q repeated over a leading dimension of k; five dimensions; a stack of three. */
  iso_tensor *k3 = uneven(4, 3, ISO_DIMS(4, 9, 8)), *v3 = uneven(5, 3, ISO_DIMS(4, 9, 5)),
             *q2 = uneven(6, 2, ISO_DIMS(7, 8));
  iso_tensor *many = attend((iso_tensor *[]){q2, k3, v3}, NULL);
  iso_tensor *five[] = {iso_reshape(ctx, q2, 5, ISO_DIMS(1, 1, 1, 7, 8)),
                        iso_reshape(ctx, k3, 5, ISO_DIMS(2, 2, 1, 9, 8)),
                        iso_reshape(ctx, v3, 5, ISO_DIMS(2, 2, 1, 9, 5))};
  expect_same(iso_reshape(ctx, many, 5, ISO_DIMS(2, 2, 1, 7, 5)), attend(five, NULL));
  for (int64_t b = 0; b < 4; b++)
    expect_same(iso_select(ctx, many, 0, b),
                attend((iso_tensor *[]){q2, iso_select(ctx, k3, 0, b), iso_select(ctx, v3, 0, b)}, NULL));
}

/* Heads as a view of a projection are the bits of heads that were copied, results and gradients. */
static void test_heads_are_read_in_place(void **state) {
  (void)state;
  const int64_t shape[] = {3, 50, 4, 8};
  iso_tensor *in[3], *copy[3], *dy = iso_transpose(ctx, uneven(9, 4, shape), 1, 2);
  for (int i = 0; i < 3; i++) {
    in[i] = iso_transpose(ctx, uneven(10 + (uint64_t)i, 4, shape), 1, 2);
    copy[i] = iso_contiguous(ctx, in[i]);
  }
  const results a = run(in, 3, NULL, dy), b = run(copy, 3, NULL, iso_contiguous(ctx, dy));
  expect_same_results(&a, &b);
  /* Columns that are not adjacent are copied; their gradients arrive all the same. */
  iso_tensor *leaf[3], *apart[3];
  for (int i = 0; i < 3; i++) {
    leaf[i] = iso_requires_grad(iso_contiguous(ctx, turned(in[i])), true);
    apart[i] = turned(leaf[i]);
  }
  iso_tensor *y = attend(apart, NULL);
  expect_same(y, a.y);
  assert_int_equal(iso_backward_with(y, dy, NULL), ISO_OK);
  for (int i = 0; i < 3; i++) expect_same(turned(iso_grad(leaf[i])), a.d[i]);
  /* The result lies as its queries do: joining the heads is a view. */
  assert_true(iso_tensor_is_contiguous(iso_transpose(ctx, a.y, 1, 2)));
}

/* Rows of one item: alone, and in a padded batch whose padding is NaN. */
static void test_bits_of_a_row(void **state) {
  (void)state;
  const int64_t lengths[] = {40, 100, 1, 65};
  iso_tensor *full[3], *dy = uneven(30, 4, ISO_DIMS(4, 2, 100, 16));
  for (int i = 0; i < 3; i++) full[i] = uneven(20 + (uint64_t)i, 4, ISO_DIMS(4, 2, 100, 16));
  iso_tensor *n = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(4), lengths);
  iso_tensor *place = iso_reshape(ctx, iso_arange(ctx, ISO_I64, 0, 100, 1), 4, ISO_DIMS(1, 1, 100, 1));
  iso_tensor *padding = iso_ge(ctx, place, iso_reshape(ctx, n, 4, ISO_DIMS(4, 1, 1, 1)));
  iso_tensor *padded[3];
  for (int i = 0; i < 3; i++) padded[i] = iso_masked_fill(ctx, full[i], padding, NAN);
  iso_tensor *dy_padded = iso_masked_fill(ctx, dy, padding, NAN);
  for (int causal = 0; causal < 2; causal++) {
    const iso_attention_options o = {.causal = causal, .lengths = n, .query_lengths = n};
    const results batch = run(padded, 3, &o, dy_padded);
    iso_tensor *zero = iso_masked_fill(ctx, batch.y, iso_logical_not(ctx, padding), 0);
    expect_same(zero, iso_tensor_zeros(ctx, ISO_F32, 4, ISO_DIMS(4, 2, 100, 16)));
    for (int b = 0; b < 4; b++) {
      iso_tensor *alone[3];
      for (int i = 0; i < 3; i++)
        alone[i] = iso_slice(ctx, iso_slice(ctx, full[i], 0, b, b + 1, 1), 2, 0, lengths[b], 1);
      iso_tensor *dy_alone = iso_slice(ctx, iso_slice(ctx, dy, 0, b, b + 1, 1), 2, 0, lengths[b], 1);
      const results one = run(alone, 3, &(iso_attention_options){.causal = causal}, dy_alone);
      expect_same(one.y, iso_slice(ctx, iso_slice(ctx, batch.y, 0, b, b + 1, 1), 2, 0, lengths[b], 1));
      for (int i = 0; i < 3; i++)
        expect_same(one.d[i], iso_slice(ctx, iso_slice(ctx, batch.d[i], 0, b, b + 1, 1), 2, 0, lengths[b], 1));
    }
  }
}

/* What dropout draws, and all else, is the same for any number of threads. */
static void test_threads(void **state) {
  (void)state;
  static const int n_threads[] = {1, 2, 3, 8};
  char first[4][33], hash[33];
  iso_context *whole = ctx;
  for (int t = 0; t < 4; t++) {
    assert_int_equal(iso_context_new(&(iso_context_options){.n_threads = n_threads[t]}, &ctx), ISO_OK);
    iso_scope_push(ctx);
    iso_tensor *in[3];
    for (int i = 0; i < 3; i++) in[i] = uneven(60 + (uint64_t)i, 4, ISO_DIMS(1, 2, 700, 32));
    const results r = run(in, 3, &(iso_attention_options){.causal = true, .dropout = 0.1}, in[2]);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(iso_tensor_hash(i < 3 ? r.d[i] : r.y, t ? hash : first[i]), ISO_OK);
      if (t) assert_string_equal(hash, first[i]);
    }
    iso_scope_pop(ctx);
    iso_context_free(ctx);
  }
  ctx = whole;
}

static void test_dropout(void **state) {
  (void)state;
  /* v = 1 (s,s): the output is the weights themselves. */
  const int64_t s = 200;
  iso_tensor *in[] = {iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(1, 150, 8)), uneven(2, 3, ISO_DIMS(1, s, 8)),
                      iso_unsqueeze(ctx, iso_eye(ctx, ISO_F32, s, s), 0)};
  const iso_attention_options o = {.dropout = 0.25};
  iso_tensor *dy = uneven(7, 3, ISO_DIMS(1, 150, s));
  const results r = run(in, 3, &o, dy);
  double kept, most;
  iso_tensor *there = iso_cast(ctx, iso_gt(ctx, r.y, iso_tensor_zeros(ctx, ISO_F32, 0, NULL)), ISO_F32);
  assert_int_equal(iso_tensor_item(iso_mean(ctx, there, 0, NULL, false), &kept), ISO_OK);
  assert_true(fabs(kept - 0.75) < 0.01);
  assert_int_equal(iso_tensor_item(iso_amax(ctx, r.y, 0, NULL, false), &most), ISO_OK);
  assert_true(fabs(most - 1 / (0.75 * (double)s)) < 1e-8);
  /* The gradient keeps the same ones: dv = wᵀ·dy. */
  expect_near(r.d[2], iso_matmul(ctx, turned(r.y), dy), 1e-6);
  /* Everything dropped. */
  expect_same(attend(in, &(iso_attention_options){.dropout = 1}),
              iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(1, 150, s)));
  refused(attend(in, &(iso_attention_options){.dropout = 1.5}), ISO_INVALID_ARGUMENT, "dropout is 1.5");
}

static void test_halves(void **state) {
  (void)state;
  static const iso_dtype dtypes[] = {ISO_BF16, ISO_F16};
  for (int d = 0; d < 2; d++) {
    iso_tensor *narrow[3], *wide[3], *dy = iso_cast(ctx, uneven(7, 4, ISO_DIMS(2, 2, 70, 16)), dtypes[d]);
    for (int i = 0; i < 3; i++) {
      narrow[i] = iso_cast(ctx, uneven(40 + (uint64_t)i, 4, ISO_DIMS(2, 2, 70, 16)), dtypes[d]);
      wide[i] = iso_cast(ctx, narrow[i], ISO_F32);
    }
    expect_same(attend(narrow, NULL), iso_cast(ctx, attend(wide, NULL), dtypes[d]));
    const results a = run(narrow, 3, NULL, dy), b = run(wide, 3, NULL, iso_cast(ctx, dy, ISO_F32));
    for (int i = 0; i < 3; i++) {
      assert_int_equal(iso_tensor_dtype(a.d[i]), dtypes[d]);
      expect_near(a.d[i], b.d[i], d == 0 ? 0.03 : 0.004);
    }
  }
}

/* ---- rows that attend to nothing ---- */

static char warning[512];
static int n_warnings;
static void hear(void *user, const char *sentence) {
  (void)user, n_warnings++;
  strncpy(warning, sentence, sizeof warning - 1);
}

static void test_rows_that_attend_to_nothing(void **state) {
  (void)state;
  iso_tensor *in[] = {uneven(1, 4, ISO_DIMS(2, 2, 3, 4)), uneven(2, 4, ISO_DIMS(2, 2, 5, 4)),
                      uneven(3, 4, ISO_DIMS(2, 2, 5, 6))};
  iso_set_warning_handler(ctx, hear, NULL);
  n_warnings = 0;
  iso_tensor *n = iso_tensor_copy_from(ctx, ISO_I32, 1, ISO_DIMS(2), (const int32_t[]){5, 0});
  const results r = run(in, 3, &(iso_attention_options){.lengths = n}, uneven(4, 4, ISO_DIMS(2, 2, 3, 6)));
  assert_int_equal(n_warnings, 1);
  if (!strstr(warning, "query 0 of batch item 1, head 0") || !strstr(warning, "5 others")) fail_msg("%s", warning);
  expect_same(iso_select(ctx, r.y, 0, 1), iso_tensor_zeros(ctx, ISO_F32, 3, ISO_DIMS(2, 3, 6)));
  for (int i = 0; i < 3; i++) {
    iso_tensor *d = iso_select(ctx, r.d[i], 0, 1);
    expect_same(d, iso_tensor_zeros(ctx, ISO_F32, 3, iso_tensor_shape(d)));
  }
  attend(in, &(iso_attention_options){.lengths = n, .query_lengths = n}); /* who has no queries is not missed */
  assert_int_equal(n_warnings, 1);
  iso_set_warning_handler(ctx, NULL, NULL);
}

/* ---- memory ---- */
static void test_memory_is_linear_in_length(void **state) {
  (void)state;
  size_t peak[2];
  for (int turn = 0; turn < 2; turn++) {
    const int64_t l = turn ? 4096 : 2048;
    iso_scope_push(ctx);
    iso_tensor *in[3];
    for (int i = 0; i < 3; i++) in[i] = uneven((uint64_t)i, 4, ISO_DIMS(1, 1, l, 16));
    iso_memory_reset_peak(ctx);
    const size_t before = iso_memory_get_info(ctx).live_bytes;
    run(in, 3, NULL, in[0]);
    peak[turn] = iso_memory_get_info(ctx).peak_bytes - before;
    iso_scope_pop(ctx);
  }
  if (peak[1] > 2 * peak[0] + 65536) fail_msg("%zu bytes at length 2048, %zu at 4096", peak[0], peak[1]);
  assert_true(peak[1] < (size_t)4096 * 4096); /* a quarter of the weights */
}

static void test_refusals(void **state) {
  (void)state;
  iso_tensor *in[] = {uneven(1, 3, ISO_DIMS(2, 3, 4)), uneven(2, 3, ISO_DIMS(2, 5, 4)),
                      uneven(3, 3, ISO_DIMS(2, 5, 6))};
  refused(iso_scaled_dot_product_attention(ctx, in[0], in[2], in[2], NULL), ISO_SHAPE_MISMATCH,
          "q is (2,3,4), k (2,5,6)");
  iso_tensor *three = iso_tensor_full(ctx, ISO_I64, 1, ISO_DIMS(3), 1);
  refused(attend(in, &(iso_attention_options){.lengths = three}), ISO_SHAPE_MISMATCH,
          "lengths are (3): (2) are expected");
  iso_tensor *far = iso_tensor_copy_from(ctx, ISO_I64, 1, ISO_DIMS(2), (const int64_t[]){5, 6});
  refused(attend(in, &(iso_attention_options){.lengths = far}), ISO_INVALID_ARGUMENT, "lengths[1] is 6");
  iso_tensor *whole = iso_tensor_full(ctx, ISO_I64, 2, ISO_DIMS(3, 5), 1);
  refused(attend(in, &(iso_attention_options){.mask = whole}), ISO_DTYPE_MISMATCH, "mask is i64");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(test_is_its_formula),
      TEST(test_leading_dimensions),
      TEST(test_heads_are_read_in_place),
      TEST(test_bits_of_a_row),
      TEST(test_threads),
      TEST(test_dropout),
      TEST(test_halves),
      TEST(test_rows_that_attend_to_nothing),
      TEST(test_memory_is_linear_in_length),
      TEST(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
