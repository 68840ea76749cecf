/* test_shape.c: what stands where: views, parts, pads, repeats, diagonals, shuffles, sequences; and what is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ops/fixture.h" /* last: it names a context that headers name, too */

/* 0, 1, 2 … */
static iso_tensor *counted(iso_dtype dtype, int n_dims, const int64_t *shape) {
  int64_t n = 1;
  for (int d = 0; d < n_dims; d++) n *= shape[d];
  return iso_reshape(ctx, iso_arange(ctx, dtype, 0, (double)n, 1), n_dims, shape);
}
/* The elements in logical order, and the shape, as text: "(2,2) 0 1 2 3". */
static void is(const iso_tensor *t, const char *expected) {
  char text[1024];
  int at = 0;
  double value;
  if (!t) fail_msg("%s", iso_error_message(ctx));
  const int n_dims = iso_tensor_n_dims(t);
  const int64_t *shape = iso_tensor_shape(t), n = iso_tensor_numel(t);
  at += snprintf(text, sizeof text, "(");
  for (int d = 0; d < n_dims; d++)
    at += snprintf(text + at, sizeof text - (size_t)at, d ? ",%lld" : "%lld", (long long)shape[d]);
  at += snprintf(text + at, sizeof text - (size_t)at, ")");
  for (int64_t i = 0; i < n; i++) {
    int64_t index[ISO_MAX_DIMS], rest = i;
    for (int d = n_dims - 1; d >= 0; d--) index[d] = rest % shape[d], rest /= shape[d];
    assert_int_equal(iso_tensor_at(t, index, &value), ISO_OK);
    at += snprintf(text + at, sizeof text - (size_t)at, " %g", value);
  }
  assert_string_equal(text, expected);
}
#define D(...) ISO_DIMS(__VA_ARGS__)
#define AXES(...) ((const int[]){__VA_ARGS__})

static void test_flips(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_I64, 2, D(2, 3));
  is(iso_flip(ctx, x, 1, AXES(-1)), "(2,3) 2 1 0 5 4 3");
  is(iso_flip(ctx, x, 0, NULL), "(2,3) 5 4 3 2 1 0");
  is(iso_contiguous(ctx, iso_flip(ctx, iso_flip(ctx, x, 1, AXES(0)), 1, AXES(0))), "(2,3) 0 1 2 3 4 5");
  is(iso_rot90(ctx, x, 1, 0, 1), "(3,2) 2 5 1 4 0 3");
  is(iso_rot90(ctx, x, -1, 0, 1), "(3,2) 3 0 4 1 5 2");
  is(iso_rot90(ctx, x, 6, 0, 1), "(2,3) 5 4 3 2 1 0");
  is(iso_roll(ctx, x, 2, D(1, -4), AXES(0, 1)), "(2,3) 4 5 3 1 2 0");
  is(iso_flip(ctx, iso_tensor_zeros(ctx, ISO_F32, 2, D(0, 3)), 0, NULL), "(0,3)");
  refused(iso_flip(ctx, x, 2, AXES(0, -2)), ISO_INVALID_ARGUMENT, "-2 is named twice");
  refused(iso_flip(ctx, x, 1, AXES(2)), ISO_INVALID_ARGUMENT, "axis 2");
  refused(iso_rot90(ctx, x, 1, 1, -1), ISO_INVALID_ARGUMENT, "named twice");
  refused(iso_roll(ctx, x, 0, NULL, NULL), ISO_INVALID_ARGUMENT, "0 shifts");
}

