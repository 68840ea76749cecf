/* conv.h: 2-D convolution (cross-correlation), channels-last, forward and both gradients.
 *
 * x (n,h,w,c), weights (k,r,s,c/groups), y (n,p,q,k) with p = (h + pad_top + pad_bottom − dilation_h·(r−1) −
 * 1)/stride_h + 1. Class `ordered` (NUMERICS §4): forward k = (kernel row, kernel column, input channel of the group),
 * padding is real zeros; bwd_data per stride phase, only that phase's taps, renumbered (kernel row, kernel column,
 * output channel of the group), output positions outside are real zeros; bwd_weights k = (sample, output row, output
 * column), padding is real zeros. Then bias, then residual, then activation (forward only). Class `free`: any
 * association. */
#ifndef ISO_KERNELS_CONV_H
#define ISO_KERNELS_CONV_H
#include "plan/plan.h"

typedef struct iso_conv_problem {
  iso__problem head;
  int64_t n, c, h, w, k, r, s; /* samples, input channels, height, width, output channels, kernel height and width */
  int64_t stride_h, stride_w, dilation_h, dilation_w, groups;
  int64_t pad_top, pad_bottom, pad_left, pad_right;
  uint8_t has_bias, has_residual;
  uint8_t activation; /* iso__activation (gemm.h) */
  uint8_t reserved[5];
} iso_conv_problem;

/* Output rows and columns; 0 where the dilated kernel does not fit into the padded image. */
static inline int64_t iso__conv_out_extent(int64_t padded, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t room = padded - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}
static inline int64_t iso__conv_out_h(const iso_conv_problem *p) {
  return iso__conv_out_extent(p->h + p->pad_top + p->pad_bottom, p->r, p->dilation_h, p->stride_h);
}
static inline int64_t iso__conv_out_w(const iso_conv_problem *p) {
  return iso__conv_out_extent(p->w + p->pad_left + p->pad_right, p->s, p->dilation_w, p->stride_w);
}

/* Forward: x, w, bias, residual -> y. bwd_data: dy, w -> dx. bwd_weights: x, dy -> dw. */
typedef struct iso_conv_args {
  const void *x, *w, *bias, *residual, *dy;
  void *y, *dx, *dw;
} iso_conv_args;
#endif
