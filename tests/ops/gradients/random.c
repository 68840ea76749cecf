/* random.c: gradient cases of ops/random; gradients.h explains them. */
#include "ops/gradients/gradients.h"

/* The same elements every time. */
#define CASE(name, call)                                                                                               \
  static iso_tensor *f_##name(iso_context *ctx, iso_tensor *const *in) {                                               \
    iso_random_set_step(ctx, 5);                                                                                       \
    return call;                                                                                                       \
  }
CASE(dropout, iso_dropout(ctx, in[0], 0.4, true))
CASE(dropout_all, iso_dropout(ctx, in[0], 1, true))
CASE(feature_dropout, iso_feature_dropout(ctx, in[0], 0.4, true))
CASE(alpha_dropout, iso_alpha_dropout(ctx, in[0], 0.4, true))
CASE(feature_alpha_dropout, iso_feature_alpha_dropout(ctx, in[0], 0.4, true))
#undef CASE

const gradient_case iso__gradients_random[] = {{"dropout", f_dropout, SIGNED, 1, {{4, 5, END}}},
                                               {"where", f_dropout_all, SIGNED, 1, {{4, 5, END}}},
                                               {"where", f_feature_dropout, SIGNED, 1, {{3, 4, 2, END}}},
                                               {"where", f_alpha_dropout, SIGNED, 1, {{4, 5, END}}},
                                               {"where", f_feature_alpha_dropout, SIGNED, 1, {{3, 4, 2, END}}},
                                               {NULL}};