static void test_diagonals(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 2, D(3, 4));
  is(iso_diagonal(ctx, x, 0, 0, 1), "(3) 0 5 10");
  is(iso_diagonal(ctx, x, 2, 0, 1), "(2) 2 7");
  is(iso_diagonal(ctx, x, -2, 0, 1), "(1) 8");
  is(iso_diagonal(ctx, x, 4, 0, 1), "(0)");
  is(iso_diagonal(ctx, x, INT64_MIN + 2, 0, 1), "(0)");
  is(iso_diagonal(ctx, counted(ISO_F32, 3, D(2, 2, 2)), 0, 0, 2), "(2,2) 0 5 2 7");
  is(iso_diag_embed(ctx, counted(ISO_I32, 1, D(2)), 1, 0, 1), "(3,3) 0 0 0 0 0 1 0 0 0");
  is(iso_diag(ctx, iso_tensor_full(ctx, ISO_BOOL, 1, D(2), 1), 0), "(2,2) 1 0 0 1");
  is(iso_tril(ctx, x, 0), "(3,4) 0 0 0 0 4 5 0 0 8 9 10 0");
  is(iso_triu(ctx, x, 2), "(3,4) 0 0 2 3 0 0 0 7 0 0 0 0");
  is(iso_tril(ctx, x, INT64_MIN), "(3,4) 0 0 0 0 0 0 0 0 0 0 0 0");
  is(iso_triu(ctx, x, INT64_MIN), "(3,4) 0 1 2 3 4 5 6 7 8 9 10 11");
  iso_tensor *bad = iso_tensor_full(ctx, ISO_F32, 2, D(2, 2), (double)NAN);
  is(iso_triu(ctx, bad, 2), "(2,2) 0 0 0 0"); /* what is left out is not multiplied */
  is(iso_diagonal_scatter(ctx, x, iso_tensor_zeros(ctx, ISO_F32, 1, D(2)), -1, 0, 1),
     "(3,4) 0 1 2 3 0 5 6 7 8 0 10 11");
  refused(iso_diagonal(ctx, x, 0, 1, 1), ISO_INVALID_ARGUMENT, "axes 1 and 1");
  refused(iso_tril(ctx, counted(ISO_F32, 1, D(3)), 0), ISO_SHAPE_MISMATCH, "1 dimensions");
  refused(iso_diag(ctx, counted(ISO_F32, 3, D(1, 1, 1)), 0), ISO_SHAPE_MISMATCH, "3 dimensions");
  refused(iso_diag_embed(ctx, counted(ISO_F32, 1, D(2)), INT64_MAX, 0, 1), ISO_INVALID_ARGUMENT, "");
  refused(iso_diagonal_scatter(ctx, x, x, 0, 0, 1), ISO_SHAPE_MISMATCH, "(3)");
}

static void test_axes(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 3, D(1, 2, 3));
  is(iso_movedim(ctx, x, 1, AXES(-1), AXES(0)), "(3,1,2) 0 3 1 4 2 5");
  is(iso_unflatten(ctx, x, 2, 2, D(3, -1)), "(1,2,3,1) 0 1 2 3 4 5");
  is(iso_atleast(ctx, counted(ISO_F32, 1, D(2)), 2), "(1,2) 0 1");
  refused(iso_movedim(ctx, x, 2, AXES(0, 0), AXES(1, 2)), ISO_INVALID_ARGUMENT, "axis 0 is named twice");
  refused(iso_unflatten(ctx, x, 2, 2, D(2, -1)), ISO_SHAPE_MISMATCH, "extent 3 cannot become (2,-1)");
  refused(iso_atleast(ctx, x, 9), ISO_INVALID_ARGUMENT, "9 dimensions");
}

