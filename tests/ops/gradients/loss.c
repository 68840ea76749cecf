/* loss.c: gradient cases of ops/loss; gradients.h explains them. */
#include <math.h>
#include "ops/gradients/gradients.h"

#define A in[0]
#define B in[1]
#define C in[2]
#define CASE(name, ...)                                                                                                \
  static iso_tensor *f_##name(iso_context *ctx, iso_tensor *const *in) {                                               \
    (void)in;                                                                                                          \
    return __VA_ARGS__;                                                                                                \
  }
static iso_tensor *integers(iso_context *ctx, int64_t n, const int64_t *values) {
  return iso_tensor_copy_from(ctx, ISO_I64, 1, &n, values);
}
#define INTEGERS(...)                                                                                                  \
  integers(ctx, (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})
static iso_tensor *doubles(iso_context *ctx, int64_t n, const double *values) {
  return iso_tensor_copy_from(ctx, ISO_F64, 1, &n, values);
}
#define DOUBLES(...)                                                                                                   \
  doubles(ctx, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (const double[]){__VA_ARGS__})

static iso_tensor *cross_entropy(iso_context *ctx, const iso_tensor *x, const iso_cross_entropy_options *o) {
  const int64_t rows = iso_tensor_shape(x)[0], target[] = {2, 0, 3, 3};
  return iso_cross_entropy(ctx, x, iso_tensor_copy_from(ctx, ISO_I64, 1, &rows, target), o);
}
CASE(cross_entropy, cross_entropy(ctx, A, NULL))
CASE(cross_entropy_weighted, cross_entropy(ctx, A, &(iso_cross_entropy_options){.weights = DOUBLES(0.5, 1, 2, 0.25)}))
CASE(cross_entropy_count, cross_entropy(ctx, A, &(iso_cross_entropy_options){.count = 7}))
CASE(cross_entropy_ignores, cross_entropy(ctx, A,
                                          &(iso_cross_entropy_options){.weights = DOUBLES(0.5, 1, 2, 0.25),
                                                                       .ignores = true,
                                                                       .ignore_index = 0,
                                                                       .reduction = ISO_REDUCTION_SUM}))
CASE(cross_entropy_rows,
     cross_entropy(ctx, A,
                   &(iso_cross_entropy_options){.reduction = ISO_REDUCTION_NONE, .ignores = true, .ignore_index = 3}))
CASE(cross_entropy_smoothed, cross_entropy(ctx, A,
                                           &(iso_cross_entropy_options){.weights = DOUBLES(0.5, 1, 2, 0.25),
                                                                        .ignores = true,
                                                                        .ignore_index = 2,
                                                                        .label_smoothing = 0.3}))
CASE(cross_entropy_image,
     iso_cross_entropy(ctx, A, iso_reshape(ctx, INTEGERS(0, 2, 1, 1, 0, 2, 2, 1), 3, ISO_DIMS(2, 2, 2)), NULL))
CASE(cross_entropy_probabilities,
     iso_cross_entropy(ctx, A, B, &(iso_cross_entropy_options){.weights = DOUBLES(0.5, 1, 2), .label_smoothing = 0.1}))
CASE(nll, iso_nll_loss(ctx, A, INTEGERS(2, 0, 1), NULL))
CASE(nll_options, iso_nll_loss(ctx, A, INTEGERS(2, 0, 1),
                               &(iso_cross_entropy_options){.weights = DOUBLES(0.5, 1, 2),
                                                            .ignores = true,
                                                            .ignore_index = 1,
                                                            .reduction = ISO_REDUCTION_NONE}))
/* Through a square, so that the first gradient depends on dy. */
CASE(nll_squared, iso_square(ctx, iso_nll_loss(ctx, A, INTEGERS(2, 0, 1), NULL)))
CASE(bce, iso_binary_cross_entropy(ctx, iso_sigmoid(ctx, A), iso_sigmoid(ctx, B),
                                   &(iso_loss_options){.weight = DOUBLES(1, 2, 3)}))
CASE(bce_logits, iso_binary_cross_entropy_with_logits(ctx, A, B, DOUBLES(1, 2, 3), NULL))
CASE(kl, iso_kl_div(ctx, A, B, false, &(iso_loss_options){.count = 2}))
CASE(kl_log, iso_kl_div(ctx, A, B, true, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE}))
CASE(ctc, iso_ctc_loss(ctx, A, iso_reshape(ctx, INTEGERS(1, 1, 2, 3, 2, 0), 2, ISO_DIMS(2, 3)), INTEGERS(6, 5),
                       INTEGERS(3, 2), NULL))
CASE(ctc_flat, iso_ctc_loss(ctx, A, INTEGERS(1, 1, 0), INTEGERS(4, 4, 1, 2), INTEGERS(1, 2, 0, 0),
                            &(iso_ctc_options){.blank = 2, .reduction = ISO_REDUCTION_NONE}))
