/* Below this many operations waking another thread costs more than it saves; about what that costs, in ns. */
#define ISO__CONV_SHARED_FLOPS 2e6
static inline double iso__conv_threads(double flops, int n_threads) {
  return flops < ISO__CONV_SHARED_FLOPS ? 1 : n_threads;
}
static inline double iso__conv_fork_ns(double flops, int n_threads) {
  return iso__conv_threads(flops, n_threads) > 1 ? 3000 : 0;
}
/* geometry.h: convolution directions as products over a grid of positions, each axis arithmetic; see igemm.h. */
#ifndef ISO_KERNELS_CONV_GEOMETRY_H
#  define ISO_KERNELS_CONV_GEOMETRY_H
#  include "kernels/conv/igemm.h"

static inline int64_t iso__conv_n_products(const iso_conv_problem *p) {
  return p->head.op == ISO__OP_CONV_BWD_DATA ? p->stride_d * p->stride_h * p->stride_w : 1;
}
iso__conv_product iso__conv_product_at(const iso_conv_problem *p, int64_t index);

/* The taps [first, end) of an axis that read inside the source at grid position t. */
typedef struct iso__conv_range {
  int32_t first, end;
} iso__conv_range;
iso__conv_range iso__conv_taps_inside(const iso__conv_axis *axis, int64_t t);

/* Source positions, relative to t·step, of the lowest and highest tap. */
static inline int64_t iso__conv_lowest(const iso__conv_axis *a) {
  return a->offset + (a->tap_step < 0 && a->n_taps ? (a->n_taps - 1) * a->tap_step : 0);
}
static inline int64_t iso__conv_reach(const iso__conv_axis *a) {
  return a->n_taps ? (a->n_taps - 1) * (a->tap_step < 0 ? -a->tap_step : a->tap_step) : 0;
}
/* Whether no tap of any grid position leaves the source. */
static inline bool iso__conv_stays_inside(const iso__conv_axis *a) {
  const int64_t low = iso__conv_lowest(a);
  return low >= 0 && (a->n_grid - 1) * a->step + low + iso__conv_reach(a) < a->n_source;
}
#endif