static void test_parts(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 2, D(5, 1)), *parts[5];
  int n = 0;
  assert_int_equal(iso_split_sizes(ctx, x, 0, 3, D(2, 0, 3), parts), ISO_OK);
  is(parts[0], "(2,1) 0 1"), is(parts[1], "(0,1)"), is(parts[2], "(3,1) 2 3 4");
  assert_int_equal(iso_split_evenly(ctx, x, 0, 3, parts), ISO_OK);
  is(parts[0], "(2,1) 0 1"), is(parts[1], "(2,1) 2 3"), is(parts[2], "(1,1) 4");
  assert_int_equal(iso_chunk(ctx, x, 0, 4, parts, &n), ISO_OK);
  assert_int_equal(n, 3);
  is(parts[2], "(1,1) 4");
  assert_null(parts[3]);
  assert_int_equal(iso_unbind(ctx, x, 0, 5, parts), ISO_OK);
  is(parts[4], "(1) 4");
  assert_int_equal(iso_split_sizes(ctx, x, 0, 2, D(2, 2), parts), ISO_SHAPE_MISMATCH);
  refused(parts[0], ISO_SHAPE_MISMATCH, "add up to 4");
  assert_int_equal(iso_unbind(ctx, x, 0, 4, parts), ISO_SHAPE_MISMATCH);
  refused(parts[0], ISO_SHAPE_MISMATCH, "extent is 5");
  assert_int_equal(iso_split_evenly(ctx, x, 0, 0, parts), ISO_INVALID_ARGUMENT);
  refused(NULL, ISO_INVALID_ARGUMENT, "0 parts");
  assert_int_equal(iso_chunk(ctx, NULL, 0, 2, parts, &n), ISO_INVALID_ARGUMENT);
  assert_int_equal(iso_error_code(ctx), ISO_OK);
}

static void test_joining(void **state) {
  (void)state;
  iso_tensor *a = counted(ISO_I64, 1, D(2)), *b = counted(ISO_I64, 2, D(2, 1)), *grids[2];
  is(iso_hstack(ctx, 2, (const iso_tensor *const[]){a, a}), "(4) 0 1 0 1");
  is(iso_vstack(ctx, 2, (const iso_tensor *const[]){a, a}), "(2,2) 0 1 0 1");
  is(iso_dstack(ctx, 2, (const iso_tensor *const[]){a, a}), "(1,2,2) 0 0 1 1");
  is(iso_column_stack(ctx, 2, (const iso_tensor *const[]){a, b}), "(2,2) 0 0 1 1");
  is(iso_block_diag(ctx, 2, (const iso_tensor *const[]){a, b}), "(3,3) 0 1 0 0 0 0 0 0 1");
  is(iso_repeat(ctx, a, 2, D(2, 2)), "(2,4) 0 1 0 1 0 1 0 1");
  is(iso_repeat(ctx, a, 1, D(0)), "(0)");
  is(iso_repeat_interleave(ctx, a, 0, 3), "(6) 0 0 0 1 1 1");
  assert_int_equal(iso_meshgrid(ctx, 2, (const iso_tensor *const[]){a, counted(ISO_I64, 1, D(3))}, grids), ISO_OK);
  is(grids[0], "(2,3) 0 0 0 1 1 1"), is(grids[1], "(2,3) 0 1 2 0 1 2");
  is(iso_repeat_interleave_each(ctx, a, 0, iso_arange(ctx, ISO_I32, 1, 3, 1)), "(3) 0 1 1");
  refused(iso_repeat_interleave_each(ctx, a, 0, iso_arange(ctx, ISO_I64, 1, -3, -2)), ISO_INVALID_ARGUMENT,
          "counts[1] is");
  refused(iso_repeat_interleave_each(ctx, a, 0, iso_arange(ctx, ISO_I64, 0, 3, 1)), ISO_SHAPE_MISMATCH,
          "(2) are needed");
  refused(iso_repeat(ctx, b, 1, D(2)), ISO_INVALID_ARGUMENT, "1 counts for 2 dimensions");
  refused(iso_repeat_interleave(ctx, a, 0, -1), ISO_INVALID_ARGUMENT, "-1 times");
  refused(iso_repeat_interleave(ctx, a, 0, INT64_MAX), ISO_INVALID_ARGUMENT, "times");
  refused(iso_block_diag(ctx, 1, (const iso_tensor *const[]){counted(ISO_F32, 3, D(1, 1, 1))}), ISO_SHAPE_MISMATCH,
          "3 dimensions");
}

