/* reduce.c: gradient cases of ops/reduce; gradients.h explains them. */
#include <math.h>
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
static iso_tensor *f_nansum(iso_context *ctx, iso_tensor *const *in) {
  return iso_nansum(ctx, A, 1, (int[]){1}, false);
}
static iso_tensor *f_nanmean(iso_context *ctx, iso_tensor *const *in) { return iso_nanmean(ctx, A, 0, NULL, true); }
static iso_tensor *f_std(iso_context *ctx, iso_tensor *const *in) { return iso_std(ctx, A, 1, (int[]){-1}, true, 0); }
static iso_tensor *f_var_mean(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *mean, *var = iso_var_mean(ctx, A, 1, (int[]){0}, false, 1, &mean);
  return iso_mul(ctx, var, iso_exp(ctx, mean));
}
static iso_tensor *f_std_mean(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *mean, *sd = iso_std_mean(ctx, A, 0, NULL, false, 1, &mean);
  return iso_div(ctx, mean, sd);
}
static iso_tensor *f_logsumexp(iso_context *ctx, iso_tensor *const *in) {
  return iso_logsumexp(ctx, A, 1, (int[]){1}, false);
}
static iso_tensor *f_norm_0_5(iso_context *ctx, iso_tensor *const *in) {
  return iso_vector_norm(ctx, A, 0.5, 1, (int[]){0}, false);
}
static iso_tensor *f_norm_1(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_vector_norm(ctx, A, 1, 1, (int[]){0}, false));
}
static iso_tensor *f_norm_2(iso_context *ctx, iso_tensor *const *in) {
  return iso_vector_norm(ctx, A, 2, 2, (int[]){0, 2}, true);
}
static iso_tensor *f_norm_3(iso_context *ctx, iso_tensor *const *in) {
  return iso_vector_norm(ctx, A, 3, 0, NULL, false);
}
static iso_tensor *f_norm_inf(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_vector_norm(ctx, A, (double)INFINITY, 1, (int[]){1}, false));
}
static iso_tensor *f_norm_minus_inf(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_vector_norm(ctx, A, -(double)INFINITY, 1, (int[]){1}, false));
}
static iso_tensor *f_norm_minus_2(iso_context *ctx, iso_tensor *const *in) {
  return iso_vector_norm(ctx, A, -2, 1, (int[]){1}, false);
}
static iso_tensor *f_dist(iso_context *ctx, iso_tensor *const *in) { return iso_dist(ctx, A, B, 1.5); }
static iso_tensor *f_normalize(iso_context *ctx, iso_tensor *const *in) { return iso_normalize(ctx, A, 2, 0, 1e-12); }
static iso_tensor *f_renorm(iso_context *ctx, iso_tensor *const *in) { return iso_renorm(ctx, A, 2, 0, 1.5); }
static iso_tensor *f_aminmax(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *max, *min = iso_aminmax(ctx, A, 1, (int[]){1}, false, &max);
  return iso_mul(ctx, max, min);
}
static iso_tensor *f_max(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_max(ctx, A, 1, false, NULL));
}
static iso_tensor *f_min(iso_context *ctx, iso_tensor *const *in) { return iso_min(ctx, A, 0, true, NULL); }
static iso_tensor *f_sum_to_size(iso_context *ctx, iso_tensor *const *in) {
  return iso_sum_to_size(ctx, A, 2, (int64_t[]){3, 1});
}
static iso_tensor *f_trace(iso_context *ctx, iso_tensor *const *in) { return iso_trace(ctx, A); }
static iso_tensor *f_cumsum(iso_context *ctx, iso_tensor *const *in) { return iso_cumsum(ctx, A, 1); }
static iso_tensor *f_cumprod(iso_context *ctx, iso_tensor *const *in) { return iso_cumprod(ctx, A, -1); }
/* one zero in each row, which the products behind it keep */
static iso_tensor *f_cumprod_zero(iso_context *ctx, iso_tensor *const *in) {
  iso_tensor *mask = iso_tensor_copy_from(ctx, ISO_F64, 1, (int64_t[]){4}, (double[]){1, 0, 1, 1});
  return iso_cumprod(ctx, iso_add_scalar(ctx, iso_mul(ctx, iso_mul(ctx, A, mask), mask), 0), 1);
}
static iso_tensor *f_cummax(iso_context *ctx, iso_tensor *const *in) {
  return iso_square(ctx, iso_cummax(ctx, A, 1, NULL));
}
static iso_tensor *f_cummin(iso_context *ctx, iso_tensor *const *in) { return iso_cummin(ctx, A, 0, NULL); }
static iso_tensor *f_logcumsumexp(iso_context *ctx, iso_tensor *const *in) { return iso_logcumsumexp(ctx, A, 1); }
static iso_tensor *f_diff(iso_context *ctx, iso_tensor *const *in) { return iso_diff(ctx, A, 2, 0, B, NULL); }
static iso_tensor *f_trapezoid(iso_context *ctx, iso_tensor *const *in) { return iso_trapezoid(ctx, A, B, 1, 1); }
static iso_tensor *f_cumulative_trapezoid(iso_context *ctx, iso_tensor *const *in) {
  return iso_cumulative_trapezoid(ctx, A, NULL, 0.5, 1);
}
#undef A
#undef B

