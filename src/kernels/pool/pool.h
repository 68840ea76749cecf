/* pool.h: 2-D max and average pooling, channels-last.
 *
 * Forward max: a NaN wins, else the largest; ties go to the lowest (row, column); `index` keeps the winner as kernel
 * position r·kernel_w + s (u8; kernels up to 255 positions). A window without any real position is not allowed (padding
 * at most half the kernel). Average: ordered over (row, column) of the positions inside the image (or of all, zeros
 * added, when count_padding), then /n with (float)n. Backward: each input position gathers its windows' contributions
 * ascending by output (row, column) from +0 (class `ordered`; a chunk of 256 is never exceeded in practice but is
 * honoured). */
#ifndef ISO_KERNELS_POOL_H
#define ISO_KERNELS_POOL_H
#include "plan/plan.h"

typedef struct iso_pool_problem {
  iso__problem head;
  int64_t n, c, h, w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w;
  uint8_t count_padding; /* average only */
  uint8_t reserved[7];
} iso_pool_problem;
static inline int64_t iso__pool_out_h(const iso_pool_problem *p) {
  return (p->h + 2 * p->pad_h - p->kernel_h) / p->stride_h + 1;
}
static inline int64_t iso__pool_out_w(const iso_pool_problem *p) {
  return (p->w + 2 * p->pad_w - p->kernel_w) / p->stride_w + 1;
}

/* fwd: x -> y (and index for max). bwd: dy (and index for max) -> dx. */
typedef struct iso_pool_args {
  const void *x, *dy;
  void *y, *dx;
  uint8_t *index;
} iso_pool_args;
#endif
