/* conv.h (internal): one description of the six convolutions, and what their shape rule makes of it. */
#ifndef ISO_OPS_CONV_H
#define ISO_OPS_CONV_H
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "ops/ops.h"

/* One spatial axis; stride and dilation are filled in (never 0). */
typedef struct iso__conv_request_axis {
  int64_t stride, dilation, before, after; /* before, after: padding */
  int64_t output_pad;                      /* transposed only */
} iso__conv_request_axis;

typedef struct iso__conv_request {
  const char *op; /* "conv_transpose2d" */
  int n_axes;
  iso__conv_request_axis axis[3]; /* outermost first */
  int64_t groups;
  const iso_tensor *x, *w, *bias, *residual;
  bool relu, transposed;
} iso__conv_request;

/* A node's attributes: the forward problem of the convolution, for a transposed one of the one that it mirrors (whose
 * input is our result), with the epilogue's activation; and how many spatial axes the tensors have. */
typedef struct iso__conv_geometry {
  iso_conv_problem problem;
  int n_axes;
} iso__conv_geometry;

/* Padding of both sides plus one side's own; where the sum would hide that one is negative, or overflow, a value that
 * the shape rule refuses. */
static inline int64_t iso__conv_side(int64_t both, int64_t own) {
  int64_t sum;
  if (both < 0 || own < 0) return both < own ? both : own;
  return __builtin_add_overflow(both, own, &sum) ? INT64_MAX : sum;
}

/* The shapes (2 + n_axes extents) of the problem's x, y and w. */
void iso__conv_x_shape(const iso__conv_geometry *g, int64_t *shape);
void iso__conv_y_shape(const iso__conv_geometry *g, int64_t *shape);
void iso__conv_w_shape(const iso__conv_geometry *g, int64_t *shape);

/* False with the error kept where the operands and options are no convolution. */
bool iso__conv_infer(iso_context *ctx, const iso__conv_request *r, iso__conv_geometry *g);
#endif