const gradient_case iso__gradients_reduce[] = {{"sum", f_sum, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"sum", f_sum_last, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"mean", f_mean, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"var", f_var, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"prod", f_prod, SIGNED, 1, {{2, 3, END}}},
                                               {"amax", f_amax, SIGNED, 1, {{3, 4, END}}},
                                               {"amin", f_amin, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"sum_squares", f_mse, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
                                               {"nansum", f_nansum, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"nansum", f_nanmean, SIGNED, 1, {{2, 3, END}}},
                                               {"var", f_std, SIGNED, 1, {{2, 5, END}}},
                                               {"var", f_var_mean, SIGNED, 1, {{4, 2, END}}},
                                               {"var", f_std_mean, POSITIVE, 1, {{4, 2, END}}},
                                               {"logsumexp", f_logsumexp, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"vector_norm", f_norm_0_5, SIGNED, 1, {{3, 2, END}}},
                                               {"vector_norm", f_norm_1, SIGNED, 1, {{3, 2, END}}},
                                               {"vector_norm", f_norm_2, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"vector_norm", f_norm_3, SIGNED, 1, {{3, 2, END}}},
                                               {"vector_norm", f_norm_inf, SIGNED, 1, {{3, 4, END}}},
                                               {"vector_norm", f_norm_minus_inf, SIGNED, 1, {{3, 4, END}}},
                                               {"vector_norm", f_norm_minus_2, SIGNED, 1, {{2, 3, END}}},
                                               {"vector_norm", f_dist, SIGNED, 2, {{3, 2, END}, {2, END}}},
                                               {"vector_norm", f_normalize, SIGNED, 1, {{3, 4, END}}},
                                               {"vector_norm", f_renorm, SIGNED, 1, {{3, 4, END}}},
                                               {"amax", f_aminmax, SIGNED, 1, {{3, 4, END}}},
                                               {"max", f_max, SIGNED, 1, {{3, 4, 2, END}}},
                                               {"max", f_min, SIGNED, 1, {{3, 4, END}}},
                                               {"sum", f_sum_to_size, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"sum", f_trace, SIGNED, 1, {{3, 4, END}}},
                                               {"cumsum", f_cumsum, SIGNED, 1, {{2, 3, 4, END}}},
                                               {"cumprod", f_cumprod, SIGNED, 1, {{2, 4, END}}},
                                               {"cumprod", f_cumprod_zero, SIGNED, 1, {{2, 4, END}}},
                                               {"cummax", f_cummax, SIGNED, 1, {{2, 4, END}}},
                                               {"cummax", f_cummin, SIGNED, 1, {{4, 2, END}}},
                                               {"logcumsumexp", f_logcumsumexp, SIGNED, 1, {{2, 3, 2, END}}},
                                               {"sub", f_diff, SIGNED, 2, {{4, 2, END}, {1, 2, END}}},
                                               {"mul", f_trapezoid, SIGNED, 2, {{2, 4, END}, {4, END}}},
                                               {"cumsum", f_cumulative_trapezoid, SIGNED, 1, {{2, 4, END}}},
                                               {NULL}};
