/* window.h: which positions meet which windows along one axis; used by reference and engines. */
#ifndef ISO_KERNELS_POOL_WINDOW_H
#define ISO_KERNELS_POOL_WINDOW_H
#include "kernels/pool/pool.h"
#include "kernels/sizes.h"
#include "numeric/hd.h"

typedef struct range {
  int64_t begin, end;
} range;

/* The input position of kernel position 0 of window o; it may lie outside. */
static inline ISO__HD int64_t window_first(const iso_pool_axis *a, int64_t o) {
  return a->out ? o * a->in / a->out : o * a->stride - a->pad;
}
/* Kernel positions of window o that lie inside the input. */
static inline ISO__HD range window_inside(const iso_pool_axis *a, int64_t o) {
  const int64_t first = window_first(a, o);
  if (a->out) return (range){0, iso__ceil_div((o + 1) * a->in, a->out) - first};
  if (a->dilation == 1) return (range){first < 0 ? -first : 0, iso__min(a->kernel, iso__max(a->in - first, 0))};
  return (range){first < 0 ? iso__ceil_div(-first, a->dilation) : 0,
                 a->in > first ? iso__min(a->kernel, iso__ceil_div(a->in - first, a->dilation)) : 0};
}
/* And of those inside input and padding. */
static inline ISO__HD range window_padded(const iso_pool_axis *a, int64_t o) {
  if (a->out) return window_inside(a, o);
  if (a->dilation == 1) return (range){0, iso__min(a->kernel, a->in + a->pad - window_first(a, o))};
  return (range){0, iso__min(a->kernel, iso__ceil_div(a->in + a->pad - window_first(a, o), a->dilation))};
}
/* The kernel position at which window o sees input position i; −1: it does not. */
static inline ISO__HD int64_t window_position(const iso_pool_axis *a, int64_t o, int64_t i) {
  const int64_t distance = i - window_first(a, o);
  if (a->dilation == 1) return distance;
  return distance < 0 || distance % a->dilation ? -1 : distance / a->dilation;
}
/* Windows that may see input position i: all that do, and with a dilation some that do not. */
static inline ISO__HD range windows_over(const iso_pool_axis *a, int64_t i, int64_t n_out) {
  if (a->out) return (range){i * a->out / a->in, iso__ceil_div((i + 1) * a->out, a->in)};
  const int64_t low = i + a->pad - a->dilation * (a->kernel - 1), high = (i + a->pad) / a->stride + 1;
  return (range){low > 0 ? iso__ceil_div(low, a->stride) : 0, iso__min(high, n_out)};
}
/* What an average divides by. */
static inline ISO__HD int64_t window_divisor(const iso_pool_problem *p, const int64_t o[3]) {
  if (p->divisor) return p->divisor;
  int64_t n = 1;
  for (int d = 0; d < 3; d++) {
    const range r = p->count_padding ? window_padded(&p->axis[d], o[d]) : window_inside(&p->axis[d], o[d]);
    n *= r.end - r.begin;
  }
  return n;
}
#endif
