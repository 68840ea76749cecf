/* loss.c: gradient cases of ops/loss; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *cross_entropy(iso_context *ctx, const iso_tensor *x, const iso_cross_entropy_options *o) {
  const int64_t rows = iso_tensor_shape(x)[0], target[] = {2, 0, 3, 3};
  return iso_cross_entropy(ctx, x, iso_tensor_copy_from(ctx, ISO_I64, 1, &rows, target), o);
}
static iso_tensor *f_cross_entropy(iso_context *ctx, iso_tensor *const *in) { return cross_entropy(ctx, A, NULL); }
static iso_tensor *f_cross_entropy_weighted(iso_context *ctx, iso_tensor *const *in) {
  const double w[] = {0.5, 1, 2, 0.25};
  iso_tensor *weights = iso_tensor_copy_from(ctx, ISO_F64, 1, ISO_DIMS(4), w);
  return cross_entropy(ctx, A, &(iso_cross_entropy_options){.weights = weights});
}
static iso_tensor *f_cross_entropy_count(iso_context *ctx, iso_tensor *const *in) {
  return cross_entropy(ctx, A, &(iso_cross_entropy_options){.count = 7});
}
#undef A
#undef B

const gradient_case iso__gradients_loss[] = {{"cross_entropy", f_cross_entropy, SIGNED, 1, {{4, 4, END}}},
                                             {"cross_entropy", f_cross_entropy_weighted, SIGNED, 1, {{4, 4, END}}},
                                             {"cross_entropy", f_cross_entropy_count, SIGNED, 1, {{3, 5, END}}},
                                             {NULL}};
