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
#undef A
#undef B

const gradient_case iso__gradients_shape[] = {{"reshape", f_reshape, SIGNED, 1, {{2, 3, 2, END}}},
                                              {"reshape", f_reshape_copy, SIGNED, 1, {{2, 3, 2, 2, END}}},
                                              {"permute", f_permute, SIGNED, 1, {{2, 3, 2, END}}},
                                              {"slice", f_slice, SIGNED, 1, {{2, 5, END}}},
                                              {"slice", f_select, SIGNED, 1, {{2, 3, 2, END}}},
                                              {"slice_bwd", f_slice_squared, SIGNED, 1, {{2, 5, END}}},
                                              {"expand", f_expand, SIGNED, 1, {{3, 1, END}}},
                                              {"copy", f_clone, SIGNED, 1, {{2, 3, END}}},
                                              {"cat", f_cat, SIGNED, 2, {{2, 1, 2, END}, {2, 2, 2, END}}},
                                              {"cat", f_stack, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
                                              {NULL}};
