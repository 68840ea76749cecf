/* reduce.c: gradient cases of ops/reduce; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *f_sum(iso_context *ctx, iso_tensor *const *in) { return iso_sum(ctx, A, 2, (int[]){0, -1}, false); }
static iso_tensor *f_sum_last(iso_context *ctx, iso_tensor *const *in) { return iso_sum(ctx, A, 1, (int[]){2}, true); }
static iso_tensor *f_mean(iso_context *ctx, iso_tensor *const *in) { return iso_mean(ctx, A, 1, (int[]){1}, false); }
static iso_tensor *f_var(iso_context *ctx, iso_tensor *const *in) {
  return iso_var(ctx, A, 2, (int[]){0, 2}, false, 1);
}
static iso_tensor *f_prod(iso_context *ctx, iso_tensor *const *in) { return iso_prod(ctx, A, 1, (int[]){1}, false); }
static iso_tensor *f_amax(iso_context *ctx, iso_tensor *const *in) { return iso_amax(ctx, A, 1, (int[]){0}, true); }
static iso_tensor *f_amin(iso_context *ctx, iso_tensor *const *in) { return iso_amin(ctx, A, 2, (int[]){1, 2}, false); }
static iso_tensor *f_mse(iso_context *ctx, iso_tensor *const *in) { return iso_mse_loss(ctx, A, B, NULL); }
#undef A
#undef B

const gradient_case iso__gradients_reduce[] = {{"sum", f_sum, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"sum", f_sum_last, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"mean", f_mean, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"sum_squares", f_var, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"prod", f_prod, SIGNED, 1, {{2, 3, END}}},
                                               {"amax", f_amax, SIGNED, 1, {{3, 4, END}}},
                                               {"amin", f_amin, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"sum_squares", f_mse, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
                                               {NULL}};
