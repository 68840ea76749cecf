/* taps.c: places and weights of interpolation, in binary64: where an output lies is a quotient of integers, or with a
 * step of the caller's a product, so that the place is exact and a weight is rounded once.
 *
 * Both ends of an output's inputs ascend with the output; so do, the other way round, those of an input's outputs, and
 * either is a contiguous list. */
#include "kernels/resample/taps.h"
#include "kernels/sizes.h"
#include <math.h>

static double step_of(const iso_resample_problem *p, const iso_resample_axis *a) {
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
static place quotient(int64_t n, int64_t d) {
  int64_t whole = n / d, rest = n % d;
  if (rest < 0) whole--, rest += d;
  return (place){whole, (double)rest / (double)d};
}
static place place_of(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o) {
  if (p->corners) return a->out > 1 ? quotient(o * (a->in - 1), a->out - 1) : (place){0, 0};
  if (!a->step) return quotient((2 * o + 1) * a->in - a->out, 2 * a->out);
  const double at = ((double)o + 0.5) * step_of(p, a) - 0.5, whole = floor(at);
  return (place){(int64_t)whole, at - whole};
}
static int64_t clamp(int64_t i, const iso_resample_axis *a) { return i < 0 ? 0 : i < a->in ? i : a->in - 1; }

static int64_t nearest(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o) {
  const bool exact = p->mode == ISO__RESAMPLE_NEAREST_EXACT;
  if (!a->step) return clamp(exact ? (2 * o + 1) * a->in / (2 * a->out) : o * a->in / a->out, a);
  return clamp((int64_t)floor(((double)o + (exact ? 0.5 : 0)) * step_of(p, a)), a);
}

/* Keys' cubic convolution kernel of parameter a, at distance x ≥ 0. */
static double cubic(double x, double a) {
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Reach of the smooth kernels: that of the plain ones, widened where the image shrinks. */
static double reach_of(const iso_resample_problem *p, double step) {
  return (p->mode == ISO__RESAMPLE_CUBIC ? 2 : 1) * (step > 1 ? step : 1);
}
static double smooth_weight(const iso_resample_problem *p, double step, int64_t o, int64_t i) {
  const double x = fabs(((double)i - step * ((double)o + 0.5) + 0.5) * (step > 1 ? 1 / step : 1));
  if (p->mode == ISO__RESAMPLE_CUBIC) return cubic(x, -0.5);
  return x < 1 ? 1 - x : 0;
}

/* Of the plain kernels: taps at whole + first …, those beyond an edge moved onto it, weights of one place added. */
static double plain_weight(const iso_resample_problem *p, const iso_resample_axis *a, int64_t o, int64_t i) {
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

iso__tap_range iso__resample_range(const iso_resample_problem *p, int axis, int64_t o) {
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
double iso__resample_weight(const iso_resample_problem *p, int axis, int64_t o, const iso__tap_range *r, int64_t i) {
  const iso_resample_axis *a = &p->axis[axis];
  if (p->smooth && p->mode >= ISO__RESAMPLE_LINEAR) return smooth_weight(p, step_of(p, a), o, i) / r->total;
  return plain_weight(p, a, o, i);
}

int64_t iso__resample_most_taps(const iso_resample_problem *p, int axis) {
  const iso_resample_axis *a = &p->axis[axis];
  if (p->mode <= ISO__RESAMPLE_NEAREST_EXACT) return 1;
  if (!p->smooth) return iso__min(p->mode == ISO__RESAMPLE_LINEAR ? 2 : 4, a->in);
  /* In integers where the step is a quotient: the caller's rounding, under which this is asked, too, has no say. */
  const int64_t width = p->mode == ISO__RESAMPLE_CUBIC ? 2 : 1;
  double step = 0;
  if (!p->corners) memcpy(&step, &a->step, sizeof step);
  int64_t reach = (int64_t)ceil((double)width * (step > 1 ? step : 1));
  if (step == 0 && !p->corners) reach = iso__max(width, iso__ceil_div(width * a->in, a->out));
  if (p->corners && a->out > 1) reach = iso__max(width, iso__ceil_div(width * (a->in - 1), a->out - 1));
  return iso__min(2 * reach + 1, a->in);
}

iso__tap_range iso__resample_seen_by(const iso_resample_problem *p, int axis, int64_t i) {
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

/* ---- lists ---- */

typedef struct lists {
  int32_t *begin, *offset;
  void *weight;
} lists;
static lists take(const iso_resample_problem *p, char *base, size_t *at, int64_t n_lists, int64_t n_weights) {
  const size_t item = iso_dtype_size((iso_dtype)p->head.dtype);
  const size_t begin = iso__take(at, n_lists, sizeof(int32_t)), offset = iso__take(at, n_lists + 1, sizeof(int32_t)),
               weight = iso__take(at, n_weights, item);
  return base ? (lists){(void *)(base + begin), (void *)(base + offset), base + weight} : (lists){0};
}
static void take_axis(const iso_resample_problem *p, int axis, char *base, size_t *at, lists *forward, lists *turned) {
  const iso_resample_axis *a = &p->axis[axis];
  const int64_t n_weights = a->out * iso__resample_most_taps(p, axis);
  *forward = take(p, base, at, a->out, n_weights);
  if (p->head.op == ISO__OP_RESAMPLE_BWD) *turned = take(p, base, at, a->in, n_weights);
}
size_t iso__resample_taps_bytes(const iso_resample_problem *p) {
  size_t at = 0;
  lists forward, turned;
  for (int axis = 0; axis < 3; axis++) take_axis(p, axis, NULL, &at, &forward, &turned);
  return at;
}

static void weight_set(const iso_resample_problem *p, void *weights, int64_t i, double w) {
  if (p->head.dtype == ISO_F64) ((double *)weights)[i] = w;
  else ((float *)weights)[i] = (float)w;
}
static int64_t make_forward(const iso_resample_problem *p, int axis, const lists *f) {
  int64_t longest = 0, n = 0;
  for (int64_t o = 0; o < p->axis[axis].out; o++) {
    const iso__tap_range r = iso__resample_range(p, axis, o);
    f->begin[o] = (int32_t)r.begin, f->offset[o] = (int32_t)n;
    for (int64_t i = r.begin; i < r.end; i++) weight_set(p, f->weight, n++, iso__resample_weight(p, axis, o, &r, i));
    longest = iso__max(longest, r.end - r.begin);
  }
  f->offset[p->axis[axis].out] = (int32_t)n;
  return longest;
}
/* The forward lists turned round: outputs ascend within each input's list, since they are visited ascending. */
static int64_t make_turned(const iso_resample_problem *p, int axis, const lists *f, const lists *t) {
  const iso_resample_axis *a = &p->axis[axis];
  const size_t item = iso_dtype_size((iso_dtype)p->head.dtype);
  int64_t longest = 0;
  memset(t->offset, 0, (size_t)(a->in + 1) * sizeof *t->offset);
  for (int64_t i = 0; i < a->in; i++) t->begin[i] = 0;
  for (int64_t o = a->out - 1; o >= 0; o--)
    for (int32_t k = f->offset[o]; k < f->offset[o + 1]; k++) {
      const int32_t i = f->begin[o] + k - f->offset[o];
      t->offset[i + 1]++, t->begin[i] = (int32_t)o;
    }
  for (int64_t i = 0; i < a->in; i++) {
    longest = iso__max(longest, t->offset[i + 1]);
    if (t->offset[i + 1] == 0 && i > 0)
      t->begin[i] = t->begin[i - 1]; /* empty: begins ascend all the same (planar_impl.h) */
    t->offset[i + 1] += t->offset[i];
  }
  for (int64_t o = 0; o < a->out; o++)
    for (int32_t k = f->offset[o]; k < f->offset[o + 1]; k++) {
      const int32_t i = f->begin[o] + k - f->offset[o];
      const size_t to = (size_t)(t->offset[i] + (int32_t)o - t->begin[i]);
      memcpy((char *)t->weight + to * item, (const char *)f->weight + (size_t)k * item, item);
    }
  return longest;
}
void iso__resample_taps(const iso_resample_problem *p, void *workspace, iso__taps taps[3]) {
  size_t at = 0;
  for (int axis = 0; axis < 3; axis++) {
    lists forward, turned;
    take_axis(p, axis, workspace, &at, &forward, &turned);
    const bool backward = p->head.op == ISO__OP_RESAMPLE_BWD;
    int64_t longest = make_forward(p, axis, &forward);
    if (backward) longest = make_turned(p, axis, &forward, &turned);
    const lists *l = backward ? &turned : &forward;
    taps[axis] = (iso__taps){.begin = l->begin, .offset = l->offset, .weight = l->weight, .longest = longest};
  }
}