/* The gradient of dy = 1, 2, 3, … at x, padded. */
static iso_tensor *pad_gradient(const iso_tensor *x, const int64_t *pads, iso_pad_mode mode) {
  iso_tensor *leaf = iso_requires_grad(iso_clone(ctx, x), true), *y = iso_pad(ctx, leaf, 4, pads, mode, 0);
  iso_tensor *flat = iso_arange(ctx, ISO_F32, 1, (double)iso_tensor_numel(y) + 1, 1);
  assert_int_equal(iso_backward_with(y, iso_reshape(ctx, flat, iso_tensor_n_dims(y), iso_tensor_shape(y)), NULL),
                   ISO_OK);
  return iso_grad(leaf);
}
static void test_pads_of_own_elements(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 2, D(2, 2)), *image = counted(ISO_F32, 4, D(2, 3, 3, 2));
  is(iso_pad(ctx, x, 4, D(1, -1, 0, 1), ISO_PAD_REPLICATE, 0), "(3,2) 0 0 2 2 2 2");
  is(iso_pad(ctx, x, 4, D(-2, 1, 0, 0), ISO_PAD_REPLICATE, 0), "(2,1) 1 3");
  is(iso_pad(ctx, counted(ISO_F32, 1, D(4)), 2, D(3, -5), ISO_PAD_REFLECT, 0), "(2) 3 2");
  is(iso_pad(ctx, counted(ISO_F64, 1, D(4)), 2, D(-5, 3), ISO_PAD_REFLECT, 0), "(2) 1 0");
  is(iso_pad(ctx, counted(ISO_U8, 1, D(4)), 2, D(-1, 2), ISO_PAD_CIRCULAR, 0), "(5) 1 2 3 1 2");
  is(iso_pad(ctx, counted(ISO_I64, 1, D(2)), 2, D(-3, 1), ISO_PAD_REPLICATE, 0), "(0)");
  refused(iso_pad(ctx, x, 2, D(-4, 1), ISO_PAD_REPLICATE, 0), ISO_INVALID_ARGUMENT, "cannot lose 4");
  is(pad_gradient(x, D(1, 0, 1, 0), ISO_PAD_REFLECT), "(2,2) 5 10 10 20");
  /* 21·21 copies of every corner: more than a chunk, all sums below 2^24 and therefore exact. */
  is(pad_gradient(iso_tensor_zeros(ctx, ISO_F32, 2, D(1, 1)), D(10, 10, 10, 10), ISO_PAD_REPLICATE), "(1,1) 97461");
  /* Storage has no say. */
  for (int mode = ISO_PAD_REFLECT; mode <= ISO_PAD_CIRCULAR; mode++) {
    const iso_tensor *lying = iso_channels_last(ctx, image);
    assert_true(iso_tensor_strides(lying)[1] == 1);
    const iso_tensor *padded = iso_pad(ctx, lying, 4, D(1, 1, 2, 0), (iso_pad_mode)mode, 0);
    assert_true(iso_tensor_strides(padded)[1] == 1);
    const iso_tensor *same = iso_contiguous(ctx, padded),
                     *want = iso_pad(ctx, image, 4, D(1, 1, 2, 0), (iso_pad_mode)mode, 0);
    assert_memory_equal(iso_tensor_data(same), iso_tensor_data(want), (size_t)iso_tensor_numel(want) * sizeof(float));
    same = iso_contiguous(ctx, pad_gradient(lying, D(1, 1, 2, 0), (iso_pad_mode)mode));
    want = iso_contiguous(ctx, pad_gradient(image, D(1, 1, 2, 0), (iso_pad_mode)mode));
    assert_memory_equal(iso_tensor_data(same), iso_tensor_data(want), (size_t)iso_tensor_numel(want) * sizeof(float));
  }
}

