/* sort.c: gradient cases of ops/sort; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
static iso_tensor *squared(iso_context *ctx, iso_tensor *t) { return iso_mul(ctx, t, t); }
static iso_tensor *f_sort(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_sort(ctx, A, 1, false, NULL));
}
static iso_tensor *f_sort_first(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_sort(ctx, A, 0, true, NULL));
}
static iso_tensor *f_msort(iso_context *ctx, iso_tensor *const *in) { return squared(ctx, iso_msort(ctx, A)); }
static iso_tensor *f_topk(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_topk(ctx, A, 2, 1, true, NULL));
}
static iso_tensor *f_kthvalue(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_kthvalue(ctx, A, 2, -1, false, NULL));
}
static iso_tensor *f_median(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_median(ctx, A, 0, true, NULL));
}
static iso_tensor *f_nanmedian(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_nanmedian(ctx, A, 1, false, NULL));
}
static iso_tensor *f_mode(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_mode(ctx, A, 1, false, NULL));
}
static iso_tensor *f_quantile(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_quantile(ctx, A, 3, (const double[]){0.3, 0.35, 1}, 1, true, ISO_QUANTILE_LINEAR));
}
static iso_tensor *f_nanquantile(iso_context *ctx, iso_tensor *const *in) {
  return squared(ctx, iso_nanquantile(ctx, A, 2, (const double[]){0.5, 0.5}, 0, false, ISO_QUANTILE_MIDPOINT));
}
#undef A

const gradient_case iso__gradients_sort[] = {
    {"sort", f_sort, SIGNED, 1, {{2, 5, 3, END}}},     {"sort", f_sort_first, SIGNED, 1, {{4, 3, END}}},
    {"sort_bwd", f_sort, SIGNED, 1, {{2, 6, END}}},    {"sort", f_msort, SIGNED, 1, {{5, END}}},
    {"sort", f_topk, SIGNED, 1, {{2, 5, END}}},        {"sort", f_kthvalue, SIGNED, 1, {{3, 4, END}}},
    {"sort", f_median, SIGNED, 1, {{4, 3, END}}},      {"sort", f_nanmedian, SIGNED, 1, {{2, 5, END}}},
    {"sort", f_mode, SIGNED, 1, {{2, 4, END}}},        {"sort", f_quantile, SIGNED, 1, {{2, 5, 2, END}}},
    {"sort", f_nanquantile, SIGNED, 1, {{4, 3, END}}}, {NULL}};
