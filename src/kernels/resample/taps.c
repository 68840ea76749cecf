/* taps.c: the lists of all inputs that the outputs of an axis see, and the same turned round. */
#include "kernels/resample/taps.h"
#include "kernels/sizes.h"
#include <math.h>

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