static void test_pads(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 1, D(4)), *y = counted(ISO_I32, 2, D(2, 2));
  is(iso_pad(ctx, x, 2, D(1, 2), ISO_PAD_CONSTANT, 7), "(7) 7 0 1 2 3 7 7");
  is(iso_pad(ctx, x, 2, D(-1, 1), ISO_PAD_CONSTANT, 7), "(4) 1 2 3 7");
  is(iso_pad(ctx, x, 2, D(-2, -2), ISO_PAD_CONSTANT, 7), "(0)");
  is(iso_pad(ctx, x, 2, D(3, 1), ISO_PAD_REFLECT, 0), "(8) 3 2 1 0 1 2 3 2");
  is(iso_pad(ctx, x, 2, D(2, 1), ISO_PAD_REPLICATE, 0), "(7) 0 0 0 1 2 3 3");
  is(iso_pad(ctx, x, 2, D(4, 1), ISO_PAD_CIRCULAR, 0), "(9) 0 1 2 3 0 1 2 3 0");
  is(iso_pad(ctx, x, 2, D(-4, 1), ISO_PAD_REPLICATE, 0), "(1) 3");
  is(iso_pad(ctx, y, 4, D(1, 0, 0, 1), ISO_PAD_CONSTANT, 9), "(3,3) 9 0 1 9 2 3 9 9 9");
  is(iso_pad(ctx, y, 4, D(1, 0, 0, 1), ISO_PAD_REFLECT, 0), "(3,3) 1 0 1 3 2 3 1 0 1");
  is(iso_pad(ctx, iso_tensor_zeros(ctx, ISO_F32, 1, D(0)), 2, D(1, 1), ISO_PAD_CONSTANT, 5), "(2) 5 5");
  refused(iso_pad(ctx, x, 2, D(4, 0), ISO_PAD_REFLECT, 0), ISO_INVALID_ARGUMENT, "extent 4");
  refused(iso_pad(ctx, x, 2, D(0, 5), ISO_PAD_CIRCULAR, 0), ISO_INVALID_ARGUMENT, "5 behind");
  refused(iso_pad(ctx, x, 2, D(-3, -2), ISO_PAD_CONSTANT, 0), ISO_INVALID_ARGUMENT, "-3 before");
  refused(iso_pad(ctx, x, 2, D(INT64_MIN, 0), ISO_PAD_REFLECT, 0), ISO_INVALID_ARGUMENT, "pads of");
  refused(iso_pad(ctx, x, 3, D(0, 0, 0), ISO_PAD_CONSTANT, 0), ISO_INVALID_ARGUMENT, "3 pads");
  refused(iso_pad(ctx, x, 4, D(0, 0, 0, 0), ISO_PAD_CONSTANT, 0), ISO_INVALID_ARGUMENT, "4 pads for 1 dimensions");
}

static void test_replacing(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_I64, 2, D(2, 3)), *zeros = iso_tensor_zeros(ctx, ISO_I64, 2, D(2, 2));
  is(iso_slice_scatter(ctx, x, zeros, 1, 0, 3, 2), "(2,3) 0 1 0 0 4 0");
  is(iso_select_scatter(ctx, x, iso_tensor_full(ctx, ISO_I64, 1, D(3), 9), 0, -1), "(2,3) 0 1 2 9 9 9");
  refused(iso_slice_scatter(ctx, x, x, 1, 0, 3, 2), ISO_SHAPE_MISMATCH, "i64 (2,2) is needed");
  refused(iso_slice_scatter(ctx, x, iso_cast(ctx, zeros, ISO_F32), 1, 0, 3, 2), ISO_DTYPE_MISMATCH, "f32");
  refused(iso_select_scatter(ctx, x, zeros, 0, 2), ISO_INVALID_ARGUMENT, "index 2");
}

