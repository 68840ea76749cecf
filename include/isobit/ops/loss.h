/* ops/loss.h: losses. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_LOSS_H
#define ISOBIT_OPS_LOSS_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- losses: one-element results ---- */
typedef struct iso_cross_entropy_options {
  const iso_tensor *weights; /* (classes), or NULL: 1 each                                           */
  double count;              /* divisor; 0: this call's own Σ w_t. Under leaves: the whole step's   */
} iso_cross_entropy_options;
/* logits (N,classes), target (N) i64 in [0,classes) → Σ_i −w_t·log_softmax(logits_i)[t_i] / count. A target out of
 * range is ISO_INVALID_ARGUMENT, naming position and value. options NULL: none set. Class `lanes`. */
ISO_API iso_tensor *iso_cross_entropy(iso_context *ctx, const iso_tensor *logits, const iso_tensor *target,
                                      const iso_cross_entropy_options *options);
/* Σ(a−b)²/count; count 0: the number of elements. */
ISO_API iso_tensor *iso_mse_loss(iso_context *ctx, const iso_tensor *a, const iso_tensor *b, double count);

#ifdef __cplusplus
}
#endif
#endif
