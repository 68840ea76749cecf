/* linear.h (internal): a linear layer with what follows it. */
#ifndef ISO_OPS_PRODUCT_LINEAR_H
#define ISO_OPS_PRODUCT_LINEAR_H
#include "kernels/gemm/gemm.h"
#include "ops/ops.h"

/* activate(x·wᵀ + bias + residual) by one product, with the bits of the operators one by one: for inference. NULL
 * without an error where it has to be those (something is recorded or cast, a device, another dtype, strides, x or a
 * residual that is none); bias and residual may be NULL. */
iso_tensor *iso__linear_fused(iso_context *ctx, const iso_tensor *x, const iso_tensor *w, const iso_tensor *bias,
                              const iso_tensor *residual, iso__activation activation);
#endif