static void test_images(void **state) {
  (void)state;
  iso_tensor *x = counted(ISO_F32, 4, D(1, 4, 1, 2));
  iso_tensor *shuffled = iso_pixel_shuffle(ctx, x, 2);
  is(shuffled, "(1,1,2,4) 0 2 1 3 4 6 5 7");
  is(iso_pixel_unshuffle(ctx, shuffled, 2), "(1,4,1,2) 0 1 2 3 4 5 6 7");
  iso_tensor *last = iso_channels_last(ctx, counted(ISO_F32, 4, D(1, 8, 2, 2)));
  iso_tensor *again = iso_pixel_unshuffle(ctx, iso_pixel_shuffle(ctx, last, 2), 2);
  assert_true(iso_tensor_is_channels_last(again));
  is(iso_sum_all(ctx, iso_cast(ctx, iso_ne(ctx, again, last), ISO_F32)), "() 0");
  is(iso_pixel_shuffle(ctx, iso_channels_last(ctx, counted(ISO_F32, 4, D(1, 8, 1, 1))), 2),
     "(1,2,2,2) 0 1 2 3 4 5 6 7");
  is(iso_channel_shuffle(ctx, counted(ISO_I32, 3, D(1, 4, 1)), 2), "(1,4,1) 0 2 1 3");
  is(iso_unfold(ctx, counted(ISO_I32, 1, D(5)), 0, 3, 2), "(2,3) 0 1 2 2 3 4");
  iso_tensor *columns =
      iso_im2col(ctx, counted(ISO_F32, 3, D(1, 2, 3)), &(iso_im2col_options){.kernel_h = 2, .kernel_w = 2, .pad_w = 1});
  is(columns, "(4,4) 0 0 1 2 0 1 2 0 0 3 4 5 3 4 5 0");
  is(iso_col2im(ctx, columns, 2, 3, &(iso_im2col_options){.kernel_h = 2, .kernel_w = 2, .pad_w = 1}),
     "(1,2,3) 0 2 4 6 8 10");
  refused(iso_pixel_shuffle(ctx, counted(ISO_F32, 3, D(3, 1, 1)), 2), ISO_SHAPE_MISMATCH, "3 channels");
  refused(iso_channel_shuffle(ctx, x, 3), ISO_SHAPE_MISMATCH, "3 groups");
  refused(iso_unfold(ctx, x, 3, 3, 1), ISO_INVALID_ARGUMENT, "3 elements");
  refused(iso_unfold(ctx, x, 3, 1, 0), ISO_INVALID_ARGUMENT, "0 apart");
  refused(iso_col2im(ctx, columns, 2, 3, NULL), ISO_SHAPE_MISMATCH, "6) is needed");
}

static void test_einsum(void **state) {
  (void)state;
  iso_tensor *a = counted(ISO_F32, 2, D(2, 3)), *b = counted(ISO_F32, 2, D(3, 2));
  const iso_tensor *const ab[] = {a, b}, *const aa[] = {a, a}, *const square[] = {iso_matmul(ctx, a, b)};
  is(iso_einsum(ctx, "ij,jk->ik", 2, ab), "(2,2) 10 13 28 40");
  is(iso_einsum(ctx, "ij,jk", 2, ab), "(2,2) 10 13 28 40");
  is(iso_einsum(ctx, "ij , jk -> ki", 2, ab), "(2,2) 10 28 13 40");
  is(iso_einsum(ctx, "ij->", 1, &ab[0]), "() 15");
  is(iso_einsum(ctx, "ii", 1, square), "() 50");
  is(iso_einsum(ctx, "ii->i", 1, square), "(2) 10 40");
  is(iso_einsum(ctx, "ij,ij->ij", 2, aa), "(2,3) 0 1 4 9 16 25");
  is(iso_einsum(ctx, "i...,i...->...", 2, aa), "(3) 9 17 29");
  is(iso_einsum(ctx, "ij,kl->", 2, ab), "() 225");
  refused(iso_einsum(ctx, "ij,jk->im", 2, ab), ISO_INVALID_ARGUMENT, "a letter of its own");
  refused(iso_einsum(ctx, "ij,ik->jk", 2, ab), ISO_INVALID_ARGUMENT, "two extents");
  refused(iso_einsum(ctx, "ijk,jk", 2, ab), ISO_INVALID_ARGUMENT, "");
  refused(iso_einsum(ctx, "i1,jk", 2, ab), ISO_INVALID_ARGUMENT, "this character");
  refused(iso_einsum(ctx, "ij", 2, ab), ISO_INVALID_ARGUMENT, "fewer terms");
  refused(iso_einsum(ctx, "ij,jk,kl", 2, ab), ISO_INVALID_ARGUMENT, "more terms");
  refused(iso_einsum(ctx, "ij,jk->ii", 2, ab), ISO_INVALID_ARGUMENT, "twice");
  refused(iso_einsum(ctx, "ij,jk->ik->", 2, ab), ISO_INVALID_ARGUMENT, "follows");
  refused(iso_einsum(ctx, "......,jk", 2, ab), ISO_INVALID_ARGUMENT, "two ellipses");
  refused(iso_einsum(ctx, "abcdefghi->", 1, ab), ISO_INVALID_ARGUMENT, "more axes");
  refused(iso_einsum(ctx, NULL, 1, ab), ISO_INVALID_ARGUMENT, "NULL");
}

