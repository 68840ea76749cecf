/* ops/norm.h: normalisation and softmax. What holds for every operator: ops.h. */
#ifndef ISOBIT_OPS_NORM_H
#define ISOBIT_OPS_NORM_H
#include <isobit/tensor.h>
#ifdef __cplusplus
extern "C" {
#endif

/* ---- normalisation and softmax ---- */
typedef struct iso_batch_norm_options {
  bool training;   /* the batch's statistics, and the running ones are updated in place; else the running ones */
  double momentum; /* 0: 0.1; running = fma(momentum, stat − running, running), the variance's stat unbiased   */
  double eps;      /* 0: 1e-5 */
  const iso_tensor *residual; /* x's shape: added before the activation */
  bool relu;
} iso_batch_norm_options;
/* x (N,C), (N,C,L), (N,C,H,W) or (N,C,D,H,W); gamma, beta, running_mean, running_var (C); gamma NULL is 1, beta
 * NULL 0, and in training running_mean and running_var may both be NULL. One value a channel in
 * training: ISO_INVALID_ARGUMENT. Gradients for x, gamma, beta, residual; they cannot be differentiated again. Class
 * `moments`.
 */
ISO_API iso_tensor *iso_batch_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma,
                                   const iso_tensor *beta, iso_tensor *running_mean, iso_tensor *running_var,
                                   const iso_batch_norm_options *options);
/* Normalisation of each row by its own mean and variance; gamma and beta, either or both of them, may be NULL; eps 0:
 * 1e-5. Gradients for x, gamma and beta; they cannot be differentiated again. Class `lanes`, parameters' gradients
 * `ordered`: docs/numerics.md §5.
 * layer: rows are the last n_axes axes (at least 1) of x, whose extents gamma and beta have. rms: the same without a
 * mean (Zhang and Sennrich, 2019); eps 0: 1e-5, PyTorch's default is the dtype's epsilon. group: x (N,C,…), rows are a
 * sample's C/groups channels with all positions, gamma and beta (C). instance: groups = C. */
ISO_API iso_tensor *iso_layer_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma,
                                   const iso_tensor *beta, double eps);
ISO_API iso_tensor *iso_rms_norm(iso_context *ctx, const iso_tensor *x, int n_axes, const iso_tensor *gamma,
                                 double eps);
ISO_API iso_tensor *iso_group_norm(iso_context *ctx, const iso_tensor *x, int64_t groups, const iso_tensor *gamma,
                                   const iso_tensor *beta, double eps);
ISO_API iso_tensor *iso_instance_norm(iso_context *ctx, const iso_tensor *x, const iso_tensor *gamma,
                                      const iso_tensor *beta, double eps);
ISO_API iso_tensor *iso_softmax(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_log_softmax(iso_context *ctx, const iso_tensor *x, int axis);
ISO_API iso_tensor *iso_softmin(iso_context *ctx, const iso_tensor *x, int axis); /* softmax(−x) */
/* Of the elements where mask (bool, broadcast to x's shape) is true; the others give 0, log_softmax −infinity. They
 * keep their places in the sum's order. Nothing present: zeros. */
ISO_API iso_tensor *iso_masked_softmax(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, int axis);
ISO_API iso_tensor *iso_masked_log_softmax(iso_context *ctx, const iso_tensor *x, const iso_tensor *mask, int axis);
/* softmax((x + g)/tau) with Gumbel noise g = −log(−log u), u from the next site of stream "graph" (Jang et al., 2017).
 * hard: 1 at the largest, 0 elsewhere, with the gradient of the soft result. tau > 0. */
ISO_API iso_tensor *iso_gumbel_softmax(iso_context *ctx, const iso_tensor *x, double tau, bool hard, int axis);
/* x·(k + alpha/size·Σ x² over the size channels from c − size/2 on)^−beta, outside counting 0 (Krizhevsky et al.,
 * 2012). x (N,C,…) of at least 3 dimensions; alpha, beta, k as they are (PyTorch's defaults: 1e-4, 0.75, 1). */
typedef struct iso_local_response_norm_options {
  int64_t size;
  double alpha, beta, k;
} iso_local_response_norm_options;
ISO_API iso_tensor *iso_local_response_norm(iso_context *ctx, const iso_tensor *x,
                                            const iso_local_response_norm_options *options);

#ifdef __cplusplus
}
#endif
#endif
