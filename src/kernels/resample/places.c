/* places.c: places and weights of interpolation, in binary64: where an output lies is a quotient of integers, or with a
 * step of the caller's a product, so that the place is exact and a weight is rounded once.
 *
 * Both ends of an output's inputs ascend with the output; so do, the other way round, those of an input's outputs, and
 * either is a contiguous list. */
#include "kernels/resample/taps.h"
#include "kernels/sizes.h"
#include <math.h>

static ISO__HD double step_of(const iso_resample_problem *p, const iso_resample_axis *a) {
  double step;
  if (p->corners) return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
  if (!a->step) return (double)a->in / (double)a->out;
  memcpy(&step, &a->step, sizeof step);
  return step;
}

/* A place between inputs: whole + part, 0 ≤ part < 1. */
typedef struct place {
  int64_t whole;
  double part;
} place;
static ISO__HD place quotient(int64_t n, int64_t d) {
  int64_t whole = n / d, rest = n % d;
  if (rest < 0) whole--, rest += d;
  return (place){whole, (double)rest / (double)d};
}
static ISO__HD place place_of(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o) {
  if (p->corners) return a->out > 1 ? quotient(o * (a->in - 1), a->out - 1) : (place){0, 0};
  if (!a->step) return quotient((2 * o + 1) * a->in - a->out, 2 * a->out);
  const double at = ((double)o + 0.5) * step_of(p, a) - 0.5, whole = floor(at);
  return (place){(int64_t)whole, at - whole};
}
static ISO__HD int64_t clamp(int64_t i, const iso_resample_axis *a) { return i < 0 ? 0 : i < a->in ? i : a->in - 1; }

static ISO__HD int64_t nearest(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o) {
  const bool exact = p->mode == ISO__RESAMPLE_NEAREST_EXACT;
  if (!a->step) return clamp(exact ? (2 * o + 1) * a->in / (2 * a->out) : o * a->in / a->out, a);
  return clamp((int64_t)floor(((double)o + (exact ? 0.5 : 0)) * step_of(p, a)), a);
}

/* Keys' cubic convolution kernel of parameter a, at distance x ≥ 0. */
static ISO__HD double cubic(double x, double a) {
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Reach of the smooth kernels: that of the plain ones, widened where the image shrinks. */
static ISO__HD double reach_of(const iso_resample_problem *p, double step) {
  return (p->mode == ISO__RESAMPLE_CUBIC ? 2 : 1) * (step > 1 ? step : 1);
}
static ISO__HD double smooth_weight(const iso_resample_problem *p, double step, int64_t o, int64_t i) {
  const double x = fabs(((double)i - step * ((double)o + 0.5) + 0.5) * (step > 1 ? 1 / step : 1));
  if (p->mode == ISO__RESAMPLE_CUBIC) return cubic(x, -0.5);
  return x < 1 ? 1 - x : 0;
}

/* Of the plain kernels: taps at whole + first …, those beyond an edge moved onto it, weights of one place added. */
static ISO__HD double plain_weight(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o, int64_t i) {
  if (p->mode <= ISO__RESAMPLE_NEAREST_EXACT) return 1;
  place at = place_of(p, a, o);
  if (p->mode == ISO__RESAMPLE_LINEAR) {
    if (at.whole < 0) at = (place){0, 0};
    return (clamp(at.whole, a) == i ? 1 - at.part : 0) + (clamp(at.whole + 1, a) == i ? at.part : 0);
  }
  double weight = 0;
  for (int64_t j = -1; j <= 2; j++)
    if (clamp(at.whole + j, a) == i) weight = weight + cubic(fabs(at.part - (double)j), -0.75);
  return weight;
}

ISO__SHARED iso__tap_range iso__resample_range(const iso_resample_problem *p, int axis, int64_t o) {
  const iso_resample_axis *a = &p->axis[axis];
  if (p->smooth && p->mode >= ISO__RESAMPLE_LINEAR) {
    const double step = step_of(p, a), centre = step * ((double)o + 0.5), reach = reach_of(p, step);
    const double low = floor(centre - reach + 0.5), high = floor(centre + reach + 0.5);
    iso__tap_range r = {.begin = low > 0 ? iso__min((int64_t)low, a->in - 1) : 0,
                        .end = high < (double)a->in ? (int64_t)high : a->in};
    if (r.end <= r.begin) r.end = r.begin + 1;
    for (int64_t i = r.begin; i < r.end; i++) r.total = r.total + smooth_weight(p, step, o, i);
    if (r.total == 0) r.total = 1;
    return r;
  }
  if (p->mode <= ISO__RESAMPLE_NEAREST_EXACT) {
    const int64_t i = nearest(p, a, o);
    return (iso__tap_range){i, i + 1, 1};
  }
  const int64_t whole = place_of(p, a, o).whole;
  if (p->mode == ISO__RESAMPLE_LINEAR) {
    const int64_t first = clamp(whole, a);
    return (iso__tap_range){first, clamp(whole < 0 ? 1 : whole + 1, a) + 1, 1};
  }
  return (iso__tap_range){clamp(whole - 1, a), clamp(whole + 2, a) + 1, 1};
}
ISO__SHARED double iso__resample_weight(const iso_resample_problem *p, int axis, int64_t o, const iso__tap_range *r,
                                        int64_t i) {
  const iso_resample_axis *a = &p->axis[axis];
  if (p->smooth && p->mode >= ISO__RESAMPLE_LINEAR) return smooth_weight(p, step_of(p, a), o, i) / r->total;
  return plain_weight(p, a, o, i);
}

ISO__SHARED iso__tap_range iso__resample_seen_by(const iso_resample_problem *p, int axis, int64_t i) {
  const iso_resample_axis *a = &p->axis[axis];
  int64_t low = 0, high = a->out; /* the first output whose inputs end beyond i, by bisection */
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (iso__resample_range(p, axis, middle).end > i) high = middle;
    else low = middle + 1;
  }
  iso__tap_range r = {.begin = low, .end = low, .total = 1};
  while (r.end < a->out && iso__resample_range(p, axis, r.end).begin <= i) r.end++;
  return r;
}
