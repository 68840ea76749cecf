/* segment.c: neighbouring slices reduced segment by segment: a scatter whose destinations ascend, into a base that
 * holds what an empty segment is. */
#include <math.h>
#include "ops/index/index.h"

/* What was asked for: `rows` lists of segments, each for n slices. */
typedef struct lists {
  const iso_tensor *given;
  const char *name;
  bool by_length;
  int64_t rows, n, segments;
  int64_t end; /* of the last segment: slices behind it are left out */
} lists;

/* One list for the whole axis, or, where lists have leading axes, those of x before the reduced one. */
static bool read_lists(iso_context *ctx, const iso_tensor *x, int axis, const iso_segment_options *o, lists *l) {
  *l = (lists){.given = o->lengths ? o->lengths : o->offsets, .by_length = o->lengths, .rows = 1};
  l->name = l->by_length ? "lengths" : "offsets";
  l->n = x->view.shape[axis];
  const iso__view *v = &l->given->view;
  const int last = v->n_dims - 1;
  bool ok = last == 0 || last == axis;
  for (int d = 0; d < last && ok; d++) ok = v->shape[d] == x->view.shape[d], l->rows *= v->shape[d];
  ok = ok && (l->by_length || v->shape[last] > 0);
  if (ok) l->segments = v->shape[last] - !l->by_length;
  char a[128], b[128];
  if (!ok)
    ISO__FAIL(ctx, ISO_SHAPE_MISMATCH, "segment_reduce", "%s are %s for axis %d of %s: (%s), or that behind x's axes",
              l->name, iso__shape_text(v->n_dims, v->shape, a, sizeof a), axis,
              iso__shape_text(x->view.n_dims, x->view.shape, b, sizeof b), l->by_length ? "segments" : "segments+1");
  return ok;
}

/* (rows·n): the segment of every slice, those of later rows behind those of earlier ones. */
static iso_tensor *numbers(iso_context *ctx, lists *l) {
  iso_tensor *v = iso__index_read(ctx, "segment_reduce", l->name, l->given, l->n + 1, false);
  iso_tensor *t = v ? iso_tensor_new(ctx, ISO_I64, 1, ISO_DIMS(l->rows * l->n)) : NULL;
  if (!t) return NULL;
  const int64_t width = l->segments + !l->by_length;
  for (int64_t r = 0; r < l->rows; r++) {
    const int64_t *from = (const int64_t *)iso__data(v) + r * width;
    int64_t *to = (int64_t *)iso__data(t) + r * l->n, k = 0;
    for (int64_t s = 0; s < l->segments; s++) {
      const int64_t end = l->by_length ? k + from[s] : from[s + 1];
      if (end < k || end > l->n || (!l->by_length && from[s] != k)) {
        ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "segment_reduce",
                  "%s[%lld] is %lld: segments lie in order in the %lld slices", l->name, (long long)(r * width + s),
                  (long long)from[s], (long long)l->n);
        return NULL;
      }
      while (k < end) to[k++] = r * l->segments + s;
    }
    l->end = k;
    if (k == l->n || l->rows == 1) continue;
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "segment_reduce", "the segments of row %lld end at %lld of %lld slices",
              (long long)r, (long long)k, (long long)l->n);
    return NULL;
  }
  return t;
}

/* What an empty segment is. */
static double empty(iso_combine combine) {
  switch (combine) {
  case ISO_COMBINE_SUM: return 0;
  case ISO_COMBINE_MEAN: return (double)NAN;
  case ISO_COMBINE_PROD: return 1;
  case ISO_COMBINE_AMAX: return (double)-INFINITY;
  default: return (double)INFINITY;
  }
}

static iso_tensor *reduce(iso_context *ctx, const iso_tensor *x, const iso_tensor *number, const iso__indexing *at,
                          iso_combine combine, const iso_segment_options *o) {
  if (!x) return NULL;
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  shape[at->axis] = at->extent;
  iso_tensor *base =
      iso_tensor_full(ctx, x->view.dtype, x->view.n_dims, shape, o->has_initial ? o->initial : empty(combine));
  if (!base) return NULL;
  if (!o->has_initial || combine != ISO_COMBINE_MEAN)
    return iso__scatter_reduced(ctx, base, x, number, at, combine, o->has_initial);
  iso_tensor *sum = iso__scatter_sum(ctx, base, x, number, at);
  return sum ? iso_div(ctx, sum, iso__index_frequencies(ctx, &x->view, number, at)) : NULL;
}

iso_tensor *iso_segment_reduce(iso_context *ctx, const iso_tensor *x, iso_combine combine,
                               const iso_segment_options *options) {
  const iso_segment_options o = options ? *options : (iso_segment_options){0};
  if (!iso__takes_floats(ctx, "segment_reduce", 1, &x)) return NULL;
  if (!o.lengths == !o.offsets || (unsigned)combine > ISO_COMBINE_AMIN) {
    ISO__FAIL(ctx, ISO_INVALID_ARGUMENT, "segment_reduce", "either lengths or offsets, and a combine that is known");
    return NULL;
  }
  if (!iso__takes(ctx, "segment_reduce", 1, o.lengths ? &o.lengths : &o.offsets)) return NULL;
  const int axis = iso__axis(ctx, "segment_reduce", x, o.axis);
  lists l;
  if (axis < 0 || !read_lists(ctx, x, axis, &o, &l)) return NULL;
  iso__enter(ctx);
  int64_t shape[ISO_MAX_DIMS];
  memcpy(shape, x->view.shape, sizeof shape);
  shape[axis] = l.segments;
  iso_tensor *number = numbers(ctx, &l), *y = NULL;
  if (number && l.end < l.n) x = iso_slice(ctx, x, axis, 0, l.end, 1), number = iso_slice(ctx, number, 0, 0, l.end, 1);
  if (number && l.rows > 1) { /* rows of (rows·n,inner) */
    int64_t inner = 1;
    for (int d = axis + 1; d < x->view.n_dims; d++) inner *= x->view.shape[d];
    const iso__indexing at = {.extent = l.rows * l.segments, .padding = -1};
    iso_tensor *flat = iso_reshape(ctx, x, 2, ISO_DIMS(l.rows * l.n, inner));
    y = reduce(ctx, flat, number, &at, combine, &o);
    y = y ? iso_reshape(ctx, y, x->view.n_dims, shape) : NULL;
  } else if (number && x) {
    y = reduce(ctx, x, number, &(iso__indexing){.axis = axis, .extent = l.segments, .padding = -1}, combine, &o);
  }
  return iso__leave(ctx, y);
}