CASE(mse, iso_mse_loss(ctx, A, B, &(iso_loss_options){.reduction = ISO_REDUCTION_NONE}))
CASE(l1, iso_l1_loss(ctx, A, B, NULL))
CASE(smooth_l1, iso_smooth_l1_loss(ctx, A, B, 0.7, NULL))
CASE(huber, iso_huber_loss(ctx, A, B, 0.7, &(iso_loss_options){.reduction = ISO_REDUCTION_SUM}))
CASE(poisson, iso_poisson_nll_loss(ctx, A, B, &(iso_poisson_nll_options){.full = true}))
CASE(poisson_rate, iso_poisson_nll_loss(ctx, A, B, &(iso_poisson_nll_options){.rate = true}))
CASE(gaussian, iso_gaussian_nll_loss(ctx, A, B, C, &(iso_gaussian_nll_options){.full = true}))
CASE(soft_margin, iso_soft_margin_loss(ctx, A, B, NULL))
CASE(hinge, iso_hinge_embedding_loss(ctx, A, iso_sign(ctx, B), 0.6, NULL))
CASE(ranking, iso_margin_ranking_loss(ctx, A, B, DOUBLES(1, -1, 1), 0.3, NULL))
CASE(multi_margin, iso_multi_margin_loss(ctx, A, INTEGERS(2, 0), 1,
                                         &(iso_multi_margin_options){.p = 2, .weights = DOUBLES(0.5, 1, 2)}))
CASE(multilabel,
     iso_multilabel_margin_loss(ctx, A, iso_reshape(ctx, INTEGERS(2, 0, -1, 1, 3, -1, 0, 0), 2, ISO_DIMS(2, 4)), NULL))
CASE(multilabel_soft, iso_multilabel_soft_margin_loss(ctx, A, B, &(iso_loss_options){.weight = DOUBLES(0.5, 1, 2)}))
CASE(cosine, iso_cosine_similarity(ctx, A, B, 1, 0))
CASE(distance, iso_pairwise_distance(ctx, A, B, 3, 1e-6, true))
CASE(distance_largest, iso_pairwise_distance(ctx, A, B, (double)INFINITY, 1e-6, false))
CASE(cosine_embedding, iso_cosine_embedding_loss(ctx, A, B, DOUBLES(1, -1, 1), 0.1, NULL))
CASE(triplet, iso_triplet_margin_loss(ctx, A, B, C, 1, &(iso_triplet_margin_options){.swap = true}))
#undef A
#undef B
#undef C

const gradient_case iso__gradients_loss[] = {
    {"cross_entropy", f_cross_entropy, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_weighted, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_count, SIGNED, 1, {{3, 5, END}}},
    {"cross_entropy", f_cross_entropy_ignores, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_rows, SIGNED, 1, {{4, 4, END}}},
    {"class_pick", f_cross_entropy_smoothed, SIGNED, 1, {{4, 4, END}}},
    {"cross_entropy", f_cross_entropy_image, SIGNED, 1, {{2, 3, 2, 2, END}}},
    {"log_softmax", f_cross_entropy_probabilities, SIGNED, 2, {{2, 3, 2, END}, {2, 3, 2, END}}},
    {"class_pick", f_nll, SIGNED, 1, {{3, 3, END}}},
    {"class_pick", f_nll_options, SIGNED, 1, {{3, 3, END}}},
    {"class_place", f_nll_squared, SIGNED, 1, {{3, 3, END}}},
    {"binary_cross_entropy", f_bce, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"softplus", f_bce_logits, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"where", f_kl, POSITIVE, 2, {{2, 3, END}, {2, 3, END}}},
    {"exp", f_kl_log, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"ctc", f_ctc, SIGNED, 1, {{6, 2, 4, END}}},
    {"ctc", f_ctc_flat, SIGNED, 1, {{4, 4, 3, END}}},
    {"square", f_mse, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"abs", f_l1, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"clamp", f_smooth_l1, SIGNED, 2, {{3, 4, END}, {3, 4, END}}},
    {"clamp", f_huber, SIGNED, 2, {{3, 4, END}, {3, 4, END}}},
    {"where", f_poisson, POSITIVE, 2, {{3, 4, END}, {3, 4, END}}},
    {"log", f_poisson_rate, POSITIVE, 2, {{3, 4, END}, {3, 4, END}}},
    {"log", f_gaussian, POSITIVE, 3, {{3, 2, END}, {3, 2, END}, {3, END}}},
    {"softplus", f_soft_margin, SIGNED, 2, {{3, 2, END}, {3, 2, END}}},
    {"where", f_hinge, SIGNED, 2, {{3, 2, END}, {3, 2, END}}},
    {"clamp", f_ranking, SIGNED, 2, {{2, 3, END}, {3, END}}},
    {"class_pick", f_multi_margin, SIGNED, 1, {{2, 3, END}}},
    {"relu", f_multilabel, SIGNED, 1, {{2, 4, END}}},
    {"softplus", f_multilabel_soft, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"div", f_cosine, SIGNED, 2, {{2, 3, 2, END}, {3, 2, END}}},
    {"pow_scalar", f_distance, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"amax", f_distance_largest, SIGNED, 2, {{2, 3, END}, {2, 3, END}}},
    {"where", f_cosine_embedding, SIGNED, 2, {{3, 4, END}, {3, 4, END}}},
    {"clamp", f_triplet, SIGNED, 3, {{3, 4, END}, {3, 4, END}, {3, 4, END}}},
    {NULL}};
