/* shape.c: gradient cases of ops/shape; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *f_reshape(iso_context *ctx, iso_tensor *const *in) {
  return iso_reshape(ctx, A, 2, ISO_DIMS(-1, 4));
}
static iso_tensor *f_reshape_copy(iso_context *ctx, iso_tensor *const *in) {
  return iso_flatten(ctx, iso_channels_last(ctx, A), 1, -1);
}
static iso_tensor *f_permute(iso_context *ctx, iso_tensor *const *in) { return iso_permute(ctx, A, (int[]){2, 0, -2}); }
static iso_tensor *f_slice(iso_context *ctx, iso_tensor *const *in) { return iso_slice(ctx, A, 1, 1, 4, 2); }
static iso_tensor *f_select(iso_context *ctx, iso_tensor *const *in) { return iso_select(ctx, A, 1, -1); }
static iso_tensor *f_expand(iso_context *ctx, iso_tensor *const *in) {
  return iso_expand(ctx, A, 3, ISO_DIMS(2, 3, 4));
}
static iso_tensor *f_clone(iso_context *ctx, iso_tensor *const *in) { return iso_clone(ctx, A); }
static iso_tensor *f_cat(iso_context *ctx, iso_tensor *const *in) {
  return iso_cat(ctx, 3, (const iso_tensor *const[]){A, B, A}, 1);
}
static iso_tensor *f_stack(iso_context *ctx, iso_tensor *const *in) {
  return iso_stack(ctx, 2, (const iso_tensor *const[]){A, B}, -1);
}
static iso_tensor *f_slice_squared(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, f_slice(ctx, in));
}
static iso_tensor *f_flip(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_flip(ctx, A, 1, (int[]){-1}));
}
static iso_tensor *f_rot90(iso_context *ctx, iso_tensor *const *in) { return iso_rot90(ctx, A, 3, 0, 1); }
static iso_tensor *f_roll(iso_context *ctx, iso_tensor *const *in) {
  return iso_roll(ctx, A, 2, ISO_DIMS(1, -2), (int[]){0, 1});
}
static iso_tensor *f_diagonal(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_diagonal(ctx, A, 1, 0, 2));
}
static iso_tensor *f_diagonal_scatter(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_diagonal_scatter(ctx, A, B, -1, 0, 1));
}
static iso_tensor *f_slice_scatter(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_slice_scatter(ctx, A, B, 1, 1, 5, 2));
}
static iso_tensor *f_select_scatter(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_select_scatter(ctx, A, B, 0, -1));
}
static iso_tensor *f_diag_embed(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_diag_embed(ctx, A, -1, 0, -1));
}
static iso_tensor *f_unfold(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_unfold(ctx, A, 0, 3, 1));
}
static iso_tensor *f_im2col(iso_context *ctx, iso_tensor *const *in) {
  const iso_im2col_options o = {.kernel_h = 2, .kernel_w = 2, .stride_w = 2, .pad_h = 1, .dilation_h = 2};
  return iso_square(ctx, iso_im2col(ctx, A, &o));
}
static iso_tensor *f_col2im(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_col2im(ctx, A, 3, 3, &(iso_im2col_options){.kernel_h = 2, .kernel_w = 2, .pad_w = 1}));
}
static iso_tensor *f_pad_reflect(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_pad(ctx, A, 4, ISO_DIMS(2, 1, 0, 1), ISO_PAD_REFLECT, 0));
}
static iso_tensor *f_pad_replicate(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_pad(ctx, A, 4, ISO_DIMS(2, -1, 3, 1), ISO_PAD_REPLICATE, 0));
}
static iso_tensor *f_pad_circular(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_pad(ctx, A, 2, ISO_DIMS(3, 1), ISO_PAD_CIRCULAR, 0));
}
static iso_tensor *f_pad_constant(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_pad(ctx, A, 4, ISO_DIMS(-1, 2, 1, 0), ISO_PAD_CONSTANT, 0.5));
}
static iso_tensor *f_tril(iso_context *ctx, iso_tensor *const *in) { return iso_square(ctx, iso_tril(ctx, A, 1)); }
static iso_tensor *f_repeat(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_repeat(ctx, A, 3, ISO_DIMS(2, 1, 3)));
}
static iso_tensor *f_interleave(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_repeat_interleave(ctx, A, 0, 2));
}
static iso_tensor *f_pixel_shuffle(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_pixel_shuffle(ctx, A, 2));
}
static iso_tensor *f_einsum(iso_context *ctx, iso_tensor *const *in) {
  return iso_einsum(ctx, "bij,jkk,b...k->k...bi", 3, (const iso_tensor *const[]){A, B, in[2]});
}
#undef A
#undef B

const gradient_case iso__gradients_shape[] = {
    {"reshape", f_reshape, SIGNED, 1, {{2, 3, 2, END}}},
    {"reshape", f_reshape_copy, SIGNED, 1, {{2, 3, 2, 2, END}}},
    {"permute", f_permute, SIGNED, 1, {{2, 3, 2, END}}},
    {"slice", f_slice, SIGNED, 1, {{2, 5, END}}},
    {"slice", f_select, SIGNED, 1, {{2, 3, 2, END}}},
    {"slice_bwd", f_slice_squared, SIGNED, 1, {{2, 5, END}}},
    {"expand", f_expand, SIGNED, 1, {{3, 1, END}}},
    {"copy", f_clone, SIGNED, 1, {{2, 3, END}}},
    {"cat", f_cat, SIGNED, 2, {{2, 1, 2, END}, {2, 2, 2, END}}},
    {"cat", f_stack, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"flip", f_flip, SIGNED, 1, {{2, 3, END}}},
    {"flip", f_rot90, SIGNED, 1, {{2, 3, END}}},
    {"cat", f_roll, SIGNED, 1, {{3, 4, END}}},
    {"diagonal", f_diagonal, SIGNED, 1, {{3, 2, 4, END}}},
    {"diagonal_bwd", f_diagonal, SIGNED, 1, {{3, 2, 2, END}}},
    {"diagonal_bwd", f_diag_embed, SIGNED, 1, {{2, 3, END}}},
    {"diagonal_scatter", f_diagonal_scatter, SIGNED, 2, {{3, 4, END}, {2, END}}},
    {"slice_scatter", f_slice_scatter, SIGNED, 2, {{2, 5, END}, {2, 2, END}}},
    {"slice_scatter", f_select_scatter, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"slice_scatter", f_pad_constant, SIGNED, 1, {{2, 3, END}}},
    {"windows", f_unfold, SIGNED, 1, {{7, 2, END}}},
    {"windows", f_im2col, SIGNED, 1, {{2, 2, 3, 4, END}}},
    {"windows_bwd", f_unfold, SIGNED, 1, {{4, 2, END}}},
    {"windows_bwd", f_col2im, SIGNED, 1, {{2, 8, 8, END}}},
    {"pad", f_pad_reflect, SIGNED, 1, {{2, 2, 3, END}}},
    {"pad_bwd", f_pad_replicate, SIGNED, 1, {{2, 2, 3, END}}},
    {"pad", f_pad_circular, SIGNED, 1, {{2, 3, END}}},
    {"where", f_tril, SIGNED, 1, {{2, 3, 4, END}}},
    {"expand", f_repeat, SIGNED, 1, {{2, 2, END}}},
    {"expand", f_interleave, SIGNED, 1, {{2, 3, END}}},
    {"permute", f_pixel_shuffle, SIGNED, 1, {{1, 4, 2, 2, END}}},
    {"matmul", f_einsum, SIGNED, 3, {{2, 3, 2, END}, {2, 3, 3, END}, {2, 2, 3, END}}},
    {NULL}};
