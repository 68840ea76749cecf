/* window.h: which positions meet which windows; used by reference and engines. */
#ifndef ISO_KERNELS_POOL_WINDOW_H
#define ISO_KERNELS_POOL_WINDOW_H
#include "kernels/pool/pool.h"

typedef struct range {
  int64_t begin, end;
} range;

/* Kernel positions of the window at output position o that lie inside an axis of `extent`. */
static inline range window_inside(int64_t o, int64_t stride, int64_t pad, int64_t kernel, int64_t extent) {
  const int64_t first = o * stride - pad;
  return (range){first < 0 ? -first : 0, extent - first < kernel ? extent - first : kernel};
}
/* Output positions whose windows cover input position i, in an axis with n_out windows. */
static inline range windows_over(int64_t i, int64_t stride, int64_t pad, int64_t kernel, int64_t n_out) {
  const int64_t low = i + pad - kernel + 1, high = (i + pad) / stride + 1;
  return (range){low > 0 ? (low + stride - 1) / stride : 0, high < n_out ? high : n_out};
}
/* Positions that an average divides by. */
static inline int64_t window_count(const iso_pool_problem *p, int64_t oh, int64_t ow) {
  if (p->count_padding) return p->kernel_h * p->kernel_w;
  const range r = window_inside(oh, p->stride_h, p->pad_h, p->kernel_h, p->h);
  const range s = window_inside(ow, p->stride_w, p->pad_w, p->kernel_w, p->w);
  return (r.end - r.begin) * (s.end - s.begin);
}
#endif
