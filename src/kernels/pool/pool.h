/* pool.h: max and average pooling in one to three dimensions, channels-last.
 *
 * An axis has windows of `kernel` positions, `dilation` apart, every `stride`; or, where `out` is set, it is adaptive:
 * window o of out holds the positions from ⌊o·in/out⌋ up to ⌈(o+1)·in/out⌉. Axes that the tensor lacks are 1.
 * Forward max: a NaN wins, else the largest; ties go to the lowest (depth, row, column); `index` keeps the winner as
 * kernel position (u8; kernels up to 255 positions) or, `wide`, as position in the plane (i64). A window without any
 * real position is not allowed. Average: ordered over the positions inside the plane (or of all, zeros added, when
 * count_padding), then divided by (float) of their number or by `divisor`. Backward: each input position gathers its
 * windows' contributions ascending by output position from +0 (class `ordered`). `pick` is max's second gradient: the
 * elements at the winners' places. With a wide index both are the family unpool's. */
#ifndef ISO_KERNELS_POOL_H
#define ISO_KERNELS_POOL_H
#include "plan/plan.h"
#include "numeric/hd.h"

typedef struct iso_pool_axis {
  int64_t in, kernel, stride, pad, dilation;
  int64_t out; /* adaptive: the number of windows (kernel, stride and dilation are 1, pad 0); else 0 */
} iso_pool_axis;
typedef struct iso_pool_problem {
  iso__problem head;
  int64_t n, c;
  iso_pool_axis axis[3];              /* depth, row, column */
  int64_t divisor;                    /* average only; 0: the number of positions */
  uint8_t count_padding, ceil_, wide; /* count: average only; wide: max forward only */
  uint8_t reserved[5];
} iso_pool_problem;

/* Windows along an axis. Rounded up, the last one still begins inside the input or the padding before it. */
static inline ISO__HD int64_t iso__pool_out(const iso_pool_problem *p, int axis) {
  const iso_pool_axis *a = &p->axis[axis];
  if (a->out) return a->out;
  const int64_t room = a->in + 2 * a->pad - a->dilation * (a->kernel - 1) - 1;
  if (!p->ceil_) return room / a->stride + 1;
  const int64_t n = (room + a->stride - 1) / a->stride + 1;
  return (n - 1) * a->stride >= a->in + a->pad ? n - 1 : n;
}
static inline ISO__HD int64_t iso__pool_in_positions(const iso_pool_problem *p) {
  return p->axis[0].in * p->axis[1].in * p->axis[2].in;
}
static inline ISO__HD int64_t iso__pool_out_positions(const iso_pool_problem *p) {
  return iso__pool_out(p, 0) * iso__pool_out(p, 1) * iso__pool_out(p, 2);
}
/* NULL, or what is wrong with the axes and attributes: the operators say it, too. */
const char *iso__pool_wrong(const iso_pool_problem *p);
/* The most positions that a window holds. */
int64_t iso__pool_window_volume(const iso_pool_problem *p);

/* fwd: x -> y (and index for max). bwd: dy (and index for max) -> dx. pick: x (in the place of dx), index -> y. */
typedef struct iso_pool_args {
  const void *x, *dy;
  void *y, *dx;
  void *index; /* u8, or i64 if wide */
} iso_pool_args;
#endif
