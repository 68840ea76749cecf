/* random.c: gradient cases of ops/random; gradients.h explains them. */
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
static iso_tensor *f_dropout(iso_context *ctx, iso_tensor *const *in) {
  iso_random_set_step(ctx, 5); /* the same elements every time */
  return iso_dropout(ctx, A, 0.4, true);
}
#undef A
#undef B

const gradient_case iso__gradients_random[] = {{"dropout", f_dropout, SIGNED, 1, {{4, 5, END}}}, {NULL}};