static void test_sequences(void **state) {
  (void)state;
  is(iso_arange(ctx, ISO_I64, 3, -2, -2), "(3) 3 1 -1");
  is(iso_arange(ctx, ISO_F64, 0, 0, 1), "(0)");
  is(iso_linspace(ctx, ISO_F32, 0, 1, 5), "(5) 0 0.25 0.5 0.75 1");
  is(iso_linspace(ctx, ISO_F32, 2, 9, 1), "(1) 2");
  is(iso_logspace(ctx, ISO_F64, 0, 3, 4, 2), "(4) 1 2 4 8");
  is(iso_eye(ctx, ISO_U8, 2, 3), "(2,3) 1 0 0 0 1 0");
  is(iso_full_like(ctx, counted(ISO_I32, 1, D(2)), 2.9), "(2) 2 2");
  is(iso_tril_indices(ctx, 2, 3, 0), "(2,3) 0 1 1 0 0 1");
  is(iso_triu_indices(ctx, 2, 2, 1), "(2,1) 0 1");
  is(iso_tril_indices(ctx, 3, 2, -2), "(2,1) 2 0");
  is(iso_triu_indices(ctx, 4, 2, -1), "(2,5) 0 0 1 1 2 0 1 0 1 1");
  /* at once: empty rows are not visited */
  assert_int_equal(iso_tensor_numel(iso_triu_indices(ctx, INT64_C(1) << 31, 1, INT64_MAX)), 0);
  assert_int_equal(iso_tensor_numel(iso_tril_indices(ctx, INT64_C(1) << 31, 1, INT64_MIN)), 0);
  refused(iso_arange(ctx, ISO_F32, 0, 1, 0), ISO_INVALID_ARGUMENT, "steps of 0");
  refused(iso_arange(ctx, ISO_F32, 0, 1, -1), ISO_INVALID_ARGUMENT, "steps of -1");
  refused(iso_arange(ctx, ISO_F32, 0, 1e300, 1), ISO_INVALID_ARGUMENT, "1e+300");
  refused(iso_arange(ctx, ISO_F32, 0, (double)NAN, 1), ISO_INVALID_ARGUMENT, "not all finite");
  refused(iso_linspace(ctx, ISO_F32, 0, 1, -1), ISO_INVALID_ARGUMENT, "-1 elements");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flips),
      cmocka_unit_test(test_diagonals),
      cmocka_unit_test(test_axes),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_joining),
      cmocka_unit_test(test_pads),
      cmocka_unit_test(test_pads_of_own_elements),
      cmocka_unit_test(test_replacing),
      cmocka_unit_test(test_images),
      cmocka_unit_test(test_einsum),
      cmocka_unit_test(test_sequences),
  };
  return cmocka_run_group_tests_name("shape", tests, setup, teardown);
}
