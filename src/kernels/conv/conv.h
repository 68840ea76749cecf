/* conv.h: convolution (cross-correlation) in one to three dimensions, channels-last, forward and both gradients.
 *
 * x (n,d,h,w,c), weights (k,t,r,s,c/groups), y (n,o,p,q,k) with p = (h + pad_top + pad_bottom − dilation_h·(r−1) −
 * 1)/stride_h + 1, o and q alike. Two dimensions: d = t = 1; one: h = r = 1 too. x_first: x is stored (n,c,d,h,w);
 * forward and bwd_weights only.
 *
 * Class `ordered` (NUMERICS §4): forward k = (kernel depth, row, column, input channel of the group), padding is real
 * zeros; bwd_data per stride phase, only that phase's taps, renumbered (kernel depth, row, column, output channel of
 * the group), output positions outside are real zeros; bwd_weights k = (sample, output depth, row, column), padding is
 * real zeros. Then bias, then residual, then activation (forward only). Class `free`: any association. Classes
 * `winograd.MxMkR` and `fft.N`: two dimensions, stride and dilation 1; see their folders. */
#ifndef ISO_KERNELS_CONV_H
#define ISO_KERNELS_CONV_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef struct iso_conv_problem {
  iso__problem head;
  int64_t n, c, h, w, k, r, s; /* samples, input channels, height, width, output channels, kernel height and width */
  int64_t stride_h, stride_w, dilation_h, dilation_w, groups;
  int64_t pad_top, pad_bottom, pad_left, pad_right;
  int64_t d, t, stride_d, dilation_d, pad_front, pad_back; /* depth: 1, 1, 1, 1, 0, 0 in two dimensions */
  uint8_t has_bias, has_residual;
  uint8_t activation; /* iso__activation (gemm.h) */
  uint8_t x_first;    /* x is stored channels-first */
  uint8_t reserved[4];
} iso_conv_problem;

/* Output rows and columns; 0 where the dilated kernel does not fit into the padded image. */
static inline ISO__HD int64_t iso__conv_out_extent(int64_t padded, int64_t kernel, int64_t dilation, int64_t stride) {
  const int64_t room = padded - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}
static inline ISO__HD int64_t iso__conv_out_h(const iso_conv_problem *p) {
  return iso__conv_out_extent(p->h + p->pad_top + p->pad_bottom, p->r, p->dilation_h, p->stride_h);
}
static inline ISO__HD int64_t iso__conv_out_w(const iso_conv_problem *p) {
  return iso__conv_out_extent(p->w + p->pad_left + p->pad_right, p->s, p->dilation_w, p->stride_w);
}

static inline ISO__HD int64_t iso__conv_out_d(const iso_conv_problem *p) {
  return iso__conv_out_extent(p->d + p->pad_front + p->pad_back, p->t, p->dilation_d, p->stride_d);
}
/* One or two dimensions. */
static inline ISO__HD bool iso__conv_is_flat(const iso_conv_problem *p) {
  return p->d == 1 && p->t == 1 && p->stride_d == 1 && p->pad_front == 0 && p->pad_back == 0;
}
/* For engines that know two dimensions and channels-last only: NULL or the reason why not. */
const char *iso__conv_plain_applicable(const iso__problem *problem);

/* Whether forward or bwd_weights is better given a channels-first x as it is than a channels-last copy of it: the
 * problem is the one of the copy. The class is the same either way. */
bool iso__conv_prefers_first(const iso__problem *problem, const iso_policy *policy);

/* Forward: x, w, bias, residual -> y. bwd_data: dy, w -> dx. bwd_weights: x, dy -> dw. */
typedef struct iso_conv_args {
  const void *x, *w, *bias, *residual, *dy;
  void *y, *dx, *dw;
} iso_conv_args;
#endif
